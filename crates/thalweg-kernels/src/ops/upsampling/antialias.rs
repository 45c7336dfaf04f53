//! Images made smaller without aliasing: a place is a mean of all pixels that it covers, the nearer
//! of greater weight. It is taken along rows first, then along columns.

use thalweg_core::{KernelCall, Result};

use super::{Target, order_of};
use crate::dtype::float::{Float, Real, compute_into, widened};
use crate::layout::order::{MemoryFormat, fill_in_order, laid_out};
use crate::parallel::for_each_chunk;

pub(super) fn bilinear<T: Float>(
    call: &KernelCall<'_>,
    target: &Target<'_>,
    out: usize,
) -> Result<()> {
    let align_corners = call.bool(2)?;
    let mut out = call.output(out, &target.sizes)?;
    let channels = order_of(&target.sizes, out.dim_order());
    let order = channels.dim_order(true, 2);
    let data = widened(call, laid_out::<T>(call, target.input, order)?)?;
    let rows = Weights::<T::Compute>::along(call, target, 0, align_corners)?;
    let columns = Weights::<T::Compute>::along(call, target, 1, align_corners)?;

    let lanes = match channels {
        MemoryFormat::ChannelsFirst => 1,
        MemoryFormat::ChannelsLast => target.sizes[1],
    };
    let [height, width] = [target.input.sizes()[2], target.input.sizes()[3]];
    let [line, out_line] = [width, target.sizes[3]].map(|width| width.saturating_mul(lanes));
    let out_height = target.sizes[2];
    if out.numel() == 0 {
        return Ok(());
    }
    let lines = data.len() / line;
    let narrow = call.temporary::<T::Compute>(lines.saturating_mul(out_line))?;
    let work = narrow.len().saturating_mul(columns.room);
    for_each_chunk(call.threads(), work, narrow, out_line, |index, out| {
        let line = &data[index * line..][..line];
        for (x, out) in out.chunks_exact_mut(lanes).enumerate() {
            let (start, weights) = columns.at(x);
            add_weighted(out, &line[start * lanes..], weights);
        }
        Ok(())
    })?;
    let narrow = &*narrow;
    let work = out.numel().saturating_mul(rows.room);
    fill_in_order::<T>(call, &mut out, order, |out| {
        compute_into(call, out, |out| {
            for_each_chunk(call.threads(), work, out, out_line, |index, out| {
                let image = &narrow[index / out_height * height * out_line..];
                let (start, weights) = rows.at(index % out_height);
                add_weighted(out, &image[start * out_line..], weights);
                Ok(())
            })
        })
    })
}

/// `out` becomes the sum of pieces of `data`, each as long as `out` and of a weight of its own.
fn add_weighted<R: Real>(out: &mut [R], data: &[R], weights: &[R]) {
    out.fill(num_traits::Zero::zero());
    for (data, &weight) in data.chunks_exact(out.len()).zip(weights) {
        for (out, &value) in out.iter_mut().zip(data) {
            *out += value * weight;
        }
    }
}

/// For each position of the output along an axis, the first position of the input that it covers,
/// and the weights of that one and those behind it.
struct Weights<'a, R> {
    starts: &'a [u64],
    counts: &'a [u64],
    weights: &'a [R],
    /// The largest number of weights that a position may have.
    room: usize,
}

impl<'a, R: Real> Weights<'a, R> {
    fn along(
        call: &'a KernelCall<'_>,
        target: &Target<'_>,
        axis: usize,
        align_corners: bool,
    ) -> Result<Self> {
        let (from, to) = (target.input.sizes()[2 + axis], target.sizes[2 + axis]);
        let one: R = num_traits::One::one();
        let half = R::of(0.5);
        let step = target.step::<R>(axis, align_corners);
        // The support of the triangle filter to each side, in positions of the input.
        let reach = step.max(one);
        let room = ((reach.double().ceil() as usize)
            .saturating_mul(2)
            .saturating_add(1))
        .min(from);
        let (starts, counts) = (call.temporary::<u64>(to)?, call.temporary::<u64>(to)?);
        let all = call.temporary::<R>(to.saturating_mul(room))?;
        let weights = all.chunks_exact_mut(room.max(1));
        for (index, ((start, count), weights)) in
            starts.iter_mut().zip(&mut *counts).zip(weights).enumerate()
        {
            let center = step * (R::of(index as f64) + half);
            let first = (center - reach + half).double() as usize;
            let end = ((center + reach + half).double() as usize).min(from);
            let first = first.min(end);
            let used = (end - first).min(room);
            let weights = &mut weights[..used];
            let mut total: R = num_traits::Zero::zero();
            for (at, weight) in weights.iter_mut().enumerate() {
                let distance = (R::of((first + at) as f64) - center + half) / reach;
                *weight = (one - distance.abs()).max(num_traits::Zero::zero());
                total += *weight;
            }
            if total > num_traits::Zero::zero() {
                weights
                    .iter_mut()
                    .for_each(|weight| *weight = *weight / total);
            }
            (*start, *count) = (first as u64, used as u64);
        }
        Ok(Self {
            starts,
            counts,
            weights: all,
            room,
        })
    }

    fn at(&self, index: usize) -> (usize, &[R]) {
        let weights = &self.weights[index * self.room..][..self.counts[index] as usize];
        (self.starts[index] as usize, weights)
    }
}
