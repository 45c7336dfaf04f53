//! Products of f32 matrices whose right side is packed: the loops that the machine's vectors run.
//!
//! The right side lies in panels: [`width`](Machine::width) columns of all rows, row after row, the
//! last panel filled up with zeros. A tile of the result, some rows of one panel or more, is summed
//! in registers over a whole block of depth, and written once. The left side is read where it lies.
#![allow(
    unsafe_code,
    reason = "vector instructions that the machine has to have, and pointers in the innermost loop; \
              `multiply` checks both"
)]

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

/// Which vector instructions tiles are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// What every machine has.
    Any,
}

/// The left side and its shape.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) depth: usize,
    /// Distances of neighbours in a column, and in a row.
    pub(crate) strides: [usize; 2],
}

/// What becomes of a sum: `scale * sum`, what is added to it, and limits.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'a> {
    pub(crate) scale: Scale<'a>,
    pub(crate) add: Add<'a>,
    /// The lowest and the highest that is written. What is not a number stays.
    pub(crate) limits: Option<[f32; 2]>,
}

impl<'a> Finish<'a> {
    /// `scale * sum`, and what is added to it.
    pub(crate) fn new(scale: f32, add: Add<'a>) -> Self {
        Self {
            scale: Scale::All(scale),
            add,
            limits: None,
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Scale<'a> {
    All(f32),
    /// One number for each row of the result.
    Rows(&'a [f32]),
}

#[derive(Clone, Copy)]
pub(crate) enum Add<'a> {
    Nothing,
    /// One number for each column of the result.
    Columns(&'a [f32]),
    /// One number for each row.
    Rows(&'a [f32]),
    /// What is there, with a factor.
    Result(f32),
}

/// How many sums of two are worth waking other threads for.
pub(crate) const PARALLEL_SUMS: usize = 1 << 20;

/// Rows of a tile, or somewhat more: the share of a thread is a multiple of this.
const ROWS: usize = 8;

/// How much of the depth is summed at a time, so that a panel of it stays in the cache.
const DEPTH: usize = 512;

impl Machine {
    /// The best that this machine has.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Machine> = OnceLock::new();
        *BEST.get_or_init(|| Self::all()[0])
    }

    /// All that this machine has, the best first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                all.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Self::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            all.push(Self::Neon);
        }
        all.push(Self::Any);
        all
    }

    fn is_here(self) -> bool {
        self == Self::best() || Self::all().contains(&self)
    }

    /// Columns of a panel.
    pub(crate) fn width(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 32,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 16,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => 16,
            Self::Any => 8,
        }
    }

