//! Element types, and the numbers of tensors.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

/// An element type of `nvinfer1::DataType` that the stand-in computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DType {
    /// `kFLOAT`
    F32,
    /// `kHALF`
    F16,
    /// `kINT8`
    I8,
    /// `kINT32`
    I32,
    /// `kBOOL`
    Bool,
    /// `kUINT8`
    U8,
    /// `kBF16`
    BF16,
    /// `kINT64`
    I64,
}

impl DType {
    /// The number of the type in `nvinfer1::DataType`.
    pub fn code(self) -> i32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::I8 => 2,
            Self::I32 => 3,
            Self::Bool => 4,
            Self::U8 => 5,
            Self::BF16 => 7,
            Self::I64 => 8,
        }
    }

    /// The size of an element, in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::Bool | Self::U8 => 1,
            Self::F16 | Self::BF16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::I64 => 8,
        }
    }

    /// TensorRT's description of the row-major format of the type.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::F32 => "Row-major linear FP32 format",
            Self::F16 => "Row-major linear FP16 format",
            Self::I8 => "Row-major linear INT8 format",
            Self::I32 => "Row-major linear INT32 format",
            Self::Bool => "Row-major linear BOOL format",
            Self::U8 => "Row-major linear UINT8 format",
            Self::BF16 => "Row-major linear BF16 format",
            Self::I64 => "Row-major linear INT64 format",
        }
    }

    /// The numbers in some bytes.
    pub(super) fn numbers(self, bytes: &[u8]) -> Vec<Number> {
        let elements = bytes.chunks_exact(self.size());
        elements.map(|bytes| self.number(bytes)).collect()
    }

    fn number(self, bytes: &[u8]) -> Number {
        fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
            let mut array = [0; N];
            array.copy_from_slice(bytes);
            array
        }
        match self {
            Self::F32 => Number::Real(f32::from_le_bytes(array(bytes)).into()),
            Self::F16 => Number::Real(f16::from_le_bytes(array(bytes)).into()),
            Self::BF16 => Number::Real(bf16::from_le_bytes(array(bytes)).into()),
            Self::I8 => Number::Whole(i8::from_le_bytes(array(bytes)).into()),
            Self::U8 => Number::Whole(u8::from_le_bytes(array(bytes)).into()),
            Self::Bool => Number::Whole((bytes[0] != 0).into()),
            Self::I32 => Number::Whole(i32::from_le_bytes(array(bytes)).into()),
            Self::I64 => Number::Whole(i64::from_le_bytes(array(bytes))),
        }
    }

    /// Appends the bytes of a number, which is rounded or truncated to fit.
    pub(super) fn put(self, number: Number, bytes: &mut Vec<u8>) {
        match self {
            Self::F32 => bytes.extend((number.real() as f32).to_le_bytes()),
            Self::F16 => bytes.extend(f16::from_f64(number.real()).to_le_bytes()),
            Self::BF16 => bytes.extend(bf16::from_f64(number.real()).to_le_bytes()),
            Self::I8 => bytes.extend((number.whole() as i8).to_le_bytes()),
            Self::U8 => bytes.push(number.whole() as u8),
            Self::Bool => bytes.push((number.real() != 0.0).into()),
            Self::I32 => bytes.extend((number.whole() as i32).to_le_bytes()),
            Self::I64 => bytes.extend(number.whole().to_le_bytes()),
        }
    }
}

/// A number of a tensor. Integers have a variant of their own, since a float of 64 bits does not
/// hold all of those of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Real(f64),
    Whole(i64),
}

impl Number {
    pub(super) fn real(self) -> f64 {
        match self {
            Self::Real(value) => value,
            Self::Whole(value) => value as f64,
        }
    }

    pub(super) fn whole(self) -> i64 {
        match self {
            Self::Real(value) => value as i64,
            Self::Whole(value) => value,
        }
    }

    /// `self + factor * other`
    pub(super) fn plus(self, factor: f64, other: Self) -> Self {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) if factor == factor.trunc() => {
                Self::Whole(a.wrapping_add(b.wrapping_mul(factor as i64)))
            }
            _ => Self::Real(self.real() + factor * other.real()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_gives_back_small_whole_numbers() {
        let types = [
            DType::F32,
            DType::F16,
            DType::BF16,
            DType::I8,
            DType::U8,
            DType::I32,
            DType::I64,
        ];
        for dtype in types {
            let mut bytes = Vec::new();
            for value in [0, 1, 7, 100] {
                dtype.put(Number::Whole(value), &mut bytes);
            }
            assert_eq!(bytes.len(), 4 * dtype.size());
            let numbers: Vec<i64> = dtype.numbers(&bytes).iter().map(|n| n.whole()).collect();
            assert_eq!(numbers, [0, 1, 7, 100], "{dtype:?}");
        }
    }

    #[test]
    fn large_whole_numbers_stay_exact() {
        let large = (1 << 60) + 1;
        let sum = Number::Whole(large).plus(2.0, Number::Whole(3));
        assert_eq!(sum, Number::Whole(large + 6));
    }
}
