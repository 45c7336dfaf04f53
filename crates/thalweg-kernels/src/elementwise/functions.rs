//! Functions that the standard library does not have.
//!
//! They are functions of one element without branches where that is possible, so that loops over
//! them become vector instructions.

/// Functions of floats.
pub(crate) trait Functions {
    fn exponential(self) -> Self;
    /// `1 / (1 + exp(-x))`.
    fn logistic(self) -> Self;
    fn error_function(self) -> Self;
    fn hyperbolic_tangent(self) -> Self;
    fn inverse_hyperbolic_sine(self) -> Self;
    fn inverse_hyperbolic_tangent(self) -> Self;
    /// `x * Φ(x)`, where Φ is the distribution function of the normal distribution.
    fn gelu(self) -> Self;
    /// [`gelu`](Self::gelu), approximated by a hyperbolic tangent.
    fn gelu_tanh(self) -> Self;
}

macro_rules! functions {
    ($($float:ident: $exp:path, $erf:path, $tanh:path, $asinh:path;)*) => {
        $(impl Functions for $float {
            #[inline]
            fn exponential(self) -> Self {
                $exp(self)
            }

            #[inline]
            fn logistic(self) -> Self {
                // Of what is not positive, since that does not overflow.
                let power = (-self.abs()).exponential();
                let rest = 1.0 / (1.0 + power);
                if self < 0.0 { power * rest } else { rest }
            }

            #[inline]
            fn error_function(self) -> Self {
                $erf(self)
            }

            #[inline]
            fn hyperbolic_tangent(self) -> Self {
                $tanh(self)
            }

            #[inline]
            fn inverse_hyperbolic_sine(self) -> Self {
                $asinh(self)
            }

            #[inline]
            fn inverse_hyperbolic_tangent(self) -> Self {
                // Of the magnitude, since the logarithm is inexact where its argument is near 0.
                let magnitude = self.abs();
                (0.5 * (2.0 * magnitude / (1.0 - magnitude)).ln_1p()).copysign(self)
            }

            #[inline]
            fn gelu(self) -> Self {
                0.5 * self * (1.0 + (self * std::$float::consts::FRAC_1_SQRT_2).error_function())
            }

            #[inline]
            fn gelu_tanh(self) -> Self {
                // The square root of 2/π, and the factor that fits best.
                let scale = std::$float::consts::FRAC_2_SQRT_PI * std::$float::consts::FRAC_1_SQRT_2;
                let inner = scale * (self + 0.044715 * self * self * self);
                0.5 * self * (1.0 + inner.hyperbolic_tangent())
            }
        })*
    };
}

functions! {
    f32: exp_f32, erf_f32, tanh_f32, asinh_f32;
    f64: f64::exp, erf_f64, f64::tanh, asinh_f64;
}

/// Functions with a fast path, without branches and calls, for most arguments. For others, and for
/// types without one, the standard library's are taken.
pub(crate) trait FastTrigonometry: Copy {
    /// True if the type has a fast path.
    const HAS_FAST_PATH: bool;

    /// Returns true if an angle is small enough for the fast paths.
    fn has_fast_angle(self) -> bool;
    fn fast_sine(self) -> Self;
    fn fast_cosine(self) -> Self;
}

impl FastTrigonometry for f32 {
    const HAS_FAST_PATH: bool = true;

    #[inline(always)]
    fn has_fast_angle(self) -> bool {
        self.abs() < 100_000.0
    }
    #[inline(always)]
    fn fast_sine(self) -> Self {
        quarter_turns_f32(self, 0)
    }
    #[inline(always)]
    fn fast_cosine(self) -> Self {
        quarter_turns_f32(self, 1)
    }
}

impl FastTrigonometry for f64 {
    const HAS_FAST_PATH: bool = false;

    #[inline(always)]
    fn has_fast_angle(self) -> bool {
        false
    }
    #[inline(always)]
    fn fast_sine(self) -> Self {
        self.sin()
    }
    #[inline(always)]
    fn fast_cosine(self) -> Self {
        self.cos()
    }
}

