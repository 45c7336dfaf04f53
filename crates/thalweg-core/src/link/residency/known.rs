//! What is known of a value: who has it, and how the host gets it.

use std::ops::Range;

use super::buffers::Part;
use crate::ValueId;
use crate::link::Execution;
use crate::memory::StorageId;

/// A range of the host's memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Region {
    pub(super) storage: StorageId,
    pub(super) bytes: Range<usize>,
}

impl Region {
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.storage == other.storage
            && self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        self.storage == other.storage
            && self.bytes.start <= other.bytes.start
            && other.bytes.end <= self.bytes.end
    }
}

/// A value of the host of which more is known than that the host has it.
pub(super) struct Shadow {
    pub(super) region: Region,
    /// The memory of a device that has it, too.
    pub(super) on_device: Option<(usize, Part)>,
    /// The instruction from which on that memory has it.
    pub(super) since: usize,
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
    pub(super) source: Source,
    pub(super) device: usize,
    pub(super) part: Part,
    /// How it runs on the host, once that has the source.
    pub(super) on_host: Execution,
    /// Whether the host gets the value by running it, rather than by a copy from the device.
    pub(super) by_host: bool,
}
