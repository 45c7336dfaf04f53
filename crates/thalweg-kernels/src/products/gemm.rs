//! The products of the `gemm` crate over strided slices, behind a safe function.
#![allow(
    unsafe_code,
    reason = "the crate `gemm` takes raw pointers; `Matrix` and `MatrixMut` check what they reach"
)]

use std::ops::Range;

use gemm::Parallelism;
use rayon::prelude::*;
use thalweg_core::{Complex32, Complex64, Element, Result, ensure};

/// A matrix over a slice. Every element lies within the slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, T> {
    data: &'a [T],
    shape: Shape,
}

/// A matrix over a slice, to write. Every element lies within the slice, at a place of its own.
#[derive(Debug)]
pub(crate) struct MatrixMut<'a, T> {
    data: &'a mut [T],
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    rows: usize,
    columns: usize,
    /// Distance in elements between neighbours of a column.
    row_stride: usize,
    /// Distance in elements between neighbours of a row.
    column_stride: usize,
}

/// Types that `gemm` multiplies.
pub(crate) trait Native: Element + num_traits::Zero {}

impl Native for f32 {}
impl Native for f64 {}
impl Native for Complex32 {}
impl Native for Complex64 {}

/// How many multiplications are worth waking other threads for.
pub(crate) const PARALLEL_WORK: usize = 1 << 18;

/// A product with so few rows is bound by reading `b`, which should happen once.
const FEW_ROWS: usize = 16;

/// `gemm` takes up to this many elements of `out` as dot products, without packing `a` and `b`.
const DOT_PRODUCTS: usize = 256;

/// `out = keep * out + scale * a b`. Where `keep` is zero, `out` is not read.
pub(crate) fn gemm<T: Native>(
    out: &mut MatrixMut<'_, T>,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    keep: T,
    scale: T,
    threads: usize,
) -> Result<()> {
    check_fit(out.shape, a.shape, b.shape)?;
    let (rows, columns, depth) = (out.shape.rows, out.shape.columns, a.shape.columns);
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let (so, sa, sb) = (
        out.shape.for_pointers(),
        a.shape.for_pointers(),
        b.shape.for_pointers(),
    );
    let target = Target(out.data.as_mut_ptr());
    let part = |columns: Range<usize>, parallelism: Parallelism| {
        let target = &target;
        // SAFETY: `T` is one of the types that `gemm` knows: `Native` says so. The shapes fit
        // (`check_fit`), and all elements that they name lie within the slices (`Shape::new`),
        // those of `out` each at a place of its own, so that neither the threads of `gemm` nor
        // calls for other columns write to the same places. `out` is borrowed mutably, hence
        // overlaps neither `a` nor `b`. Strides are those of existing elements or small, so they
        // fit an `isize`.
        unsafe {
            gemm::gemm::<T>(
                rows,
                columns.len(),
                depth,
                target.0.wrapping_add(columns.start * so.column_stride),
                so.column_stride as isize,
                so.row_stride as isize,
                !keep.is_zero(),
                a.data.as_ptr(),
                sa.column_stride as isize,
                sa.row_stride as isize,
                b.data
                    .as_ptr()
                    .wrapping_add(columns.start * sb.column_stride),
                sb.column_stride as isize,
                sb.row_stride as isize,
                keep,
                scale,
                false,
                false,
                false,
                parallelism,
            );
        }
    };
    if rows > FEW_ROWS {
        let parallelism = match threads {
            0 | 1 => Parallelism::None,
            threads => Parallelism::Rayon(threads),
        };
        part(0..columns, parallelism);
        return Ok(());
    }
    let dot_products = rows > 1 && sa.column_stride == 1 && sb.row_stride == 1;
    let width = if dot_products {
        DOT_PRODUCTS / rows
    } else {
        columns
    };
    let share = |columns: Range<usize>| {
        let end = columns.end;
        for start in columns.step_by(width) {
            part(start..end.min(start + width), Parallelism::None);
        }
    };
    let work = rows.saturating_mul(columns).saturating_mul(depth);
    if threads > 1 && work >= PARALLEL_WORK {
        // Whole cache lines to each thread.
        let len = columns.div_ceil(threads).next_multiple_of(64);
        (0..threads)
            .into_par_iter()
            .for_each(|index| share((index * len).min(columns)..((index + 1) * len).min(columns)));
    } else {
        share(0..columns);
    }
    Ok(())
}

