//! Layer, group and batch normalization.
//!
//! Means and variances are taken in the type of computation (f32 for 16-bit types), the variance
//! from differences to the mean.

#[cfg(test)]
mod tests;

use thalweg_core::{
    DType, Dims, Epilogue, KernelCall, KernelRegistry, Layout, Result, StaticArguments, TensorView,
    TensorViewMut, bail, ensure, identity_order, numel,
};

use crate::dtype::convert::converted;
use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Float, Real, compute_into, widened};
use crate::epilogue::EpilogueOp;
use crate::layout::order::{around, fill_in_order, in_order, laid_out};
use crate::operator::pure;
use crate::parallel::for_each_chunk;
use crate::simd::vectorized;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::native_layer_norm.out(Tensor input, SymInt[] normalized_shape, \
         Tensor? weight, Tensor? bias, float eps, *, Tensor(a!) out0, Tensor(b!) out1, \
         Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { layer_norm::<T>(call) }),
    )?);
    registry.add(pure(
        "aten::native_group_norm.out(Tensor input, Tensor? weight, Tensor? bias, SymInt N, \
         SymInt C, SymInt HxW, int group, float eps, *, Tensor(a!) out0, Tensor(b!) out1, \
         Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { group_norm::<T>(call) }),
    )?);
    registry.add(
        pure(
            "aten::_native_batch_norm_legit_no_training.out(Tensor input, Tensor? weight, \
             Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps, \
             *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), \
             Tensor(c!))",
            |call| {
                let running = Running::Read(call.tensor(3)?, call.tensor(4)?);
                batch_norm(call, running, call.double(5)?, call.double(6)?, 7)
            },
        )?
        .with_epilogue(factors)
        .with_layout(|_| Some(Layout::Elementwise)),
    );
    registry.add(pure(
        "aten::_native_batch_norm_legit.out(Tensor input, Tensor? weight, Tensor? bias, \
         Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, \
         float eps, *, Tensor(d!) out, Tensor(e!) save_mean, Tensor(f!) save_invstd) \
         -> (Tensor(d!), Tensor(e!), Tensor(f!))",
        |call| {
            let (mean, variance) = (call.in_place(3)?, call.in_place(4)?);
            let running = if call.bool(5)? {
                Running::Update(mean, variance)
            } else {
                Running::Read(mean.view(), variance.view())
            };
            batch_norm(call, running, call.double(6)?, call.double(7)?, 8)
        },
    )?);
    registry.add(pure(
        "aten::_native_batch_norm_legit.no_stats_out(Tensor input, Tensor? weight, \
         Tensor? bias, bool training, float momentum, float eps, *, Tensor(a!) out, \
         Tensor(b!) save_mean, Tensor(c!) save_invstd) -> (Tensor(a!), Tensor(b!), \
         Tensor(c!))",
        |call| {
            ensure!(
                call.bool(3)?,
                Operator,
                "outside of training, batch normalization needs the running mean and variance"
            );
            batch_norm(call, Running::None, call.double(4)?, call.double(5)?, 6)
        },
    )?);
    Ok(())
}

/// The epilogue that batch normalization with constant statistics is, for f32.
fn factors(call: &StaticArguments<'_>) -> Result<Option<Epilogue>> {
    let numbers = |position: usize| match call.constant(position) {
        Some(tensor) if tensor.dtype() == DType::F32 && tensor.rank() == 1 => {
            tensor.data::<f32>().map(Some)
        }
        _ => Ok(None),
    };
    let (weight, bias) = (numbers(1)?, numbers(2)?);
    let (Some(mean), Some(variance), Some(eps)) = (numbers(3)?, numbers(4)?, call.scalar(6)) else {
        return Ok(None);
    };
    let known = (weight.is_some() || call.is_absent(1)) && (bias.is_some() || call.is_absent(2));
    let mut all = [Some(mean), Some(variance), weight, bias]
        .into_iter()
        .flatten();
    if !known || !all.all(|numbers| numbers.len() == mean.len()) {
        return Ok(None);
    }
    let (mut scales, mut shifts) = (Vec::new(), Vec::new());
    for (channel, (&mean, &variance)) in mean.iter().zip(variance).enumerate() {
        let deviation = 1.0 / (f64::from(variance) + eps.to_f64()).sqrt();
        let scale = deviation * weight.map_or(1.0, |weight| f64::from(weight[channel]));
        scales.push(scale);
        shifts.push(bias.map_or(0.0, |bias| f64::from(bias[channel])) - f64::from(mean) * scale);
    }
    Ok(Some(EpilogueOp::Channels { scales, shifts }.epilogue()))
}

