//! Rules of order that tests leave out, one at a time, to show that each is needed.

/// A wait or a record that the order depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// A stream that reads waits for the stream that wrote.
    ReadAfterWrite,
    /// A stream that writes waits for the streams that read.
    WriteAfterRead,
    /// A stream that writes waits for the stream that wrote.
    WriteAfterWrite,
    /// The end of work is recorded.
    RecordEnd,
    /// New memory is used after its allocation.
    UseAfterAllocation,
    /// Memory is freed after its last use.
    FreeAfterUse,
    /// Pinned memory is freed after its last use.
    FreePinnedAfterUse,
    /// The host reads what the device wrote after that.
    HostReadAfterDevice,
    /// The host overwrites what the device uses after that.
    HostWriteAfterDevice,
    /// Memory from a pool is used by another stream after the one before.
    ReuseAfterUse,
    /// What a token keeps is dropped after the work.
    DropAfterWork,
    /// A graph is destroyed, with what it keeps, after its last launch.
    DropAfterLaunch,
    /// A launch of a graph takes its turn with the buffers that the graph uses.
    LaunchInTurn,
}

#[cfg(any(test, feature = "omissions"))]
mod switch {
    use super::Rule;
    use std::sync::atomic::{AtomicU32, Ordering};

    static OMITTED: AtomicU32 = AtomicU32::new(0);

    /// Leaves one rule out until the result is dropped. For tests, one at a time.
    pub fn omit(rule: Rule) -> Omission {
        OMITTED.fetch_or(1 << rule as u32, Ordering::SeqCst);
        Omission(rule)
    }

    /// A rule that is left out.
    #[derive(Debug)]
    #[must_use]
    pub struct Omission(Rule);

    impl Drop for Omission {
        fn drop(&mut self) {
            OMITTED.fetch_and(!(1 << self.0 as u32), Ordering::SeqCst);
        }
    }

    pub(crate) fn omitted(rule: Rule) -> bool {
        OMITTED.load(Ordering::Relaxed) & (1 << rule as u32) != 0
    }
}

#[cfg(any(test, feature = "omissions"))]
pub use switch::*;

/// Without the switch, nothing is.
#[cfg(not(any(test, feature = "omissions")))]
#[inline(always)]
pub(crate) fn omitted(_rule: Rule) -> bool {
    false
}