/// Where a product is written, for several threads.
struct Target<T>(*mut T);

// SAFETY: the threads write different elements: see `gemm`.
unsafe impl<T: Send> Sync for Target<T> {}

/// An error unless `a b` has the shape of `out`.
fn check_fit(out: Shape, a: Shape, b: Shape) -> Result<()> {
    ensure!(
        a.columns == b.rows && out.rows == a.rows && out.columns == b.columns,
        Internal,
        "a product of [{}, {}] and [{}, {}] is not [{}, {}]",
        a.rows,
        a.columns,
        b.rows,
        b.columns,
        out.rows,
        out.columns
    );
    Ok(())
}

impl Shape {
    #[inline(always)]
    fn new(
        rows: usize,
        columns: usize,
        row_stride: usize,
        column_stride: usize,
        len: usize,
    ) -> Result<Self> {
        let shape = Self {
            rows,
            columns,
            row_stride,
            column_stride,
        };
        shape.check(len)?;
        Ok(shape)
    }

    /// An error unless all elements lie within `len`.
    fn check(self, len: usize) -> Result<()> {
        let Self {
            rows,
            columns,
            row_stride,
            column_stride,
        } = self;
        let last = |size: usize, stride: usize| size.saturating_sub(1).checked_mul(stride);
        let end = last(rows, row_stride)
            .zip(last(columns, column_stride))
            .and_then(|(row, column)| row.checked_add(column));
        ensure!(
            rows == 0 || columns == 0 || end.is_some_and(|end| end < len),
            Internal,
            "a matrix of [{rows}, {columns}] with strides [{row_stride}, {column_stride}] does \
             not lie within {len} elements"
        );
        Ok(())
    }

    /// Whether no two positions are the same place.
    fn is_injective(self) -> bool {
        let (rows, columns) = (self.rows, self.columns);
        let (row, column) = (self.row_stride, self.column_stride);
        let spans = |inner: usize, stride: usize, outer_stride: usize| {
            stride > 0
                && inner
                    .checked_mul(stride)
                    .is_some_and(|span| span <= outer_stride)
        };
        rows == 0
            || columns == 0
            || (rows == 1 && (columns == 1 || column > 0))
            || (columns == 1 && row > 0)
            || spans(columns, column, row)
            || spans(rows, row, column)
    }

    /// With strides for dimensions of one or no element that make sense: what a dense matrix
    /// would have. `gemm` chooses its ways by strides.
    fn for_pointers(mut self) -> Self {
        if self.rows <= 1 && self.columns <= 1 {
            (self.row_stride, self.column_stride) = (1, 1);
        } else if self.rows <= 1 {
            self.row_stride = self.columns.saturating_mul(self.column_stride.max(1));
        } else if self.columns <= 1 {
            self.column_stride = self.rows.saturating_mul(self.row_stride.max(1));
        }
        let limit = isize::MAX as usize;
        self.row_stride = self.row_stride.min(limit);
        self.column_stride = self.column_stride.min(limit);
        self
    }

    fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }
}

impl<'a, T> Matrix<'a, T> {
    /// A matrix whose element `[i, j]` is `data[i * row_stride + j * column_stride]`.
    #[inline(always)]
    pub(crate) fn new(
        data: &'a [T],
        [rows, columns]: [usize; 2],
        [row_stride, column_stride]: [usize; 2],
    ) -> Result<Self> {
        let shape = Shape::new(rows, columns, row_stride, column_stride, data.len())?;
        Ok(Self { data, shape })
    }

    pub(crate) fn rows(&self) -> usize {
        self.shape.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.shape.columns
    }

    pub(crate) fn row_stride(&self) -> usize {
        self.shape.row_stride
    }

    pub(crate) fn column_stride(&self) -> usize {
        self.shape.column_stride
    }

