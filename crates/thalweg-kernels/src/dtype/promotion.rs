//! Type promotion, as in PyTorch: the type in which operands of several types are computed.

use thalweg_core::{DType, Result, Scalar, TensorView, bail};

/// The operands of an operator, and the type that they promote to.
///
/// Tensors with dimensions outrank tensors without, and those outrank numbers: an operand of a
/// lower rank changes the type only if it is of a higher category (boolean, integer, float,
/// complex) than all above it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Promotion {
    tensors: Rank,
    zero_dim: Rank,
    numbers: Rank,
}

impl Promotion {
    /// No operands yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor.
    pub(crate) fn tensor(mut self, tensor: &TensorView<'_>) -> Self {
        let rank = match tensor.rank() {
            0 => &mut self.zero_dim,
            _ => &mut self.tensors,
        };
        rank.add(tensor.dtype());
        self
    }

    /// Adds a number.
    pub(crate) fn scalar(mut self, scalar: Scalar) -> Self {
        self.numbers.add(default_dtype(scalar));
        self
    }

    /// The promoted type. An error if PyTorch has no common type for the operands.
    pub(crate) fn result(self) -> Result<DType> {
        let lower = combine(self.zero_dim, self.numbers);
        match combine(self.tensors, lower) {
            Rank::One(dtype) => Ok(dtype),
            Rank::None => bail!(Internal, "an operator without operands has no element type"),
            Rank::Clash(a, b) => bail!(
                Unsupported,
                "there is no element type that holds both {a} and {b}"
            ),
        }
    }
}

/// The promoted type of the operands of one rank.
#[derive(Clone, Copy, Debug, Default)]
enum Rank {
    #[default]
    None,
    One(DType),
    Clash(DType, DType),
}

impl Rank {
    fn add(&mut self, dtype: DType) {
        *self = match *self {
            Self::None => Self::One(dtype),
            Self::One(other) => match promote(other, dtype) {
                Some(dtype) => Self::One(dtype),
                None => Self::Clash(other, dtype),
            },
            clash @ Self::Clash(..) => clash,
        };
    }
}

fn combine(higher: Rank, lower: Rank) -> Rank {
    match (higher, lower) {
        (Rank::One(high), Rank::One(low)) => {
            if category(low) <= category(high) {
                return higher;
            }
            // A complex number next to a tensor of floats keeps the precision of the tensor.
            if low.is_complex() && high.is_float() {
                return Rank::One(to_complex(high));
            }
            let mut rank = higher;
            rank.add(low);
            rank
        }
        (Rank::None, other) | (other, _) => other,
    }
}

/// Returns true if tensors of type `dtype`, with dimensions, keep it next to a number.
#[inline]
pub(crate) fn keeps_type(dtype: DType, number: Scalar) -> bool {
    category(default_dtype(number)) <= category(dtype)
}

#[inline]
fn category(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        dtype if dtype.is_integer() => 1,
        dtype if dtype.is_complex() => 3,
        _ => 2,
    }
}

/// The type that a number has where nothing else decides.
pub(crate) fn default_dtype(scalar: Scalar) -> DType {
    match scalar {
        Scalar::Bool(_) => DType::Bool,
        Scalar::Int(_) => DType::I64,
        Scalar::Double(_) => DType::F32,
    }
}

/// The type in which functions with fractional results compute: integers become f32.
pub(crate) fn to_float(dtype: DType) -> DType {
    if dtype.is_integer() || dtype == DType::Bool {
        DType::F32
    } else {
        dtype
    }
}

fn to_complex(float: DType) -> DType {
    match float {
        DType::F64 => DType::ComplexF64,
        DType::F16 => DType::ComplexF16,
        _ => DType::ComplexF32,
    }
}

/// The type that two element types of one rank promote to, if there is one.
pub(crate) fn promote(a: DType, b: DType) -> Option<DType> {
    use DType::{BF16, ComplexF16, ComplexF32, ComplexF64, F16, F32, F64};
    use DType::{I8, I16, I32, I64, U8, U16, U32, U64};
    if a == b {
        return Some(a);
    }
    // In the order of the categories, to have half as many cases.
    let (a, b) = if category(a) <= category(b) {
        (a, b)
    } else {
        (b, a)
    };
    let is_wide_unsigned = |dtype| matches!(dtype, U16 | U32 | U64);
    Some(match (a, b) {
        (a, b) if is_wide_unsigned(a) && b.is_float() => b,
        (a, b) if is_wide_unsigned(a) || is_wide_unsigned(b) => return None,
        (F64, b) | (b, F64) if b.is_complex() => ComplexF64,
        (F32 | BF16, ComplexF16) => ComplexF32,
        (a, b) if category(a) < category(b) => b,
        (U8, I8) | (I8, U8) => I16,
        (U8 | I8, wide @ (I16 | I32 | I64)) | (wide @ (I16 | I32 | I64), U8 | I8) => wide,
        (I64, _) | (_, I64) => I64,
        (I32, _) | (_, I32) => I32,
        (ComplexF64, _) | (_, ComplexF64) => ComplexF64,
        (ComplexF32, _) | (_, ComplexF32) => ComplexF32,
        (F64, F16 | BF16 | F32) | (F16 | BF16 | F32, F64) => F64,
        (F32 | F16 | BF16, F32 | F16 | BF16) => F32,
        _ => return None,
    })
}