fn layer_norm<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let (input, normalized, eps) = (call.tensor(0)?, call.int_list(1)?, call.double(4)?);
    let sizes = input.sizes();
    let outer = sizes.len().checked_sub(normalized.len()).filter(|&outer| {
        let inner = sizes[outer..].iter().zip(normalized);
        !normalized.is_empty() && { inner }
            .all(|(&size, &expected)| i64::try_from(size) == Ok(expected))
    });
    let Some(outer) = outer else {
        bail!(
            Operator,
            "the last dimensions of shape {sizes:?} are not {normalized:?}, which are to be \
             normalized"
        );
    };
    let (rows, len) = (numel(&sizes[..outer])?, numel(&sizes[outer..])?);
    let weight = parameter::<T::Compute>(call, 2, &sizes[outer..])?;
    let bias = parameter::<T::Compute>(call, 3, &sizes[outer..])?;
    let order = identity_order(sizes.len())?;
    let data = widened(call, laid_out::<T>(call, input, order)?)?;
    let stats = row_stats(call, data, rows, len, eps)?;
    let mut out = call.output(5, sizes)?;
    let piece = len * (4096 / len.max(1)).max(1);
    let work = data.len().saturating_mul(4);
    fill_in_order::<T>(call, &mut out, order, |out| {
        compute_into(call, out, |out| {
            for_each_chunk(call.threads(), work, out, piece, |index, out| {
                let rows = data[index * piece..].chunks_exact(len.max(1));
                let stats = stats[2 * (index * piece / len.max(1))..].chunks_exact(2);
                vectorized(
                    #[inline(always)]
                    || {
                        let out = out.chunks_exact_mut(len.max(1));
                        for ((out, row), stats) in out.zip(rows).zip(stats) {
                            for (y, x) in out.iter_mut().zip(row) {
                                *y = (*x - stats[0]) * stats[1];
                            }
                            if let Some(weight) = weight {
                                out.iter_mut().zip(weight).for_each(|(y, w)| *y *= *w);
                            }
                            if let Some(bias) = bias {
                                out.iter_mut().zip(bias).for_each(|(y, b)| *y += *b);
                            }
                        }
                    },
                );
                Ok(())
            })
        })
    })?;
    let mut sizes = Dims::from_slice(sizes)?;
    sizes[outer..].fill(1);
    store(call, call.output(6, &sizes)?, stats.iter().step_by(2))?;
    store(
        call,
        call.output(7, &sizes)?,
        stats.iter().skip(1).step_by(2),
    )
}

fn group_norm<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let (input, eps) = (call.tensor(0)?, call.double(7)?);
    let [batch, channels, positions, groups] = [3, 4, 5, 6].map(|position| call.int(position));
    let size = |value: i64| usize::try_from(value).unwrap_or(usize::MAX);
    let (batch, channels) = (size(batch?), size(channels?));
    let (positions, groups) = (size(positions?), size(groups?));
    let sizes = input.sizes();
    ensure!(
        sizes.len() >= 2 && sizes[..2] == [batch, channels] && numel(&sizes[2..])? == positions,
        Operator,
        "shape {sizes:?} does not have {batch} times {channels} channels of {positions} elements"
    );
    ensure!(
        groups > 0 && channels % groups == 0,
        Operator,
        "{channels} channels cannot be divided into {groups} groups"
    );
    let weight = parameter::<T::Compute>(call, 1, &[channels])?;
    let bias = parameter::<T::Compute>(call, 2, &[channels])?;
    let order = identity_order(sizes.len())?;
    let data = widened(call, laid_out::<T>(call, input, order)?)?;
    let per_group = channels / groups;
    let stats = row_stats(call, data, batch * groups, per_group * positions, eps)?;
    let mut out = call.output(8, sizes)?;
    let work = data.len().saturating_mul(4);
    fill_in_order::<T>(call, &mut out, order, |out| {
        compute_into(call, out, |out| {
            for_each_chunk(call.threads(), work, out, positions, |plane, out| {
                let group = plane / channels * groups + plane % channels / per_group;
                let channel = plane % channels;
                let one = num_traits::One::one();
                let scale = stats[2 * group + 1] * weight.map_or(one, |weight| weight[channel]);
                let zero = num_traits::Zero::zero();
                let shift = bias.map_or(zero, |bias| bias[channel]) - stats[2 * group] * scale;
                for (y, x) in out.iter_mut().zip(&data[plane * positions..]) {
                    *y = *x * scale + shift;
                }
                Ok(())
            })
        })
    })?;
    store(
        call,
        call.output(9, &[batch, groups])?,
        stats.iter().step_by(2),
    )?;
    store(
        call,
        call.output(10, &[batch, groups])?,
        stats.iter().skip(1).step_by(2),
    )
}

/// The running mean and variance of a batch normalization.
enum Running<'a> {
    None,
    /// Statistics to normalize with.
    Read(TensorView<'a>, TensorView<'a>),
    /// Statistics to update with the batch's own, which it is normalized with.
    Update(TensorViewMut<'a>, TensorViewMut<'a>),
}

