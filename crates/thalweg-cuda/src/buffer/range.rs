//! Ranges of bytes within a buffer.

use std::ops::{Bound, RangeBounds};

use thalweg_core::{Result, bail};

/// Start and length of a range within `len` bytes.
pub(super) fn part(range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok((start, end - start)),
        _ => bail!(
            InvalidInput,
            "bytes {:?} to {:?} are no part of a buffer of {len} bytes",
            range.start_bound(),
            range.end_bound()
        ),
    }
}
