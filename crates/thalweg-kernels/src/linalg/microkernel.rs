//! The microkernels of products of f32 matrices whose right side is packed.
//!
//! The right side lies in panels: [`width`](Isa::width) columns of all rows, row after row, the
//! last panel filled up with zeros. A tile of the result, some rows of one panel or more, is summed
//! in registers over a whole block of depth, and written once. The left side is read where it lies.
#![allow(
    unsafe_code,
    reason = "vector instructions that the isa has to have, and pointers in the innermost loop; \
              `multiply` checks both"
)]

use std::ops::Range;

use rayon::prelude::*;

use super::operands::{Addend, Addressing, Epilogue, Lhs, Scale};
#[cfg(target_arch = "aarch64")]
use crate::simd::float32x4_t;
#[cfg(target_arch = "x86_64")]
use crate::simd::{__m256, __m512, Half};
use crate::simd::{Four, Isa, NO_LIMITS, Vector};

/// The number of sums of two that is worth waking other threads for.
pub(crate) const PARALLEL_SUMS: usize = 1 << 20;

/// Rows of a tile, or somewhat more: the share of a thread is a multiple of this.
const ROWS: usize = 8;

/// The depth that is summed at a time, so that a panel of it stays in the cache.
const DEPTH: usize = 512;

impl Isa {
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

    /// `out = epilogue(left right)` for some panels, on up to `threads` threads. `right` has those panels
    /// alone; `columns` is the number of their columns that are some of the result; `out` is the result from
    /// their first column on, in rows that are `stride` apart.
    ///
    /// # Panics
    /// If a slice is too short, or the machine does not have the instructions.
    pub(crate) fn multiply(
        self,
        out: &mut [f32],
        stride: usize,
        left: Lhs<'_>,
        right: &[f32],
        columns: usize,
        epilogue: Epilogue<'_>,
        threads: usize,
    ) {
        let (rows, depth, width) = (left.rows, left.depth, self.width());
        if rows == 0 || columns == 0 {
            return;
        }
        assert!(self.is_available(), "{self:?} is not on this machine");
        let end = |[rows, columns]: [usize; 2], [row, column]: [usize; 2]| {
            let last = (rows - 1).checked_mul(row)?;
            let last = last.checked_add((columns - 1).checked_mul(column)?)?;
            last.checked_add(1)
        };
        assert!(end([rows, columns], [stride, 1]).is_some_and(|end| end <= out.len()));
        assert!(columns <= stride || rows == 1, "rows of the result overlap");
        if depth > 0 {
            assert!(left.addressing.are_within([rows, depth], left.data.len()));
        } else if let Addressing::Indirect { rows: starts, .. } = left.addressing {
            // Nothing is read of the left side, but where its rows start is looked up.
            assert!(rows <= starts.len());
        }
        let panels = columns.div_ceil(width);
        assert!(
            panels
                .checked_mul(width * depth)
                .is_some_and(|len| len <= right.len())
        );
        match epilogue.add {
            Addend::Columns(add) => assert!(columns <= add.len()),
            Addend::Rows(add) => assert!(rows <= add.len()),
            Addend::Nothing | Addend::Output(_) => {}
        }
        if let Scale::Rows(scale) = epilogue.scale {
            assert!(rows <= scale.len());
        }
        let work = Work {
            out: out.as_mut_ptr(),
            stride,
            left: left.data.as_ptr(),
            addressing: left.addressing,
            rows,
            right: right.as_ptr(),
            depth,
            columns,
            epilogue,
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
                Self::Avx512 => avx512(work),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2 => avx2(work),
                #[cfg(target_arch = "aarch64")]
                Self::Neon => neon(work),
                Self::Any => any(work),
            }
        }
    }
}

/// A product, as pointers.
struct Work<'a> {
    out: *mut f32,
    stride: usize,
    left: *const f32,
    addressing: Addressing<'a>,
    rows: usize,
    right: *const f32,
    depth: usize,
    columns: usize,
    epilogue: Epilogue<'a>,
}

// SAFETY: the pointers are of slices that are borrowed for as long as there is work; `run` says who
// writes where.
unsafe impl Sync for Work<'_> {}

