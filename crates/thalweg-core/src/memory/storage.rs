//! What a method instance holds: its values, its tensors, and the memory behind them.

use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use thalweg_format::ShapeDynamism;

use super::{Block, FileBytes, SharedBlock, Sides};
use crate::device::{DeviceAddress, DeviceMemory, PinnedMemory, Use};
use crate::plan::PlannedTensor;
use crate::tensor::{self, same_dims};
use crate::{DType, Error, ErrorKind, Result, Scalar, TensorView, ValueId, bail, ensure};

/// Index of a tensor of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TensorId(pub(crate) u32);

/// Index of a piece of memory of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StorageId(pub(crate) u32);

/// Everything that instructions refer to.
pub(crate) struct Values {
    /// By [`ValueId`].
    pub(crate) slots: Vec<Slot>,
    /// By [`TensorId`]. Cells, since a kernel resizes an output while it holds views of inputs;
    /// [`super::Arguments`] keeps the two apart.
    pub(super) tensors: Vec<UnsafeCell<TensorSlot>>,
    /// By [`StorageId`].
    pub(super) storages: Vec<UnsafeCell<Storage>>,
    /// Number of the running instruction, counted over the life of the instance.
    pub(super) call: u64,
}

// SAFETY: the cells are only used through `&mut Values`, or through an `Arguments` that borrows
// the values mutably; both stay on one thread at a time, and what the storages point to may be
// sent to another thread (blocks and files are `Send` and `Sync`, and callers' memory is borrowed
// only while a call runs).
unsafe impl Send for Values {}

/// One value.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// A number, or nothing.
    Scalar(Cell<Option<Scalar>>),
    String(Arc<str>),
    Tensor(TensorId),
    /// Integers that never change.
    Ints(Arc<[i64]>),
    /// Integers of which some are computed.
    IntList(Arc<[ValueId]>),
    DoubleList(Arc<[f64]>),
    BoolList(Arc<[bool]>),
    TensorList(Arc<[Option<ValueId>]>),
}

impl Slot {
    /// The number, if this is one.
    #[inline]
    pub(crate) fn number(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(cell) => cell.get(),
            _ => None,
        }
    }

    /// Whether there is no value.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::Scalar(cell) if cell.get().is_none())
    }
}

/// A tensor: where its memory is, and its shape of the moment.
pub(crate) struct TensorSlot {
    pub(crate) dtype: DType,
    sizes: Box<[usize]>,
    pub(crate) dim_order: Arc<[u8]>,
    resizable: bool,
    /// Bytes of the shape of the moment.
    len: usize,
    /// Whether it may become a view of another tensor. Then its place is not what was planned.
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
    pub(super) written_in: u64,
    pub(super) taken_in: u64,
    pub(super) copied_in: u64,
    pub(super) copy: Option<TensorCopy>,
}

/// A tensor's shape and bytes from before the call that overwrites it, in the scratch.
#[derive(Clone, Copy)]
pub(super) struct TensorCopy {
    pub(super) sizes: NonNull<usize>,
    pub(super) data: NonNull<u8>,
    pub(super) len: usize,
}

/// A piece of memory.
pub(crate) struct Storage {
    data: NonNull<u8>,
    len: usize,
    writable: bool,
    owner: Owner,
}

enum Owner {
    /// The instance, for planned memory.
    Instance { _block: Block },
    /// The instance, for memory that grows as needed.
    Growing { _block: Block },
    /// All instances: a constant that was copied out of the file.
    Constant { _block: Arc<Block> },
    /// A state, and all instances that share it.
    State { block: SharedBlock },
    /// The file.
    File { _file: FileBytes },
    /// The caller, while a call runs.
    Caller,
    /// The instance, for memory that a device copies from and to by itself. With the index of the
    /// device.
    Pinned {
        memory: Box<dyn PinnedMemory>,
        device: usize,
    },
    /// The instance, for memory of the device with this index. The host cannot use it.
    Device {
        _memory: Arc<dyn DeviceMemory>,
        address: DeviceAddress,
        len: usize,
        device: usize,
    },
    /// Memory of the device with this index: another storage of the instance, or a caller, while a
    /// call runs. The host cannot use it.
    DevicePlace {
        address: DeviceAddress,
        len: usize,
        device: usize,
    },
}