/// The sine of an angle and so many quarter turns. In f64, so that it is good to a unit in the last place
/// of f32.
#[inline(always)]
fn quarter_turns_f32(angle: f32, more: u64) -> f32 {
    // Adding this rounds to an integer, which then is in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // A quarter turn in two parts, the first of which has few bits: its product with n is exact.
    const QUARTER: [f64; 2] = [1.570_796_310_901_641_8, 1.589_325_477_352_819_7e-8];
    let angle = f64::from(angle);
    let shifted = angle * std::f64::consts::FRAC_2_PI + ROUND;
    let n = shifted - ROUND;
    let r = angle - n * QUARTER[0] - n * QUARTER[1];
    let y = r * r;
    // The series of both, as far as they matter for r from -π/4 to π/4.
    // The first as a product, so that zero keeps its sign.
    let sine = r * horner(
        y,
        [
            1.0,
            -1.0 / 6.0,
            1.0 / 120.0,
            -1.0 / 5_040.0,
            1.0 / 362_880.0,
            -1.0 / 39_916_800.0,
        ],
    );
    let cosine = horner(
        y,
        [
            1.0,
            -0.5,
            1.0 / 24.0,
            -1.0 / 720.0,
            1.0 / 40_320.0,
            -1.0 / 3_628_800.0,
            1.0 / 479_001_600.0,
        ],
    );
    let turns = shifted.to_bits().wrapping_add(more);
    let value = if turns & 1 == 0 { sine } else { cosine };
    let sign = (turns & 2) << 62;
    f64::from_bits(value.to_bits() ^ sign) as f32
}

/// Without branches and calls; within 1.5 units in the last place.
#[inline]
fn exp_f32(x: f32) -> f32 {
    // Beyond these it is 0, or infinite. NaN stays.
    const LOWEST: f32 = -104.0;
    const HIGHEST: f32 = 89.0;
    // Adding this rounds to an integer, which then is in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let x = if x < LOWEST { LOWEST } else { x };
    let x = if x > HIGHEST { HIGHEST } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, the first of which has few bits: its product with n is exact.
    let r = x - n * 0.693_359_4 - n * -2.121_944_4e-4;
    // A polynomial for the exponential function on [-ln 2 / 2, ln 2 / 2], as in Cephes.
    let p = horner(
        r,
        [
            5e-1,
            1.666_666_5e-1,
            4.166_579_6e-2,
            8.333_452e-3,
            1.398_2e-3,
            1.987_569_2e-4,
        ],
    );
    let y = p * r * r + r + 1.0;
    // The power of two in two factors, of which each is a normal number also where their product is
    // denormal or infinite.
    let n = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let half = n >> 1;
    let power = |n: i32| f32::from_bits((n.wrapping_add(127) as u32) << 23);
    y * power(half) * power(n.wrapping_sub(half))
}

/// A quotient of polynomials; within 4.2e-7 of the exact value, absolute and relative.
#[inline]
fn erf_f32(x: f32) -> f32 {
    let y = x * x;
    let numerator = horner(
        y,
        [
            -1.609_603_4e-2,
            -2.954_6e-3,
            -7.349_906_3e-4,
            -5.692_506_4e-5,
            -2.101_024e-6,
            2.770_681_4e-8,
            -2.726_142_3e-10,
        ],
    );
    let denominator = horner(
        y,
        [
            -1.426_473_9e-2,
            -7.373_329_2e-3,
            -1.682_827e-3,
            -2.133_740_6e-4,
            -1.456_607_2e-5,
        ],
    );
    let inner = x * numerator / denominator;
    // From here on it is 1 in f32. NaN stays.
    if x.abs() > 3.832_507 {
        1f32.copysign(x)
    } else {
        inner
    }
}

/// A quotient of polynomials; within 4e-7 of the exact value, absolute and relative.
#[inline]
fn tanh_f32(x: f32) -> f32 {
    // From here on it is 1 in f32. NaN stays.
    let x = x.clamp(-7.905_311, 7.905_311);
    let y = x * x;
    let numerator = horner(
        y,
        [
            4.893_524_6e-3,
            6.372_619_3e-4,
            1.485_722_4e-5,
            5.122_297e-8,
            -8.604_672e-11,
            2.000_188e-13,
            -2.760_768_5e-16,
        ],
    );
    let denominator = horner(
        y,
        [4.893_525e-3, 2.268_434_6e-3, 1.185_347_1e-4, 1.198_258_4e-6],
    );
    x * numerator / denominator
}

