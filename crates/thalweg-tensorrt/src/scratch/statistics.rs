//! The statistics of shared scratch.

use std::iter::Sum;

use thalweg_cuda::PoolStatistics;

/// What there is of shared scratch on one device, and what was done with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScratchStatistics {
    /// Pieces of memory.
    pub buffers: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Bytes of those that no call has at the moment.
    pub idle: usize,
    /// Pieces that were taken as they were: by a call, or, at a limit, by an engine.
    pub hits: u64,
    /// Pieces of these that the device may still have worked with for others, so that a stream waited.
    pub waits: u64,
    /// Waits on the host for others to enqueue their engines.
    pub turns: u64,
    /// Allocations of the driver.
    pub allocations: u64,
    /// Allocations of these that replaced a piece which was too small.
    pub growths: u64,
    /// Pieces that were freed because nobody had them, to get memory or by
    /// [`trim_scratch`](crate::TensorRt::trim_scratch).
    pub trims: u64,
}

impl ScratchStatistics {
    pub(super) fn of(pool: &PoolStatistics) -> Self {
        Self {
            buffers: pool.blocks,
            bytes: pool.held,
            idle: pool.idle,
            hits: pool.hits + pool.waits,
            waits: pool.waits,
            turns: pool.turns,
            allocations: pool.allocations,
            growths: pool.growths,
            trims: pool.trimmed,
        }
    }
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
