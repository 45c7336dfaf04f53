//! Epilogues fused into convolutions: the work of the operators that follow, done while results are
//! written.

use thalweg_core::{DType, Epilogue, Result, Scalar, StaticArguments};

use super::Compute;
use crate::epilogue::EpilogueOp;
use crate::layout::order::MemoryFormat;
use crate::parallel::for_each_chunk;
use crate::quantize::FakeQuantize;
use crate::simd::vectorized;

/// The epilogue fused into a convolution, known when a method is linked.
#[derive(Default)]
pub(super) struct FusedEpilogue {
    /// A factor and an addend for each channel. The bias is in the addend.
    pub(super) channels: Option<(Vec<f32>, Vec<f32>)>,
    /// The lowest and the highest result.
    pub(super) limits: Option<[f32; 2]>,
    /// The grid to which results are rounded last.
    pub(super) fake_quantize: Option<FakeQuantize>,
}

/// The part of a fused epilogue for one channel.
#[derive(Clone, Copy)]
pub(super) struct ChannelEpilogue<T> {
    factors: Option<[T; 2]>,
    limits: Option<[T; 2]>,
}

/// The epilogue of the operators that follow: normalization, if all parameters are constants of f32, then
/// limits, then quantization and dequantization. `None` if not all of that can be fused.
pub(super) fn fused(
    call: &StaticArguments<'_>,
    epilogues: &[Epilogue],
) -> Result<Option<FusedEpilogue>> {
    let (Some(weight), Some(Scalar::Bool(false))) = (call.constant(1), call.scalar(6)) else {
        return Ok(None);
    };
    let channels = weight.sizes().first().copied().unwrap_or(0);
    if weight.dtype() != DType::F32 {
        return Ok(None);
    }
    let mut epilogue = FusedEpilogue::default();
    let mut quantizing = None;
    for op in epilogues {
        match op.get::<EpilogueOp>() {
            Some(EpilogueOp::Channels { scales, shifts })
                if epilogue.channels.is_none()
                    && epilogue.limits.is_none()
                    && quantizing.is_none()
                    && epilogue.fake_quantize.is_none()
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
                epilogue.channels = Some(added.unzip());
            }
            Some(EpilogueOp::Clamp(limits))
                if epilogue.limits.is_none()
                    && quantizing.is_none()
                    && epilogue.fake_quantize.is_none() =>
            {
                epilogue.limits = Some(*limits);
            }
            Some(EpilogueOp::Quantize(how)) if epilogue.fake_quantize.is_none() => {
                quantizing = Some(*how);
            }
            Some(EpilogueOp::Dequantize(how)) => {
                let Some(fake_quantize) =
                    quantizing.take().and_then(|to| FakeQuantize::new(to, *how))
                else {
                    return Ok(None);
                };
                epilogue.fake_quantize = Some(fake_quantize);
            }
            _ => return Ok(None),
        }
    }
    // Results are not left as integers.
    Ok(quantizing.is_none().then_some(epilogue))
}

impl FusedEpilogue {
    pub(super) fn of_channel<T: Compute>(&self, channel: usize) -> ChannelEpilogue<T> {
        let factors = self.channels.as_ref();
        ChannelEpilogue {
            factors: factors.map(|(scales, added)| [scales[channel], added[channel]].map(number)),
            limits: self.limits.map(|limits| limits.map(number)),
        }
    }

    /// Rounds results, all of them or a part. This is the last step.
    pub(super) fn round<T: Compute>(&self, threads: usize, out: &mut [T]) -> Result<()> {
        let (Some(fake_quantize), true) = (self.fake_quantize, T::DTYPE == DType::F32) else {
            return Ok(());
        };
        let (work, len) = (out.len(), out.len().div_ceil(threads.max(1)));
        for_each_chunk(
            threads,
            work,
            bytemuck::cast_slice_mut(out),
            len,
            |_, out| {
                fake_quantize.apply(out);
                Ok(())
            },
        )
    }

    /// Normalizes and limits all results, where the loops that compute them do not do it.
    pub(super) fn apply<T: Compute>(
        &self,
        threads: usize,
        layout: MemoryFormat,
        [channels, positions]: [usize; 2],
        out: &mut [T],
    ) -> Result<()> {
        if out.is_empty() || (self.channels.is_none() && self.limits.is_none()) {
            return Ok(());
        }
        let work = out.len().saturating_mul(2);
        match layout {
            MemoryFormat::ChannelsFirst => {
                for_each_chunk(threads, work, out, positions, |index, out| {
                    let epilogue = self.of_channel(index % channels);
                    vectorized(
                        #[inline(always)]
                        || epilogue.apply(out),
                    );
                    Ok(())
                })
            }
            MemoryFormat::ChannelsLast => {
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

impl<T: Compute> ChannelEpilogue<T> {
    /// The empty epilogue.
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
