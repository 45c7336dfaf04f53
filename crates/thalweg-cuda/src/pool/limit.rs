//! The limit of a pool.

/// The most memory that a pool may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// As much as its users need at the same time.
    #[default]
    None,
    /// A number of blocks, of whatever size.
    Blocks(usize),
    /// A number of bytes in all.
    Bytes(usize),
}

impl Limit {
    /// True if one more call can have a block until it ends, where calls have `leases` already.
    ///
    /// There is always one block left that calls have only while they enqueue something. So no call ever
    /// waits for another to end: they may depend on each other in ways that nobody here knows of. Of bytes,
    /// nobody knows how many the next user will need.
    pub(super) fn leaves_one(self, leases: usize) -> bool {
        match self {
            Self::None => true,
            Self::Blocks(limit) => leases + 1 < limit,
            Self::Bytes(_) => false,
        }
    }

    /// The most bytes that one more block can have, beside `blocks` others of `bytes` bytes in all.
    pub(super) fn capacity_beside(self, blocks: usize, bytes: usize) -> usize {
        match self {
            Self::None => usize::MAX,
            Self::Blocks(limit) if blocks < limit => usize::MAX,
            Self::Blocks(_) => 0,
            Self::Bytes(limit) => limit.saturating_sub(bytes),
        }
    }
}
