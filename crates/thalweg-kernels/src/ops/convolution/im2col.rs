//! im2col: windows of the large side as the columns of a matrix, so that a convolution is a
//! product.
//!
//! The matrix has a row for every element of a window (of one group) and a column for every small
//! position. It lies in memory as the large side does: with channels first, its rows are
//! contiguous, and run through the channels, then the taps of each; with channels last, its
//! columns are, and run through the taps, then the channels of each. Weights have to be in the
//! same order.

use std::ops::Range;

use thalweg_core::Result;

use super::Compute;
use super::geometry::Geometry;
use crate::layout::order::MemoryFormat;
use crate::linalg::Matrix;

/// Elements of columns to have at a time, few enough to stay in the cache.
const BLOCK: usize = 1 << 17;

impl Geometry {
    /// The rows of the matrix.
    pub(super) fn window(&self) -> usize {
        self.channels_per_group()[0] * self.taps()
    }

    /// The small positions in blocks whose columns stay in the cache.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let positions = self.small.positions();
        let len = self.block_len();
        (0..positions)
            .step_by(len)
            .map(move |start| start..positions.min(start + len))
    }

    /// The most elements that the columns of a block have.
    pub(super) fn block_size(&self) -> usize {
        self.block_len().saturating_mul(self.window())
    }

    fn block_len(&self) -> usize {
        let len = (BLOCK / self.window().max(1)).max(64).next_multiple_of(16);
        len.min(self.small.positions()).max(1)
    }

    /// Strides of the matrix with `len` columns.
    fn column_strides(&self, len: usize) -> [usize; 2] {
        match self.large.layout {
            MemoryFormat::ChannelsFirst => [len, 1],
            MemoryFormat::ChannelsLast => [1, self.window()],
        }
    }

    /// The matrix of a block that is in `buffer`.
    pub(super) fn matrix<'a, T>(&self, buffer: &'a [T], len: usize) -> Result<Matrix<'a, T>> {
        Matrix::new(buffer, [self.window(), len], self.column_strides(len))
    }

    /// Strides to write the matrix of a block with.
    pub(super) fn matrix_strides(&self, len: usize) -> [usize; 2] {
        self.column_strides(len)
    }

    /// Writes the columns of a block of small positions to `buffer`. `image` is one image of the
    /// large side, from the first channel of the group on.
    pub(super) fn gather<T: Compute>(&self, image: &[T], block: Range<usize>, buffer: &mut [T]) {
        let (len, window) = (block.len(), self.window());
        if window == 0 {
            return;
        }
        let buffer = &mut buffer[..len * window];
        if self.is_padded() {
            buffer.fill(T::default());
        }
        let [channels, _] = self.channels_per_group();
        let (taps, step) = (self.taps(), self.step());
        let [channel_stride, position_stride] = self.large.strides();
        match self.large.layout {
            MemoryFormat::ChannelsFirst => {
                for (row, buffer) in buffer.chunks_exact_mut(len).enumerate() {
                    let image = &image[row / taps * channel_stride..];
                    self.runs(row % taps, block.clone(), |at, count, first| {
                        let to = &mut buffer[at..at + count];
                        if step == 1 {
                            to.copy_from_slice(&image[first..first + count]);
                        } else {
                            let from = image[first..].iter().step_by(step);
                            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                        }
                    });
                }
            }
            MemoryFormat::ChannelsLast => {
                for tap in 0..taps {
                    self.runs(tap, block.clone(), |at, count, first| {
                        for i in 0..count {
                            let from = (first + i * step) * position_stride;
                            buffer[(at + i) * window + tap * channels..][..channels]
                                .copy_from_slice(&image[from..from + channels]);
                        }
                    });
                }
            }
        }
    }

    /// Adds the columns of a block of small positions to where they came from.
    pub(super) fn scatter<T: Compute>(&self, buffer: &[T], block: Range<usize>, image: &mut [T]) {
        let (len, window) = (block.len(), self.window());
        if window == 0 {
            return;
        }
        let buffer = &buffer[..len * window];
        let [channels, _] = self.channels_per_group();
        let (taps, step) = (self.taps(), self.step());
        let [channel_stride, position_stride] = self.large.strides();
        match self.large.layout {
            MemoryFormat::ChannelsFirst => {
                for (row, buffer) in buffer.chunks_exact(len).enumerate() {
                    let image = &mut image[row / taps * channel_stride..];
                    self.runs(row % taps, block.clone(), |at, count, first| {
                        let to = image[first..].iter_mut().step_by(step);
                        let from = &buffer[at..at + count];
                        to.zip(from).for_each(|(to, from)| *to += *from);
                    });
                }
            }
            MemoryFormat::ChannelsLast => {
                for tap in 0..taps {
                    self.runs(tap, block.clone(), |at, count, first| {
                        for i in 0..count {
                            let to = (first + i * step) * position_stride;
                            let from = &buffer[(at + i) * window + tap * channels..];
                            let to = &mut image[to..to + channels];
                            to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
                        }
                    });
                }
            }
        }
    }
}
