//! Caches of values that exist as long as they are in use.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, Weak};

use thalweg_core::Result;

use crate::sync::lock;

/// A cache that holds its values weakly: a value is dropped with its last user.
pub(crate) struct WeakCache<K, T>(Mutex<HashMap<K, Arc<Slot<T>>>>);

/// The value of a key. It is locked while the value is made.
type Slot<T> = Mutex<Weak<T>>;

impl<K, T> Default for WeakCache<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq, T> WeakCache<K, T> {
    /// The value of a key, made if there is none. Other threads wait only for values of the same key.
    pub(crate) fn get(&self, key: K, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let slot = {
            let mut slots = lock(&self.0);
            slots.retain(|_, slot| {
                // The thread that makes a value holds the slot, too.
                Arc::strong_count(slot) > 1 || lock(slot).strong_count() > 0
            });
            slots.entry(key).or_default().clone()
        };
        let mut value = lock(&slot);
        if let Some(value) = value.upgrade() {
            return Ok(value);
        }
        let made = Arc::new(make()?);
        *value = Arc::downgrade(&made);
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use thalweg_core::bail;

    use super::*;

    #[test]
    fn a_value_is_made_once_as_long_as_it_is_in_use() {
        let cache = WeakCache::default();
        let made = AtomicUsize::new(0);
        let get = |key: u32| {
            let make = || Ok(made.fetch_add(1, Ordering::Relaxed));
            cache.get(key, make).unwrap()
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
        let failed: Result<Arc<usize>> = cache.get(3, || bail!(Internal, "no"));
        failed.unwrap_err();
        assert_eq!(*get(3), 3);
        assert_eq!(lock(&cache.0).len(), 1);
    }
}
