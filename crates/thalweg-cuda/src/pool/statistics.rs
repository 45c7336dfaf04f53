//! The statistics of a pool.

/// The memory of a pool, and counts of what it has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Bytes that the pool has from the driver.
    pub held: usize,
    /// Bytes of these that are not lent out.
    pub idle: usize,
    /// Blocks that the pool has.
    pub blocks: usize,
    /// Blocks that were lent again without anybody else's last use to wait for.
    pub hits: u64,
    /// Blocks that were lent again while the device might still use them for others, so that a stream
    /// waited.
    pub waits: u64,
    /// Waits on the host for others to enqueue something.
    pub turns: u64,
    /// Allocations of the driver.
    pub allocations: u64,
    /// Allocations of these that replaced a block which was too small.
    pub growths: u64,
    /// Times that unused blocks were given back because memory was out.
    pub trims: u64,
    /// Unused blocks that were freed, for whatever reason.
    pub trimmed: u64,
}
