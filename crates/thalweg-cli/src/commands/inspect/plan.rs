//! The plan of a method on this machine: how each instruction runs, and what stays on devices.

use serde::Serialize;
use thalweg::Program;
use thalweg::info::{
    PersistentBufferInfo, Schedule, ScheduledStep, StepExecution, TransferDirection,
};

use crate::failure::with_causes;

/// The plan of a method, or the reason that there is none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Plan {
    Known(Known),
    Unknown { error: String },
}

/// The plan of a method that can be linked here.
#[derive(Debug, Serialize)]
pub(super) struct Known {
    /// The number of copies between host and device that the program has.
    pub(super) copies: usize,
    /// The number of these copies that are left out.
    pub(super) copies_not_made: usize,
    /// The number of tensors in channels-last layout that the program plans in another.
    pub(super) reordered: usize,
    pub(super) instructions: Vec<Instruction>,
    /// The persistent buffers on devices.
    pub(super) kept: Vec<Kept>,
    pub(super) device_memory: Vec<DeviceMemory>,
}

/// An instruction.
#[derive(Debug, Serialize)]
pub(super) struct Instruction {
    /// Its operator or delegate.
    pub(super) name: String,
    /// The way that it runs, in words.
    pub(super) runs: String,
    /// The persistent buffers that are copied before it, if they are not up to date.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) first: Vec<Brought>,
}

/// A persistent buffer that is copied, and its target.
#[derive(Debug, Serialize)]
pub(super) struct Brought {
    /// Its index among the persistent buffers.
    pub(super) kept: usize,
    pub(super) to: String,
}

/// A persistent buffer on a device.
#[derive(Debug, Serialize)]
pub(super) struct Kept {
    /// The name of the mutable buffer, if it is one with a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) bytes: usize,
    pub(super) device: String,
}

/// The memory of an instance on a device.
#[derive(Debug, Serialize)]
pub(super) struct DeviceMemory {
    pub(super) device: String,
    pub(super) bytes: usize,
}

/// Makes the plan of a method. This loads its delegates.
pub(super) fn of(program: &Program, method: &str) -> Plan {
    match program.schedule(method) {
        Ok(schedule) => Plan::Known(Known::of(&schedule)),
        Err(error) => Plan::Unknown {
            error: with_causes(&error),
        },
    }
}

impl Known {
    fn of(schedule: &Schedule) -> Self {
        let copies = || schedule.steps.iter().filter(|step| is_copy(step));
        let instructions = schedule.steps.iter().map(|step| Instruction {
            name: step.name.clone(),
            runs: step.execution.to_string(),
            first: step
                .transfers
                .iter()
                .map(|&(kept, to)| Brought {
                    kept,
                    to: match (to, schedule.persistent.get(kept)) {
                        (
                            TransferDirection::ToDevice,
                            Some(PersistentBufferInfo { device, .. }),
                        ) => device.to_string(),
                        (TransferDirection::ToDevice, None) => "its device".into(),
                        _ => "the host".into(),
                    },
                })
                .collect(),
        });
        Self {
            copies: copies().count(),
            copies_not_made: copies().filter(|step| is_not_made(step.execution)).count(),
            reordered: schedule.channels_last,
            instructions: instructions.collect(),
            kept: schedule
                .persistent
                .iter()
                .map(|kept| Kept {
                    name: kept.name.clone(),
                    bytes: kept.bytes,
                    device: kept.device.to_string(),
                })
                .collect(),
            device_memory: schedule
                .device_bytes
                .iter()
                .map(|&(device, bytes)| DeviceMemory {
                    device: device.to_string(),
                    bytes,
                })
                .collect(),
        }
    }

    /// The name of a persistent buffer.
    pub(super) fn kept_name(&self, kept: usize) -> &str {
        let name = self.kept.get(kept).and_then(|kept| kept.name.as_deref());
        name.unwrap_or("a buffer without a name")
    }
}

/// Returns true for a copy between host and device.
fn is_copy(step: &ScheduledStep) -> bool {
    step.name.starts_with("et_copy::")
}

fn is_not_made(how: StepExecution) -> bool {
    matches!(how, StepExecution::NotCopied | StepExecution::PartOfDevice)
}
