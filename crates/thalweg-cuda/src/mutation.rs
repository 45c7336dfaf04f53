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
    /// An array that calls were given is freed after all that they left on the device.
    FreeArrayAfterUse,
    /// Whoever takes a lease goes on after the last use of its memory.
    LeaseWait,
    /// The end of a lease is recorded.
    LeaseRecord,
    /// An end of a lease that cannot be recorded is waited for.
    LeaseDrain,
}

thalweg_core::ordering_rules!(Rule);
