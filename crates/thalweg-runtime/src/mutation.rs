//! Ordering rules of the runtime, which tests disable one at a time to show that each is needed.

/// A wait or a record that the order on devices depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// An operator of the host waits for copies that use its arguments.
    HostAfterCopies,
    /// An output is read after the copy that writes it.
    OutputsAfterCopies,
    /// An input is written after the copies of earlier calls that read its place.
    InputsAfterCopies,
    /// A call's stream goes on after what the call before left in flight.
    CallAfterCall,
    /// Memory goes when nothing in flight uses it any more.
    DropAfterUse,
    /// What a call leaves in flight is recorded.
    RecordEnd,
    /// A call that cannot record what it leaves in flight waits for it.
    DrainWithoutRecord,
    /// A copy to a device is known to read its source until it is done.
    UploadsRead,
    /// A copy from a device is known to write its target until it is done.
    DownloadsWrite,
    /// A call that uses a state on a device goes on after what another has left in flight there.
    StateAfterCall,
    /// What a call leaves in flight that uses a state on a device is recorded for others.
    StateRecord,
    /// The host reads a state after what a call has left in flight.
    StateOnHost,
    /// A call is over after the copies that read memory which the caller lent for its time.
    BorrowedUntilCopied,
    /// A call on a stream that the caller records begins when what came before is over.
    CaptureAfterCall,
    /// What a caller records is not taken for the end of the call, for later calls to wait for.
    NoEndInCapture,
    /// Whoever is told to go on after a call's completion does.
    AfterCompletion,
}

thalweg_core::ordering_rules!(Rule);
