//! Facts of a plan for the residency analysis: straight-line regions, and the uses of tensors.

use std::collections::{HashMap, HashSet};

use thalweg_core::ValueId;
use thalweg_core::engine::TensorId;

use crate::plan::{MethodPlan, Step};

/// The stretch of instructions without jumps, from or to elsewhere, that each is in.
pub(super) fn stretches(plan: &MethodPlan) -> Vec<usize> {
    let mut starts = HashSet::new();
    for (index, step) in plan.steps.iter().enumerate() {
        if let Step::JumpIfFalse { destination, .. } = step {
            starts.insert(*destination as usize);
            starts.insert(index + 1);
        }
    }
    let mut stretch = 0;
    let mut stretches = Vec::with_capacity(plan.steps.len() + 1);
    for index in 0..=plan.steps.len() {
        if starts.contains(&index) {
            stretch += 1;
        }
        stretches.push(stretch);
    }
    stretches
}

/// The tensors that the instructions of each stretch have to do with, in methods with several, and
/// those that come after all.
pub(super) fn mentions(plan: &MethodPlan) -> Vec<(usize, TensorId)> {
    let mut mentions = HashSet::new();
    if is_straight(plan) {
        return Vec::new();
    }
    let after = usize::MAX;
    mentions.extend(
        plan.outputs
            .iter()
            .flat_map(|&value| plan.tensors_of(value))
            .map(|id| (after, id)),
    );
    for (step, stretch) in plan.steps.iter().zip(stretches(plan)) {
        let values = match step {
            Step::Kernel { arguments, .. } | Step::Delegate { arguments, .. } => {
                plan.arguments(*arguments)
            }
            Step::Move { from, to } => &[*from, *to],
            Step::JumpIfFalse { condition, .. } => std::slice::from_ref(condition),
            Step::Free { .. } | Step::Folded { .. } | Step::Fused { .. } => &[],
        };
        let tensors = values.iter().flat_map(|&value| plan.tensors_of(value));
        mentions.extend(tensors.map(|id| (stretch, id)));
    }
    mentions.into_iter().collect()
}

/// The first and the last instruction that has to do with each tensor, in methods that run straight
/// on. Inputs come first, outputs last.
pub(super) fn uses(plan: &MethodPlan) -> Vec<(TensorId, (usize, usize))> {
    if !is_straight(plan) {
        return Vec::new();
    }
    let mut uses: HashMap<TensorId, (usize, usize)> = HashMap::new();
    let mut add = |step: usize, value: ValueId| {
        for id in plan.tensors_of(value) {
            uses.entry(id).or_insert((step, step)).1 = step;
        }
    };
    plan.inputs.iter().for_each(|input| add(0, input.value));
    for (index, step) in plan.steps.iter().enumerate() {
        if let Step::Kernel { arguments, .. } | Step::Delegate { arguments, .. } = step {
            let values = plan.arguments(*arguments).iter();
            values.for_each(|&value| add(index, value));
        }
    }
    plan.outputs
        .iter()
        .for_each(|&value| add(plan.steps.len(), value));
    uses.into_iter().collect()
}

/// Returns true if instructions follow each other in one order only.
pub(super) fn is_straight(plan: &MethodPlan) -> bool {
    let jumps = |step: &Step| matches!(step, Step::JumpIfFalse { .. } | Step::Move { .. });
    !plan.steps.iter().any(jumps)
}
