//! How each instruction runs, as far as that is known before it does.

use std::sync::Arc;

use thalweg_format::Device as DeviceId;

use super::written::Written;
use crate::memory::{Moving, Overlap, StorageId, TensorId};
use crate::plan::{InputKind, MethodPlan, PlannedInput, PlannedStorage, PlannedValue, Step};
use crate::{Device, Kernel, ValueId};

/// How an instruction runs.
#[derive(Clone, Copy)]
pub(crate) enum Execution {
    /// By its kernel, on the host.
    Kernel(Overlap),
    /// As a copy of its first argument, on the host, to its second, on a device. Devices are
    /// named by their index in the linked method.
    Upload(usize),
    /// As a copy of its first argument, on a device, to its second, on the host.
    Download(usize),
    /// As a copy within a device.
    Copy,
    /// As a copy of memory of a device to this value, on the host.
    Fetch {
        device: usize,
        storage: StorageId,
        offset: usize,
        to: ValueId,
    },
    /// Not at all: what would be copied is there already. Only its shape is passed on.
    Elided,
    /// Not at all, for its result is a part of what the device has.
    Nothing,
    /// By its kernel, which only makes its output a view, and does not look at the memory.
    View,
    /// As its kind says.
    Other,
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
                (Some(from), Some(to)) if from == to => return Execution::Copy,
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

/// For each input, whether an instruction, or the caller, looks at it on the host. If not, a caller
/// who has it on a device need not bring it there.
pub(super) fn inputs_on_host(
    plan: &MethodPlan,
    executions: &[Execution],
    written: &Written,
) -> Vec<bool> {
    let on_host = |input: &PlannedInput| {
        let InputKind::Tensor(id) = input.kind else {
            return true;
        };
        let shares = |value: ValueId| {
            plan.tensors_of(value).any(|other| share(plan, id, other)) || value == input.value
        };
        let used = plan
            .steps
            .iter()
            .zip(executions)
            .any(|(step, execution)| match step {
                Step::Kernel { arguments, .. } => match execution {
                    Execution::Upload(_) | Execution::Elided => false,
                    _ => plan
                        .arguments(*arguments)
                        .iter()
                        .any(|&argument| shares(argument)),
                },
                Step::Delegate { arguments, .. } => plan
                    .arguments(*arguments)
                    .iter()
                    .any(|&argument| shares(argument)),
                Step::Move { from, to } => shares(*from) || shares(*to),
                Step::JumpIfFalse { condition, .. } => shares(*condition),
                Step::Free { .. } => false,
            });
        // An upload of something else that shares the input's memory is one of what the host has.
        let uploads_another = plan.steps.iter().zip(executions).any(|(step, execution)| {
            let (Step::Kernel { arguments, .. }, Execution::Upload(_) | Execution::Elided) =
                (step, execution)
            else {
                return false;
            };
            let from = plan.arguments(*arguments)[0];
            from != input.value && shares(from)
        });
        used || uploads_another
            || written.reaches(input.value)
            || plan.outputs.iter().any(|&output| shares(output))
    };
    plan.inputs.iter().map(on_host).collect()
}

/// For each instruction, the input that it copies to a device as the caller gave it.
pub(super) fn input_uploads(
    plan: &MethodPlan,
    kernels: &[Kernel],
    executions: &[Execution],
    written: &Written,
) -> Vec<Option<usize>> {
    let straight = !plan
        .steps
        .iter()
        .any(|step| matches!(step, Step::JumpIfFalse { .. } | Step::Move { .. }));
    let upload = |(index, (step, execution)): (usize, (&Step, &Execution))| {
        let (Step::Kernel { arguments, .. }, Execution::Upload(_)) = (step, execution) else {
            return None;
        };
        let from = *plan.arguments(*arguments).first()?;
        let input = plan.inputs.iter().position(|input| input.value == from)?;
        let InputKind::Tensor(id) = plan.inputs[input].kind else {
            return None;
        };
        // Nothing has written to the input's memory before, through whatever tensor.
        let before = if straight {
            &plan.steps[..index]
        } else {
            &plan.steps[..]
        };
        let untouched = !before.iter().any(|step| writes_to(plan, kernels, step, id));
        (untouched && !written.reaches(from)).then_some(input)
    };
    plan.steps
        .iter()
        .zip(executions)
        .enumerate()
        .map(upload)
        .collect()
}

/// Whether an instruction may write to the planned memory of a tensor.
fn writes_to(plan: &MethodPlan, kernels: &[Kernel], step: &Step, id: TensorId) -> bool {
    let shares = |value: ValueId| plan.tensors_of(value).any(|other| share(plan, id, other));
    match step {
        Step::Kernel {
            operator,
            arguments,
        } => {
            let arguments = plan.arguments(*arguments);
            let writes = kernels[*operator as usize].signature().writes();
            let mut written = writes
                .iter()
                .filter_map(|&at| arguments.get(usize::from(at)));
            written.any(|&argument| shares(argument))
        }
        Step::Delegate { arguments, .. } => plan
            .arguments(*arguments)
            .iter()
            .any(|&argument| shares(argument)),
        _ => false,
    }
}

/// Whether two tensors are planned to share memory, at whatever time.
fn share(plan: &MethodPlan, a: TensorId, b: TensorId) -> bool {
    let (a, b) = (&plan.tensors[a.0 as usize], &plan.tensors[b.0 as usize]);
    a.storage == b.storage
        && a.offset < b.offset.saturating_add(b.capacity)
        && b.offset < a.offset.saturating_add(a.capacity)
}
