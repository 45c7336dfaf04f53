//! Lists of dimensions, and what follows from shapes and dim orders.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::{Error, ErrorKind, Result, ensure};

/// The largest number of dimensions that a tensor can have, as in upstream.
pub const MAX_RANK: usize = 16;

/// A short list of sizes, strides or dimensions that lives on the stack.
///
/// Kernels compute shapes with it without allocating; it derefs to a slice.
#[derive(Clone, Copy)]
pub struct Dims {
    len: usize,
    dims: [usize; MAX_RANK],
}

impl Dims {
    /// No dimensions: the shape of a scalar.
    #[inline]
    pub const fn new() -> Self {
        Self {
            len: 0,
            dims: [0; MAX_RANK],
        }
    }

    /// `len` times `value`. An error beyond [`MAX_RANK`].
    #[inline]
    pub fn filled(value: usize, len: usize) -> Result<Self> {
        if len > MAX_RANK {
            return Err(too_many(len));
        }
        let mut dims = Self::new();
        dims.len = len;
        dims.dims[..len].fill(value);
        Ok(dims)
    }

    /// A copy of a slice. An error beyond [`MAX_RANK`].
    #[inline]
    pub fn from_slice(slice: &[usize]) -> Result<Self> {
        if slice.len() > MAX_RANK {
            return Err(too_many(slice.len()));
        }
        Ok(Self::of_checked(slice))
    }

    /// A copy of a slice that is known to be no longer than [`MAX_RANK`]; what is beyond is left out.
    #[inline]
    pub(super) fn of_checked(slice: &[usize]) -> Self {
        let mut dims = Self::new();
        dims.assign(slice);
        dims
    }

    #[inline]
    fn assign(&mut self, slice: &[usize]) {
        // Not by the library's copy, whose call takes longer than a few numbers.
        for (dim, &value) in self.dims.iter_mut().zip(slice) {
            *dim = value;
        }
        self.len = slice.len().min(MAX_RANK);
    }

    /// Adds a dimension at the inner end. An error beyond [`MAX_RANK`].
    #[inline]
    pub fn push(&mut self, value: usize) -> Result<()> {
        match self.dims.get_mut(self.len) {
            Some(dim) => {
                *dim = value;
                self.len += 1;
                Ok(())
            }
            None => Err(too_many(self.len + 1)),
        }
    }

    /// Adds a dimension before position `at`. An error beyond [`MAX_RANK`], or if there is no
    /// such position.
    pub fn insert(&mut self, at: usize, value: usize) -> Result<()> {
        if self.len >= MAX_RANK {
            return Err(too_many(self.len + 1));
        }
        ensure!(
            at <= self.len,
            Internal,
            "no position {at} among {} dimensions",
            self.len
        );
        self.dims.copy_within(at..self.len, at + 1);
        self.dims[at] = value;
        self.len += 1;
        Ok(())
    }

    /// Takes the dimension at position `at` away, if there is one.
    pub fn remove(&mut self, at: usize) {
        if at < self.len {
            self.dims.copy_within(at + 1..self.len, at);
            self.len -= 1;
        }
    }
}

impl Default for Dims {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Dims {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        &self.dims[..self.len]
    }
}

impl DerefMut for Dims {
    #[inline]
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.dims[..self.len]
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl PartialEq for Dims {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        same_dims(self, other)
    }
}

impl Eq for Dims {}

impl PartialEq<[usize]> for Dims {
    #[inline]
    fn eq(&self, other: &[usize]) -> bool {
        same_dims(self, other)
    }
}

#[cold]
fn too_many(len: usize) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("{len} dimensions are more than the {MAX_RANK} that tensors can have"),
    )
}

/// Whether two lists of sizes, or two dim orders, are the same. What `==` does for slices is a call of
/// the system's library, which takes longer than the few numbers of a shape.
#[inline]
pub fn same_dims<T: PartialEq>(a: &[T], b: &[T]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

static IDENTITY: [u8; MAX_RANK] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The dim order of a row-major tensor of a rank. An error beyond [`MAX_RANK`].
#[inline]
pub fn identity_order(rank: usize) -> Result<&'static [u8]> {
    match IDENTITY.get(..rank) {
        Some(order) => Ok(order),
        None => Err(too_many(rank)),
    }
}

