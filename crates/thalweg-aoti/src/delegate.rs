//! A delegate: a library, and the constants that it runs with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use thalweg_core::{
    Delegate, DelegateInstance, DelegateSpec, Payload as Bytes, Result, State, bail, ensure,
};
use thalweg_cuda::{Event, Stream};

use crate::abi::{Container, Entry, Lent, Tensor, Where};
use crate::backend::lock;
use crate::buffers::{Initial, ModelBuffer};
use crate::compiled::Compiled;
use crate::constants::{Loaded, Storages, ended};
use crate::instance::Instance;
use crate::omit::{Rule, omitted};
use crate::payload::{Constant, Constants, Payload};

/// A delegate that is a compiled library.
pub(crate) struct LibraryDelegate(Arc<Prepared>);

/// A library with its constants.
pub(crate) struct Prepared {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    constants: Source,
    entries: Vec<Entry>,
    /// The container that the library was asked with. The first instance takes it.
    spare: Mutex<Option<Held>>,
    pub(crate) compiled: Arc<Compiled>,
}

/// Where constants come from, and those that are shared.
enum Source {
    /// Each from a storage of its own, by its name in the model.
    Named(HashMap<String, Named>),
    /// All from one piece of data, in a container that is there only to have them, in the order of the
    /// library.
    Blob {
        tensors: Vec<Tensor>,
        /// What the data is ready after.
        ready: Option<Event>,
        _container: Held,
        /// The container remembers where it was.
        _blob: Bytes,
    },
    /// There are none.
    Nothing,
}

/// A constant of the program.
struct Named {
    constant: Constant,
    bytes: Bytes,
    /// `None` if it is of the state, or the library has no use for it.
    shared: Option<Arc<Loaded>>,
}

/// A container, which is deleted when this is dropped.
pub(crate) struct Held {
    container: Option<Container>,
    compiled: Arc<Compiled>,
}

/// What an instance has of its own.
pub(crate) struct Own {
    /// Goes first: it uses the others.
    pub(crate) held: Held,
    _lent: Lent,
    _loaded: Vec<Arc<Loaded>>,
    _buffers: Vec<Arc<ModelBuffer>>,
    /// What must be over before the first call.
    pub(crate) ready: Vec<Event>,
    /// Whether the library will still compute constants, in its first run: none, then.
    pub(crate) folds_nothing: bool,
}

impl LibraryDelegate {
    /// Prepares a library for a delegate: begins to upload its constants.
    pub(crate) fn load(
        compiled: Arc<Compiled>,
        payload: &Payload,
        spec: &DelegateSpec<'_>,
        storages: &Storages,
    ) -> Result<Self> {
        let spare = Held::new(&compiled)?;
        let stream = Stream::per_thread(&compiled.on.device);
        let session = compiled.session(&stream)?;
        let functions = &compiled.functions;
        let (counts, entries) = {
            let container = spare.get()?;
            (
                container.counts(functions, &session)?,
                container.constants(functions, &session)?,
            )
        };
        session.finish()?;
        let (inputs, outputs) = counts;
        let constants = match &payload.constants {
            Constants::Named(constants) => {
                Source::named(constants, &entries, spec, storages, &compiled)?
            }
            Constants::Blob { key } => Source::blob(key, &entries, spec, &compiled)?,
        };
        Ok(Self(Arc::new(Prepared {
            inputs,
            outputs,
            constants,
            entries,
            spare: Mutex::new(Some(spare)),
            compiled,
        })))
    }
}

impl Delegate for LibraryDelegate {
    fn instance(&self, state: &State) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(Instance::new(self.0.clone(), state)?))
    }

    fn has_state(&self) -> bool {
        let mut entries = self.0.entries.iter();
        entries.any(Entry::is_of_state)
    }
}

impl Source {
    fn named(
        constants: &[Constant],
        entries: &[Entry],
        spec: &DelegateSpec<'_>,
        storages: &Storages,
        compiled: &Compiled,
    ) -> Result<Self> {
        let mut named = HashMap::new();
        for constant in constants {
            let Some(bytes) = spec.shared_named_data(&constant.storage) else {
                bail!(
                    MissingData,
                    "there is no data `{}`, which the constant `{}` is in; it belongs to a data file \
                     of the program",
                    constant.storage,
                    constant.name
                );
            };
            ensure!(
                bytes.len() as u64 == constant.storage_bytes,
                InvalidProgram,
                "the data `{}` has {} bytes, and the constant `{}` is said to be in {}",
                constant.storage,
                bytes.len(),
                constant.name,
                constant.storage_bytes
            );
            let entry = entries.iter().find(|entry| entry.original == constant.name);
            // What it has no use for stays.
            let shared = match entry {
                Some(entry) if !entry.is_of_state() => {
                    Some(storages.get(&bytes, constant, &compiled.on)?)
                }
                _ => None,
            };
            let entry = Named {
                constant: constant.clone(),
                bytes,
                shared,
            };
            named.insert(constant.name.clone(), entry);
        }
        for entry in entries.iter().filter(|entry| !entry.folded) {
            ensure!(
                named.contains_key(&entry.original),
                InvalidProgram,
                "the compiled library uses the constant `{}`, which the delegate does not name",
                entry.original
            );
        }
        Ok(Self::Named(named))
    }

