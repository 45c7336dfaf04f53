//! Batches: the deferred commands of a call, between two times that the host has to wait.

use std::ops::Range;

use thalweg_core::engine::StorageId;
use thalweg_core::{Access, DeviceAddress, GraphKey};

use super::in_flight::InFlightRanges;

/// A command for a device, on the stream of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// A copy from the host to the device.
    Upload {
        to: DeviceAddress,
        from: usize,
        len: usize,
    },
    /// A copy from the device to the host.
    Download {
        to: usize,
        from: DeviceAddress,
        len: usize,
    },
    /// A copy within the device.
    Copy {
        to: DeviceAddress,
        from: DeviceAddress,
        len: usize,
    },
    /// The work that a delegate of the method has encoded, for the instruction with a number.
    Delegate {
        index: usize,
        key: GraphKey,
        instruction: usize,
    },
}

/// A step in the submission of what a delegate has encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelegateStep {
    /// Submit it.
    Submit,
    /// Submit it, in a capture.
    Capture,
    /// Take note that it was submitted, by itself or as a part of a graph.
    Submitted,
}

/// The deferred commands of a call.
#[derive(Default)]
pub(super) struct Batch {
    /// True while commands are added to it rather than submitted at once.
    pub(super) is_open: bool,
    pub(super) commands: Vec<Command>,
    /// By index, true for delegates that have one among the commands.
    delegates: Vec<bool>,
    /// The host memory that the commands use.
    pub(super) ranges: InFlightRanges,
}

impl Batch {
    pub(super) fn add_delegate(&mut self, index: usize, key: GraphKey, instruction: usize) {
        if self.delegates.len() <= index {
            self.delegates.resize(index + 1, false);
        }
        self.delegates[index] = true;
        self.commands.push(Command::Delegate {
            index,
            key,
            instruction,
        });
    }

    /// True if something that a delegate has encoded is among the commands.
    pub(super) fn has_delegate(&self, index: usize) -> bool {
        self.delegates.get(index).copied().unwrap_or(false)
    }

    /// True if a command uses host memory in a way that conflicts with an access of the host.
    pub(super) fn conflicts(
        &self,
        storage: StorageId,
        range: &Range<usize>,
        access: Access,
    ) -> bool {
        self.ranges.conflicts(storage, range, access)
    }

    /// Takes the commands, which are about to be submitted.
    pub(super) fn take(&mut self) -> Vec<Command> {
        self.delegates.fill(false);
        self.ranges.clear();
        std::mem::take(&mut self.commands)
    }

    /// Gives back the memory of commands that were taken.
    pub(super) fn recycle(&mut self, mut commands: Vec<Command>) {
        commands.clear();
        self.commands = commands;
    }
}
