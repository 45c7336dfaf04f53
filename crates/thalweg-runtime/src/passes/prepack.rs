//! Prepacking: what kernels make of constant arguments, once for all calls of a method.

use std::collections::HashMap;

use thalweg_core::engine::StorageId;
use thalweg_core::{Kernel, Prepacked, Result, StaticArguments, ValueId};

use crate::facts::{Statics, Written};
use crate::plan::{MethodPlan, PlannedValue, Step};

/// For each instruction, its prepacked arguments. `constant` gives the bytes of a storage that is a
/// constant, `fused` the prepacked arguments of fused instructions.
pub(crate) fn prepack<'c>(
    plan: &MethodPlan,
    kernels: &[Kernel],
    constant: impl Fn(StorageId) -> Option<&'c [u8]>,
    written: &Written,
    fused: &HashMap<usize, Prepacked>,
) -> Result<Vec<Option<Prepacked>>> {
    let statics = Statics::new(plan, kernels, written);
    let argument = |value: ValueId| {
        let bytes = match &plan.values[value.index()] {
            PlannedValue::Tensor(id) => constant(plan.tensors[id.0 as usize].storage),
            _ => None,
        };
        statics.of(value, bytes)
    };
    let mut prepared = Vec::with_capacity(plan.steps.len());
    // Unrolled loops have the same instruction many times.
    let mut alike: HashMap<(u32, Vec<usize>), Option<Prepacked>> = HashMap::new();
    for (index, step) in plan.steps.iter().enumerate() {
        if let Some(fused) = fused.get(&index) {
            prepared.push(Some(fused.clone()));
            continue;
        }
        prepared.push(match step {
            Step::Kernel {
                operator,
                arguments,
            } if kernels[*operator as usize].has_prepack() => {
                let arguments = plan.arguments(*arguments);
                let known = arguments.iter().map(|&id| argument(id)).collect();
                let known = StaticArguments::new(known);
                let key = (*operator, known.key());
                match alike.get(&key) {
                    Some(prepared) => Option::clone(prepared),
                    None => {
                        let made = kernels[*operator as usize]
                            .prepack(&known)
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
