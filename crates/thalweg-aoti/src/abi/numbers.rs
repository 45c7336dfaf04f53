//! The functions of PyTorch's C interface that say numbers: of types, devices, layouts.

use super::tensor::dtype;

/// PyTorch's number of the kind of device that is the host.
pub(crate) const CPU: i32 = 0;

/// Its number of CUDA devices.
pub(crate) const CUDA: i32 = 1;

/// Its number of the layout that has strides.
pub(crate) const STRIDED: i32 = 0;

macro_rules! numbers {
    ($($name:ident = $value:expr;)*) => {$(
        pub(super) extern "C" fn $name() -> i32 {
            $value
        }
    )*};
}

numbers! {
    aoti_torch_device_type_cpu = CPU;
    aoti_torch_device_type_cuda = CUDA;
    aoti_torch_layout_strided = STRIDED;
    aoti_torch_dtype_uint8 = 0;
    aoti_torch_dtype_int8 = 1;
    aoti_torch_dtype_int16 = 2;
    aoti_torch_dtype_int32 = 3;
    aoti_torch_dtype_int64 = 4;
    aoti_torch_dtype_float16 = 5;
    aoti_torch_dtype_float32 = 6;
    aoti_torch_dtype_float64 = 7;
    aoti_torch_dtype_complex32 = 8;
    aoti_torch_dtype_complex64 = 9;
    aoti_torch_dtype_complex128 = 10;
    aoti_torch_dtype_bool = 11;
    aoti_torch_dtype_bfloat16 = 15;
    aoti_torch_dtype_float8_e5m2 = 23;
    aoti_torch_dtype_float8_e4m3fn = 24;
    aoti_torch_dtype_float8_e5m2fnuz = 25;
    aoti_torch_dtype_float8_e4m3fnuz = 26;
    aoti_torch_dtype_uint16 = 27;
    aoti_torch_dtype_uint32 = 28;
    aoti_torch_dtype_uint64 = 29;
}

pub(super) extern "C" fn aoti_torch_dtype_element_size(code: i32) -> usize {
    dtype(code).map_or(0, |dtype| dtype.size())
}

/// There are no gradients here.
pub(super) extern "C" fn aoti_torch_grad_mode_is_enabled() -> bool {
    false
}

pub(super) extern "C" fn aoti_torch_grad_mode_set_enabled(_: bool) {}
