//! Facts about element types, and the size in memory of a tensor.

use crate::program::{ScalarType, Tensor};

impl ScalarType {
    /// All element types, by [code](Self::code).
    pub const ALL: [Self; 30] = [
        Self::Byte,
        Self::Char,
        Self::Short,
        Self::Int,
        Self::Long,
        Self::Half,
        Self::Float,
        Self::Double,
        Self::ComplexHalf,
        Self::ComplexFloat,
        Self::ComplexDouble,
        Self::Bool,
        Self::QInt8,
        Self::QUInt8,
        Self::QInt32,
        Self::BFloat16,
        Self::QUInt4x2,
        Self::QUInt2x4,
        Self::Bits1x8,
        Self::Bits2x4,
        Self::Bits4x2,
        Self::Bits8,
        Self::Bits16,
        Self::Float8E5M2,
        Self::Float8E4M3Fn,
        Self::Float8E5M2Fnuz,
        Self::Float8E4M3Fnuz,
        Self::UInt16,
        Self::UInt32,
        Self::UInt64,
    ];

    /// The number that stands for the type in files.
    pub fn code(self) -> i8 {
        self as i8
    }

    /// The type that a number stands for.
    pub fn from_code(code: i8) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// Bytes that one element takes. Types of less than a byte are packed, and take one.
    pub fn size(self) -> usize {
        match self {
            Self::Byte
            | Self::Char
            | Self::Bool
            | Self::QInt8
            | Self::QUInt8
            | Self::QUInt4x2
            | Self::QUInt2x4
            | Self::Bits1x8
            | Self::Bits2x4
            | Self::Bits4x2
            | Self::Bits8
            | Self::Float8E5M2
            | Self::Float8E4M3Fn
            | Self::Float8E5M2Fnuz
            | Self::Float8E4M3Fnuz => 1,
            Self::Short | Self::Half | Self::BFloat16 | Self::Bits16 | Self::UInt16 => 2,
            Self::Int | Self::Float | Self::QInt32 | Self::UInt32 | Self::ComplexHalf => 4,
            Self::Long | Self::Double | Self::UInt64 | Self::ComplexFloat => 8,
            Self::ComplexDouble => 16,
        }
    }
}

impl Tensor<'_> {
    /// Bytes that the tensor takes at the sizes it is stored with, which are upper bounds where
    /// the shape is dynamic; `None` if that is more than 64 bits can count.
    pub fn nbytes(&self) -> Option<u64> {
        nbytes(self.scalar_type, &self.sizes)
    }
}

pub(crate) fn nbytes(scalar_type: ScalarType, sizes: &[u32]) -> Option<u64> {
    if sizes.contains(&0) {
        return Some(0);
    }
    let element = scalar_type.size() as u64;
    sizes
        .iter()
        .try_fold(element, |n, &size| n.checked_mul(u64::from(size)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::executorch_flatbuffer as fb;

    #[test]
    fn codes_are_those_of_the_schema() {
        for (i, t) in ScalarType::ALL.into_iter().enumerate() {
            assert_eq!(t.code() as usize, i);
            assert_eq!(ScalarType::from_code(t.code()), Some(t));
            let stored = fb::ScalarType::try_from(t.code()).unwrap();
            assert_eq!(
                format!("{stored:?}").to_lowercase(),
                format!("{t:?}").to_lowercase()
            );
        }
        assert_eq!(ScalarType::from_code(30), None);
        assert_eq!(ScalarType::from_code(-1), None);
        assert!(fb::ScalarType::try_from(30i8).is_err());
    }
}
