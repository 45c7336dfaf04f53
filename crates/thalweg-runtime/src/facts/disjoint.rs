//! Proofs that the arguments of an instruction do not share memory.

use std::collections::HashSet;

use thalweg_core::ValueId;
use thalweg_core::engine::{Disjoint, TensorId};

use super::region::Region;
use crate::plan::{MethodPlan, PlannedStorage, PlannedTensor, PlannedValue, Step};

/// The tensors and values of a plan that may not be where, or what, the plan says.
#[derive(Default)]
pub(crate) struct Moving {
    /// Tensors that become views of others.
    tensors: HashSet<TensorId>,
    /// Values that become other values.
    values: HashSet<ValueId>,
}

impl Moving {
    /// `views` are the values that instructions make views of others. No other tensor will be
    /// allowed to become one.
    pub(crate) fn new(plan: &MethodPlan, views: impl IntoIterator<Item = ValueId>) -> Self {
        let mut values: HashSet<ValueId> = HashSet::new();
        for step in &plan.steps {
            if let Step::Move { to, .. } = step {
                values.insert(*to);
            }
        }
        // A view is made of the tensor that a value is at that time. Where that is not known, no
        // tensor is certain to stay.
        let mut tensors = HashSet::new();
        for view in views {
            match &plan.values[view.index()] {
                PlannedValue::Tensor(id) if !values.contains(&view) => {
                    tensors.insert(*id);
                }
                _ => tensors.extend((0..plan.tensors.len() as u32).map(TensorId)),
            }
        }
        Self { tensors, values }
    }

    /// Returns true if a tensor may become a view of another.
    pub(crate) fn may_move(&self, id: TensorId) -> bool {
        self.tensors.contains(&id)
    }

    /// The proof that no argument that is written shares memory with another. The first `reads` of them
    /// can be read.
    pub(crate) fn apart(
        &self,
        plan: &MethodPlan,
        arguments: &[ValueId],
        reads: usize,
        writes: &[u16],
    ) -> Option<Disjoint> {
        let mut written = Vec::new();
        for &position in writes {
            self.tensors_of(plan, *arguments.get(usize::from(position))?, &mut written)?;
        }
        let mut read = Vec::new();
        for (position, &argument) in arguments.iter().enumerate().take(reads) {
            if !writes.iter().any(|&write| usize::from(write) == position) {
                self.tensors_of(plan, argument, &mut read)?;
            }
        }
        // Quadratic, so not for lists of hundreds; those are checked when they run.
        if written.len() * (written.len() + read.len()) > 1 << 12 {
            return None;
        }
        let distinct = written.iter().enumerate().all(|(index, output)| {
            let others = written[index + 1..].iter().chain(&read);
            others
                .into_iter()
                .all(|other| separate(plan, output, other))
        });
        #[allow(unsafe_code, reason = "what is promised was checked here")]
        distinct.then(|| {
            // SAFETY: the arguments stay where they are planned (`tensors_of`), and those that are
            // written overlap no other one.
            unsafe { Disjoint::assume() }
        })
    }

    /// Adds the tensors that an argument stands for; `None` if that is not certain.
    fn tensors_of<'p>(
        &self,
        plan: &'p MethodPlan,
        argument: ValueId,
        tensors: &mut Vec<&'p PlannedTensor>,
    ) -> Option<()> {
        if self.values.contains(&argument) {
            return None;
        }
        match &plan.values[argument.index()] {
            PlannedValue::Tensor(id) => {
                if self.may_move(*id) {
                    return None;
                }
                tensors.push(&plan.tensors[id.0 as usize]);
            }
            PlannedValue::TensorList(ids) => {
                for &id in ids.iter().flatten() {
                    // A list of lists does not exist; one that claims to be is left to the call.
                    let entry = &plan.values[id.index()];
                    if matches!(entry, PlannedValue::TensorList(_)) {
                        return None;
                    }
                    self.tensors_of(plan, id, tensors)?;
                }
            }
            _ => {}
        }
        Some(())
    }
}

fn separate(plan: &MethodPlan, a: &PlannedTensor, b: &PlannedTensor) -> bool {
    // One tensor is not apart from itself even if it has no elements: it has a shape.
    if std::ptr::eq(a, b) {
        return false;
    }
    // What is not planned can have any size.
    let planned = !matches!(
        plan.storages[a.storage.0 as usize],
        PlannedStorage::Unplanned
    );
    a.storage != b.storage || (planned && !Region::of(a).overlaps(&Region::of(b)))
}
