//! What operators ask of the numbers that they compute with.

use thalweg_core::{Complex32, Complex64};

use crate::cast::CastInto;
use crate::compute::Compute;

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

/// Apart, since the compiler would compute it for all elements otherwise, and choose afterwards.
#[cold]
#[inline(never)]
fn rest_of_large(a: f32, b: f32) -> f32 {
    a % b
}

#[inline]
fn rest_f64(a: f64, b: f64) -> f64 {
    a % b
}

/// Functions of two floats, in two ways: a short one without branches and calls, so that loops over it
/// become vector instructions, where [`is_simple`](Self::is_simple) says that it is exact; and that of
/// [`Ordered`] for all others. Where there is no short way, nothing is simple.
pub(crate) trait TwoWays: Ordered {
    /// Whether there is a short way.
    const HAS_SHORT: bool;

    /// Whether the short ways to divide give what the others do: the quotient has a few bits less than
    /// the type, and is none of something infinite.
    fn is_simple(self, other: Self) -> bool;
    fn short_quotient_floor(self, other: Self) -> Self;
    fn short_fmod(self, other: Self) -> Self;
    fn short_remainder(self, other: Self) -> Self;

    /// Whether [`short_power`](Self::short_power) is good to a unit in the last place: the base is
    /// positive, and all is finite.
    fn has_simple_power(self, exponent: Self) -> bool;
    fn short_power(self, exponent: Self) -> Self;
}

impl TwoWays for f32 {
    const HAS_SHORT: bool = true;

    #[inline(always)]
    fn is_simple(self, other: Self) -> bool {
        let quotient = f64::from(self) / f64::from(other);
        (quotient.abs() < 4_194_304.0) & (other.abs() < f32::INFINITY)
    }

    // A quotient in f64 is never rounded up to an integer, since it has twice the bits.

    #[inline(always)]
    fn short_quotient_floor(self, other: Self) -> Self {
        (f64::from(self) / f64::from(other)).floor() as f32
    }

    #[inline(always)]
    fn short_fmod(self, other: Self) -> Self {
        let (wide, by) = (f64::from(self), f64::from(other));
        ((wide - (wide / by).trunc() * by) as f32).copysign(self)
    }

    #[inline(always)]
    fn short_remainder(self, other: Self) -> Self {
        let rest = self.short_fmod(other);
        let is_below = (rest != 0.0) & ((rest < 0.0) != (other < 0.0));
        if is_below { rest + other } else { rest }
    }

    #[inline(always)]
    fn has_simple_power(self, exponent: Self) -> bool {
        (self > 0.0) & (self < f32::INFINITY) & (exponent.abs() < f32::INFINITY)
    }

    #[inline(always)]
    fn short_power(self, exponent: Self) -> Self {
        power_f32(self, exponent)
    }
}

impl TwoWays for f64 {
    const HAS_SHORT: bool = false;

    #[inline(always)]
    fn is_simple(self, _: Self) -> bool {
        false
    }
    #[inline(always)]
    fn short_quotient_floor(self, other: Self) -> Self {
        self.quotient_floor(other)
    }
    #[inline(always)]
    fn short_fmod(self, other: Self) -> Self {
        Ordered::fmod(self, other)
    }
    #[inline(always)]
    fn short_remainder(self, other: Self) -> Self {
        Ordered::remainder(self, other)
    }
    #[inline(always)]
    fn has_simple_power(self, _: Self) -> bool {
        false
    }
    #[inline(always)]
    fn short_power(self, exponent: Self) -> Self {
        self.powf(exponent)
    }
}

/// The power of a positive number, by its logarithm in f64, which has bits to spare.
#[inline(always)]
fn power_f32(base: f32, exponent: f32) -> f32 {
    // Adding this to a small integer or, as bits, an integer to this, converts one to the other.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let bits = f64::from(base).to_bits();
    // The base is 2^n times a number from √½ to √2, n and the number's bits by arithmetic on bits.
    let above = bits.wrapping_add(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_667f_3bcd);
    let n =
        f64::from_bits((above >> 52) | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((above & 0x000f_ffff_ffff_ffff) + 0x3fe6_a09e_667f_3bcd);
    // ln m = 2 artanh s. The sums of both series leave out less than 1e-12.
    let s = (m - 1.0) / (m + 1.0);
    let y = s * s;
    let mut sum = 1.0 / 17.0;
    for divisor in [15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * y + 1.0 / divisor;
    }
    let logarithm = n + 2.0 * s * sum * std::f64::consts::LOG2_E;
    let power = f64::from(exponent) * logarithm;
    // From there on it is 0 or infinite in f32.
    let power = if power > 200.0 { 200.0 } else { power };
    let power = if power < -200.0 { -200.0 } else { power };
    let shifted = power + SHIFT;
    let whole = shifted - SHIFT;
    let r = (power - whole) * std::f64::consts::LN_2;
    let mut sum = 1.0 / 3_628_800.0;
    for factorial in [
        362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0,
    ] {
        sum = sum * r + 1.0 / factorial;
    }
    let scale = shifted
        .to_bits()
        .wrapping_sub(SHIFT.to_bits())
        .wrapping_add(1023)
        << 52;
    (sum * f64::from_bits(scale)) as f32
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

    /// All kinds of f32: of all magnitudes, small numbers, and what is none.
    fn samples() -> Vec<f32> {
        let mut samples = vec![
            0.0,
            -0.0,
            1.0,
            -1.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e-45,
            1.0 + f32::EPSILON,
            1.0 - f32::EPSILON / 2.0,
        ];
        let mut bits = 1u32;
        for _ in 0..700 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            samples.push(f32::from_bits(bits));
            samples.push((bits >> 8) as f32 / 65_536.0 - 100.0);
            samples.push((bits >> 24) as f32 - 100.0);
        }
        samples
    }

    #[test]
    fn the_short_way_to_divide_gives_the_bits_of_the_long_one() {
        let mut simple = 0;
        for &a in &samples() {
            for &b in &samples() {
                if !a.is_simple(b) {
                    continue;
                }
                simple += 1;
                let found = [
                    a.short_quotient_floor(b),
                    a.short_fmod(b),
                    a.short_remainder(b),
                ];
                let expected = [
                    a.quotient_floor(b),
                    Ordered::fmod(a, b),
                    Ordered::remainder(a, b),
                ];
                assert_eq!(
                    found.map(f32::to_bits),
                    expected.map(f32::to_bits),
                    "{a:e} by {b:e}: {found:?} is not {expected:?}"
                );
            }
        }
        assert!(simple > 1_000_000, "{simple}");
        for (a, b) in [(1.0, 0.0), (f32::NAN, 1.0), (1.0, f32::NEG_INFINITY)] {
            assert!(!a.is_simple(b));
        }
    }

    #[test]
    fn the_short_way_to_a_power_is_good_to_a_unit_in_the_last_place() {
        for &base in &samples() {
            for &exponent in samples().iter().step_by(5) {
                if !base.has_simple_power(exponent) {
                    continue;
                }
                let found = base.short_power(exponent);
                let exact = f64::from(base).powf(f64::from(exponent));
                let rounded = exact as f32;
                let units = (i64::from(found.to_bits()) - i64::from(rounded.to_bits())).abs();
                assert!(
                    units <= 1,
                    "{base:e} to the {exponent:e}: {found:e}, {exact:e}"
                );
            }
        }
        assert!(!0f32.has_simple_power(1.0) && !f32::INFINITY.has_simple_power(1.0));
        assert!(!f32::NAN.has_simple_power(1.0) && !1f32.has_simple_power(f32::NAN));
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