/// The function by way of the logarithm in f64, which has bits to spare.
#[inline]
fn asinh_f32(x: f32) -> f32 {
    let magnitude = f64::from(x.abs());
    // Below this it is x in f32, and the sum with 1 would lose what makes it so.
    if magnitude < 1e-4 {
        return x;
    }
    let inverse = (magnitude + (magnitude * magnitude + 1.0).sqrt()).ln();
    (inverse as f32).copysign(x)
}

/// Within three units in the last place.
#[inline]
fn asinh_f64(x: f64) -> f64 {
    let magnitude = x.abs();
    // From here on 1 is nothing beside the square, which soon is too large.
    let inverse = if magnitude > 1e9 {
        magnitude.ln() + std::f64::consts::LN_2
    } else {
        let square = magnitude * magnitude;
        (magnitude + square / (1.0 + (square + 1.0).sqrt())).ln_1p()
    };
    inverse.copysign(x)
}

/// Two Chebyshev fits: of `erf(x) / x` in `x²` near zero, and of `erfc(x) * exp(x²)` in
/// `1 / (1 + x/2)` elsewhere. Within 3e-16, relative.
fn erf_f64(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < 1.0 {
        return x * horner(x * x, NEAR);
    }
    if magnitude > 6.0 {
        return 1f64.copysign(x);
    }
    // 1 / (1 + x/2) goes from 2/3 down to 1/4 there; the fit is over -1 to 1.
    const MIDDLE: f64 = (2.0 / 3.0 + 0.25) / 2.0;
    const HALF_WIDTH: f64 = (2.0 / 3.0 - 0.25) / 2.0;
    let t = (1.0 / (1.0 + 0.5 * magnitude) - MIDDLE) / HALF_WIDTH;
    let complement = (-x * x).exp() * horner(t, FAR);
    (1.0 - complement).copysign(x)
}

#[rustfmt::skip]
const NEAR: [f64; 13] = [
    std::f64::consts::FRAC_2_SQRT_PI, -0.3761263890318375, 0.11283791670954879, -0.026866170645076792,
    0.0052239776248180145, -0.000854832698083379, 0.0001205533111164271, -1.4925595266831182e-05,
    1.6461000484121368e-06, -1.6350312701054695e-07, 1.4659775274047436e-08,
    -1.1372848856791674e-09, 5.957176147748911e-11,
];

#[rustfmt::skip]
const FAR: [f64; 19] = [
    0.2214295402299318, 0.16189356804102498, 0.03856057042518243, 0.005588816281839609,
    0.0001971391777277226, -8.079220426293067e-05, -7.340517934970952e-06, 1.9795618189578446e-06,
    1.6349935293466479e-07, -7.005319580576908e-08, -5.885355290157333e-10, 2.62402194786673e-09,
    -2.6883072233536537e-10, -7.362738434909444e-11, 2.2278309356940502e-11,
    -1.2718226318181825e-13, -1.0185140159980557e-12, 1.4213140304715316e-13,
    1.9212732679880574e-14,
];

