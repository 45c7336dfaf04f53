//! Implicit GEMM: convolutions of f32 to channels last as products of windows with packed weights.
//!
//! Each position of the result is a row of the left side, its window, and each channel a column of the
//! weights. The windows are read where they lie: the start of each, and what to add for each of its
//! elements, are in tables. Where windows reach beyond the image, some lines of it are copied with
//! zeros around, few enough to stay in the cache until they have been multiplied.

use thalweg_core::{KernelCall, Result};

use super::epilogue::FusedEpilogue;
use super::geometry::Geometry;
use super::plan::{Plan, Scaled};
use crate::layout::order::MemoryFormat;
use crate::linalg::{Addend, Addressing, Epilogue, Lhs, Matrix, PackedRhs};
use crate::parallel::{for_each_chunk, for_each_chunk_with};
use crate::simd::Isa;

/// Elements of an image to have at a time, at least: a part of the first-level cache.
const NEAR: usize = 1 << 12;

/// Elements of an image to have at a time, at most: a part of the second-level cache.
const FAR: usize = 1 << 15;

/// Rows of a product that make good use of the weights that are read for them.
const MANY_ROWS: usize = 96;

/// Sums of two that are as much work as one simple operation with both operands in memory.
const SUMS_PER_OPERATION: usize = 8;

pub(super) struct ImplicitGemm {
    /// The packed weights of each group.
    weights: Vec<PackedRhs>,
    indirection: Indirection,
}

enum Indirection {
    /// Windows of one position, one after the other.
    Positions,
    /// Windows anywhere.
    Tables {
        /// Lines of the result to have at a time.
        lines: usize,
        /// The start of each position's window, for as many lines.
        rows: Vec<u32>,
        /// The offset of each element of a window from its start.
        columns: Vec<u32>,
        /// Distances in the image, or in the copy.
        steps: Steps,
        /// Elements of the copy, if there has to be one.
        copied: Option<usize>,
    },
}

/// Distances of neighbours.
#[derive(Clone, Copy)]
struct Steps {
    channel: usize,
    /// Slices, lines, positions in a line.
    axes: [usize; 3],
}

impl ImplicitGemm {
    /// Packs the weights of all groups. `None` if offsets do not fit the tables.
    pub(super) fn new(isa: Isa, geometry: &Geometry, weight: &Scaled) -> Result<Option<Self>> {
        let Some(indirection) = Indirection::new(geometry) else {
            return Ok(None);
        };
        let [channels, outputs] = geometry.channels_per_group();
        let (taps, window) = (geometry.taps(), geometry.window());
        let mut weights = Vec::with_capacity(geometry.groups);
        for group in 0..geometry.groups {
            let mut matrix = Vec::with_capacity(window * outputs);
            for tap in 0..taps {
                for channel in 0..channels {
                    let row = (0..outputs).map(|output| group * outputs + output);
                    matrix.extend(row.map(|output| weight.at(geometry, output, channel, tap)));
                }
            }
            let matrix = Matrix::new(&matrix, [window, outputs], [outputs, 1])?;
            weights.push(PackedRhs::for_isa(isa, matrix));
        }
        Ok(Some(Self {
            weights,
            indirection,
        }))
    }

