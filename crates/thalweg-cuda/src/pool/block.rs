//! The blocks of a pool that nobody has.

use std::sync::Arc;

use thalweg_core::Result;

use crate::handle::{EventHandle, StreamId};
use crate::memory::DeviceMemory;
use crate::order::{Mark, Uses};
use crate::stream::Stream;

/// A block of memory with its uses.
pub(super) struct Block {
    pub(super) memory: DeviceMemory,
    pub(super) uses: Uses,
    /// When it came back, among others that did.
    pub(super) since: u64,
}

impl Block {
    pub(super) fn len(&self) -> usize {
        self.memory.len()
    }

    /// True if the end of each use is known, so that work on another stream can come after it.
    pub(super) fn has_ends(&self) -> bool {
        self.uses.have_ends()
    }

    /// True if all uses were on a stream that may be this one, so that waiting costs nothing: a
    /// caller's stream cannot be told from another call's.
    pub(super) fn may_be_only_on(&self, stream: StreamId) -> bool {
        self.uses
            .ends()
            .is_some_and(|ends| ends.iter().all(|mark: &Mark| mark.stream.may_be(stream)))
    }

    /// Frees it after its last use.
    pub(super) fn free(self) {
        match self.uses.ends() {
            Some(ends) => self.memory.free_after(&events(ends)),
            None if self.memory.context().lost().is_some() => self.memory.free_after(&[]),
            None => self.leak(),
        }
    }

    /// Frees it after its last use, in the order of a stream: what is allocated there next can have the
    /// memory.
    pub(super) fn free_on(self, stream: &Stream) -> Result<()> {
        match self.uses.ends() {
            Some(ends) => self.memory.free_on_after(stream.handle(), &events(ends)),
            None => {
                self.free();
                Ok(())
            }
        }
    }

    fn leak(self) {
        tracing::warn!(
            bytes = self.len(),
            "memory of a pool whose last use has no known end is never freed"
        );
        std::mem::forget(self.memory);
    }
}

/// Asks the driver whether all uses are complete, and forgets them if they are, so that nobody waits for
/// them.
pub(super) fn forget_complete(uses: &Uses) {
    let Some(ends) = uses.ends() else { return };
    if ends.iter().all(|mark| mark.event.query().unwrap_or(false)) {
        uses.forget_ends(&ends);
    }
}

fn events(ends: Vec<Mark>) -> Vec<Arc<EventHandle>> {
    ends.into_iter().map(|mark| mark.event).collect()
}
