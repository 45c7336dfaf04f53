//! The arguments of instructions as far as they are the same in every call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use thalweg_core::engine::{StaticArgument, TensorId};
use thalweg_core::{Kernel, Scalar, Shape, StaticArguments, TensorView, ValueId};
use thalweg_format::ShapeDynamism;

use super::views::views;
use super::written::{Written, fixed_lists};
use crate::plan::{MethodPlan, PlannedStorage, PlannedTensor, PlannedValue, Step};

/// What is the same in every call of a plan.
pub(crate) struct Statics<'a> {
    plan: &'a MethodPlan,
    written: &'a HashSet<ValueId>,
    /// Values that are other tensors, or elsewhere, at another time.
    moving: HashSet<ValueId>,
    lists: HashMap<ValueId, Arc<[i64]>>,
}

impl<'a> Statics<'a> {
    pub(crate) fn new(plan: &'a MethodPlan, kernels: &[Kernel], written: &'a Written) -> Self {
        Self {
            plan,
            written: &written.values,
            moving: moving(plan, kernels),
            lists: fixed_lists(plan, written),
        }
    }

    /// True if a value is what the plan says, and where, in every call.
    pub(crate) fn is_fixed(&self, value: ValueId) -> bool {
        !self.moving.contains(&value) && !self.written.contains(&value)
    }

    /// The static part of a value. `bytes` is all of its storage, if that is a constant.
    pub(crate) fn of<'b>(&'b self, value: ValueId, bytes: Option<&'b [u8]>) -> StaticArgument<'b> {
        if self.moving.contains(&value) {
            return StaticArgument::Dynamic;
        }
        let planned = &self.plan.values[value.index()];
        if let PlannedValue::Tensor(id) = planned {
            let tensor = &self.plan.tensors[id.0 as usize];
            let Some(shape) = static_shape(tensor) else {
                return StaticArgument::Dynamic;
            };
            let end = tensor.offset.saturating_add(tensor.spec.capacity);
            let bytes = bytes.filter(|_| self.is_fixed(value));
            let view = bytes
                .and_then(|bytes| bytes.get(tensor.offset..end))
                .and_then(|bytes| {
                    let Shape {
                        dtype,
                        sizes,
                        dim_order,
                    } = shape;
                    TensorView::with_dim_order(dtype, sizes, dim_order, bytes).ok()
                });
            return match view {
                Some(view) => StaticArgument::Constant(shape, Some(view)),
                None => StaticArgument::Tensor(shape),
            };
        }
        if !self.is_fixed(value) {
            return StaticArgument::Dynamic;
        }
        match planned {
            PlannedValue::Scalar(value) => scalar(*value),
            PlannedValue::IntList(_) => match self.lists.get(&value) {
                Some(list) => StaticArgument::Ints(list.clone()),
                None => StaticArgument::Dynamic,
            },
            _ => StaticArgument::Dynamic,
        }
    }
}

/// The types and shapes of an instruction's arguments, wherever its tensors lie. Numbers are static
/// that are not among the `changing` values.
pub(crate) fn static_shapes<'p>(
    plan: &'p MethodPlan,
    arguments: &[ValueId],
    changing: &HashSet<ValueId>,
) -> StaticArguments<'p> {
    let tensor = |id: TensorId| &plan.tensors[id.0 as usize];
    let argument = |value: &ValueId| match plan.values.get(value.index()) {
        Some(PlannedValue::Tensor(id)) => {
            let storage = &plan.storages[tensor(*id).storage.0 as usize];
            let is_constant = matches!(storage, PlannedStorage::Constant { .. });
            match (static_shape(tensor(*id)), is_constant) {
                (Some(shape), true) => StaticArgument::Constant(shape, None),
                (Some(shape), false) => StaticArgument::Tensor(shape),
                (None, true) => StaticArgument::DynamicConstant,
                (None, false) => StaticArgument::Dynamic,
            }
        }
        Some(PlannedValue::TensorList(list)) => {
            let shape = |value: ValueId| match plan.values.get(value.index()) {
                Some(PlannedValue::Tensor(id)) => static_shape(tensor(*id)),
                _ => None,
            };
            let all: Option<Vec<_>> = list.iter().map(|entry| entry.map(shape)).collect();
            all.map_or(StaticArgument::Dynamic, StaticArgument::Tensors)
        }
        Some(PlannedValue::Scalar(number)) if !changing.contains(value) => scalar(*number),
        _ => StaticArgument::Dynamic,
    };
    StaticArguments::new(arguments.iter().map(argument).collect())
}

fn scalar<'p>(value: Option<Scalar>) -> StaticArgument<'p> {
    value.map_or(StaticArgument::Absent, StaticArgument::Scalar)
}

/// The shape of a tensor, if it is fixed.
fn static_shape(tensor: &PlannedTensor) -> Option<Shape<'_>> {
    let spec = &tensor.spec;
    (spec.dynamism == ShapeDynamism::Static).then_some(Shape {
        dtype: spec.dtype,
        sizes: &spec.sizes,
        dim_order: &spec.dim_order,
    })
}

/// The values that are other tensors, or elsewhere, at another time.
fn moving(plan: &MethodPlan, kernels: &[Kernel]) -> HashSet<ValueId> {
    let moved = plan.steps.iter().filter_map(|step| match step {
        Step::Move { to, .. } => Some(*to),
        _ => None,
    });
    moved.chain(views(plan, kernels)).collect()
}
