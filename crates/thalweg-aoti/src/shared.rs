//! Things that are made once for all who ask for the same.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, Weak};

use thalweg_core::Result;

use crate::backend::lock;

/// Things by key, as long as somebody has them.
pub(crate) struct Shared<K, T>(Mutex<HashMap<K, Arc<Slot<T>>>>);

/// Locked while the thing is being made.
type Slot<T> = Mutex<Weak<T>>;

impl<K, T> Default for Shared<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq, T> Shared<K, T> {
    /// The thing of a key, made if nobody has it. Others who ask for the same wait meanwhile, and
    /// those who ask for something else do not.
    pub(crate) fn get(&self, key: K, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let slot = {
            let mut slots = lock(&self.0);
            slots.retain(|_, slot| {
                // Whoever makes the thing has the slot, too.
                Arc::strong_count(slot) > 1 || lock(slot).strong_count() > 0
            });
            slots.entry(key).or_default().clone()
        };
        let mut thing = lock(&slot);
        if let Some(thing) = thing.upgrade() {
            return Ok(thing);
        }
        let made = Arc::new(make()?);
        *thing = Arc::downgrade(&made);
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use thalweg_core::bail;

    use super::*;

    #[test]
    fn a_thing_is_made_once_as_long_as_somebody_has_it() {
        let shared = Shared::default();
        let made = AtomicUsize::new(0);
        let get = |key: u32| {
            let make = || Ok(made.fetch_add(1, Ordering::Relaxed));
            shared.get(key, make).unwrap()
        };
        let first = get(1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(*get(1), 0));
            }
        });
        assert_eq!(*get(2), 1);
        drop(first);
        assert_eq!(*get(1), 2);
        let failed: Result<Arc<usize>> = shared.get(3, || bail!(Internal, "no"));
        failed.unwrap_err();
        assert_eq!(*get(3), 3);
        assert_eq!(lock(&shared.0).len(), 1);
    }
}