/// How many elements a shape has. An error if that overflows.
pub fn numel(sizes: &[usize]) -> Result<usize> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    sizes
        .iter()
        .try_fold(1usize, |product, &size| product.checked_mul(size))
        .ok_or_else(|| {
            Error::new(
                ErrorKind::OutOfBounds,
                format!("a tensor of shape {sizes:?} has more elements than memory can hold"),
            )
        })
}

/// The stride of each dimension, in elements, of a dense tensor.
///
/// A dimension of size 0 counts as 1, as in upstream. `dim_order` must be a permutation of the
/// dimensions; sizes and order that came through a [`TensorView`](crate::TensorView) are.
pub fn strides_of(sizes: &[usize], dim_order: &[u8]) -> Dims {
    let mut strides = Dims::new();
    strides.len = sizes.len().min(MAX_RANK);
    let mut stride = 1usize;
    for &dim in dim_order.iter().rev() {
        let dim = usize::from(dim);
        strides[dim] = stride;
        stride = stride.saturating_mul(sizes[dim].max(1));
    }
    strides
}

/// Whether the elements lie in memory in logical (row-major) order. Dimensions of size 1 may
/// stand anywhere in the dim order; a tensor without elements is row-major.
#[inline]
pub fn is_row_major(sizes: &[usize], dim_order: &[u8]) -> bool {
    let mut last = None;
    let mut in_order = true;
    for &dim in dim_order {
        match sizes.get(usize::from(dim)) {
            Some(0) => return true,
            Some(1) | None => {}
            Some(_) => {
                in_order &= last < Some(dim);
                last = Some(dim);
            }
        }
    }
    in_order
}

/// An error unless `dim_order` names each of `rank` dimensions once.
pub(crate) fn check_dim_order(dim_order: &[u8], rank: usize) -> Result<()> {
    if rank > MAX_RANK {
        return Err(too_many(rank));
    }
    let mut seen = 0u32;
    for &dim in dim_order {
        if usize::from(dim) < rank {
            seen |= 1 << dim;
        }
    }
    ensure!(
        dim_order.len() == rank && seen == (1u32 << rank) - 1,
        InvalidInput,
        "{dim_order:?} is not an order of {rank} dimensions"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_follow_the_dim_order() {
        assert_eq!(*strides_of(&[2, 3, 4], &[0, 1, 2]), [12, 4, 1]);
        assert_eq!(*strides_of(&[1, 3, 4, 5], &[0, 2, 3, 1]), [60, 1, 15, 3]);
        assert_eq!(*strides_of(&[2, 0, 4], &[0, 1, 2]), [4, 4, 1]);
    }

    #[test]
    fn dimensions_of_size_one_do_not_disturb_the_order() {
        assert!(is_row_major(&[2, 1, 4], &[1, 0, 2]));
        assert!(is_row_major(&[8, 1, 3, 3], &[0, 2, 3, 1]));
        assert!(!is_row_major(&[8, 2, 3, 3], &[0, 2, 3, 1]));
        assert!(is_row_major(&[8, 2, 0, 3], &[0, 2, 3, 1]));
        assert!(is_row_major(&[], &[]));
    }

    #[test]
    fn a_shape_too_large_to_count_is_an_error() {
        assert!(numel(&[usize::MAX, 2]).is_err());
        assert_eq!(numel(&[usize::MAX, 2, 0]).unwrap(), 0);
        assert_eq!(numel(&[]).unwrap(), 1);
    }

    #[test]
    fn a_dim_order_names_each_dimension_once() {
        assert!(check_dim_order(&[1, 0], 2).is_ok());
        assert!(check_dim_order(&[0, 0], 2).is_err());
        assert!(check_dim_order(&[0, 2], 2).is_err());
        assert!(check_dim_order(&[0], 2).is_err());
        assert!(check_dim_order(&[], 0).is_ok());
    }
}
