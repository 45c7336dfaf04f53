//! Rules that tests leave out, one at a time, to show that each is needed.

/// A wait or a setting that right answers depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// All delegates of a call are on its stream, rather than each on one of its own.
    OneStream,
    /// The first call of an instance comes after the upload of its constants.
    UseAfterUpload,
    /// What a method without memory on the device leaves there is waited for.
    DrainUnknownWork,
    /// What a model may change, each instance has for itself.
    OwnBuffers,
    /// An output that is not where the program wants it is copied there.
    GiveOutputs,
    /// A run that allocates otherwise than planned has nothing more of the workspace.
    HoldAgainstPlan,
    /// A call has its workspace until it ends.
    KeepWorkspace,
    /// Who has a workspace next waits for the call that had it.
    HandOnWorkspace,
    /// What was prepared is the same only if all memory is where it was.
    StampAddresses,
    /// What was prepared is the same only if the workspace is where it was.
    StampWorkspace,
    /// A run of which something cannot be recorded is not put off.
    OnlyWhatGraphsHold,
}

thalweg_core::omission_switch!(Rule);
