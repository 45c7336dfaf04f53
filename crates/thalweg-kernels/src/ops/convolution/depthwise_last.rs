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

use super::epilogue::FusedEpilogue;
use super::geometry::Geometry;
use super::plan::{Plan, Scaled};
use crate::parallel::for_each_chunk;
#[cfg(target_arch = "aarch64")]
use crate::simd::float32x4_t;
#[cfg(target_arch = "x86_64")]
use crate::simd::{__m256, __m512, Half};
use crate::simd::{Four, Isa, Vector};

/// Channels of weights are filled up with zeros to a multiple of this, which is at least a vector.
const ROOM: usize = 32;

pub(super) struct Depthwise {
    isa: Isa,
    /// For each tap, its weights by channel.
    weights: Vec<f32>,
    /// The distance of taps in `weights`.
    stride: usize,
    /// For each position of a line, the taps along it that lie within the image.
    columns: Vec<Range<usize>>,
    /// The positions of which all taps do.
    whole: Range<usize>,
}

impl Depthwise {
    pub(super) fn new(isa: Isa, geometry: &Geometry, weight: &Scaled) -> Self {
        let channels = geometry.small.channels;
        let stride = channels.next_multiple_of(ROOM);
        let mut weights = vec![0.0; stride * geometry.taps()];
        for (tap, weights) in weights.chunks_exact_mut(stride).enumerate() {
            for (channel, to) in weights[..channels].iter_mut().enumerate() {
                *to = weight.at(geometry, channel, 0, tap);
            }
        }
        let width = geometry.small.sizes[2];
        let columns: Vec<_> = (0..width).map(|x| geometry.taps_at(2, x)).collect();
        let is_whole = |taps: &Range<usize>| *taps == (0..geometry.kernel[2]);
        let before = columns.iter().take_while(|taps| !is_whole(taps)).count();
        let within = columns[before..].iter().take_while(|taps| is_whole(taps));
        let whole = before..before + within.count();
        Self {
            isa,
            weights,
            stride,
            columns,
            whole,
        }
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
            epilogue.round(1, out)
        })
    }

    /// Computes whole lines of the result, from line `first` on, counted through all images.
    fn lines(&self, plan: &Plan, large: &[f32], first: usize, out: &mut [f32]) {
        let geometry = &plan.geometry;
        let [depth, lines, columns] = geometry.small.sizes;
        let channels = geometry.small.channels;
        assert!(self.isa.is_available() && self.columns.len() == columns);
        assert!(geometry.large.channels == channels && plan.added.len() == channels);
        assert!(self.stride >= channels && self.stride.is_multiple_of(ROOM));
        assert!(self.weights.len() == self.stride * geometry.taps());
        let len = geometry.large.len();
        for (index, out) in out.chunks_exact_mut(columns * channels).enumerate() {
            let index = first + index;
            let [z, y] = [index / lines % depth, index % lines];
            let image = &large[index / (depth * lines) * len..][..len];
            let [slices, rows] = [geometry.taps_at(0, z), geometry.taps_at(1, y)];
            // The first tap that lies within the image, if one does.
            let place = |axis: usize, at: usize, tap: usize| {
                let place = at * geometry.stride[axis] + tap * geometry.dilation[axis];
                place.saturating_sub(geometry.padding[axis])
            };
            let [_, height, width] = geometry.large.sizes;
            let start = (place(0, z, slices.start) * height + place(1, y, rows.start)) * width;
            let [_, ky, kx] = geometry.kernel;
            let [dz, dy, dx] = geometry.dilation;
            let line = Line {
                image: image.as_ptr().wrapping_add(start * channels),
                steps: [dz * height * width, dy * width, dx].map(|step| step * channels),
                next: geometry.stride[2] * channels,
                padding: geometry.padding[2] * channels,
                weights: (self.weights.as_ptr())
                    .wrapping_add((slices.start * ky + rows.start) * kx * self.stride),
                weight_steps: [ky * kx, kx, 1].map(|step| step * self.stride),
                counts: [slices.len(), rows.len()],
                columns: &self.columns,
                whole: self.whole.clone(),
                channels,
                added: plan.added.as_ptr(),
                limits: plan.limits,
                out: out.as_mut_ptr(),
            };
            // SAFETY: the machine has the instructions. The image, the weights of all taps, what is added
            // and the line are as large as the shapes say.
            unsafe {
                match self.isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => avx512(&line),
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => avx2(&line),
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => neon(&line),
                    Isa::Any => any(&line),
                }
            }
        }
    }
}

/// A line of the result, and all that it is computed from. Distances are in elements.
struct Line<'a> {
    /// The first line of the image that a tap lies on.
    image: *const f32,
    /// Distances of neighbouring taps in the image, by axis.
    steps: [usize; 3],
    /// Distance in the image of neighbouring positions.
    next: usize,
    /// The distance from the start of the first window to the image.
    padding: usize,
    /// The weights of the first tap of that line.
    weights: *const f32,
    weight_steps: [usize; 3],
    /// The taps that lie within the image, along the first two axes.
    counts: [usize; 2],
    columns: &'a [Range<usize>],
    whole: Range<usize>,
    channels: usize,
    added: *const f32,
    limits: [f32; 2],
    out: *mut f32,
}

