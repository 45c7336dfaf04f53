//! Copies of elements from one layout to another, whatever their type.
//!
//! The dimensions are put in the order in which they lie in the target, and merged where both
//! sides allow it. What is left is copied in one of three ways: runs that lie together on both
//! sides as whole runs; where the source lies together along another dimension, a transposition
//! in tiles; and everything else element by element along the innermost dimension.

use bytemuck::Pod;
use thalweg_core::{Dims, Result, TensorView, TensorViewMut, ensure};

use crate::dtype::dispatch::dispatch_size;
use crate::layout::Layout;
use crate::layout::walk::Walk;
use crate::parallel::for_each_chunk;

/// Copies the elements of `source` that `from` names to those of `target` that `to` names. Both
/// layouts have the same shape, and `to` names no element twice.
pub(crate) fn copy(
    target: &mut TensorViewMut<'_>,
    to: &Layout,
    source: &TensorView<'_>,
    from: &Layout,
    threads: usize,
) -> Result<()> {
    check_same_type(target, source)?;
    let size = source.dtype().size();
    copy_bytes(target.bytes_mut(), to, source.bytes(), from, size, threads)
}

/// [`copy`] for elements in plain memory.
pub(crate) fn copy_elements<T: Pod>(
    target: &mut [T],
    to: &Layout,
    source: &[T],
    from: &Layout,
    threads: usize,
) -> Result<()> {
    let (target, source) = (
        bytemuck::cast_slice_mut(target),
        bytemuck::cast_slice(source),
    );
    copy_bytes(target, to, source, from, size_of::<T>(), threads)
}

/// Copies memory whose elements lie alike on both sides.
pub(crate) fn copy_all(target: &mut [u8], source: &[u8], threads: usize) -> Result<()> {
    let len = target.len();
    ensure!(
        len == source.len(),
        Internal,
        "a copy of {} bytes to {len}",
        source.len()
    );
    let part = len.div_ceil(threads.max(1)).next_multiple_of(64);
    for_each_chunk(threads, len / 4, target, part, |index, target| {
        target.copy_from_slice(&source[index * part..][..target.len()]);
        Ok(())
    })
}

/// The most bytes that are not worth a plan if they follow each other.
const SMALL: usize = 1 << 14;

/// [`copy`] for elements of `element_size` bytes, whatever their type.
pub(crate) fn copy_bytes(
    target: &mut [u8],
    to: &Layout,
    source: &[u8],
    from: &Layout,
    element_size: usize,
    threads: usize,
) -> Result<()> {
    ensure!(
        *to.sizes == *from.sizes,
        Internal,
        "a copy from shape {:?} to shape {:?}",
        from.sizes,
        to.sizes
    );
    ensure!(
        to.end() <= target.len() / element_size && from.end() <= source.len() / element_size,
        Internal,
        "a copy beyond the end of a tensor"
    );
    if to.sizes.contains(&0) {
        return Ok(());
    }
    let numel: usize = to.sizes.iter().product();
    let is_whole = |layout: &Layout| layout.end() - layout.offset == numel;
    if numel * element_size <= SMALL
        && *to.strides == *from.strides
        && is_whole(to)
        && is_whole(from)
    {
        // The elements follow each other on both sides.
        let range = |layout: &Layout| layout.offset * element_size..layout.end() * element_size;
        target[range(to)].copy_from_slice(&source[range(from)]);
        return Ok(());
    }
    let plan = Plan::new(to, from)?;
    dispatch_size!(element_size => T, {
        match (bytemuck::try_cast_slice_mut(target), bytemuck::try_cast_slice(source)) {
            (Ok(target), Ok(source)) => {
                plan.run::<T>(&mut target[to.offset..], &source[from.offset..], threads)
            }
            // Complex numbers are aligned to their halves only.
            _ => {
                let (to, from) = (to.halved()?, from.halved()?);
                copy_bytes(target, &to, source, &from, element_size / 2, threads)
            }
        }
    })
}

