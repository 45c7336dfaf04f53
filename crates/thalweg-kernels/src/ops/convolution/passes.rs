//! The three passes of a convolution: forward from the large side to the small one, backward, and to the
//! weights' gradient.

use thalweg_core::{KernelCall, Result};

use super::Compute;
use super::epilogue::FusedEpilogue;
use super::geometry::Geometry;
use crate::layout::order::MemoryFormat;
use crate::linalg::{Matrix, MatrixMut};
use crate::parallel::for_each_chunk;

impl Geometry {
    /// Forward: the small side from the large one, an ordinary convolution. `weight` has a row for every
    /// small channel, in the order of the columns.
    pub(super) fn forward<T: Compute>(
        &self,
        call: &KernelCall<'_>,
        large: &[T],
        weight: &[T],
        bias: Option<&[T]>,
        small: &mut [T],
    ) -> Result<()> {
        if small.is_empty() {
            return Ok(());
        }
        let keep = self.start(self.small.layout, self.small.channels, bias, small);
        let buffer = if self.is_pointwise() {
            &mut []
        } else {
            call.temporary::<T>(self.block_size())?
        };
        let [_, channels] = self.channels_per_group();
        let columns = self.small.positions();
        let workspace = self.workspace::<T>(call, [channels, self.window(), columns])?;
        self.for_each_part(|large_at, weight_at, small_at| {
            let large = large.get(large_at..).unwrap_or(&[]);
            let weight = self.weight(weight, weight_at)?;
            let small = &mut small[small_at..];
            if self.is_pointwise() {
                let positions = self.small.positions();
                let columns = Matrix::new(large, [self.window(), positions], self.large.strides())?;
                return self.multiply(call, small, 0..positions, weight, columns, keep, workspace);
            }
            for block in self.blocks() {
                self.gather(large, block.clone(), buffer);
                let columns = self.matrix(buffer, block.len())?;
                self.multiply(call, small, block, weight, columns, keep, workspace)?;
            }
            Ok(())
        })
    }

    /// Backward: the large side from the small one, a transposed convolution, or the gradient of an
    /// ordinary one's input.
    pub(super) fn backward<T: Compute>(
        &self,
        call: &KernelCall<'_>,
        small: &[T],
        weight: &[T],
        bias: Option<&[T]>,
        large: &mut [T],
    ) -> Result<()> {
        if large.is_empty() {
            return Ok(());
        }
        if self.start(self.large.layout, self.large.channels, bias, large) == 0.0 {
            large.fill(T::default());
        }
        if small.is_empty() {
            return Ok(());
        }
        let buffer = call.temporary::<T>(self.block_size())?;
        let [_, channels] = self.channels_per_group();
        let strides = self.small.strides();
        let shape = [self.window(), channels, self.small.positions()];
        let workspace = self.workspace::<T>(call, shape)?;
        self.for_each_part(|large_at, weight_at, small_at| {
            let large = &mut large[large_at..];
            let weight = self.weight(weight, weight_at)?.transposed();
            let small = &small[small_at..];
            for block in self.blocks() {
                let len = block.len();
                let part = small.get(block.start * strides[1]..).unwrap_or(&[]);
                let part = Matrix::new(part, [channels, len], strides)?;
                let shape = [self.window(), len];
                let columns = MatrixMut::new(buffer, shape, self.matrix_strides(len))?;
                let factors = [T::of(0.0), T::of(1.0)];
                T::multiply(columns, weight, part, factors, workspace, call.threads())?;
                self.scatter(buffer, block, large);
            }
            Ok(())
        })
    }

