//! Element types, and the Rust types that stand for them.

use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;
use thalweg_format::ScalarType;

/// The type of a tensor's elements.
///
/// The names are those of Rust's primitive types; upstream calls them `Byte`, `Char`, `Short`,
/// `Int`, `Long`, `Half`, `Float`, `Double` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it all")]
pub enum DType {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
    /// Two f16: real, then imaginary part.
    ComplexF16,
    /// Two f32: real, then imaginary part.
    ComplexF32,
    /// Two f64: real, then imaginary part.
    ComplexF64,
    /// One byte; every value but 0 is true.
    Bool,
    F8E5M2,
    F8E4M3Fn,
    F8E5M2Fnuz,
    F8E4M3Fnuz,
}

impl DType {
    /// Every element type, in the order of the enum.
    pub const ALL: [Self; 20] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::ComplexF16,
        Self::ComplexF32,
        Self::ComplexF64,
        Self::Bool,
        Self::F8E5M2,
        Self::F8E4M3Fn,
        Self::F8E5M2Fnuz,
        Self::F8E4M3Fnuz,
    ];

    /// Size of one element in bytes.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            Self::U8
            | Self::I8
            | Self::Bool
            | Self::F8E5M2
            | Self::F8E4M3Fn
            | Self::F8E5M2Fnuz
            | Self::F8E4M3Fnuz => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 | Self::ComplexF16 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::ComplexF32 => 8,
            Self::ComplexF64 => 16,
        }
    }

    /// How many elements so many bytes hold. Sizes are powers of two, so there is nothing to divide.
    #[inline]
    pub(crate) const fn count_in(self, bytes: usize) -> usize {
        bytes >> self.size().trailing_zeros()
    }

    /// Alignment in bytes that a slice of elements needs.
    pub const fn align(self) -> usize {
        match self {
            Self::ComplexF16 => 2,
            Self::ComplexF32 => 4,
            Self::ComplexF64 => 8,
            other => other.size(),
        }
    }

    /// The short name, such as `f32` or `bool`; complex types are named by their whole size in
    /// bits, as PyTorch does (`c64` is two f32).
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::ComplexF16 => "c32",
            Self::ComplexF32 => "c64",
            Self::ComplexF64 => "c128",
            Self::Bool => "bool",
            Self::F8E5M2 => "f8e5m2",
            Self::F8E4M3Fn => "f8e4m3fn",
            Self::F8E5M2Fnuz => "f8e5m2fnuz",
            Self::F8E4M3Fnuz => "f8e4m3fnuz",
        }
    }

    /// The type with this short name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Whether elements are real floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16
                | Self::BF16
                | Self::F32
                | Self::F64
                | Self::F8E5M2
                | Self::F8E4M3Fn
                | Self::F8E5M2Fnuz
                | Self::F8E4M3Fnuz
        )
    }

    /// Whether elements are complex numbers.
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::ComplexF16 | Self::ComplexF32 | Self::ComplexF64)
    }

    /// Whether elements are integers; booleans are not.
    pub const fn is_integer(self) -> bool {
        matches!(
            self,
            Self::U8
                | Self::U16
                | Self::U32
                | Self::U64
                | Self::I8
                | Self::I16
                | Self::I32
                | Self::I64
        )
    }

    /// The type that a program's number means, where it is one that Thalweg has.
    ///
    /// Quantized and sub-byte types have no tensors at run time in upstream either.
    pub const fn from_scalar_type(scalar_type: ScalarType) -> Option<Self> {
        Some(match scalar_type {
            ScalarType::Byte => Self::U8,
            ScalarType::Char => Self::I8,
            ScalarType::Short => Self::I16,
            ScalarType::Int => Self::I32,
            ScalarType::Long => Self::I64,
            ScalarType::Half => Self::F16,
            ScalarType::Float => Self::F32,
            ScalarType::Double => Self::F64,
            ScalarType::ComplexHalf => Self::ComplexF16,
            ScalarType::ComplexFloat => Self::ComplexF32,
            ScalarType::ComplexDouble => Self::ComplexF64,
            ScalarType::Bool => Self::Bool,
            ScalarType::BFloat16 => Self::BF16,
            ScalarType::Float8E5M2 => Self::F8E5M2,
            ScalarType::Float8E4M3Fn => Self::F8E4M3Fn,
            ScalarType::Float8E5M2Fnuz => Self::F8E5M2Fnuz,
            ScalarType::Float8E4M3Fnuz => Self::F8E4M3Fnuz,
            ScalarType::UInt16 => Self::U16,
            ScalarType::UInt32 => Self::U32,
            ScalarType::UInt64 => Self::U64,
            _ => return None,
        })
    }

    /// The type with PyTorch's number, as operators take it (`dtype=6` is f32).
    pub const fn from_code(code: i64) -> Option<Self> {
        Some(match code {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::I16,
            3 => Self::I32,
            4 => Self::I64,
            5 => Self::F16,
            6 => Self::F32,
            7 => Self::F64,
            8 => Self::ComplexF16,
            9 => Self::ComplexF32,
            10 => Self::ComplexF64,
            11 => Self::Bool,
            15 => Self::BF16,
            23 => Self::F8E5M2,
            24 => Self::F8E4M3Fn,
            25 => Self::F8E5M2Fnuz,
            26 => Self::F8E4M3Fnuz,
            27 => Self::U16,
            28 => Self::U32,
            29 => Self::U64,
            _ => return None,
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A boolean element: one byte that may hold anything, since programs and callers may store
/// anything there; every value but 0 is true.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// Whether it is true.
    #[inline]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    #[inline]
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl From<Bool> for bool {
    #[inline]
    fn from(value: Bool) -> Self {
        value.get()
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool {}

impl fmt::Debug for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl fmt::Display for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A Rust type that stands for an element type.
pub trait Element: bytemuck::Pod + fmt::Debug + Default + PartialEq + Send + Sync {
    /// The element type.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),* $(,)?) => {
        $(impl Element for $rust {
            const DTYPE: DType = DType::$dtype;
        })*
    };
}

elements! {
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    i8 => I8,
    i16 => I16,
    i32 => I32,
    i64 => I64,
    f16 => F16,
    bf16 => BF16,
    f32 => F32,
    f64 => F64,
    Complex<f32> => ComplexF32,
    Complex<f64> => ComplexF64,
    Bool => Bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_name() {
        for dtype in DType::ALL {
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        }
    }

    #[test]
    fn a_code_and_a_scalar_type_of_the_same_number_mean_the_same() {
        for scalar_type in [
            ScalarType::Byte,
            ScalarType::Half,
            ScalarType::Bool,
            ScalarType::BFloat16,
            ScalarType::UInt64,
            ScalarType::ComplexDouble,
        ] {
            assert_eq!(
                DType::from_scalar_type(scalar_type),
                DType::from_code(scalar_type as i64)
            );
        }
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        let bytes = [0u8, 1, 2, 255];
        let bools: &[Bool] = bytemuck::cast_slice(&bytes);
        assert_eq!(
            bools.iter().map(|b| b.get()).collect::<Vec<_>>(),
            [false, true, true, true]
        );
    }
}
