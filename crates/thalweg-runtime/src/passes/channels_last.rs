//! Which intermediate tensors have their channels last in memory, though the program plans them first.
//!
//! Convolutions are faster so, and most programs are exported with channels first. Nobody can tell in
//! which order a tensor lies if only operators look at it that work in any order and say so
//! ([`Kernel::with_order`]). An operator on single elements wants all of its tensors in one order, so
//! tensors are taken in groups: those that such operators connect. A group changes if some operator
//! wants it to, and none of it is tied to its planned order by something that stays as it is: an input,
//! a constant.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_core::engine::TensorId;
use thalweg_core::{Kernel, Layout, ValueId, is_row_major};
use thalweg_format::{Device as DeviceId, ShapeDynamism};

use crate::facts::{TensorAccess, Written, accesses, is_alone, overlap, static_shapes};
use crate::plan::{MethodPlan, PlannedStorage, PlannedTensor, Step};

/// The plan with other orders, where that is better, and the number of tensors that have another one.
pub(crate) fn chosen(plan: &Arc<MethodPlan>, kernels: &[Kernel]) -> (Arc<MethodPlan>, usize) {
    let written = Written::find(plan, kernels);
    let orders = orders(plan, kernels, &written.values);
    let wishes = |order: &Option<Layout>| *order == Some(Layout::PrefersChannelsLast);
    let jumps = |step: &Step| matches!(step, Step::JumpIfFalse { .. });
    // Where a method jumps, it is not known what was written before what is read.
    if !orders.iter().any(wishes) || plan.steps.iter().any(jumps) {
        return (plan.clone(), 0);
    }
    let mut groups = Groups::new(plan, candidates(plan, kernels, &orders));
    for (index, order) in orders.iter().enumerate() {
        let tensors = tensors_of(plan, index);
        match order {
            None | Some(Layout::Any) => {}
            Some(Layout::Elementwise) => groups.connect(plan, &tensors),
            Some(Layout::PrefersChannelsLast) => {
                for tensor in tensors {
                    groups.wish(tensor);
                }
            }
        }
    }
    let mut changed = (**plan).clone();
    let mut count = 0;
    for index in 0..plan.tensors.len() {
        if groups.changes(index) {
            let tensor = &mut changed.tensors[index];
            tensor.spec.dim_order = channels_last(tensor.sizes.len()).into();
            count += 1;
        }
    }
    (Arc::new(changed), count)
}

/// For each instruction, how its operator goes about orders.
fn orders(
    plan: &MethodPlan,
    kernels: &[Kernel],
    changing: &HashSet<ValueId>,
) -> Vec<Option<Layout>> {
    let order = |step: &Step| match step {
        Step::Kernel {
            operator,
            arguments,
        } => {
            let call = static_shapes(plan, plan.arguments(*arguments), changing);
            kernels[*operator as usize].layout(&call)
        }
        _ => None,
    };
    plan.steps.iter().map(order).collect()
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

/// For each tensor, whether its order could be another one: only operators that say how they go about
/// orders look at it, and what they read of it is what they wrote to it.
fn candidates(plan: &MethodPlan, kernels: &[Kernel], orders: &[Option<Layout>]) -> Vec<bool> {
    let accesses = accesses(plan, kernels);
    let mut by_tensor: Vec<Vec<&TensorAccess>> = vec![Vec::new(); plan.tensors.len()];
    for access in &accesses {
        by_tensor[access.tensor.0 as usize].push(access);
    }
    // Only the first argument and results of operators on more than single elements.
    let mut elsewhere: HashSet<TensorId> = HashSet::new();
    for (index, step) in plan.steps.iter().enumerate() {
        let Step::Kernel {
            operator,
            arguments,
        } = step
        else {
            continue;
        };
        if orders[index] == Some(Layout::Elementwise) {
            continue;
        }
        // Behind the parameters, what is written comes again as what is returned.
        let parameters = kernels[*operator as usize].signature().parameters().iter();
        let arguments = parameters.zip(plan.arguments(*arguments)).skip(1);
        for (_, &value) in arguments.filter(|(parameter, _)| !parameter.written) {
            elsewhere.extend(plan.tensors_of(value));
        }
    }
    let is_candidate = |index: usize, tensor: &PlannedTensor| {
        let id = TensorId(index as u32);
        let storage = &plan.storages[tensor.storage.0 as usize];
        let on_host = matches!(
            storage,
            PlannedStorage::Arena { device, .. } if *device == DeviceId::default()
        );
        let of_images = (3..=5).contains(&tensor.sizes.len())
            && is_row_major(&tensor.sizes, &tensor.dim_order)
            && tensor.dynamism == ShapeDynamism::Static
            && tensor.initial.is_none();
        let uses = &by_tensor[index];
        let (Some(first), Some(last)) = (uses.first(), uses.last()) else {
            return false;
        };
        // Inputs are written before all steps, and outputs read after them.
        let inputs = plan.inputs.iter();
        let mut inputs = inputs.flat_map(|input| plan.tensors_of(input.value));
        on_host
            && of_images
            && !elsewhere.contains(&id)
            && !inputs.any(|input| input == id)
            && uses.iter().all(|access| {
                let order = orders.get(access.step);
                order.is_some_and(Option::is_some) && access.writes == (access.step == first.step)
            })
            && is_alone(plan, &accesses, id, first.step)
            && !accesses.iter().any(|other| {
                other.writes
                    && other.tensor != id
                    && (first.step..last.step).contains(&other.step)
                    && overlap(tensor, &plan.tensors[other.tensor.0 as usize])
            })
    };
    let tensors = plan.tensors.iter().enumerate();
    tensors
        .map(|(index, tensor)| is_candidate(index, tensor))
        .collect()
}

/// Tensors that have to lie in one order, as trees: each knows another one of its group.
struct Groups {
    /// `None`: the tensor stays as planned.
    parents: Vec<Option<usize>>,
    /// Of a group's root: whether somebody wants channels last, and whether something keeps it as it is.
    wished: Vec<bool>,
    tied: Vec<bool>,
}

impl Groups {
    fn new(plan: &MethodPlan, candidates: Vec<bool>) -> Self {
        let each = candidates.iter().enumerate();
        Self {
            parents: each
                .map(|(index, &is_candidate)| is_candidate.then_some(index))
                .collect(),
            wished: vec![false; plan.tensors.len()],
            tied: vec![false; plan.tensors.len()],
        }
    }

    /// The tensor that stands for the group of another.
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

    /// These lie in one order, as far as their order matters.
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
            self.wished[first] |= self.wished[root];
            self.tied[first] |= self.tied[root];
        }
        if let Some(root) = together {
            self.wished[root] |= is_last;
            self.tied[root] |= is_tied;
        }
    }

    fn wish(&mut self, tensor: TensorId) {
        if let Some(root) = self.root(tensor.0 as usize) {
            self.wished[root] = true;
        }
    }

    fn changes(&mut self, tensor: usize) -> bool {
        self.root(tensor)
            .is_some_and(|root| self.wished[root] && !self.tied[root])
    }
}

/// Whether a tensor that takes part in an operator of this rank lies the same with channels first and
/// last.
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
