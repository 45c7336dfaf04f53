//! Pooling in two dimensions: the largest element, or the mean, of each window.

#[cfg(test)]
mod tests;
mod window;

use thalweg_core::{
    Dims, Element, KernelCall, KernelRegistry, Result, bail, bf16, ensure, f16, numel,
};

use crate::dispatch::dispatch;
use crate::float::{Float, Real, compute_into, widened};
use crate::ordering::{ChannelOrder, fill_in_order, laid_out};
use crate::parallel::{for_each_chunk, for_each_chunk_of_two};
use window::{Axis, Images, Span};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.register(
        "aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], \
         int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, \
         Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
        |call| dispatch!(call.tensor(0)?.dtype(), real => T, { max_pool::<T>(call) }),
    )?;
    registry.register(
        "aten::max_pool2d_with_indices_backward.grad_input(Tensor grad_output, Tensor self, \
         int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, \
         Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { max_pool_backward::<T>(call) }),
    )?;
    registry.register(
        "aten::avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], \
         int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, \
         int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { avg_pool::<T>(call) }),
    )?;
    registry.register(
        "aten::_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { adaptive_avg_pool::<T>(call) }),
    )
}

/// What a window can have a largest element of.
trait Pooled: Element + PartialOrd {
    /// What is largest where there is nothing.
    const LOWEST: Self;

    #[inline(always)]
    fn replaces(self, best: Self) -> bool {
        // What is not a number is the largest, and of several the last.
        #[allow(
            clippy::eq_op,
            reason = "this is how generic elements are asked for it"
        )]
        let not_a_number = self != self;
        self > best || not_a_number
    }
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

fn max_pool<T: Pooled>(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let images = Images::of(input.sizes())?;
    let axes = Axis::read(call, images.sizes, 1, Some(4), call.bool(5)?)?;
    let sizes = images.with_sizes(input.sizes(), axes.map(|axis| axis.output))?;
    let (mut out, mut indices) = (call.output(6, &sizes)?, call.output(7, &sizes)?);
    let layout = Images::order_of(&sizes, out.dim_order());
    let order = Images::dim_order(&sizes, layout);
    let data = laid_out::<T>(call, input, order)?;
    let pool = MaxPool {
        images,
        axes,
        layout,
    };
    fill_in_order::<T>(call, &mut out, order, |out| {
        fill_in_order::<i64>(call, &mut indices, order, |indices| {
            pool.run(call.threads(), data, out, indices)
        })
    })
}

struct MaxPool {
    images: Images,
    axes: [Axis; 2],
    layout: ChannelOrder,
}

impl MaxPool {
    fn run<T: Pooled>(
        &self,
        threads: usize,
        data: &[T],
        out: &mut [T],
        indices: &mut [i64],
    ) -> Result<()> {
        let [height, width] = self.axes.map(|axis| axis.output);
        let work = out
            .len()
            .saturating_mul(self.axes[0].kernel * self.axes[1].kernel);
        let channels = self.images.channels;
        match self.layout {
            ChannelOrder::First => {
                let both = (out, indices);
                for_each_chunk_of_two(
                    threads,
                    work,
                    both,
                    height.saturating_mul(width),
                    |plane, out, indices| {
                        let size = self.images.positions();
                        self.plane(&data[plane * size..][..size], out, indices);
                        Ok(())
                    },
                )
            }
            ChannelOrder::Last => {
                let both = (out, indices);
                let line = width.saturating_mul(channels);
                for_each_chunk_of_two(threads, work, both, line, |index, out, indices| {
                    let size = self.images.positions().saturating_mul(channels);
                    let image = &data[index / height * size..][..size];
                    self.line(index % height, image, out, indices);
                    Ok(())
                })
            }
        }
    }

    /// One channel of one image.
    fn plane<T: Pooled>(&self, data: &[T], out: &mut [T], indices: &mut [i64]) {
        let [rows, columns] = self.axes;
        let width = self.images.sizes[1];
        let lines = out.chunks_exact_mut(columns.output);
        let index_lines = indices.chunks_exact_mut(columns.output);
        for (y, (out, indices)) in lines.zip(index_lines).enumerate() {
            let row = rows.taps(y);
            for (x, (out, index)) in out.iter_mut().zip(indices).enumerate() {
                let column = columns.taps(x);
                let (mut best, mut at) = (T::LOWEST, row.start * width + column.start);
                for y in row.indices() {
                    let mut x = column.start;
                    let line = &data[y * width..][..width];
                    while x < column.end {
                        let value = line[x];
                        let replaces = value.replaces(best);
                        best = if replaces { value } else { best };
                        at = if replaces { y * width + x } else { at };
                        x += column.step;
                    }
                }
                (*out, *index) = (best, at as i64);
            }
        }
    }

