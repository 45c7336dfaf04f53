//! The numbers that operators compute with.

use thalweg_core::{Complex32, Complex64};

use crate::dtype::cast::CastInto;
use crate::dtype::compute::Compute;

/// Numbers with a sum and a product; integers wrap.
pub(crate) trait Number: Compute {
    const ONE: Self;

    fn is_nan(self) -> bool;
    fn is_infinite(self) -> bool;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn neg(self) -> Self;
}

/// Numbers with an order.
pub(crate) trait Ordered: Number + PartialOrd {
    /// The least number: minus infinity, if there is one.
    const LEAST: Self;
    /// The greatest number: infinity, if there is one.
    const GREATEST: Self;

    /// The larger one; NaN if either is.
    fn max_nan(self, other: Self) -> Self;
    /// The smaller one; NaN if either is.
    fn min_nan(self, other: Self) -> Self;
    fn abs(self) -> Self;
    /// -1, 0 or 1; 0 for NaN, as in PyTorch.
    fn sign(self) -> Self;
    /// The quotient rounded down. 0 for a division of integers by 0, which callers refuse.
    fn quotient_floor(self, other: Self) -> Self;
    /// The quotient without its fraction. 0 for a division of integers by 0.
    fn quotient_trunc(self, other: Self) -> Self;
    /// The remainder with the sign of the dividend. 0 for a division of integers by 0.
    fn fmod(self, other: Self) -> Self;
    /// The remainder with the sign of the divisor. 0 for a division of integers by 0.
    fn remainder(self, other: Self) -> Self;
    /// The power. Of integers, a negative exponent gives what is left of the fraction.
    fn power(self, exponent: Self) -> Self;
}

/// Numbers of bits.
pub(crate) trait Integer: Ordered + Eq {
    fn bit_and(self, other: Self) -> Self;
    fn bit_or(self, other: Self) -> Self;
    fn bit_xor(self, other: Self) -> Self;
    fn bit_not(self) -> Self;
    /// 0 if the distance is negative or all bits are shifted out.
    fn shift_left(self, distance: Self) -> Self;
    /// Fills with the sign; a negative distance shifts all bits out.
    fn shift_right(self, distance: Self) -> Self;
}

/// Numbers that are summed in a wider type: integers wrap at 64 bits, and floats are summed in
/// f64, which costs little more than f32 where memory is the limit.
pub(crate) trait Summed: Number + CastInto<Self::Wide> {
    type Wide: Number;

    #[inline]
    fn widen(self) -> Self::Wide {
        self.cast_into()
    }
}

macro_rules! summed {
    ($($from:ty => $wide:ty),*) => {
        $(impl Summed for $from {
            type Wide = $wide;
        })*
    };
}

summed!(
    u8 => u64, i32 => i64, i64 => i64, u64 => u64, f32 => f64, f64 => f64,
    Complex32 => Complex64, Complex64 => Complex64
);

