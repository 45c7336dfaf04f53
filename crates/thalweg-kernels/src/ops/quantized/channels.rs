//! Quantization with a scale and a zero point for each channel, or for each token.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, TensorView, ensure};

use super::{Limits, check_type, floats, quantized, shared};
use crate::dtype::convert::{convert, converted};
use crate::dtype::elements::elements;
use crate::layout::dims::wrap_dim;
use crate::layout::order::in_order;
use crate::operator::pure;
use crate::quantize::round;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "quantized_decomposed::quantize_per_channel.out(Tensor input, Tensor scales, \
         Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| quantize(call, Some(call.int(3)?), 4, 7),
    )?);
    registry.add(pure(
        "quantized_decomposed::quantize_per_token.out(Tensor input, Tensor scales, \
         Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, *, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| quantize(call, None, 3, 6),
    )?);
    registry.add(pure(
        "quantized_decomposed::dequantize_per_channel.out(Tensor input, Tensor scales, \
         Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, \
         ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| dequantize(call, Some(call.int(3)?), 6, 8),
    )?);
    registry.add(pure(
        "quantized_decomposed::dequantize_per_token.out(Tensor input, Tensor scales, \
         Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, \
         ScalarType output_dtype, *, Tensor(a!) out) -> Tensor(a!)",
        |call| dequantize(call, None, 5, 7),
    )?);
    Ok(())
}

/// The scales and zero points of elements, by their place in memory.
struct Channels<'a> {
    /// Elements that lie together and have the same scale.
    run: usize,
    scales: Scales<'a>,
    /// As many as there are scales, or none.
    zero_points: &'a [i64],
}

/// The scales of channels. Their type is the type of computation.
#[derive(Clone, Copy)]
enum Scales<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

#[derive(Clone, Copy)]
enum Scale {
    F32(f32),
    F64(f64),
}

impl<'a> Channels<'a> {
    /// `axis` names the dimension whose positions are the channels; none is all but the last.
    fn new(
        call: &'a KernelCall<'_>,
        input: &TensorView<'a>,
        axis: Option<i64>,
        order: &[u8],
    ) -> Result<Self> {
        let sizes = input.sizes();
        let (run, count) = match axis {
            Some(axis) => {
                let dim = wrap_dim(axis, sizes.len())?;
                let strides = thalweg_core::strides_of(sizes, order);
                (
                    strides.get(dim).copied().unwrap_or(1),
                    sizes.get(dim).copied().unwrap_or(1),
                )
            }
            None => {
                ensure!(
                    thalweg_core::is_row_major(sizes, order),
                    Unsupported,
                    "tokens are quantized in row-major tensors only"
                );
                let run = sizes.last().copied().unwrap_or(1);
                (run, input.numel().checked_div(run).unwrap_or(0))
            }
        };
        let scales = call.tensor(1)?;
        let zero_points = call.optional_tensor(2)?;
        ensure!(
            (scales.numel() == count
                && zero_points.is_none_or(|zero_points| zero_points.numel() == count))
                || input.numel() == 0,
            InvalidInput,
            "there are {count} channels to quantize, and {} scales",
            scales.numel()
        );
        let scales = match scales.dtype() {
            DType::F64 => Scales::F64(scales.data()?),
            DType::F32 => Scales::F32(scales.data()?),
            _ => {
                let order = scales.dim_order();
                Scales::F32(floats(call, &scales, order)?)
            }
        };
        let zero_points = match zero_points {
            None => &[],
            Some(zero_points) => {
                ensure!(
                    zero_points.dtype().is_integer(),
                    InvalidInput,
                    "elements of type {} are not zero points",
                    zero_points.dtype()
                );
                converted(call, zero_points.bytes(), zero_points.dtype())?
            }
        };
        Ok(Self {
            run: run.max(1),
            scales,
            zero_points,
        })
    }

    /// Goes through both slices run by run; they begin with run `first` of a tensor.
    #[inline]
    fn for_each<T, S>(
        &self,
        first: usize,
        target: &mut [T],
        source: &[S],
        visit: impl Fn(&mut [T], &[S], Scale, i64),
    ) {
        let count = match self.scales {
            Scales::F32(scales) => scales.len(),
            Scales::F64(scales) => scales.len(),
        };
        if count == 0 {
            return;
        }
        let mut channel = first % count;
        let runs = target.chunks_mut(self.run).zip(source.chunks(self.run));
        for (target, source) in runs {
            let scale = match self.scales {
                Scales::F32(scales) => Scale::F32(scales[channel]),
                Scales::F64(scales) => Scale::F64(scales[channel]),
            };
            let zero_point = self.zero_points.get(channel).copied().unwrap_or(0);
            visit(target, source, scale, zero_point);
            channel += 1;
            if channel == count {
                channel = 0;
            }
        }
    }
}

