//! The uses of memory, and the events that the next use waits for.
//!
//! Every buffer has [`Uses`]. Work that is being enqueued opens a use, and is told which events
//! its stream must wait for first; when it is finished it closes the use, and leaves the event
//! that stands for its end. The host takes a [`HostHold`], which waits for the device and keeps
//! new work away. So any number may read at once, one may write, and all of it is in an order that
//! the device keeps, not the memory's users.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use thalweg_core::{Result, bail};

use crate::handle::{EventHandle, StreamId};
use crate::mutation::{Rule, disabled};

/// The access of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The end of a use: an event, and the stream on which it was recorded.
#[derive(Clone)]
pub(crate) struct Mark {
    pub(crate) stream: StreamId,
    pub(crate) event: Arc<EventHandle>,
}

/// Memory that the device uses.
pub(crate) trait Operand: Send + Sync {
    fn uses(&self) -> &Uses;
}

/// The uses of a piece of memory. Clones are the same.
#[derive(Clone)]
pub(crate) struct Uses(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The number of holds of the host that read it.
    host_readers: usize,
    host_writer: bool,
    /// Work that is not finished.
    open: Vec<Open>,
    /// The last work that wrote it, and what has read it since. On each stream the last suffices.
    write: Option<Mark>,
    reads: Vec<Mark>,
    /// Whose the memory was last, if that was a lease.
    tenant: Option<Place>,
}

/// The number of readers' ends that are kept without looking whether they are complete.
const KEPT_READS: usize = 4;

struct Open {
    work: u64,
    stream: StreamId,
    access: Access,
}