    fn blob(
        key: &str,
        entries: &[Entry],
        spec: &DelegateSpec<'_>,
        compiled: &Arc<Compiled>,
    ) -> Result<Self> {
        let count = entries.iter().filter(|entry| !entry.folded).count();
        if count == 0 {
            return Ok(Self::Nothing);
        }
        let Some(blob) = spec.shared_named_data(key) else {
            bail!(
                MissingData,
                "there is no data `{key}`, which would be the {count} constants of the compiled \
                 library; it belongs to a data file of the program"
            );
        };
        let mut held = Held::new(compiled)?;
        let stream = Stream::per_thread(&compiled.on.device);
        let session = compiled.session(&stream)?;
        let container = held.get_mut()?;
        let tensors = container.load_blob(&compiled.functions, &session, &blob);
        session.finish()?;
        let tensors = tensors?;
        ensure!(
            tensors.len() == count,
            Delegate,
            "the compiled library has {count} constants, and made {} of its data",
            tensors.len()
        );
        Ok(Self::Blob {
            tensors,
            ready: ended(stream.work()?)?,
            _container: held,
            _blob: blob,
        })
    }
}

impl Prepared {
    /// What another instance runs the library with, whose state has what the model may change.
    pub(crate) fn own(self: &Arc<Self>, state: &State) -> Result<Own> {
        let spare = lock(&self.spare).take();
        let mut held = match spare {
            Some(held) => held,
            None => Held::new(&self.compiled)?,
        };
        let mut constants = Vec::new();
        let mut loaded = Vec::new();
        let (mut buffers, mut ready) = (Vec::new(), Vec::new());
        let on = &self.compiled.on;
        let entries = self.entries.iter().filter(|entry| !entry.folded);
        match &self.constants {
            Source::Nothing => {}
            Source::Named(named) => {
                for entry in entries {
                    let Some(named) = named.get(&entry.original) else {
                        bail!(Internal, "the constant `{}` is gone", entry.original);
                    };
                    let constant = &named.constant;
                    let tensor = match &named.shared {
                        Some(shared) => {
                            ready.extend(shared.ready().cloned());
                            loaded.push(shared.clone());
                            constant.tensor_in(shared.storage())?
                        }
                        None => {
                            let place = match constant.on_device {
                                true => Where::Device(on.device.ordinal()),
                                false => Where::Host,
                            };
                            let initial = Initial::Bytes(named.bytes.clone());
                            let name = &entry.original;
                            let buffer = ModelBuffer::of_state(state, name, initial, place, on)?;
                            ready.extend(buffer.ready().cloned());
                            let tensor = constant.tensor_in(buffer.storage())?;
                            buffers.push(buffer);
                            tensor
                        }
                    };
                    constants.push((entry.name.clone(), tensor));
                }
            }
            Source::Blob {
                tensors,
                ready: event,
                ..
            } => {
                ready.extend(event.clone());
                for (entry, tensor) in entries.zip(tensors) {
                    let mut tensor = tensor.clone();
                    if entry.is_of_state() {
                        let from = tensor.storage.clone();
                        let place = from.on;
                        let initial = Initial::Container {
                            from,
                            after: event.clone(),
                            _of: self.clone(),
                        };
                        let name = &entry.original;
                        let buffer = ModelBuffer::of_state(state, name, initial, place, on)?;
                        ready.extend(buffer.ready().cloned());
                        tensor = tensor.in_storage(buffer.storage().clone());
                        buffers.push(buffer);
                    }
                    constants.push((entry.name.clone(), tensor));
                }
            }
        }
        let lent = Lent::new(constants);
        let functions = &self.compiled.functions;
        let stream = Stream::per_thread(&self.compiled.on.device);
        let folded = self.entries.iter().any(|entry| entry.folded);
        if folded {
            // They are computed from the others.
            for event in &ready {
                stream.wait(event)?;
            }
        }
        let session = self.compiled.session(&stream)?;
        let container = held.get_mut()?;
        container.use_constants(functions, &session, &lent)?;
        if folded {
            container.fold(functions, &session)?;
        }
        session.finish()?;
        Ok(Own {
            held,
            _lent: lent,
            _loaded: loaded,
            _buffers: buffers,
            ready,
            folds_nothing: !folded,
        })
    }
}

impl Entry {
    /// Whether the model may change it, so that it is a part of an instance's state.
    fn is_of_state(&self) -> bool {
        self.buffer && !self.folded && !omitted(Rule::OwnBuffers)
    }
}

impl Held {
    /// A new container.
    pub(crate) fn new(compiled: &Arc<Compiled>) -> Result<Self> {
        let stream = Stream::per_thread(&compiled.on.device);
        let session = compiled.session(&stream)?;
        let container = Container::new(&compiled.functions, &session)?;
        // From here on it is deleted, whatever happens.
        let held = Self {
            container: Some(container),
            compiled: compiled.clone(),
        };
        session.finish()?;
        Ok(held)
    }

    fn get(&self) -> Result<&Container> {
        match &self.container {
            Some(container) => Ok(container),
            None => bail!(Internal, "a container is used after it was deleted"),
        }
    }

    pub(crate) fn get_mut(&mut self) -> Result<&mut Container> {
        match &mut self.container {
            Some(container) => Ok(container),
            None => bail!(Internal, "a container is used after it was deleted"),
        }
    }
}

impl Drop for Held {
    /// Whoever had it has waited for what it did.
    fn drop(&mut self) {
        let Some(container) = self.container.take() else {
            return;
        };
        let compiled = &self.compiled;
        let stream = Stream::per_thread(&compiled.on.device);
        // What fails once may work the second time; on a device that is lost, nothing does.
        let session = compiled.session(&stream);
        let session = session.or_else(|_| compiled.session(&stream)).ok();
        container.delete(&compiled.functions, session.as_ref());
        if let Some(Err(error)) = session.map(crate::abi::Session::finish) {
            tracing::debug!("after a container was deleted: {error}");
        }
    }
}
