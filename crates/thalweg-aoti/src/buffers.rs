//! Buffers that a model changes: in the state of the instance, by their names in the model.

use std::any::Any;
use std::sync::Arc;

use thalweg_core::{Payload as Bytes, Result, State, StateBuffer, bail, ensure};
use thalweg_cuda::{DeviceBuffer, Event, Stream};

use crate::abi::{Storage, Where, copy_storage, read_on_host, write_on_host};
use crate::backend::OnDevice;
use crate::constants::ended;
use crate::delegate::Prepared;

/// A buffer of a model. All delegates whose instances have one state and that call it by the same name
/// change the same memory: so what a `prefill` writes, a `decode` goes on with.
pub(crate) struct ModelBuffer {
    storage: Arc<Storage>,
    /// What it has its first values after.
    ready: Option<Event>,
    initial: Initial,
    on: Arc<OnDevice>,
    /// Its memory on the device.
    memory: Option<DeviceBuffer>,
}

/// What a buffer is at first.
pub(crate) enum Initial {
    /// Data of the program.
    Bytes(Bytes),
    /// Memory of a container, which is the delegate's and has its values after an event.
    Container {
        from: Arc<Storage>,
        after: Option<Event>,
        _of: Arc<Prepared>,
    },
}

impl ModelBuffer {
    /// The buffer of a name, which is made if the state has none.
    pub(crate) fn of_state(
        state: &State,
        name: &str,
        initial: Initial,
        place: Where,
        on: &Arc<OnDevice>,
    ) -> Result<Arc<Self>> {
        let bytes = initial.len();
        let mut initial = Some(initial);
        let found = state.delegate_buffer(name, || match initial.take() {
            Some(initial) => Ok(Arc::new(Self::new(initial, place, on)?)),
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
            found.storage.bytes == bytes && found.storage.on == place,
            InvalidOption,
            "the mutable buffer `{name}` has {bytes} bytes on {place:?} here, and {} on {:?} in the method \
             that shares it",
            found.storage.bytes,
            found.storage.on
        );
        if let (Some(Initial::Bytes(ours)), Initial::Bytes(theirs)) = (&initial, &found.initial) {
            let same = ours.as_ptr() == theirs.as_ptr() || ours[..] == theirs[..];
            ensure!(
                same,
                InvalidOption,
                "the mutable buffer `{name}` starts with other values in the method that shares it"
            );
        }
        Ok(found)
    }

    fn new(initial: Initial, place: Where, on: &Arc<OnDevice>) -> Result<Self> {
        let len = initial.len();
        let (storage, ready, memory) = match place {
            Where::Host => {
                let storage = match &initial {
                    Initial::Bytes(bytes) => Storage::copied(bytes)?,
                    Initial::Container { from, .. } => Storage::copied(&read_on_host(from)?)?,
                };
                (storage, None, None)
            }
            Where::Device(_) => {
                let stream = Stream::per_thread(&on.device);
                let room = usize::try_from(len.max(1)).unwrap_or(usize::MAX);
                let memory = DeviceBuffer::new(&stream, room)?;
                let storage = Storage::lent(memory.address(), len, place);
                let ready = initial.copy(&storage, &memory, on, &stream)?;
                (storage, ready, Some(memory))
            }
        };
        Ok(Self {
            storage: Arc::new(storage),
            ready,
            initial,
            on: on.clone(),
            memory,
        })
    }

    /// Its memory, for tensors.
    pub(crate) fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// What it has its first values after.
    pub(crate) fn ready(&self) -> Option<&Event> {
        self.ready.as_ref()
    }
}

impl Initial {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Container { from, .. } => from.bytes,
        }
    }

    /// Begins to copy it to a buffer's memory on the device.
    fn copy(
        &self,
        to: &Storage,
        memory: &DeviceBuffer,
        on: &OnDevice,
        stream: &Stream,
    ) -> Result<Option<Event>> {
        if let Self::Container {
            after: Some(event), ..
        } = self
        {
            stream.wait(event)?;
        }
        let mut work = stream.work()?;
        match self {
            Self::Bytes(bytes) if bytes.is_empty() => {}
            Self::Bytes(bytes) => work.upload_once(memory.slice(..bytes.len())?, bytes)?,
            Self::Container { from, .. } => {
                work.writes(memory)?;
                copy_storage(&on.device, to, from, stream)?;
            }
        }
        ended(work)
    }
}

impl StateBuffer for ModelBuffer {
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
            (None, Initial::Bytes(bytes)) => write_on_host(&self.storage, bytes),
            (None, Initial::Container { from, .. }) => {
                write_on_host(&self.storage, &read_on_host(from)?)
            }
            (Some(memory), initial) => {
                let stream = self.stream()?;
                initial.copy(&self.storage, memory, &self.on, &stream)?;
                stream.synchronize()
            }
        }
    }
}

impl ModelBuffer {
    /// A stream that goes on after the first values.
    fn stream(&self) -> Result<Stream> {
        let stream = Stream::per_thread(&self.on.device);
        if let Some(event) = &self.ready {
            stream.wait(event)?;
        }
        Ok(stream)
    }
}