/// An error unless elements can be moved from one tensor to the other as they are.
pub(crate) fn check_same_type(target: &TensorViewMut<'_>, source: &TensorView<'_>) -> Result<()> {
    ensure!(
        target.dtype() == source.dtype(),
        InvalidInput,
        "elements of type {} cannot be moved to a tensor of {}",
        source.dtype(),
        target.dtype()
    );
    Ok(())
}

/// A copy whose dimensions are sorted by the target's strides, outermost first, and merged.
#[derive(Clone, Copy)]
struct Plan {
    sizes: Dims,
    target: Dims,
    source: Dims,
}

impl Plan {
    fn new(to: &Layout, from: &Layout) -> Result<Self> {
        let mut plan = Self {
            sizes: Dims::new(),
            target: Dims::new(),
            source: Dims::new(),
        };
        for (dim, &size) in to.sizes.iter().enumerate() {
            if size != 1 {
                let stride = to.strides[dim];
                let at = plan.target.iter().filter(|&&other| other >= stride);
                let at = at.count();
                plan.sizes.insert(at, size)?;
                plan.target.insert(at, stride)?;
                plan.source.insert(at, from.strides[dim])?;
            }
        }
        for inner in (1..plan.sizes.len()).rev() {
            let (outer, size) = (inner - 1, plan.sizes[inner]);
            let continues = |strides: &Dims| strides[outer] == strides[inner].saturating_mul(size);
            if continues(&plan.target) && continues(&plan.source) {
                plan.sizes[outer] *= size;
                plan.target[outer] = plan.target[inner];
                plan.source[outer] = plan.source[inner];
                plan.sizes.remove(inner);
                plan.target.remove(inner);
                plan.source.remove(inner);
            }
        }
        Ok(plan)
    }

    /// Copies, with several threads if that pays. The slices start at the first element.
    fn run<T: Pod + Send + Sync>(
        &self,
        target: &mut [T],
        source: &[T],
        threads: usize,
    ) -> Result<()> {
        let numel: usize = self.sizes.iter().product();
        let (Some(&rows), Some(&stride)) = (self.sizes.first(), self.target.first()) else {
            target[0] = source[0];
            return Ok(());
        };
        let inner = self.sizes.iter().zip(&*self.target).skip(1);
        let inner: usize = inner.map(|(size, stride)| (size - 1) * stride).sum();
        if inner >= stride {
            return self.run_alone(target, source);
        }
        let rows_each = rows.div_ceil(threads.max(1));
        let len = (rows - 1) * stride + inner + 1;
        let (target, piece) = (&mut target[..len], rows_each * stride);
        for_each_chunk(
            threads,
            numel * size_of::<T>() / 4,
            target,
            piece,
            |index, target| {
                let first = index * rows_each;
                let mut part = *self;
                part.sizes[0] = rows_each.min(rows - first);
                part.run_alone(target, &source[first * self.source[0]..])
            },
        )
    }

    fn run_alone<T: Pod>(&self, target: &mut [T], source: &[T]) -> Result<()> {
        let inner = self.sizes.len() - 1;
        let run = self.sizes[inner];
        match (self.target[inner], self.source[inner]) {
            (1, 1) if run < 16 => self.for_each(inner, |t, s| {
                let (target, source) = (&mut target[t..t + run], &source[s..s + run]);
                for (target, &source) in target.iter_mut().zip(source) {
                    *target = source;
                }
            }),
            (1, 1) => self.for_each(inner, |t, s| {
                target[t..t + run].copy_from_slice(&source[s..s + run]);
            }),
            (1, 0) => self.for_each(inner, |t, s| target[t..t + run].fill(source[s])),
            (1, step) => {
                if let Some(other) = (0..inner).find(|&dim| self.source[dim] == 1) {
                    return self.transpose(other, target, source);
                }
                self.for_each(inner, |t, s| {
                    let source = source[s..].iter().step_by(step);
                    for (target, &source) in target[t..t + run].iter_mut().zip(source) {
                        *target = source;
                    }
                })
            }
            (target_step, source_step) => self.for_each(inner, |t, s| {
                for i in 0..run {
                    target[t + i * target_step] = source[s + i * source_step];
                }
            }),
        }
    }

