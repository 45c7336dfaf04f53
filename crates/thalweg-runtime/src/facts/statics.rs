//! The arguments of instructions as far as they are the same in every call.

use std::collections::HashSet;

use thalweg_core::engine::{StaticArgument, TensorId};
use thalweg_core::{Scalar, Shape, StaticArguments, TensorView, ValueId};
use thalweg_format::ShapeDynamism;

use super::Facts;
use crate::plan::{MethodPlan, PlannedStorage, PlannedTensor, PlannedValue};

impl Facts {
    /// Returns true if a value is what the plan says, and where, in every call.
    pub(crate) fn is_fixed(&self, value: ValueId) -> bool {
        !self.replaced().contains(&value) && !self.written().values.contains(&value)
    }

    /// The static part of a value. `bytes` is all of its storage, if that is a constant.
    pub(crate) fn static_argument<'b>(
        &'b self,
        value: ValueId,
        bytes: Option<&'b [u8]>,
    ) -> StaticArgument<'b> {
        if self.replaced().contains(&value) {
            return StaticArgument::Dynamic;
        }
        let planned = &self.plan().values[value.index()];
        if let PlannedValue::Tensor(id) = planned {
            let tensor = &self.plan().tensors[id.0 as usize];
            let Some(shape) = static_shape(tensor) else {
                return StaticArgument::Dynamic;
            };
            let bytes = bytes.filter(|_| self.is_fixed(value));
            return match bytes.and_then(|bytes| constant_view(tensor, shape, bytes)) {
                Some(view) => StaticArgument::Constant(shape, Some(view)),
                None => StaticArgument::Tensor(shape),
            };
        }
        if !self.is_fixed(value) {
            return StaticArgument::Dynamic;
        }
        match planned {
            PlannedValue::Scalar(value) => scalar(*value),
            PlannedValue::IntList(_) => match self.fixed_lists().get(&value) {
                Some(list) => StaticArgument::Ints(list.clone()),
                None => StaticArgument::Dynamic,
            },
            _ => StaticArgument::Dynamic,
        }
    }
}

/// A constant tensor, in all bytes of its storage.
fn constant_view<'b>(
    tensor: &PlannedTensor,
    shape: Shape<'b>,
    bytes: &'b [u8],
) -> Option<TensorView<'b>> {
    let end = tensor.offset.saturating_add(tensor.spec.capacity);
    let bytes = bytes.get(tensor.offset..end)?;
    TensorView::with_dim_order(shape.dtype, shape.sizes, shape.dim_order, bytes).ok()
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
