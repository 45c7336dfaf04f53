//! The constants of libraries: on the device once, however many use them.

use std::sync::Arc;

use thalweg_core::{Payload as Bytes, Result};
use thalweg_cuda::{DeviceBuffer, Event, Stream, Work};

use crate::abi::{Storage, Tensor, Where};
use crate::backend::OnDevice;
use crate::payload::Constant;
use crate::shared::Shared;

/// Storages that are loaded, by the place of their bytes in a file, and by device.
#[derive(Default)]
pub(crate) struct Storages(Shared<(usize, usize, Option<i32>), Loaded>);

/// A storage of constants.
pub(crate) struct Loaded {
    storage: Arc<Storage>,
    /// What is on the device after it. `None` for the host.
    ready: Option<Event>,
    /// Keeps the device's buffer, whose memory the storage is.
    _buffer: Option<DeviceBuffer>,
    /// Where it came from. While this lives, nothing else lies there.
    _bytes: Bytes,
}

impl Storages {
    /// The storage of some bytes, where a constant belongs. It is uploaded when it is first asked for,
    /// and may still be on its way when this returns.
    pub(crate) fn get(
        &self,
        bytes: &Bytes,
        constant: &Constant,
        on: &OnDevice,
    ) -> Result<Arc<Loaded>> {
        let device = constant.on_device.then(|| on.device.ordinal());
        let key = (bytes.as_ptr().addr(), bytes.len(), device);
        self.0
            .get(key, || Loaded::new(bytes.clone(), constant.on_device, on))
    }
}

impl Loaded {
    fn new(bytes: Bytes, on_device: bool, on: &OnDevice) -> Result<Self> {
        if !on_device {
            return Ok(Self {
                storage: Arc::new(Storage::copied(&bytes)?),
                ready: None,
                _buffer: None,
                _bytes: bytes,
            });
        }
        let stream = Stream::per_thread(&on.device);
        let buffer = DeviceBuffer::new(&stream, bytes.len().max(1))?;
        let mut work = stream.work()?;
        if !bytes.is_empty() {
            work.upload_once(buffer.slice(..bytes.len())?, &bytes)?;
        }
        let ready = ended(work)?;
        let device = Where::Device(on.device.ordinal());
        let storage = Storage::lent(buffer.address(), bytes.len() as u64, device);
        Ok(Self {
            storage: Arc::new(storage),
            ready,
            _buffer: Some(buffer),
            _bytes: bytes,
        })
    }

    /// Its memory, for tensors.
    pub(crate) fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// What the storage is ready after.
    pub(crate) fn ready(&self) -> Option<&Event> {
        self.ready.as_ref()
    }
}

impl Constant {
    /// The constant, in a storage.
    pub(crate) fn tensor_in(&self, storage: &Arc<Storage>) -> Result<Tensor> {
        let signed =
            |values: &[u64]| -> Vec<i64> { values.iter().map(|&value| value as i64).collect() };
        let (sizes, strides) = (signed(&self.sizes), signed(&self.strides));
        let offset = self.offset as i64;
        Tensor::new(storage.clone(), self.dtype, &sizes, &strides, offset)
    }
}

/// Ends some work, which others then wait for on the device.
pub(crate) fn ended(work: Work<'_>) -> Result<Option<Event>> {
    Ok(work.finish()?.event())
}