    /// `out = finish(left right)` for some panels, on up to `threads` threads. `right` has those panels alone; `columns` is how
    /// many columns they have that are some of the result; `out` is the result from their first
    /// column on, in rows that are `stride` apart.
    ///
    /// # Panics
    /// If a slice is too short, or the machine does not have the instructions.
    pub(crate) fn multiply(
        self,
        out: &mut [f32],
        stride: usize,
        left: Left<'_>,
        right: &[f32],
        columns: usize,
        finish: Finish<'_>,
        threads: usize,
    ) {
        let (rows, depth, width) = (left.rows, left.depth, self.width());
        if rows == 0 || columns == 0 {
            return;
        }
        assert!(self.is_here(), "{self:?} is not on this machine");
        let end = |[rows, columns]: [usize; 2], [row, column]: [usize; 2]| {
            let last = (rows - 1).checked_mul(row)?;
            let last = last.checked_add((columns - 1).checked_mul(column)?)?;
            last.checked_add(1)
        };
        assert!(end([rows, columns], [stride, 1]).is_some_and(|end| end <= out.len()));
        assert!(columns <= stride || rows == 1, "rows of the result overlap");
        assert!(
            depth == 0
                || end([rows, depth], left.strides).is_some_and(|end| end <= left.data.len())
        );
        let panels = columns.div_ceil(width);
        assert!(
            panels
                .checked_mul(width * depth)
                .is_some_and(|len| len <= right.len())
        );
        match finish.add {
            Add::Columns(add) => assert!(columns <= add.len()),
            Add::Rows(add) => assert!(rows <= add.len()),
            Add::Nothing | Add::Result(_) => {}
        }
        if let Scale::Rows(scale) = finish.scale {
            assert!(rows <= scale.len());
        }
        let work = Work {
            out: out.as_mut_ptr(),
            stride,
            left: left.data.as_ptr(),
            left_strides: left.strides,
            rows,
            right: right.as_ptr(),
            depth,
            columns,
            finish,
        };
        let sums = rows.saturating_mul(depth).saturating_mul(columns);
        if threads < 2 || sums < PARALLEL_SUMS {
            self.run(&work);
            return;
        }
        // Panels are shared if there are enough of them, for each is then read by one thread alone.
        let tiles = rows.div_ceil(ROWS);
        if panels >= threads || panels >= tiles {
            let share = panels.div_ceil(threads) * width;
            let parts = columns.div_ceil(share);
            (0..parts).into_par_iter().for_each(|part| {
                let start = part * share;
                self.run(&work.columns_from(start, share.min(columns - start), width));
            });
        } else {
            let share = tiles.div_ceil(threads) * ROWS;
            let parts = rows.div_ceil(share);
            (0..parts).into_par_iter().for_each(|part| {
                let start = part * share;
                self.run(&work.rows_from(start, share.min(rows - start)));
            });
        }
    }

    fn run(self, work: &Work<'_>) {
        // SAFETY: `multiply` has checked that the machine has the instructions, and that all that
        // `work` names lies within slices, of which the result is borrowed mutably. Work that runs
        // at the same time writes to other columns or other rows.
        unsafe {
            match self {
                #[cfg(target_arch = "x86_64")]
                Self::Avx512 => x86::avx512(work),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2 => x86::avx2(work),
                #[cfg(target_arch = "aarch64")]
                Self::Neon => aarch64::neon(work),
                Self::Any => any(work),
            }
        }
    }
}

/// Some floats that one instruction works on.
///
/// # Safety
/// Functions may only be called where the machine has the instructions; pointers must be good for
/// [`LANES`](Vector::LANES) floats.
unsafe trait Vector: Copy {
    const LANES: usize;
    /// Vectors of a row of a panel.
    const COUNT: usize;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn splat(value: f32) -> Self;
    /// `self * by + add`.
    unsafe fn mul_add(self, by: Self, add: Self) -> Self;
    /// What is lower than `lowest` becomes that, and then what is higher than `highest`.
    unsafe fn limited(self, lowest: Self, highest: Self) -> Self;
}

/// A product, as pointers.
struct Work<'a> {
    out: *mut f32,
    stride: usize,
    left: *const f32,
    left_strides: [usize; 2],
    rows: usize,
    right: *const f32,
    depth: usize,
    columns: usize,
    finish: Finish<'a>,
}

// SAFETY: the pointers are of slices that are borrowed for as long as there is work; `run` says who
// writes where.
unsafe impl Sync for Work<'_> {}

impl Work<'_> {
    /// The part of some columns, from a multiple of a panel's width on.
    fn columns_from(&self, start: usize, columns: usize, width: usize) -> Self {
        let add = match self.finish.add {
            Add::Columns(add) => Add::Columns(&add[start..]),
            other => other,
        };
        Self {
            out: self.out.wrapping_add(start),
            right: self.right.wrapping_add(start / width * width * self.depth),
            columns,
            finish: Finish { add, ..self.finish },
            ..*self
        }
    }

    fn rows_from(&self, start: usize, rows: usize) -> Self {
        let add = match self.finish.add {
            Add::Rows(add) => Add::Rows(&add[start..]),
            other => other,
        };
        let scale = match self.finish.scale {
            Scale::Rows(scale) => Scale::Rows(&scale[start..]),
            other => other,
        };
        Self {
            out: self.out.wrapping_add(start * self.stride),
            left: self.left.wrapping_add(start * self.left_strides[0]),
            rows,
            finish: Finish {
                add,
                scale,
                ..self.finish
            },
            ..*self
        }
    }
}

