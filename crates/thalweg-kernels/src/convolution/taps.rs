//! Depthwise convolutions of f32 with channels last, whose groups have one channel each.
//!
//! A vector is some channels of one position. Several neighbouring positions are summed at a time, in
//! registers, tap by tap, so that a vector of weights is read once for all of them. At the borders,
//! taps that would lie beyond the image are left out.
#![allow(
    unsafe_code,
    reason = "vector instructions, and pointers in the innermost loop; `lines` checks both"
)]

use std::ops::Range;

use thalweg_core::{KernelCall, Result};

use super::finishing::Finishing;
use super::geometry::Geometry;
use super::planned::{ChannelsLast, Scaled};
#[cfg(target_arch = "aarch64")]
use crate::machine::float32x4_t;
#[cfg(target_arch = "x86_64")]
use crate::machine::{__m256, __m512};
use crate::machine::{Four, Machine, Vector};
use crate::parallel::for_each_chunk;

/// Channels of weights are filled up with zeros to a multiple of this, which is at least two vectors.
const ROOM: usize = 32;

pub(super) struct Taps {
    machine: Machine,
    /// For each tap, its weights by channel.
    weights: Vec<f32>,
    /// The distance of taps in `weights`.
    stride: usize,
    /// For each position of a line, the taps along it that lie within the image.
    columns: Vec<Range<usize>>,
}

impl Taps {
    pub(super) fn new(machine: Machine, geometry: &Geometry, weight: &Scaled) -> Self {
        let channels = geometry.small.channels;
        let stride = channels.next_multiple_of(ROOM);
        let mut weights = vec![0.0; stride * geometry.taps()];
        for (tap, weights) in weights.chunks_exact_mut(stride).enumerate() {
            for (channel, to) in weights[..channels].iter_mut().enumerate() {
                *to = weight.at(geometry, channel, 0, tap);
            }
        }
        let width = geometry.small.sizes[2];
        Self {
            machine,
            weights,
            stride,
            columns: (0..width).map(|x| geometry.taps_at(2, x)).collect(),
        }
    }

    pub(super) fn run(
        &self,
        call: &KernelCall<'_>,
        plan: &ChannelsLast,
        finishing: &Finishing,
        large: &[f32],
        small: &mut [f32],
    ) -> Result<()> {
        let geometry = &plan.geometry;
        let line = geometry.small.sizes[2] * geometry.small.channels;
        let lines = small.len() / line;
        let threads = call.threads();
        let share = if threads > 1 {
            lines.div_ceil(threads * 2)
        } else {
            lines
        };
        let work = small.len().saturating_mul(geometry.taps()) / 4;
        for_each_chunk(threads, work, small, share * line, |index, out| {
            self.lines(plan, large, index * share, out);
            finishing.round(1, out)
        })
    }

    /// Whole lines of the result, from the one with this number on, counted through all images.
    fn lines(&self, plan: &ChannelsLast, large: &[f32], first: usize, out: &mut [f32]) {
        let geometry = &plan.geometry;
        let [depth, height, width] = geometry.small.sizes;
        let channels = geometry.small.channels;
        assert!(self.machine.is_here() && self.columns.len() == width);
        assert!(geometry.large.channels == channels && plan.added().len() == channels);
        assert!(self.stride >= channels && self.stride.is_multiple_of(ROOM));
        assert!(self.weights.len() == self.stride * geometry.taps());
        let len = geometry.large.len();
        for (index, out) in out.chunks_exact_mut(width * channels).enumerate() {
            let index = first + index;
            let [z, y] = [index / height % depth, index % height];
            let image = &large[index / (depth * height) * len..][..len];
            let line = Line {
                geometry,
                image: image.as_ptr(),
                at: [z, y],
                taps: [geometry.taps_at(0, z), geometry.taps_at(1, y)],
                columns: &self.columns,
                weights: self.weights.as_ptr(),
                stride: self.stride,
                added: plan.added().as_ptr(),
                limits: plan.limits(),
                out: out.as_mut_ptr(),
            };
            // SAFETY: the machine has the instructions. The image, the weights of all taps, what is added
            // and the line are as large as the shapes say.
            unsafe {
                match self.machine {
                    #[cfg(target_arch = "x86_64")]
                    Machine::Avx512 => avx512(&line),
                    #[cfg(target_arch = "x86_64")]
                    Machine::Avx2 => avx2(&line),
                    #[cfg(target_arch = "aarch64")]
                    Machine::Neon => neon(&line),
                    Machine::Any => any(&line),
                }
            }
        }
    }
}

/// A line of the result, and all that it is computed from.
struct Line<'a> {
    geometry: &'a Geometry,
    image: *const f32,
    /// Slice and line.
    at: [usize; 2],
    /// The taps along these axes that lie within the image.
    taps: [Range<usize>; 2],
    columns: &'a [Range<usize>],
    weights: *const f32,
    stride: usize,
    added: *const f32,
    limits: [f32; 2],
    out: *mut f32,
}

