//! Persistent buffers: candidates, and those that are kept on a device.

use crate::facts::Region;

/// What could be kept on a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Candidate {
    pub(super) region: Region,
    pub(super) device: usize,
}

/// What is kept, while the instructions are followed.
pub(super) struct Keeping {
    pub(super) candidate: Candidate,
    /// The buffer that it has on the device.
    pub(super) buffer: usize,
    /// A delegate has updated it in place, by this output of this instruction, and the program has not
    /// said yet that it is to be so.
    pub(super) updated_by: Option<(usize, usize)>,
}
