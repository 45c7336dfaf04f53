//! Matrices over strided slices.

use thalweg_core::{Result, ensure};

/// A matrix over a slice. Every element lies within the slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, T> {
    pub(super) data: &'a [T],
    pub(super) shape: Shape,
}

/// A matrix over a slice, to write. Every element lies within the slice, at a place of its own.
#[derive(Debug)]
pub(crate) struct MatrixMut<'a, T> {
    pub(super) data: &'a mut [T],
    pub(super) shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Distance in elements between neighbours of a column.
    pub(super) row_stride: usize,
    /// Distance in elements between neighbours of a row.
    pub(super) column_stride: usize,
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

    /// Returns true if no two positions are the same place.
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

    /// The shape with strides that make sense for dimensions of one or no element: those that a dense matrix
    /// would have. `gemm` chooses its ways by strides.
    pub(super) fn for_pointers(mut self) -> Self {
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

    /// The transposed matrix, of the same elements.
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

    /// The transposed matrix, of the same elements.
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
}