impl Work<'_> {
    /// The part of some columns, from a multiple of a panel's width on.
    fn columns_from(&self, start: usize, columns: usize, width: usize) -> Self {
        let add = match self.epilogue.add {
            Addend::Columns(add) => Addend::Columns(&add[start..]),
            other => other,
        };
        Self {
            out: self.out.wrapping_add(start),
            right: self.right.wrapping_add(start / width * width * self.depth),
            columns,
            epilogue: Epilogue {
                add,
                ..self.epilogue
            },
            ..*self
        }
    }

    fn rows_from(&self, start: usize, rows: usize) -> Self {
        let add = match self.epilogue.add {
            Addend::Rows(add) => Addend::Rows(&add[start..]),
            other => other,
        };
        let scale = match self.epilogue.scale {
            Scale::Rows(scale) => Scale::Rows(&scale[start..]),
            other => other,
        };
        let (left, addressing) = match self.addressing {
            Addressing::Strided([row, _]) => (self.left.wrapping_add(start * row), self.addressing),
            Addressing::Indirect { rows, columns } => {
                let rows = &rows[start..];
                (self.left, Addressing::Indirect { rows, columns })
            }
        };
        Self {
            out: self.out.wrapping_add(start * self.stride),
            left,
            addressing,
            rows,
            epilogue: Epilogue {
                add,
                scale,
                ..self.epilogue
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
    /// True for the first block of depth.
    first: bool,
}

/// Goes through the tiles, of up to `ROWS` rows of panels that are `width` wide: a block of depth of a
/// panel stays in the cache for all rows.
#[inline(always)]
unsafe fn all_tiles<const ROWS: usize>(work: &Work<'_>, width: usize, run: Tiles) {
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

/// A tile of some rows and vectors of columns. Panels are `WIDTH` wide.
#[inline(always)]
unsafe fn tile<V: Vector, const WIDTH: usize, const ROWS: usize, const VECTORS: usize>(
    work: &Work<'_>,
    tile: &Tile,
) {
    // SAFETY: as this function is called: all pointers are to elements that `Work` names. Rows and depth
    // are within the left side, and columns within panels.
    unsafe {
        let mut rows = [work.left; ROWS];
        let sums = match work.addressing {
            Addressing::Strided([row, step]) => {
                for (index, at) in rows.iter_mut().enumerate() {
                    *at = at.wrapping_add((tile.row + index) * row);
                }
                let at = |depth: usize| depth * step;
                sums::<V, WIDTH, ROWS, VECTORS>(work, tile, rows, at)
            }
            Addressing::Indirect {
                rows: starts,
                columns,
            } => {
                for (index, at) in rows.iter_mut().enumerate() {
                    *at = at.wrapping_add(*starts.as_ptr().add(tile.row + index) as usize);
                }
                let columns = columns.as_ptr();
                let at = |depth: usize| *columns.add(depth) as usize;
                sums::<V, WIDTH, ROWS, VECTORS>(work, tile, rows, at)
            }
        };
        write_tile(work, tile, sums);
    }
}

/// Sums a tile over its depth, where `at` says how far from the start of its row each element of the
/// left side is.
#[inline(always)]
unsafe fn sums<V: Vector, const WIDTH: usize, const ROWS: usize, const VECTORS: usize>(
    work: &Work<'_>,
    tile: &Tile,
    rows: [*const f32; ROWS],
    at: impl Fn(usize) -> usize,
) -> [[V; VECTORS]; ROWS] {
    let per_panel = WIDTH / V::LANES;
    // SAFETY: as `tile` is called.
    unsafe {
        let mut sums = [[V::splat(0.0); VECTORS]; ROWS];
        let panel = work.depth * WIDTH;
        let right = tile.column / WIDTH * panel + tile.depth.start * WIDTH;
        let mut right = work.right.wrapping_add(right);
        for depth in tile.depth.clone() {
            let at = at(depth);
            let mut vectors = [V::splat(0.0); VECTORS];
            for (index, vector) in vectors.iter_mut().enumerate() {
                let from = index / per_panel * panel + index % per_panel * V::LANES;
                *vector = V::load(right.add(from));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = V::splat(*rows[row].add(at));
                for (sum, vector) in sums.iter_mut().zip(vectors) {
                    *sum = factor.mul_add(vector, *sum);
                }
            }
            right = right.wrapping_add(WIDTH);
        }
        sums
    }
}

/// Writes a tile of sums.
#[inline(always)]
unsafe fn write_tile<V: Vector, const ROWS: usize, const VECTORS: usize>(
    work: &Work<'_>,
    tile: &Tile,
    sums: [[V; VECTORS]; ROWS],
) {
    // SAFETY: as `tile` is called.
    unsafe {
        // Whole tiles have a constant number of columns, which is asked for once, not in each row.
        if tile.columns == VECTORS * V::LANES {
            write_columns(work, tile, sums, VECTORS * V::LANES);
        } else {
            write_columns(work, tile, sums, tile.columns);
        }
    }
}

/// Writes the first `columns` of each row of a tile of sums.
#[inline(always)]
unsafe fn write_columns<V: Vector, const ROWS: usize, const VECTORS: usize>(
    work: &Work<'_>,
    tile: &Tile,
    sums: [[V; VECTORS]; ROWS],
    columns: usize,
) {
    let epilogue = &work.epilogue;
    let add = if tile.first {
        epilogue.add
    } else {
        Addend::Output(1.0)
    };
    // Only the whole sum has limits.
    let limits = epilogue.limits.filter(|_| tile.depth.end == work.depth);
    // SAFETY: as `tile` is called.
    unsafe {
        let [lowest, highest] = limits.unwrap_or(NO_LIMITS);
        let limits = [V::splat(lowest), V::splat(highest)];
        let out = work.out.add(tile.row * work.stride + tile.column);
        let same = match add {
            Addend::Columns(add) => read(add.as_ptr().add(tile.column), columns),
            _ => [V::splat(0.0); VECTORS],
        };
        if let (Scale::All(scale), Addend::Nothing | Addend::Columns(_)) = (epilogue.scale, add) {
            let scale = V::splat(scale);
            for (row, sums) in sums.into_iter().enumerate() {
                write(
                    out.add(row * work.stride),
                    sums,
                    scale,
                    same,
                    limits,
                    columns,
                );
            }
            return;
        }
        for (row, sums) in sums.into_iter().enumerate() {
            let scale = V::splat(match epilogue.scale {
                Scale::All(scale) => scale,
                Scale::Rows(scale) => *scale.as_ptr().add(tile.row + row),
            });
            let out = out.add(row * work.stride);
            let added = match add {
                Addend::Rows(add) => [V::splat(*add.as_ptr().add(tile.row + row)); VECTORS],
                Addend::Output(keep) => {
                    let mut there: [V; VECTORS] = read(out, columns);
                    for there in &mut there {
                        *there = there.mul_add(V::splat(keep), V::splat(0.0));
                    }
                    there
                }
                Addend::Nothing | Addend::Columns(_) => same,
            };
            write(out, sums, scale, added, limits, columns);
        }
    }
}

/// Writes the first `columns` of a row: `scale * sum + added`, with limits.
#[inline(always)]
unsafe fn write<V: Vector, const VECTORS: usize>(
    out: *mut f32,
    sums: [V; VECTORS],
    scale: V,
    added: [V; VECTORS],
    [lowest, highest]: [V; 2],
    columns: usize,
) {
    // SAFETY: as this function is called: there is room for so many.
    unsafe {
        for (index, (sum, added)) in sums.into_iter().zip(added).enumerate() {
            let sum = sum.mul_add(scale, added).limited(lowest, highest);
            let at = index * V::LANES;
            if columns >= at + V::LANES {
                sum.store(out.add(at));
            } else if columns > at {
                sum.store_first(out.add(at), columns - at);
            }
        }
    }
}

/// The first `columns` numbers, and zeros after them.
#[inline(always)]
unsafe fn read<V: Vector, const VECTORS: usize>(from: *const f32, columns: usize) -> [V; VECTORS] {
    // SAFETY: as this function is called: there are so many.
    unsafe {
        let mut read = [V::splat(0.0); VECTORS];
        let mut at = 0;
        for vector in &mut read {
            if columns >= at + V::LANES {
                *vector = V::load(from.add(at));
            } else if columns > at {
                *vector = V::load_first(from.add(at), columns - at);
            }
            at += V::LANES;
        }
        read
    }
}

/// A function that runs tiles of `$count` vectors `$V` for each panel, with up to `$most` rows, where the
/// machine has `$features`. Panels of which there are fewer columns need fewer vectors, or shorter
/// ones `$N`.
macro_rules! tiles {
    ($(#[$feature:meta])* $name:ident, $V:ty, $N:ty, $count:literal, $most:literal, $($rows:literal)*) => {
        $(#[$feature])*
        unsafe fn $name(work: &Work<'_>) {
            const WIDTH: usize = $count * <$V as Vector>::LANES;
            $(#[$feature])*
            unsafe fn run(work: &Work<'_>, at: &Tile, rows: usize, panels: usize) {
                // SAFETY: as `$name` is called.
                unsafe {
                    if at.columns <= <$N as Vector>::LANES {
                        match rows {
                            $($rows => tile::<$N, WIDTH, $rows, 1>(work, at),)*
                            _ => {}
                        }
                        return;
                    }
                    if at.columns <= <$V as Vector>::LANES {
                        match rows {
                            $($rows => tile::<$V, WIDTH, $rows, 1>(work, at),)*
                            _ => {}
                        }
                        return;
                    }
                    match (rows, panels) {
                        (1, 2) => tile::<$V, WIDTH, 1, { 2 * $count }>(work, at),
                        (2, 2) => tile::<$V, WIDTH, 2, { 2 * $count }>(work, at),
                        (3, 2) => tile::<$V, WIDTH, 3, { 2 * $count }>(work, at),
                        (4, 2) => tile::<$V, WIDTH, 4, { 2 * $count }>(work, at),
                        (1, 4) => tile::<$V, WIDTH, 1, { 4 * $count }>(work, at),
                        (2, 4) => tile::<$V, WIDTH, 2, { 4 * $count }>(work, at),
                        $(($rows, _) => tile::<$V, WIDTH, $rows, $count>(work, at),)*
                        _ => {}
                    }
                }
            }
            // SAFETY: as this function is called.
            unsafe { all_tiles::<$most>(work, WIDTH, run) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
tiles!(#[target_feature(enable = "avx512f,avx512vl")] avx512, __m512, Half, 2, 8, 1 2 3 4 5 6 7 8);
#[cfg(target_arch = "x86_64")]
tiles!(#[target_feature(enable = "avx2,fma")] avx2, __m256, __m256, 2, 6, 1 2 3 4 5 6);

#[cfg(target_arch = "aarch64")]
tiles!(#[target_feature(enable = "neon")] neon, float32x4_t, float32x4_t, 4, 6, 1 2 3 4 5 6);

tiles!(any, Four, Four, 2, 4, 1 2 3 4);
