//! Grid sampling of images and volumes: a grid says, for each position of the output, at which
//! place of the input, with -1 and 1 for the edges.

#[cfg(test)]
mod tests;

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, bail, ensure, identity_order};

use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Float, Real, compute_into, widened};
use crate::layout::order::{MemoryFormat, fill_in_order, laid_out};
use crate::operator::pure;
use crate::parallel::for_each_chunk;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::grid_sampler_2d.out(Tensor input, Tensor grid, int interpolation_mode, \
         int padding_mode, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { grid_sampler::<T>(call, 2) }),
    )?);
    registry.add(pure(
        "aten::grid_sampler_3d.out(Tensor input, Tensor grid, int interpolation_mode, \
         int padding_mode, bool align_corners, *, Tensor(a!) out) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { grid_sampler::<T>(call, 3) }),
    )?);
    Ok(())
}

fn grid_sampler<T: Float>(call: &KernelCall<'_>, spatial: usize) -> Result<()> {
    let (input, grid) = (call.tensor(0)?, call.tensor(1)?);
    let (shape, places) = (input.sizes(), grid.sizes());
    let fits = shape.len() == spatial + 2
        && places.len() == spatial + 2
        && places[0] == shape[0]
        && places[spatial + 1] == spatial
        && grid.dtype() == input.dtype();
    ensure!(
        fits,
        Operator,
        "{grid:?} is no grid over {input:?} in {spatial} dimensions"
    );
    let (batch, count) = (shape[0], shape[1]);
    let view = View::new(call, &shape[2..])?;
    ensure!(
        view.positions() > 0,
        Operator,
        "there is nothing to look at in {input:?}"
    );
    let mut sizes = Dims::from_slice(&shape[..2])?;
    for &size in &places[1..=spatial] {
        sizes.push(size)?;
    }
    let positions = thalweg_core::numel(&sizes[2..])?;
    let mut out = call.output(5, &sizes)?;
    if out.numel() == 0 {
        return Ok(());
    }
    let channels = MemoryFormat::of(&sizes, out.dim_order(), true, MemoryFormat::ChannelsFirst);
    let channels = channels.unwrap_or(MemoryFormat::ChannelsFirst);
    let order = channels.dim_order(true, spatial);
    let data = widened(call, laid_out::<T>(call, input, order)?)?;
    let grid = widened(
        call,
        laid_out::<T>(call, grid, identity_order(spatial + 2)?)?,
    )?;
    let taps = view.taps_per_position();
    let offsets = call.temporary::<u64>(positions.saturating_mul(taps))?;
    let weights = call.temporary::<T::Compute>(positions.saturating_mul(taps))?;
    let image = count.saturating_mul(view.positions());
    fill_in_order::<T>(call, &mut out, order, |out| {
        compute_into(call, out, |out| {
            for n in 0..batch {
                let places = grid[n * positions * spatial..].chunks_exact(spatial);
                let tables = offsets.chunks_exact_mut(taps);
                for ((place, offsets), weights) in
                    places.zip(tables).zip(weights.chunks_exact_mut(taps))
                {
                    view.look::<T>(place, offsets, weights);
                }
                let seen = Seen {
                    taps,
                    offsets,
                    weights,
                };
                let data = &data[n * image..][..image];
                let out = &mut out[n * count * positions..][..count * positions];
                seen.write(call.threads(), channels, count, data, out)?;
            }
            Ok(())
        })
    })
}

/// The interpolation between positions of the input.
struct View {
    /// Depth, height and width; an image has a depth of 1.
    sizes: [usize; 3],
    spatial: usize,
    interpolation: Interpolation,
    edge: Edge,
    align_corners: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Interpolation {
    Linear,
    Nearest,
    Cubic,
}

/// The padding beyond the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Zeros,
    Repeated,
    Reflected,
}

/// The entry in a table of offsets for a place that is not in the input.
const OUTSIDE: u64 = u64::MAX;

impl View {
    fn new(call: &KernelCall<'_>, sizes: &[usize]) -> Result<Self> {
        let spatial = sizes.len();
        let interpolation = match call.int(2)? {
            0 => Interpolation::Linear,
            1 => Interpolation::Nearest,
            2 if spatial == 2 => Interpolation::Cubic,
            other => bail!(
                Operator,
                "there is no interpolation mode {other} in {spatial} dimensions"
            ),
        };
        let edge = match call.int(3)? {
            0 => Edge::Zeros,
            1 => Edge::Repeated,
            2 => Edge::Reflected,
            other => bail!(Operator, "there is no padding mode {other}"),
        };
        let mut view = Self {
            sizes: [1; 3],
            spatial,
            interpolation,
            edge,
            align_corners: call.bool(4)?,
        };
        view.sizes[3 - spatial..].copy_from_slice(sizes);
        Ok(view)
    }

