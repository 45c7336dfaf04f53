//! Fast paths of arithmetic with floats.

use super::number::Ordered;

/// Functions of two floats with a fast path: one without branches and calls, so that loops over it
/// become vector instructions. It is for operands of which
/// [`has_fast_quotient`](Self::has_fast_quotient) or [`has_fast_power`](Self::has_fast_power) is true;
/// others take the functions of [`Ordered`].
pub(crate) trait FastArithmetic: Ordered {
    /// True if the type has a fast path.
    const HAS_FAST_PATH: bool;

    /// Returns true if the fast paths of division give the exact results: the quotient has a few bits less than
    /// the type, and neither operand is infinite.
    fn has_fast_quotient(self, other: Self) -> bool;
    fn fast_quotient_floor(self, other: Self) -> Self;
    fn fast_fmod(self, other: Self) -> Self;
    fn fast_remainder(self, other: Self) -> Self;

    /// Returns true if [`fast_power`](Self::fast_power) is good to a unit in the last place: the base is
    /// positive, and all is finite.
    fn has_fast_power(self, exponent: Self) -> bool;
    fn fast_power(self, exponent: Self) -> Self;
}

impl FastArithmetic for f32 {
    const HAS_FAST_PATH: bool = true;

    #[inline(always)]
    fn has_fast_quotient(self, other: Self) -> bool {
        let quotient = f64::from(self) / f64::from(other);
        (quotient.abs() < 4_194_304.0) & (other.abs() < f32::INFINITY)
    }

    // A quotient in f64 is never rounded up to an integer, since it has twice the bits.

    #[inline(always)]
    fn fast_quotient_floor(self, other: Self) -> Self {
        (f64::from(self) / f64::from(other)).floor() as f32
    }

    #[inline(always)]
    fn fast_fmod(self, other: Self) -> Self {
        let (wide, by) = (f64::from(self), f64::from(other));
        ((wide - (wide / by).trunc() * by) as f32).copysign(self)
    }

    #[inline(always)]
    fn fast_remainder(self, other: Self) -> Self {
        let rest = self.fast_fmod(other);
        let is_below = (rest != 0.0) & ((rest < 0.0) != (other < 0.0));
        if is_below { rest + other } else { rest }
    }

    #[inline(always)]
    fn has_fast_power(self, exponent: Self) -> bool {
        (self > 0.0) & (self < f32::INFINITY) & (exponent.abs() < f32::INFINITY)
    }

    #[inline(always)]
    fn fast_power(self, exponent: Self) -> Self {
        power_f32(self, exponent)
    }
}

impl FastArithmetic for f64 {
    const HAS_FAST_PATH: bool = false;

    #[inline(always)]
    fn has_fast_quotient(self, _: Self) -> bool {
        false
    }
    #[inline(always)]
    fn fast_quotient_floor(self, other: Self) -> Self {
        self.quotient_floor(other)
    }
    #[inline(always)]
    fn fast_fmod(self, other: Self) -> Self {
        Ordered::fmod(self, other)
    }
    #[inline(always)]
    fn fast_remainder(self, other: Self) -> Self {
        Ordered::remainder(self, other)
    }
    #[inline(always)]
    fn has_fast_power(self, _: Self) -> bool {
        false
    }
    #[inline(always)]
    fn fast_power(self, exponent: Self) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// All kinds of f32: of all magnitudes, small ones, infinities and NaN.
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
                if !a.has_fast_quotient(b) {
                    continue;
                }
                simple += 1;
                let found = [
                    a.fast_quotient_floor(b),
                    a.fast_fmod(b),
                    a.fast_remainder(b),
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
            assert!(!a.has_fast_quotient(b));
        }
    }

    #[test]
    fn the_short_way_to_a_power_is_good_to_a_unit_in_the_last_place() {
        for &base in &samples() {
            for &exponent in samples().iter().step_by(5) {
                if !base.has_fast_power(exponent) {
                    continue;
                }
                let found = base.fast_power(exponent);
                let exact = f64::from(base).powf(f64::from(exponent));
                let rounded = exact as f32;
                let units = (i64::from(found.to_bits()) - i64::from(rounded.to_bits())).abs();
                assert!(
                    units <= 1,
                    "{base:e} to the {exponent:e}: {found:e}, {exact:e}"
                );
            }
        }
        assert!(!0f32.has_fast_power(1.0) && !f32::INFINITY.has_fast_power(1.0));
        assert!(!f32::NAN.has_fast_power(1.0) && !1f32.has_fast_power(f32::NAN));
    }
}
