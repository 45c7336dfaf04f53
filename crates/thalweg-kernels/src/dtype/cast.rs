//! Casts of elements from one type to another, as in PyTorch's `to`.
//!
//! - To a boolean: true unless the element is zero; NaN is true.
//! - From an integer to a smaller one: the low bits.
//! - From a float to an integer: the fraction is dropped. Beyond the range of the integer, which
//!   PyTorch leaves open, 32 and 64 bits saturate, and fewer bits are the low ones of that.
//!   NaN is 0.
//! - From a complex number to a real one: the imaginary part is dropped.

use half::slice::HalfFloatSliceExt;
use thalweg_core::{Bool, Complex32, Complex64, Scalar, bf16, f16};

use crate::simd::vectorized;

/// Conversion of elements; [the module](self) says how.
pub(crate) trait CastFrom<S: Copy>: Copy {
    /// Converts one element.
    fn cast_from(value: S) -> Self;

    /// Converts as many elements as both slices have.
    fn cast_slice(from: &[S], to: &mut [Self]) {
        vectorized(
            #[inline(always)]
            || {
                for (to, &from) in to.iter_mut().zip(from) {
                    *to = Self::cast_from(from);
                }
            },
        );
    }
}

/// The other direction of [`CastFrom`].
pub(crate) trait CastInto<T>: Copy {
    /// Converts one element.
    fn cast_into(self) -> T;

    /// Converts as many elements as both slices have.
    fn cast_into_slice(from: &[Self], to: &mut [T]);
}

impl<S: Copy, T: CastFrom<S>> CastInto<T> for S {
    #[inline]
    fn cast_into(self) -> T {
        T::cast_from(self)
    }

    #[inline]
    fn cast_into_slice(from: &[S], to: &mut [T]) {
        T::cast_slice(from, to);
    }
}

/// A number of a program as an element.
pub(crate) fn cast_scalar<T: CastFrom<i64> + CastFrom<f64> + CastFrom<Bool>>(value: Scalar) -> T {
    match value {
        Scalar::Int(value) => T::cast_from(value),
        Scalar::Double(value) => T::cast_from(value),
        Scalar::Bool(value) => T::cast_from(Bool::from(value)),
    }
}

/// `cast!(value: From => To = expression, ...)`, one conversion each.
macro_rules! cast {
    ($value:ident: $from:ty => $($to:ty = $converted:expr),* $(,)?) => {
        $(impl CastFrom<$from> for $to {
            #[inline]
            fn cast_from($value: $from) -> Self {
                $converted
            }
        })*
    };
}

macro_rules! cast_primitives {
    ($($from:ty: $($to:ty $(as $via:ty)?),*;)*) => {
        $(cast!(v: $from => $($to = v $(as $via)? as $to),*);)*
    };
}

cast_primitives! {
    u8: u8, u16, u32, u64, i8, i16, i32, i64, f32, f64;
    u16: u8, u16, u32, u64, i8, i16, i32, i64, f32, f64;
    u32: u8, u16, u32, u64, i8, i16, i32, i64, f32, f64;
    u64: u8, u16, u32, u64, i8, i16, i32, i64, f32, f64;
    i8: u8, u16, u32, u64, i8, i16, i32, i64, f32, f64;
    i16: u8, u16, u32, u64, i8, i16, i32, i64, f32, f64;
    i32: u8, u16, u32, u64, i8, i16, i32, i64, f32, f64;
    i64: u8, u16, u32, u64, i8, i16, i32, i64, f32, f64;
    // Negative numbers keep their low bits when they become unsigned, as on all machines that
    // PyTorch runs on.
    f32: u8 as i32, u16 as i32, u32 as i64, i8 as i32, i16 as i32, i32, i64, f32, f64;
    f64: u8 as i32, u16 as i32, u32 as i64, i8 as i32, i16 as i32, i32, i64, f32, f64;
}

cast!(v: f32 => u64 = if v < 0.0 { v as i64 as u64 } else { v as u64 });
cast!(v: f64 => u64 = if v < 0.0 { v as i64 as u64 } else { v as u64 });

/// The other conversions of a primitive, which follow from those between primitives.
macro_rules! cast_others {
    ($($real:ty),*) => {
        $(
            cast!(v: $real =>
                bf16 = Self::cast_from(v as f32),
                Bool = Bool::from(v != (0 as $real)),
                Complex32 = Complex32::new(v as f32, 0.0),
                Complex64 = Complex64::new(v as f64, 0.0),
            );
            cast!(v: f16 => $real = Self::cast_from(v.to_f32()));
            cast!(v: bf16 => $real = Self::cast_from(widen(v)));
            cast!(v: Bool => $real = u8::from(v.get()) as $real);
            cast!(v: Complex32 => $real = Self::cast_from(v.re));
            cast!(v: Complex64 => $real = Self::cast_from(v.re));
        )*
    };
    (half $($real:ty),*) => {
        $(cast!(v: $real => f16 = f16::from_f32(v as f32));)*
    };
}

// To and from f32 there are ways that are better than the general ones; they are below.
cast_others!(u8, u16, u32, u64, i8, i16, i32, i64, f64);
cast_others!(half u8, u16, u32, u64, i8, i16, i32, i64, f64);

