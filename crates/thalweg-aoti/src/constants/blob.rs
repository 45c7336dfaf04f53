//! Constants that are loaded from one blob.

use std::sync::Arc;

use thalweg_core::{Result, SharedBytes, ensure};
use thalweg_cuda::{Event, Stream};

use crate::abi::Tensor;
use crate::compiled_library::CompiledLibrary;
use crate::container::ModelContainer;

/// The constants of a blob, loaded by a container that only holds them. The containers of instances borrow
/// them.
pub(crate) struct BlobConstants {
    /// In the order of the library.
    tensors: Vec<Tensor>,
    /// The event of the upload.
    ready: Option<Event>,
    _container: ModelContainer,
    /// The blob, whose address the container keeps.
    _blob: SharedBytes,
}

impl BlobConstants {
    /// Loads the `count` constants of a library from a blob.
    ///
    /// # Errors
    /// If the library has another number of constants.
    pub(super) fn load(
        library: &Arc<CompiledLibrary>,
        blob: SharedBytes,
        count: usize,
    ) -> Result<Self> {
        let mut container = ModelContainer::new(library)?;
        let stream = Stream::per_thread(&library.resources.device);
        let session = library.session(&stream)?;
        let handle = container.get_mut()?;
        let tensors = handle.load_blob(&library.functions, &session, &blob);
        session.finish()?;
        let tensors = tensors?;
        ensure!(
            tensors.len() == count,
            Delegate,
            "the compiled library has {count} constants, and made {} of its data",
            tensors.len()
        );
        Ok(Self {
            tensors,
            ready: stream.work()?.finish()?.event(),
            _container: container,
            _blob: blob,
        })
    }

    pub(super) fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The event of the upload.
    pub(super) fn ready(&self) -> Option<&Event> {
        self.ready.as_ref()
    }
}
