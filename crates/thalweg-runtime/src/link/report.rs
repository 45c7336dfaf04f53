//! The schedule of a method, for people.

use std::fmt;

use thalweg_core::DeviceId;

use super::{LinkedMethod, LinkedStorage};
use crate::plan::Step;
use crate::schedule::{CoherenceAction, Execution, PlacedStorage, What};
use crate::trace::{InstructionNames, StepName};

/// The schedule of a method: how its instructions run on the runtime that it was loaded for, which of the
/// program's copies are made, and which buffers stay on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schedule {
    /// The instructions, in order.
    pub steps: Vec<ScheduledStep>,
    /// The buffers that stay on a device from call to call.
    pub persistent: Vec<PersistentBufferInfo>,
    /// The memory of an instance on each device, in bytes.
    pub device_bytes: Vec<(DeviceId, usize)>,
    /// The number of tensors with channels-last layout that the program plans with channels first.
    pub channels_last: usize,
}

/// An instruction of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduledStep {
    /// Its operator or delegate.
    pub name: String,
    /// Its index among the program's instructions. The nodes of a delegate that is a graph have that of
    /// the instruction which calls the delegate.
    pub instruction: usize,
    /// How it runs.
    pub execution: StepExecution,
    /// The persistent buffers that are copied before it, where they are not valid already, by their
    /// index in [`Schedule::persistent`].
    pub transfers: Vec<(usize, TransferDirection)>,
}

/// How an instruction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepExecution {
    /// By its kernel, on the host.
    Host,
    /// By its backend.
    Delegate,
    /// As a copy to a device.
    ToDevice(DeviceId),
    /// As a copy to a device of the input with an index, unless the caller has that there.
    InputToDevice(DeviceId, usize),
    /// As a copy to the host.
    ToHost(DeviceId),
    /// As a copy within a device.
    OnDevice(DeviceId),
    /// Not at all: the value is already where it would be copied to, or nothing reads it there.
    NotCopied,
    /// Not at all: the result is a part of a device's buffer.
    PartOfDevice,
    /// Only the shape is computed.
    View,
    /// Not at all: its result is a constant, computed when the method was linked.
    Folded,
    /// Not by itself: it is fused into an instruction before it.
    Fused,
    /// As control flow.
    Control,
}

/// The direction of a transfer of a persistent buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransferDirection {
    /// From the host to its device.
    ToDevice,
    /// From its device to the host.
    ToHost,
}

/// A buffer that stays on a device from call to call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PersistentBufferInfo {
    /// The name of the mutable buffer, if it is one with a name.
    pub name: Option<String>,
    /// The size in bytes.
    pub bytes: usize,
    /// The device.
    pub device: DeviceId,
}

impl fmt::Display for StepExecution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("on the host"),
            Self::Delegate => f.write_str("by its backend"),
            Self::ToDevice(device) => write!(f, "copied to {device}"),
            Self::InputToDevice(device, input) => {
                write!(f, "copied to {device}, unless input {input} is there")
            }
            Self::ToHost(device) => write!(f, "copied from {device}"),
            Self::OnDevice(device) => write!(f, "copied within {device}"),
            Self::NotCopied => f.write_str("not copied"),
            Self::PartOfDevice => f.write_str("not run: a part of what the device has"),
            Self::View => f.write_str("a view"),
            Self::Folded => f.write_str("computed once, when the method was linked"),
            Self::Fused => f.write_str("fused into an instruction before it"),
            Self::Control => f.write_str("control"),
        }
    }
}

