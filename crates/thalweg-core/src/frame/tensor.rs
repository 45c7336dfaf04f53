//! Tensors: a shape of the moment, and a location.

use std::ptr::NonNull;
use std::sync::Arc;

use thalweg_format::ShapeDynamism;

use super::StorageId;
use crate::tensor::{self, same_dims};
use crate::{DType, Result, bail, ensure};

/// The element type, shape and dim order that a program plans for a tensor.
#[derive(Clone, Debug)]
pub struct TensorSpec {
    /// The element type.
    pub dtype: DType,
    /// The shape, or its upper bounds.
    pub sizes: Box<[usize]>,
    /// The dimensions from outermost to innermost in memory.
    pub dim_order: Arc<[u8]>,
    /// How the shape may change.
    pub dynamism: ShapeDynamism,
    /// Bytes of the largest shape; without meaning for storages that grow.
    pub capacity: usize,
}

impl TensorSpec {
    /// A tensor of one shape, in the logical order of its dimensions.
    ///
    /// # Errors
    /// If the shape is too large.
    pub fn new(dtype: DType, sizes: &[usize]) -> Result<Self> {
        let spec = Self {
            dtype,
            sizes: sizes.into(),
            dim_order: (0..sizes.len()).map(|dim| dim as u8).collect(),
            dynamism: ShapeDynamism::Static,
            capacity: bytes(sizes, dtype)?,
        };
        spec.check()?;
        Ok(spec)
    }

    /// Checks that the parts fit each other.
    ///
    /// # Errors
    /// If the dim order is none of so many dimensions, or the capacity is not the size of the shape.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.sizes.len() <= tensor::MAX_RANK,
            InvalidProgram,
            "a tensor has {} dimensions",
            self.sizes.len()
        );
        tensor::check_dim_order(&self.dim_order, self.sizes.len())?;
        if self.dynamism == ShapeDynamism::DynamicUnbound {
            return Ok(());
        }
        let bytes = bytes(&self.sizes, self.dtype)?;
        ensure!(
            bytes == self.capacity && isize::try_from(bytes).is_ok(),
            InvalidProgram,
            "a tensor of {bytes} bytes has a capacity of {}",
            self.capacity
        );
        Ok(())
    }
}

/// A tensor of a frame.
pub struct TensorSlot {
    pub(crate) dtype: DType,
    sizes: Box<[usize]>,
    pub(crate) dim_order: Arc<[u8]>,
    resizable: bool,
    /// Bytes of the shape of the moment.
    len: usize,
    /// True if an instruction may make it a view of another tensor. Then its location is not the
    /// planned one.
    pub(super) may_move: bool,
    pub(crate) storage: StorageId,
    /// In bytes, from the start of the storage.
    pub(crate) offset: usize,
    /// Bytes that the tensor may grow to; without meaning for storages that grow.
    pub(crate) capacity: usize,
    /// The planned storage, offset and capacity.
    home: (StorageId, usize, usize),
    /// The call that writes this tensor, the one that has been given it, and the one that has a
    /// copy of it to read, with the copy.
    pub(crate) written_in: u64,
    pub(crate) taken_in: u64,
    pub(crate) copied_in: u64,
    pub(crate) copy: Option<InputCopy>,
}

/// A tensor's shape and bytes from before the call that overwrites it, in the scratch.
#[derive(Clone, Copy)]
pub(crate) struct InputCopy {
    pub(crate) sizes: NonNull<usize>,
    pub(crate) data: NonNull<u8>,
    pub(crate) len: usize,
}

