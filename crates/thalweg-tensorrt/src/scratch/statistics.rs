//! What is known of shared scratch, for people.

use std::iter::Sum;

/// What pools of shared scratch have and have done, on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScratchStatistics {
    /// Pieces of memory.
    pub buffers: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Bytes of those that no call has at the moment.
    pub idle: usize,
    /// How often a piece was taken as it was: by a call, or, at a limit, by an engine.
    pub hits: u64,
    /// How often it was one that the device may still have worked with for others, so that a stream
    /// waited.
    pub waits: u64,
    /// How often somebody waited on the host for others to enqueue their engines.
    pub turns: u64,
    /// How often the driver was asked for memory with success.
    pub allocations: u64,
    /// How often that was because a piece was too small, which was freed.
    pub growths: u64,
    /// How many pieces were freed because nobody had them, to get memory or by
    /// [`trim_scratch`](crate::TensorRt::trim_scratch).
    pub trims: u64,
}

/// Of several pools together.
impl Sum for ScratchStatistics {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            buffers: sum.buffers + one.buffers,
            bytes: sum.bytes + one.bytes,
            idle: sum.idle + one.idle,
            hits: sum.hits + one.hits,
            waits: sum.waits + one.waits,
            turns: sum.turns + one.turns,
            allocations: sum.allocations + one.allocations,
            growths: sum.growths + one.growths,
            trims: sum.trims + one.trims,
        })
    }
}
