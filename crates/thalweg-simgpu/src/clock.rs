//! What had happened before something: vector clocks.
//!
//! Each queue of work has a slot, and the work in it is numbered. A clock says, per slot, up to
//! which number everything has happened before. Slot 0 is the host.

/// The slot of the host.
///
/// All host threads share it: what one thread does between two calls of the driver is taken to be
/// ordered by locks and channels that the driver cannot see.
pub(crate) const HOST: usize = 0;

/// One piece of work: the slot of its queue and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) slot: usize,
    pub(crate) epoch: u64,
}

/// Everything that happened before some piece of work, and that work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u64>);

impl Clock {
    /// Up to which number a slot's work has happened.
    pub(crate) fn get(&self, slot: usize) -> u64 {
        self.0.get(slot).copied().unwrap_or(0)
    }

    pub(crate) fn set(&mut self, slot: usize, epoch: u64) {
        if self.0.len() <= slot {
            self.0.resize(slot + 1, 0);
        }
        self.0[slot] = epoch;
    }

    /// Adds what another clock knows.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether a piece of work happened before.
    pub(crate) fn knows(&self, point: Point) -> bool {
        self.get(point.slot) >= point.epoch
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
        assert!(!b.knows(Point { slot: 3, epoch: 1 }));
        b.join(&a);
        assert!(b.knows(Point { slot: 3, epoch: 7 }));
        assert!(!b.knows(Point { slot: 3, epoch: 8 }));
    }
}
