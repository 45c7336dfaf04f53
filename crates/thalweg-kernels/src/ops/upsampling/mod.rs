//! Resized images: the nearest pixel, the mean of the four around a place, or of all that a
//! place covers.

mod antialias;
#[cfg(test)]
mod tests;

use thalweg_core::{Dims, Element, KernelCall, KernelRegistry, Result, TensorView, bail, ensure};

use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Float, Real, compute_into, widened};
use crate::layout::dims::sizes_from;
use crate::layout::order::{MemoryFormat, fill_in_order, laid_out};
use crate::operator::pure;
use crate::parallel::for_each_chunk;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::upsample_nearest2d.out(Tensor self, SymInt[2] output_size, \
         float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) -> Tensor(a!)",
        |call| nearest(call, Target::sized(call, 1, [2, 3])?, 4),
    )?);
    registry.add(pure(
        "aten::upsample_nearest2d.vec_out(Tensor input, SymInt[]? output_size, \
         float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)",
        |call| nearest(call, Target::scaled(call, 1, 2)?, 3),
    )?);
    registry.add(pure(
        "aten::upsample_bilinear2d.out(Tensor self, SymInt[2] output_size, \
         bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| bilinear(call, Target::sized(call, 1, [3, 4])?, 5),
    )?);
    registry.add(pure(
        "aten::upsample_bilinear2d.vec_out(Tensor input, SymInt[]? output_size, \
         bool align_corners, float[]? scale_factors, *, Tensor(a!) out) -> Tensor(a!)",
        |call| bilinear(call, Target::scaled(call, 1, 3)?, 4),
    )?);
    registry.add(pure(
        "aten::_upsample_bilinear2d_aa.out(Tensor self, SymInt[2] output_size, \
         bool align_corners, float? scales_h=None, float? scales_w=None, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| {
            let target = Target::sized(call, 1, [3, 4])?;
            dispatch!(target.input.dtype(), float => T, {
                antialias::bilinear::<T>(call, &target, 5)
            })
        },
    )?);
    Ok(())
}

/// The size of the result, and the factors that the program gives for it, if any.
struct Target<'a> {
    input: TensorView<'a>,
    sizes: Dims,
    factors: [Option<f64>; 2],
}

impl<'a> Target<'a> {
    fn sized(call: &'a KernelCall<'_>, size: usize, factors: [usize; 2]) -> Result<Self> {
        let [height, width] = factors;
        let factors = [call.optional_double(height)?, call.optional_double(width)?];
        Self::new(call.tensor(0)?, &sizes_from(call.int_list(size)?)?, factors)
    }

    /// Either a size is given or factors are.
    fn scaled(call: &'a KernelCall<'_>, size: usize, factors: usize) -> Result<Self> {
        let input = call.tensor(0)?;
        let factors = match call.optional_double_list(factors)? {
            None => [None; 2],
            Some(&[height, width]) => [Some(height), Some(width)],
            Some(other) => bail!(InvalidInput, "{other:?} are not factors for an image"),
        };
        let sizes = match (call.optional_int_list(size)?, factors, input.sizes()) {
            (Some(sizes), ..) => sizes_from(sizes)?,
            (None, [Some(by_height), Some(by_width)], &[_, _, height, width]) => {
                let sizes = [height as f64 * by_height, width as f64 * by_width];
                sizes_from(&sizes.map(|size| size as i64))?
            }
            _ => bail!(InvalidInput, "neither a size nor factors are given"),
        };
        Self::new(input, &sizes, factors)
    }

    fn new(input: TensorView<'a>, size: &[usize], factors: [Option<f64>; 2]) -> Result<Self> {
        let (&[batch, channels, height, width], &[to_height, to_width]) = (input.sizes(), size)
        else {
            bail!(
                InvalidInput,
                "a tensor of shape {:?} does not become images of size {size:?}",
                input.sizes()
            );
        };
        ensure!(
            (height > 0 && width > 0 && to_height > 0 && to_width > 0)
                || batch == 0
                || channels == 0,
            InvalidInput,
            "images of {height} by {width} do not become images of size {size:?}"
        );
        Ok(Self {
            input,
            sizes: Dims::from_slice(&[batch, channels, to_height, to_width])?,
            factors,
        })
    }

    /// The step of the input for one step of the output, along height or width.
    fn step<R: Real>(&self, axis: usize, align_corners: bool) -> R {
        let (from, to) = (self.input.sizes()[2 + axis], self.sizes[2 + axis]);
        let number = |size: usize| R::of(size as f64);
        match self.factors[axis] {
            _ if align_corners && to > 1 => number(from.saturating_sub(1)) / number(to - 1),
            _ if align_corners => R::zero(),
            Some(factor) if factor > 0.0 => R::of(1.0 / factor),
            _ => number(from) / number(to),
        }
    }

    /// Calls `row` with each row of the output, the image or plane of the input that it belongs
    /// to, its number, and how many neighbours in memory are of one position.
    fn rows<T: Element, O: Send>(
        &self,
        threads: usize,
        channels: MemoryFormat,
        data: &[T],
        out: &mut [O],
        row: impl Fn(&[T], usize, usize, &mut [O]) + Sync,
    ) -> Result<()> {
        let lanes = match channels {
            MemoryFormat::ChannelsFirst => 1,
            MemoryFormat::ChannelsLast => self.sizes[1],
        };
        let (height, len) = (self.sizes[2], self.sizes[3].saturating_mul(lanes));
        let image = self.input.sizes()[2..].iter().product::<usize>() * lanes;
        let work = out.len().saturating_mul(8);
        for_each_chunk(threads, work, out, len, |index, out| {
            row(
                &data[index / height * image..][..image],
                index % height,
                lanes,
                out,
            );
            Ok(())
        })
    }
}

