//! The frame of a method instance: its values, its tensors, and the memory behind them.
//!
//! A value is a number, a string, a list, or a tensor ([`Slot`]). A tensor is a shape of the moment
//! and a location ([`TensorSlot`]): a storage, and an offset in it. A storage is memory of the host or
//! of a device ([`Storage`]).
//!
//! Tensors and storages are in cells, since a kernel resizes an output while it holds views of inputs.
//! [`Arguments`](crate::Arguments) keeps the two apart; nobody else looks into the cells while one
//! exists, since it borrows the frame mutably.

mod slot;
mod storage;
mod tensor;

use std::cell::UnsafeCell;
use std::ops::Range;

pub use slot::Slot;
pub use storage::Storage;
pub(crate) use tensor::InputCopy;
pub use tensor::{TensorSlot, TensorSpec};

use crate::device::DeviceAddress;
use crate::memory::Block;
use crate::{DType, Error, ErrorKind, Result, TensorView, ValueId, bail, ensure};

/// Index of a tensor of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub u32);

/// Index of a storage of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageId(pub u32);

/// The values, tensors and storages that the instructions of a method instance refer to.
pub struct Frame {
    /// By [`ValueId`].
    pub slots: Vec<Slot>,
    /// By [`TensorId`].
    tensors: Vec<UnsafeCell<TensorSlot>>,
    /// By [`StorageId`].
    storages: Vec<UnsafeCell<Storage>>,
    /// Number of the running instruction, counted over the life of the instance.
    call: u64,
}

// SAFETY: the cells are only used through `&mut Frame`, through `&Frame` while nothing changes them, or
// through an `Arguments` that borrows the frame mutably; all stay on one thread at a time, and what
// the storages point to may be sent to another thread (blocks and files are `Send` and `Sync`, and
// callers' memory is borrowed only while a call runs).
unsafe impl Send for Frame {}

/// The location of a tensor, or of a part of a storage.
#[derive(Clone, Copy, Debug)]
pub enum Location {
    /// On the host.
    Host(HostLocation),
    /// On a device.
    Device(DeviceLocation),
}

/// A range of host memory.
#[derive(Clone, Copy, Debug)]
pub struct HostLocation {
    /// The first byte.
    pub data: *mut u8,
    /// The storage that it lies in.
    pub storage: StorageId,
    /// In bytes, from the start of the storage.
    pub offset: usize,
    /// In bytes.
    pub len: usize,
    /// Index of the device that the memory is pinned for.
    pub pinned: Option<usize>,
    /// True if instructions may write there.
    pub writable: bool,
}

/// A range of a device's memory.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLocation {
    /// Index of the device.
    pub device: usize,
    /// The first byte.
    pub address: DeviceAddress,
    /// In bytes.
    pub len: usize,
}

impl Frame {
    /// A frame of these values, tensors and storages.
    ///
    /// # Errors
    /// If a value or a tensor refers to something that is not there.
    pub fn new(slots: Vec<Slot>, tensors: Vec<TensorSlot>, storages: Vec<Storage>) -> Result<Self> {
        let in_range = |id: TensorId| (id.0 as usize) < tensors.len();
        for slot in &slots {
            if let Slot::Tensor(id) = slot {
                ensure!(
                    in_range(*id),
                    Internal,
                    "a value is a tensor that is not there"
                );
            }
        }
        for tensor in &tensors {
            let storage = tensor.storage.0 as usize;
            ensure!(
                storage < storages.len(),
                Internal,
                "a tensor lies in no storage"
            );
        }
        Ok(Self {
            slots,
            tensors: tensors.into_iter().map(UnsafeCell::new).collect(),
            storages: storages.into_iter().map(UnsafeCell::new).collect(),
            call: 0,
        })
    }

    /// The value of an id.
    ///
    /// # Errors
    /// If there is none.
    #[inline]
    pub fn slot(&self, id: ValueId) -> Result<&Slot> {
        self.slots.get(id.index()).ok_or_else(|| no_value(id))
    }

    /// Gives a tensor another shape, while no instruction runs.
    ///
    /// # Errors
    /// If the program did not plan for that shape.
    pub fn resize(&mut self, id: TensorId, sizes: &[usize]) -> Result<()> {
        let (tensor, storage) = self.tensor_mut(id);
        tensor.resize(sizes, !storage.is_planned())
    }

    /// Gives a growing storage the capacity for a tensor of its shape of the moment.
    ///
    /// # Errors
    /// If memory is out.
    pub fn reserve(&mut self, id: TensorId) -> Result<()> {
        let (tensor, storage) = self.tensor_mut(id);
        storage.grow(tensor.offset.saturating_add(tensor.len()))
    }

