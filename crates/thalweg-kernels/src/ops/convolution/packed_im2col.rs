//! Ordinary convolutions of f32 with channels first: im2col straight into packed panels.
//!
//! The weights are the left side, as they lie. The right side has a column for every position of the
//! result; a block of positions is written straight into panels as [`linalg`](crate::linalg) reads
//! them, small enough to stay in the cache until it is multiplied.

use std::ops::Range;

use rayon::prelude::*;
use thalweg_core::{KernelCall, Result};

use super::epilogue::FusedEpilogue;
use super::geometry::Geometry;
use crate::linalg::{Addend, Addressing, Epilogue, Lhs, PARALLEL_SUMS, Scale};
use crate::simd::Isa;

/// Elements of windows to have at a time: half of a usual second-level cache of one core.
const BLOCK: usize = 1 << 16;

impl Geometry {
    /// [`forward`](Self::forward) of f32 with channels first.
    pub(super) fn forward_panels(
        &self,
        call: &KernelCall<'_>,
        large: &[f32],
        weight: &[f32],
        bias: Option<&[f32]>,
        epilogue: Option<&FusedEpilogue>,
        small: &mut [f32],
    ) -> Result<()> {
        let (isa, threads) = (Isa::best(), call.threads());
        let (window, positions) = (self.window(), self.small.positions());
        let [_, channels] = self.channels_per_group();
        if small.is_empty() || channels == 0 {
            return Ok(());
        }
        let width = isa.width();
        let panel = width * window;
        // As many panels as stay in the caches of all threads.
        let most = (BLOCK / panel.max(1)).max(1).saturating_mul(threads);
        let together = most.min(positions.div_ceil(width));
        let buffer = call.temporary::<f32>(together.saturating_mul(panel))?;
        let work = window.saturating_mul(positions).saturating_mul(channels);
        let share = together.div_ceil(threads).saturating_mul(panel).max(1);
        let mut group = 0;
        self.for_each_part(|large_at, weight_at, small_at| {
            let image = large.get(large_at..).unwrap_or(&[]);
            let first = group % self.groups * channels;
            group += 1;
            let rows = first..first + channels;
            let (scale, add) = match (epilogue.and_then(|one| one.channels.as_ref()), bias) {
                (Some((scales, added)), _) => {
                    let added = Addend::Rows(&added[rows.clone()]);
                    (Scale::Rows(&scales[rows]), added)
                }
                (None, Some(bias)) => (Scale::All(1.0), Addend::Rows(&bias[rows])),
                (None, None) => (Scale::All(1.0), Addend::Nothing),
            };
            let limits = epilogue.and_then(|epilogue| epilogue.limits);
            let epilogue = Epilogue { scale, add, limits };
            let left = Lhs {
                data: &weight[weight_at..],
                rows: channels,
                depth: window,
                addressing: Addressing::Strided([window, 1]),
            };
            for start in (0..positions).step_by(together * width) {
                let block = start..positions.min(start + together * width);
                let columns = block.len();
                let right = &mut buffer[..columns.div_ceil(width) * panel];
                let gather = |(index, right): (usize, &mut [f32])| {
                    let start = block.start + index * share / panel.max(1) * width;
                    let end = block.end.min(start + right.len() / panel.max(1) * width);
                    self.gather_panels(image, start..end, width, right);
                };
                if threads > 1 && work >= PARALLEL_SUMS && right.len() > share {
                    right.par_chunks_mut(share).enumerate().for_each(gather);
                } else {
                    right.chunks_mut(share).enumerate().for_each(gather);
                }
                let out = &mut small[small_at + block.start..];
                isa.multiply(out, positions, left, right, columns, epilogue, threads);
            }
            Ok(())
        })
    }

    /// Writes the windows of a block of positions to panels of `width` columns. `image` is one image
    /// from the first channel of the group on.
    fn gather_panels(&self, image: &[f32], block: Range<usize>, width: usize, panels: &mut [f32]) {
        let window = self.window();
        let panel = width * window;
        if panel == 0 {
            return;
        }
        let (taps, step) = (self.taps(), self.step());
        let [channel_stride, _] = self.large.strides();
        if self.is_pointwise() {
            for (index, panel) in panels.chunks_exact_mut(panel).enumerate() {
                let start = block.start + index * width;
                let columns = (block.end - start).min(width);
                for (channel, to) in panel.chunks_exact_mut(width).enumerate() {
                    let from = &image[channel * channel_stride + start..][..columns];
                    to[..columns].copy_from_slice(from);
                }
            }
            return;
        }
        if self.is_padded() {
            panels.fill(0.0);
        }
        let [channels, _] = self.channels_per_group();
        for tap in 0..taps {
            self.runs(tap, block.clone(), |mut at, mut count, mut first| {
                while count > 0 {
                    let within = at % width;
                    let len = count.min(width - within);
                    let to = at / width * panel + tap * width + within;
                    for channel in 0..channels {
                        let image = &image[channel * channel_stride..];
                        let to = to + channel * taps * width;
                        let to = &mut panels[to..to + len];
                        match step {
                            1 => to.copy_from_slice(&image[first..first + len]),
                            2 => {
                                // In pairs, which can be loaded by vectors; the last has no other half.
                                let last = len - 1;
                                let pairs = image[first..first + 2 * last].as_chunks::<2>().0;
                                to.iter_mut()
                                    .zip(pairs)
                                    .for_each(|(to, from)| *to = from[0]);
                                to[last] = image[first + 2 * last];
                            }
                            _ => {
                                let from = image[first..].iter().step_by(step);
                                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                            }
                        }
                    }
                    at += len;
                    first += len * step;
                    count -= len;
                }
            });
        }
    }
}
