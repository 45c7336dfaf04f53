//! How each instruction runs, as far as that is known before it does.

use std::sync::Arc;

use thalweg_format::Device as DeviceId;

use crate::memory::{Moving, Overlap, StorageId};
use crate::plan::{MethodPlan, PlannedStorage, PlannedValue, Step};
use crate::{Device, Kernel, ValueId};

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
    pub(super) fn fetch(device: usize, to: ValueId) -> Self {
        Self::Fetch {
            device,
            storage: StorageId(0),
            offset: 0,
            to,
        }
    }
}

/// The operators that copy between the host and a device. Where both sides are on the host they
/// are operators like others.
const COPIES: [&str; 2] = ["et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"];

/// How each instruction runs.
pub(super) fn executions(
    plan: &MethodPlan,
    kernels: &[Kernel],
    moving: &Moving,
    devices: &[Arc<dyn Device>],
) -> Vec<Execution> {
    let execution = |step: &Step| {
        let Step::Kernel {
            operator,
            arguments,
        } = step
        else {
            return Execution::Other;
        };
        let signature = kernels[*operator as usize].signature();
        let arguments = plan.arguments(*arguments);
        if COPIES.contains(&signature.operator())
            && let [from, to, ..] = arguments[..]
        {
            let index = |id| devices.iter().position(|device| Some(device.id()) == id);
            match (index(device_of(plan, from)), index(device_of(plan, to))) {
                (None, Some(device)) => return Execution::Upload(device),
                (Some(device), None) => return Execution::Download(device),
                (Some(from), Some(to)) if from == to => return Execution::Copy(from),
                _ => {}
            }
        }
        if signature.is_view() {
            return Execution::Kernel(Overlap::View);
        }
        let reads = signature.parameters().len();
        let apart = moving.apart(plan, arguments, reads, signature.writes());
        Execution::Kernel(apart.map_or(Overlap::Copied, Overlap::None))
    };
    plan.steps.iter().map(execution).collect()
}

/// The device, other than the host, that a tensor is planned on.
pub(super) fn device_of(plan: &MethodPlan, value: ValueId) -> Option<DeviceId> {
    let PlannedValue::Tensor(id) = plan.values[value.index()] else {
        return None;
    };
    let storage = plan.tensors[id.0 as usize].storage;
    match plan.storages[storage.0 as usize] {
        PlannedStorage::Arena { device, .. } if device != DeviceId::default() => Some(device),
        _ => None,
    }
}

/// The values that instructions make views of others.
pub(super) fn views(plan: &MethodPlan, kernels: &[Kernel]) -> Vec<ValueId> {
    let view = |step: &Step| match step {
        Step::Kernel {
            operator,
            arguments,
        } => {
            let signature = kernels[*operator as usize].signature();
            let position = *signature.writes().first()?;
            let is_view = signature.is_view();
            let argument = plan.arguments(*arguments).get(usize::from(position));
            argument.copied().filter(|_| is_view)
        }
        _ => None,
    };
    plan.steps.iter().filter_map(view).collect()
}
