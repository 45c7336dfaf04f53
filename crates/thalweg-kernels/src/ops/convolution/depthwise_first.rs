//! Depthwise convolutions of planes, with channels first.
//!
//! A plane is copied with its padding around it, so that loops have no edge cases. All
//! positions of the result are then computed as one long row, with those between two rows of the result,
//! which are not used: so vectors are full, however narrow the plane. Where the stride is not 1,
//! the copy has the positions of each remainder by themselves, and is again read one after another.

use thalweg_core::{KernelCall, Result};

use super::Compute;
use super::epilogue::{ChannelEpilogue, FusedEpilogue};
use super::geometry::Geometry;
use crate::layout::order::MemoryFormat;
use crate::parallel::for_each_chunk_with;
use crate::simd::vectorized;

/// Positions summed at a time, in registers.
const LANES: usize = 32;

/// The most taps that a kernel may have.
const MAX_TAPS: usize = 64;

/// The copy of a plane, in parts by the remainders of row and column by the stride.
#[derive(Clone, Copy)]
struct Copied {
    /// Rows and columns of a part.
    rows: usize,
    width: usize,
    /// Elements of a part, and of all.
    part: usize,
    len: usize,
}

impl Geometry {
    /// Returns true if these loops can compute the convolution.
    pub(super) fn is_planar(&self) -> bool {
        self.small.layout == MemoryFormat::ChannelsFirst
            && self.kernel[0] == 1
            && self.taps() <= MAX_TAPS
            && self.large.sizes[0] == 1
            && self.small.sizes[0] == 1
            && self.copied().is_some()
    }

    /// The shape of the copy of a plane. `None` if it overflows or is too large.
    fn copied(&self) -> Option<Copied> {
        let side = |dim: usize| {
            let window = (self.kernel[dim].checked_sub(1)?).checked_mul(self.dilation[dim])?;
            let steps = self.small.sizes[dim].checked_sub(1)?;
            let size = steps.checked_mul(self.stride[dim])?.checked_add(window)?;
            Some((size + 1).div_ceil(self.stride[dim]))
        };
        let (rows, width) = (side(1)?, side(2)?);
        let part = rows.checked_mul(width)?.checked_add(LANES)?;
        let parts = self.stride[1].checked_mul(self.stride[2])?;
        let len = part.checked_mul(parts)?;
        // A stride beyond what there is makes for parts that are mostly empty.
        let most = self.large.len().checked_add(1 << 16)?.checked_mul(8)?;
        (len <= most).then_some(Copied {
            rows,
            width,
            part,
            len,
        })
    }

    /// [`forward_depthwise`](Self::forward_depthwise) by copied planes.
    pub(super) fn depthwise_planes<T: Compute>(
        &self,
        call: &KernelCall<'_>,
        large: &[T],
        weight: &[T],
        bias: Option<&[T]>,
        epilogue: Option<&FusedEpilogue>,
        small: &mut [T],
    ) -> Result<()> {
        let (Some(copied), false) = (self.copied(), small.is_empty()) else {
            return Ok(());
        };
        let (taps, channels) = (self.taps(), self.small.channels);
        let [_, per_group] = self.channels_per_group();
        let (len, strides) = (self.large.len(), self.large.strides());
        let positions = self.small.positions();
        let [_, rows, width] = self.small.sizes;
        let long = ((rows - 1) * copied.width + width).next_multiple_of(LANES);
        let threads = call.threads().max(1);
        let scratch = call.temporary::<T>((copied.len + long).saturating_mul(threads))?;
        let work = small.len().saturating_mul(taps);
        for_each_chunk_with(
            threads,
            work,
            small,
            positions,
            scratch,
            |index, out, scratch| {
                let (image, channel) = (index / channels, index % channels);
                let plane = &large[image * len + channel / per_group * strides[0]..];
                let weight = &weight[channel * taps..][..taps];
                let bias = bias.map_or(T::default(), |bias| bias[channel]);
                let epilogue = epilogue.map_or(ChannelEpilogue::nothing(), |epilogue| {
                    epilogue.of_channel(channel)
                });
                let (parts, sums) = scratch.split_at_mut(copied.len);
                self.copy_plane(plane, copied, parts);
                vectorized(
                    #[inline(always)]
                    || {
                        let sums = &mut sums[..long];
                        self.sum_taps(parts, copied, weight, bias, epilogue, sums);
                    },
                );
                let lines = sums.chunks(copied.width).zip(out.chunks_exact_mut(width));
                for (sums, out) in lines {
                    out.copy_from_slice(&sums[..width]);
                }
                Ok(())
            },
        )
    }