    fn positions(&self) -> usize {
        self.sizes.into_iter().fold(1, usize::saturating_mul)
    }

    fn taps_per_axis(&self) -> usize {
        match self.interpolation {
            Interpolation::Linear => 2,
            Interpolation::Nearest => 1,
            Interpolation::Cubic => 4,
        }
    }

    fn taps_per_position(&self) -> usize {
        self.taps_per_axis().pow(self.spatial as u32)
    }

    /// The positions of the input that one place is made of, and their weights. The numbers of a
    /// place begin with the innermost dimension.
    fn look<T: Float>(
        &self,
        place: &[T::Compute],
        offsets: &mut [u64],
        weights: &mut [T::Compute],
    ) {
        let mut axes = [[(Some(0), num_traits::One::one()); 4]; 3];
        for (index, &coordinate) in place.iter().enumerate() {
            axes[2 - index] = self.along::<T>(2 - index, coordinate);
        }
        let [_, height, width] = self.sizes;
        let taps = self.taps_per_axis();
        let slices = if self.spatial == 3 { taps } else { 1 };
        let mut entries = offsets.iter_mut().zip(weights);
        for (z, by_z) in &axes[0][..slices] {
            for (y, by_y) in &axes[1][..taps] {
                for ((x, by_x), (offset, weight)) in axes[2][..taps].iter().zip(&mut entries) {
                    *weight = *by_z * *by_y * *by_x;
                    *offset = match (z, y, x) {
                        (Some(z), Some(y), Some(x)) => ((z * height + y) * width + x) as u64,
                        _ => OUTSIDE,
                    };
                    // PyTorch leaves out what is beyond a volume, but counts as 0 what is beyond
                    // an image: that differs where a weight is not a number.
                    if *offset == OUTSIDE && self.spatial == 3 {
                        *weight = num_traits::Zero::zero();
                    }
                }
            }
        }
    }

    /// The positions along one axis that are looked at, and their weights.
    fn along<T: Float>(
        &self,
        axis: usize,
        coordinate: T::Compute,
    ) -> [(Option<usize>, T::Compute); 4] {
        let one: T::Compute = num_traits::One::one();
        let none = (None, num_traits::Zero::zero());
        let size = self.sizes[axis];
        let at = self.unnormalized::<T>(size, coordinate);
        let found = |at: T::Compute| {
            let within = at >= num_traits::Zero::zero() && at < Real::of(size as f64);
            within.then(|| at.double() as usize)
        };
        match self.interpolation {
            Interpolation::Linear => {
                let at = self.within(size, at);
                let first = num_traits::Float::floor(at);
                let second = first + one;
                let shares = [second - at, at - first];
                [
                    (found(first), shares[0]),
                    (found(second), shares[1]),
                    none,
                    none,
                ]
            }
            Interpolation::Nearest => {
                // Halves go to the even neighbour.
                let at = Real::of(self.within(size, at).double().round_ties_even());
                [(found(at), one), none, none, none]
            }
            Interpolation::Cubic => {
                let first = num_traits::Float::floor(at);
                let shares = cubic::<T>(at - first);
                std::array::from_fn(|tap| {
                    let at = first + Real::of(tap as f64 - 1.0);
                    (found(self.within(size, at)), shares[tap])
                })
            }
        }
    }

    /// Maps -1 to 1 to positions of the input. In steps that are each rounded to the element type,
    /// as in PyTorch: a place in the middle of two positions is to be the same here.
    fn unnormalized<T: Float>(&self, size: usize, coordinate: T::Compute) -> T::Compute {
        let number = |x: f64| T::Compute::of(x);
        let from_edge = rounded::<T>(coordinate + number(1.0));
        if self.align_corners {
            rounded::<T>(from_edge * number((size as f64 - 1.0) / 2.0))
        } else {
            let at = rounded::<T>(from_edge * number(size as f64 / 2.0));
            rounded::<T>(at - number(0.5))
        }
    }

