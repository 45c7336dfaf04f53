//! Prepacking: what kernels make of constant arguments, once for all calls of a method.

use std::collections::HashMap;

use thalweg_core::{Prepacked, Result, StaticArguments, ValueId};

use super::{Lowering, Pass};
use crate::facts::Facts;
use crate::plan::{PlannedValue, Step};

/// Prepacks the constant arguments of instructions whose kernels can.
pub(crate) struct Prepacking;

impl Pass for Prepacking {
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()> {
        let plan = facts.plan();
        let storages = &lowering.storages;
        let argument = |&value: &ValueId| {
            let bytes = match &plan.values[value.index()] {
                PlannedValue::Tensor(id) => {
                    let storage = plan.tensors[id.0 as usize].storage;
                    storages[storage.0 as usize].constant()
                }
                _ => None,
            };
            facts.static_argument(value, bytes)
        };
        let mut prepacked = Vec::with_capacity(plan.steps.len());
        // Unrolled loops have the same instruction many times.
        let mut alike: HashMap<(u32, Vec<usize>), Option<Prepacked>> = HashMap::new();
        for (index, step) in plan.steps.iter().enumerate() {
            if let Some(fused) = lowering.fused.get(&index) {
                prepacked.push(Some(fused.clone()));
                continue;
            }
            prepacked.push(match step {
                Step::Kernel {
                    operator,
                    arguments,
                } if facts.kernel(*operator).has_prepack() => {
                    let arguments = plan.arguments(*arguments).iter().map(argument);
                    let arguments = StaticArguments::new(arguments.collect());
                    let key = (*operator, arguments.key());
                    match alike.get(&key) {
                        Some(prepacked) => Option::clone(prepacked),
                        None => {
                            let made = facts.kernel(*operator).prepack(&arguments);
                            let made = made.map_err(|error| plan.at_step(error, index))?;
                            alike.insert(key, made.clone());
                            made
                        }
                    }
                }
                _ => None,
            });
        }
        lowering.prepacked = prepacked;
        Ok(())
    }
}
