//! Workspaces: memory for the temporaries of libraries, one for each call.

use std::sync::{Mutex, PoisonError};

use thalweg_core::Result;
use thalweg_cuda::{CallLeases, Pool, Stream, Tenant};

use crate::mutation::{Rule, disabled};

/// The workspaces of a device.
///
/// A call has one for all of its libraries, which are there one after the other on the call's stream. It
/// has it from the first library that needs it until the call ends, and then the pool has it again, with
/// the end of the call's work. It is as large as any library was found to need, so that in a steady state
/// each call of an instance finds the same memory, whatever the number of its delegates: which is what the
/// graphs ask for that were recorded with that memory. They hold nothing of it, since they are launched by
/// calls that do.
pub(crate) struct Workspaces {
    pool: Pool,
    calls: CallLeases,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The most bytes that a library needs.
    largest: usize,
    /// True if that has grown since a workspace was made.
    has_grown: bool,
}

impl Workspaces {
    pub(crate) fn new(pool: &Pool) -> Self {
        Self {
            pool: pool.clone(),
            calls: CallLeases::default(),
            state: Mutex::default(),
        }
    }

    /// Takes note of what a library needs.
    pub(crate) fn needs(&self, bytes: usize) {
        let state = &mut *self.lock();
        state.has_grown |= bytes > state.largest;
        state.largest = state.largest.max(bytes);
    }

    /// The address of a call's workspace, for work on its stream; `None` if the call has one already that
    /// is too small. `last` is the call before that it comes after, and where the workspace was.
    ///
    /// # Errors
    /// If the device's memory is out, or the driver refuses to wait for who had it before.
    pub(crate) fn of_call(
        &self,
        call: u64,
        bytes: usize,
        last: Option<(u64, u64)>,
        stream: impl FnOnce() -> Stream,
    ) -> Result<Option<u64>> {
        let (largest, has_grown) = {
            if let Some((address, len)) = self.calls.get(call) {
                return Ok((len >= bytes).then_some(address));
            }
            let mut state = self.lock();
            let has_grown = std::mem::take(&mut state.has_grown);
            (state.largest.max(bytes), has_grown)
        };
        // Without the lock, since the driver is called. A call is one thread's.
        if has_grown {
            // Smaller workspaces, and what first runs have allocated one by one, are of no more use.
            self.pool.trim();
        }
        let stream = stream();
        let tenant = Tenant::new(call, &stream, last)?;
        let lease = self.pool.lease(&stream, largest, &tenant)?;
        let address = lease.address();
        if disabled(Rule::KeepWorkspace) {
            lease.end(&stream)?;
            return Ok(Some(address));
        }
        self.calls.put(call, lease);
        Ok(Some(address))
    }

    /// Takes a call's workspace back, which asks for nothing more on its stream. `is_over`: the host knows
    /// that all of it is over.
    ///
    /// # Errors
    /// If the driver does not record that; see [`Lease::end`](thalweg_cuda::Lease::end).
    pub(crate) fn end(
        &self,
        call: u64,
        is_over: bool,
        stream: impl FnOnce() -> Stream,
    ) -> Result<()> {
        match self.calls.take(call) {
            Some(lease) if is_over || disabled(Rule::HandOnWorkspace) => {
                lease.end_over();
                Ok(())
            }
            Some(lease) => lease.end(&stream()),
            None => Ok(()),
        }
    }

    /// Never hands a call's workspace on, since it may be in use forever.
    pub(crate) fn abandon(&self, call: u64) {
        drop(self.calls.take(call));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