/// Where a tensor lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// On the host.
    Host {
        data: *mut u8,
        storage: StorageId,
        offset: usize,
        len: usize,
        /// The index of the device that reaches this memory by itself, if one does.
        pinned: Option<usize>,
        writable: bool,
    },
    /// On the device with an index.
    Device {
        device: usize,
        address: DeviceAddress,
        len: usize,
    },
}

impl Storage {
    /// Memory of the instance.
    pub(crate) fn block(block: Block) -> Self {
        Self {
            data: pointer(&block),
            len: block.len(),
            writable: true,
            owner: Owner::Instance { _block: block },
        }
    }

    /// Memory of the instance that grows as needed, and is empty now.
    pub(crate) fn growing() -> Result<Self> {
        let block = Block::zeroed(0)?;
        Ok(Self {
            data: pointer(&block),
            len: 0,
            writable: true,
            owner: Owner::Growing { _block: block },
        })
    }

    /// A constant that was copied out of its file, which other instances have, too.
    pub(crate) fn constant(block: Arc<Block>) -> Self {
        Self {
            data: pointer(&block),
            len: block.len(),
            writable: false,
            owner: Owner::Constant { _block: block },
        }
    }

    /// A buffer of a state. Whoever runs the instance holds the state's lock meanwhile.
    pub(crate) fn state(block: SharedBlock) -> Self {
        Self {
            data: pointer(block.block()),
            len: block.len(),
            writable: true,
            owner: Owner::State { block },
        }
    }

    /// A part of a file.
    pub(crate) fn file(file: &FileBytes, range: &Range<usize>) -> Result<Self> {
        let Some(bytes) = file.bytes().get(range.clone()) else {
            bail!(Internal, "the file has no bytes {range:?}");
        };
        Ok(Self {
            data: NonNull::from(bytes).cast(),
            len: bytes.len(),
            writable: false,
            owner: Owner::File {
                _file: file.clone(),
            },
        })
    }

    /// Memory that the device with this index copies from and to by itself.
    pub(crate) fn pinned(memory: Box<dyn PinnedMemory>, device: usize) -> Self {
        Self {
            data: NonNull::new(memory.as_ptr()).unwrap_or(NonNull::<u64>::dangling().cast()),
            len: memory.len(),
            writable: true,
            owner: Owner::Pinned { memory, device },
        }
    }

    /// Memory of the device with this index. To the host it has no bytes.
    pub(crate) fn device(memory: Arc<dyn DeviceMemory>, device: usize) -> Self {
        Self {
            owner: Owner::Device {
                address: memory.address(),
                len: memory.len(),
                _memory: memory,
                device,
            },
            writable: true,
            ..Self::caller()
        }
    }

    /// Memory of the device with this index that belongs elsewhere.
    pub(crate) fn device_place(address: DeviceAddress, len: usize, device: usize) -> Self {
        Self {
            owner: Owner::DevicePlace {
                address,
                len,
                device,
            },
            writable: true,
            ..Self::caller()
        }
    }

    /// A place for memory that the caller lends for the time of a call.
    pub(crate) fn caller() -> Self {
        Self {
            data: NonNull::<u64>::dangling().cast(),
            len: 0,
            writable: false,
            owner: Owner::Caller,
        }
    }

    #[inline]
    pub(super) fn grows(&self) -> bool {
        matches!(self.owner, Owner::Growing { .. })
    }

    /// Whether tensors in it have the room that the program planned for them.
    pub(super) fn is_planned(&self) -> bool {
        !matches!(self.owner, Owner::Growing { .. } | Owner::Caller)
    }

