//! Memory of intermediates, planned by their lifetimes.

use std::collections::HashMap;

use thalweg_core::engine::{StorageId, TensorId};
use thalweg_core::{Kernel, Result, bail};
use thalweg_format::{Device as DeviceId, ShapeDynamism};

use super::values::GraphValues;
use crate::first_fit::ReusedArena;
use crate::plan::{MethodPlan, PlannedStorage, PlannedValue, Step};

/// Intermediates start on multiples of this many bytes.
const ALIGN: usize = 64;

/// The arena of the intermediates of all graphs of a method.
pub(super) struct Intermediates {
    arena: ReusedArena,
    storage: Option<StorageId>,
    /// The bytes that it may have.
    limit: usize,
}

/// The lifetime of an intermediate.
struct Lifetime {
    /// The first and the last step that uses it.
    first: usize,
    last: usize,
    /// True if some step computes it, rather than making it a view of another tensor.
    is_computed: bool,
    /// True if a tensor from outside of the graph becomes a view of it.
    escapes: bool,
}

impl Intermediates {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            arena: ReusedArena::new(ALIGN),
            storage: None,
            limit,
        }
    }

    /// Places the intermediates of a graph, whose nodes are the plan's steps from `first_step` on.
    ///
    /// Nothing jumps into a graph, so its steps follow each other also where the method jumps.
    ///
    /// # Errors
    /// If that takes more memory than the plan may ask for.
    pub(super) fn place(
        &mut self,
        plan: &mut MethodPlan,
        kernels: &[Kernel],
        values: &GraphValues<'_>,
        first_step: usize,
    ) -> Result<()> {
        self.arena.forget_before(first_step);
        let lifetimes = lifetimes(plan, kernels, values, first_step);
        let mut lifetimes: Vec<(TensorId, Lifetime)> = lifetimes.into_iter().collect();
        lifetimes.sort_unstable_by_key(|(id, lifetime)| (lifetime.first, *id));
        for (id, lifetime) in lifetimes {
            let tensor = &plan.tensors[id.0 as usize];
            // The memory of views is that of others, and the size of some is known when they run.
            if !lifetime.is_computed || tensor.dynamism == ShapeDynamism::DynamicUnbound {
                continue;
            }
            let bytes = tensor.capacity;
            let offset = if lifetime.escapes {
                self.arena.place_alone(bytes, self.limit)
            } else {
                let lifetime = lifetime.first..=lifetime.last;
                self.arena.place(lifetime, bytes, self.limit)
            };
            let Some(offset) = offset else {
                bail!(
                    OutOfMemory,
                    "the intermediates of its graph need more memory than the {} bytes that the \
                     limit leaves for them",
                    self.limit
                );
            };
            let storage = self.storage(plan);
            let tensor = &mut plan.tensors[id.0 as usize];
            (tensor.storage, tensor.offset) = (storage, offset);
        }
        if let Some(storage) = self.storage
            && let PlannedStorage::Arena { bytes, .. } = &mut plan.storages[storage.0 as usize]
        {
            *bytes = self.arena.bytes();
        }
        Ok(())
    }

    fn storage(&mut self, plan: &mut MethodPlan) -> StorageId {
        *self.storage.get_or_insert_with(|| {
            plan.add_storage(PlannedStorage::Arena {
                bytes: 0,
                device: DeviceId::default(),
            })
        })
    }
}

/// The lifetimes of the intermediates that steps from `first_step` on use.
fn lifetimes(
    plan: &MethodPlan,
    kernels: &[Kernel],
    values: &GraphValues<'_>,
    first_step: usize,
) -> HashMap<TensorId, Lifetime> {
    let mut lifetimes: HashMap<TensorId, Lifetime> = HashMap::new();
    // From the last to the first, since what is made a view is used for as long as the view.
    for (index, step) in plan.steps.iter().enumerate().skip(first_step).rev() {
        let Step::Kernel {
            operator,
            arguments,
        } = step
        else {
            continue;
        };
        let signature = kernels[*operator as usize].signature();
        let arguments = plan.arguments(*arguments);
        for id in arguments.iter().flat_map(|&value| plan.tensors_of(value)) {
            if values.is_intermediate(id) {
                let lifetime = lifetimes.entry(id).or_insert(Lifetime {
                    first: index,
                    last: index,
                    is_computed: false,
                    escapes: false,
                });
                lifetime.first = index;
            }
        }
        let tensor = |position: usize| match plan.values[arguments.get(position)?.index()] {
            PlannedValue::Tensor(id) => Some(id),
            _ => None,
        };
        if signature.is_view() {
            let (Some(source), Some(view)) = (tensor(0), tensor(2)) else {
                continue;
            };
            let of_view = lifetimes.get(&view);
            let until = of_view.map(|view| (view.last, view.escapes));
            if let Some(source) = lifetimes.get_mut(&source) {
                let (last, escapes) = until.unwrap_or((index, true));
                source.last = source.last.max(last);
                source.escapes |= escapes;
            }
            continue;
        }
        for &position in signature.writes() {
            let written = arguments.get(usize::from(position));
            for id in written
                .into_iter()
                .flat_map(|&value| plan.tensors_of(value))
            {
                if let Some(lifetime) = lifetimes.get_mut(&id) {
                    lifetime.is_computed = true;
                }
            }
        }
    }
    lifetimes
}
