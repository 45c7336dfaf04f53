//! How a method runs, to be shown.

use std::fmt;

use super::{Execution, KeptAction, LinkedMethod, LinkedStorage, PlacedStorage, What};
use crate::DeviceId;
use crate::plan::Step;

/// How the instructions of a method run on the runtime that it was loaded for: which of the copies
/// that the program says are made, and what stays on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schedule {
    /// The instructions, in order.
    pub steps: Vec<ScheduledStep>,
    /// What stays on a device from call to call.
    pub kept: Vec<KeptInfo>,
    /// Bytes that an instance has on each device for what it computes with.
    pub device_bytes: Vec<(DeviceId, usize)>,
    /// How many tensors have their channels last in memory, though the program plans them first.
    pub reordered: usize,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduledStep {
    /// Its operator or delegate.
    pub name: String,
    /// How it runs.
    pub how: How,
    /// What is brought somewhere before it, if it is not there already, by its number in
    /// [`Schedule::kept`].
    pub brought: Vec<(usize, BroughtTo)>,
}

/// How an instruction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// By its kernel, on the host.
    Host,
    /// By its backend.
    Delegate,
    /// As a copy to a device.
    ToDevice(DeviceId),
    /// As a copy to a device of an input, unless the caller has that there.
    InputToDevice(DeviceId, usize),
    /// As a copy to the host.
    ToHost(DeviceId),
    /// As a copy within a device.
    OnDevice(DeviceId),
    /// Not at all: the value is already where it would be copied to, or nobody looks at it there.
    NotCopied,
    /// Not at all: the result is a part of what a device has.
    Nowhere,
    /// Only the shape is computed.
    View,
    /// Not at all: its result is a constant, computed when the method was linked.
    Known,
    /// Not by itself: an instruction before it does its work as well.
    Absorbed,
    /// As the flow of control that it is.
    Control,
}

/// Where something is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BroughtTo {
    /// To its device.
    Device,
    /// To the host.
    Host,
}

/// Something that stays on a device from call to call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptInfo {
    /// The name of the mutable buffer, if it is one with a name.
    pub name: Option<String>,
    /// How large it is.
    pub bytes: usize,
    /// The device.
    pub device: DeviceId,
}

impl fmt::Display for How {
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
            Self::Nowhere => f.write_str("not run: a part of what the device has"),
            Self::View => f.write_str("a view"),
            Self::Known => f.write_str("computed once, when the method was linked"),
            Self::Absorbed => f.write_str("done by an instruction before it"),
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
                What::Keep(..) | What::PassShape(..) => None,
            })?;
            Some(How::OnDevice(id(self.places.copies[copy].device)))
        };
        let how = |index: usize, step: &Step| match (step, self.executions[index]) {
            (Step::Delegate { .. }, _) => How::Delegate,
            (Step::Known { .. }, _) => How::Known,
            (Step::Absorbed { .. }, _) => How::Absorbed,
            (Step::Kernel { .. }, Execution::Upload(device)) => How::ToDevice(id(device)),
            (Step::Kernel { .. }, Execution::UploadInput { device, input }) => {
                How::InputToDevice(id(device), input)
            }
            (
                Step::Kernel { .. },
                Execution::Download(device) | Execution::Fetch { device, .. },
            ) => How::ToHost(id(device)),
            (Step::Kernel { .. }, Execution::Copy(device)) => How::OnDevice(id(device)),
            (Step::Kernel { .. }, Execution::CopyParts(copy)) => {
                How::OnDevice(id(self.places.copies[copy].device))
            }
            (Step::Kernel { .. }, Execution::Elided) => How::NotCopied,
            (Step::Kernel { .. }, Execution::Nothing) => copied(index).unwrap_or(How::Nowhere),
            (Step::Kernel { .. }, Execution::View) => How::View,
            (Step::Kernel { .. }, _) => How::Host,
            _ => How::Control,
        };
        let brought = |index: usize| {
            let before = self.places.before(index).iter();
            before.filter_map(|step| match step.what {
                What::Keep(kept, KeptAction::ToDevice) => Some((kept, BroughtTo::Device)),
                What::Keep(kept, KeptAction::ToHost) => Some((kept, BroughtTo::Host)),
                _ => None,
            })
        };
        let steps = self.plan.steps.iter().enumerate();
        Schedule {
            steps: steps
                .map(|(index, step)| ScheduledStep {
                    name: self.plan.step_name(index),
                    how: how(index, step),
                    brought: brought(index).collect(),
                })
                .collect(),
            kept: self.kept_info(),
            device_bytes: self.device_bytes(),
            reordered: self.reordered,
        }
    }

    fn kept_info(&self) -> Vec<KeptInfo> {
        let kept = self.places.kept.iter();
        kept.map(|kept| KeptInfo {
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
                LinkedStorage::Placed(PlacedStorage::Kept(kept)) => {
                    let kept = &self.places.kept[*kept];
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
