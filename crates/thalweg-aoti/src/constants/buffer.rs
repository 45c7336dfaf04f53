//! Mutable buffers of models.

use std::any::Any;
use std::sync::Arc;

use thalweg_core::{DelegateBuffer, Result, SharedBytes, StateBuffers, bail, ensure};
use thalweg_cuda::{DeviceBuffer, Event, Stream};

use super::blob::BlobConstants;
use crate::abi::{Location, Storage, copy_storage, read_on_host, write_on_host};
use crate::device::DeviceResources;

/// A mutable buffer of a model, in the state of an instance by its name in the model. Instances with one
/// state share it: a `decode` continues with what a `prefill` has written.
pub(crate) struct ModelBuffer {
    storage: Arc<Storage>,
    /// The event of the copy of its initial value.
    ready: Option<Event>,
    initial: InitialValue,
    resources: Arc<DeviceResources>,
    /// The buffer that owns the memory, if that is on the device.
    memory: Option<DeviceBuffer>,
}

/// The initial value of a buffer.
pub(super) enum InitialValue {
    /// Data of the program.
    Bytes(SharedBytes),
    /// Memory of the container that has loaded a blob.
    Blob {
        from: Arc<Storage>,
        blob: Arc<BlobConstants>,
    },
}

impl ModelBuffer {
    /// The buffer of a name in a state, created if there is none.
    ///
    /// # Errors
    /// If the state has a buffer of that name that differs in size, location or initial value.
    pub(super) fn of_state(
        state: &dyn StateBuffers,
        name: &str,
        initial: InitialValue,
        location: Location,
        resources: &Arc<DeviceResources>,
    ) -> Result<Arc<Self>> {
        let bytes = initial.len();
        let mut initial = Some(initial);
        let found = state.get_or_create(name, &mut || match initial.take() {
            Some(initial) => Ok(Arc::new(Self::new(initial, location, resources)?)),
            None => bail!(Internal, "a buffer is made twice"),
        })?;
        let found: Arc<dyn Any + Send + Sync> = found;
        let Ok(found) = found.downcast::<Self>() else {
            bail!(
                InvalidOption,
                "the state has a mutable buffer `{name}` of another backend"
            );
        };
        ensure!(
            found.storage.bytes == bytes && found.storage.location == location,
            InvalidOption,
            "the mutable buffer `{name}` has {bytes} bytes on {location:?} here, and {} on {:?} in the method \
             that shares it",
            found.storage.bytes,
            found.storage.location
        );
        if let (Some(InitialValue::Bytes(ours)), InitialValue::Bytes(theirs)) =
            (&initial, &found.initial)
        {
            let same = ours.as_ptr() == theirs.as_ptr() || ours[..] == theirs[..];
            ensure!(
                same,
                InvalidOption,
                "the mutable buffer `{name}` starts with other values in the method that shares it"
            );
        }
        Ok(found)
    }

    fn new(
        initial: InitialValue,
        location: Location,
        resources: &Arc<DeviceResources>,
    ) -> Result<Self> {
        let len = initial.len();
        let (storage, ready, memory) = match location {
            Location::Host => {
                let storage = match &initial {
                    InitialValue::Bytes(bytes) => Storage::copied(bytes)?,
                    InitialValue::Blob { from, .. } => Storage::copied(&read_on_host(from)?)?,
                };
                (storage, None, None)
            }
            Location::Device(_) => {
                let stream = Stream::per_thread(&resources.device);
                let capacity = usize::try_from(len.max(1)).unwrap_or(usize::MAX);
                let memory = DeviceBuffer::new(&stream, capacity)?;
                let storage = Storage::borrowed(memory.address(), len, location);
                let ready = initial.copy(&storage, &memory, resources, &stream)?;
                (storage, ready, Some(memory))
            }
        };
        Ok(Self {
            storage: Arc::new(storage),
            ready,
            initial,
            resources: resources.clone(),
            memory,
        })
    }

    /// The memory.
    pub(super) fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The event of the copy of the initial value.
    pub(super) fn ready(&self) -> Option<&Event> {
        self.ready.as_ref()
    }

    /// A stream that waits for the initial value.
    fn stream(&self) -> Result<Stream> {
        let stream = Stream::per_thread(&self.resources.device);
        if let Some(event) = &self.ready {
            stream.wait(event)?;
        }
        Ok(stream)
    }
}

impl InitialValue {
    /// The size in bytes.
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Blob { from, .. } => from.bytes,
        }
    }

    /// Enqueues a copy to a buffer's memory on the device, and returns its event.
    fn copy(
        &self,
        to: &Storage,
        memory: &DeviceBuffer,
        resources: &DeviceResources,
        stream: &Stream,
    ) -> Result<Option<Event>> {
        if let Self::Blob { blob, .. } = self
            && let Some(event) = blob.ready()
        {
            stream.wait(event)?;
        }
        let mut work = stream.work()?;
        match self {
            Self::Bytes(bytes) if bytes.is_empty() => {}
            Self::Bytes(bytes) => work.upload_once(memory.slice(..bytes.len())?, bytes)?,
            Self::Blob { from, .. } => {
                work.writes(memory)?;
                copy_storage(&resources.device, to, from, stream)?;
            }
        }
        Ok(work.finish()?.event())
    }
}

impl DelegateBuffer for ModelBuffer {
    fn len(&self) -> usize {
        usize::try_from(self.storage.bytes).unwrap_or(usize::MAX)
    }

    fn read(&self) -> Result<Vec<u8>> {
        let Some(memory) = &self.memory else {
            return read_on_host(&self.storage);
        };
        let mut bytes = vec![0; self.len()];
        if !bytes.is_empty() {
            let stream = self.stream()?;
            let mut work = stream.work()?;
            work.download(&mut bytes, memory.slice(..self.len())?)?;
            work.finish()?.synchronize()?;
        }
        Ok(bytes)
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        let Some(memory) = &self.memory else {
            return write_on_host(&self.storage, bytes);
        };
        if !bytes.is_empty() {
            let stream = self.stream()?;
            let mut work = stream.work()?;
            work.upload(memory.slice(..bytes.len())?, bytes)?;
            work.finish()?.synchronize()?;
        }
        Ok(())
    }

    fn reset(&self) -> Result<()> {
        match (&self.memory, &self.initial) {
            (None, InitialValue::Bytes(bytes)) => write_on_host(&self.storage, bytes),
            (None, InitialValue::Blob { from, .. }) => {
                write_on_host(&self.storage, &read_on_host(from)?)
            }
            (Some(memory), initial) => {
                let stream = self.stream()?;
                initial.copy(&self.storage, memory, &self.resources, &stream)?;
                stream.synchronize()
            }
        }
    }
}
