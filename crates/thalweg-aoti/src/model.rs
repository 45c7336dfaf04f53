//! Models: compiled libraries with their constants.

use std::sync::{Arc, Mutex};

use thalweg_core::{DelegateSpec, Result, StateBuffers};
use thalweg_cuda::{Event, Stream};

use crate::abi::{ConstantInfo, UserManagedConstants};
use crate::compiled_library::CompiledLibrary;
use crate::constants::{ConstantSource, ConstantStorages, InstanceConstants};
use crate::container::ModelContainer;
use crate::payload::Payload;
use crate::sync::lock;

/// The model of a delegate: a compiled library with its constants. All instances of the delegate share it.
pub(crate) struct Model {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    source: ConstantSource,
    /// The constants of the library.
    constants: Vec<ConstantInfo>,
    /// The container that the model was queried with. The first instance takes it.
    spare: Mutex<Option<ModelContainer>>,
    pub(crate) library: Arc<CompiledLibrary>,
}

/// The model of a method instance: a container with the constants and buffers that it uses.
pub(crate) struct ModelInstance {
    /// Dropped first: it uses the constants.
    pub(crate) container: ModelContainer,
    _user_managed: UserManagedConstants,
    _constants: InstanceConstants,
    /// The events that the first call waits for.
    pub(crate) ready: Vec<Event>,
    /// True before the first run of a model without constants to fold: the library waits for constant
    /// folding then, though there is none.
    pub(crate) waits_for_no_folding: bool,
}

impl Model {
    /// Loads the model of a delegate, and begins to upload its constants.
    ///
    /// # Errors
    /// If the library or its constants do not fit the payload.
    pub(crate) fn load(
        library: Arc<CompiledLibrary>,
        payload: &Payload,
        spec: &DelegateSpec<'_>,
        storages: &ConstantStorages,
    ) -> Result<Self> {
        let spare = ModelContainer::new(&library)?;
        let stream = Stream::per_thread(&library.resources.device);
        let session = library.session(&stream)?;
        let functions = &library.functions;
        let ((inputs, outputs), constants) = {
            let container = spare.get()?;
            (
                container.counts(functions, &session)?,
                container.constants(functions, &session)?,
            )
        };
        session.finish()?;
        let source = ConstantSource::load(payload, &constants, spec, storages, &library)?;
        Ok(Self {
            inputs,
            outputs,
            source,
            constants,
            spare: Mutex::new(Some(spare)),
            library,
        })
    }

    /// True if the model has mutable buffers.
    pub(crate) fn has_state(&self) -> bool {
        self.constants.iter().any(ConstantInfo::is_of_state)
    }

    /// A new instance, with the mutable buffers of a state.
    ///
    /// # Errors
    /// If the library does not take its constants, or the state's buffers differ from the model's.
    pub(crate) fn instance(&self, state: &dyn StateBuffers) -> Result<ModelInstance> {
        let library = &self.library;
        let spare = lock(&self.spare).take();
        let mut container = match spare {
            Some(container) => container,
            None => ModelContainer::new(library)?,
        };
        let resources = &library.resources;
        let mut constants = self.source.of_instance(&self.constants, state, resources)?;
        let ready = std::mem::take(&mut constants.ready);
        let user_managed = UserManagedConstants::new(std::mem::take(&mut constants.tensors));
        let functions = &library.functions;
        let stream = Stream::per_thread(&resources.device);
        let folds = self.constants.iter().any(|info| info.folded);
        if folds {
            // Folding reads the other constants.
            for event in &ready {
                stream.wait(event)?;
            }
        }
        let session = library.session(&stream)?;
        let handle = container.get_mut()?;
        handle.use_constants(functions, &session, &user_managed)?;
        if folds {
            handle.fold(functions, &session)?;
        }
        session.finish()?;
        Ok(ModelInstance {
            container,
            _user_managed: user_managed,
            _constants: constants,
            ready,
            waits_for_no_folding: !folds,
        })
    }
}
