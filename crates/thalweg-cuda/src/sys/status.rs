//! Status codes of the driver.

/// A `CUresult`. A number, and not cudarc's enumeration, since a newer driver may answer with
/// codes that the enumeration lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(pub(crate) u32);

impl Status {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const INVALID_VALUE: Self = Self(1);
    pub(crate) const OUT_OF_MEMORY: Self = Self(2);
    pub(crate) const NO_DEVICE: Self = Self(100);
    pub(crate) const INVALID_DEVICE: Self = Self(101);
    pub(crate) const NOT_FOUND: Self = Self(500);
    pub(crate) const NOT_READY: Self = Self(600);
    pub(crate) const PEER_ACCESS_ALREADY_ENABLED: Self = Self(704);
    pub(crate) const NOT_SUPPORTED: Self = Self(801);
    pub(crate) const GRAPH_EXEC_UPDATE_FAILURE: Self = Self(910);

    pub(crate) fn is_success(self) -> bool {
        self == Self::SUCCESS
    }

    /// True if the context (or the whole driver) is of no use any more: errors of work on the device,
    /// which every later call answers with, too.
    pub(crate) fn loses_context(self) -> bool {
        matches!(
            self.0,
            // The driver is shutting down; memory and links that failed; a contained error.
            4 | 214 | 220 | 226
            // Illegal addresses, timeouts, destroyed contexts, and what kernels do wrong.
            | 700 | 702 | 709 | 710 | 714
                ..=719 | 721
            // A process of the multi-process server was ended; an external device failed.
            | 809 | 810 | 911
        )
    }
}
