//! The delegate.

use std::sync::Arc;

use thalweg_core::{Delegate, DelegateInstance, Result, StateBuffers};

use crate::instance::Instance;
use crate::model::Model;

/// A delegate that is a compiled library.
pub(crate) struct LibraryDelegate(Arc<Model>);

impl LibraryDelegate {
    pub(crate) fn new(model: Model) -> Self {
        Self(Arc::new(model))
    }
}

impl Delegate for LibraryDelegate {
    fn instance(&self, state: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(Instance::new(self.0.clone(), state)?))
    }

    fn has_state(&self) -> bool {
        self.0.has_state()
    }
}
