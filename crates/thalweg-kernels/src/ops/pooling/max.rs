//! Max pooling: the largest element of each window, and its position.

use thalweg_core::{Element, KernelCall, Result, bail, bf16, ensure, f16, numel};

use super::window::{Axis, Taps, Volumes};
use crate::dtype::float::{Float, compute_into, widened};
use crate::layout::order::{MemoryFormat, fill_in_order, laid_out};
use crate::parallel::for_each_chunk_of_two;
use crate::simd::vectorized;

/// Channels whose largest elements are found at a time.
const LANES: usize = 8;

/// An element type of max pooling.
pub(super) trait Pooled: Element + PartialOrd {
    /// The largest element of an empty window.
    const LOWEST: Self;

    #[inline(always)]
    fn replaces(self, best: Self) -> bool {
        // NaN is the largest, and of several the last.
        #[allow(
            clippy::eq_op,
            reason = "this is how generic elements are asked for it"
        )]
        let not_a_number = self != self;
        self > best || not_a_number
    }
}

/// The position of an element, or nothing where it is not read.
trait Index: Copy + Send {
    fn at(position: usize) -> Self;
}

impl Index for i64 {
    #[inline(always)]
    fn at(position: usize) -> Self {
        position as i64
    }
}

impl Index for () {
    #[inline(always)]
    fn at(_: usize) -> Self {}
}

macro_rules! pooled {
    ($($T:ty: $lowest:expr),*) => {
        $(impl Pooled for $T {
            const LOWEST: Self = $lowest;
        })*
    };
}

pooled! {
    u8: 0, u16: 0, u32: 0, u64: 0,
    i8: i8::MIN, i16: i16::MIN, i32: i32::MIN, i64: i64::MIN,
    f16: f16::NEG_INFINITY, bf16: bf16::NEG_INFINITY,
    f32: f32::NEG_INFINITY, f64: f64::NEG_INFINITY
}

pub(super) fn max_pool<T: Pooled>(call: &KernelCall<'_>, spatial: usize) -> Result<()> {
    let volumes = Volumes::of(call.tensor(0)?.sizes(), spatial)?;
    let axes = Axis::read(call, &volumes, 1, Some(4), call.bool(5)?)?;
    let pool = MaxPool {
        volumes,
        output: axes.map(|axis| axis.output),
        window: axes.iter().map(|axis| axis.kernel).product(),
        taps: |axis: usize, index: usize| axes[axis].taps(index),
    };
    pool.write::<T>(call, 6)
}

pub(super) fn adaptive_max_pool<T: Pooled>(call: &KernelCall<'_>, spatial: usize) -> Result<()> {
    let volumes = Volumes::of(call.tensor(0)?.sizes(), spatial)?;
    let output = volumes.adaptive_sizes(call, 1)?;
    let windows = volumes.adaptive(output);
    let positions = output.into_iter().fold(1, usize::saturating_mul);
    let pool = MaxPool {
        volumes,
        output,
        window: volumes.positions() / positions.max(1) + 1,
        taps: |axis: usize, index: usize| windows(axis, index).into(),
    };
    pool.write::<T>(call, 2)
}

/// The largest of each window, and where it is. `taps` gives the window by axis and output
/// position.
struct MaxPool<W> {
    volumes: Volumes,
    output: [usize; 3],
    /// About as many positions as a window has.
    window: usize,
    taps: W,
}

impl<W: Fn(usize, usize) -> Taps + Sync> MaxPool<W> {
    fn write<T: Pooled>(&self, call: &KernelCall<'_>, position: usize) -> Result<()> {
        let input = call.tensor(0)?;
        let sizes = self.volumes.with_sizes(input.sizes(), self.output)?;
        let mut out = call.output(position, &sizes)?;
        let mut indices = call.output(position + 1, &sizes)?;
        if numel(&sizes)? == 0 {
            return Ok(());
        }
        let layout = self.volumes.order_of(&sizes, out.dim_order());
        let order = self.volumes.dim_order(&sizes, layout);
        let data = laid_out::<T>(call, input, order)?;
        fill_in_order::<T>(call, &mut out, order, |out| {
            if call.is_unused(position + 1) {
                // Memory for nothing is none.
                let mut indices = vec![(); out.len()];
                return self.run(call.threads(), layout, data, out, &mut indices);
            }
            fill_in_order::<i64>(call, &mut indices, order, |indices| {
                self.run(call.threads(), layout, data, out, indices)
            })
        })
    }

