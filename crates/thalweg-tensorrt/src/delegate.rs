//! A delegate: an engine in a program.

use std::sync::Arc;

use thalweg_core::{Delegate, DelegateInstance, Result, State};

use crate::contexts::Making;
use crate::instance::Instance;
use crate::loaded::Loaded;
use crate::scratch::{Scratch, SharedScratch};

/// A delegate that is an engine.
pub(crate) struct EngineDelegate {
    loaded: Arc<Loaded>,
    /// Where its instances have their scratch from, if they share it. Fixed when it was loaded.
    pool: Option<Arc<SharedScratch>>,
    making: Making,
}

impl EngineDelegate {
    pub(crate) fn new(
        loaded: Arc<Loaded>,
        pool: Option<Arc<SharedScratch>>,
        making: Making,
    ) -> Self {
        Self {
            loaded,
            pool,
            making,
        }
    }
}

impl Delegate for EngineDelegate {
    fn instance(&self, _: &State) -> Result<Box<dyn DelegateInstance>> {
        let scratch = Scratch::of(self.pool.as_ref(), self.loaded.device());
        let instance = Instance::new(self.loaded.clone(), scratch, self.making)?;
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
