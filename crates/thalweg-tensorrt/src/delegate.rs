//! The delegate of an engine.

use std::sync::Arc;

use thalweg_core::{Delegate, DelegateInstance, Result, StateBuffers};

use crate::contexts::ContextOptions;
use crate::instance::Instance;
use crate::loaded::LoadedEngine;
use crate::scratch::{Scratch, SharedScratch};

/// The delegate of an engine: what its instances share, and the options for them.
pub(crate) struct EngineDelegate {
    loaded: Arc<LoadedEngine>,
    /// The scratch that instances share; `None` if each has its own.
    pool: Option<Arc<SharedScratch>>,
    options: ContextOptions,
}

impl EngineDelegate {
    /// The delegate of a loaded engine.
    pub(crate) fn new(
        loaded: Arc<LoadedEngine>,
        pool: Option<Arc<SharedScratch>>,
        options: ContextOptions,
    ) -> Self {
        Self {
            loaded,
            pool,
            options,
        }
    }
}

impl Delegate for EngineDelegate {
    fn instance(&self, _: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        let scratch = Scratch::of(self.pool.as_ref(), self.loaded.device());
        let instance = Instance::new(self.loaded.clone(), scratch, self.options)?;
        Ok(Box::new(instance))
    }

    fn aliases(&self) -> Vec<(usize, usize)> {
        self.loaded.aliases.clone()
    }

    fn name(&self) -> Option<&str> {
        self.loaded.own_name()
    }

    fn profile_count(&self) -> usize {
        self.loaded.profiles.len()
    }
}
