//! Which tensors instructions read and write.

use std::collections::{HashMap, HashSet};

use thalweg_core::engine::TensorId;
use thalweg_core::{Kernel, ValueId};
use thalweg_format::{Device as DeviceId, ShapeDynamism};

use crate::plan::{MethodPlan, PlannedStorage, PlannedTensor, PlannedValue, Step};

/// A tensor that an instruction reads, or writes.
pub(crate) struct TensorAccess {
    pub(crate) step: usize,
    pub(crate) tensor: TensorId,
    pub(crate) writes: bool,
}

/// What instructions read and write, in their order.
pub(crate) fn accesses(plan: &MethodPlan, kernels: &[Kernel]) -> Vec<TensorAccess> {
    let mut accesses = Vec::new();
    let mut add = |step: usize, value: ValueId, writes: bool| {
        let tensors = plan.tensors_of(value);
        accesses.extend(tensors.map(|tensor| TensorAccess {
            step,
            tensor,
            writes,
        }));
    };
    for input in &plan.inputs {
        add(0, input.value, true);
    }
    for (index, step) in plan.steps.iter().enumerate() {
        match step {
            Step::Kernel {
                operator,
                arguments,
            } => {
                let kernel = &kernels[*operator as usize];
                let arguments = plan.arguments(*arguments);
                for value in read_by(kernel, arguments) {
                    add(index, value, false);
                }
                for &position in kernel.signature().writes() {
                    if let Some(&value) = arguments.get(usize::from(position)) {
                        add(index, value, true);
                    }
                }
            }
            // An output of a delegate is not known from an input.
            Step::Delegate { arguments, .. } => {
                for &value in plan.arguments(*arguments) {
                    add(index, value, false);
                    add(index, value, true);
                }
            }
            Step::Move { from, to } => {
                add(index, *from, false);
                add(index, *to, true);
            }
            Step::JumpIfFalse { condition, .. } => add(index, *condition, false),
            Step::Free { .. } | Step::Known { .. } | Step::Absorbed { .. } => {}
        }
    }
    for &output in &plan.outputs {
        add(plan.steps.len(), output, false);
    }
    accesses
}

/// The arguments that a kernel reads, among them what it works on in place.
pub(crate) fn read_by(kernel: &Kernel, arguments: &[ValueId]) -> Vec<ValueId> {
    let parameters = kernel.signature().parameters().iter().zip(arguments);
    parameters
        .filter(|(parameter, _)| !parameter.written || !parameter.keyword)
        .map(|(_, &value)| value)
        .collect()
}

/// Whether nothing reads what the instruction `at` writes to a tensor by the name of another tensor at
/// its place. Before each time that such a tensor is read, something must have been written there,
/// and not on the other side of that instruction. Only for methods without jumps.
pub(crate) fn is_alone(
    plan: &MethodPlan,
    accesses: &[TensorAccess],
    id: TensorId,
    at: usize,
) -> bool {
    let tensor = |id: TensorId| &plan.tensors[id.0 as usize];
    let place = tensor(id);
    // When tensors that share memory with it were last written.
    let mut written: HashMap<TensorId, usize> = HashMap::new();
    for access in accesses {
        let other = access.tensor;
        if other == id || !overlap(place, tensor(other)) {
            continue;
        }
        if access.writes {
            written.insert(other, access.step);
            continue;
        }
        let is_between = |before: usize| before > at || access.step <= at;
        if written
            .get(&other)
            .is_some_and(|&before| is_between(before))
        {
            continue;
        }
        // It may be read as what was written there by yet another name, over all that is shared.
        let read = tensor(other);
        let start = read.offset.max(place.offset);
        let end = (read.offset + read.capacity).min(place.offset + place.capacity);
        let covers = |(by, &before): (&TensorId, &usize)| {
            let by = tensor(*by);
            by.dynamism == ShapeDynamism::Static
                && by.offset <= start
                && end <= by.offset + by.capacity
                && is_between(before)
        };
        if !written.iter().any(covers) {
            return false;
        }
    }
    true
}

/// Whether two tensors share memory where they are planned.
pub(crate) fn overlap(a: &PlannedTensor, b: &PlannedTensor) -> bool {
    a.storage == b.storage
        && a.offset < b.offset.saturating_add(b.capacity)
        && b.offset < a.offset.saturating_add(a.capacity)
}

/// For each instruction, its outputs that nothing reads, as bits by position. Of kernels that write
/// one tensor there are none: what would they run for?
pub(crate) fn unread(plan: &MethodPlan, kernels: &[Kernel]) -> Vec<u64> {
    let mut unread = vec![0; plan.steps.len()];
    let jumps = |step: &Step| matches!(step, Step::JumpIfFalse { .. });
    let writes_more = |step: &Step| match step {
        Step::Kernel { operator, .. } => {
            let parameters = kernels[*operator as usize].signature().parameters().iter();
            parameters.filter(|parameter| parameter.written).count() > 1
        }
        _ => false,
    };
    if !plan.steps.iter().any(writes_more) || plan.steps.iter().any(jumps) {
        return unread;
    }
    let accesses = accesses(plan, kernels);
    let reads = accesses.iter().filter(|access| !access.writes);
    let read: HashSet<TensorId> = reads.map(|access| access.tensor).collect();
    for (index, step) in plan.steps.iter().enumerate() {
        let Step::Kernel {
            operator,
            arguments,
        } = step
        else {
            continue;
        };
        if !writes_more(step) {
            continue;
        }
        let arguments = plan.arguments(*arguments);
        for &position in kernels[*operator as usize].signature().writes() {
            let value = arguments.get(usize::from(position));
            let Some(PlannedValue::Tensor(id)) = value.map(|value| &plan.values[value.index()])
            else {
                continue;
            };
            let storage = plan.tensors[id.0 as usize].storage;
            // What is in a buffer is read by the next call, or another method.
            let is_temporary = matches!(
                plan.storages[storage.0 as usize],
                PlannedStorage::Arena { device, .. } if device == DeviceId::default()
            );
            if position < 64
                && is_temporary
                && !read.contains(id)
                && is_alone(plan, &accesses, *id, index)
            {
                unread[index] |= 1 << position;
            }
        }
    }
    unread
}
