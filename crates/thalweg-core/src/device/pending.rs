//! Host memory that a device has yet to read or write.

use std::ops::Range;

use crate::memory::StorageId;

/// Ranges of host memory that copies on a stream still use.
///
/// A copy to the device reads them: until it is done, the host must not write there. A copy from
/// the device writes them: until then, the host must not even read.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    ranges: Vec<(StorageId, Range<usize>, Use)>,
}

/// How memory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is looked at.
    Read,
    /// It is changed, or looked at and changed.
    Write,
}

impl Pending {
    /// Room for so many copies without allocating.
    pub(crate) fn with_capacity(copies: usize) -> Self {
        Self {
            ranges: Vec::with_capacity(copies),
        }
    }

    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Remembers what a copy uses.
    pub(crate) fn add(&mut self, storage: StorageId, range: Range<usize>, by_device: Use) {
        // A loop can copy the same range many times before anybody waits.
        let same = |known: &(StorageId, Range<usize>, Use)| {
            known.0 == storage && known.1 == range && known.2 == by_device
        };
        if !range.is_empty() && !self.ranges.iter().any(same) {
            self.ranges.push((storage, range, by_device));
        }
    }

    /// Whether the host has to wait before it uses a range.
    pub(crate) fn conflicts(&self, storage: StorageId, range: &Range<usize>, by_host: Use) -> bool {
        self.ranges.iter().any(|(other, used, by_device)| {
            *other == storage
                && (by_host == Use::Write || *by_device == Use::Write)
                && used.start < range.end
                && range.start < used.end
        })
    }

    /// Becomes the same as another, in the memory that there is.
    pub(crate) fn clone_from(&mut self, other: &Self) {
        self.ranges.clone_from(&other.ranges);
    }

    /// Forgets all, since the stream has been waited for.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_may_read_what_the_device_only_reads() {
        let mut pending = Pending::default();
        let (a, b) = (StorageId(0), StorageId(1));
        pending.add(a, 16..32, Use::Read);
        assert!(!pending.conflicts(a, &(16..32), Use::Read));
        assert!(pending.conflicts(a, &(31..40), Use::Write));
        assert!(!pending.conflicts(a, &(32..40), Use::Write));
        assert!(!pending.conflicts(b, &(16..32), Use::Write));
        pending.add(a, 64..80, Use::Write);
        assert!(pending.conflicts(a, &(70..71), Use::Read));
        pending.clear();
        assert!(!pending.conflicts(a, &(70..71), Use::Read));
    }

    #[test]
    fn an_empty_range_is_used_by_nobody() {
        let mut pending = Pending::default();
        pending.add(StorageId(0), 8..8, Use::Write);
        assert!(pending.is_empty());
    }
}