impl TensorSlot {
    /// A tensor at a storage and an offset in it, in bytes. `may_move`: an instruction may make it a
    /// view of another tensor.
    ///
    /// # Errors
    /// If its shape is too large.
    pub fn new(
        spec: &TensorSpec,
        (storage, offset): (StorageId, usize),
        may_move: bool,
    ) -> Result<Self> {
        let sizes = spec.sizes.clone();
        // The shape of an unbounded tensor is known only when it is written.
        let unbounded = spec.dynamism == ShapeDynamism::DynamicUnbound;
        let len = match bytes(&sizes, spec.dtype) {
            Err(_) if unbounded => 0,
            len => len?,
        };
        Ok(Self {
            dtype: spec.dtype,
            sizes,
            dim_order: spec.dim_order.clone(),
            resizable: spec.dynamism != ShapeDynamism::Static,
            len,
            may_move,
            storage,
            offset,
            capacity: spec.capacity,
            home: (storage, offset, spec.capacity),
            written_in: 0,
            taken_in: 0,
            copied_in: 0,
            copy: None,
        })
    }

    /// Makes the tensor a view of another one, or changes nothing. `planned`: the source may grow
    /// to its capacity; else it is as large as it is.
    pub(crate) fn become_view(
        &mut self,
        source: &Self,
        sizes: &[usize],
        planned: bool,
    ) -> Result<()> {
        ensure!(
            self.may_move,
            Internal,
            "a tensor would become a view that no instruction makes one"
        );
        ensure!(
            self.dtype == source.dtype,
            Operator,
            "a view of {} cannot be one of {}",
            source.dtype,
            self.dtype
        );
        ensure!(
            bytes(sizes, self.dtype)? == source.len,
            Operator,
            "a tensor of shape {:?} cannot be viewed as {sizes:?}",
            source.sizes
        );
        self.check_shape(sizes)?;
        self.sizes.copy_from_slice(sizes);
        self.len = source.len;
        self.storage = source.storage;
        self.offset = source.offset;
        self.capacity = if planned {
            source.capacity.max(source.len)
        } else {
            source.len
        };
        Ok(())
    }

    /// Moves the tensor back to its planned location.
    pub(crate) fn go_home(&mut self) {
        (self.storage, self.offset, self.capacity) = self.home;
    }

    /// The planned location, if the tensor may be elsewhere.
    pub(super) fn planned_if_movable(&self) -> Option<(StorageId, usize, usize)> {
        self.may_move.then_some(self.home)
    }

    /// The shape of the moment.
    #[inline]
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Bytes of the shape of the moment.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Gives the tensor another shape. An error if it is not allowed to have it.
    #[inline]
    pub(crate) fn resize(&mut self, sizes: &[usize], grows: bool) -> Result<()> {
        if same_dims(&self.sizes, sizes) {
            return Ok(());
        }
        self.resize_to_other(sizes, grows)
    }

    #[inline(never)]
    fn resize_to_other(&mut self, sizes: &[usize], grows: bool) -> Result<()> {
        self.check_shape(sizes)?;
        let len = bytes(sizes, self.dtype)?;
        ensure!(
            grows || len <= self.capacity,
            OutOfBounds,
            "the result has shape {sizes:?} of {}, but the program planned for at most {} bytes",
            self.dtype,
            self.capacity
        );
        self.sizes.copy_from_slice(sizes);
        self.len = len;
        Ok(())
    }

    /// An error unless the tensor may have a shape, apart from how large it is.
    fn check_shape(&self, sizes: &[usize]) -> Result<()> {
        ensure!(
            sizes.len() == self.sizes.len(),
            OutOfBounds,
            "the result has shape {sizes:?}, but the program planned for {} dimensions",
            self.sizes.len()
        );
        ensure!(
            self.resizable || *self.sizes == *sizes,
            OutOfBounds,
            "the result has shape {sizes:?}, but the program planned for {:?}",
            self.sizes
        );
        Ok(())
    }
}

/// The bytes of a shape.
fn bytes(sizes: &[usize], dtype: DType) -> Result<usize> {
    match tensor::numel(sizes)?.checked_mul(dtype.size()) {
        Some(bytes) => Ok(bytes),
        None => bail!(OutOfBounds, "a tensor of shape {sizes:?} is too large"),
    }
}
