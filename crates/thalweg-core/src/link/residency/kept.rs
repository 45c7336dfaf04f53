//! What stays on a device from call to call.

use super::known::Region;
use crate::memory::StorageId;

/// Memory of the host that a device has, too, and that lasts: a cache, or a constant. Which of the
/// two is valid is known only when a call begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) host: (StorageId, usize),
    pub(crate) bytes: usize,
    pub(crate) device: usize,
    /// The storage on the device.
    pub(crate) storage: StorageId,
}

/// What is done for something that is kept, before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptStep {
    pub(crate) before: usize,
    pub(crate) kept: usize,
    pub(crate) action: KeptAction,
}

/// What is done for something that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptAction {
    /// The device gets it, if it does not have it.
    ToDevice,
    /// The host gets it, if it does not have it.
    ToHost,
    /// The device is about to write all of it. If it has the value, it alone has it now.
    DeviceWrites,
    /// Only the device has it from now on.
    DeviceOnly,
    /// The host is about to write all of it. If it has the value, it alone has it now.
    HostWrites,
    /// Only the host has it from now on.
    HostOnly,
}

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