    fn run<T: Pooled, I: Index>(
        &self,
        threads: usize,
        layout: MemoryFormat,
        data: &[T],
        out: &mut [T],
        indices: &mut [I],
    ) -> Result<()> {
        let [depth, height, width] = self.output;
        let work = out.len().saturating_mul(self.window);
        let channels = self.volumes.channels;
        let both = (out, indices);
        match layout {
            MemoryFormat::ChannelsFirst => {
                let len = depth.saturating_mul(height).saturating_mul(width);
                for_each_chunk_of_two(threads, work, both, [len; 2], |volume, out, indices| {
                    let size = self.volumes.positions();
                    let data = &data[volume * size..][..size];
                    let slices = out.chunks_exact_mut(height * width);
                    let index_slices = indices.chunks_exact_mut(height * width);
                    for (z, (out, indices)) in slices.zip(index_slices).enumerate() {
                        self.plane((self.taps)(0, z), data, out, indices);
                    }
                    Ok(())
                })
            }
            MemoryFormat::ChannelsLast => {
                let line = width.saturating_mul(channels);
                for_each_chunk_of_two(threads, work, both, [line; 2], |index, out, indices| {
                    let size = self.volumes.positions().saturating_mul(channels);
                    let data = &data[index / (depth * height) * size..][..size];
                    let [z, y] = [index / height % depth, index % height];
                    let [slice, row] = [(self.taps)(0, z), (self.taps)(1, y)];
                    vectorized(
                        #[inline(always)]
                        || self.line(slice, row, data, out, indices),
                    );
                    Ok(())
                })
            }
        }
    }

    /// The first window along the last axis, and the distance of windows, if all windows there are as
    /// wide, and as far from each other.
    fn regular_columns(&self) -> Option<(Taps, usize)> {
        let columns = self.output[2];
        let taps = |x: usize| (self.taps)(2, x);
        let (first, last) = (taps(0), taps(columns.checked_sub(1)?));
        let stride = match columns {
            1 => 1,
            _ => taps(1).start.checked_sub(first.start)?,
        };
        let regular = |x: usize| {
            let taps = taps(x);
            taps.start == first.start + x * stride
                && taps.end - taps.start == first.end - first.start
                && taps.step == first.step
        };
        let fits = stride > 0
            && first.start <= first.end
            && last.end <= self.volumes.sizes[2]
            && (0..columns).all(regular);
        fits.then_some((first, stride))
    }

    /// Computes a line of a plane whose windows are regular: all windows at once, tap by tap.
    #[inline(always)]
    fn regular_line<T: Pooled, I: Index>(
        &self,
        [slice, row, column]: [Taps; 3],
        stride: usize,
        data: &[T],
        out: &mut [T],
        indices: &mut [I],
    ) {
        let [_, height, width] = self.volumes.sizes;
        let first = (slice.start * height + row.start) * width + column.start;
        out.fill(T::LOWEST);
        for (x, index) in indices.iter_mut().enumerate() {
            *index = I::at(first + x * stride);
        }
        for z in slice.indices() {
            for y in row.indices() {
                for x in column.indices() {
                    let start = (z * height + y) * width + x;
                    let line = &data[start..(z * height + y + 1) * width];
                    let update = |x: usize, best: &mut T, index: &mut I, value: T| {
                        let replaces = value.replaces(*best);
                        *best = if replaces { value } else { *best };
                        let at = I::at(start + x * stride);
                        *index = if replaces { at } else { *index };
                    };
                    let each = out.iter_mut().zip(&mut *indices).enumerate();
                    match stride {
                        1 => each.zip(line).for_each(|((x, (best, index)), value)| {
                            update(x, best, index, *value);
                        }),
                        2 => {
                            // In pairs, which can be loaded by vectors; the last may have no other
                            // half.
                            let (pairs, last) = line.as_chunks::<2>();
                            each.zip(pairs).for_each(|((x, (best, index)), pair)| {
                                update(x, best, index, pair[0]);
                            });
                            let x = pairs.len();
                            if let ([value], Some(best)) = (last, out.get_mut(x)) {
                                update(x, best, &mut indices[x], *value);
                            }
                        }
                        _ => {
                            let values = line.iter().step_by(stride);
                            each.zip(values).for_each(|((x, (best, index)), value)| {
                                update(x, best, index, *value);
                            });
                        }
                    }
                }
            }
        }
    }

    /// Computes one channel of one image, or of a slice of a volume.
    fn plane<T: Pooled, I: Index>(
        &self,
        slice: Taps,
        data: &[T],
        out: &mut [T],
        indices: &mut [I],
    ) {
        let [_, height, width] = self.volumes.sizes;
        let columns = self.output[2];
        let lines = out.chunks_exact_mut(columns);
        let index_lines = indices.chunks_exact_mut(columns);
        let regular = self.regular_columns();
        for (y, (out, indices)) in lines.zip(index_lines).enumerate() {
            let row = (self.taps)(1, y);
            if let Some((column, stride)) = regular {
                vectorized(
                    #[inline(always)]
                    || {
                        self.regular_line([slice, row, column], stride, data, out, indices);
                    },
                );
                continue;
            }
            for (x, (out, index)) in out.iter_mut().zip(indices).enumerate() {
                let column = (self.taps)(2, x);
                let first = (slice.start * height + row.start) * width + column.start;
                let (mut best, mut at) = (T::LOWEST, I::at(first));
                for z in slice.indices() {
                    for y in row.indices() {
                        let start = (z * height + y) * width;
                        let line = &data[start..][..width];
                        let mut x = column.start;
                        while x < column.end {
                            let value = line[x];
                            let replaces = value.replaces(best);
                            best = if replaces { value } else { best };
                            at = if replaces { I::at(start + x) } else { at };
                            x += column.step;
                        }
                    }
                }
                (*out, *index) = (best, at);
            }
        }
    }

