//! One argument of a call as a binding of the engine: its checks, its shape, and its values.

use thalweg_core::{DType, DeviceAddress, Dims, Result, ensure, is_row_major};

use crate::abi::Shape;
use crate::loaded::EngineBinding;

/// An argument of the current call, as a binding of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    /// The shape for the engine.
    pub(crate) shape: Shape,
    /// The address on the device; zero if it has none, or none yet.
    pub(crate) address: DeviceAddress,
    /// The size in bytes.
    pub(crate) len: usize,
    /// True if the program has the tensor on the host.
    pub(crate) on_host: bool,
}

impl Argument {
    /// An argument that is not resolved yet.
    pub(crate) const UNKNOWN: Self = Self {
        shape: Shape::SCALAR,
        address: DeviceAddress(0),
        len: 0,
        on_host: false,
    };
}

/// Checks the type and the layout of the program's tensor for a binding.
pub(crate) fn check(
    binding: &EngineBinding,
    dtype: DType,
    sizes: &[usize],
    dim_order: &[u8],
) -> Result<()> {
    ensure!(
        dtype == binding.dtype,
        InvalidProgram,
        "`{}` is a tensor of {} for the engine, but of {dtype} for the program",
        binding.text,
        binding.dtype
    );
    ensure!(
        is_row_major(sizes, dim_order),
        Unsupported,
        "`{}` of shape {sizes:?} lies in the dim order {dim_order:?}, but the engine takes \
         row-major tensors",
        binding.text
    );
    Ok(())
}

/// The shape of an input for the engine. Programs have scalars without dimensions. Some engines have them
/// with one dimension of size 1.
pub(crate) fn input_shape(binding: &EngineBinding, sizes: &[usize]) -> Result<Shape> {
    let rank = binding.shape.sizes().len();
    match (sizes, rank) {
        ([], 1) => Shape::of(&[1]),
        ([1], 0) => Ok(Shape::SCALAR),
        _ => Shape::of(sizes),
    }
}

/// The sizes of an output for the program, where it has `rank` dimensions.
pub(crate) fn output_sizes(binding: &EngineBinding, shape: &Shape, rank: usize) -> Result<Dims> {
    let mut dims = Dims::new();
    for &size in shape.sizes() {
        let size = usize::try_from(size).ok();
        let Some(size) = size.filter(|_| shape.is_known()) else {
            thalweg_core::bail!(
                Delegate,
                "TensorRT does not know the shape of `{}`: it says {shape:?}",
                binding.text
            );
        };
        dims.push(size)?;
    }
    match (&*dims, rank) {
        ([1], 0) => Ok(Dims::new()),
        ([], 1) => Dims::filled(1, 1),
        _ => Ok(dims),
    }
}

/// The integers in a tensor whose values shapes depend on.
pub(crate) fn numbers(binding: &EngineBinding, bytes: &[u8], to: &mut Vec<i64>) -> Result<()> {
    fn part<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    to.clear();
    let elements = bytes.chunks_exact(binding.dtype.size());
    match binding.dtype {
        DType::I64 => to.extend(elements.map(|element| i64::from_ne_bytes(part(element)))),
        DType::I32 => to.extend(elements.map(|e| i64::from(i32::from_ne_bytes(part(e))))),
        DType::Bool | DType::U8 => to.extend(elements.map(|element| i64::from(element[0]))),
        // Shapes depend on integers. Other tensors on the host have no bounds.
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(sizes: &[usize]) -> EngineBinding {
        EngineBinding {
            name: c"x".into(),
            text: "x".into(),
            dtype: DType::I32,
            shape: Shape::of(sizes).unwrap(),
            on_host: false,
        }
    }

    #[test]
    fn a_scalar_is_a_tensor_with_no_dimension_or_with_one_of_size_1() {
        assert_eq!(input_shape(&binding(&[1]), &[]).unwrap().sizes(), [1]);
        assert_eq!(input_shape(&binding(&[]), &[1]).unwrap().sizes(), [0i64; 0]);
        assert_eq!(input_shape(&binding(&[2]), &[2]).unwrap().sizes(), [2]);
        let one = Shape::of(&[1]).unwrap();
        let sizes = |shape, rank| output_sizes(&binding(&[1]), shape, rank).unwrap();
        assert_eq!(*sizes(&one, 0), [0usize; 0]);
        assert_eq!(*sizes(&one, 1), [1]);
        assert_eq!(*sizes(&Shape::SCALAR, 1), [1]);
        assert_eq!(*sizes(&Shape::SCALAR, 0), [0usize; 0]);
    }

    #[test]
    fn what_the_program_gives_must_be_what_the_engine_takes() {
        let binding = binding(&[2, 3]);
        check(&binding, DType::I32, &[2, 3], &[0, 1]).unwrap();
        let error = check(&binding, DType::F32, &[2, 3], &[0, 1]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("of i32 for the engine, but of f32")
        );
        assert!(check(&binding, DType::I32, &[2, 3], &[1, 0]).is_err());
        let unknown = Shape::NONE;
        assert!(output_sizes(&binding, &unknown, 2).unwrap().is_empty());
    }

    #[test]
    fn values_are_read_as_numbers() {
        let mut numbers_of = Vec::new();
        let bytes: Vec<u8> = [-3i32, 7].iter().flat_map(|x| x.to_ne_bytes()).collect();
        numbers(&binding(&[2]), &bytes, &mut numbers_of).unwrap();
        assert_eq!(numbers_of, [-3, 7]);
    }
}
