//! Elements of tensors of any type, as numbers.

use thalweg::{DType, TensorView, bf16, f16};

use crate::text;

/// An element, without loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
    Complex(f64, f64),
    Bool(bool),
}

/// The elements of a tensor, in memory order.
pub(crate) fn numbers(view: TensorView<'_>) -> impl ExactSizeIterator<Item = Number> {
    let dtype = view.dtype();
    view.bytes()
        .chunks_exact(dtype.size())
        .map(move |bytes| Number::read(dtype, bytes))
}

impl Number {
    /// The element of these bytes. There should be as many as the type has; missing bytes are zero.
    fn read(dtype: DType, bytes: &[u8]) -> Self {
        match dtype {
            DType::U8 => Self::Int(u8::from_ne_bytes(first(bytes)).into()),
            DType::U16 => Self::Int(u16::from_ne_bytes(first(bytes)).into()),
            DType::U32 => Self::Int(u32::from_ne_bytes(first(bytes)).into()),
            DType::U64 => Self::Int(u64::from_ne_bytes(first(bytes)).into()),
            DType::I8 => Self::Int(i8::from_ne_bytes(first(bytes)).into()),
            DType::I16 => Self::Int(i16::from_ne_bytes(first(bytes)).into()),
            DType::I32 => Self::Int(i32::from_ne_bytes(first(bytes)).into()),
            DType::I64 => Self::Int(i64::from_ne_bytes(first(bytes)).into()),
            DType::Bool => Self::Bool(bytes != [0]),
            DType::F16 => Self::Float(f16::from_ne_bytes(first(bytes)).into()),
            DType::BF16 => Self::Float(bf16::from_ne_bytes(first(bytes)).into()),
            DType::F32 => Self::Float(f32::from_ne_bytes(first(bytes)).into()),
            DType::F64 => Self::Float(f64::from_ne_bytes(first(bytes))),
            DType::ComplexF16 => Self::pair(DType::F16, bytes),
            DType::ComplexF32 => Self::pair(DType::F32, bytes),
            DType::ComplexF64 => Self::pair(DType::F64, bytes),
            DType::F8E5M2 => Self::Float(Float8::E5M2.read(first(bytes))),
            DType::F8E4M3Fn => Self::Float(Float8::E4M3_FN.read(first(bytes))),
            DType::F8E5M2Fnuz => Self::Float(Float8::E5M2_FNUZ.read(first(bytes))),
            DType::F8E4M3Fnuz => Self::Float(Float8::E4M3_FNUZ.read(first(bytes))),
            // There is no other type so far.
            _ => Self::Float(f64::NAN),
        }
    }

    fn pair(part: DType, bytes: &[u8]) -> Self {
        let (real, imaginary) = bytes.split_at(bytes.len() / 2);
        Self::Complex(
            Self::read(part, real).to_f64(),
            Self::read(part, imaginary).to_f64(),
        )
    }

    /// The number as a double; of a complex number, the real part.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) | Self::Complex(value, _) => value,
            Self::Bool(value) => f64::from(u8::from(value)),
        }
    }

    /// The number as text, with `digits` significant digits.
    pub(crate) fn to_text(self, digits: usize) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            Self::Float(value) => text::float(value, digits),
            Self::Bool(value) => value.to_string(),
            Self::Complex(real, imaginary) => {
                let sign = if imaginary.is_sign_negative() {
                    "-"
                } else {
                    "+"
                };
                let imaginary = text::float(imaginary.abs(), digits);
                format!("{}{sign}{imaginary}i", text::float(real, digits))
            }
        }
    }
}

/// The encoding of an 8-bit float.
struct Float8 {
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

/// The encodings that are not finite numbers.
#[derive(PartialEq)]
enum Special {
    /// Those with the largest exponent, as in IEEE 754.
    Ieee,
    /// All ones, which is NaN.
    AllOnes,
    /// Negative zero, which is NaN.
    NegativeZero,
}

impl Float8 {
    const E5M2: Self = Self::new(2, 15, Special::Ieee);
    const E4M3_FN: Self = Self::new(3, 7, Special::AllOnes);
    const E5M2_FNUZ: Self = Self::new(2, 16, Special::NegativeZero);
    const E4M3_FNUZ: Self = Self::new(3, 8, Special::NegativeZero);

    const fn new(mantissa_bits: u32, bias: i32, special: Special) -> Self {
        Self {
            mantissa_bits,
            bias,
            special,
        }
    }

    fn read(&self, [byte]: [u8; 1]) -> f64 {
        let negative = byte & 0x80 != 0;
        let magnitude = byte & 0x7f;
        let exponent = i32::from(magnitude >> self.mantissa_bits);
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let largest = i32::from(0x7f_u8 >> self.mantissa_bits);
        let value = match self.special {
            Special::Ieee if exponent == largest && mantissa != 0 => f64::NAN,
            Special::Ieee if exponent == largest => f64::INFINITY,
            Special::AllOnes if magnitude == 0x7f => f64::NAN,
            Special::NegativeZero if byte == 0x80 => f64::NAN,
            _ => {
                let fraction = f64::from(mantissa) / f64::from(1u32 << self.mantissa_bits);
                if exponent == 0 {
                    fraction * 2f64.powi(1 - self.bias)
                } else {
                    (1.0 + fraction) * 2f64.powi(exponent - self.bias)
                }
            }
        };
        if negative { -value } else { value }
    }
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    for (to, from) in array.iter_mut().zip(bytes) {
        *to = *from;
    }
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_every_type_are_read() {
        for dtype in DType::ALL {
            let zeros = vec![0; dtype.size()];
            assert_eq!(Number::read(dtype, &zeros).to_f64(), 0.0, "{dtype}");
        }
        let read = |dtype, bytes: &[u8]| Number::read(dtype, bytes);
        assert_eq!(
            read(DType::U64, &u64::MAX.to_ne_bytes()),
            Number::Int(u64::MAX.into())
        );
        assert_eq!(read(DType::Bool, &[2]), Number::Bool(true));
        assert_eq!(
            read(DType::BF16, &bf16::from_f32(1.5).to_ne_bytes()),
            Number::Float(1.5)
        );
        let parts: Vec<u8> = [1f32, -2.0].iter().flat_map(|f| f.to_ne_bytes()).collect();
        let complex = read(DType::ComplexF32, &parts);
        assert_eq!(complex, Number::Complex(1.0, -2.0));
        assert_eq!(complex.to_text(6), "1-2i");
    }

    #[test]
    fn floats_of_one_byte_follow_their_formats() {
        assert_eq!(Float8::E4M3_FN.read([0x7e]), 448.0);
        assert!(Float8::E4M3_FN.read([0x7f]).is_nan());
        assert_eq!(Float8::E4M3_FN.read([0x01]), 2f64.powi(-9));
        assert_eq!(Float8::E5M2.read([0x7b]), 57344.0);
        assert_eq!(Float8::E5M2.read([0xfc]), f64::NEG_INFINITY);
        assert_eq!(Float8::E4M3_FNUZ.read([0x7f]), 240.0);
        assert!(Float8::E5M2_FNUZ.read([0x80]).is_nan());
        assert_eq!(Float8::E5M2_FNUZ.read([0x7f]), 57344.0);
    }
}
