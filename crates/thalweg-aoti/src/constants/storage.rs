//! Storages of constants.

use std::sync::Arc;

use thalweg_core::{Result, SharedBytes};
use thalweg_cuda::{DeviceBuffer, Event, Stream};

use crate::abi::{Location, Storage};
use crate::cache::WeakCache;
use crate::device::DeviceResources;

/// The loaded storages, by address and length of their bytes, and by device. Each is loaded once for all
/// delegates, methods and instances.
#[derive(Default)]
pub(crate) struct ConstantStorages(WeakCache<(usize, usize, Option<i32>), ConstantStorage>);

/// A storage of constants that is loaded on a device or the host.
pub(crate) struct ConstantStorage {
    storage: Arc<Storage>,
    /// The event of its upload; `None` on the host.
    ready: Option<Event>,
    /// The buffer that owns the memory on the device.
    _buffer: Option<DeviceBuffer>,
    /// The bytes that it was loaded from. Kept, since their address identifies it.
    _bytes: SharedBytes,
}

impl ConstantStorages {
    /// The storage of some bytes, on the device or else on the host. The first use begins its upload, which
    /// may be in progress when this returns.
    pub(super) fn get(
        &self,
        bytes: &SharedBytes,
        on_device: bool,
        resources: &DeviceResources,
    ) -> Result<Arc<ConstantStorage>> {
        let device = on_device.then(|| resources.device.ordinal());
        let key = (bytes.as_ptr().addr(), bytes.len(), device);
        let load = || ConstantStorage::new(bytes.clone(), on_device, resources);
        self.0.get(key, load)
    }
}

impl ConstantStorage {
    fn new(bytes: SharedBytes, on_device: bool, resources: &DeviceResources) -> Result<Self> {
        if !on_device {
            return Ok(Self {
                storage: Arc::new(Storage::copied(&bytes)?),
                ready: None,
                _buffer: None,
                _bytes: bytes,
            });
        }
        let stream = Stream::per_thread(&resources.device);
        let buffer = DeviceBuffer::new(&stream, bytes.len().max(1))?;
        let mut work = stream.work()?;
        if !bytes.is_empty() {
            work.upload_once(buffer.slice(..bytes.len())?, &bytes)?;
        }
        let ready = work.finish()?.event();
        let device = Location::Device(resources.device.ordinal());
        let storage = Storage::borrowed(buffer.address(), bytes.len() as u64, device);
        Ok(Self {
            storage: Arc::new(storage),
            ready,
            _buffer: Some(buffer),
            _bytes: bytes,
        })
    }

    /// The memory.
    pub(super) fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The event of the upload.
    pub(super) fn ready(&self) -> Option<&Event> {
        self.ready.as_ref()
    }
}
