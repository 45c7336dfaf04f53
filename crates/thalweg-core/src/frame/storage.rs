//! Storages: memory of the host, or of a device.

use std::any::Any;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use crate::device::{Access, DeviceAddress, DeviceMemory, PinnedMemory};
use crate::memory::{Block, FileBytes};
use crate::{Error, ErrorKind, Result, bail};

/// A piece of memory of a frame.
pub enum Storage {
    /// Memory that the host uses.
    Host(HostStorage),
    /// Memory of a device, which the host cannot use.
    Device(DeviceStorage),
}

/// Memory that the host uses.
pub struct HostStorage {
    data: NonNull<u8>,
    len: usize,
    writable: bool,
    owner: Owner,
}

/// What keeps host memory where it is.
enum Owner {
    /// The instance, for planned memory.
    Planned { _block: Block },
    /// The instance, for memory that grows as needed.
    Growing { _block: Block },
    /// All instances: a constant that was copied out of the file.
    Constant { _block: Arc<Block> },
    /// All instances that share a state.
    Shared { _owner: Arc<dyn Any + Send + Sync> },
    /// The file.
    File { _file: FileBytes },
    /// The caller, while a call runs.
    Caller,
    /// The instance, for memory that is pinned for the device with this index.
    Pinned {
        memory: Box<dyn PinnedMemory>,
        device: usize,
    },
}

/// Memory of a device.
pub struct DeviceStorage {
    /// Index of the device.
    device: usize,
    address: DeviceAddress,
    len: usize,
    /// `None`, if it belongs elsewhere: to another storage of the frame, or to a caller while a call
    /// runs.
    memory: Option<Arc<dyn DeviceMemory>>,
}

impl Storage {
    /// Planned memory of the instance.
    pub fn planned(block: Block) -> Self {
        Self::of_block(
            pointer(&block),
            block.len(),
            true,
            Owner::Planned { _block: block },
        )
    }

    /// Memory of the instance that grows as needed, and is empty now.
    ///
    /// # Errors
    /// If memory is out.
    pub fn growing() -> Result<Self> {
        let block = Block::zeroed(0)?;
        Ok(Self::of_block(
            pointer(&block),
            0,
            true,
            Owner::Growing { _block: block },
        ))
    }

    /// A constant that was copied out of its file, which other instances have, too.
    pub fn constant(block: Arc<Block>) -> Self {
        let (data, len) = (pointer(&block), block.len());
        Self::of_block(data, len, false, Owner::Constant { _block: block })
    }

    /// Memory that several instances write in turn.
    ///
    /// # Safety
    /// `data` is valid for reads and writes of `len` initialized bytes, aligned to 64 bytes, for as
    /// long as `owner` lives. Whoever uses the frame, other than by [`Frame::storage_of`] and its
    /// like, has the sole use of these bytes at that time.
    ///
    /// [`Frame::storage_of`]: super::Frame::storage_of
    pub unsafe fn shared(data: *mut u8, len: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        let data = NonNull::new(data).unwrap_or(NonNull::<u64>::dangling().cast());
        Self::of_block(data, len, true, Owner::Shared { _owner: owner })
    }

    /// A part of a file.
    ///
    /// # Errors
    /// If the file does not have these bytes.
    pub fn file(file: &FileBytes, range: &Range<usize>) -> Result<Self> {
        let Some(bytes) = file.bytes().get(range.clone()) else {
            bail!(Internal, "the file has no bytes {range:?}");
        };
        let owner = Owner::File {
            _file: file.clone(),
        };
        Ok(Self::of_block(
            NonNull::from(bytes).cast(),
            bytes.len(),
            false,
            owner,
        ))
    }

    /// Memory that is pinned for the device with this index.
    pub fn pinned(memory: Box<dyn PinnedMemory>, device: usize) -> Self {
        let data = NonNull::new(memory.as_ptr()).unwrap_or(NonNull::<u64>::dangling().cast());
        let len = memory.len();
        Self::of_block(data, len, true, Owner::Pinned { memory, device })
    }

    /// A storage for memory that the caller lends for the time of a call.
    pub fn borrowed() -> Self {
        Self::Host(HostStorage::without_memory())
    }

    /// Memory of the device with this index.
    pub fn device(memory: Arc<dyn DeviceMemory>, device: usize) -> Self {
        Self::Device(DeviceStorage {
            device,
            address: memory.address(),
            len: memory.len(),
            memory: Some(memory),
        })
    }

    /// Memory of the device with this index that belongs elsewhere.
    pub fn device_location(address: DeviceAddress, len: usize, device: usize) -> Self {
        Self::Device(DeviceStorage {
            device,
            address,
            len,
            memory: None,
        })
    }

    fn of_block(data: NonNull<u8>, len: usize, writable: bool, owner: Owner) -> Self {
        Self::Host(HostStorage {
            data,
            len,
            writable,
            owner,
        })
    }

    /// The host's memory, for a tensor of `len` bytes.
    ///
    /// # Errors
    /// If it is a device's.
    #[inline(always)]
    pub(crate) fn host(&self, len: usize) -> Result<&HostStorage> {
        match self {
            Self::Host(host) => Ok(host),
            Self::Device(_) => Err(on_device(len)),
        }
    }

    /// True if tensors in it have the capacity that the program planned for them.
    pub(crate) fn is_planned(&self) -> bool {
        match self {
            Self::Host(host) => !matches!(host.owner, Owner::Growing { .. } | Owner::Caller),
            Self::Device(_) => true,
        }
    }

    /// True if it grows as needed.
    #[inline]
    pub(crate) fn grows(&self) -> bool {
        matches!(self, Self::Host(host) if matches!(host.owner, Owner::Growing { .. }))
    }

