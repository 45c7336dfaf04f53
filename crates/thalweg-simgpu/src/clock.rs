//! Vector clocks, from which the order of all work follows.
//!
//! Each queue of work has a slot, and the work in it is numbered. A clock has one number for each
//! slot: all work of that slot up to the number happened before. Slot 0 is the host.

use std::sync::Arc;

/// The slot of the host.
///
/// All host threads share it: what one thread does between two calls of the driver is taken to be
/// ordered by locks and channels that the driver cannot see.
pub(crate) const HOST: usize = 0;

/// The identity of one piece of work: the slot of its queue, and its number in that queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) slot: usize,
    pub(crate) count: u64,
}

/// A vector timestamp: a piece of work, and the clock of everything that happened before it.
#[derive(Clone)]
pub(crate) struct Timestamp {
    pub(crate) epoch: Epoch,
    pub(crate) clock: Arc<Clock>,
}

/// A vector clock. The clock of a piece of work covers everything that happened before it, and itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u64>);

impl Clock {
    /// The number of the last work of a slot that the clock covers.
    pub(crate) fn get(&self, slot: usize) -> u64 {
        self.0.get(slot).copied().unwrap_or(0)
    }

    pub(crate) fn set(&mut self, slot: usize, count: u64) {
        if self.0.len() <= slot {
            self.0.resize(slot + 1, 0);
        }
        self.0[slot] = count;
    }

    /// Adds all that another clock covers.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Returns true if the clock covers a piece of work.
    pub(crate) fn knows(&self, epoch: Epoch) -> bool {
        self.get(epoch.slot) >= epoch.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_knows_what_was_joined_and_nothing_later() {
        let mut a = Clock::default();
        a.set(3, 7);
        let mut b = Clock::default();
        assert!(!b.knows(Epoch { slot: 3, count: 1 }));
        b.join(&a);
        assert!(b.knows(Epoch { slot: 3, count: 7 }));
        assert!(!b.knows(Epoch { slot: 3, count: 8 }));
    }
}
