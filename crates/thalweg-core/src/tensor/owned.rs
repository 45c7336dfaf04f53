//! Owned tensors.

use std::fmt;

use super::dims;
use super::view::{TensorView, TensorViewMut};
use crate::memory::Block;
use crate::{DType, Element, Result};

/// A tensor that owns its shape and its memory.
pub struct Tensor {
    dtype: DType,
    sizes: Box<[usize]>,
    dim_order: Box<[u8]>,
    data: Block,
}

impl TensorView<'_> {
    /// A copy that owns its memory.
    ///
    /// # Errors
    /// If memory is out.
    pub fn to_tensor(&self) -> Result<Tensor> {
        Tensor::copy_of(*self)
    }
}

impl Tensor {
    /// A row-major tensor of zeros.
    ///
    /// # Errors
    /// If the rank is too large or memory is out.
    pub fn zeros(dtype: DType, sizes: &[usize]) -> Result<Self> {
        Self::zeros_in_order(dtype, sizes, dims::identity_order(sizes.len())?)
    }

    /// A tensor of zeros whose dimensions lie in memory in the given order, outermost first.
    ///
    /// # Errors
    /// If the order does not name each dimension once, or memory is out.
    pub fn zeros_in_order(dtype: DType, sizes: &[usize], dim_order: &[u8]) -> Result<Self> {
        dims::check_dim_order(dim_order, sizes.len())?;
        let bytes = dims::numel(sizes)?.saturating_mul(dtype.size());
        Ok(Self {
            dtype,
            sizes: sizes.into(),
            dim_order: dim_order.into(),
            data: Block::zeroed(bytes)?,
        })
    }

    /// A row-major tensor with a copy of the elements.
    ///
    /// # Errors
    /// If the elements are not as many as the shape needs, or memory is out.
    pub fn from_slice<T: Element>(data: &[T], sizes: &[usize]) -> Result<Self> {
        Self::copy_of(TensorView::from_slice(data, sizes)?)
    }

    /// A tensor with a copy of bytes in the machine's byte order, which need not be aligned.
    ///
    /// # Errors
    /// If the bytes are not as many as the shape needs, the order does not name each dimension
    /// once, or memory is out.
    pub fn from_bytes(
        dtype: DType,
        sizes: &[usize],
        dim_order: &[u8],
        bytes: &[u8],
    ) -> Result<Self> {
        let mut tensor = Self::zeros_in_order(dtype, sizes, dim_order)?;
        crate::ensure!(
            tensor.data.len() == bytes.len(),
            InvalidInput,
            "a tensor of {dtype} and shape {sizes:?} does not have {} bytes",
            bytes.len()
        );
        tensor.data.bytes_mut().copy_from_slice(bytes);
        Ok(tensor)
    }

    /// A copy of a view.
    ///
    /// # Errors
    /// If memory is out.
    pub fn copy_of(view: TensorView<'_>) -> Result<Self> {
        Self::from_bytes(view.dtype(), view.sizes(), view.dim_order(), view.bytes())
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of each dimension.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The dimensions from outermost to innermost in memory.
    pub fn dim_order(&self) -> &[u8] {
        &self.dim_order
    }

    /// The tensor, borrowed.
    pub fn view(&self) -> TensorView<'_> {
        TensorView::trusted(self.dtype, &self.sizes, &self.dim_order, self.data.bytes())
    }

    /// The tensor, borrowed to write to it.
    pub fn view_mut(&mut self) -> TensorViewMut<'_> {
        let (sizes, dim_order) = (&self.sizes, &self.dim_order);
        TensorViewMut::trusted(self.dtype, sizes, dim_order, self.data.bytes_mut())
    }

    /// The elements, in the order in which they lie in memory.
    ///
    /// # Errors
    /// If the tensor has another element type.
    pub fn data<T: Element>(&self) -> Result<&[T]> {
        self.view().data()
    }

    /// A copy whose elements lie in memory in logical order.
    ///
    /// # Errors
    /// If memory is out.
    pub fn to_row_major(&self) -> Result<Self> {
        let view = self.view();
        let mut copy = Self::zeros(self.dtype, &self.sizes)?;
        if view.is_row_major() {
            copy.data.bytes_mut().copy_from_slice(view.bytes());
            return Ok(copy);
        }
        let strides = view.strides();
        let size = self.dtype.size();
        let mut index = [0usize; dims::MAX_RANK];
        for target in copy.data.bytes_mut().chunks_exact_mut(size) {
            let offset: usize = strides.iter().zip(&index).map(|(s, i)| s * i).sum();
            target.copy_from_slice(&view.bytes()[offset * size..][..size]);
            for (position, &bound) in index[..self.sizes.len()].iter_mut().zip(&*self.sizes).rev() {
                *position += 1;
                if *position < bound {
                    break;
                }
                *position = 0;
            }
        }
        Ok(copy)
    }
}

impl Clone for Tensor {
    fn clone(&self) -> Self {
        Self {
            dtype: self.dtype,
            sizes: self.sizes.clone(),
            dim_order: self.dim_order.clone(),
            data: self.data.clone(),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

impl<'a> From<&'a Tensor> for TensorView<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        tensor.view()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channels_last_tensor_becomes_row_major_in_logical_order() {
        // Shape [1, 2, 2, 2]; memory holds the two channels of each pixel together.
        let bytes = [0u8, 10, 1, 11, 2, 12, 3, 13];
        let tensor = Tensor::from_bytes(DType::U8, &[1, 2, 2, 2], &[0, 2, 3, 1], &bytes).unwrap();
        let copy = tensor.to_row_major().unwrap();
        assert_eq!(copy.data::<u8>().unwrap(), [0, 1, 2, 3, 10, 11, 12, 13]);
    }
}