impl LinkedMethod {
    /// How the method runs.
    pub(crate) fn schedule(&self) -> Schedule {
        let id = |device: usize| self.devices[device].id();
        let copied = |index: usize| {
            let mut steps = self.places.before(index).iter();
            let copy = steps.find_map(|step| match step.what {
                What::Copy(copy) => Some(copy),
                What::Persist(..) | What::PassShape(..) => None,
            })?;
            Some(StepExecution::OnDevice(id(self.places.copies[copy].device)))
        };
        let how = |index: usize, step: &Step| match (step, self.executions[index]) {
            (Step::Delegate { .. }, _) => StepExecution::Delegate,
            (Step::Folded { .. }, _) => StepExecution::Folded,
            (Step::Fused { .. }, _) => StepExecution::Fused,
            (Step::Kernel { .. }, Execution::Upload(device)) => StepExecution::ToDevice(id(device)),
            (Step::Kernel { .. }, Execution::UploadInput { device, input }) => {
                StepExecution::InputToDevice(id(device), input)
            }
            (
                Step::Kernel { .. },
                Execution::Download(device) | Execution::Fetch { device, .. },
            ) => StepExecution::ToHost(id(device)),
            (Step::Kernel { .. }, Execution::Copy(device)) => StepExecution::OnDevice(id(device)),
            (Step::Kernel { .. }, Execution::CopyParts(copy)) => {
                StepExecution::OnDevice(id(self.places.copies[copy].device))
            }
            (Step::Kernel { .. }, Execution::Elided) => StepExecution::NotCopied,
            (Step::Kernel { .. }, Execution::Nothing) => {
                copied(index).unwrap_or(StepExecution::PartOfDevice)
            }
            (Step::Kernel { .. }, Execution::View) => StepExecution::View,
            (Step::Kernel { .. }, _) => StepExecution::Host,
            _ => StepExecution::Control,
        };
        let transfers = |index: usize| {
            let before = self.places.before(index).iter();
            before.filter_map(|step| match step.what {
                What::Persist(kept, CoherenceAction::ToDevice) => {
                    Some((kept, TransferDirection::ToDevice))
                }
                What::Persist(kept, CoherenceAction::ToHost) => {
                    Some((kept, TransferDirection::ToHost))
                }
                _ => None,
            })
        };
        let steps = self.plan.steps.iter().enumerate();
        Schedule {
            steps: steps
                .map(|(index, step)| ScheduledStep {
                    name: self.plan.step_name(index),
                    instruction: self.plan.instruction(index),
                    execution: how(index, step),
                    transfers: transfers(index).collect(),
                })
                .collect(),
            persistent: self.persistent_info(),
            device_bytes: self.device_bytes(),
            channels_last: self.reordered,
        }
    }

    fn persistent_info(&self) -> Vec<PersistentBufferInfo> {
        let kept = self.places.persistent.iter();
        kept.map(|kept| PersistentBufferInfo {
            name: match &self.storages[kept.host.0.0 as usize] {
                LinkedStorage::State { name, .. } => Some(name.to_string()),
                _ => None,
            },
            bytes: kept.bytes,
            device: self.devices[kept.device].id(),
        })
        .collect()
    }

    pub(crate) fn device_bytes(&self) -> Vec<(DeviceId, usize)> {
        let on = |device: usize| {
            let storages = self.storages.iter().map(|storage| match storage {
                LinkedStorage::DeviceArena { bytes, device: at } if *at == device => *bytes,
                LinkedStorage::Placed(PlacedStorage::Persistent(kept)) => {
                    let kept = &self.places.persistent[*kept];
                    if kept.device == device { kept.bytes } else { 0 }
                }
                _ => 0,
            });
            storages.fold(0, usize::saturating_add)
        };
        let devices = self.devices.iter().enumerate();
        devices
            .map(|(index, device)| (device.id(), on(index)))
            .collect()
    }
}

/// The names of a method's instructions in traces.
pub(super) fn names(linked: &LinkedMethod) -> InstructionNames {
    let plan = &linked.plan;
    let steps = plan.steps.iter().zip(linked.schedule().steps).enumerate();
    let steps = steps.map(|(index, (step, scheduled))| {
        let delegate = match step {
            Step::Delegate { delegate, .. } => Some(*delegate as usize),
            _ => None,
        };
        let own = delegate.and_then(|index| linked.delegates[index].name());
        StepName {
            name: own.map_or(scheduled.name, String::from),
            how: scheduled.execution.to_string(),
            delegate: delegate.map(|index| (index, plan.delegates[index].backend.clone())),
            instruction: scheduled.instruction,
            node: plan.node(index).map(|node| {
                let delegate = node.delegate as usize;
                let backend = plan.delegates[delegate].backend.clone();
                (node.describe(), delegate, backend)
            }),
        }
    });
    InstructionNames::new(&plan.name, steps.collect())
}
