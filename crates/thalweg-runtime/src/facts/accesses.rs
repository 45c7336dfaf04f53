//! The tensors that instructions read and write.

use std::collections::{HashMap, HashSet};

use thalweg_core::engine::{StorageId, TensorId};
use thalweg_core::{Kernel, ValueId};
use thalweg_format::ShapeDynamism;

use super::region::Region;
use crate::plan::{MethodPlan, Step};

/// A tensor that an instruction reads, or writes.
#[derive(Clone, Copy)]
pub(crate) struct TensorAccess {
    pub(crate) step: usize,
    pub(crate) tensor: TensorId,
    pub(crate) writes: bool,
}

/// All accesses of a plan, in the order of its instructions, indexed by tensor and by memory. Inputs
/// are written before all instructions, and outputs read after them.
pub(crate) struct Accesses {
    all: Vec<TensorAccess>,
    /// By [`TensorId`], the indices of its accesses, in order.
    by_tensor: Vec<Vec<u32>>,
    /// By [`TensorId`], its planned region.
    regions: Vec<Region>,
    /// The tensors of each storage that are accessed.
    by_storage: HashMap<StorageId, Vec<Located>>,
    /// The tensors that are inputs.
    inputs: HashSet<TensorId>,
    /// By [`TensorId`], true for those of a static shape.
    is_static: Vec<bool>,
}

/// A tensor of a storage. They are sorted by where they start.
struct Located {
    start: usize,
    /// The largest end of this tensor and those before it.
    max_end: usize,
    tensor: TensorId,
}

impl Accesses {
    pub(super) fn find(plan: &MethodPlan, kernels: &[Kernel]) -> Self {
        let all = accesses(plan, kernels);
        let mut by_tensor = vec![Vec::new(); plan.tensors.len()];
        for (index, access) in all.iter().enumerate() {
            by_tensor[access.tensor.0 as usize].push(index as u32);
        }
        let regions: Vec<Region> = plan.tensors.iter().map(Region::of).collect();
        let mut by_storage: HashMap<StorageId, Vec<Located>> = HashMap::new();
        for (index, region) in regions.iter().enumerate() {
            if !by_tensor[index].is_empty() {
                by_storage.entry(region.storage).or_default().push(Located {
                    start: region.bytes.start,
                    max_end: region.bytes.end,
                    tensor: TensorId(index as u32),
                });
            }
        }
        for located in by_storage.values_mut() {
            located.sort_by_key(|located| located.start);
            let mut max_end = 0;
            for located in located {
                max_end = located.max_end.max(max_end);
                located.max_end = max_end;
            }
        }
        let inputs = plan.inputs.iter();
        Self {
            all,
            by_tensor,
            regions,
            by_storage,
            inputs: inputs
                .flat_map(|input| plan.tensors_of(input.value))
                .collect(),
            is_static: plan
                .tensors
                .iter()
                .map(|tensor| tensor.dynamism == ShapeDynamism::Static)
                .collect(),
        }
    }

    /// The accesses of a tensor, in order.
    pub(crate) fn of(&self, id: TensorId) -> impl DoubleEndedIterator<Item = TensorAccess> {
        let indices = self.by_tensor[id.0 as usize].iter();
        indices.map(|&index| self.all[index as usize])
    }

    /// The instructions that read a tensor, each as often as it does.
    pub(crate) fn reads(&self, id: TensorId) -> impl Iterator<Item = usize> {
        let reads = self.of(id).filter(|access| !access.writes);
        reads.map(|access| access.step)
    }

    /// Returns true if the instruction `step` writes a tensor, and nothing else does.
    pub(crate) fn is_written_once(&self, id: TensorId, step: usize) -> bool {
        let mut writes = self.of(id).filter(|access| access.writes).peekable();
        writes.peek().is_some() && writes.all(|access| access.step == step) && !self.is_input(id)
    }

    /// Returns true if a tensor is an input.
    pub(crate) fn is_input(&self, id: TensorId) -> bool {
        self.inputs.contains(&id)
    }

    /// The planned region of a tensor.
    pub(crate) fn region(&self, id: TensorId) -> &Region {
        &self.regions[id.0 as usize]
    }