    pub(super) fn run(
        &self,
        call: &KernelCall<'_>,
        plan: &Plan,
        epilogue: &FusedEpilogue,
        large: &[f32],
        small: &mut [f32],
    ) -> Result<()> {
        let geometry = &plan.geometry;
        let threads = call.threads();
        let sums = geometry.window().saturating_mul(small.len());
        let work = sums / SUMS_PER_OPERATION;
        match &self.indirection {
            Indirection::Positions => {
                let (positions, channels) = (geometry.large.positions(), geometry.large.channels);
                let steps = geometry.large.strides();
                // Images follow each other as positions do, if their channels are last.
                let (images, rows) = match geometry.large.layout {
                    MemoryFormat::ChannelsLast => (1, positions * geometry.batch),
                    MemoryFormat::ChannelsFirst => (geometry.batch, positions),
                };
                let most = (FAR / channels).max(MANY_ROWS);
                let share = rows.div_ceil(threads).next_multiple_of(8).min(most);
                let (line, image) = (geometry.small.channels, rows * geometry.small.channels);
                for (index, small) in small.chunks_exact_mut(image).enumerate() {
                    let large = &large[index * rows * channels..];
                    let work = work / images;
                    for_each_chunk(threads, work, small, share * line, |index, out| {
                        let first = index * share * steps[1];
                        let addressing = Addressing::Strided([steps[1], steps[0]]);
                        self.multiply(plan, &large[first..], addressing, steps[0], out)?;
                        epilogue.round(1, out)
                    })?;
                }
                Ok(())
            }
            Indirection::Tables {
                lines,
                rows,
                columns,
                steps,
                copied,
            } => {
                let [depth, height, width] = geometry.small.sizes;
                let line = width * geometry.small.channels;
                let buffer = call.temporary::<f32>(copied.unwrap_or(0) * threads)?;
                let addressing = Addressing::Indirect { rows, columns };
                for (index, small) in small.chunks_exact_mut(height * line).enumerate() {
                    let image = &large[index / depth * geometry.large.len()..];
                    let image = &image[..geometry.large.len()];
                    let slice = index % depth;
                    let work = work / (geometry.batch * depth);
                    let block = |index: usize, out: &mut [f32], buffer: &mut [f32]| {
                        let first = index * lines;
                        let data = if copied.is_some() {
                            let count = out.len() / line;
                            copy_lines(geometry, image, slice, first..first + count, steps, buffer);
                            &*buffer
                        } else {
                            let start = slice * geometry.stride[0] * steps.axes[0]
                                + first * geometry.stride[1] * steps.axes[1];
                            &image[start..]
                        };
                        self.multiply(plan, data, addressing, steps.channel, out)?;
                        epilogue.round(1, out)
                    };
                    if copied.is_some() {
                        let len = lines * line;
                        for_each_chunk_with(threads, work, small, len, buffer, block)?;
                    } else {
                        for_each_chunk(threads, work, small, lines * line, |index, out| {
                            block(index, out, &mut [])
                        })?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Computes some positions of the result, whose windows are in `data`.
    fn multiply(
        &self,
        plan: &Plan,
        data: &[f32],
        addressing: Addressing<'_>,
        channel: usize,
        out: &mut [f32],
    ) -> Result<()> {
        let all = plan.geometry.small.channels;
        let [channels, outputs] = plan.geometry.channels_per_group();
        for (group, weights) in self.weights.iter().enumerate() {
            let left = Lhs {
                data: &data[group * channels * channel..],
                rows: out.len() / all,
                depth: weights.depth(),
                addressing,
            };
            let epilogue = Epilogue {
                limits: Some(plan.limits),
                ..Epilogue::new(1.0, Addend::Columns(&plan.added[group * outputs..]))
            };
            let out = &mut out[group * outputs..];
            weights.multiply_rows(out, all, left, epilogue, 1)?;
        }
        Ok(())
    }
}

impl Indirection {
    fn new(geometry: &Geometry) -> Option<Self> {
        if geometry.is_pointwise() {
            return Some(Self::Positions);
        }
        let [_, height, width] = geometry.small.sizes;
        let is_padded = geometry.is_padded();
        let line = extent(geometry, 2, width)?;
        let channels = geometry.large.channels;
        // Elements of the lines that a number of lines of the result look at.
        let needed = |lines: usize| {
            let rows = extent(geometry, 1, lines)?;
            let all = rows.checked_mul(line)?.checked_mul(channels)?;
            all.checked_mul(geometry.kernel[0])
        };
        let fits = |lines: usize| {
            let rows = lines.saturating_mul(width);
            needed(lines).is_some_and(|len| len <= NEAR || (len <= FAR && rows <= MANY_ROWS))
        };
        let mut lines = 1;
        while lines < height && fits(lines + 1) {
            lines += 1;
        }
        let copied = match is_padded {
            true => Some(needed(lines)?),
            false => None,
        };
        let sizes = match is_padded {
            true => [geometry.kernel[0], extent(geometry, 1, lines)?, line],
            false => geometry.large.sizes,
        };
        let steps = Steps::new(sizes, geometry.large.layout, channels)?;
        // All places have numbers in 32 bits, and so have sums of two.
        let len = copied.unwrap_or(geometry.large.len());
        u32::try_from(len).ok()?;
        let place = |axis: usize, index: usize, by: usize| index * by * steps.axes[axis];
        let rows = (0..lines * width).map(|at| {
            let [y, x] = [at / width, at % width];
            place(1, y, geometry.stride[1]) + place(2, x, geometry.stride[2])
        });
        let [_, ky, kx] = geometry.kernel;
        let [dz, dy, dx] = geometry.dilation;
        // The copy has only those slices that are looked at.
        let dz = if is_padded { 1 } else { dz };
        let [per_group, _] = geometry.channels_per_group();
        let columns = (0..geometry.taps()).flat_map(|tap| {
            let [z, y, x] = [tap / (ky * kx), tap / kx % ky, tap % kx];
            let at = place(0, z, dz) + place(1, y, dy) + place(2, x, dx);
            (0..per_group).map(move |channel| at + channel * steps.channel)
        });
        let number = |at: usize| u32::try_from(at).ok();
        Some(Self::Tables {
            lines,
            rows: rows.map(number).collect::<Option<_>>()?,
            columns: columns.map(number).collect::<Option<_>>()?,
            steps,
            copied,
        })
    }
}

impl Steps {
    fn new(sizes: [usize; 3], layout: MemoryFormat, channels: usize) -> Option<Self> {
        let [depth, height, width] = sizes;
        let (channel, x) = match layout {
            MemoryFormat::ChannelsLast => (1, channels),
            MemoryFormat::ChannelsFirst => (depth.checked_mul(height)?.checked_mul(width)?, 1),
        };
        let y = x.checked_mul(width)?;
        Some(Self {
            channel,
            axes: [y.checked_mul(height)?, y, x],
        })
    }
}

/// The extent along an axis of the windows of `count` neighbours, from the first position to the
/// last.
fn extent(geometry: &Geometry, axis: usize, count: usize) -> Option<usize> {
    let between = count.checked_sub(1)?.checked_mul(geometry.stride[axis])?;
    let window = (geometry.kernel[axis].checked_sub(1)?).checked_mul(geometry.dilation[axis])?;
    between.checked_add(window)?.checked_add(1)
}

/// Copies what the windows of some lines of the result look at, with zeros around it.
fn copy_lines(
    geometry: &Geometry,
    image: &[f32],
    slice: usize,
    lines: std::ops::Range<usize>,
    steps: &Steps,
    to: &mut [f32],
) {
    let [depth, height, width] = geometry.large.sizes;
    let from = Steps::new(
        [depth, height, width],
        geometry.large.layout,
        geometry.large.channels,
    );
    let (Some(from), Some(rows), Some(columns)) = (
        from,
        extent(geometry, 1, lines.len()),
        extent(geometry, 2, geometry.small.sizes[2]),
    ) else {
        return;
    };
    // With channels last, a position is all of its channels; with channels first, they are copied one
    // after another.
    let (unit, planes) = match geometry.large.layout {
        MemoryFormat::ChannelsLast => (geometry.large.channels, 1),
        MemoryFormat::ChannelsFirst => (1, geometry.large.channels),
    };
    let before = geometry.padding[2].min(columns);
    let there = width.min(columns - before);
    let within = |position: usize, axis: usize, size: usize| {
        position
            .checked_sub(geometry.padding[axis])
            .filter(|&position| position < size)
    };
    for plane in 0..planes {
        for tap in 0..geometry.kernel[0] {
            let z = slice * geometry.stride[0] + tap * geometry.dilation[0];
            let z = within(z, 0, depth);
            for row in 0..rows {
                let start = plane * steps.channel + tap * steps.axes[0] + row * steps.axes[1];
                let to = &mut to[start..start + columns * unit];
                let y = within(lines.start * geometry.stride[1] + row, 1, height);
                let (Some(z), Some(y)) = (z, y) else {
                    to.fill(0.0);
                    continue;
                };
                let start = plane * from.channel + z * from.axes[0] + y * from.axes[1];
                let (head, rest) = to.split_at_mut(before * unit);
                let (line, tail) = rest.split_at_mut(there * unit);
                head.fill(0.0);
                line.copy_from_slice(&image[start..start + there * unit]);
                tail.fill(0.0);
            }
        }
    }
}