    /// Makes a growing storage at least `len` bytes large; its content is lost if it must grow.
    #[inline]
    pub(crate) fn grow(&mut self, len: usize) -> Result<()> {
        match self {
            Self::Host(host) if host.len < len => host.grow(len),
            _ => Ok(()),
        }
    }

    /// Makes a growing storage hold a copy of bytes.
    ///
    /// # Errors
    /// If memory is out.
    pub fn fill(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Host(host) if matches!(host.owner, Owner::Growing { .. }) => {
                host.replace(Block::copy_of(bytes)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// An address in memory of a device, `len` bytes of which lie within it.
    ///
    /// # Errors
    /// If they do not, or it is the host's.
    pub fn device_address(&self, offset: usize, len: usize) -> Result<DeviceAddress> {
        let end = offset.checked_add(len);
        match self {
            Self::Device(device) if end.is_some_and(|end| end <= device.len) => {
                Ok(device.address.offset(offset))
            }
            _ => bail!(Internal, "a copy starts beyond its memory on the device"),
        }
    }

    /// Bytes of host memory that this instance alone holds.
    pub(crate) fn owned_bytes(&self) -> usize {
        match self {
            Self::Host(host) => match host.owner {
                Owner::Planned { .. } | Owner::Growing { .. } | Owner::Pinned { .. } => host.len,
                _ => 0,
            },
            Self::Device(_) => 0,
        }
    }
}

impl HostStorage {
    fn without_memory() -> Self {
        Self {
            data: NonNull::<u64>::dangling().cast(),
            len: 0,
            writable: false,
            owner: Owner::Caller,
        }
    }

    /// True if instructions may write to it.
    #[inline]
    pub(crate) fn is_writable(&self) -> bool {
        self.writable
    }

    /// True if it is for memory that the caller lends.
    pub(super) fn is_borrowed(&self) -> bool {
        matches!(self.owner, Owner::Caller)
    }

    /// Index of the device that the memory is pinned for.
    pub(super) fn pinned_for(&self) -> Option<usize> {
        match self.owner {
            Owner::Pinned { device, .. } => Some(device),
            _ => None,
        }
    }

    /// The address of a byte, to be used where [`check`](Self::check) has passed.
    pub(super) fn pointer(&self, offset: usize) -> *mut u8 {
        self.data.as_ptr().wrapping_add(offset)
    }

    /// Refers to a caller's memory, if it is for such.
    ///
    /// # Safety
    /// As for [`Frame::borrow`](super::Frame::borrow).
    pub(super) unsafe fn borrow(&mut self, bytes: &[u8]) {
        if self.is_borrowed() {
            self.data = NonNull::from(bytes).cast();
            self.len = bytes.len();
        }
    }

    /// Forgets a caller's memory.
    pub(super) fn end_borrow(&mut self) {
        if self.is_borrowed() {
            *self = Self::without_memory();
        }
    }

    #[cold]
    fn grow(&mut self, len: usize) -> Result<()> {
        if matches!(self.owner, Owner::Growing { .. }) {
            let spare = self.len.min(64 << 20);
            self.replace(Block::zeroed(len.max(self.len + spare))?);
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
    pub(crate) fn check(&self, offset: usize, len: usize) -> Result<()> {
        if offset.checked_add(len).is_some_and(|end| end <= self.len) {
            return Ok(());
        }
        Err(not_written(len))
    }

    /// # Safety
    /// `check` has passed, and nobody writes to these bytes for the lifetime `'a`, nor does the
    /// storage grow or go away.
    #[inline]
    pub(crate) unsafe fn bytes<'a>(&self, offset: usize, len: usize) -> &'a [u8] {
        self.accessed(offset, len, Access::Read);
        // SAFETY: within the storage, initialized (blocks start as zeros), and see above.
        unsafe { slice::from_raw_parts(self.data.as_ptr().add(offset), len) }
    }

    /// # Safety
    /// As for `bytes`, the storage is writable, and nobody else reads these bytes either.
    #[inline]
    pub(crate) unsafe fn bytes_mut<'a>(&self, offset: usize, len: usize) -> &'a mut [u8] {
        self.accessed(offset, len, Access::Write);
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr().add(offset), len) }
    }

    /// Tells pinned memory that the host is about to use it.
    #[inline]
    fn accessed(&self, offset: usize, len: usize, access: Access) {
        if !cfg!(debug_assertions) {
            return;
        }
        if let Owner::Pinned { memory, .. } = &self.owner {
            memory.host_access(offset, len, access);
        }
    }
}

impl DeviceStorage {
    /// Index of the device.
    pub(super) fn device(&self) -> usize {
        self.device
    }

    /// The first byte.
    pub(super) fn address(&self) -> DeviceAddress {
        self.address
    }

    /// In bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Refers to another range, if the memory belongs elsewhere.
    pub(super) fn refer_to(&mut self, address: DeviceAddress, len: usize) {
        if self.memory.is_none() {
            (self.address, self.len) = (address, len);
        }
    }
}

/// Memory that was not written yet is not there at all in a growing or borrowed storage.
#[cold]
fn not_written(len: usize) -> Error {
    let message = format!(
        "a tensor of {len} bytes is read that has no memory yet: the program uses it before \
         anything was written to it"
    );
    Error::new(ErrorKind::InvalidProgram, message)
}

#[cold]
fn on_device(_len: usize) -> Error {
    let message = "a tensor on a device is used on the host";
    Error::new(ErrorKind::InvalidProgram, message)
}

fn pointer(block: &Block) -> NonNull<u8> {
    // A block's pointer is never null; this avoids saying so with `unsafe`.
    NonNull::new(block.as_ptr()).unwrap_or(NonNull::dangling())
}
