//! PyTorch's codes of device types, layouts and element types.

use thalweg_core::{DType, Result, bail};
use thalweg_format::ScalarType;

/// The device type of the host.
pub(crate) const CPU: i32 = 0;

/// The device type of CUDA devices.
pub(crate) const CUDA: i32 = 1;

/// The layout of strided tensors.
pub(crate) const STRIDED: i32 = 0;

/// The element type of a code.
pub(crate) fn dtype(code: i32) -> Result<DType> {
    let scalar_type = i8::try_from(code).ok().and_then(ScalarType::from_code);
    match scalar_type.and_then(DType::from_scalar_type) {
        Some(dtype) => Ok(dtype),
        None => bail!(Unsupported, "the element type {code} is none that is known"),
    }
}

/// The code of an element type.
pub(crate) fn dtype_code(dtype: DType) -> i32 {
    match dtype {
        DType::U8 => 0,
        DType::I8 => 1,
        DType::I16 => 2,
        DType::I32 => 3,
        DType::I64 => 4,
        DType::F16 => 5,
        DType::F32 => 6,
        DType::F64 => 7,
        DType::ComplexF16 => 8,
        DType::ComplexF32 => 9,
        DType::ComplexF64 => 10,
        DType::Bool => 11,
        DType::BF16 => 15,
        DType::F8E5M2 => 23,
        DType::F8E4M3Fn => 24,
        DType::F8E5M2Fnuz => 25,
        DType::F8E4M3Fnuz => 26,
        DType::U16 => 27,
        DType::U32 => 28,
        DType::U64 => 29,
        _ => -1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_types_have_pytorchs_codes() {
        for scalar_type in (0..=i8::MAX).filter_map(ScalarType::from_code) {
            if let Some(dtype) = DType::from_scalar_type(scalar_type) {
                assert_eq!(dtype_code(dtype), scalar_type as i32);
                assert_eq!(super::dtype(scalar_type as i32).unwrap(), dtype);
            }
        }
        dtype(12).unwrap_err();
        dtype(1000).unwrap_err();
    }
}
