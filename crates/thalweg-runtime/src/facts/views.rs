//! Devices and views of values.

use thalweg_core::{DeviceId, Kernel, ValueId};

use crate::plan::{MethodPlan, PlannedStorage, PlannedValue, Step};

/// The device, other than the host, that a tensor is planned on.
pub(crate) fn device_of(plan: &MethodPlan, value: ValueId) -> Option<DeviceId> {
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