/// A tile of a block of depth.
struct Tile {
    row: usize,
    column: usize,
    depth: Range<usize>,
    /// Columns that are there, of those of the tile.
    columns: usize,
    /// Whether the block is the first one.
    first: bool,
}

/// Goes through the tiles: a block of depth of a panel stays in the cache for all rows.
#[inline(always)]
unsafe fn all_tiles<V: Vector, const ROWS: usize>(work: &Work<'_>, run: Tiles) {
    let width = V::LANES * V::COUNT;
    let tiles = work.rows.div_ceil(ROWS);
    let (rows, more) = (work.rows / tiles, work.rows % tiles);
    // Few rows leave most registers free: then a tile has several panels.
    let together = match work.rows {
        1 | 2 => 4,
        3 | 4 => 2,
        _ => 1,
    };
    let blocks = work.depth.div_ceil(DEPTH).max(1);
    let block = work.depth.div_ceil(blocks).max(1);
    let mut column = 0;
    while column < work.columns {
        let panels = (work.columns - column).div_ceil(width).min(together);
        // Pairs and fours are there, threes are not.
        let panels = if panels == 3 { 2 } else { panels };
        let columns = (work.columns - column).min(panels * width);
        for index in 0..blocks {
            let depth = index * block..work.depth.min((index + 1) * block);
            let mut row = 0;
            for tile in 0..tiles {
                let count = rows + usize::from(tile < more);
                let tile = Tile {
                    row,
                    column,
                    depth: depth.clone(),
                    columns,
                    first: index == 0,
                };
                // SAFETY: as this function is called.
                unsafe { run(work, &tile, count, panels) };
                row += count;
            }
        }
        column += columns;
    }
}