    #[inline]
    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }

    /// An address in memory of a device, `len` bytes of which lie within it.
    pub(crate) fn address(&self, offset: usize, len: usize) -> Result<DeviceAddress> {
        let end = offset.checked_add(len);
        match self.on_device() {
            Some((_, address, room)) if end.is_some_and(|end| end <= room) => {
                Ok(address.offset(offset))
            }
            _ => bail!(Internal, "a copy starts beyond its memory on the device"),
        }
    }

    /// Who has the named buffer that this is, if it is one.
    pub(crate) fn state_sides(&self) -> Option<&Arc<Sides>> {
        match &self.owner {
            Owner::State { block } => Some(block.sides()),
            _ => None,
        }
    }

    /// The device with the memory, where it is, and how large.
    fn on_device(&self) -> Option<(usize, DeviceAddress, usize)> {
        match &self.owner {
            Owner::Device {
                address,
                len,
                device,
                ..
            }
            | Owner::DevicePlace {
                address,
                len,
                device,
            } => Some((*device, *address, *len)),
            _ => None,
        }
    }

    /// Bytes that this instance alone holds.
    pub(crate) fn owned_bytes(&self) -> usize {
        match &self.owner {
            Owner::Instance { .. } | Owner::Growing { .. } | Owner::Pinned { .. } => self.len,
            _ => 0,
        }
    }

    /// Makes a growing storage at least `len` bytes large; its content is lost if it must grow.
    #[inline]
    pub(super) fn grow(&mut self, len: usize) -> Result<()> {
        if self.len < len && self.grows() {
            self.grow_to(len)?;
        }
        Ok(())
    }

    #[cold]
    fn grow_to(&mut self, len: usize) -> Result<()> {
        let spare = self.len.min(64 << 20);
        self.replace(Block::zeroed(len.max(self.len + spare))?);
        Ok(())
    }

    /// Makes a growing storage hold a copy of bytes.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> Result<()> {
        if self.grows() {
            self.replace(Block::copy_of(bytes)?);
        }
        Ok(())
    }

    fn replace(&mut self, block: Block) {
        self.data = pointer(&block);
        self.len = block.len();
        self.owner = Owner::Growing { _block: block };
    }

    /// An error unless `len` bytes at `offset` lie within.
    #[inline]
    pub(super) fn check(&self, offset: usize, len: usize) -> Result<()> {
        if offset.checked_add(len).is_some_and(|end| end <= self.len) {
            return Ok(());
        }
        Err(self.absent(len))
    }

    /// Memory that has not been written yet is not there at all in a growing or lent storage.
    #[cold]
    fn absent(&self, len: usize) -> Error {
        let message = match self.owner {
            Owner::Device { .. } | Owner::DevicePlace { .. } => {
                "a tensor on a device is used on the host".to_string()
            }
            _ => format!(
                "a tensor of {len} bytes is read that has no memory yet: the program uses it \
                 before anything was written to it"
            ),
        };
        Error::new(ErrorKind::InvalidProgram, message)
    }

    /// # Safety
    /// `check` has passed, and nobody writes to these bytes for the lifetime `'a`, nor does the
    /// storage grow or go away.
    #[inline]
    pub(super) unsafe fn bytes<'a>(&self, offset: usize, len: usize) -> &'a [u8] {
        self.accessed(offset, len, Use::Read);
        // SAFETY: within the storage, initialized (blocks start as zeros), and see above.
        unsafe { slice::from_raw_parts(self.data.as_ptr().add(offset), len) }
    }

    /// # Safety
    /// As for `bytes`, the storage is writable, and nobody else reads these bytes either.
    #[inline]
    pub(super) unsafe fn bytes_mut<'a>(&self, offset: usize, len: usize) -> &'a mut [u8] {
        self.accessed(offset, len, Use::Write);
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr().add(offset), len) }
    }

    /// Tells memory that a device reaches by itself that the host is about to use it.
    #[inline]
    fn accessed(&self, offset: usize, len: usize, by_host: Use) {
        if !cfg!(debug_assertions) {
            return;
        }
        if let Owner::Pinned { memory, .. } = &self.owner {
            memory.host_access(offset, len, by_host);
        }
    }
}