fn quantize(call: &KernelCall<'_>, axis: Option<i64>, limits: usize, out: usize) -> Result<()> {
    let input = call.tensor(0)?;
    let mut out = call.output(out, input.sizes())?;
    let limits = Limits::new(call, limits, out.dtype())?;
    let channels = Channels::new(call, &input, axis, out.dim_order())?;
    let source = floats(call, &input, out.dim_order())?;
    // Of tokens, the sum with the zero point is rounded.
    let after = axis.is_none();
    quantized!(out.dtype() => T, {
        let target = out.data_mut::<T>()?;
        shared(call.threads(), channels.run, target, source, |first, target, source| {
            channels.for_each(first, target, source, |target, source, scale, zero_point| {
                match scale {
                    Scale::F32(scale) => {
                        let (inverse, zero_point) = (1.0 / scale, zero_point as f32);
                        for (target, &x) in target.iter_mut().zip(source) {
                            let scaled = x * inverse;
                            let rounded = if after {
                                round(scaled + zero_point)
                            } else {
                                round(scaled) + zero_point
                            };
                            *target = limits.clamp(rounded) as i32 as T;
                        }
                    }
                    Scale::F64(scale) => {
                        let (inverse, zero_point) = (1.0 / scale, zero_point as f64);
                        for (target, &x) in target.iter_mut().zip(source) {
                            let scaled = f64::from(x) * inverse;
                            let rounded = if after {
                                (scaled + zero_point).round_ties_even()
                            } else {
                                scaled.round_ties_even() + zero_point
                            };
                            *target = limits.clamp_f64(rounded) as i32 as T;
                        }
                    }
                }
            });
        })?;
    });
    Ok(())
}

fn dequantize(call: &KernelCall<'_>, axis: Option<i64>, dtype: usize, out: usize) -> Result<()> {
    let input = call.tensor(0)?;
    check_type(call, &input, dtype)?;
    let mut out = call.output(out, input.sizes())?;
    let channels = Channels::new(call, &input, axis, out.dim_order())?;
    let source = in_order(call, input, out.dim_order())?.bytes();
    let to = out.dtype();
    ensure!(
        to.is_float(),
        InvalidInput,
        "elements of type {to} are not floating-point numbers"
    );
    // Other types than f32 are rounded from it at the end.
    let count = if to == DType::F32 { 0 } else { input.numel() };
    let between = call.temporary::<f32>(count)?;
    let target = if to == DType::F32 {
        out.data_mut::<f32>()?
    } else {
        &mut *between
    };
    quantized!(input.dtype() => Q, {
        let source = elements::<Q>(source)?;
        shared(call.threads(), channels.run, target, source, |first, target, source| {
            channels.for_each(first, target, source, |target, source, scale, zero_point| {
                match scale {
                    // Exact in f32, with a loop twice as fast.
                    Scale::F32(scale)
                        if size_of::<Q>() <= 2 && zero_point.unsigned_abs() < 1 << 20 =>
                    {
                        let zero_point = zero_point as f32;
                        for (target, &q) in target.iter_mut().zip(source) {
                            *target = (q as f32 - zero_point) * scale;
                        }
                    }
                    Scale::F32(scale) => {
                        let zero_point = zero_point as f64;
                        for (target, &q) in target.iter_mut().zip(source) {
                            *target = (f64::from(q) - zero_point) as f32 * scale;
                        }
                    }
                    Scale::F64(scale) => {
                        let zero_point = zero_point as f64;
                        for (target, &q) in target.iter_mut().zip(source) {
                            *target = ((f64::from(q) - zero_point) * scale) as f32;
                        }
                    }
                }
            });
        })?;
    });
    if to != DType::F32 {
        let between = bytemuck::cast_slice(between);
        convert(out.bytes_mut(), to, between, DType::F32)?;
    }
    Ok(())
}