    /// A tensor's content, while no instruction runs.
    ///
    /// # Errors
    /// If it lies on a device, or nothing was written to it yet.
    pub fn view(&self, id: TensorId) -> Result<TensorView<'_>> {
        let (tensor, storage) = self.tensor(id);
        let len = tensor.len();
        let host = storage.host(len)?;
        host.check(tensor.offset, len)?;
        // SAFETY: checked. Every change of a tensor or its storage goes through `&mut Frame`, and the
        // view borrows the frame.
        let bytes = unsafe { host.bytes(tensor.offset, len) };
        Ok(TensorView::trusted(
            tensor.dtype,
            tensor.sizes(),
            &tensor.dim_order,
            bytes,
        ))
    }

    /// Copies bytes into a tensor of just that size, while no instruction runs.
    ///
    /// # Errors
    /// If the size differs, or the tensor lies in memory that is not writable.
    pub fn write(&mut self, id: TensorId, bytes: &[u8]) -> Result<()> {
        let (tensor, storage) = self.tensor_mut(id);
        let len = tensor.len();
        ensure!(
            len == bytes.len(),
            Internal,
            "{} bytes for a tensor of {len}",
            bytes.len()
        );
        storage.grow(tensor.offset + len)?;
        let host = storage.host(len)?;
        ensure!(
            host.is_writable(),
            InvalidProgram,
            "an input is stored in constant memory"
        );
        host.check(tensor.offset, len)?;
        // SAFETY: checked; `&mut self` excludes every other view of the instance's memory, and
        // `bytes` cannot be a part of it.
        unsafe { host.bytes_mut(tensor.offset, len) }.copy_from_slice(bytes);
        Ok(())
    }

    /// Copies bytes from one storage of the host to another, while no instruction runs and no device
    /// uses them.
    ///
    /// # Errors
    /// If they are the same storage, or too small.
    pub fn copy_between(
        &mut self,
        from: StorageId,
        start: usize,
        to: StorageId,
        range: Range<usize>,
    ) -> Result<()> {
        let len = range.len();
        ensure!(from != to, Internal, "memory is copied to itself");
        let (from, to) = (self.storage(from).host(len)?, self.storage(to).host(len)?);
        from.check(start, len)?;
        to.check(range.start, len)?;
        ensure!(to.is_writable(), Internal, "a copy ends in constant memory");
        // SAFETY: `&mut self` excludes every other view, and the two storages are different memory.
        unsafe {
            to.bytes_mut(range.start, len)
                .copy_from_slice(from.bytes(start, len));
        }
        Ok(())
    }

    /// Makes a storage for borrowed memory refer to a caller's.
    ///
    /// # Safety
    /// The bytes stay valid and unchanged until [`Frame::end_borrow`] is called, or until no view of
    /// the storage is asked for any more.
    pub unsafe fn borrow(&mut self, id: StorageId, bytes: &[u8]) {
        if let Storage::Host(host) = self.storages[id.0 as usize].get_mut() {
            // SAFETY: the caller's.
            unsafe { host.borrow(bytes) };
        }
    }

    /// Forgets a caller's memory.
    pub fn end_borrow(&mut self, id: StorageId) {
        if let Storage::Host(host) = self.storages[id.0 as usize].get_mut() {
            host.end_borrow();
        }
    }

    /// True if a storage is for memory that the caller lends.
    pub fn is_borrowed(&self, id: StorageId) -> bool {
        matches!(self.storage(id), Storage::Host(host) if host.is_borrowed())
    }

    /// An address in a device's memory, `len` bytes of which lie within the storage.
    ///
    /// # Errors
    /// If they do not, or the storage is the host's.
    pub fn device_address(
        &self,
        id: StorageId,
        offset: usize,
        len: usize,
    ) -> Result<DeviceAddress> {
        self.storage(id).device_address(offset, len)
    }

    /// Makes a storage that stands for memory elsewhere on its device refer to another range there.
    pub fn set_device_location(&mut self, id: StorageId, address: DeviceAddress, len: usize) {
        if let Storage::Device(device) = self.storages[id.0 as usize].get_mut() {
            device.refer_to(address, len);
        }
    }

    /// The location of a tensor of its shape of the moment, while no instruction runs.
    ///
    /// # Errors
    /// If it has no memory yet.
    pub fn location(&self, id: TensorId) -> Result<Location> {
        let tensor = self.tensor(id).0;
        self.location_in(tensor.storage, tensor.offset, tensor.len())
    }

    /// The location of a part of a storage, while no instruction runs.
    ///
    /// # Errors
    /// If it does not lie within.
    pub fn location_in(&self, id: StorageId, offset: usize, len: usize) -> Result<Location> {
        match self.storage(id) {
            Storage::Device(device) => {
                let end = offset.checked_add(len);
                ensure!(
                    end.is_some_and(|end| end <= device.len()),
                    InvalidProgram,
                    "a tensor ends beyond its memory on the device"
                );
                Ok(Location::Device(DeviceLocation {
                    device: device.device(),
                    address: device.address().offset(offset),
                    len,
                }))
            }
            Storage::Host(host) => {
                host.check(offset, len)?;
                Ok(Location::Host(HostLocation {
                    data: host.pointer(offset),
                    storage: id,
                    offset,
                    len,
                    pinned: host.pinned_for(),
                    writable: host.is_writable(),
                }))
            }
        }
    }

    /// The storage and the bytes of a tensor that lies on the host, as large as it may become; and
    /// those of its planned location, if it may be a view now and go back there.
    pub fn host_ranges(&self, id: TensorId) -> impl Iterator<Item = (StorageId, Range<usize>)> {
        let tensor = self.tensor(id).0;
        let range = |offset: usize, len: usize| offset..offset.saturating_add(len);
        let now = range(tensor.offset, tensor.capacity.max(tensor.len()));
        let home = tensor
            .planned_if_movable()
            .map(|(storage, offset, capacity)| (storage, range(offset, capacity)));
        [Some((tensor.storage, now)), home].into_iter().flatten()
    }

    /// The storage that a tensor lies in at the moment.
    pub fn storage_of(&self, id: TensorId) -> StorageId {
        self.tensor(id).0.storage
    }

    /// The bytes of a tensor's shape of the moment.
    pub fn len(&self, id: TensorId) -> usize {
        self.tensor(id).0.len()
    }

    /// The element type, shape and dim order of a tensor.
    pub fn layout(&self, id: TensorId) -> (DType, &[usize], &[u8]) {
        let tensor = self.tensor(id).0;
        (tensor.dtype, tensor.sizes(), &tensor.dim_order)
    }

    /// A tensor's shape over a copy of its content.
    ///
    /// # Errors
    /// If the copy has another size.
    pub fn view_of_copy<'a>(&'a self, id: TensorId, copy: &'a Block) -> Result<TensorView<'a>> {
        let (dtype, sizes, dim_order) = self.layout(id);
        TensorView::with_dim_order(dtype, sizes, dim_order, copy.bytes())
    }

    /// Bytes of host memory that this instance alone holds.
    pub fn owned_bytes(&self) -> usize {
        let storages = (0..self.storages.len() as u32).map(StorageId);
        storages.map(|id| self.storage(id).owned_bytes()).sum()
    }

    /// Begins an instruction.
    #[inline(always)]
    pub(crate) fn begin_call(&mut self) {
        self.call += 1;
    }

    /// The number of the running instruction.
    #[inline(always)]
    pub(crate) fn call(&self) -> u64 {
        self.call
    }

    /// The cell of a tensor, for [`Arguments`](crate::Arguments).
    #[inline(always)]
    pub(crate) fn tensor_cell(&self, id: TensorId) -> &UnsafeCell<TensorSlot> {
        &self.tensors[id.0 as usize]
    }

    /// The cell of a storage, for [`Arguments`](crate::Arguments).
    #[inline(always)]
    pub(crate) fn storage_cell(&self, id: StorageId) -> &UnsafeCell<Storage> {
        &self.storages[id.0 as usize]
    }

    /// A tensor and its storage, while no instruction runs.
    #[inline]
    fn tensor(&self, id: TensorId) -> (&TensorSlot, &Storage) {
        // SAFETY: every change of a tensor or storage goes through `&mut Frame`: its methods, or an
        // `Arguments` that borrows the frame mutably.
        let tensor = unsafe { &*self.tensors[id.0 as usize].get() };
        (tensor, self.storage(tensor.storage))
    }

    #[inline]
    fn storage(&self, id: StorageId) -> &Storage {
        // SAFETY: as in `tensor`.
        unsafe { &*self.storages[id.0 as usize].get() }
    }

    fn tensor_mut(&mut self, id: TensorId) -> (&mut TensorSlot, &mut Storage) {
        let tensor = self.tensors[id.0 as usize].get_mut();
        let storage = self.storages[tensor.storage.0 as usize].get_mut();
        (tensor, storage)
    }
}

#[cold]
fn no_value(id: ValueId) -> Error {
    let message = format!("there is no value {}", id.index());
    Error::new(ErrorKind::Internal, message)
}

impl Location {
    /// In bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Host(host) => host.len,
            Self::Device(device) => device.len,
        }
    }

    /// True if it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The location on a device.
    ///
    /// # Errors
    /// If it is the host's. `what` is the subject of the message.
    pub fn on_device(self, what: &str) -> Result<DeviceLocation> {
        match self {
            Self::Device(device) => Ok(device),
            Self::Host(_) => bail!(InvalidProgram, "{what} on the host"),
        }
    }

    /// The location on the host.
    ///
    /// # Errors
    /// If it is a device's. `what` is the subject of the message.
    pub fn on_host(self, what: &str) -> Result<HostLocation> {
        match self {
            Self::Host(host) => Ok(host),
            Self::Device(_) => bail!(InvalidProgram, "{what} on a device"),
        }
    }
}