impl Uses {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// True if both are of the same memory.
    pub(crate) fn are(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a use by work on a stream, and calls `wait` with each event that the stream must wait for.
    ///
    /// Work on another stream that is not finished has no event yet to wait for, so that a
    /// conflict with it is an error.
    pub(crate) fn open(
        &self,
        work: u64,
        stream: StreamId,
        access: Access,
        mut wait: impl FnMut(&Arc<EventHandle>),
    ) -> Result<()> {
        let mut state = self.lock();
        let writes = access == Access::Write;
        if state.host_writer || (writes && state.host_readers > 0) {
            bail!(
                InvalidInput,
                "a pinned buffer is given to the device while the host holds its bytes"
            );
        }
        let conflict = state.open.iter().any(|open| {
            open.work != work && open.stream != stream && (writes || open.access == Access::Write)
        });
        if conflict {
            bail!(
                InvalidInput,
                "a buffer is used by work on another stream that is not finished"
            );
        }
        match state.open.iter_mut().find(|open| open.work == work) {
            Some(open) if open.access == access || !writes => return Ok(()),
            Some(open) => open.access = access,
            None => state.open.push(Open {
                work,
                stream,
                access,
            }),
        }
        let mut wait_for = |mark: &Mark, rule| {
            if mark.stream != stream && !disabled(rule) {
                wait(&mark.event);
            }
        };
        if let Some(mark) = &state.write {
            wait_for(
                mark,
                if writes {
                    Rule::WriteAfterWrite
                } else {
                    Rule::ReadAfterWrite
                },
            );
        }
        if writes {
            for mark in &state.reads {
                wait_for(mark, Rule::WriteAfterRead);
            }
        }
        state.tenant = None;
        Ok(())
    }

    /// Says whose the memory is, after its use was opened.
    pub(crate) fn set_tenant(&self, tenant: &Tenant) {
        self.lock().tenant = Some(tenant.place);
    }

    /// True if the last use was a lease that comes before what the tenant enqueues, as far as that can be
    /// guessed. It is about which memory is best, never about order.
    pub(crate) fn were_of(&self, tenant: &Tenant) -> bool {
        let state = self.lock();
        state.open.is_empty() && state.tenant.is_some_and(|last| tenant.follows(last))
    }

    /// Closes a use, which is complete after its end; without one, it is complete already.
    pub(crate) fn close(&self, work: u64, mark: Option<&Mark>) {
        let old = {
            let mut state = self.lock();
            let Some(index) = state.open.iter().position(|open| open.work == work) else {
                return;
            };
            let open = state.open.swap_remove(index);
            let Some(mark) = mark else { return };
            if open.access == Access::Write {
                // It came after everything before it.
                state.reads.clear();
                state.write = Some(mark.clone());
            } else if let Some(read) = state
                .reads
                .iter_mut()
                .find(|read| read.stream == mark.stream)
            {
                *read = mark.clone();
            } else {
                state.reads.push(mark.clone());
            }
            // Readers on ever new streams would pile up.
            let excess = state.reads.len().saturating_sub(KEPT_READS).min(2);
            state.reads[..excess].to_vec()
        };
        // Not under the lock: this calls the driver.
        let is_over = |mark: &Mark| mark.event.query().unwrap_or(false);
        let over: Vec<Mark> = old.into_iter().filter(is_over).collect();
        if !over.is_empty() {
            self.forget_ends(&over);
        }
    }

    /// Closes a use that wrote and is complete, and with it all that came before it.
    pub(crate) fn close_over(&self, work: u64) {
        let mut state = self.lock();
        state.open.retain(|open| open.work != work);
        state.write = None;
        state.reads.clear();
    }

    /// Takes the event of the last write out, if nobody else has it, to be recorded again.
    pub(crate) fn take_event(&self) -> Option<Arc<EventHandle>> {
        let mut state = self.lock();
        let unshared = |mark: &mut Mark| Arc::strong_count(&mark.event) == 1;
        state.write.take_if(unshared).map(|mark| mark.event)
    }

    /// Adds a use that writes, by its end.
    pub(crate) fn mark_written(&self, mark: Mark) {
        self.lock().write = Some(mark);
    }

    /// The ends of all uses so far; `None` if work is not finished, or never will be.
    pub(crate) fn ends(&self) -> Option<Vec<Mark>> {
        let state = self.lock();
        if !state.has_ends() {
            return None;
        }
        Some(state.write.iter().chain(&state.reads).cloned().collect())
    }

    /// True if all uses so far have an end; see [`Uses::ends`].
    pub(crate) fn have_ends(&self) -> bool {
        self.lock().has_ends()
    }

    /// True if all uses so far are on one stream, or known to be complete.
    pub(crate) fn only_on(&self, stream: StreamId) -> bool {
        let state = self.lock();
        state.open.iter().all(|open| open.stream == stream)
            && state
                .write
                .iter()
                .chain(&state.reads)
                .all(|mark| mark.stream == stream)
    }

    /// Forgets ends that were waited for.
    pub(crate) fn forget_ends(&self, over: &[Mark]) {
        let is_over = |mark: &Mark| {
            over.iter()
                .any(|over| Arc::ptr_eq(&over.event, &mark.event))
        };
        let mut state = self.lock();
        state.reads.retain(|read| !is_over(read));
        if state.write.as_ref().is_some_and(is_over) {
            state.write = None;
        }
    }

    /// Lets the host read or write the memory at `data`, after the device is finished with it.
    pub(crate) fn hold(&self, data: NonNull<u8>, access: Access) -> Result<HostHold> {
        let writes = access == Access::Write;
        let ends: Vec<Mark> = {
            let mut state = self.lock();
            if state.host_writer || (writes && state.host_readers > 0) {
                bail!(
                    InvalidInput,
                    "the host holds the bytes of a pinned buffer already"
                );
            }
            if state
                .open
                .iter()
                .any(|open| writes || open.access == Access::Write)
            {
                bail!(
                    InvalidInput,
                    "the host asks for the bytes of a pinned buffer that unfinished work uses"
                );
            }
            if writes {
                state.host_writer = true;
            } else {
                state.host_readers += 1;
            }
            let reads = state.reads.iter().filter(|_| writes);
            state.write.iter().chain(reads).cloned().collect()
        };
        let hold = HostHold {
            uses: self.0.clone(),
            data: data.addr().get(),
            access,
        };
        let rule = if writes {
            Rule::HostWriteAfterDevice
        } else {
            Rule::HostReadAfterDevice
        };
        if !disabled(rule) {
            for mark in &ends {
                // On an error the hold is dropped, and with it what was taken.
                mark.event.synchronize()?;
            }
        }
        self.forget_ends(&ends);
        Ok(hold)
    }

    /// Waits on the host until all uses are complete. `Ok(false)` if some never will be.
    pub(crate) fn wait_until_over(&self) -> Result<bool> {
        let Some(ends) = self.ends() else {
            return Ok(false);
        };
        for mark in &ends {
            mark.event.synchronize()?;
        }
        Ok(true)
    }
}

impl State {
    fn has_ends(&self) -> bool {
        self.open.is_empty() && !self.host_writer && self.host_readers == 0
    }
}

/// The host's use of a piece of memory: while it lasts, no conflicting work is accepted.
pub(crate) struct HostHold {
    uses: Arc<Mutex<State>>,
    data: usize,
    access: Access,
}

impl HostHold {
    pub(crate) fn reads_or_writes(&self, data: NonNull<u8>) -> bool {
        self.data == data.addr().get()
    }

    pub(crate) fn writes(&self, data: NonNull<u8>) -> bool {
        self.data == data.addr().get() && self.access == Access::Write
    }
}

impl Drop for HostHold {
    fn drop(&mut self) {
        let mut state = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        match self.access {
            Access::Read => state.host_readers -= 1,
            Access::Write => state.host_writer = false,
        }
    }
}

/// The taker of a lease: a call, and where it enqueues.
///
/// All of it is about which memory is best. What must be waited for follows from events alone.
#[derive(Clone, Copy, Debug)]
pub struct Tenant {
    pub(crate) place: Place,
    /// The call before, after which this one comes in any case.
    pub(crate) last_call: Option<u64>,
    /// An address where memory is best, because it was there the last time.
    pub(crate) wish: Option<u64>,
}

/// A call, by its number, and from where it enqueues: a stream, if it is still the same one, on a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) call: u64,
    pub(crate) stream: usize,
    pub(crate) thread: ThreadId,
}

impl Tenant {
    /// The same, where memory is best at another address, because it is known there.
    #[must_use]
    pub fn wishes(self, address: u64) -> Self {
        Self {
            wish: Some(address),
            ..self
        }
    }

    /// True if what another has enqueued probably comes before what this one enqueues.
    pub(crate) fn follows(&self, other: Place) -> bool {
        Some(other.call) == self.last_call
            || (other.stream, other.thread) == (self.place.stream, self.place.thread)
    }
}

/// A number that no use of memory has had.
pub(crate) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