macro_rules! integers {
    ($($int:ty),*) => {
        $(
            impl Number for $int {
                const ONE: Self = 1;

                #[inline]
                fn is_nan(self) -> bool {
                    false
                }
                #[inline]
                fn is_infinite(self) -> bool {
                    false
                }
                #[inline]
                fn add(self, other: Self) -> Self {
                    self.wrapping_add(other)
                }
                #[inline]
                fn sub(self, other: Self) -> Self {
                    self.wrapping_sub(other)
                }
                #[inline]
                fn mul(self, other: Self) -> Self {
                    self.wrapping_mul(other)
                }
                #[inline]
                fn neg(self) -> Self {
                    self.wrapping_neg()
                }
            }

            #[allow(unused_comparisons, reason = "some of the types have no sign")]
            impl Ordered for $int {
                const LEAST: Self = <$int>::MIN;
                const GREATEST: Self = <$int>::MAX;

                #[inline]
                fn max_nan(self, other: Self) -> Self {
                    self.max(other)
                }
                #[inline]
                fn min_nan(self, other: Self) -> Self {
                    self.min(other)
                }
                #[inline]
                fn abs(self) -> Self {
                    if self < 0 { self.wrapping_neg() } else { self }
                }
                #[inline]
                fn sign(self) -> Self {
                    Self::from(self > 0).wrapping_sub(Self::from(self < 0))
                }
                #[inline]
                fn quotient_floor(self, other: Self) -> Self {
                    let quotient = self.quotient_trunc(other);
                    let rest = self.fmod(other);
                    let is_below = (rest != 0) & ((rest < 0) != (other < 0));
                    quotient.wrapping_sub(Self::from(is_below))
                }
                #[inline]
                fn quotient_trunc(self, other: Self) -> Self {
                    if other == 0 { 0 } else { self.wrapping_div(other) }
                }
                #[inline]
                fn fmod(self, other: Self) -> Self {
                    if other == 0 { 0 } else { self.wrapping_rem(other) }
                }
                #[inline]
                fn remainder(self, other: Self) -> Self {
                    let rest = self.fmod(other);
                    // Without a branch, which would go either way.
                    let is_below = (rest != 0) & ((rest < 0) != (other < 0));
                    rest.wrapping_add(Self::from(is_below).wrapping_neg() & other)
                }
                fn power(self, exponent: Self) -> Self {
                    if exponent < 0 {
                        let is_odd = exponent & 1 == 1;
                        return match self {
                            1 => 1,
                            // Minus one, where there is one.
                            base if base == Self::ONE.wrapping_neg() && base < 0 => {
                                if is_odd { base } else { 1 }
                            }
                            _ => 0,
                        };
                    }
                    let (mut power, mut base, mut left): (Self, Self, Self) = (1, self, exponent);
                    while left > 0 {
                        if left & 1 == 1 {
                            power = power.wrapping_mul(base);
                        }
                        base = base.wrapping_mul(base);
                        left >>= 1;
                    }
                    power
                }
            }

            #[allow(unused_comparisons, reason = "some of the types have no sign")]
            impl Integer for $int {
                #[inline]
                fn bit_and(self, other: Self) -> Self {
                    self & other
                }
                #[inline]
                fn bit_or(self, other: Self) -> Self {
                    self | other
                }
                #[inline]
                fn bit_xor(self, other: Self) -> Self {
                    self ^ other
                }
                #[inline]
                fn bit_not(self) -> Self {
                    !self
                }
                #[inline]
                fn shift_left(self, distance: Self) -> Self {
                    let bits = Self::BITS;
                    if distance < 0 || distance as u64 >= u64::from(bits) {
                        0
                    } else {
                        self << distance
                    }
                }
                #[inline]
                fn shift_right(self, distance: Self) -> Self {
                    let bits = Self::BITS;
                    if distance < 0 || distance as u64 >= u64::from(bits) {
                        if self < 0 { (0 as Self).wrapping_sub(1) } else { 0 }
                    } else {
                        self >> distance
                    }
                }
            }
        )*
    };
}

macro_rules! arithmetic_by_operators {
    ($($number:ty: $one:expr),*) => {
        $(impl Number for $number {
            const ONE: Self = $one;

            #[inline]
            fn is_nan(self) -> bool {
                <$number>::is_nan(self)
            }
            #[inline]
            fn is_infinite(self) -> bool {
                <$number>::is_infinite(self)
            }
            #[inline]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline]
            fn neg(self) -> Self {
                -self
            }
        })*
    };
}

/// The remainder of a division, as `%` has it. Where the quotient is not large, it comes from the
/// quotient in f64: that is never rounded up to an integer, since it has twice the bits, and its
/// whole part times the divisor is exact.
#[inline]
fn rest_f32(a: f32, b: f32) -> f32 {
    let (wide, by) = (f64::from(a), f64::from(b));
    let whole = (wide / by).trunc();
    if whole.abs() < 16_777_216.0 && b.is_finite() {
        return ((wide - whole * by) as f32).copysign(a);
    }
    rest_of_large(a, b)
}

