//! The engines that are loaded, so that delegates with the same payload share one.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::loaded::LoadedEngine;
use crate::weights::Budget;

/// The engines that are loaded or are being loaded.
#[derive(Default)]
pub(crate) struct EngineCache(Mutex<Vec<CachedEngine>>);

/// A slot for an engine. It is locked while the engine is being loaded.
pub(crate) type EngineSlot = Arc<Mutex<Weak<LoadedEngine>>>;

/// An engine that is loaded or is being loaded, with what identifies it.
struct CachedEngine {
    /// The address and the length of the payload. While the engine lives or is being loaded, no other
    /// payload has this address.
    payload: (usize, usize),
    device: i32,
    budget: Budget,
    slot: EngineSlot,
}

impl EngineCache {
    /// The slot for the engine of a payload, on a device, with a weight streaming budget.
    pub(crate) fn slot(&self, payload: &[u8], device: i32, budget: Budget) -> EngineSlot {
        let location = (payload.as_ptr().addr(), payload.len());
        let mut engines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A thread that loads holds the lock, and a clone of the slot.
        engines.retain(|cached| Arc::strong_count(&cached.slot) > 1 || cached.lives());
        let same = |cached: &&CachedEngine| {
            cached.device == device
                && cached.budget == budget
                && (cached.payload == location || cached.has_bytes(payload))
        };
        if let Some(cached) = engines.iter().find(same) {
            return cached.slot.clone();
        }
        let slot = EngineSlot::default();
        engines.push(CachedEngine {
            payload: location,
            device,
            budget,
            slot: Arc::clone(&slot),
        });
        slot
    }
}

impl CachedEngine {
    /// Returns true if the engine lives, and false while it is being loaded.
    fn lives(&self) -> bool {
        self.slot
            .try_lock()
            .is_ok_and(|engine| engine.strong_count() > 0)
    }

    /// Returns true if the engine lives and its payload, wherever that is, has these bytes.
    fn has_bytes(&self, payload: &[u8]) -> bool {
        let loaded = match self.slot.try_lock() {
            Ok(engine) if self.payload.1 == payload.len() => engine.upgrade(),
            _ => None,
        };
        loaded.is_some_and(|loaded| loaded.payload.as_deref() == Some(payload))
    }
}