    /// A position, moved into the input if the edge says how.
    fn within<R: Real>(&self, size: usize, at: R) -> R {
        let last = R::of(size as f64 - 1.0);
        let at = match self.edge {
            Edge::Zeros => return at,
            Edge::Repeated => at,
            Edge::Reflected if self.align_corners => reflected(at, num_traits::Zero::zero(), last),
            Edge::Reflected => reflected(at, R::of(-0.5), last + R::of(1.0)),
        };
        if at.is_nan() {
            // As PyTorch has it, which differs between images and volumes.
            return if self.spatial == 3 {
                last
            } else {
                num_traits::Zero::zero()
            };
        }
        at.max(num_traits::Zero::zero()).min(last)
    }
}

/// A position between `low` and `low + span`, reached by turning around at both.
fn reflected<R: Real>(at: R, low: R, span: R) -> R {
    if span <= num_traits::Zero::zero() {
        return num_traits::Zero::zero();
    }
    let distance = (at - low).abs();
    let (turns, rest) = ((distance / span).floor(), distance % span);
    if turns % R::of(2.0) == num_traits::Zero::zero() {
        rest + low
    } else {
        span - rest + low
    }
}

/// The weights of the four neighbours of a place, as far as `share` from the second to the third.
/// Rounded at each step, as places are.
fn cubic<T: Float>(share: T::Compute) -> [T::Compute; 4] {
    const A: f64 = -0.75;
    let number = |x: f64| T::Compute::of(x);
    // `(first x + second) x ...`, coefficient by coefficient.
    let polynomial = |x: T::Compute, coefficients: [f64; 4]| {
        let [first, rest @ ..] = coefficients.map(number);
        rest.into_iter().fold(first, |sum, next| {
            rounded::<T>(rounded::<T>(sum * x) + next)
        })
    };
    let near = |x| polynomial(x, [A + 2.0, -(A + 3.0), 0.0, 1.0]);
    let far = |x| polynomial(x, [A, -5.0 * A, 8.0 * A, -4.0 * A]);
    let [before, after] = [share, number(1.0) - share];
    let beyond = |x: T::Compute| far(rounded::<T>(x + number(1.0)));
    [beyond(before), near(before), near(after), beyond(after)]
}

/// A number as it is in the element type.
fn rounded<T: Float>(x: T::Compute) -> T::Compute {
    T::narrow(x).widen()
}

/// The samples of one image of the input, position by position of the output.
struct Seen<'a, R> {
    taps: usize,
    offsets: &'a [u64],
    weights: &'a [R],
}

impl<R: Real> Seen<'_, R> {
    fn write(
        &self,
        threads: usize,
        order: MemoryFormat,
        channels: usize,
        data: &[R],
        out: &mut [R],
    ) -> Result<()> {
        let work = out.len().saturating_mul(self.taps);
        let tables = || {
            let offsets = self.offsets.chunks_exact(self.taps);
            offsets.zip(self.weights.chunks_exact(self.taps))
        };
        match order {
            MemoryFormat::ChannelsFirst => {
                let (len, plane) = (out.len() / channels, data.len() / channels);
                for_each_chunk(threads, work, out, len, |channel, out| {
                    let data = &data[channel * plane..][..plane];
                    for (out, (offsets, weights)) in out.iter_mut().zip(tables()) {
                        let taps = offsets.iter().zip(weights);
                        *out = taps.fold(num_traits::Zero::zero(), |sum, (&offset, &weight)| {
                            let value = data.get(offset as usize).copied();
                            sum + value.unwrap_or(num_traits::Zero::zero()) * weight
                        });
                    }
                    Ok(())
                })
            }
            MemoryFormat::ChannelsLast => {
                for_each_chunk(threads, work, out, channels, |at, out| {
                    out.fill(num_traits::Zero::zero());
                    let range = at * self.taps..(at + 1) * self.taps;
                    let taps = self.offsets[range.clone()].iter().zip(&self.weights[range]);
                    for (&offset, &weight) in taps {
                        if offset == OUTSIDE {
                            let nothing = weight * num_traits::Zero::zero();
                            out.iter_mut().for_each(|out| *out += nothing);
                            continue;
                        }
                        let values = &data[offset as usize * channels..][..channels];
                        for (out, &value) in out.iter_mut().zip(values) {
                            *out += value * weight;
                        }
                    }
                    Ok(())
                })
            }
        }
    }
}
