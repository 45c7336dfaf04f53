//! Elements and numbers of one type as those of another.

use half::{bf16, f16};
use thalweg_core::{Bool, Complex32, Complex64, DType, Element, Result, Scalar, ensure};

use crate::copying::{elements, elements_mut};
use crate::dispatch::dispatch;

/// How many elements are converted at a time, by way of the widest type of their kind.
const CHUNK: usize = 256;

/// Converts elements, in the order in which they lie. Both slices hold equally many.
///
/// The rules are PyTorch's: floats lose their fraction, integers wrap, complex numbers lose
/// their imaginary part, and everything that is not zero is true.
pub(crate) fn convert(target: &mut [u8], to: DType, source: &[u8], from: DType) -> Result<()> {
    ensure!(
        target.len() / to.size() == source.len() / from.size(),
        Internal,
        "a conversion between different numbers of elements"
    );
    if source.is_empty() {
        return Ok(());
    }
    if to == from {
        target.copy_from_slice(source);
    } else if from.is_complex() {
        through::<Complex64>(target, to, source, from)?;
    } else if from.is_float() {
        through::<f64>(target, to, source, from)?;
    } else if from == DType::U64 {
        through::<u64>(target, to, source, from)?;
    } else {
        through::<i64>(target, to, source, from)?;
    }
    Ok(())
}

fn through<W: Number>(target: &mut [u8], to: DType, source: &[u8], from: DType) -> Result<()> {
    let mut wide = [W::default(); CHUNK];
    let sources = source.chunks(CHUNK * from.size());
    for (target, source) in target.chunks_mut(CHUNK * to.size()).zip(sources) {
        let wide = &mut wide[..source.len() / from.size()];
        dispatch!(from, all => S, {
            for (wide, &element) in wide.iter_mut().zip(elements::<S>(source)?) {
                *wide = W::from_number(element);
            }
        });
        dispatch!(to, all => T, {
            for (element, &wide) in elements_mut::<T>(target)?.iter_mut().zip(&*wide) {
                *element = T::from_number(wide);
            }
        });
    }
    Ok(())
}

/// An element with the value of a number, in its first bytes.
pub(crate) fn encode(value: Scalar, dtype: DType) -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    dispatch!(dtype, all => T, {
        let element = match value {
            Scalar::Int(value) => T::from_number(value),
            Scalar::Double(value) => T::from_number(value),
            Scalar::Bool(value) => T::from_number(i64::from(value)),
        };
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&element));
    });
    Ok(bytes)
}

/// An element type that converts to and from the widest of each kind.
pub(crate) trait Number: Element {
    /// As a real number.
    fn to_f64(self) -> f64;
    /// As a real number of less precision, rounded once.
    fn to_f32(self) -> f32;
    /// As an integer; floats lose their fraction and saturate.
    fn to_i64(self) -> i64;
    /// As a complex number.
    fn to_complex(self) -> Complex64 {
        Complex64::new(self.to_f64(), 0.0)
    }
    /// From any other.
    fn from_number<N: Number>(value: N) -> Self;
}

macro_rules! floats {
    ($($float:ty: $to:ident => $value:ident: $convert:expr),*) => {
        $(impl Number for $float {
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn to_f32(self) -> f32 {
                f64::from(self) as f32
            }
            fn to_i64(self) -> i64 {
                f64::from(self) as i64
            }
            fn from_number<N: Number>(value: N) -> Self {
                let $value = value.$to();
                $convert
            }
        })*
    };
}

// A double becomes a short float by way of f32, as in PyTorch.
floats!(
    f16: to_f32 => value: f16::from_f32(value),
    bf16: to_f32 => value: bf16::from_f32(value),
    f32: to_f32 => value: value,
    f64: to_f64 => value: value
);

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl Number for $integer {
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn to_f32(self) -> f32 {
                self as f32
            }
            fn to_i64(self) -> i64 {
                self as i64
            }
            fn from_number<N: Number>(value: N) -> Self {
                value.to_i64() as $integer
            }
        })*
    };
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl Number for Bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self.get()))
    }
    fn to_f32(self) -> f32 {
        f32::from(u8::from(self.get()))
    }
    fn to_i64(self) -> i64 {
        i64::from(self.get())
    }
    fn from_number<N: Number>(value: N) -> Self {
        (value.to_complex() != Complex64::default()).into()
    }
}

macro_rules! complex_numbers {
    ($($complex:ty: $part:ty),*) => {
        $(impl Number for $complex {
            fn to_f64(self) -> f64 {
                f64::from(self.re)
            }
            fn to_f32(self) -> f32 {
                self.re as f32
            }
            fn to_i64(self) -> i64 {
                self.re as i64
            }
            fn to_complex(self) -> Complex64 {
                Complex64::new(self.re.into(), self.im.into())
            }
            fn from_number<N: Number>(value: N) -> Self {
                let value = value.to_complex();
                Self::new(value.re as $part, value.im as $part)
            }
        })*
    };
}

complex_numbers!(Complex32: f32, Complex64: f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn converted<S: Element, T: Element>(source: &[S]) -> Vec<T> {
        let mut target = vec![T::default(); source.len()];
        let (to, from) = (T::DTYPE, S::DTYPE);
        let bytes = bytemuck::cast_slice_mut(&mut target);
        convert(bytes, to, bytemuck::cast_slice(source), from).unwrap();
        target
    }

    #[test]
    fn integers_wrap_and_floats_lose_their_fraction() {
        assert_eq!(converted::<i64, u8>(&[-1, 256, 3]), [255, 0, 3]);
        assert_eq!(converted::<f32, i32>(&[1.9, -1.9]), [1, -1]);
        assert_eq!(converted::<i64, i64>(&[i64::MAX]), [i64::MAX]);
        assert_eq!(converted::<u64, f32>(&[u64::MAX]), [u64::MAX as f32]);
    }

    #[test]
    fn what_is_not_zero_is_true() {
        let falsy = [0.0, -0.0];
        assert_eq!(converted::<f32, Bool>(&falsy), [false.into(), false.into()]);
        assert_eq!(converted::<f32, Bool>(&[0.5]), [Bool::from(true)]);
        assert_eq!(converted::<f32, Bool>(&[f32::NAN]), [Bool::from(true)]);
        let imaginary = [Complex32::new(0.0, 1.0)];
        assert_eq!(converted::<Complex32, Bool>(&imaginary), [Bool::from(true)]);
    }

    #[test]
    fn long_slices_are_converted_to_their_end() {
        let source: Vec<i32> = (0..1000).collect();
        let expected: Vec<f64> = source.iter().map(|&i| f64::from(i)).collect();
        assert_eq!(converted::<i32, f64>(&source), expected);
    }
}