/// Computes one tile with a number of rows and panels.
type Tiles = unsafe fn(&Work<'_>, &Tile, usize, usize);

#[inline(always)]
unsafe fn tile<V: Vector, const ROWS: usize, const VECTORS: usize>(work: &Work<'_>, tile: &Tile) {
    let width = V::LANES * V::COUNT;
    let [row_stride, step] = work.left_strides;
    // SAFETY: all pointers are to elements that `Work` names: rows and depth are within the left
    // side, columns within panels, of which there are `VECTORS / COUNT` from this column on.
    unsafe {
        let mut sums = [[V::splat(0.0); VECTORS]; ROWS];
        let panel = work.depth * width;
        let mut left = work
            .left
            .wrapping_add(tile.row * row_stride + tile.depth.start * step);
        let mut right = work
            .right
            .wrapping_add(tile.column / width * panel + tile.depth.start * width);
        for _ in tile.depth.clone() {
            let mut vectors = [V::splat(0.0); VECTORS];
            for (index, vector) in vectors.iter_mut().enumerate() {
                *vector =
                    V::load(right.add(index / V::COUNT * panel + index % V::COUNT * V::LANES));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = V::splat(*left.add(row * row_stride));
                for (sum, vector) in sums.iter_mut().zip(vectors) {
                    *sum = factor.mul_add(vector, *sum);
                }
            }
            left = left.wrapping_add(step);
            right = right.wrapping_add(width);
        }
        let finish = &work.finish;
        let add = if tile.first {
            finish.add
        } else {
            Add::Result(1.0)
        };
        let scale_of = |row: usize| match finish.scale {
            Scale::All(scale) => scale,
            Scale::Rows(scale) => *scale.as_ptr().add(tile.row + row),
        };
        // Only the whole sum has limits.
        let limits = finish.limits.filter(|_| tile.depth.end == work.depth);
        if tile.columns == VECTORS * V::LANES {
            for (row, sums) in sums.iter().enumerate() {
                let scale = V::splat(scale_of(row));
                let out = work.out.add((tile.row + row) * work.stride + tile.column);
                for (index, sum) in sums.iter().enumerate() {
                    let at = index * V::LANES;
                    let out = out.add(at);
                    let sum = match add {
                        Add::Nothing => sum.mul_add(scale, V::splat(0.0)),
                        Add::Columns(add) => {
                            sum.mul_add(scale, V::load(add.as_ptr().add(tile.column + at)))
                        }
                        Add::Rows(add) => {
                            sum.mul_add(scale, V::splat(*add.as_ptr().add(tile.row + row)))
                        }
                        Add::Result(keep) => {
                            sum.mul_add(scale, V::load(out).mul_add(V::splat(keep), V::splat(0.0)))
                        }
                    };
                    let sum = match limits {
                        Some([lowest, highest]) => sum.limited(V::splat(lowest), V::splat(highest)),
                        None => sum,
                    };
                    sum.store(out);
                }
            }
            return;
        }
        // The last columns, which are fewer than a panel has.
        let mut row_of_sums = [0f32; 128];
        for (row, sums) in sums.iter().enumerate() {
            for (index, sum) in sums.iter().enumerate() {
                sum.store(row_of_sums.as_mut_ptr().add(index * V::LANES));
            }
            let out = work.out.add((tile.row + row) * work.stride + tile.column);
            let same = match add {
                Add::Nothing => Some(0.0),
                Add::Rows(add) => Some(add[tile.row + row]),
                Add::Columns(_) | Add::Result(_) => None,
            };
            if let Some(same) = same {
                for (index, sum) in sums.iter().enumerate() {
                    let sum = sum.mul_add(V::splat(scale_of(row)), V::splat(same));
                    let sum = match limits {
                        Some([lowest, highest]) => sum.limited(V::splat(lowest), V::splat(highest)),
                        None => sum,
                    };
                    sum.store(row_of_sums.as_mut_ptr().add(index * V::LANES));
                }
                out.copy_from_nonoverlapping(row_of_sums.as_ptr(), tile.columns);
                continue;
            }
            for (column, sum) in row_of_sums.iter().enumerate().take(tile.columns) {
                let out = &mut *out.add(column);
                let add = match add {
                    Add::Nothing => 0.0,
                    Add::Columns(add) => add[tile.column + column],
                    Add::Rows(add) => add[tile.row + row],
                    Add::Result(keep) => keep * *out,
                };
                *out = scale_of(row) * *sum + add;
                if let Some([lowest, highest]) = limits {
                    *out = limited(*out, lowest, highest);
                }
            }
        }
    }
}

/// What is not a number stays.
#[inline(always)]
fn limited(x: f32, lowest: f32, highest: f32) -> f32 {
    let x = if x < lowest { lowest } else { x };
    if x > highest { highest } else { x }
}

/// A function that runs tiles of vectors `$V`, with up to `$most` rows, where the machine has
/// `$features`.
macro_rules! tiles {
    ($(#[$feature:meta])? $visible:vis $name:ident, $V:ty, $most:literal, $($rows:literal)*) => {
        $(#[$feature])?
        $visible unsafe fn $name(work: &Work<'_>) {
            $(#[$feature])?
            unsafe fn run(work: &Work<'_>, at: &Tile, rows: usize, panels: usize) {
                const ONE: usize = <$V>::COUNT;
                // SAFETY: as `$name` is called.
                unsafe {
                    match (rows, panels) {
                        (1, 2) => tile::<$V, 1, { 2 * ONE }>(work, at),
                        (2, 2) => tile::<$V, 2, { 2 * ONE }>(work, at),
                        (3, 2) => tile::<$V, 3, { 2 * ONE }>(work, at),
                        (4, 2) => tile::<$V, 4, { 2 * ONE }>(work, at),
                        (1, 4) => tile::<$V, 1, { 4 * ONE }>(work, at),
                        (2, 4) => tile::<$V, 2, { 4 * ONE }>(work, at),
                        $(($rows, _) => tile::<$V, $rows, ONE>(work, at),)*
                        _ => {}
                    }
                }
            }
            // SAFETY: as this function is called.
            unsafe { all_tiles::<$V, $most>(work, run) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Tile, Vector, Work, all_tiles, tile};

    // SAFETY: what is called is what the trait says.
    unsafe impl Vector for __m512 {
        const LANES: usize = 16;
        const COUNT: usize = 2;
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as this function is called.
            unsafe { _mm512_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as this function is called.
            unsafe { _mm512_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: as this function is called.
            unsafe { _mm512_set1_ps(value) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, by: Self, add: Self) -> Self {
            // SAFETY: as this function is called.
            unsafe { _mm512_fmadd_ps(self, by, add) }
        }
        #[inline(always)]
        unsafe fn limited(self, lowest: Self, highest: Self) -> Self {
            // Where one side is not a number, these give the second.
            // SAFETY: as this function is called.
            unsafe { _mm512_min_ps(highest, _mm512_max_ps(lowest, self)) }
        }
    }

    // SAFETY: what is called is what the trait says.
    unsafe impl Vector for __m256 {
        const LANES: usize = 8;
        const COUNT: usize = 2;
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as this function is called.
            unsafe { _mm256_loadu_ps(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as this function is called.
            unsafe { _mm256_storeu_ps(to, self) }
        }
        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: as this function is called.
            unsafe { _mm256_set1_ps(value) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, by: Self, add: Self) -> Self {
            // SAFETY: as this function is called.
            unsafe { _mm256_fmadd_ps(self, by, add) }
        }
        #[inline(always)]
        unsafe fn limited(self, lowest: Self, highest: Self) -> Self {
            // Where one side is not a number, these give the second.
            // SAFETY: as this function is called.
            unsafe { _mm256_min_ps(highest, _mm256_max_ps(lowest, self)) }
        }
    }

    tiles!(#[target_feature(enable = "avx512f")] pub(super) avx512, __m512, 8, 1 2 3 4 5 6 7 8);
    tiles!(#[target_feature(enable = "avx2,fma")] pub(super) avx2, __m256, 6, 1 2 3 4 5 6);
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::arch::aarch64::*;

    use super::{Tile, Vector, Work, all_tiles, tile};

    // SAFETY: what is called is what the trait says.
    unsafe impl Vector for float32x4_t {
        const LANES: usize = 4;
        const COUNT: usize = 4;
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as this function is called.
            unsafe { vld1q_f32(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as this function is called.
            unsafe { vst1q_f32(to, self) }
        }
        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: as this function is called.
            unsafe { vdupq_n_f32(value) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, by: Self, add: Self) -> Self {
            // SAFETY: as this function is called.
            unsafe { vfmaq_f32(add, self, by) }
        }
        #[inline(always)]
        unsafe fn limited(self, lowest: Self, highest: Self) -> Self {
            // Where one side is not a number, so is what these give.
            // SAFETY: as this function is called.
            unsafe { vminq_f32(highest, vmaxq_f32(lowest, self)) }
        }
    }

    tiles!(#[target_feature(enable = "neon")] pub(super) neon, float32x4_t, 6, 1 2 3 4 5 6);
}

/// Four floats without instructions of their own: the compiler finds what every machine has.
#[derive(Clone, Copy)]
struct Four([f32; 4]);

// SAFETY: what is called is what the trait says.
unsafe impl Vector for Four {
    const LANES: usize = 4;
    const COUNT: usize = 2;
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { Self(from.cast::<[f32; 4]>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as this function is called.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }
    #[inline(always)]
    unsafe fn mul_add(self, by: Self, add: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] * by.0[i] + add.0[i]))
    }
    #[inline(always)]
    unsafe fn limited(self, lowest: Self, highest: Self) -> Self {
        Self(std::array::from_fn(|i| {
            limited(self.0[i], lowest.0[i], highest.0[i])
        }))
    }
}

tiles!(any, Four, 4, 1 2 3 4);
