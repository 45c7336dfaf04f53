//! Channels-last layout of intermediate tensors that the program plans with channels first.
//!
//! Convolutions are faster with channels last, and most programs are exported with channels first. The
//! layout of a tensor does not matter if all operators that use it support several and say so
//! ([`Kernel::with_layout`](thalweg_core::Kernel::with_layout)). An elementwise operator needs all of
//! its tensors in one layout, so tensors change in groups: those that such operators connect. A group
//! changes if some operator prefers it, and none of it is tied to its planned layout by something that
//! stays as it is: an input, a constant.

use std::collections::HashSet;

use thalweg_core::engine::TensorId;
use thalweg_core::{Layout, Result, is_row_major};
use thalweg_format::{Device as DeviceId, ShapeDynamism};

use super::{Lowering, Pass};
use crate::facts::{Facts, TensorAccess, static_shapes};
use crate::plan::{MethodPlan, PlannedStorage, PlannedTensor, Step};

/// Gives tensors their channels last where that is better.
pub(crate) struct ChannelsLast;

impl Pass for ChannelsLast {
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()> {
        let plan = facts.plan();
        let layouts = layouts(facts);
        let prefers = |layout: &Option<Layout>| *layout == Some(Layout::PrefersChannelsLast);
        if !layouts.iter().any(prefers) || facts.jumps() {
            return Ok(());
        }
        let mut groups = Groups::new(plan, candidates(facts, &layouts));
        for (index, layout) in layouts.iter().enumerate() {
            let tensors = tensors_of(plan, index);
            match layout {
                None | Some(Layout::Any) => {}
                Some(Layout::Elementwise) => groups.connect(plan, &tensors),
                Some(Layout::PrefersChannelsLast) => {
                    for tensor in tensors {
                        groups.prefer(tensor);
                    }
                }
            }
        }
        let mut changed = (**plan).clone();
        for index in 0..plan.tensors.len() {
            if groups.changes(index) {
                let tensor = &mut changed.tensors[index];
                tensor.spec.dim_order = channels_last(tensor.sizes.len()).into();
                lowering.reordered += 1;
            }
        }
        if lowering.reordered > 0 {
            lowering.change(changed);
        }
        Ok(())
    }
}

/// For each instruction, the layouts that its operator supports.
fn layouts(facts: &Facts) -> Vec<Option<Layout>> {
    let plan = facts.plan();
    let layout = |step: &Step| match step {
        Step::Kernel {
            operator,
            arguments,
        } => {
            let arguments = plan.arguments(*arguments);
            let call = static_shapes(plan, arguments, &facts.written().values);
            facts.kernel(*operator).layout(&call)
        }
        _ => None,
    };
    plan.steps.iter().map(layout).collect()
}

/// The tensors among the arguments of an instruction.
fn tensors_of(plan: &MethodPlan, step: usize) -> Vec<TensorId> {
    let arguments = match &plan.steps[step] {
        Step::Kernel { arguments, .. } => plan.arguments(*arguments),
        _ => &[],
    };
    let tensors = arguments.iter().flat_map(|&value| plan.tensors_of(value));
    tensors.collect()
}

/// For each tensor, true if it could have another layout: only operators that say which ones they
/// support use it, and what they read of it is what they wrote to it.
fn candidates(facts: &Facts, layouts: &[Option<Layout>]) -> Vec<bool> {
    let plan = facts.plan();
    let planned_only = used_as_planned(facts, layouts);
    let is_candidate = |(index, tensor): (usize, &PlannedTensor)| {
        let id = TensorId(index as u32);
        could_change(plan, tensor)
            && !planned_only.contains(&id)
            && !facts.accesses().is_input(id)
            && is_between_supporting(facts, layouts, id)
    };
    plan.tensors.iter().enumerate().map(is_candidate).collect()
}

/// The tensors that operators, of whatever layouts, use as they are planned: all but their first
/// arguments and results. Elementwise operators have none.
fn used_as_planned(facts: &Facts, layouts: &[Option<Layout>]) -> HashSet<TensorId> {
    let plan = facts.plan();
    let mut used = HashSet::new();
    for (step, layout) in plan.steps.iter().zip(layouts) {
        let Step::Kernel {
            operator,
            arguments,
        } = step
        else {
            continue;
        };
        if *layout == Some(Layout::Elementwise) {
            continue;
        }
        // Behind the parameters, what is written comes again as what is returned.
        let parameters = facts.kernel(*operator).signature().parameters().iter();
        let arguments = parameters.zip(plan.arguments(*arguments)).skip(1);
        for (_, &value) in arguments.filter(|(parameter, _)| !parameter.written) {
            used.extend(plan.tensors_of(value));
        }
    }
    used
}

/// Returns true if a tensor is an intermediate image with its channels first.
fn could_change(plan: &MethodPlan, tensor: &PlannedTensor) -> bool {
    let storage = &plan.storages[tensor.storage.0 as usize];
    let on_host = matches!(
        storage,
        PlannedStorage::Arena { device, .. } if *device == DeviceId::default()
    );
    on_host
        && (3..=5).contains(&tensor.sizes.len())
        && is_row_major(&tensor.sizes, &tensor.dim_order)
        && tensor.dynamism == ShapeDynamism::Static
        && tensor.initial.is_none()
}

