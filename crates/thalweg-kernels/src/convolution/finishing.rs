//! What is done to the results of a convolution while they are written: the work of the operators that
//! follow it.

use thalweg_core::{DType, Epilogue, Result, Scalar, StaticArguments};

use super::Compute;
use crate::following::Following;
use crate::ordering::ChannelOrder;
use crate::parallel::for_each_chunk;
use crate::quantized::Grid;
use crate::vectors::vectorized;

/// What is done, known when a method is linked.
#[derive(Default)]
pub(super) struct Finishing {
    /// A factor for each channel, and what is added, which has the bias in it.
    pub(super) channels: Option<(Vec<f32>, Vec<f32>)>,
    /// The lowest and the highest result.
    pub(super) limits: Option<[f32; 2]>,
    /// The numbers to which results are rounded at last.
    pub(super) grid: Option<Grid>,
}

/// What is done to one channel.
#[derive(Clone, Copy)]
pub(super) struct Finished<T> {
    factors: Option<[T; 2]>,
    limits: Option<[T; 2]>,
}

/// What to do for operators that follow: normalization, if all parameters are constants of f32, then
/// limits, then quantizing and dequantizing. `None`: not all of that.
pub(super) fn finishing(
    call: &StaticArguments<'_>,
    epilogues: &[Epilogue],
) -> Result<Option<Finishing>> {
    let (Some(weight), Some(Scalar::Bool(false))) = (call.constant(1), call.scalar(6)) else {
        return Ok(None);
    };
    let channels = weight.sizes().first().copied().unwrap_or(0);
    if weight.dtype() != DType::F32 {
        return Ok(None);
    }
    let mut finishing = Finishing::default();
    let mut quantizing = None;
    for offer in epilogues {
        match offer.get::<Following>() {
            Some(Following::Channels { scales, shifts })
                if finishing.channels.is_none()
                    && finishing.limits.is_none()
                    && quantizing.is_none()
                    && finishing.grid.is_none()
                    && scales.len() == channels =>
            {
                let bias = match call.constant(2) {
                    Some(bias) if bias.dtype() == DType::F32 && *bias.sizes() == [channels] => {
                        Some(bias.data::<f32>()?)
                    }
                    None if call.is_absent(2) => None,
                    _ => return Ok(None),
                };
                let factors = scales.iter().zip(shifts).enumerate();
                let added = factors.map(|(channel, (scale, shift))| {
                    let bias = bias.map_or(0.0, |bias| f64::from(bias[channel]));
                    (*scale as f32, (bias * scale + shift) as f32)
                });
                finishing.channels = Some(added.unzip());
            }
            Some(Following::Limits(limits))
                if finishing.limits.is_none()
                    && quantizing.is_none()
                    && finishing.grid.is_none() =>
            {
                finishing.limits = Some(*limits);
            }
            Some(Following::Quantizing(how)) if finishing.grid.is_none() => {
                quantizing = Some(*how);
            }
            Some(Following::Dequantizing(how)) => {
                let Some(grid) = quantizing.take().and_then(|to| Grid::new(to, *how)) else {
                    return Ok(None);
                };
                finishing.grid = Some(grid);
            }
            _ => return Ok(None),
        }
    }
    // Results are not left as integers.
    Ok(quantizing.is_none().then_some(finishing))
}

impl Finishing {
    pub(super) fn of_channel<T: Compute>(&self, channel: usize) -> Finished<T> {
        let factors = self.channels.as_ref();
        Finished {
            factors: factors.map(|(scales, added)| [scales[channel], added[channel]].map(number)),
            limits: self.limits.map(|limits| limits.map(number)),
        }
    }

    /// Rounds results, all of them or a part. The last that is done to them.
    pub(super) fn round<T: Compute>(&self, threads: usize, out: &mut [T]) -> Result<()> {
        let (Some(grid), true) = (self.grid, T::DTYPE == DType::F32) else {
            return Ok(());
        };
        let (work, len) = (out.len(), out.len().div_ceil(threads.max(1)));
        for_each_chunk(
            threads,
            work,
            bytemuck::cast_slice_mut(out),
            len,
            |_, out| {
                grid.apply(out);
                Ok(())
            },
        )
    }

    /// Normalizes and limits all results, where the loops that compute them do not do it.
    pub(super) fn apply<T: Compute>(
        &self,
        threads: usize,
        layout: ChannelOrder,
        [channels, positions]: [usize; 2],
        out: &mut [T],
    ) -> Result<()> {
        if out.is_empty() || (self.channels.is_none() && self.limits.is_none()) {
            return Ok(());
        }
        let work = out.len().saturating_mul(2);
        match layout {
            ChannelOrder::First => for_each_chunk(threads, work, out, positions, |index, out| {
                let finished = self.of_channel(index % channels);
                vectorized(
                    #[inline(always)]
                    || finished.apply(out),
                );
                Ok(())
            }),
            ChannelOrder::Last => {
                let piece = channels * (4096 / channels.max(1)).max(1);
                for_each_chunk(threads, work, out, piece, |_, out| {
                    vectorized(
                        #[inline(always)]
                        || {
                            for out in out.chunks_exact_mut(channels) {
                                if let Some((scales, added)) = &self.channels {
                                    for ((x, &scale), &add) in out.iter_mut().zip(scales).zip(added)
                                    {
                                        *x = *x * number::<T>(scale) + number::<T>(add);
                                    }
                                }
                            }
                            limit(out, self.limits.map(|limits| limits.map(number)));
                        },
                    );
                    Ok(())
                })
            }
        }
    }
}

impl<T: Compute> Finished<T> {
    /// As if nothing followed.
    pub(super) fn nothing() -> Self {
        Self {
            factors: None,
            limits: None,
        }
    }

    #[inline(always)]
    pub(super) fn apply(self, sums: &mut [T]) {
        if let Some([scale, add]) = self.factors {
            sums.iter_mut().for_each(|x| *x = *x * scale + add);
        }
        limit(sums, self.limits);
    }
}

#[inline(always)]
fn number<T: Compute>(x: f32) -> T {
    T::of(f64::from(x))
}

#[inline(always)]
fn limit<T: Compute>(out: &mut [T], limits: Option<[T; 2]>) {
    if let Some([lowest, highest]) = limits {
        for x in out {
            let limited = if *x < lowest { lowest } else { *x };
            *x = if limited > highest { highest } else { limited };
        }
    }
}
