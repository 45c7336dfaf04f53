//! The methods of NVIDIA's classes, one file a class, and the slots that they are in.
//!
//! The lists were made from what a C++ compiler says of NVIDIA's headers of 10.0 to 10.16, 11.0 and
//! 11.1.

mod context;
mod engine;
mod host_memory;
mod runtime;
mod runtime_config;

pub(crate) use runtime::NO_OBJECT;
pub(super) use runtime::create as create_runtime;

#[cfg(test)]
mod tests {
    use crate::nvinfer::class::Class;
    use crate::nvinfer::context::Context;
    use crate::nvinfer::engine::Engine;
    use crate::nvinfer::object::Implementation;
    use crate::nvinfer::runtime::Runtime;

    #[test]
    fn classes_have_as_many_slots_as_the_headers_say() {
        let sizes = |version| {
            let size = |class: &Class| class.methods(version).len() + 2;
            [
                size(Runtime::class()),
                size(Engine::class()),
                size(Context::class()),
            ]
        };
        assert_eq!(sizes((10, 0)), [23, 48, 49]);
        assert_eq!(sizes((10, 6)), [23, 54, 50]);
        assert_eq!(sizes((10, 7)), [24, 54, 50]);
        assert_eq!(sizes((10, 11)), [24, 57, 51]);
        assert_eq!(sizes((10, 12)), [24, 57, 53]);
        assert_eq!(sizes((10, 14)), [24, 58, 53]);
        assert_eq!(sizes((10, 15)), [24, 59, 53]);
        assert_eq!(sizes((10, 16)), [24, 59, 54]);
        assert_eq!(sizes((11, 1)), [23, 51, 53]);
    }
}