    /// The gradient of the weights from both sides. `weight` is in the order of the columns.
    pub(super) fn weight_gradient<T: Compute>(
        &self,
        call: &KernelCall<'_>,
        large: &[T],
        small: &[T],
        weight: &mut [T],
    ) -> Result<()> {
        weight.fill(T::default());
        if large.is_empty() || small.is_empty() || weight.is_empty() {
            return Ok(());
        }
        let buffer = call.temporary::<T>(self.block_size())?;
        let [_, channels] = self.channels_per_group();
        let strides = self.small.strides();
        let shape = [channels, self.small.positions(), self.window()];
        let workspace = self.workspace::<T>(call, shape)?;
        self.for_each_part(|large_at, weight_at, small_at| {
            let small = &small[small_at..];
            for block in self.blocks() {
                self.gather(&large[large_at..], block.clone(), buffer);
                let len = block.len();
                let part = small.get(block.start * strides[1]..).unwrap_or(&[]);
                let part = Matrix::new(part, [channels, len], strides)?;
                let columns = self.matrix(buffer, len)?.transposed();
                let shape = [channels, self.window()];
                let out = MatrixMut::new(&mut weight[weight_at..], shape, [self.window(), 1])?;
                let factors = [T::of(1.0), T::of(1.0)];
                T::multiply(out, part, columns, factors, workspace, call.threads())?;
            }
            Ok(())
        })
    }

    /// The small side from the large one where every group has one large channel. With channels
    /// last, every group must have one small channel too, and `weight` runs through the taps,
    /// then the channels of each.
    pub(super) fn forward_depthwise<T: Compute>(
        &self,
        call: &KernelCall<'_>,
        large: &[T],
        weight: &[T],
        bias: Option<&[T]>,
        epilogue: Option<&FusedEpilogue>,
        small: &mut [T],
    ) -> Result<()> {
        if self.is_planar() {
            return self.depthwise_planes(call, large, weight, bias, epilogue, small);
        }
        self.depthwise_taps(call, large, weight, bias, small)?;
        self.apply_epilogue(call, epilogue, small)
    }

    /// Applies an epilogue to all of the small side.
    pub(super) fn apply_epilogue<T: Compute>(
        &self,
        call: &KernelCall<'_>,
        epilogue: Option<&FusedEpilogue>,
        small: &mut [T],
    ) -> Result<()> {
        let shape = [self.small.channels, self.small.positions()];
        epilogue.map_or(Ok(()), |epilogue| {
            epilogue.apply(call.threads(), self.small.layout, shape, small)
        })
    }

    /// [`forward_depthwise`](Self::forward_depthwise) tap by tap.
    fn depthwise_taps<T: Compute>(
        &self,
        call: &KernelCall<'_>,
        large: &[T],
        weight: &[T],
        bias: Option<&[T]>,
        small: &mut [T],
    ) -> Result<()> {
        let (taps, step) = (self.taps(), self.step());
        let work = small.len().saturating_mul(taps);
        let [_, rows, width] = self.small.sizes;
        let channels = self.small.channels;
        let positions = self.small.positions();
        if small.is_empty() {
            return Ok(());
        }
        match self.small.layout {
            MemoryFormat::ChannelsFirst => {
                let [_, per_group] = self.channels_per_group();
                let (len, strides) = (self.large.len(), self.large.strides());
                for_each_chunk(call.threads(), work, small, positions, |index, out| {
                    let (image, channel) = (index / channels, index % channels);
                    let plane = &large[image * len + channel / per_group * strides[0]..];
                    let weight = &weight[channel * taps..][..taps];
                    out.fill(bias.map_or(T::default(), |bias| bias[channel]));
                    // A few rows at a time, so that they stay close while the taps are added.
                    let lines = (2048 / width).max(1) * width;
                    for (block, out) in out.chunks_mut(lines).enumerate() {
                        let start = block * lines;
                        for (tap, &weight) in weight.iter().enumerate() {
                            self.runs(tap, start..start + out.len(), |at, count, first| {
                                let to = &mut out[at..at + count];
                                add_scaled(to, &plane[first..], step, weight);
                            });
                        }
                    }
                    Ok(())
                })
            }
            MemoryFormat::ChannelsLast => {
                let lines = self.small.sizes[0] * rows;
                let line = width * channels;
                let len = self.large.len();
                for_each_chunk(call.threads(), work, small, line, |index, out| {
                    let image = &large[index / lines * len..];
                    let start = index % lines * width;
                    for out in out.chunks_exact_mut(channels) {
                        match bias {
                            Some(bias) => out.copy_from_slice(bias),
                            None => out.fill(T::default()),
                        }
                    }
                    for (tap, weight) in weight.chunks_exact(channels).enumerate() {
                        self.runs(tap, start..start + width, |at, count, first| {
                            for i in 0..count {
                                let from = &image[(first + i * step) * channels..][..channels];
                                let to = &mut out[(at + i) * channels..][..channels];
                                for ((to, from), weight) in to.iter_mut().zip(from).zip(weight) {
                                    *to += *from * *weight;
                                }
                            }
                        });
                    }
                    Ok(())
                })
            }
        }
    }