/// Computes all channels of a line, as many at a time as fit: some vectors, one, or a shorter one `N`.
///
/// # Safety
/// What the line points to must be as large as its counts say, and the machine have the instructions.
#[inline(always)]
unsafe fn line<V: Vector, N: Vector>(line: &Line<'_>) {
    // Few positions that can be summed together leave registers for more channels.
    let is_narrow = line.whole.len() < 4;
    let mut channel = 0;
    while channel < line.channels {
        let rest = line.channels - channel;
        // SAFETY: as this function is called; no more channels than there are.
        unsafe {
            if rest >= 4 * V::LANES && is_narrow {
                columns::<V, 4, 2, 2, false>(line, channel, 4 * V::LANES);
                channel += 4 * V::LANES;
            } else if rest >= 2 * V::LANES {
                columns::<V, 2, 4, 2, false>(line, channel, 2 * V::LANES);
                channel += 2 * V::LANES;
            } else if rest >= V::LANES {
                columns::<V, 1, 8, 4, false>(line, channel, V::LANES);
                channel += V::LANES;
            } else if rest == N::LANES {
                columns::<N, 1, 8, 4, false>(line, channel, rest);
                channel += rest;
            } else if rest < N::LANES {
                columns::<N, 1, 4, 4, true>(line, channel, rest);
                channel += rest;
            } else {
                columns::<V, 1, 4, 4, true>(line, channel, rest);
                channel += rest;
            }
        }
    }
}

/// Computes some channels of all positions of a line, `MANY` or `SOME` positions at a time where that can be.
#[inline(always)]
unsafe fn columns<
    V: Vector,
    const VECTORS: usize,
    const MANY: usize,
    const SOME: usize,
    const PART: bool,
>(
    line: &Line<'_>,
    channel: usize,
    count: usize,
) {
    let Range { start, end } = line.whole;
    // SAFETY: as this function is called.
    unsafe {
        for x in 0..start {
            positions::<V, VECTORS, 1, PART>(line, channel, count, x);
        }
        let mut x = start;
        while x < end {
            // The last ones overlap those before: to sum some twice costs less than one by one.
            if end - start >= MANY {
                x = x.min(end - MANY);
                positions::<V, VECTORS, MANY, PART>(line, channel, count, x);
                x += MANY;
            } else if end - start >= SOME {
                x = x.min(end - SOME);
                positions::<V, VECTORS, SOME, PART>(line, channel, count, x);
                x += SOME;
            } else {
                positions::<V, VECTORS, 1, PART>(line, channel, count, x);
                x += 1;
            }
        }
        for x in end..line.columns.len() {
            positions::<V, VECTORS, 1, PART>(line, channel, count, x);
        }
    }
}

/// Computes some channels of neighbouring positions, which have the same taps.
#[inline(always)]
unsafe fn positions<V: Vector, const VECTORS: usize, const COUNT: usize, const PART: bool>(
    line: &Line<'_>,
    channel: usize,
    count: usize,
    x: usize,
) {
    let [slice_step, row_step, step] = line.steps;
    let [weight_slice, weight_row, weight_step] = line.weight_steps;
    let [slices, rows] = line.counts;
    let taps = &line.columns[x];
    let first = taps.start;
    let taps = taps.len();
    // SAFETY: all taps that are visited lie within the image, for all positions. Of a position without
    // any, nothing is read.
    unsafe {
        let mut added = [V::splat(0.0); VECTORS];
        for (index, added) in added.iter_mut().enumerate() {
            *added = load::<V, PART>(line.added.add(channel + index * V::LANES), count);
        }
        let mut sums = [added; COUNT];
        let start = (x * line.next + first * step + channel).wrapping_sub(line.padding);
        let mut slice = line.image.wrapping_add(start);
        let mut slice_weights = line.weights.wrapping_add(first * weight_step + channel);
        for _ in 0..slices {
            let (mut row, mut row_weights) = (slice, slice_weights);
            for _ in 0..rows {
                let (mut from, mut weights) = (row, row_weights);
                for _ in 0..taps {
                    let mut factors = [V::splat(0.0); VECTORS];
                    for (index, factor) in factors.iter_mut().enumerate() {
                        *factor = V::load(weights.add(index * V::LANES));
                    }
                    for (position, sums) in sums.iter_mut().enumerate() {
                        let from = from.add(position * line.next);
                        for (index, sum) in sums.iter_mut().enumerate() {
                            let x = load::<V, PART>(from.add(index * V::LANES), count);
                            *sum = x.mul_add(factors[index], *sum);
                        }
                    }
                    from = from.wrapping_add(step);
                    weights = weights.wrapping_add(weight_step);
                }
                row = row.wrapping_add(row_step);
                row_weights = row_weights.wrapping_add(weight_row);
            }
            slice = slice.wrapping_add(slice_step);
            slice_weights = slice_weights.wrapping_add(weight_slice);
        }
        let limits = [V::splat(line.limits[0]), V::splat(line.limits[1])];
        for (position, sums) in sums.into_iter().enumerate() {
            let out = line.out.add((x + position) * line.channels + channel);
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
    #[target_feature(enable = "avx512f,avx512vl")]
    avx512,
    __m512,
    Half
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
