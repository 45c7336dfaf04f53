//! Host memory that copies in flight use.

use std::ops::Range;

use thalweg_core::Access;
use thalweg_core::engine::StorageId;

/// The ranges of host memory that copies in flight use.
///
/// A copy to the device reads its range: until it is complete, the host must not write there. A copy
/// from the device writes its range: until it is complete, the host must not even read.
#[derive(Debug, Default)]
pub(crate) struct InFlightRanges {
    ranges: Vec<(StorageId, Range<usize>, Access)>,
}

impl InFlightRanges {
    /// With capacity for a number of copies.
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
    pub(crate) fn add(&mut self, storage: StorageId, range: Range<usize>, by_device: Access) {
        // A loop can copy the same range many times before anybody waits.
        let same = |known: &(StorageId, Range<usize>, Access)| {
            known.0 == storage && known.1 == range && known.2 == by_device
        };
        if !range.is_empty() && !self.ranges.iter().any(same) {
            self.ranges.push((storage, range, by_device));
        }
    }

    /// Whether the host has to wait before it uses a range.
    pub(crate) fn conflicts(
        &self,
        storage: StorageId,
        range: &Range<usize>,
        by_host: Access,
    ) -> bool {
        self.ranges.iter().any(|(other, used, by_device)| {
            *other == storage
                && (by_host == Access::Write || *by_device == Access::Write)
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
        let mut pending = InFlightRanges::default();
        let (a, b) = (StorageId(0), StorageId(1));
        pending.add(a, 16..32, Access::Read);
        assert!(!pending.conflicts(a, &(16..32), Access::Read));
        assert!(pending.conflicts(a, &(31..40), Access::Write));
        assert!(!pending.conflicts(a, &(32..40), Access::Write));
        assert!(!pending.conflicts(b, &(16..32), Access::Write));
        pending.add(a, 64..80, Access::Write);
        assert!(pending.conflicts(a, &(70..71), Access::Read));
        pending.clear();
        assert!(!pending.conflicts(a, &(70..71), Access::Read));
    }

    #[test]
    fn an_empty_range_is_used_by_nobody() {
        let mut pending = InFlightRanges::default();
        pending.add(StorageId(0), 8..8, Access::Write);
        assert!(pending.is_empty());
    }
}
