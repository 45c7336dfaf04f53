//! The values that the instructions of a method may change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use thalweg_core::engine::StorageId;
use thalweg_core::{Kernel, ValueId};

use crate::plan::{InputKind, MethodPlan, PlannedInput, PlannedStorage, PlannedValue, Step};

/// The values that instructions may change.
pub(crate) struct Written {
    /// Values that change: tensors that are written, and numbers that are returned or passed.
    pub(crate) values: HashSet<ValueId>,
    /// From a value to those that may share its memory: views of it, and what it is moved to.
    shares: HashMap<ValueId, Vec<ValueId>>,
}

impl Written {
    pub(super) fn find(plan: &MethodPlan, kernels: &[Kernel]) -> Self {
        let mut written = Self {
            values: HashSet::new(),
            shares: HashMap::new(),
        };
        for step in &plan.steps {
            match step {
                Step::Kernel {
                    operator,
                    arguments,
                } => {
                    let kernel = &kernels[*operator as usize];
                    let arguments = plan.arguments(*arguments);
                    for &position in kernel.signature().writes() {
                        let Some(&target) = arguments.get(usize::from(position)) else {
                            continue;
                        };
                        if kernel.signature().is_view() {
                            written.shares.entry(arguments[0]).or_default().push(target);
                        } else {
                            written.values.insert(target);
                            written.values.extend(list_entries(plan, target));
                        }
                    }
                }
                Step::Move { from, to } => {
                    written.shares.entry(*from).or_default().push(*to);
                }
                Step::Delegate { .. }
                | Step::JumpIfFalse { .. }
                | Step::Free { .. }
                | Step::Folded { .. }
                | Step::Fused { .. } => {}
            }
        }
        // An integer that a delegate returns, that is moved, or that the caller passes, is not
        // the one that the program lists.
        let changing = plan.steps.iter().flat_map(|step| match step {
            Step::Delegate { arguments, .. } => plan.arguments(*arguments),
            Step::Move { to, .. } => std::slice::from_ref(to),
            _ => &[],
        });
        let numbers: Vec<ValueId> = changing
            .copied()
            .chain(plan.inputs.iter().map(|input| input.value))
            .filter(|value| matches!(plan.values[value.index()], PlannedValue::Scalar(_)))
            .collect();
        written.values.extend(numbers);
        written
    }

    /// For each input, the storage that can refer to the caller's memory: that of a tensor without
    /// planned memory, unless an instruction writes to it.
    pub(crate) fn lends(&self, plan: &MethodPlan) -> Vec<Option<StorageId>> {
        let lend = |input: &PlannedInput| {
            let InputKind::Tensor(tensor) = input.kind else {
                return None;
            };
            let storage = plan.tensors[tensor.0 as usize].storage;
            let unplanned = matches!(plan.storages[storage.0 as usize], PlannedStorage::Unplanned);
            (unplanned && !self.reaches(input.value)).then_some(storage)
        };
        plan.inputs.iter().map(lend).collect()
    }

    /// The values that may share a value's memory because an instruction makes them.
    pub(crate) fn shared_by(&self, value: ValueId) -> impl Iterator<Item = ValueId> {
        self.shares.get(&value).into_iter().flatten().copied()
    }

    /// Returns true if a value, or one that may share its memory, is written.
    pub(crate) fn reaches(&self, from: ValueId) -> bool {
        let mut seen = HashSet::from([from]);
        let mut open = vec![from];
        while let Some(value) = open.pop() {
            if self.values.contains(&value) {
                return true;
            }
            for &next in self.shares.get(&value).into_iter().flatten() {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}

/// The lists of integers of which none changes. They are looked up once; others at every use.
pub(super) fn fixed_lists(plan: &MethodPlan, written: &Written) -> HashMap<ValueId, Arc<[i64]>> {
    let fixed = |id: &ValueId| match &plan.values[id.index()] {
        PlannedValue::Scalar(Some(value)) if !written.values.contains(id) => Some(value.to_i64()),
        _ => None,
    };
    let lists = plan.values.iter().enumerate();
    lists
        .filter_map(|(index, value)| match value {
            PlannedValue::IntList(ids) => {
                let ints: Option<Arc<[i64]>> = ids.iter().map(fixed).collect();
                Some((ValueId::new(index as u32), ints?))
            }
            _ => None,
        })
        .collect()
}

fn list_entries(plan: &MethodPlan, list: ValueId) -> impl Iterator<Item = ValueId> {
    let entries = match &plan.values[list.index()] {
        PlannedValue::TensorList(ids) => &ids[..],
        _ => &[],
    };
    entries.iter().copied().flatten()
}
