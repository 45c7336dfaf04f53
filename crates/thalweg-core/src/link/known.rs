//! What is known of an instruction's arguments before a method runs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use thalweg_format::ShapeDynamism;

use super::written::{Written, fixed_lists};
use crate::plan::{MethodPlan, PlannedValue, Step};
use crate::preparation::{Known, Shape};
use crate::{Kernel, TensorView, ValueId};

/// What does not change in a plan.
pub(super) struct Knowledge<'a> {
    plan: &'a MethodPlan,
    written: &'a HashSet<ValueId>,
    /// Values that are other tensors, or elsewhere, at another time.
    moving: HashSet<ValueId>,
    lists: HashMap<ValueId, Arc<[i64]>>,
}

impl<'a> Knowledge<'a> {
    pub(super) fn new(plan: &'a MethodPlan, kernels: &[Kernel], written: &'a Written) -> Self {
        Self {
            plan,
            written: &written.values,
            moving: moving(plan, kernels),
            lists: fixed_lists(plan, written),
        }
    }

    /// Whether a value is what the plan says, and where, in every call.
    pub(super) fn is_fixed(&self, value: ValueId) -> bool {
        !self.moving.contains(&value) && !self.written.contains(&value)
    }

    /// What is known of a value. `bytes` is all of its storage, if that is a constant.
    pub(super) fn of<'b>(&'b self, value: ValueId, bytes: Option<&'b [u8]>) -> Known<'b> {
        if self.moving.contains(&value) {
            return Known::Nothing;
        }
        let planned = &self.plan.values[value.index()];
        if let PlannedValue::Tensor(id) = planned {
            let tensor = &self.plan.tensors[id.0 as usize];
            if tensor.dynamism != ShapeDynamism::Static {
                return Known::Nothing;
            }
            let (dtype, sizes, dim_order) = (tensor.dtype, &*tensor.sizes, &*tensor.dim_order);
            let end = tensor.offset.saturating_add(tensor.capacity);
            let bytes = bytes.filter(|_| self.is_fixed(value));
            return bytes
                .and_then(|bytes| bytes.get(tensor.offset..end))
                .and_then(|bytes| TensorView::with_dim_order(dtype, sizes, dim_order, bytes).ok())
                .map_or(
                    Known::Shape(Shape {
                        dtype,
                        sizes,
                        dim_order,
                    }),
                    Known::Tensor,
                );
        }
        if !self.is_fixed(value) {
            return Known::Nothing;
        }
        match planned {
            PlannedValue::Scalar(Some(value)) => Known::Scalar(*value),
            PlannedValue::Scalar(None) => Known::Absent,
            PlannedValue::IntList(_) => match self.lists.get(&value) {
                Some(list) => Known::Ints(list.clone()),
                None => Known::Nothing,
            },
            _ => Known::Nothing,
        }
    }
}

/// Values that are other tensors, or elsewhere, at another time.
fn moving(plan: &MethodPlan, kernels: &[Kernel]) -> HashSet<ValueId> {
    let moved = plan.steps.iter().filter_map(|step| match step {
        Step::Move { to, .. } => Some(*to),
        _ => None,
    });
    moved.chain(super::steps::views(plan, kernels)).collect()
}