    fn copy_plane<T: Compute>(&self, plane: &[T], copied: Copied, parts: &mut [T]) {
        let [_, rows_l, width_l] = self.large.sizes;
        let [_, row_step, step] = self.stride;
        let [_, above, before] = self.padding;
        if step == 1 && row_step == 1 {
            // Nothing is left out: a line is what comes before it, itself, and what comes after.
            for (row, to) in parts[..copied.part - LANES]
                .chunks_exact_mut(copied.width)
                .enumerate()
            {
                let from = row.checked_sub(above).filter(|&row| row < rows_l);
                let line = from.map_or(&[][..], |from| &plane[from * width_l..][..width_l]);
                let start = before.min(to.len());
                let len = line.len().min(to.len() - start);
                to[..start].fill(T::default());
                to[start..start + len].copy_from_slice(&line[..len]);
                to[start + len..].fill(T::default());
            }
            return;
        }
        parts.fill(T::default());
        for row in 0..copied.rows * row_step {
            let Some(from) = row.checked_sub(above).filter(|&row| row < rows_l) else {
                continue;
            };
            let line = &plane[from * width_l..][..width_l];
            let to = row / row_step * copied.width;
            for column in 0..step {
                let part = &mut parts[(row % row_step * step + column) * copied.part..];
                let to = &mut part[to..to + copied.width];
                // The first position of this part that is there.
                let first = before.saturating_sub(column).div_ceil(step);
                let Some(to) = to.get_mut(first..) else {
                    continue;
                };
                let line = line.get(first * step + column - before..).unwrap_or(&[]);
                match step {
                    1 => {
                        let len = to.len().min(line.len());
                        to[..len].copy_from_slice(&line[..len]);
                    }
                    2 => {
                        let (pairs, last) = line.as_chunks::<2>();
                        for (to, pair) in to.iter_mut().zip(pairs) {
                            *to = pair[0];
                        }
                        if let ([last], Some(to)) = (last, to.get_mut(pairs.len())) {
                            *to = *last;
                        }
                    }
                    _ => {
                        let each = line.iter().step_by(step);
                        to.iter_mut().zip(each).for_each(|(to, from)| *to = *from);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn sum_taps<T: Compute>(
        &self,
        parts: &[T],
        copied: Copied,
        weight: &[T],
        bias: T,
        epilogue: ChannelEpilogue<T>,
        sums: &mut [T],
    ) {
        let [_, row_step, step] = self.stride;
        let [_, row_dilation, dilation] = self.dilation;
        let columns = self.kernel[2];
        let mut places = [0; MAX_TAPS];
        for (tap, place) in places.iter_mut().enumerate().take(weight.len()) {
            let (row, column) = (tap / columns * row_dilation, tap % columns * dilation);
            let part = row % row_step * step + column % step;
            *place = part * copied.part + row / row_step * copied.width + column / step;
        }
        let places = &places[..weight.len()];
        for (index, sums) in sums.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut lanes = [bias; LANES];
            for (place, weight) in places.iter().zip(weight) {
                let from = &parts[place + index * LANES..][..LANES];
                for (lane, x) in lanes.iter_mut().zip(from) {
                    *lane += *x * *weight;
                }
            }
            epilogue.apply(&mut lanes);
            *sums = lanes;
        }
    }
}
