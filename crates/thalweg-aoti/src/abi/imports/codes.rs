//! Functions of PyTorch's C interface that return codes and global settings.

use super::super::codes::{CPU, CUDA, STRIDED, dtype};

macro_rules! codes {
    ($($name:ident = $value:expr;)*) => {$(
        pub(in crate::abi) extern "C" fn $name() -> i32 {
            $value
        }
    )*};
}

codes! {
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

pub(in crate::abi) extern "C" fn aoti_torch_dtype_element_size(code: i32) -> usize {
    dtype(code).map_or(0, |dtype| dtype.size())
}

/// False: there are no gradients here.
pub(in crate::abi) extern "C" fn aoti_torch_grad_mode_is_enabled() -> bool {
    false
}

pub(in crate::abi) extern "C" fn aoti_torch_grad_mode_set_enabled(_: bool) {}