/// An error unless results of type `from` may be stored in an output of type `to`: PyTorch does
/// not drop imaginary parts, fractions, or all but whether a number is zero.
pub(crate) fn check_cast(from: DType, to: DType) -> Result<()> {
    if category(from) > category(to) {
        bail!(
            Operator,
            "a result of type {from} cannot be stored in an output of type {to}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 15] = [
        "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "bool",
        "c64", "c128",
    ];

    /// `torch.promote_types`; `-` where it refuses.
    const TABLE: [&str; 15] = [
        "u8 - - - i16 i16 i32 i64 f16 bf16 f32 f64 u8 c64 c128",
        "- u16 - - - - - - f16 bf16 f32 f64 - - -",
        "- - u32 - - - - - f16 bf16 f32 f64 - - -",
        "- - - u64 - - - - f16 bf16 f32 f64 - - -",
        "i16 - - - i8 i16 i32 i64 f16 bf16 f32 f64 i8 c64 c128",
        "i16 - - - i16 i16 i32 i64 f16 bf16 f32 f64 i16 c64 c128",
        "i32 - - - i32 i32 i32 i64 f16 bf16 f32 f64 i32 c64 c128",
        "i64 - - - i64 i64 i64 i64 f16 bf16 f32 f64 i64 c64 c128",
        "f16 f16 f16 f16 f16 f16 f16 f16 f16 f32 f32 f64 f16 c64 c128",
        "bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64 bf16 c64 c128",
        "f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64 f32 c64 c128",
        "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128",
        "u8 - - - i8 i16 i32 i64 f16 bf16 f32 f64 bool c64 c128",
        "c64 - - - c64 c64 c64 c64 c64 c64 c64 c128 c64 c64 c128",
        "c128 - - - c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128",
    ];

    #[test]
    fn element_types_promote_as_in_pytorch() {
        for (a, row) in NAMES.iter().zip(TABLE) {
            for (b, expected) in NAMES.iter().zip(row.split(' ')) {
                let promoted = promote(DType::from_name(a).unwrap(), DType::from_name(b).unwrap());
                assert_eq!(promoted, DType::from_name(expected), "{a} with {b}");
            }
        }
    }

    #[test]
    fn a_number_changes_only_the_category() {
        let of = |dtype: DType, scalar: Scalar| {
            let bytes = [0u64; 2];
            let bytes = &bytemuck::cast_slice(&bytes)[..dtype.size()];
            let tensor = TensorView::new(dtype, &[1], bytes).unwrap();
            Promotion::new()
                .tensor(&tensor)
                .scalar(scalar)
                .result()
                .unwrap()
        };
        assert_eq!(of(DType::I8, Scalar::Int(1000)), DType::I8);
        assert_eq!(of(DType::Bool, Scalar::Int(1)), DType::I64);
        assert_eq!(of(DType::I16, Scalar::Double(0.5)), DType::F32);
        assert_eq!(of(DType::F16, Scalar::Double(1e9)), DType::F16);
        assert_eq!(of(DType::F64, Scalar::Bool(true)), DType::F64);
    }

    #[test]
    fn a_tensor_without_dimensions_ranks_between() {
        let one = [1f64];
        let zero_dim = TensorView::from_slice(&one, &[]).unwrap();
        let half = [thalweg_core::f16::ONE; 2];
        let half = TensorView::from_slice(&half, &[2]).unwrap();
        let ints = [1i32; 2];
        let ints = TensorView::from_slice(&ints, &[2]).unwrap();
        assert_eq!(
            Promotion::new()
                .tensor(&half)
                .tensor(&zero_dim)
                .result()
                .unwrap(),
            DType::F16
        );
        assert_eq!(
            Promotion::new()
                .tensor(&zero_dim)
                .tensor(&ints)
                .result()
                .unwrap(),
            DType::F64
        );
    }
}
