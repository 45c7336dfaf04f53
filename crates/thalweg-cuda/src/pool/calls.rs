//! Leases by calls.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::lease::Lease;

/// The leases of calls that have not ended, by the calls' numbers. A call is one thread's.
#[derive(Default)]
pub struct CallLeases(Mutex<Vec<(u64, Lease)>>);

impl CallLeases {
    /// The address and the length of a call's lease.
    pub fn get(&self, call: u64) -> Option<(u64, usize)> {
        let leases = self.lock();
        let (_, lease) = leases.iter().find(|(number, _)| *number == call)?;
        Some((lease.address(), lease.len()))
    }

    /// Keeps the lease of a call, which has none.
    pub fn put(&self, call: u64, lease: Lease) {
        self.lock().push((call, lease));
    }

    /// Takes the lease of a call out.
    pub fn take(&self, call: u64) -> Option<Lease> {
        let mut leases = self.lock();
        let index = leases.iter().position(|(number, _)| *number == call)?;
        Some(leases.swap_remove(index).1)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Lease)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
