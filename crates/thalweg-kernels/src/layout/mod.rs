//! Layouts: the places of a shape's elements in memory, and views of them.
//!
//! Operators that only move elements describe both sides as a [`Layout`] and hand the rest to
//! [`copy`](crate::layout::copy).

pub(crate) mod broadcast;
pub(crate) mod copy;
pub(crate) mod dims;
pub(crate) mod indices;
pub(crate) mod order;
pub(crate) mod walk;

use thalweg_core::{Dims, Result, TensorView, TensorViewMut, identity_order, strides_of};

/// A shape over some memory: the place of its first element, and the distances of neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Position of the first element, in elements.
    pub(crate) offset: usize,
    /// The size of each dimension.
    pub(crate) sizes: Dims,
    /// The distance of neighbours along each dimension, in elements. 0 repeats.
    pub(crate) strides: Dims,
}

impl Layout {
    /// The layout of elements without gaps, with the dimensions in the given order.
    pub(crate) fn dense(sizes: &[usize], dim_order: &[u8]) -> Result<Self> {
        Ok(Self {
            offset: 0,
            sizes: Dims::from_slice(sizes)?,
            strides: strides_of(sizes, dim_order),
        })
    }

    /// The layout of elements without gaps, in logical order.
    pub(crate) fn row_major(sizes: &[usize]) -> Result<Self> {
        Self::dense(sizes, identity_order(sizes.len())?)
    }

    /// The layout of a tensor.
    #[inline]
    pub(crate) fn of(tensor: &TensorView<'_>) -> Self {
        Self {
            offset: 0,
            sizes: tensor.dims(),
            strides: tensor.strides(),
        }
    }

    /// The layout of a tensor to write.
    #[inline]
    pub(crate) fn of_output(tensor: &TensorViewMut<'_>) -> Self {
        Self {
            offset: 0,
            sizes: tensor.dims(),
            strides: tensor.strides(),
        }
    }

    /// Every `step`-th position of a dimension from `start` on, `len` of them.
    #[inline]
    pub(crate) fn slice(mut self, dim: usize, start: usize, step: usize, len: usize) -> Self {
        // Saturated where the shape is empty, and the numbers mean nothing.
        let stride = self.strides[dim];
        self.offset = self.offset.saturating_add(start.saturating_mul(stride));
        self.strides[dim] = stride.saturating_mul(step);
        self.sizes[dim] = len;
        self
    }

    /// One position of a dimension, which goes away.
    #[inline]
    pub(crate) fn select(self, dim: usize, index: usize) -> Self {
        self.slice(dim, index, 1, 1).without(dim)
    }

    /// The layout without a dimension of size 1.
    #[inline]
    pub(crate) fn without(mut self, dim: usize) -> Self {
        self.sizes.remove(dim);
        self.strides.remove(dim);
        self
    }

    /// The layout with another dimension before position `dim`.
    #[inline]
    pub(crate) fn with(mut self, dim: usize, size: usize, stride: usize) -> Result<Self> {
        self.sizes.insert(dim, size)?;
        self.strides.insert(dim, stride)?;
        Ok(self)
    }

    /// The layout with one dimension as two, of which the inner has `inner` positions.
    pub(crate) fn split(mut self, dim: usize, inner: usize) -> Result<Self> {
        let (size, stride) = (self.sizes[dim], self.strides[dim]);
        self.sizes[dim] = size.checked_div(inner).unwrap_or(0);
        self.strides[dim] = stride.saturating_mul(inner);
        self.with(dim + 1, inner, stride)
    }

    /// The dimensions in another order; `order` names each once.
    #[inline]
    pub(crate) fn permute(&self, order: &[usize]) -> Self {
        let mut permuted = *self;
        for (to, &from) in order.iter().enumerate() {
            permuted.sizes[to] = self.sizes[from];
            permuted.strides[to] = self.strides[from];
        }
        permuted
    }

    /// The halves of the elements, along a new innermost dimension.
    pub(crate) fn halved(mut self) -> Result<Self> {
        self.offset = self.offset.saturating_mul(2);
        for stride in &mut *self.strides {
            *stride = stride.saturating_mul(2);
        }
        self.with(self.sizes.len(), 2, 1)
    }

    /// Position behind the last element; 0 if there are no elements.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        if self.sizes.contains(&0) {
            return 0;
        }
        self.sizes
            .iter()
            .zip(&*self.strides)
            .map(|(&size, &stride)| (size - 1).saturating_mul(stride))
            .fold(self.offset.saturating_add(1), usize::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_ends_behind_its_last_element() {
        let layout = Layout::row_major(&[3, 4]).unwrap();
        assert_eq!(layout.end(), 12);
        assert_eq!(layout.slice(1, 1, 2, 2).end(), 12);
        assert_eq!(layout.select(0, 1).end(), 8);
        assert_eq!(layout.slice(0, 3, 1, 0).end(), 0);
    }
}