/// `first_out` is the position of the first of three outputs.
fn batch_norm(
    call: &KernelCall<'_>,
    running: Running<'_>,
    momentum: f64,
    eps: f64,
    first_out: usize,
) -> Result<()> {
    dispatch!(call.tensor(0)?.dtype(), float => T, {
        batch_norm_of::<T>(call, running, momentum, eps, first_out)
    })
}

fn batch_norm_of<T: Float>(
    call: &KernelCall<'_>,
    running: Running<'_>,
    momentum: f64,
    eps: f64,
    first_out: usize,
) -> Result<()> {
    let input = call.tensor(0)?;
    let sizes = input.sizes();
    let Some(&channels) = sizes.get(1) else {
        bail!(Operator, "shape {sizes:?} has no channels to normalize");
    };
    let weight = parameter::<T::Compute>(call, 1, &[channels])?;
    let bias = parameter::<T::Compute>(call, 2, &[channels])?;
    let mut out = call.output(first_out, sizes)?;
    let order = out.dim_order();
    let shape = around(sizes, order, 1);
    let data = widened(call, laid_out::<T>(call, input, order)?)?;
    // Mean and reciprocal deviation of each channel.
    let stats = call.temporary::<f64>(channels.saturating_mul(2))?;
    let saved = if let Running::Read(mean, variance) = &running {
        load(mean, channels, stats.iter_mut().step_by(2))?;
        load(variance, channels, stats.iter_mut().skip(1).step_by(2))?;
        0
    } else {
        channel_moments(data, shape, stats);
        channels
    };
    if let Running::Update(mean, variance) = running {
        check_running(&mean.view(), channels)?;
        check_running(&variance.view(), channels)?;
        let count = data.len() / channels.max(1);
        let unbiased = count as f64 / count.saturating_sub(1) as f64;
        update(mean, momentum, stats.iter().step_by(2).copied())?;
        let variances = stats.iter().skip(1).step_by(2);
        update(
            variance,
            momentum,
            variances.map(|variance| variance * unbiased),
        )?;
    }
    for stats in stats.chunks_exact_mut(2) {
        stats[1] = 1.0 / (stats[1] + eps).sqrt();
    }
    let scales = call.temporary::<T::Compute>(channels)?;
    let shifts = call.temporary::<T::Compute>(channels)?;
    for (channel, stats) in stats.chunks_exact(2).enumerate() {
        let scale = stats[1] * weight.map_or(1.0, |weight| weight[channel].double());
        let shift = bias.map_or(0.0, |bias| bias[channel].double()) - stats[0] * scale;
        (scales[channel], shifts[channel]) = (Real::of(scale), Real::of(shift));
    }
    let (scales, shifts) = (&*scales, &*shifts);
    compute_into::<T>(call, out.data_mut()?, |out| {
        scale_channels(call.threads(), data, out, shape, scales, shifts)
    })?;
    let save = |position: usize, skip: usize| {
        let stats = stats.chunks_exact(2).take(saved).map(|stats| &stats[skip]);
        store(call, call.output(position, &[saved])?, stats)
    };
    save(first_out + 1, 0)?;
    save(first_out + 2, 1)
}

/// `x * scale + shift`, by channels.
fn scale_channels<R: Real>(
    threads: usize,
    data: &[R],
    out: &mut [R],
    [_, channels, inner]: [usize; 3],
    scales: &[R],
    shifts: &[R],
) -> Result<()> {
    let work = out.len().saturating_mul(2);
    if inner == 1 {
        let piece = channels * (4096 / channels.max(1)).max(1);
        return for_each_chunk(threads, work, out, piece, |index, out| {
            let rows = data[index * piece..].chunks_exact(channels);
            for (out, row) in out.chunks_exact_mut(channels).zip(rows) {
                let factors = scales.iter().zip(shifts);
                for ((y, x), (scale, shift)) in out.iter_mut().zip(row).zip(factors) {
                    *y = *x * *scale + *shift;
                }
            }
            Ok(())
        });
    }
    for_each_chunk(threads, work, out, inner, |index, out| {
        let (scale, shift) = (scales[index % channels], shifts[index % channels]);
        vectorized(
            #[inline(always)]
            || {
                for (y, x) in out.iter_mut().zip(&data[index * inner..]) {
                    *y = *x * scale + shift;
                }
            },
        );
        Ok(())
    })
}

