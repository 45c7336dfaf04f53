//! Rules that tests leave out, one at a time, to show that each is needed.

/// A wait or a setting that right answers depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// All engines of a call are on its stream, rather than each on one of its own.
    OneStream,
    /// A context gets other shapes once nothing that it enqueued is running any more.
    ReshapeAfterUse,
    /// Scratch is replaced once nothing uses it any more.
    GrowAfterUse,
    /// What a method without memory on the device leaves there is waited for.
    DrainUnknownWork,
    /// A context is told where its scratch is.
    SetScratch,
    /// Every context is told when the scratch has moved.
    SetScratchAgain,
    /// Scratch is as large as the shapes need.
    ScratchForShapes,
    /// An output that is an input's memory is bound to it.
    BindAlias,
    /// An output that is an input's memory, but has a place of its own, starts as a copy of it.
    CopyAlias,
    /// Staged inputs are copied to the device.
    StageInputs,
    /// Staged outputs are copied to the host before it reads them.
    StageOutputs,
    /// Shared scratch is not claimed by who needs none.
    NothingForNothing,
    /// A context is switched to another profile once nothing that it enqueued is running any more.
    SwitchAfterUse,
    /// A context whose switch may be under way is dropped when that is over.
    DropAfterSwitch,
}

thalweg_core::omission_switch!(Rule);