/// Returns true if one instruction writes a tensor and others read it, all of which say which layouts
/// they support, and nothing uses its memory in between.
fn is_between_supporting(facts: &Facts, layouts: &[Option<Layout>], id: TensorId) -> bool {
    let accesses = facts.accesses();
    // Inputs are written before all steps, and outputs read after them.
    let (Some(first), Some(last)) = (accesses.of(id).next(), accesses.of(id).next_back()) else {
        return false;
    };
    let supports = |access: TensorAccess| {
        let layout = layouts.get(access.step);
        layout.is_some_and(Option::is_some) && access.writes == (access.step == first.step)
    };
    let others = || accesses.overlapping(id).into_iter();
    accesses.of(id).all(supports)
        && accesses.is_alone(id, first.step)
        && !others()
            .flat_map(|other| accesses.of(other))
            .any(|other| other.writes && (first.step..last.step).contains(&other.step))
}

/// The groups of tensors that need one layout, as trees: each tensor refers to another one of its group.
struct Groups {
    /// `None`: the tensor stays as planned.
    parents: Vec<Option<usize>>,
    /// For the root of a group, true if an operator prefers channels last.
    preferred: Vec<bool>,
    /// For the root of a group, true if something keeps its layout.
    tied: Vec<bool>,
}

impl Groups {
    fn new(plan: &MethodPlan, candidates: Vec<bool>) -> Self {
        let each = candidates.iter().enumerate();
        Self {
            parents: each
                .map(|(index, &is_candidate)| is_candidate.then_some(index))
                .collect(),
            preferred: vec![false; plan.tensors.len()],
            tied: vec![false; plan.tensors.len()],
        }
    }

    /// The root of a tensor's group.
    fn root(&mut self, tensor: usize) -> Option<usize> {
        let mut root = tensor;
        loop {
            let parent = self.parents[root]?;
            if parent == root {
                break;
            }
            root = parent;
        }
        self.parents[tensor] = Some(root);
        Some(root)
    }

    /// Connects tensors that need one layout, as far as their layout matters.
    fn connect(&mut self, plan: &MethodPlan, tensors: &[TensorId]) {
        let planned = |id: &TensorId| &plan.tensors[id.0 as usize];
        let rank = tensors.iter().map(|id| planned(id).sizes.len()).max();
        let (mut together, mut is_tied) = (None, false);
        let mut is_last = false;
        for id in tensors {
            let tensor = planned(id);
            let Some(root) = self.root(id.0 as usize) else {
                if is_same_in_both(&tensor.sizes, rank.unwrap_or(0)) {
                    continue;
                }
                if tensor.dynamism == ShapeDynamism::Static
                    && *tensor.dim_order == *channels_last(tensor.sizes.len())
                {
                    is_last = true;
                } else {
                    is_tied = true;
                }
                continue;
            };
            // A tensor of fewer dimensions has no channels where the others have them.
            let has_fewer = Some(tensor.sizes.len()) != rank;
            is_tied |= has_fewer && !is_same_in_both(&tensor.sizes, rank.unwrap_or(0));
            let first = *together.get_or_insert(root);
            self.parents[root] = Some(first);
            self.preferred[first] |= self.preferred[root];
            self.tied[first] |= self.tied[root];
        }
        if let Some(root) = together {
            self.preferred[root] |= is_last;
            self.tied[root] |= is_tied;
        }
    }

    fn prefer(&mut self, tensor: TensorId) {
        if let Some(root) = self.root(tensor.0 as usize) {
            self.preferred[root] = true;
        }
    }

    fn changes(&mut self, tensor: usize) -> bool {
        self.root(tensor)
            .is_some_and(|root| self.preferred[root] && !self.tied[root])
    }
}

/// Returns true if a tensor that takes part in an operator of this rank is the same in memory with
/// channels first and last.
fn is_same_in_both(sizes: &[usize], rank: usize) -> bool {
    let large = sizes.iter().filter(|&&size| size != 1).count();
    let is_one = |sizes: &[usize]| sizes.iter().all(|&size| size == 1);
    large <= 1 || (sizes.len() == rank && rank > 2 && (sizes[1] == 1 || is_one(&sizes[2..])))
}

/// The dim order with the channels, the second dimension, innermost.
fn channels_last(rank: usize) -> Vec<u8> {
    let rank = rank as u8;
    let inner = (2..rank).chain((1..2).filter(|_| rank > 1));
    (0..rank.min(1)).chain(inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_last_is_the_second_dimension_innermost() {
        assert_eq!(channels_last(4), [0, 2, 3, 1]);
        assert_eq!(channels_last(3), [0, 2, 1]);
        assert_eq!(channels_last(1), [0]);
        assert!(channels_last(0).is_empty());
    }

    #[test]
    fn what_has_one_channel_or_one_position_lies_the_same_in_both_orders() {
        assert!(is_same_in_both(&[4, 1, 5, 5], 4));
        assert!(is_same_in_both(&[4, 7, 1, 1], 4));
        assert!(is_same_in_both(&[7], 4));
        assert!(!is_same_in_both(&[1, 7, 5, 1], 4));
        assert!(!is_same_in_both(&[7, 5, 1], 4));
    }
}