    /// One line of all channels.
    fn line<T: Pooled>(&self, y: usize, data: &[T], out: &mut [T], indices: &mut [i64]) {
        let width = self.images.sizes[1];
        let channels = self.images.channels;
        let row = self.axes[0].taps(y);
        let positions = out.chunks_exact_mut(channels);
        let index_positions = indices.chunks_exact_mut(channels);
        for (x, (out, indices)) in positions.zip(index_positions).enumerate() {
            let column = self.axes[1].taps(x);
            out.fill(T::LOWEST);
            indices.fill((row.start * width + column.start) as i64);
            for y in row.indices() {
                for x in column.indices() {
                    let at = y * width + x;
                    let values = &data[at * channels..][..channels];
                    for ((best, index), value) in out.iter_mut().zip(&mut *indices).zip(values) {
                        let replaces = value.replaces(*best);
                        *best = if replaces { *value } else { *best };
                        *index = if replaces { at as i64 } else { *index };
                    }
                }
            }
        }
    }
}

fn max_pool_backward<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let (gradient, input, indices) = (call.tensor(0)?, call.tensor(1)?, call.tensor(7)?);
    let images = Images::of(input.sizes())?;
    let size = images.positions();
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
    let order = Images::dim_order(sizes, ChannelOrder::First);
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

fn avg_pool<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let images = Images::of(call.tensor(0)?.sizes())?;
    let axes = Axis::read(call, images.sizes, 1, None, call.bool(4)?)?;
    let with_padding = call.bool(5)?;
    let divisor = call.optional_int(6)?;
    ensure!(
        divisor != Some(0),
        Operator,
        "a mean cannot be divided by 0"
    );
    let spans = |axis: usize, index: usize| {
        let mut span = axes[axis].span(index);
        if !with_padding {
            span.count = span.end.saturating_sub(span.start);
        }
        span
    };
    average::<T>(
        call,
        images,
        axes.map(|axis| axis.output),
        spans,
        divisor,
        7,
    )
}

fn adaptive_avg_pool<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let images = Images::of(call.tensor(0)?.sizes())?;
    let list = call.int_list(1)?;
    let size = |index: usize| {
        let value = list.get(index.min(list.len().saturating_sub(1)));
        value.and_then(|&value| usize::try_from(value).ok())
    };
    let (Some(height), Some(width), true) = (size(0), size(1), list.len() <= 2) else {
        bail!(Operator, "{list:?} is not the size of an image");
    };
    let output = [height, width];
    let spans = |axis: usize, index: usize| {
        // In 128 bits, nothing of this overflows.
        let (input, output, index) = (
            images.sizes[axis] as u128,
            output[axis] as u128,
            index as u128,
        );
        let start = (index * input / output) as usize;
        let end = ((index + 1) * input).div_ceil(output) as usize;
        let count = end - start;
        Span { start, end, count }
    };
    average::<T>(call, images, output, spans, None, 2)
}

/// The mean of each window, which `spans` gives by axis and output position.
fn average<T: Float>(
    call: &KernelCall<'_>,
    images: Images,
    output: [usize; 2],
    spans: impl Fn(usize, usize) -> Span + Sync,
    divisor: Option<i64>,
    out: usize,
) -> Result<()> {
    let input = call.tensor(0)?;
    let sizes: Dims = images.with_sizes(input.sizes(), output)?;
    let mut out = call.output(out, &sizes)?;
    let layout = Images::order_of(&sizes, out.dim_order());
    let order = Images::dim_order(&sizes, layout);
    let data = widened(call, laid_out::<T>(call, input, order)?)?;
    let [height, width] = output;
    let lanes = match layout {
        ChannelOrder::First => 1,
        ChannelOrder::Last => images.channels,
    };
    let size = images.positions().saturating_mul(lanes);
    let line = width.saturating_mul(lanes);
    let work = out.numel().saturating_add(data.len());
    fill_in_order::<T>(call, &mut out, order, |out| {
        compute_into(call, out, |out| {
            for_each_chunk(call.threads(), work, out, line, |index, out| {
                let image = &data[index / height * size..][..size];
                let row = spans(0, index % height);
                for (x, out) in out.chunks_exact_mut(lanes).enumerate() {
                    let column = spans(1, x);
                    let count = divisor.unwrap_or((row.count * column.count) as i64);
                    out.fill(num_traits::Zero::zero());
                    if row.start >= row.end || column.start >= column.end {
                        continue;
                    }
                    for y in row.start..row.end {
                        let from = (y * images.sizes[1] + column.start) * lanes;
                        let to = (y * images.sizes[1] + column.end) * lanes;
                        add_positions(out, &image[from..to]);
                    }
                    let count = T::Compute::of(count as f64);
                    out.iter_mut().for_each(|sum| *sum = *sum / count);
                }
                Ok(())
            })
        })
    })
}

/// Adds positions of as many channels as there are sums.
fn add_positions<R: Real>(sums: &mut [R], data: &[R]) {
    if let [sum] = sums {
        *sum += data.iter().copied().sum();
        return;
    }
    for data in data.chunks_exact(sums.len()) {
        sums.iter_mut().zip(data).for_each(|(sum, x)| *sum += *x);
    }
}
