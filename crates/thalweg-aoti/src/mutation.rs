//! Rules that tests disable, one at a time, to show that each is needed.

/// A rule that right results depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// All delegates of a call are on its stream, rather than each on one of its own.
    OneStream,
    /// The stream of an instance's first call waits for the upload of its constants.
    UseAfterUpload,
    /// The host waits for the device's work of a method that has no memory there.
    DrainUnknownWork,
    /// Mutable buffers belong to the state of an instance.
    OwnBuffers,
    /// An output that is not in the program's memory is copied there.
    GiveOutputs,
    /// A run that differs from its allocation plan gets no more memory of the workspace.
    HoldAgainstPlan,
    /// A call keeps its workspace until it ends.
    KeepWorkspace,
    /// The next call with a workspace waits for the call before.
    HandOnWorkspace,
    /// A graph key contains the addresses of all memory.
    StampAddresses,
    /// A graph key contains the address of the workspace.
    StampWorkspace,
    /// A run that cannot be captured is not deferred.
    OnlyWhatGraphsHold,
}

thalweg_core::ordering_rules!(Rule);
