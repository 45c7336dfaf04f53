//! Host shadows: values of the host that devices have, too, and how the host can get them.

use thalweg_core::ValueId;

use super::device_heap::Part;
use crate::facts::Region;
use crate::schedule::Execution;

/// A value of the host of which more is known than that the host has it.
pub(super) struct Shadow {
    pub(super) region: Region,
    /// The memory of a device that has it, too.
    pub(super) on_device: Option<(usize, Part)>,
    /// If that memory has it because it is kept there: the instruction before which it has to be
    /// brought there.
    pub(super) since: Option<usize>,
    /// How the host can get it, if it does not have it.
    pub(super) source: Option<Source>,
    /// The input that it is.
    pub(super) input: Option<usize>,
}

impl Shadow {
    /// Whether it says anything.
    pub(super) fn is_known(&self) -> bool {
        self.on_device.is_some() || self.source.is_some() || self.input.is_some()
    }
}

/// How the host can get a value that it does not have.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// This instruction copies a tensor to it, as the program says.
    Download { step: usize, device: usize },
    /// This instruction, which only moves memory, copies a part of a buffer to this value.
    Part { step: usize, to: ValueId },
    /// The caller has it.
    Input(usize),
    /// It is kept on a device.
    Kept(usize),
}

impl Source {
    /// The instruction that makes the value.
    pub(super) fn step(self) -> Option<usize> {
        match self {
            Self::Download { step, .. } | Self::Part { step, .. } => Some(step),
            Self::Input(_) | Self::Kept(_) => None,
        }
    }
}

/// An instruction that only moves something that the host does not have.
pub(super) struct Move {
    pub(super) step: usize,
    /// Where that comes from; `None` if from several values.
    pub(super) source: Option<Source>,
    /// Where a device has it; on none yet if it is an input.
    pub(super) on_device: Option<(usize, Part)>,
    /// How it runs on the host, once that has the source.
    pub(super) on_host: Execution,
    /// Whether the host gets the value by running it, rather than by a copy from the device.
    pub(super) by_host: bool,
}
