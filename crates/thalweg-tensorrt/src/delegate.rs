//! A delegate: an engine in a program.

use std::sync::Arc;

use thalweg_core::{Delegate, DelegateInstance, Result};

use crate::instance::Instance;
use crate::loaded::Loaded;

/// A delegate that is an engine.
pub(crate) struct EngineDelegate {
    loaded: Arc<Loaded>,
}

impl EngineDelegate {
    pub(crate) fn new(loaded: Arc<Loaded>) -> Self {
        Self { loaded }
    }
}

impl Delegate for EngineDelegate {
    fn instance(&self) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(Instance::new(self.loaded.clone())?))
    }

    fn aliases(&self) -> Vec<(usize, usize)> {
        self.loaded.aliases.clone()
    }
}