    /// Computes a line of all channels.
    #[inline(always)]
    fn line<T: Pooled, I: Index>(
        &self,
        slice: Taps,
        row: Taps,
        data: &[T],
        out: &mut [T],
        indices: &mut [I],
    ) {
        let channels = self.volumes.channels;
        let positions = out.chunks_exact_mut(channels);
        let index_positions = indices.chunks_exact_mut(channels);
        for (x, (out, indices)) in positions.zip(index_positions).enumerate() {
            let taps = [slice, row, (self.taps)(2, x)];
            let (blocks, rest) = out.as_chunks_mut::<LANES>();
            let (index_blocks, index_rest) = indices.as_chunks_mut::<LANES>();
            let from = blocks.len() * LANES;
            for (block, (out, indices)) in blocks.iter_mut().zip(index_blocks).enumerate() {
                (*out, *indices) = self.largest(taps, &data[block * LANES..]);
            }
            for (index, (out, at)) in rest.iter_mut().zip(index_rest).enumerate() {
                ([*out], [*at]) = self.largest(taps, &data[from + index..]);
            }
        }
    }

    /// The largest of a window in some channels, the first of which `data` starts with.
    #[inline(always)]
    fn largest<T: Pooled, I: Index, const N: usize>(
        &self,
        [slice, row, column]: [Taps; 3],
        data: &[T],
    ) -> ([T; N], [I; N]) {
        let [_, height, width] = self.volumes.sizes;
        let channels = self.volumes.channels;
        let first = (slice.start * height + row.start) * width + column.start;
        let (mut best, mut at) = ([T::LOWEST; N], [I::at(first); N]);
        let mut z = slice.start;
        while z < slice.end {
            let mut y = row.start;
            while y < row.end {
                let mut x = column.start;
                while x < column.end {
                    let position = (z * height + y) * width + x;
                    let values = &data[position * channels..][..N];
                    for lane in 0..N {
                        let replaces = values[lane].replaces(best[lane]);
                        best[lane] = if replaces { values[lane] } else { best[lane] };
                        at[lane] = if replaces { I::at(position) } else { at[lane] };
                    }
                    x += column.step;
                }
                y += row.step;
            }
            z += slice.step;
        }
        (best, at)
    }
}

pub(super) fn max_pool_backward<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let (gradient, input, indices) = (call.tensor(0)?, call.tensor(1)?, call.tensor(7)?);
    let volumes = Volumes::of(input.sizes(), 2)?;
    let size = volumes.positions();
    let sizes = gradient.sizes();
    ensure!(
        sizes == indices.sizes()
            && sizes.len() == input.rank()
            && sizes[..sizes.len() - 2] == input.sizes()[..sizes.len() - 2],
        Operator,
        "a gradient of shape {sizes:?} and indices of shape {:?} do not fit an input of shape {:?}",
        indices.sizes(),
        input.sizes()
    );
    let pooled = numel(&sizes[sizes.len() - 2..])?;
    let order = volumes.dim_order(sizes, MemoryFormat::ChannelsFirst);
    let gradient = widened(call, laid_out::<T>(call, gradient, order)?)?;
    let indices = laid_out::<i64>(call, indices, order)?;
    let mut out = call.output(8, input.sizes())?;
    fill_in_order::<T>(call, &mut out, order, |out| {
        compute_into(call, out, |out| {
            out.fill(num_traits::Zero::zero());
            if pooled == 0 || size == 0 {
                return Ok(());
            }
            let planes = gradient
                .chunks_exact(pooled)
                .zip(indices.chunks_exact(pooled));
            for (out, (gradient, indices)) in out.chunks_exact_mut(size).zip(planes) {
                for (gradient, &index) in gradient.iter().zip(indices) {
                    match usize::try_from(index)
                        .ok()
                        .and_then(|index| out.get_mut(index))
                    {
                        Some(out) => *out += *gradient,
                        None => bail!(
                            OutOfBounds,
                            "index {index} is not within a plane of {size} elements"
                        ),
                    }
                }
            }
            Ok(())
        })
    })
}