    /// Calls `visit` with the offsets of each position along the first `rank` dimensions.
    fn for_each(&self, rank: usize, mut visit: impl FnMut(usize, usize)) -> Result<()> {
        let strides = [&self.target[..rank], &self.source[..rank]];
        let walk = Walk::new(&self.sizes[..rank], strides)?;
        let [target_step, source_step] = walk.steps();
        for run in walk.runs() {
            let [mut target, mut source] = run.offsets;
            for _ in 0..walk.run_len() {
                visit(target, source);
                target += target_step;
                source += source_step;
            }
        }
        Ok(())
    }

    /// The target lies together along the innermost dimension, the source along `other`.
    fn transpose<T: Pod>(&self, other: usize, target: &mut [T], source: &[T]) -> Result<()> {
        let inner = self.sizes.len() - 1;
        let plane = Plane {
            rows: self.sizes[other],
            columns: self.sizes[inner],
            target_stride: self.target[other],
            source_stride: self.source[inner],
        };
        let mut outer = *self;
        for dims in [&mut outer.sizes, &mut outer.target, &mut outer.source] {
            dims.remove(inner);
            dims.remove(other);
        }
        outer.for_each(inner - 1, |t, s| {
            // A tile is about a cache line wide.
            match size_of::<T>() {
                1 | 2 => plane.transpose::<T, 16>(&mut target[t..], &source[s..]),
                4 => plane.transpose::<T, 8>(&mut target[t..], &source[s..]),
                _ => plane.transpose::<T, 4>(&mut target[t..], &source[s..]),
            }
        })
    }
}

/// A matrix that is to be transposed: `target[row][column] = source[column][row]`.
struct Plane {
    rows: usize,
    columns: usize,
    target_stride: usize,
    source_stride: usize,
}

impl Plane {
    /// In tiles of `N` by `N`, and those in blocks that the first cache holds.
    fn transpose<T: Pod, const N: usize>(&self, target: &mut [T], source: &[T]) {
        const BLOCK: usize = 64;
        for row in (0..self.rows).step_by(BLOCK) {
            let row_end = self.rows.min(row + BLOCK);
            for column in (0..self.columns).step_by(BLOCK) {
                let column_end = self.columns.min(column + BLOCK);
                self.block::<T, N>(target, source, [row, row_end], [column, column_end]);
            }
        }
    }

    #[allow(clippy::needless_range_loop, reason = "columns cannot be iterated")]
    fn block<T: Pod, const N: usize>(
        &self,
        target: &mut [T],
        source: &[T],
        [row, row_end]: [usize; 2],
        [column, column_end]: [usize; 2],
    ) {
        let tiled_rows = row + (row_end - row) / N * N;
        let tiled_columns = column + (column_end - column) / N * N;
        for c in (column..tiled_columns).step_by(N) {
            for r in (row..tiled_rows).step_by(N) {
                let mut tile = [[T::zeroed(); N]; N];
                for (i, line) in tile.iter_mut().enumerate() {
                    let at = (c + i) * self.source_stride + r;
                    line.copy_from_slice(&source[at..at + N]);
                }
                // Column by column of the tile, which is a row of the target.
                for j in 0..N {
                    let at = (r + j) * self.target_stride + c;
                    let line: [T; N] = std::array::from_fn(|i| tile[i][j]);
                    target[at..at + N].copy_from_slice(&line);
                }
            }
        }
        let mut rest = |rows: [usize; 2], columns: [usize; 2]| {
            for r in rows[0]..rows[1] {
                for c in columns[0]..columns[1] {
                    target[r * self.target_stride + c] = source[c * self.source_stride + r];
                }
            }
        };
        rest([tiled_rows, row_end], [column, column_end]);
        rest([row, tiled_rows], [tiled_columns, column_end]);
    }
}
