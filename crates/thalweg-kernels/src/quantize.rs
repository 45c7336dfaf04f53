//! Quantization to a grid: integers that stand for `(integer - zero point) * scale`.
//!
//! The order of operations and the precision of each are those of PyTorch's definitions, which
//! decide on which side of a half a value falls. All rounding is half to even.

use thalweg_core::{DType, Result};

use crate::dtype::dispatch::dispatch;
use crate::simd::vectorized;

/// The parameters of a quantization of f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantize {
    /// The reciprocal of the scale.
    inverse: f32,
    zero_point: f32,
    limits: [f32; 2],
    dtype: DType,
}

/// The parameters of a dequantization to f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dequantize {
    scale: f32,
    zero_point: f32,
    dtype: DType,
}

/// Quantization and dequantization at once: each number becomes the nearest one on the grid.
///
/// Programs that are quantized for other runtimes have both around every operator. The integers in
/// between need not be written, if nothing else looks at them; results have the same bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FakeQuantize {
    to: Quantize,
    from: Dequantize,
}

impl Quantize {
    /// A quantization to integers of a type, within limits. `None` if the type does not have these.
    pub(crate) fn new(
        scale: f64,
        zero_point: i64,
        [min, max]: [i64; 2],
        dtype: DType,
    ) -> Option<Self> {
        let (lowest, highest) = integer_range(dtype).ok()?;
        let fits = lowest <= min && min <= max && max <= highest;
        fits.then_some(Self {
            inverse: (1.0 / scale) as f32,
            zero_point: zero_point as f32,
            limits: [min as f32, max as f32],
            dtype,
        })
    }
}

impl Dequantize {
    /// A dequantization of integers of a type.
    pub(crate) fn new(scale: f64, zero_point: i64, dtype: DType) -> Self {
        Self {
            scale: scale as f32,
            zero_point: zero_point as f32,
            dtype,
        }
    }
}

impl FakeQuantize {
    /// `None` if the integers are of different types.
    pub(crate) fn new(to: Quantize, from: Dequantize) -> Option<Self> {
        (to.dtype == from.dtype).then_some(Self { to, from })
    }

    /// Rounds numbers in place.
    pub(crate) fn apply(&self, numbers: &mut [f32]) {
        vectorized(
            #[inline(always)]
            || numbers.iter_mut().for_each(|x| *x = self.nearest(*x)),
        );
    }

    /// Rounds numbers from one slice to another.
    pub(crate) fn apply_to(&self, numbers: &mut [f32], from: &[f32]) {
        vectorized(
            #[inline(always)]
            || {
                let each = numbers.iter_mut().zip(from);
                each.for_each(|(to, x)| *to = self.nearest(*x));
            },
        );
    }

    #[inline(always)]
    fn nearest(&self, x: f32) -> f32 {
        let Quantize {
            inverse,
            zero_point,
            limits: [lowest, highest],
            ..
        } = self.to;
        let rounded = round(x * inverse) + zero_point;
        let raised = if rounded < lowest { lowest } else { rounded };
        let limited = if raised > highest { highest } else { raised };
        // The integer of what is not a number is 0, and no integer is a negative zero.
        let integer = if limited.is_nan() { 0.0 } else { limited + 0.0 };
        (integer - self.from.zero_point) * self.from.scale
    }
}

/// The lowest and the highest integer of a type of quantized elements.
pub(crate) fn integer_range(dtype: DType) -> Result<(i64, i64)> {
    dispatch!(dtype, quantized => T, { Ok((T::MIN.into(), T::MAX.into())) })
}

/// Rounds half to even, without a call, so that loops can be vectorized.
#[inline(always)]
pub(crate) fn round(x: f32) -> f32 {
    // From here on, numbers have no fraction; adding this much rounds it away.
    const WHOLE: f32 = (1u32 << 23) as f32;
    let shift = WHOLE.copysign(x);
    if x.abs() < WHOLE {
        (x + shift) - shift
    } else {
        x
    }
}
