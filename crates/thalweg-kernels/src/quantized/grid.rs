//! Quantizing and dequantizing at once: numbers are rounded to those that integers stand for.
//!
//! Programs that are quantized for other runtimes have both around every operator. The integers in
//! between need not be written, if nothing else looks at them; results have the same bits.

use thalweg_core::{DType, KernelRegistry, Layout, Prepacked, Result, Scalar, StaticArguments};

use super::{bounds, round};
use crate::following::Following;
use crate::vectors::vectorized;

/// How numbers are quantized.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantizing {
    /// The reciprocal of the scale.
    inverse: f32,
    zero_point: f32,
    limits: [f32; 2],
    dtype: DType,
}

/// How integers are dequantized, to f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dequantizing {
    scale: f32,
    zero_point: f32,
    dtype: DType,
}

/// Both, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    to: Quantizing,
    from: Dequantizing,
}

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    let (quantize, dequantize) = (
        "quantized_decomposed::quantize_per_tensor.out",
        "quantized_decomposed::dequantize_per_tensor.out",
    );
    registry.modify(quantize, |kernel| {
        kernel.with_layout(|_| Some(Layout::Elementwise))
    })?;
    registry.modify(dequantize, |kernel| {
        kernel.with_layout(|_| Some(Layout::Elementwise))
    })?;
    registry.modify(quantize, |kernel| {
        kernel.with_converting_epilogue(|call| {
            let quantizing = Quantizing::known(call)?;
            Ok(quantizing.map(|how| Following::Quantizing(how).offered()))
        })
    })?;
    registry.modify(dequantize, |kernel| {
        kernel.with_converting_epilogue(|call| {
            let dequantizing = Dequantizing::known(call);
            Ok(dequantizing.map(|how| Following::Dequantizing(how).offered()))
        })
    })?;
    registry.modify(quantize, |kernel| {
        kernel.with_fusion(|call, offers| {
            let [offer] = offers else {
                return Ok(None);
            };
            let (Some(to), Some(Following::Dequantizing(from))) =
                (Quantizing::known(call)?, offer.get::<Following>())
            else {
                return Ok(None);
            };
            Ok(Grid::new(to, *from).map(Prepacked::new))
        })
    })?;
    Ok(())
}

impl Quantizing {
    /// Of f32, if nothing of it changes and it is possible.
    fn known(call: &StaticArguments<'_>) -> Result<Option<Self>> {
        let (Some(input), Some(out)) = (call.shape(0), call.shape(6)) else {
            return Ok(None);
        };
        let ints = [2, 3, 4, 5].map(|position| int(call, position));
        let (Some(scale), [Some(zero_point), Some(min), Some(max), Some(dtype)]) =
            (call.scalar(1), ints)
        else {
            return Ok(None);
        };
        let is_quantized = matches!(
            out.dtype,
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::I32
        );
        if input.dtype != DType::F32 || !is_quantized || DType::from_code(dtype) != Some(out.dtype)
        {
            return Ok(None);
        }
        let (lowest, highest) = bounds(out.dtype)?;
        let fits = lowest <= min && min <= max && max <= highest;
        Ok(fits.then_some(Self {
            inverse: (1.0 / scale.to_f64()) as f32,
            zero_point: zero_point as f32,
            limits: [min as f32, max as f32],
            dtype: out.dtype,
        }))
    }
}

impl Dequantizing {
    /// To f32, if nothing of it changes.
    fn known(call: &StaticArguments<'_>) -> Option<Self> {
        let (input, out) = (call.shape(0)?, call.shape(7)?);
        let is_known =
            out.dtype == DType::F32 && DType::from_code(int(call, 5)?) == Some(input.dtype);
        Some(Self {
            scale: call.scalar(1)?.to_f64() as f32,
            zero_point: int(call, 2)? as f32,
            dtype: input.dtype,
        })
        .filter(|_| is_known)
    }
}

impl Grid {
    /// `None` if the integers are of different types.
    pub(crate) fn new(to: Quantizing, from: Dequantizing) -> Option<Self> {
        (to.dtype == from.dtype).then_some(Self { to, from })
    }

    /// Each number as what its integer stands for.
    pub(crate) fn apply(&self, numbers: &mut [f32]) {
        vectorized(
            #[inline(always)]
            || numbers.iter_mut().for_each(|x| *x = self.nearest(*x)),
        );
    }

    /// The same, from one slice to another.
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
        let Quantizing {
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

fn int(call: &StaticArguments<'_>, position: usize) -> Option<i64> {
    match call.scalar(position)? {
        Scalar::Int(value) => Some(value),
        _ => None,
    }
}