/// Mean and variance of each channel, one after the other in `stats`.
fn channel_moments<R: Real>(data: &[R], [_, channels, inner]: [usize; 3], stats: &mut [f64]) {
    let count = (data.len() / channels.max(1)) as f64;
    stats.fill(0.0);
    for moment in 0..2 {
        for (index, run) in data.chunks_exact(inner.max(1)).enumerate() {
            let stats = &mut stats[index % channels * 2..][..2];
            let sum: f64 = match moment {
                0 => run.iter().map(|x| x.double()).sum(),
                _ => run.iter().map(|x| (x.double() - stats[0]).powi(2)).sum(),
            };
            stats[moment] += sum;
        }
        stats
            .iter_mut()
            .skip(moment)
            .step_by(2)
            .for_each(|stat| *stat /= count);
    }
}

/// Mean and reciprocal deviation of each row, one after the other.
fn row_stats<'a, R: Real>(
    call: &'a KernelCall<'_>,
    data: &[R],
    rows: usize,
    len: usize,
    eps: f64,
) -> Result<&'a [R]> {
    let stats = call.temporary::<R>(rows.saturating_mul(2))?;
    let group = (4096 / len.max(1)).max(1);
    for_each_chunk(
        call.threads(),
        data.len().saturating_mul(4),
        stats,
        2 * group,
        |index, stats| {
            vectorized(
                #[inline(always)]
                || {
                    for (row, stats) in stats.chunks_exact_mut(2).enumerate() {
                        let row = &data[(index * group + row) * len..][..len];
                        let count = R::of(len as f64);
                        let mean = sum(row, |x| x) / count;
                        let variance = sum(row, |x| (x - mean) * (x - mean)) / count;
                        stats[0] = mean;
                        stats[1] = (variance + R::of(eps)).sqrt().recip();
                    }
                },
            );
            Ok(())
        },
    )?;
    Ok(stats)
}

/// The sum of a function of all elements, in several sums side by side, by vectors.
#[inline(always)]
fn sum<R: Real>(data: &[R], of: impl Fn(R) -> R) -> R {
    let mut sums = [R::zero(); 16];
    let (chunks, rest) = data.as_chunks::<16>();
    if chunks.is_empty() {
        return rest.iter().map(|x| of(*x)).sum();
    }
    for chunk in chunks {
        sums.iter_mut()
            .zip(chunk)
            .for_each(|(sum, x)| *sum += of(*x));
    }
    sums.iter_mut()
        .zip(rest)
        .for_each(|(sum, x)| *sum += of(*x));
    sums.into_iter().sum()
}

/// A weight or bias in row-major order, whatever its type.
fn parameter<'a, R: Real>(
    call: &'a KernelCall<'_>,
    position: usize,
    sizes: &[usize],
) -> Result<Option<&'a [R]>> {
    let Some(view) = call.optional_tensor(position)? else {
        return Ok(None);
    };
    ensure!(
        view.sizes() == sizes,
        Operator,
        "{} has shape {:?}, but what it applies to has {sizes:?}",
        call.name(position),
        view.sizes()
    );
    ensure!(
        view.dtype().is_float(),
        Unsupported,
        "{} has elements of type {}, not floating-point numbers",
        call.name(position),
        view.dtype()
    );
    let view = in_order(call, view, identity_order(sizes.len())?)?;
    Ok(Some(converted(call, view.bytes(), view.dtype())?))
}

/// Reads one number for each channel.
fn load<'s>(
    view: &TensorView<'_>,
    channels: usize,
    stats: impl Iterator<Item = &'s mut f64>,
) -> Result<()> {
    check_running(view, channels)?;
    dispatch!(view.dtype(), float => T, {
        for (stat, value) in stats.zip(view.data::<T>()?) {
            *stat = value.widen().double();
        }
        Ok(())
    })
}

fn check_running(view: &TensorView<'_>, channels: usize) -> Result<()> {
    ensure!(
        view.sizes() == [channels],
        Operator,
        "a mean or variance of shape {:?} does not fit {channels} channels",
        view.sizes()
    );
    Ok(())
}

/// Writes means or deviations in the type and dim order of the output.
fn store<'s, R: Real>(
    call: &KernelCall<'_>,
    mut out: TensorViewMut<'_>,
    stats: impl Iterator<Item = &'s R>,
) -> Result<()> {
    let order = identity_order(out.rank())?;
    dispatch!(out.dtype(), float => T, {
        fill_in_order::<T>(call, &mut out, order, |out| {
            for (out, stat) in out.iter_mut().zip(stats) {
                *out = T::narrow(Real::of(stat.double()));
            }
            Ok(())
        })
    })
}

/// Moves running statistics towards those of a batch.
fn update(
    mut running: TensorViewMut<'_>,
    momentum: f64,
    stats: impl Iterator<Item = f64>,
) -> Result<()> {
    dispatch!(running.dtype(), float => T, {
        for (value, stat) in running.data_mut::<T>()?.iter_mut().zip(stats) {
            let moved = (1.0 - momentum) * value.widen().double() + momentum * stat;
            *value = T::narrow(Real::of(moved));
        }
        Ok(())
    })
}
