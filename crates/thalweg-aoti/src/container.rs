//! Model containers of compiled libraries.

use std::sync::Arc;

use thalweg_core::{Result, bail};
use thalweg_cuda::Stream;

use crate::abi::{Container, Session};
use crate::compiled_library::CompiledLibrary;

/// A model container that is deleted when this is dropped. It keeps its library.
pub(crate) struct ModelContainer {
    container: Option<Container>,
    library: Arc<CompiledLibrary>,
}

impl ModelContainer {
    /// A new container.
    ///
    /// # Errors
    /// If the library does not create it.
    pub(crate) fn new(library: &Arc<CompiledLibrary>) -> Result<Self> {
        let stream = Stream::per_thread(&library.resources.device);
        let session = library.session(&stream)?;
        let container = Container::new(&library.functions, &session)?;
        // From here on it is deleted, also if the session ends with an error.
        let container = Self {
            container: Some(container),
            library: library.clone(),
        };
        session.finish()?;
        Ok(container)
    }

    pub(crate) fn get(&self) -> Result<&Container> {
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

impl Drop for ModelContainer {
    /// All work of the container is complete: its owner has waited for it.
    fn drop(&mut self) {
        let Some(container) = self.container.take() else {
            return;
        };
        let library = &self.library;
        let stream = Stream::per_thread(&library.resources.device);
        // A call that failed once may succeed the second time; on a lost device none does.
        let session = library.session(&stream);
        let session = session.or_else(|_| library.session(&stream)).ok();
        container.delete(&library.functions, session.as_ref());
        if let Some(Err(error)) = session.map(Session::finish) {
            tracing::debug!("after a container was deleted: {error}");
        }
    }
}