    /// The other tensors that are accessed and share memory with one, as planned.
    pub(crate) fn overlapping(&self, id: TensorId) -> Vec<TensorId> {
        let region = self.region(id);
        let located = self.by_storage.get(&region.storage);
        let located = located.map_or(&[][..], |located| &located[..]);
        let end = located.partition_point(|other| other.start < region.bytes.end);
        let before_end = located[..end].iter().rev();
        before_end
            .take_while(|other| other.max_end > region.bytes.start)
            .map(|other| other.tensor)
            .filter(|&other| other != id && self.region(other).overlaps(region))
            .collect()
    }

    /// The accesses of all other tensors that share memory with one, in order.
    pub(crate) fn of_overlapping(&self, id: TensorId) -> impl Iterator<Item = TensorAccess> {
        let overlapping = self.overlapping(id);
        let indices = overlapping
            .iter()
            .flat_map(|other| &self.by_tensor[other.0 as usize]);
        let mut indices: Vec<u32> = indices.copied().collect();
        indices.sort_unstable();
        indices.into_iter().map(|index| self.all[index as usize])
    }

    /// Returns true if nothing reads what the instruction `at` writes to a tensor by the name of
    /// another tensor at its location. Before each time that such a tensor is read, something must
    /// have been written there, and not on the other side of that instruction. Only for methods
    /// without jumps.
    pub(crate) fn is_alone(&self, id: TensorId, at: usize) -> bool {
        let overlapping = self.overlapping(id);
        overlapping.iter().all(|&other| {
            // When it was last written.
            let mut written = None;
            self.by_tensor[other.0 as usize].iter().all(|&index| {
                let access = self.all[index as usize];
                if access.writes {
                    written = Some(access.step);
                    return true;
                }
                let is_between = |before: usize| before > at || access.step <= at;
                if written.is_some_and(is_between) {
                    return true;
                }
                // It may be read as what was written there by yet another name, over all that is
                // shared.
                let shared = self.region(other).intersection(self.region(id));
                overlapping.iter().any(|&by| {
                    self.is_static[by.0 as usize]
                        && self.region(by).covers(&shared)
                        && self.last_write(by, index).is_some_and(is_between)
                })
            })
        })
    }

    /// The instruction that last wrote a tensor before the access with an index.
    fn last_write(&self, id: TensorId, before: u32) -> Option<usize> {
        let indices = &self.by_tensor[id.0 as usize];
        let end = indices.partition_point(|&index| index < before);
        let mut accesses = indices[..end].iter().map(|&index| self.all[index as usize]);
        accesses
            .rfind(|access| access.writes)
            .map(|access| access.step)
    }
}

fn accesses(plan: &MethodPlan, kernels: &[Kernel]) -> Vec<TensorAccess> {
    let mut accesses = Vec::new();
    let mut add = |step: usize, value: ValueId, writes: bool| {
        let tensors = plan.tensors_of(value);
        accesses.extend(tensors.map(|tensor| TensorAccess {
            step,
            tensor,
            writes,
        }));
    };
    for input in &plan.inputs {
        add(0, input.value, true);
    }
    for (index, step) in plan.steps.iter().enumerate() {
        match step {
            Step::Kernel {
                operator,
                arguments,
            } => {
                let kernel = &kernels[*operator as usize];
                let arguments = plan.arguments(*arguments);
                for value in read_by(kernel, arguments) {
                    add(index, value, false);
                }
                for &position in kernel.signature().writes() {
                    if let Some(&value) = arguments.get(usize::from(position)) {
                        add(index, value, true);
                    }
                }
            }
            // An output of a delegate is not known from an input.
            Step::Delegate { arguments, .. } => {
                for &value in plan.arguments(*arguments) {
                    add(index, value, false);
                    add(index, value, true);
                }
            }
            Step::Move { from, to } => {
                add(index, *from, false);
                add(index, *to, true);
            }
            Step::JumpIfFalse { condition, .. } => add(index, *condition, false),
            Step::Free { .. } | Step::Folded { .. } | Step::Fused { .. } => {}
        }
    }
    for &output in &plan.outputs {
        add(plan.steps.len(), output, false);
    }
    accesses
}

/// The arguments that a kernel reads, among them what it works on in place.
pub(crate) fn read_by(kernel: &Kernel, arguments: &[ValueId]) -> Vec<ValueId> {
    let parameters = kernel.signature().parameters().iter().zip(arguments);
    parameters
        .filter(|(parameter, _)| !parameter.written || !parameter.keyword)
        .map(|(_, &value)| value)
        .collect()
}

#[cfg(test)]
mod tests;
