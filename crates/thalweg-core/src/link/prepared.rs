//! What kernels prepare of their constant arguments, for all calls of a method.

use std::collections::HashMap;

use super::known::Knowledge;
use super::{LinkedStorage, Written};
use crate::plan::{MethodPlan, PlannedValue, Step};
use crate::preparation::Known;
use crate::{Kernel, Preparation, Prepared, Result, ValueId};

/// For each instruction, what its kernel has prepared.
pub(super) fn prepared(
    plan: &MethodPlan,
    kernels: &[Kernel],
    storages: &[LinkedStorage],
    written: &Written,
    absorbed: &HashMap<usize, Prepared>,
) -> Result<Vec<Option<Prepared>>> {
    let knowledge = Knowledge::new(plan, kernels, written);
    let known = |value: ValueId| {
        let bytes = match &plan.values[value.index()] {
            PlannedValue::Tensor(id) => {
                let tensor = &plan.tensors[id.0 as usize];
                match &storages[tensor.storage.0 as usize] {
                    LinkedStorage::Constant(bytes) => Some(bytes.get()),
                    LinkedStorage::Copied(block) => Some(block.bytes()),
                    _ => None,
                }
            }
            _ => None,
        };
        knowledge.of(value, bytes)
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
