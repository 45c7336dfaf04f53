//! What kernels prepare of their constant arguments, for all calls of a method.

use std::collections::{HashMap, HashSet};

use thalweg_format::ShapeDynamism;

use super::{LinkedStorage, Written};
use crate::plan::{MethodPlan, PlannedValue, Step};
use crate::preparation::Known;
use crate::{Kernel, Preparation, Prepared, Result, TensorView, ValueId};

/// For each instruction, what its kernel has prepared.
pub(super) fn prepared(
    plan: &MethodPlan,
    kernels: &[Kernel],
    storages: &[LinkedStorage],
    written: &Written,
    absorbed: &HashMap<usize, Prepared>,
) -> Result<Vec<Option<Prepared>>> {
    // Values that are other tensors, or elsewhere, at another time.
    let mut moving: HashSet<ValueId> = HashSet::new();
    for step in &plan.steps {
        if let Step::Move { to, .. } = step {
            moving.insert(*to);
        }
    }
    moving.extend(super::steps::views(plan, kernels));
    let known = |value: ValueId| {
        if moving.contains(&value) || written.values.contains(&value) {
            return Known::Nothing;
        }
        match &plan.values[value.index()] {
            PlannedValue::Scalar(Some(value)) => Known::Scalar(*value),
            PlannedValue::Scalar(None) => Known::Absent,
            PlannedValue::Tensor(id) => {
                let tensor = &plan.tensors[id.0 as usize];
                let bytes = match &storages[tensor.storage.0 as usize] {
                    LinkedStorage::Constant(bytes) => bytes.get(),
                    LinkedStorage::Copied(block) => block.bytes(),
                    _ => return Known::Nothing,
                };
                let end = tensor.offset.saturating_add(tensor.capacity);
                match bytes.get(tensor.offset..end) {
                    Some(bytes) if tensor.dynamism == ShapeDynamism::Static => {
                        let sizes = &*tensor.sizes;
                        TensorView::with_dim_order(tensor.dtype, sizes, &tensor.dim_order, bytes)
                            .map_or(Known::Nothing, Known::Tensor)
                    }
                    _ => Known::Nothing,
                }
            }
            _ => Known::Nothing,
        }
    };
    let mut prepared = Vec::with_capacity(plan.steps.len());
    // Unrolled loops have the same instruction many times.
    let mut alike: HashMap<(u32, Vec<usize>), Option<Prepared>> = HashMap::new();
    for (index, step) in plan.steps.iter().enumerate() {
        if let Some(absorbed) = absorbed.get(&index) {
            prepared.push(Some(absorbed.clone()));
            continue;
        }
        prepared.push(match step {
            Step::Kernel {
                operator,
                arguments,
            } if kernels[*operator as usize].prepares() => {
                let arguments = plan.arguments(*arguments);
                let known: Vec<Known<'_>> = arguments.iter().map(|&id| known(id)).collect();
                let key = (*operator, known.iter().flat_map(Known::identity).collect());
                match alike.get(&key) {
                    Some(prepared) => Option::clone(prepared),
                    None => {
                        let made = kernels[*operator as usize]
                            .prepare(&Preparation::new(known))
                            .map_err(|error| error.at_instruction(index, &plan.step_name(index)))?;
                        alike.insert(key, made.clone());
                        made
                    }
                }
            }
            _ => None,
        });
    }
    Ok(prepared)
}
