//! Outputs that nothing reads.

use thalweg_core::Result;
use thalweg_core::engine::TensorId;
use thalweg_format::Device as DeviceId;

use super::{Lowering, Pass};
use crate::facts::Facts;
use crate::plan::{MethodPlan, PlannedStorage, PlannedValue, Step};

/// Finds for each instruction the outputs that nothing reads. Of kernels that write one tensor there
/// are none: they would not be in the program.
pub(crate) struct FindUnread;

impl Pass for FindUnread {
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()> {
        lowering.unread = unread(facts);
        Ok(())
    }
}

/// For each instruction, its outputs that nothing reads, as bits by position.
fn unread(facts: &Facts) -> Vec<u64> {
    let plan = facts.plan();
    let mut unread = vec![0; plan.steps.len()];
    for (index, step) in plan.steps.iter().enumerate() {
        let Step::Kernel {
            operator,
            arguments,
        } = step
        else {
            continue;
        };
        let signature = facts.kernel(*operator).signature();
        let parameters = signature.parameters().iter();
        if parameters.filter(|parameter| parameter.written).count() <= 1 {
            continue;
        }
        if facts.jumps() {
            break;
        }
        let arguments = plan.arguments(*arguments);
        for &position in signature.writes() {
            let value = arguments.get(usize::from(position));
            let Some(PlannedValue::Tensor(id)) = value.map(|value| &plan.values[value.index()])
            else {
                continue;
            };
            let accesses = facts.accesses();
            if position < 64
                && is_temporary(plan, *id)
                && accesses.reads(*id).next().is_none()
                && accesses.is_alone(*id, index)
            {
                unread[index] |= 1 << position;
            }
        }
    }
    unread
}

/// Returns true if a tensor lies in an arena of the host. What is in a buffer is read by the next call,
/// or another method.
fn is_temporary(plan: &MethodPlan, id: TensorId) -> bool {
    let storage = plan.tensors[id.0 as usize].storage;
    matches!(
        plan.storages[storage.0 as usize],
        PlannedStorage::Arena { device, .. } if device == DeviceId::default()
    )
}