    /// The slice that it was made of.
    pub(crate) fn data(&self) -> &'a [T] {
        self.data
    }

    /// The same elements with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        Self {
            data: self.data,
            shape: self.shape.transposed(),
        }
    }

    /// The part of some shape whose first element is `[row, column]`.
    pub(crate) fn block(&self, [row, column]: [usize; 2], shape: [usize; 2]) -> Result<Self> {
        let start = row
            .saturating_mul(self.shape.row_stride)
            .saturating_add(column.saturating_mul(self.shape.column_stride));
        Self::new(
            self.data.get(start..).unwrap_or(&[]),
            shape,
            [self.shape.row_stride, self.shape.column_stride],
        )
    }

    /// `count` columns from `first` on.
    pub(crate) fn columns_from(&self, first: usize, count: usize) -> Result<Self> {
        self.block([0, first], [self.shape.rows, count])
    }
}

impl<T: Copy> Matrix<'_, T> {
    /// One element.
    pub(crate) fn at(&self, row: usize, column: usize) -> T {
        self.data[row * self.shape.row_stride + column * self.shape.column_stride]
    }
}

impl<'a, T> MatrixMut<'a, T> {
    /// As [`Matrix::new`]. An error if two elements lie at the same place.
    #[inline(always)]
    pub(crate) fn new(
        data: &'a mut [T],
        [rows, columns]: [usize; 2],
        [row_stride, column_stride]: [usize; 2],
    ) -> Result<Self> {
        let shape = Shape::new(rows, columns, row_stride, column_stride, data.len())?;
        ensure!(
            shape.is_injective(),
            Internal,
            "elements of a matrix of [{rows}, {columns}] with strides [{row_stride}, \
             {column_stride}] overlap"
        );
        Ok(Self { data, shape })
    }

    pub(crate) fn rows(&self) -> usize {
        self.shape.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.shape.columns
    }

    pub(crate) fn row_stride(&self) -> usize {
        self.shape.row_stride
    }

    pub(crate) fn column_stride(&self) -> usize {
        self.shape.column_stride
    }

    /// The slice that it was made of.
    pub(crate) fn data(&mut self) -> &mut [T] {
        self.data
    }

    /// The same elements with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        Self {
            data: self.data,
            shape: self.shape.transposed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_that_reaches_beyond_its_slice_is_refused() {
        let data = [0f32; 6];
        assert!(Matrix::new(&data, [2, 3], [3, 1]).is_ok());
        assert!(Matrix::new(&data, [3, 2], [1, 3]).is_ok());
        assert!(Matrix::new(&data, [2, 3], [4, 1]).is_err());
        assert!(Matrix::new(&data, [2, usize::MAX], [3, usize::MAX]).is_err());
        assert!(Matrix::new(&data, [0, 3], [100, 100]).is_ok());
    }

    #[test]
    fn elements_that_are_written_have_places_of_their_own() {
        let mut data = [0f32; 6];
        assert!(MatrixMut::new(&mut data, [2, 3], [3, 1]).is_ok());
        assert!(MatrixMut::new(&mut data, [2, 3], [1, 2]).is_ok());
        assert!(MatrixMut::new(&mut data, [2, 3], [0, 1]).is_err());
        assert!(MatrixMut::new(&mut data, [2, 3], [1, 1]).is_err());
        assert!(MatrixMut::new(&mut data, [2, 1], [0, 1]).is_err());
        assert!(MatrixMut::new(&mut data, [1, 3], [0, 1]).is_ok());
    }

    #[test]
    fn a_product_of_shapes_that_do_not_fit_is_refused() {
        let (a, mut out) = ([0f32; 6], [0f32; 4]);
        let a = Matrix::new(&a, [2, 3], [3, 1]).unwrap();
        let mut out = MatrixMut::new(&mut out, [2, 2], [2, 1]).unwrap();
        assert!(gemm(&mut out, a, a, 0.0, 1.0, 1).is_err());
        assert!(gemm(&mut out, a, a.transposed(), 0.0, 1.0, 1).is_ok());
    }
}
