//! Borrowed tensors.

use std::fmt;

use super::dims::{self, Dims};
use crate::{DType, Element, Error, ErrorKind, Result, bail, ensure};

/// A tensor that borrows its shape and its memory.
///
/// The memory holds exactly the elements of the shape, aligned for the element type. Programs,
/// kernels and callers all see tensors so: inputs are passed as views, outputs come back as views.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    dtype: DType,
    sizes: &'a [usize],
    dim_order: &'a [u8],
    data: &'a [u8],
}

/// A tensor that borrows its shape, and its memory to write to it.
pub struct TensorViewMut<'a> {
    dtype: DType,
    sizes: &'a [usize],
    dim_order: &'a [u8],
    data: &'a mut [u8],
}

impl<'a> TensorView<'a> {
    /// A row-major tensor over a slice of elements.
    ///
    /// # Errors
    /// If the slice does not have as many elements as the shape, or the rank is too large.
    pub fn from_slice<T: Element>(data: &'a [T], sizes: &'a [usize]) -> Result<Self> {
        Self::new(T::DTYPE, sizes, bytemuck::cast_slice(data))
    }

    /// A row-major tensor over bytes in the machine's byte order.
    ///
    /// # Errors
    /// If the bytes are not as many as the shape needs, or not aligned for the element type, or
    /// the rank is too large.
    pub fn new(dtype: DType, sizes: &'a [usize], data: &'a [u8]) -> Result<Self> {
        Self::with_dim_order(dtype, sizes, dims::identity_order(sizes.len())?, data)
    }

    /// A tensor whose dimensions lie in memory in the given order, outermost first.
    ///
    /// # Errors
    /// As for [`TensorView::new`], and if the order does not name each dimension once.
    pub fn with_dim_order(
        dtype: DType,
        sizes: &'a [usize],
        dim_order: &'a [u8],
        data: &'a [u8],
    ) -> Result<Self> {
        check(dtype, sizes, dim_order, data)?;
        Ok(Self::trusted(dtype, sizes, dim_order, data))
    }

    /// For callers that have checked what [`TensorView::with_dim_order`] checks. A mistake leads
    /// to wrong results or panics, not to undefined behaviour: element access checks again.
    #[inline]
    pub(crate) fn trusted(
        dtype: DType,
        sizes: &'a [usize],
        dim_order: &'a [u8],
        data: &'a [u8],
    ) -> Self {
        Self {
            dtype,
            sizes,
            dim_order,
            data,
        }
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of each dimension.
    #[inline]
    pub fn sizes(&self) -> &'a [usize] {
        self.sizes
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.dtype.count_in(self.data.len())
    }

    /// The dimensions from outermost to innermost in memory.
    #[inline]
    pub fn dim_order(&self) -> &'a [u8] {
        self.dim_order
    }

    /// The size of each dimension, as a value of its own.
    #[inline]
    pub fn dims(&self) -> Dims {
        Dims::of_checked(self.sizes)
    }

    /// The distance in elements between neighbours along each dimension.
    #[inline]
    pub fn strides(&self) -> Dims {
        dims::strides_of(self.sizes, self.dim_order)
    }

    /// Whether the elements lie in memory in logical order.
    #[inline]
    pub fn is_row_major(&self) -> bool {
        dims::is_row_major(self.sizes, self.dim_order)
    }

    /// The memory, in the machine's byte order.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.data
    }

    /// The elements, in the order in which they lie in memory.
    ///
    /// # Errors
    /// If the tensor has another element type.
    #[inline]
    pub fn data<T: Element>(&self) -> Result<&'a [T]> {
        check_type::<T>(self.dtype)?;
        // A slice of nothing may come from anywhere, and need not be aligned.
        if self.data.is_empty() {
            return Ok(&[]);
        }
        match bytemuck::try_cast_slice(self.data) {
            Ok(slice) => Ok(slice),
            Err(why) => Err(unusable(self.dtype, "read", &why)),
        }
    }

    /// The one element of a tensor with one element.
    ///
    /// # Errors
    /// If the tensor has another element type, or another number of elements.
    pub fn item<T: Element>(&self) -> Result<T> {
        match self.data::<T>()? {
            [item] => Ok(*item),
            _ => bail!(InvalidInput, "{self:?} does not have one element"),
        }
    }
}

impl<'a> TensorViewMut<'a> {
    /// A row-major tensor over a slice of elements.
    ///
    /// # Errors
    /// If the slice does not have as many elements as the shape, or the rank is too large.
    pub fn from_slice<T: Element>(data: &'a mut [T], sizes: &'a [usize]) -> Result<Self> {
        let dim_order = dims::identity_order(sizes.len())?;
        Self::with_dim_order(T::DTYPE, sizes, dim_order, bytemuck::cast_slice_mut(data))
    }

