//! Rules that tests disable, one at a time, to show that each is needed.

/// A wait or a setting that correct results depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// All engines of a call are enqueued on the call's stream, rather than each on a stream of its own.
    OneStream,
    /// A context gets new shapes when the work that it has enqueued is complete.
    ReshapeAfterUse,
    /// Scratch is replaced when no work uses it any more.
    GrowAfterUse,
    /// A call without memory on the device ends when the work that it has enqueued is complete.
    DrainUnknownWork,
    /// The scratch of a context is set.
    SetScratch,
    /// The scratch of every context is set again after it has moved.
    SetScratchAgain,
    /// Scratch is as large as the shapes need.
    ScratchForShapes,
    /// An output that aliases an input is bound to the input's memory.
    BindAlias,
    /// An output that aliases an input, but has memory of its own, starts as a copy of the input.
    CopyAlias,
    /// Staged inputs are copied to the device.
    StageInputs,
    /// Staged outputs are copied to the host before the host reads them.
    StageOutputs,
    /// An engine that needs no scratch takes no shared scratch.
    NothingForNothing,
    /// A context is switched to another profile when the work that it has enqueued is complete.
    SwitchAfterUse,
    /// A context whose switch has failed is dropped when the copies of the switch are complete.
    DropAfterSwitch,
}

thalweg_core::ordering_rules!(Rule);
