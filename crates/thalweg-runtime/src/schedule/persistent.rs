//! Persistent buffers, and what is done before instructions.

use thalweg_core::ValueId;
use thalweg_core::engine::StorageId;

/// Memory of the host that a device has, too, and that lasts: a cache, or a constant. Which of the
/// two is valid is known only when a call begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PersistentBuffer {
    pub(crate) host: (StorageId, usize),
    pub(crate) bytes: usize,
    pub(crate) device: usize,
    /// The storage on the device.
    pub(crate) storage: StorageId,
}

/// What is done before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepBefore {
    /// The instruction.
    pub(crate) before: usize,
    pub(crate) what: What,
}

/// What is done before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Something for what is kept, by its number.
    Persist(usize, CoherenceAction),
    /// The copy within a device that has this number.
    Copy(usize),
    /// The second value gets the shape of the first.
    PassShape(ValueId, ValueId),
}

/// What is done for something that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoherenceAction {
    /// The device gets it, if it does not have it.
    ToDevice,
    /// The host gets it, if it does not have it.
    ToHost,
    /// The device is about to write all of it. If it has the value, it alone has it now.
    DeviceWrites,
    /// Only the device has it from now on.
    DeviceOnly,
    /// The host has written what the device has.
    AddHost,
    /// The host is about to write all of it. If it has the value, it alone has it now.
    HostWrites,
    /// Only the host has it from now on.
    HostOnly,
}