/// All channels of a line, as many at a time as fit: pairs of vectors, one, or a shorter one `N`.
///
/// # Safety
/// What the line points to must be as large as its geometry says, and the machine have the
/// instructions.
#[inline(always)]
unsafe fn line<V: Vector, N: Vector>(line: &Line<'_>) {
    let channels = line.geometry.small.channels;
    let mut channel = 0;
    while channel < channels {
        let rest = channels - channel;
        // SAFETY: as this function is called; no more channels than there are.
        unsafe {
            if rest >= 2 * V::LANES {
                columns::<V, 2, 4, false>(line, channel, 2 * V::LANES);
                channel += 2 * V::LANES;
            } else if rest >= V::LANES {
                columns::<V, 1, 8, false>(line, channel, V::LANES);
                channel += V::LANES;
            } else if rest == N::LANES {
                columns::<N, 1, 8, false>(line, channel, rest);
                channel = channels;
            } else if rest < N::LANES {
                columns::<N, 1, 4, true>(line, channel, rest);
                channel = channels;
            } else {
                columns::<V, 1, 4, true>(line, channel, rest);
                channel = channels;
            }
        }
    }
}

/// Some channels of all positions of a line, `MANY` positions at a time.
#[inline(always)]
unsafe fn columns<V: Vector, const VECTORS: usize, const MANY: usize, const PART: bool>(
    line: &Line<'_>,
    channel: usize,
    count: usize,
) {
    let geometry = line.geometry;
    let (width, kernel) = (geometry.small.sizes[2], geometry.kernel[2]);
    let mut x = 0;
    while x < width {
        let taps = line.columns[x].clone();
        // If all taps lie within the image for a position and for one after it, then for those between
        // them, too.
        let all =
            taps == (0..kernel) && x + MANY <= width && line.columns[x + MANY - 1] == (0..kernel);
        // SAFETY: as this function is called.
        unsafe {
            if all {
                positions::<V, VECTORS, MANY, PART>(line, channel, count, x, taps);
                x += MANY;
            } else {
                positions::<V, VECTORS, 1, PART>(line, channel, count, x, taps);
                x += 1;
            }
        }
    }
}

/// Some channels of neighbouring positions, which have the same taps.
#[inline(always)]
unsafe fn positions<V: Vector, const VECTORS: usize, const COUNT: usize, const PART: bool>(
    line: &Line<'_>,
    channel: usize,
    count: usize,
    x: usize,
    columns: Range<usize>,
) {
    let geometry = line.geometry;
    let channels = geometry.small.channels;
    let [_, height, width] = geometry.large.sizes;
    let [_, ky, kx] = geometry.kernel;
    let [slices, rows] = &line.taps;
    // SAFETY: all taps that are visited lie within the image, for all positions.
    unsafe {
        let mut added = [V::splat(0.0); VECTORS];
        for (index, added) in added.iter_mut().enumerate() {
            *added = load::<V, PART>(line.added.add(channel + index * V::LANES), count);
        }
        let mut sums = [added; COUNT];
        // The place of a tap in the image is not negative, but that of the window may be.
        let place = |axis: usize, at: usize, tap: usize| {
            at * geometry.stride[axis] + tap * geometry.dilation[axis] - geometry.padding[axis]
        };
        let step = geometry.stride[2] * channels;
        let tap_step = geometry.dilation[2] * channels;
        for z in slices.clone() {
            for y in rows.clone() {
                if columns.is_empty() {
                    continue;
                }
                let at = (place(0, line.at[0], z) * height + place(1, line.at[1], y)) * width
                    + place(2, x, columns.start);
                let mut from = line.image.add(at * channels + channel);
                let tap = (z * ky + y) * kx + columns.start;
                let mut weights = line.weights.add(tap * line.stride + channel);
                for _ in columns.clone() {
                    let mut factors = [V::splat(0.0); VECTORS];
                    for (index, factor) in factors.iter_mut().enumerate() {
                        *factor = V::load(weights.add(index * V::LANES));
                    }
                    for (position, sums) in sums.iter_mut().enumerate() {
                        let from = from.add(position * step);
                        for (index, sum) in sums.iter_mut().enumerate() {
                            let x = load::<V, PART>(from.add(index * V::LANES), count);
                            *sum = x.mul_add(factors[index], *sum);
                        }
                    }
                    from = from.wrapping_add(tap_step);
                    weights = weights.wrapping_add(line.stride);
                }
            }
        }
        let limits = [V::splat(line.limits[0]), V::splat(line.limits[1])];
        for (position, sums) in sums.into_iter().enumerate() {
            let out = line.out.add((x + position) * channels + channel);
            for (index, sum) in sums.into_iter().enumerate() {
                let sum = sum.limited(limits[0], limits[1]);
                if PART {
                    sum.store_first(out, count);
                } else {
                    sum.store(out.add(index * V::LANES));
                }
            }
        }
    }
}

/// A vector, of which only the first `count` numbers may be there if it is a `PART`.
#[inline(always)]
unsafe fn load<V: Vector, const PART: bool>(from: *const f32, count: usize) -> V {
    // SAFETY: as this function is called.
    unsafe {
        if PART {
            V::load_first(from, count)
        } else {
            V::load(from)
        }
    }
}

/// [`line`] with vectors `$V` and shorter ones `$N`, where the machine has `$features`.
macro_rules! taps {
    ($(#[$feature:meta])* $name:ident, $V:ty, $N:ty) => {
        $(#[$feature])*
        unsafe fn $name(work: &Line<'_>) {
            // SAFETY: as this function is called.
            unsafe { line::<$V, $N>(work) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
taps!(
    #[target_feature(enable = "avx512f")]
    avx512,
    __m512,
    __m256
);
#[cfg(target_arch = "x86_64")]
taps!(
    #[target_feature(enable = "avx2,fma")]
    avx2,
    __m256,
    __m256
);
#[cfg(target_arch = "aarch64")]
taps!(
    #[target_feature(enable = "neon")]
    neon,
    float32x4_t,
    float32x4_t
);
taps!(any, Four, Four);
