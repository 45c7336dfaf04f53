//! How each instruction runs.

use thalweg_core::ValueId;
use thalweg_core::engine::{Overlap, StorageId};

/// How an instruction runs.
#[derive(Clone, Copy)]
pub(crate) enum Execution {
    /// By its kernel, on the host.
    Kernel(Overlap),
    /// As a copy of its first argument, on the host, to its second, on a device. Devices are
    /// named by their index in the linked method.
    Upload(usize),
    /// As a copy of an input, which is the first argument, from wherever the caller has it.
    UploadInput { device: usize, input: usize },
    /// As a copy of its first argument, on a device, to its second, on the host.
    Download(usize),
    /// As a copy within a device.
    Copy(usize),
    /// As a copy of memory of a device to this value, on the host.
    Fetch {
        device: usize,
        storage: StorageId,
        offset: usize,
        to: ValueId,
    },
    /// As the copy within a device that has this number; see
    /// [`Places::copies`](super::Places::copies).
    CopyParts(usize),
    /// Not at all: what would be copied is there already. Only its shape is passed on.
    Elided,
    /// Not at all, for its result is a part of what the device has.
    Nothing,
    /// By its kernel, which only makes its output a view, and does not look at the memory.
    View,
    /// As its kind says.
    Other,
}

impl Execution {
    /// A copy of memory of a device to a value, from a place that is not known yet.
    pub(crate) fn fetch(device: usize, to: ValueId) -> Self {
        Self::Fetch {
            device,
            storage: StorageId(0),
            offset: 0,
            to,
        }
    }
}
