//! Quantized tensors: integers that stand for `(integer - zero point) * scale`.
//!
//! The order of operations and the precision of each are those of PyTorch's definitions, which
//! decide on which side of a half a value falls. All rounding is half to even.

mod arithmetic;
mod channels;
mod embedding;
mod epilogue;
mod parameters;
#[cfg(test)]
mod tests;

use thalweg_core::{
    DType, KernelCall, KernelRegistry, Layout, Result, TensorView, TensorViewMut, ensure,
};

use crate::dtype::convert::{convert, converted};
use crate::dtype::dispatch::dispatch;
use crate::dtype::elements::elements;
use crate::dtype::float::{Float, Real};
use crate::layout::order::in_order;
use crate::operator::pure;
use crate::parallel::for_each_chunk;
use crate::quantize::{FakeQuantize, integer_range, round};
use crate::simd::vectorized;

/// The block with the integer type of quantized elements.
macro_rules! quantized {
    ($dtype:expr => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!($dtype, quantized => $T, $body)
    };
}
use quantized;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(
        pure(
            "quantized_decomposed::quantize_per_tensor.out(Tensor input, float scale, \
             int zero_point, int quant_min, int quant_max, ScalarType dtype, *, Tensor(a!) out) \
             -> Tensor(a!)",
            |call| quantize(call, call.double(1)?, call.int(2)?),
        )?
        .with_layout(|_| Some(Layout::Elementwise))
        .with_converting_epilogue(epilogue::quantize)
        .with_fusion(epilogue::fuse),
    );
    registry.add(pure(
        "quantized_decomposed::quantize_per_tensor.Tensor_out(Tensor input, Tensor scale, \
         Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| quantize(call, one_scale(call)?, one_zero_point(call)?),
    )?);
    registry.add(
        pure(
            "quantized_decomposed::dequantize_per_tensor.out(Tensor input, float scale, \
             int zero_point, int quant_min, int quant_max, ScalarType dtype, *, \
             ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
            |call| dequantize(call, call.double(1)?, call.int(2)?),
        )?
        .with_layout(|_| Some(Layout::Elementwise))
        .with_converting_epilogue(epilogue::dequantize),
    );
    registry.add(pure(
        "quantized_decomposed::dequantize_per_tensor.Tensor_out(Tensor input, Tensor scale, \
         Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, \
         ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| dequantize(call, one_scale(call)?, one_zero_point(call)?),
    )?);
    channels::register(registry)?;
    parameters::register(registry)?;
    embedding::register(registry)?;
    arithmetic::register(registry)
}

fn one_scale(call: &KernelCall<'_>) -> Result<f64> {
    let scale = call.tensor(1)?;
    match scale.dtype() {
        DType::F32 => scale.item::<f32>().map(f64::from),
        _ => scale.item(),
    }
}

fn one_zero_point(call: &KernelCall<'_>) -> Result<i64> {
    let zero_point = call.tensor(2)?;
    match zero_point.dtype() {
        DType::I32 => zero_point.item::<i32>().map(i64::from),
        _ => zero_point.item(),
    }
}

fn quantize(call: &KernelCall<'_>, scale: f64, zero_point: i64) -> Result<()> {
    let input = call.tensor(0)?;
    let mut out = call.output(6, input.sizes())?;
    if let Some(grid) = call.prepacked::<FakeQuantize>() {
        let source = floats(call, &input, out.dim_order())?;
        let target = out.data_mut::<f32>()?;
        return shared(call.threads(), 1, target, source, |_, target, source| {
            grid.apply_to(target, source);
        });
    }
    let limits = Limits::new(call, 3, out.dtype())?;
    let source = floats(call, &input, out.dim_order())?;
    // The reciprocal is taken in f64, and then rounded.
    let (inverse, zero_point) = ((1.0 / scale) as f32, zero_point as f32);
    quantized!(out.dtype() => T, {
        let target = out.data_mut::<T>()?;
        shared(call.threads(), 1, target, source, |_, target, source| {
            vectorized(
                #[inline(always)]
                || {
                    for (target, &x) in target.iter_mut().zip(source) {
                        let rounded = round(x * inverse) + zero_point;
                        *target = limits.clamp(rounded) as i32 as T;
                    }
                },
            );
        })?;
    });
    Ok(())
}