/// The order to compute an output in: channels last if it is that, else channels first.
fn order_of(sizes: &[usize], dim_order: &[u8]) -> MemoryFormat {
    MemoryFormat::of(sizes, dim_order, true, MemoryFormat::ChannelsFirst)
        .unwrap_or(MemoryFormat::ChannelsFirst)
}

fn nearest(call: &KernelCall<'_>, target: Target<'_>, out: usize) -> Result<()> {
    let mut out = call.output(out, &target.sizes)?;
    let channels = order_of(&target.sizes, out.dim_order());
    let order = channels.dim_order(true, 2);
    let [height, width] = [target.input.sizes()[2], target.input.sizes()[3]];
    let places = |axis: usize, size: usize| -> Result<&mut [u64]> {
        let places = call.temporary::<u64>(target.sizes[2 + axis])?;
        let (single, double) = (
            target.step::<f32>(axis, false),
            target.step::<f64>(axis, false),
        );
        for (index, place) in places.iter_mut().enumerate() {
            let at = match target.input.dtype().size() {
                8 => (index as f64 * double).floor() as u64,
                _ => (index as f32 * single).floor() as u64,
            };
            *place = at.min(size.saturating_sub(1) as u64);
        }
        Ok(places)
    };
    let (rows, columns) = (&*places(0, height)?, &*places(1, width)?);
    dispatch!(target.input.dtype(), real => T, {
        let data = laid_out::<T>(call, target.input, order)?;
        fill_in_order::<T>(call, &mut out, order, |out| {
            target.rows(call.threads(), channels, data, out, |image, y, lanes, out| {
                let line = &image[rows[y] as usize * width * lanes..][..width * lanes];
                if lanes == 1 {
                    for (out, &x) in out.iter_mut().zip(columns) {
                        *out = line[x as usize];
                    }
                    return;
                }
                for (out, &x) in out.chunks_exact_mut(lanes).zip(columns) {
                    out.copy_from_slice(&line[x as usize * lanes..][..lanes]);
                }
            })
        })
    })
}

fn bilinear(call: &KernelCall<'_>, target: Target<'_>, out: usize) -> Result<()> {
    dispatch!(target.input.dtype(), float => T, { bilinear_of::<T>(call, &target, out) })
}

fn bilinear_of<T: Float>(call: &KernelCall<'_>, target: &Target<'_>, out: usize) -> Result<()> {
    let align_corners = call.bool(2)?;
    let mut out = call.output(out, &target.sizes)?;
    let channels = order_of(&target.sizes, out.dim_order());
    let order = channels.dim_order(true, 2);
    let data = widened(call, laid_out::<T>(call, target.input, order)?)?;
    let [height, width] = [target.input.sizes()[2], target.input.sizes()[3]];
    let rows = blends::<T::Compute>(call, target, 0, align_corners)?;
    let columns = blends::<T::Compute>(call, target, 1, align_corners)?;
    let one: T::Compute = num_traits::One::one();
    fill_in_order::<T>(call, &mut out, order, |out| {
        compute_into(call, out, |out| {
            target.rows(
                call.threads(),
                channels,
                data,
                out,
                |image, y, lanes, out| {
                    let (first, share) = (rows.0[y] as usize, rows.1[y]);
                    let second = (first + 1).min(height - 1);
                    let line = |y: usize| &image[y * width * lanes..][..width * lanes];
                    let (above, below) = (line(first), line(second));
                    let places = columns.0.iter().zip(columns.1);
                    for (out, (&x, &right)) in out.chunks_exact_mut(lanes).zip(places) {
                        let x = x as usize;
                        let [a, b] = [x * lanes, (x + 1).min(width - 1) * lanes];
                        for (lane, out) in out.iter_mut().enumerate() {
                            let mix = |line: &[T::Compute]| {
                                line[a + lane] * (one - right) + line[b + lane] * right
                            };
                            *out = mix(above) * (one - share) + mix(below) * share;
                        }
                    }
                },
            )
        })
    })
}

/// For each position of the output along an axis, the position of the input before it, and the
/// share of the one behind.
fn blends<'a, R: Real>(
    call: &'a KernelCall<'_>,
    target: &Target<'_>,
    axis: usize,
    align_corners: bool,
) -> Result<(&'a [u64], &'a [R])> {
    let (from, to) = (target.input.sizes()[2 + axis], target.sizes[2 + axis]);
    let (places, shares) = (call.temporary::<u64>(to)?, call.temporary::<R>(to)?);
    let step = target.step::<R>(axis, align_corners);
    let half = R::of(0.5);
    for (index, (place, share)) in places.iter_mut().zip(&mut *shares).enumerate() {
        let index = R::of(index as f64);
        let at = if align_corners {
            step * index
        } else {
            (step * (index + half) - half).max(R::zero())
        };
        let before = (at.double() as usize).min(from.saturating_sub(1));
        *place = before as u64;
        *share = (at - R::of(before as f64))
            .max(R::zero())
            .min(num_traits::One::one());
    }
    Ok((places, shares))
}