    /// Writes the bias to every position of an output. Gives the factor to keep it with: 0 if
    /// there is none, and nothing was written.
    fn start<T: Compute>(
        &self,
        layout: MemoryFormat,
        channels: usize,
        bias: Option<&[T]>,
        out: &mut [T],
    ) -> f64 {
        let Some(bias) = bias else {
            return 0.0;
        };
        match layout {
            MemoryFormat::ChannelsLast => {
                for out in out.chunks_exact_mut(channels) {
                    out.copy_from_slice(bias);
                }
            }
            MemoryFormat::ChannelsFirst => {
                let positions = out.len() / (self.batch * channels);
                for (index, out) in out.chunks_exact_mut(positions).enumerate() {
                    out.fill(bias[index % channels]);
                }
            }
        }
        1.0
    }

    /// Calls `each` for every group of every image, with where it starts in the large side, the
    /// weights and the small side.
    pub(super) fn for_each_part(
        &self,
        mut each: impl FnMut(usize, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let [large, small] = self.channels_per_group();
        for image in 0..self.batch {
            for group in 0..self.groups {
                each(
                    image * self.large.len() + group * large * self.large.strides()[0],
                    group * small * self.window(),
                    image * self.small.len() + group * small * self.small.strides()[0],
                )?;
            }
        }
        Ok(())
    }

    /// Working memory for products of a shape.
    fn workspace<'a, T: Compute>(
        &self,
        call: &'a KernelCall<'_>,
        shape: [usize; 3],
    ) -> Result<&'a mut [f32]> {
        call.temporary(T::workspace(shape, call.threads()))
    }

    /// The weights of a group: a row for every small channel.
    fn weight<'a, T>(&self, weight: &'a [T], at: usize) -> Result<Matrix<'a, T>> {
        let shape = [self.channels_per_group()[1], self.window()];
        Matrix::new(weight.get(at..).unwrap_or(&[]), shape, [self.window(), 1])
    }

    /// Computes a block of small positions: `keep` times the positions as they were, and weights times columns.
    fn multiply<T: Compute>(
        &self,
        call: &KernelCall<'_>,
        small: &mut [T],
        block: std::ops::Range<usize>,
        weight: Matrix<'_, T>,
        columns: Matrix<'_, T>,
        keep: f64,
        workspace: &mut [f32],
    ) -> Result<()> {
        let strides = self.small.strides();
        let small = small.get_mut(block.start * strides[1]..).unwrap_or(&mut []);
        let small = MatrixMut::new(small, [weight.rows(), block.len()], strides)?;
        let factors = [T::of(keep), T::of(1.0)];
        T::multiply(small, weight, columns, factors, workspace, call.threads())
    }
}

/// `to += weight * from`, with every `step`-th element of `from`.
#[inline]
fn add_scaled<T: Compute>(to: &mut [T], from: &[T], step: usize, weight: T) {
    match step {
        1 => {
            for (to, from) in to.iter_mut().zip(from) {
                *to += weight * *from;
            }
        }
        2 => {
            // In pairs, which can be loaded by vectors.
            let Some((last, to)) = to.split_last_mut() else {
                return;
            };
            *last += weight * from[2 * to.len()];
            for (to, from) in to.iter_mut().zip(from.as_chunks::<2>().0) {
                *to += weight * from[0];
            }
        }
        _ => {
            for (to, from) in to.iter_mut().zip(from.iter().step_by(step)) {
                *to += weight * *from;
            }
        }
    }
}