/// A function of its own, since the compiler would otherwise compute it for all elements and choose afterwards.
#[cold]
#[inline(never)]
fn rest_of_large(a: f32, b: f32) -> f32 {
    a % b
}

#[inline]
fn rest_f64(a: f64, b: f64) -> f64 {
    a % b
}

macro_rules! floats {
    ($($float:ident: $rest:path),*) => {
        $(impl Ordered for $float {
            const LEAST: Self = $float::NEG_INFINITY;
            const GREATEST: Self = $float::INFINITY;

            #[inline]
            fn max_nan(self, other: Self) -> Self {
                if self.is_nan() || self > other { self } else { other }
            }
            #[inline]
            fn min_nan(self, other: Self) -> Self {
                if self.is_nan() || self < other { self } else { other }
            }
            #[inline]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline]
            fn sign(self) -> Self {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            }
            #[inline]
            fn quotient_floor(self, other: Self) -> Self {
                if other == 0.0 {
                    return self / other;
                }
                // Rounding the quotient could round it up to the next integer; its exact floor
                // comes from the remainder, as in Python.
                let rest = $rest(self, other);
                let mut quotient = (self - rest) / other;
                if rest != 0.0 && (other < 0.0) != (rest < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return (0.0 as $float).copysign(self / other);
                }
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
            #[inline]
            fn quotient_trunc(self, other: Self) -> Self {
                (self / other).trunc()
            }
            #[inline]
            fn fmod(self, other: Self) -> Self {
                $rest(self, other)
            }
            #[inline]
            fn remainder(self, other: Self) -> Self {
                let rest = $rest(self, other);
                if rest != 0.0 && (rest < 0.0) != (other < 0.0) {
                    rest + other
                } else {
                    rest
                }
            }
            #[inline]
            fn power(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
        })*
    };
}

integers!(u8, i32, i64, u64);
arithmetic_by_operators!(f32: 1.0, f64: 1.0, Complex32: Complex32::ONE, Complex64: Complex64::ONE);
floats!(f32: rest_f32, f64: rest_f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remainder_of_floats_has_the_bits_that_the_machine_gives() {
        let mut values = vec![
            0.0,
            -0.0,
            f32::INFINITY,
            f32::NAN,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e-45,
        ];
        let mut bits = 1u32;
        for _ in 0..1500 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Of all magnitudes, and of those where quotients are small.
            values.push(f32::from_bits(bits));
            values.push((bits >> 8) as f32 / 65_536.0 - 100.0);
            values.push((bits >> 24) as f32 - 100.0);
        }
        for &a in &values {
            for &b in values.iter().step_by(7).chain(&values[..7]) {
                let (found, expected) = (Ordered::fmod(a, b), a % b);
                let is_same = found.to_bits() == expected.to_bits();
                assert!(
                    is_same || (found.is_nan() && expected.is_nan()),
                    "{a:e} % {b:e}: {found:e}"
                );
            }
        }
    }

    #[test]
    fn remainders_of_integers_have_the_sign_of_the_divisor() {
        let found = [
            (7i64, 3),
            (-7, 3),
            (7, -3),
            (-7, -3),
            (6, -3),
            (i64::MIN, -1),
            (5, 0),
        ]
        .map(|(a, b)| (Ordered::remainder(a, b), a.quotient_floor(b)));
        let expected = [
            (1, 2),
            (2, -3),
            (-2, -3),
            (-1, 2),
            (0, -2),
            (0, i64::MIN),
            (0, 0),
        ];
        assert_eq!(found, expected);
        assert_eq!((Ordered::remainder(7u8, 3), 7u8.quotient_floor(3)), (1, 2));
    }
}
