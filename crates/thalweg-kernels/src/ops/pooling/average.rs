//! Average pooling: the mean of each window.

use thalweg_core::{DType, Dims, KernelCall, Result, ensure};

use super::window::{Axis, Span, Volumes};
use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Float, compute_into, widened};
use crate::layout::order::{MemoryFormat, fill_in_order, laid_out};
use crate::parallel::for_each_chunk;

pub(super) fn avg_pool(call: &KernelCall<'_>, spatial: usize) -> Result<()> {
    let volumes = Volumes::of(call.tensor(0)?.sizes(), spatial)?;
    let axes = Axis::read(call, &volumes, 1, None, call.bool(4)?)?;
    let with_padding = call.bool(5)?;
    let divisor = call.optional_int(6)?;
    ensure!(
        divisor != Some(0),
        Operator,
        "a mean cannot be divided by 0"
    );
    let mean = Mean {
        volumes,
        output: axes.map(|axis| axis.output),
        divisor,
        spans: |axis: usize, index: usize| {
            let mut span = axes[axis].span(index);
            if !with_padding {
                span.count = span.end.saturating_sub(span.start);
            }
            span
        },
    };
    match call.tensor(0)?.dtype() {
        DType::I64 => mean.write_integers(call, 7),
        dtype => dispatch!(dtype, float => T, { mean.write::<T>(call, 7) }),
    }
}

pub(super) fn adaptive_avg_pool<T: Float>(call: &KernelCall<'_>, spatial: usize) -> Result<()>
where
    T::Compute: Averaged,
{
    let volumes = Volumes::of(call.tensor(0)?.sizes(), spatial)?;
    let output = volumes.adaptive_sizes(call, 1)?;
    let mean = Mean {
        volumes,
        output,
        divisor: None,
        spans: volumes.adaptive(output),
    };
    mean.write::<T>(call, 2)
}

/// The mean of each window. `spans` gives the window by axis and output position.
struct Mean<W> {
    volumes: Volumes,
    output: [usize; 3],
    /// The divisor of sums, if it is not the number of positions.
    divisor: Option<i64>,
    spans: W,
}

impl<W: Fn(usize, usize) -> Span + Sync> Mean<W> {
    fn write<T: Float>(&self, call: &KernelCall<'_>, out: usize) -> Result<()>
    where
        T::Compute: Averaged,
    {
        let input = call.tensor(0)?;
        let mut out = call.output(out, &self.sizes(call)?)?;
        let layout = self.volumes.order_of(out.sizes(), out.dim_order());
        let order = self.volumes.dim_order(input.sizes(), layout);
        let data = widened(call, laid_out::<T>(call, input, order)?)?;
        fill_in_order::<T>(call, &mut out, order, |out| {
            compute_into(call, out, |out| self.run(call.threads(), layout, data, out))
        })
    }

    /// Means of integers, which are rounded towards 0.
    fn write_integers(&self, call: &KernelCall<'_>, out: usize) -> Result<()> {
        let input = call.tensor(0)?;
        let mut out = call.output(out, &self.sizes(call)?)?;
        let layout = self.volumes.order_of(out.sizes(), out.dim_order());
        let order = self.volumes.dim_order(input.sizes(), layout);
        let data = laid_out::<i64>(call, input, order)?;
        fill_in_order::<i64>(call, &mut out, order, |out| {
            self.run(call.threads(), layout, data, out)
        })
    }

    fn sizes(&self, call: &KernelCall<'_>) -> Result<Dims> {
        self.volumes
            .with_sizes(call.tensor(0)?.sizes(), self.output)
    }

    fn run<A: Averaged>(
        &self,
        threads: usize,
        layout: MemoryFormat,
        data: &[A],
        out: &mut [A],
    ) -> Result<()> {
        let [depth, height, width] = self.output;
        let lanes = match layout {
            MemoryFormat::ChannelsFirst => 1,
            MemoryFormat::ChannelsLast => self.volumes.channels,
        };
        let size = self.volumes.positions().saturating_mul(lanes);
        let line = width.saturating_mul(lanes);
        let work = out.len().saturating_add(data.len());
        for_each_chunk(threads, work, out, line, |index, out| {
            let data = &data[index / (depth * height) * size..][..size];
            let slice = (self.spans)(0, index / height % depth);
            let row = (self.spans)(1, index % height);
            self.line(lanes, slice, row, data, out);
            Ok(())
        })
    }

    /// Computes a line of one channel, or of all where they are neighbours in memory.
    fn line<A: Averaged>(&self, lanes: usize, slice: Span, row: Span, data: &[A], out: &mut [A]) {
        let [_, height, width] = self.volumes.sizes;
        for (x, out) in out.chunks_exact_mut(lanes).enumerate() {
            let column = (self.spans)(2, x);
            out.fill(A::ZERO);
            let spans = [slice, row, column];
            if spans.iter().any(|span| span.start >= span.end) {
                continue;
            }
            for z in slice.start..slice.end {
                for y in row.start..row.end {
                    let line = (z * height + y) * width;
                    let [from, to] = [column.start, column.end].map(|x| (line + x) * lanes);
                    add_positions(out, &data[from..to]);
                }
            }
            let count = || (slice.count * row.count * column.count) as i64;
            let count = self.divisor.unwrap_or_else(count);
            out.iter_mut().for_each(|sum| *sum = sum.divided(count));
        }
    }
}

/// A number of which means are taken.
pub(super) trait Averaged: Copy + Send + Sync {
    const ZERO: Self;

    fn plus(self, other: Self) -> Self;
    /// The quotient by a number that is not 0.
    fn divided(self, count: i64) -> Self;
}

macro_rules! averaged {
    ($($float:ty),*) => {
        $(impl Averaged for $float {
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn divided(self, count: i64) -> Self {
                self / count as Self
            }
        })*
    };
}

averaged!(f32, f64);

impl Averaged for i64 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn divided(self, count: i64) -> Self {
        self.wrapping_div(count)
    }
}

/// Adds positions of as many channels as there are sums.
fn add_positions<A: Averaged>(sums: &mut [A], data: &[A]) {
    if let [sum] = sums {
        *sum = sum.plus(data.iter().copied().fold(A::ZERO, A::plus));
        return;
    }
    for data in data.chunks_exact(sums.len()) {
        for (sum, &x) in sums.iter_mut().zip(data) {
            *sum = sum.plus(x);
        }
    }
}