fn pointer(block: &Block) -> NonNull<u8> {
    // A block's pointer is never null; this avoids saying so with `unsafe`.
    NonNull::new(block.as_ptr()).unwrap_or(NonNull::dangling())
}

impl TensorSlot {
    /// A tensor as planned, or at another place.
    pub(crate) fn new(
        planned: &PlannedTensor,
        place: Option<(StorageId, usize)>,
        may_move: bool,
    ) -> Result<Self> {
        let (storage, offset) = place.unwrap_or((planned.storage, planned.offset));
        let sizes = planned.sizes.clone();
        // The shape of an unbounded tensor is known only when it is written.
        let unbounded = planned.dynamism == ShapeDynamism::DynamicUnbound;
        let len = match bytes(&sizes, planned.dtype) {
            Err(_) if unbounded => 0,
            len => len?,
        };
        Ok(Self {
            dtype: planned.dtype,
            sizes,
            dim_order: planned.dim_order.clone(),
            resizable: planned.dynamism != ShapeDynamism::Static,
            len,
            may_move,
            storage,
            offset,
            capacity: planned.capacity,
            home: (storage, offset, planned.capacity),
            written_in: 0,
            taken_in: 0,
            copied_in: 0,
            copy: None,
        })
    }

    /// Makes the tensor a view of another one, or changes nothing. `planned`: the source may grow
    /// to its capacity; else it is as large as it is.
    pub(super) fn become_view(
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

    /// Moves the tensor back to its planned place.
    pub(super) fn go_home(&mut self) {
        (self.storage, self.offset, self.capacity) = self.home;
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
}

impl TensorSlot {
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

#[cold]
fn no_value(id: ValueId) -> Error {
    let message = format!("there is no value {}", id.index());
    Error::new(ErrorKind::Internal, message)
}

/// Bytes of a shape.
fn bytes(sizes: &[usize], dtype: DType) -> Result<usize> {
    match tensor::numel(sizes)?.checked_mul(dtype.size()) {
        Some(bytes) => Ok(bytes),
        None => bail!(OutOfBounds, "a tensor of shape {sizes:?} is too large"),
    }
}

impl Values {
    pub(crate) fn new(slots: Vec<Slot>, tensors: Vec<TensorSlot>, storages: Vec<Storage>) -> Self {
        Self {
            slots,
            tensors: tensors.into_iter().map(UnsafeCell::new).collect(),
            storages: storages.into_iter().map(UnsafeCell::new).collect(),
            call: 0,
        }
    }

    #[inline]
    pub(crate) fn slot(&self, id: ValueId) -> Result<&Slot> {
        self.slots.get(id.index()).ok_or_else(|| no_value(id))
    }

    /// Gives a tensor another shape, while no call runs.
    pub(crate) fn resize(&mut self, id: TensorId, sizes: &[usize]) -> Result<()> {
        let tensor = self.tensors[id.0 as usize].get_mut();
        let storage = self.storages[tensor.storage.0 as usize].get_mut();
        tensor.resize(sizes, !storage.is_planned())
    }

    /// Makes room for a tensor whose memory grows.
    pub(super) fn reserve(&mut self, id: TensorId) -> Result<()> {
        let tensor = self.tensors[id.0 as usize].get_mut();
        let storage = self.storages[tensor.storage.0 as usize].get_mut();
        storage.grow(tensor.offset.saturating_add(tensor.len))
    }

    /// A tensor's content, while no call runs.
    pub(crate) fn view(&self, id: TensorId) -> Result<TensorView<'_>> {
        // SAFETY: every change of a tensor or its storage goes through `&mut Values`, and the view
        // borrows the values.
        unsafe {
            let tensor = &*self.tensors[id.0 as usize].get();
            let storage = &*self.storages[tensor.storage.0 as usize].get();
            let len = tensor.len();
            storage.check(tensor.offset, len)?;
            let bytes = storage.bytes(tensor.offset, len);
            Ok(TensorView::trusted(
                tensor.dtype,
                &tensor.sizes,
                &tensor.dim_order,
                bytes,
            ))
        }
    }

    /// Copies bytes into a tensor of just that size, while no call runs.
    pub(crate) fn write(&mut self, id: TensorId, bytes: &[u8]) -> Result<()> {
        let tensor = self.tensors[id.0 as usize].get_mut();
        let storage = self.storages[tensor.storage.0 as usize].get_mut();
        let len = tensor.len();
        ensure!(
            len == bytes.len(),
            Internal,
            "{} bytes for a tensor of {len}",
            bytes.len()
        );
        storage.grow(tensor.offset + len)?;
        ensure!(
            storage.writable,
            InvalidProgram,
            "an input is stored in constant memory"
        );
        storage.check(tensor.offset, len)?;
        // SAFETY: checked; `&mut self` excludes every other view of the instance's memory, and
        // `bytes` cannot be a part of it.
        unsafe { storage.bytes_mut(tensor.offset, len) }.copy_from_slice(bytes);
        Ok(())
    }

    /// Copies bytes from one storage to another, while no kernel runs, and no copy uses them.
    pub(super) fn stage(
        &mut self,
        from: StorageId,
        start: usize,
        to: StorageId,
        range: Range<usize>,
    ) -> Result<()> {
        let len = range.len();
        ensure!(from != to, Internal, "memory is copied to itself");
        // SAFETY: `&mut self` excludes every other view, and the two storages are different memory.
        unsafe {
            let from = &*self.storages[from.0 as usize].get();
            let to = &*self.storages[to.0 as usize].get();
            from.check(start, len)?;
            to.check(range.start, len)?;
            to.bytes_mut(range.start, len)
                .copy_from_slice(from.bytes(start, len));
        }
        Ok(())
    }

    /// Lets a storage refer to a caller's memory.
    ///
    /// # Safety
    /// The bytes stay valid and unchanged until [`Values::unlend`] is called, or until no view is
    /// asked for any more that could be of this storage.
    pub(crate) unsafe fn lend(&mut self, id: StorageId, bytes: &[u8]) {
        let storage = self.storages[id.0 as usize].get_mut();
        if matches!(storage.owner, Owner::Caller) {
            storage.data = NonNull::from(bytes).cast();
            storage.len = bytes.len();
        }
    }

    /// Forgets a caller's memory.
    pub(crate) fn unlend(&mut self, id: StorageId) {
        let storage = self.storages[id.0 as usize].get_mut();
        if matches!(storage.owner, Owner::Caller) {
            *storage = Storage::caller();
        }
    }

    /// Whether a storage is memory that the caller lends.
    pub(super) fn is_callers(&self, id: StorageId) -> bool {
        // SAFETY: as in `view`.
        let storage = unsafe { &*self.storages[id.0 as usize].get() };
        matches!(storage.owner, Owner::Caller)
    }

    /// An address in the memory of a device, `len` bytes of which lie within it.
    pub(crate) fn device_address(
        &self,
        id: StorageId,
        offset: usize,
        len: usize,
    ) -> Result<DeviceAddress> {
        // SAFETY: as in `view`.
        unsafe { &*self.storages[id.0 as usize].get() }.address(offset, len)
    }

    /// Makes a storage refer to memory of its device that belongs elsewhere.
    pub(crate) fn set_device_place(&mut self, id: StorageId, to: DeviceAddress, bytes: usize) {
        let storage = self.storages[id.0 as usize].get_mut();
        if let Owner::DevicePlace { address, len, .. } = &mut storage.owner {
            (*address, *len) = (to, bytes);
        }
    }

    /// The named buffer that a storage is, if it is one.
    pub(crate) fn state_block(&self, id: StorageId) -> Option<&SharedBlock> {
        // SAFETY: as in `view`.
        match unsafe { &(*self.storages[id.0 as usize].get()).owner } {
            Owner::State { block } => Some(block),
            _ => None,
        }
    }

    /// Where a tensor lies, while no kernel runs, and how many bytes its shape has.
    pub(crate) fn place(&self, id: TensorId) -> Result<Place> {
        // SAFETY: as in `view`.
        let tensor = unsafe { &*self.tensors[id.0 as usize].get() };
        self.place_in(tensor.storage, tensor.offset, tensor.len)
    }

    /// Where a part of a storage lies, while no kernel runs.
    pub(crate) fn place_in(&self, id: StorageId, offset: usize, len: usize) -> Result<Place> {
        // SAFETY: as in `view`.
        let storage = unsafe { &*self.storages[id.0 as usize].get() };
        if let Some((device, address, room)) = storage.on_device() {
            ensure!(
                offset.checked_add(len).is_some_and(|end| end <= room),
                InvalidProgram,
                "a tensor ends beyond its memory on the device"
            );
            return Ok(Place::Device {
                device,
                address: address.offset(offset),
                len,
            });
        }
        storage.check(offset, len)?;
        Ok(Place::Host {
            // SAFETY: checked.
            data: unsafe { storage.data.as_ptr().add(offset) },
            storage: id,
            offset,
            len,
            pinned: match storage.owner {
                Owner::Pinned { device, .. } => Some(device),
                _ => None,
            },
            writable: storage.writable,
        })
    }

    /// The storage and the bytes of a tensor that lies on the host, as large as it may become; and
    /// those of its planned place, if it may be a view now and go back there.
    pub(crate) fn host_ranges(
        &self,
        id: TensorId,
    ) -> impl Iterator<Item = (StorageId, Range<usize>)> {
        // SAFETY: as in `view`.
        let tensor = unsafe { &*self.tensors[id.0 as usize].get() };
        let range = |offset: usize, len: usize| offset..offset.saturating_add(len);
        let now = range(tensor.offset, tensor.capacity.max(tensor.len));
        let (storage, offset, capacity) = tensor.home;
        let home = tensor.may_move.then(|| (storage, range(offset, capacity)));
        [Some((tensor.storage, now)), home].into_iter().flatten()
    }

    /// How many bytes the shape of a tensor has.
    pub(crate) fn len(&self, id: TensorId) -> usize {
        // SAFETY: as in `view`.
        unsafe { &*self.tensors[id.0 as usize].get() }.len
    }

    /// The type, shape and order of a tensor.
    pub(crate) fn layout(&self, id: TensorId) -> (DType, &[usize], &[u8]) {
        // SAFETY: as in `view`.
        let tensor = unsafe { &*self.tensors[id.0 as usize].get() };
        (tensor.dtype, &tensor.sizes, &tensor.dim_order)
    }

    /// Whether a tensor lies in state that other instances may write once this call is over.
    pub(crate) fn is_shared_state(&self, id: TensorId) -> bool {
        // SAFETY: as in `view`.
        let owner = unsafe {
            let tensor = &*self.tensors[id.0 as usize].get();
            &(*self.storages[tensor.storage.0 as usize].get()).owner
        };
        matches!(owner, Owner::State { .. })
    }

    /// A tensor's shape over a copy of its content.
    pub(crate) fn view_of_copy<'a>(
        &'a self,
        id: TensorId,
        copy: &'a Block,
    ) -> Result<TensorView<'a>> {
        // SAFETY: as in `view`.
        let tensor = unsafe { &*self.tensors[id.0 as usize].get() };
        TensorView::with_dim_order(tensor.dtype, &tensor.sizes, &tensor.dim_order, copy.bytes())
    }

    /// Bytes that this instance alone holds.
    pub(crate) fn owned_bytes(&self) -> usize {
        self.storages
            .iter()
            // SAFETY: as in `view`.
            .map(|storage| unsafe { &*storage.get() }.owned_bytes())
            .sum()
    }
}