fn dequantize(call: &KernelCall<'_>, scale: f64, zero_point: i64) -> Result<()> {
    let input = call.tensor(0)?;
    check_type(call, &input, 5)?;
    let mut out = call.output(7, input.sizes())?;
    let source = in_order(call, input, out.dim_order())?.bytes();
    if out.dtype() != DType::F32 {
        return dequantize_as(&mut out, source, input.dtype(), scale, zero_point);
    }
    let (scale, zero_point) = (scale as f32, zero_point as f32);
    quantized!(input.dtype() => Q, {
        let source = elements::<Q>(source)?;
        let target = out.data_mut::<f32>()?;
        shared(call.threads(), 1, target, source, |_, target, source| {
            vectorized(
                #[inline(always)]
                || {
                    for (target, &q) in target.iter_mut().zip(source) {
                        *target = (q as f32 - zero_point) * scale;
                    }
                },
            );
        })?;
    });
    Ok(())
}

/// Dequantizes to types other than f32, which round after every step.
fn dequantize_as(
    out: &mut TensorViewMut<'_>,
    source: &[u8],
    from: DType,
    scale: f64,
    zero_point: i64,
) -> Result<()> {
    let to = out.dtype();
    convert(out.bytes_mut(), to, source, from)?;
    dispatch!(to, float => T, {
        let zero_point = zero_point as f64;
        for x in out.data_mut::<T>()? {
            let difference = T::narrow(Real::of(x.widen().double() - zero_point));
            *x = T::narrow(difference.widen() * <T as Float>::Compute::of(scale));
        }
    });
    Ok(())
}

/// The limits of quantized integers.
#[derive(Clone, Copy)]
struct Limits {
    min: f64,
    max: f64,
}

impl Limits {
    /// Reads the limits from the arguments from `position` on: the smallest, the largest, and the type.
    fn new(call: &KernelCall<'_>, position: usize, out: DType) -> Result<Self> {
        let (min, max) = (call.int(position)?, call.int(position + 1)?);
        let dtype = call.dtype(position + 2)?;
        ensure!(
            dtype == out,
            InvalidInput,
            "quantized elements of type {dtype} cannot be put into a tensor of {out}"
        );
        let (lowest, highest) = integer_range(dtype)?;
        ensure!(
            lowest <= min && min <= max && max <= highest,
            InvalidInput,
            "elements of type {dtype} cannot be limited to {min} and {max}"
        );
        Ok(Self {
            min: min as f64,
            max: max as f64,
        })
    }

    /// NaN stays.
    #[inline(always)]
    fn clamp(self, x: f32) -> f32 {
        x.clamp(self.min as f32, self.max as f32)
    }

    #[inline]
    fn clamp_f64(self, x: f64) -> f64 {
        x.clamp(self.min, self.max)
    }
}

/// An error unless the input has the type that an argument names.
fn check_type(call: &KernelCall<'_>, input: &TensorView<'_>, position: usize) -> Result<()> {
    let dtype = call.dtype(position)?;
    ensure!(
        input.dtype() == dtype,
        InvalidInput,
        "quantized elements of type {dtype} are expected, not of {}",
        input.dtype()
    );
    Ok(())
}

/// The elements of a tensor as f32, as they would lie in another dim order.
fn floats<'a>(
    call: &'a KernelCall<'_>,
    tensor: &TensorView<'a>,
    dim_order: &'a [u8],
) -> Result<&'a [f32]> {
    ensure!(
        tensor.dtype().is_float(),
        InvalidInput,
        "elements of type {} are not floating-point numbers",
        tensor.dtype()
    );
    let tensor = in_order(call, *tensor, dim_order)?;
    converted(call, tensor.bytes(), tensor.dtype())
}

/// Runs `work` on both slices, in parts for several threads if that pays. Parts begin at
/// multiples of `unit`; `work` is told at which.
fn shared<T: Send, S: Sync>(
    threads: usize,
    unit: usize,
    target: &mut [T],
    source: &[S],
    work: impl Fn(usize, &mut [T], &[S]) + Sync,
) -> Result<()> {
    let units = target.len().div_ceil(unit).div_ceil(threads.max(1));
    let (operations, piece) = (target.len(), units.saturating_mul(unit));
    for_each_chunk(threads, operations, target, piece, |index, target| {
        let source = &source[index * piece..][..target.len()];
        work(index * units, target, source);
        Ok(())
    })
}
