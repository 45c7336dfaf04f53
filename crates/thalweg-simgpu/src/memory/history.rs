//! The history of accesses to each byte of an allocation.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::clock::{Clock, Epoch};
use crate::report::Site;

/// An access. It is kept while a later one may conflict with it.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) epoch: Epoch,
    pub(crate) site: Arc<Site>,
}

#[derive(Clone, Default)]
struct Segment {
    end: u64,
    write: Option<Access>,
    /// The reads since that write. Of each slot only the last one is kept, which implies the
    /// others.
    reads: Vec<Access>,
}

/// The last write of each byte, and the reads since that write.
#[derive(Default)]
pub(crate) struct History {
    segments: BTreeMap<u64, Segment>,
}

impl History {
    /// Records an access, and returns an earlier one that it conflicts with: one of the two is a
    /// write, and the clock of the new one does not cover the earlier one.
    pub(crate) fn access(
        &mut self,
        range: Range<u64>,
        write: bool,
        by: &Access,
        clock: &Clock,
    ) -> Option<Access> {
        if range.is_empty() {
            return None;
        }
        self.split(range.start);
        self.split(range.end);
        self.fill_gaps(&range);
        let mut conflict = None;
        for (_, segment) in self.segments.range_mut(range) {
            let unknown = |access: &&Access| !clock.knows(access.epoch);
            if conflict.is_none() {
                conflict = segment.write.iter().find(unknown).cloned();
            }
            if write {
                if conflict.is_none() {
                    conflict = segment.reads.iter().find(unknown).cloned();
                }
                segment.write = Some(by.clone());
                segment.reads.clear();
            } else {
                segment
                    .reads
                    .retain(|read| read.epoch.slot != by.epoch.slot);
                segment.reads.push(by.clone());
            }
        }
        conflict
    }

    /// An access within a range that a clock does not cover, if there is one.
    pub(crate) fn unknown(&self, range: Range<u64>, clock: &Clock) -> Option<Access> {
        let before = self.segments.range(..range.start).next_back();
        let inside = self.segments.range(range.clone());
        before
            .into_iter()
            .filter(|(_, segment)| segment.end > range.start)
            .chain(inside)
            .flat_map(|(_, segment)| segment.write.iter().chain(&segment.reads))
            .find(|access| !clock.knows(access.epoch))
            .cloned()
    }

    /// Splits the segment around `at`, if there is one.
    fn split(&mut self, at: u64) {
        let Some((_, segment)) = self.segments.range_mut(..at).next_back() else {
            return;
        };
        if segment.end <= at {
            return;
        }
        let rest = segment.clone();
        segment.end = at;
        self.segments.insert(at, rest);
    }

    fn fill_gaps(&mut self, range: &Range<u64>) {
        let mut gaps = Vec::new();
        let mut position = range.start;
        for (&start, segment) in self.segments.range(range.clone()) {
            if position < start {
                gaps.push(position..start);
            }
            position = segment.end;
        }
        if position < range.end {
            gaps.push(position..range.end);
        }
        for gap in gaps {
            self.segments.insert(
                gap.start,
                Segment {
                    end: gap.end,
                    ..Segment::default()
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(slot: usize, count: u64) -> Access {
        Access {
            epoch: Epoch { slot, count },
            site: Arc::new(Site {
                name: format!("kernel{count}").into(),
                stream: format!("stream{slot}").into(),
                sequence: count,
            }),
        }
    }

    fn clock(points: &[(usize, u64)]) -> Clock {
        let mut clock = Clock::default();
        for &(slot, count) in points {
            clock.set(slot, count);
        }
        clock
    }

    #[test]
    fn an_unordered_read_after_a_write_conflicts_only_where_they_overlap() {
        let mut history = History::default();
        let write = history.access(0..100, true, &access(1, 1), &clock(&[(1, 1)]));
        assert!(write.is_none());
        let apart = history.access(100..200, false, &access(2, 1), &clock(&[(2, 1)]));
        assert!(apart.is_none());
        let overlap = history.access(99..101, false, &access(2, 2), &clock(&[(2, 2)]));
        assert_eq!(overlap.map(|access| access.epoch.slot), Some(1));
    }

    #[test]
    fn a_write_conflicts_with_each_unordered_read_since() {
        let mut history = History::default();
        assert!(
            history
                .access(0..8, false, &access(1, 1), &clock(&[(1, 1)]))
                .is_none()
        );
        assert!(
            history
                .access(4..8, false, &access(2, 1), &clock(&[(2, 1)]))
                .is_none()
        );
        let knows_one = clock(&[(1, 1), (3, 1)]);
        let conflict = history.access(0..8, true, &access(3, 1), &knows_one);
        assert_eq!(conflict.map(|access| access.epoch.slot), Some(2));
        // Everything before is covered by that write.
        let knows_write = clock(&[(3, 1), (4, 1)]);
        assert!(
            history
                .access(0..8, true, &access(4, 1), &knows_write)
                .is_none()
        );
    }

    #[test]
    fn ordered_accesses_do_not_conflict() {
        let mut history = History::default();
        assert!(
            history
                .access(0..8, true, &access(1, 1), &clock(&[(1, 1)]))
                .is_none()
        );
        let after = clock(&[(1, 1), (2, 1)]);
        assert!(history.access(0..8, true, &access(2, 1), &after).is_none());
        assert!(history.unknown(0..8, &after).is_none());
        assert!(history.unknown(0..8, &clock(&[(1, 1)])).is_some());
    }
}