/// A polynomial, coefficients of low powers first.
#[inline]
fn horner<F: num_traits::Float, const N: usize>(x: F, coefficients: [F; N]) -> F {
    coefficients
        .iter()
        .rev()
        .fold(F::zero(), |sum, &coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `math.erf`.
    const ERF: [(f64, f64); 8] = [
        (0.0, 0.0),
        (0.002, 0.002256755325183524),
        (0.5, 0.5204998778130465),
        (-0.99, -0.8385080695553698),
        (1.0, 0.8427007929497149),
        (1.7, 0.9837904585907745),
        (-2.5, -0.999593047982555),
        (4.2, 0.9999999971445058),
    ];

    /// The distance of a result from the exact one, in units in the last place of that.
    fn units(found: f32, exact: f64) -> f64 {
        let rounded = exact as f32;
        if found == rounded {
            return 0.0;
        }
        let above = f32::from_bits(rounded.abs().to_bits() + 1);
        (f64::from(found) - exact).abs() / f64::from(above - rounded.abs())
    }

    #[test]
    fn the_exponential_and_the_logistic_function_are_good_to_a_few_units_in_the_last_place() {
        // All magnitudes of both signs, denormals among them.
        for bits in (0..f32::INFINITY.to_bits()).step_by(1999) {
            for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                let exact = f64::from(x).exp();
                assert!(units(exp_f32(x), exact) <= 1.5, "exp({x})");
                let exact = 1.0 / (1.0 + f64::from(-x).exp());
                assert!(units(x.logistic(), exact) <= 3.0, "logistic({x})");
            }
        }
        assert_eq!((exp_f32(0.0), exp_f32(-0.0)), (1.0, 1.0));
        assert_eq!(exp_f32(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp_f32(f32::NEG_INFINITY), 0.0);
        assert!(exp_f32(f32::NAN).is_nan() && f32::NAN.logistic().is_nan());
        assert_eq!(f32::INFINITY.logistic(), 1.0);
        assert_eq!(f32::NEG_INFINITY.logistic(), 0.0);
    }

    #[test]
    fn sines_and_cosines_are_good_to_a_unit_in_the_last_place() {
        let mut angles = vec![0.0, 1e-45, 1e-20, 99_999.99];
        angles.extend((0..40_000).map(|i| i as f32 * 2.5));
        angles.extend((0..40_000).map(|i| i as f32 * 1e-3));
        // Close to quarter turns, where what is left is small.
        angles.extend((0..60_000).map(|i| (f64::from(i) * std::f64::consts::FRAC_PI_2) as f32));
        for angle in angles.into_iter().flat_map(|angle: f32| [angle, -angle]) {
            assert!(angle.has_fast_angle());
            let (sine, cosine) = f64::from(angle).sin_cos();
            assert!(
                units(angle.fast_sine().abs(), sine.abs()) <= 1.0,
                "sin({angle})"
            );
            assert!(
                units(angle.fast_cosine().abs(), cosine.abs()) <= 1.0,
                "cos({angle})"
            );
            assert_eq!(
                angle.fast_sine().is_sign_negative(),
                sine.is_sign_negative(),
                "sin({angle})"
            );
            assert_eq!(angle.fast_cosine() < 0.0, cosine < 0.0, "cos({angle})");
        }
        assert!(!f32::NAN.has_fast_angle() && !f32::NEG_INFINITY.has_fast_angle());
    }

    #[test]
    fn the_hyperbolic_tangent_is_exact_to_a_few_units_in_the_last_place() {
        for i in -2000..2000 {
            let x = i as f32 * 0.005;
            let expected = f64::from(x).tanh();
            let error = (f64::from(tanh_f32(x)) - expected).abs();
            assert!(error <= 5e-7 * expected.abs(), "{x}: {error}");
        }
        assert_eq!(tanh_f32(f32::NEG_INFINITY), -1.0);
        assert!(tanh_f32(-0.0).is_sign_negative());
        assert!(tanh_f32(f32::NAN).is_nan());
    }

    #[test]
    fn the_inverse_hyperbolic_sine_is_exact_to_a_few_units_in_the_last_place() {
        // From `math.asinh`.
        const ASINH: [(f64, f64); 7] = [
            (1e-8, 9.999999999999999e-09),
            (9.9e-5, 9.89999998382835e-05),
            (0.3, 0.29567304756342244),
            (-1.0, -0.881373587019543),
            (250.0, 6.214612098398192),
            (-3e12, -29.4227805851566),
            (1e300, 691.4686750787736),
        ];
        for (x, expected) in ASINH {
            let error = (asinh_f64(x) - expected).abs();
            assert!(error <= 7e-16 * expected.abs(), "{x}: {error:e}");
            let single = x as f32;
            if single.is_finite() {
                let exact = asinh_f64(f64::from(single));
                assert!(units(asinh_f32(single).abs(), exact.abs()) <= 1.0, "{x}");
            }
        }
        assert!(asinh_f32(-0.0).is_sign_negative() && asinh_f64(-0.0).is_sign_negative());
        assert_eq!(asinh_f32(f32::NEG_INFINITY), f32::NEG_INFINITY);
        assert_eq!(asinh_f64(f64::INFINITY), f64::INFINITY);
        assert!(asinh_f32(f32::NAN).is_nan() && asinh_f64(f64::NAN).is_nan());
    }

    #[test]
    fn the_error_function_is_exact_to_a_few_units_in_the_last_place() {
        for (x, expected) in ERF {
            assert!((erf_f64(x) - expected).abs() <= 3e-16 * expected.abs());
            let single = f64::from(erf_f32(x as f32));
            assert!((single - expected).abs() <= 5e-7 * expected.abs());
        }
        assert!(erf_f32(f32::NAN).is_nan() && erf_f64(f64::NAN).is_nan());
        assert_eq!((erf_f64(f64::INFINITY), erf_f64(-7.0)), (1.0, -1.0));
    }
}