cast!(v: f32 =>
    bf16 = narrow(v),
    Bool = Bool::from(v != 0.0),
    Complex32 = Complex32::new(v, 0.0),
    Complex64 = Complex64::new(f64::from(v), 0.0),
);
cast!(v: bf16 => f32 = widen(v));
cast!(v: Bool => f32 = f32::from(u8::from(v.get())));
cast!(v: Complex32 => f32 = v.re);
cast!(v: Complex64 => f32 = v.re as f32);

cast!(v: f16 =>
    f16 = v,
    bf16 = narrow(v.to_f32()),
    Bool = Bool::from(v != f16::ZERO),
    Complex32 = Complex32::new(v.to_f32(), 0.0),
    Complex64 = Complex64::new(v.to_f64(), 0.0),
);
cast!(v: bf16 =>
    f16 = f16::from_f32(widen(v)),
    bf16 = v,
    Bool = Bool::from(widen(v) != 0.0),
    Complex32 = Complex32::new(widen(v), 0.0),
    Complex64 = Complex64::new(f64::from(widen(v)), 0.0),
);
cast!(v: Bool =>
    f16 = if v.get() { f16::ONE } else { f16::ZERO },
    bf16 = if v.get() { bf16::ONE } else { bf16::ZERO },
    // Any byte may stand for true; what is written is 1.
    Bool = Bool::from(v.get()),
    Complex32 = Complex32::new(f32::from(u8::from(v.get())), 0.0),
    Complex64 = Complex64::new(f64::from(u8::from(v.get())), 0.0),
);
cast!(v: Complex32 =>
    f16 = f16::from_f32(v.re),
    bf16 = narrow(v.re),
    Bool = Bool::from(v.re != 0.0 || v.im != 0.0),
    Complex32 = v,
    Complex64 = Complex64::new(f64::from(v.re), f64::from(v.im)),
);
cast!(v: Complex64 =>
    f16 = f16::from_f32(v.re as f32),
    bf16 = narrow(v.re as f32),
    Bool = Bool::from(v.re != 0.0 || v.im != 0.0),
    Complex32 = Complex32::new(v.re as f32, v.im as f32),
    Complex64 = v,
);

impl CastFrom<f16> for f32 {
    #[inline]
    fn cast_from(value: f16) -> Self {
        value.to_f32()
    }

    // Uses the processor's own instructions where it has them.
    fn cast_slice(from: &[f16], to: &mut [Self]) {
        let len = from.len().min(to.len());
        from[..len].convert_to_f32_slice(&mut to[..len]);
    }
}

impl CastFrom<f32> for f16 {
    #[inline]
    fn cast_from(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn cast_slice(from: &[f32], to: &mut [Self]) {
        let len = from.len().min(to.len());
        to[..len].convert_from_f32_slice(&from[..len]);
    }
}

/// Without the quieting of NaNs that `half` does, this is a shift, and fast in a loop.
#[inline]
fn widen(value: bf16) -> f32 {
    f32::from_bits(u32::from(value.to_bits()) << 16)
}

/// Rounds to nearest, ties to even, without a branch.
#[inline]
fn narrow(value: f32) -> bf16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    // Rounding could carry a NaN over into another number.
    let bits = if value.is_nan() {
        (bits >> 16) | 0x40
    } else {
        rounded
    };
    bf16::from_bits(bits as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_low_bits() {
        assert_eq!(u8::cast_from(-1i64), 255);
        assert_eq!(i8::cast_from(200u8), -56);
        assert_eq!(i32::cast_from(1i64 << 32 | 5), 5);
    }

    #[test]
    fn floats_lose_their_fraction() {
        assert_eq!(i64::cast_from(-1.9f32), -1);
        assert_eq!(u8::cast_from(-1.0f32), 255);
        assert_eq!(u64::cast_from(-1.0f64), u64::MAX);
        assert_eq!(i32::cast_from(f32::NAN), 0);
        assert_eq!(i32::cast_from(1e30f64), i32::MAX);
    }

    #[test]
    fn every_number_but_zero_is_true() {
        assert!(Bool::cast_from(f32::NAN).get());
        assert!(Bool::cast_from(0.1f64).get());
        assert!(!Bool::cast_from(-0.0f32).get());
        assert!(Bool::cast_from(Complex32::new(0.0, 1.0)).get());
    }

    #[test]
    fn bf16_rounds_to_the_nearest_even() {
        for bits in (0..=u16::MAX).step_by(7) {
            let exact = bf16::from_bits(bits);
            for value in [0u32, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let value = f32::from_bits((u32::from(bits) << 16) | value);
                let rounded = bf16::cast_from(value);
                if value.is_nan() {
                    assert!(rounded.is_nan());
                } else {
                    assert_eq!(rounded.to_bits(), bf16::from_f32(value).to_bits());
                }
            }
            assert_eq!(f32::cast_from(exact).to_bits() >> 16, u32::from(bits));
        }
    }

    #[test]
    fn slices_convert_as_elements_do() {
        let values: Vec<f32> = (-40..40).map(|i| i as f32 * 1.37).collect();
        let mut halves = vec![f16::ZERO; values.len()];
        f16::cast_slice(&values, &mut halves);
        let mut back = vec![0f32; values.len()];
        f32::cast_slice(&halves, &mut back);
        for ((value, half), back) in values.iter().zip(halves).zip(back) {
            assert_eq!(half, f16::from_f32(*value));
            assert_eq!(back, half.to_f32());
        }
    }
}