    /// A tensor whose dimensions lie in memory in the given order, outermost first.
    ///
    /// # Errors
    /// As for [`TensorView::with_dim_order`].
    pub fn with_dim_order(
        dtype: DType,
        sizes: &'a [usize],
        dim_order: &'a [u8],
        data: &'a mut [u8],
    ) -> Result<Self> {
        check(dtype, sizes, dim_order, data)?;
        Ok(Self::trusted(dtype, sizes, dim_order, data))
    }

    /// As [`TensorView::trusted`].
    #[inline]
    pub(crate) fn trusted(
        dtype: DType,
        sizes: &'a [usize],
        dim_order: &'a [u8],
        data: &'a mut [u8],
    ) -> Self {
        Self {
            dtype,
            sizes,
            dim_order,
            data,
        }
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of each dimension.
    #[inline]
    pub fn sizes(&self) -> &'a [usize] {
        self.sizes
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.dtype.count_in(self.data.len())
    }

    /// The dimensions from outermost to innermost in memory.
    #[inline]
    pub fn dim_order(&self) -> &'a [u8] {
        self.dim_order
    }

    /// The size of each dimension, as a value of its own.
    #[inline]
    pub fn dims(&self) -> Dims {
        Dims::of_checked(self.sizes)
    }

    /// The distance in elements between neighbours along each dimension.
    #[inline]
    pub fn strides(&self) -> Dims {
        dims::strides_of(self.sizes, self.dim_order)
    }

    /// Whether the elements lie in memory in logical order.
    #[inline]
    pub fn is_row_major(&self) -> bool {
        dims::is_row_major(self.sizes, self.dim_order)
    }

    /// The memory, in the machine's byte order.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.data
    }

    /// The elements to write, in the order in which they lie in memory.
    ///
    /// # Errors
    /// If the tensor has another element type.
    #[inline]
    pub fn data_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        check_type::<T>(self.dtype)?;
        if self.data.is_empty() {
            return Ok(&mut []);
        }
        match bytemuck::try_cast_slice_mut(self.data) {
            Ok(slice) => Ok(slice),
            Err(why) => Err(unusable(self.dtype, "written", &why)),
        }
    }

    /// The same, read only.
    #[inline]
    pub fn view(&self) -> TensorView<'_> {
        TensorView::trusted(self.dtype, self.sizes, self.dim_order, self.data)
    }
}

fn check(dtype: DType, sizes: &[usize], dim_order: &[u8], data: &[u8]) -> Result<()> {
    dims::check_dim_order(dim_order, sizes.len())?;
    let needed = dims::numel(sizes)?.checked_mul(dtype.size());
    ensure!(
        needed == Some(data.len()),
        InvalidInput,
        "a tensor of {dtype} and shape {sizes:?} does not have {} bytes",
        data.len()
    );
    ensure!(
        data.is_empty() || data.as_ptr().addr().is_multiple_of(dtype.align()),
        InvalidInput,
        "the memory of a tensor of {dtype} is not aligned to {} bytes",
        dtype.align()
    );
    Ok(())
}

#[inline]
fn check_type<T: Element>(dtype: DType) -> Result<()> {
    if dtype != T::DTYPE {
        return Err(wrong_type(dtype, T::DTYPE));
    }
    Ok(())
}

// Errors are made apart, so that the functions that may fail are small enough to be inlined.

#[cold]
fn wrong_type(dtype: DType, wanted: DType) -> Error {
    Error::new(
        ErrorKind::InvalidInput,
        format!("a tensor of {dtype} cannot be used as one of {wanted}"),
    )
}

#[cold]
fn unusable(dtype: DType, how: &str, why: &dyn fmt::Display) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("a tensor of {dtype} cannot be {how}: {why}"),
    )
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.sizes)?;
        if !self.is_row_major() {
            write!(f, " in dim order {:?}", self.dim_order)?;
        }
        Ok(())
    }
}

impl fmt::Debug for TensorViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_exactly_the_elements_of_its_shape() {
        let data = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let view = TensorView::from_slice(&data, &[2, 3]).unwrap();
        assert_eq!(view.numel(), 6);
        assert_eq!(view.data::<f32>().unwrap(), data);
        assert!(TensorView::from_slice(&data, &[2, 2]).is_err());
        assert!(TensorView::from_slice(&data, &[usize::MAX, 6]).is_err());
    }

    #[test]
    fn elements_are_never_read_as_another_type() {
        let data = [1i32, 2];
        let view = TensorView::from_slice(&data, &[2]).unwrap();
        let error = view.data::<f32>().unwrap_err();
        assert_eq!(
            error.message(),
            "a tensor of i32 cannot be used as one of f32"
        );
    }

    #[test]
    fn memory_that_is_not_aligned_is_refused() {
        let words = [0u64; 3];
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        assert!(TensorView::new(DType::F32, &[2], &bytes[1..9]).is_err());
        assert!(TensorView::new(DType::F32, &[0], &bytes[1..1]).is_ok());
    }

    #[test]
    fn a_tensor_without_elements_can_be_read_from_any_memory() {
        let view = TensorView::new(DType::F64, &[0, 4], &[]).unwrap();
        assert_eq!(view.data::<f64>().unwrap(), &[] as &[f64]);
    }
}
