//! Constant folding: operators whose arguments are all constants run once, when the method is linked.
//!
//! Exporters leave such operators in programs: weights that are transposed or dequantized, masks
//! that are counted out. Their results become constants of the plan, and the instructions do
//! nothing ([`Step::Folded`]). Constants that come about so can be prepacked like others.
//!
//! Exporters also leave out instructions that would only give a tensor another shape: the result is
//! planned at the place of what it is a view of, and nothing writes it. What reads such a tensor
//! reads what was last written there, so it becomes the same constant, or nothing is done.

mod evaluate;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use thalweg_core::engine::{Block, FileBytes, StorageId, TensorId};
use thalweg_core::{Kernel, Result, SharedBytes, ValueId};
use thalweg_format::{Device as DeviceId, ShapeDynamism};

use super::{Lowering, Pass};
use crate::facts::{Facts, Region, read_by};
use crate::plan::{DataSource, MethodPlan, PlannedStorage, PlannedValue, Step};
use crate::sources::Sources;

/// The largest size of a result, in sizes of what it is computed from. Weights of four bits become
/// f32; a constant that is repeated many times should not.
const GROWTH: usize = 8;

/// Results up to this size are computed whatever they are computed from.
const SMALL: usize = 1 << 16;

/// Computes the results of operators whose arguments are all constants.
pub(crate) struct ConstantFolding;

impl Pass for ConstantFolding {
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()> {
        let mut folding = Folding {
            facts,
            plan: facts.plan(),
            sources: lowering.resources.sources,
            threads: lowering.resources.threads,
            spare_memory: lowering.spare_memory(),
            open: open_values(facts),
            used: HashSet::new(),
            results: HashMap::new(),
            changed: None,
        };
        for index in 0..facts.plan().steps.len() {
            folding.step(index)?;
        }
        if let Some(changed) = folding.changed {
            lowering.change(changed);
        }
        Ok(())
    }
}

/// The state of the pass, from instruction to instruction.
struct Folding<'a> {
    /// Those of the plan as it was.
    facts: &'a Facts,
    plan: &'a Arc<MethodPlan>,
    sources: &'a Sources<'a>,
    threads: usize,
    /// The bytes that further results may have.
    spare_memory: usize,
    /// Values that something else than one kernel writes, or may write.
    open: HashSet<ValueId>,
    /// Values that instructions so far have used.
    used: HashSet<ValueId>,
    /// Results by operator and what it read: unrolled loops compute the same many times.
    results: HashMap<(u32, Vec<ValueId>), TensorId>,
    changed: Option<MethodPlan>,
}

/// Values that something else than one kernel writes, or may write.
fn open_values(facts: &Facts) -> HashSet<ValueId> {
    let plan = facts.plan();
    let mut open: HashSet<ValueId> = plan.inputs.iter().map(|input| input.value).collect();
    let mut once = HashSet::new();
    for step in &plan.steps {
        match step {
            Step::Kernel {
                operator,
                arguments,
            } => {
                let arguments = plan.arguments(*arguments);
                let writes = facts.kernel(*operator).signature().writes().iter();
                let mut targets: Vec<ValueId> = writes
                    .filter_map(|&position| arguments.get(usize::from(position)).copied())
                    .collect();
                // The result stands for the argument once more.
                targets.sort_unstable_by_key(|value| value.index());
                targets.dedup();
                for target in targets {
                    if !once.insert(target) {
                        open.insert(target);
                    }
                }
            }
            Step::Delegate { arguments, .. } => open.extend(plan.arguments(*arguments)),
            Step::Move { from, to } => open.extend([*from, *to]),
            Step::JumpIfFalse { .. }
            | Step::Free { .. }
            | Step::Folded { .. }
            | Step::Fused { .. } => {}
        }
    }
    open
}

impl Folding<'_> {
    fn now(&self) -> &MethodPlan {
        self.changed.as_ref().unwrap_or(self.plan)
    }

    fn step(&mut self, index: usize) -> Result<()> {
        let plan = self.plan.clone();
        let Step::Kernel {
            operator,
            arguments,
        } = plan.steps[index]
        else {
            if let Step::JumpIfFalse { condition, .. } = plan.steps[index] {
                self.used.insert(condition);
            }
            return Ok(());
        };
        let arguments = plan.arguments(arguments);
        let kernel = self.facts.kernel(operator);
        if kernel.is_pure()
            && let Some(target) = self.target(kernel, arguments)
            && let Some(size) = self.size_of_constants(kernel, arguments)
            && let Some(views) = self.views(index, target)
        {
            let reads = read_by(kernel, arguments);
            let before = self.results.get(&(operator, reads.clone())).copied();
            let targets = [&[target], &*views].concat();
            let capacity = self.now().tensors[target.0 as usize].capacity;
            let fits =
                capacity <= SMALL.max(size.saturating_mul(GROWTH)) && capacity <= self.spare_memory;
            if kernel.signature().is_view() {
                if let Some(&PlannedValue::Tensor(source)) =
                    arguments.first().map(|value| &plan.values[value.index()])
                {
                    self.view(index, operator, source, &targets);
                }
            } else if let Some(before) = before
                && self.are_alike(before, target)
            {
                self.view(index, operator, before, &targets);
            } else if fits && let Some(block) = self.evaluate(kernel, arguments, target)? {
                self.spare_memory -= capacity;
                self.keep(index, operator, target, block);
                self.view(index, operator, target, &views);
                self.results.insert((operator, reads), target);
            }
        }
        for value in arguments {
            self.used.insert(*value);
            if let PlannedValue::TensorList(list) = &plan.values[value.index()] {
                self.used.extend(list.iter().flatten());
            }
        }
        Ok(())
    }

    /// The tensor that the kernel writes, if that is all that it does, and nothing else writes or
    /// looks at the tensor before.
    fn target(&self, kernel: &Kernel, arguments: &[ValueId]) -> Option<TensorId> {
        let mut target = None;
        for &position in kernel.signature().writes() {
            let Some(&value) = arguments.get(usize::from(position)) else {
                continue;
            };
            let parameter = kernel.signature().argument(usize::from(position))?;
            // What works in place reads what it writes.
            let in_place = parameter.written && !parameter.keyword;
            let is_parameter = usize::from(position) < kernel.signature().parameters().len();
            if (in_place && is_parameter) || target.is_some_and(|target| target != value) {
                return None;
            }
            target = Some(value);
        }
        let value = target?;
        let PlannedValue::Tensor(id) = self.plan.values[value.index()] else {
            return None;
        };
        let tensor = &self.plan.tensors[id.0 as usize];
        let on_host = matches!(
            self.plan.storages[tensor.storage.0 as usize],
            PlannedStorage::Arena { device, .. } if device == DeviceId::default()
        );
        let written_elsewhere = self.open.contains(&value) || self.is_written_as_view(value);
        (tensor.dynamism == ShapeDynamism::Static
            && tensor.initial.is_none()
            && on_host
            && !written_elsewhere
            && !self.used.contains(&value))
        .then_some(id)
    }

    /// Returns true if something is written through a view of the value.
    fn is_written_as_view(&self, value: ValueId) -> bool {
        self.facts
            .written()
            .shared_by(value)
            .any(|view| self.facts.written().reaches(view) || self.open.contains(&view))
    }

    /// The bytes of the tensors that the kernel reads, if everything that it reads is
    /// constant.
    fn size_of_constants(&self, kernel: &Kernel, arguments: &[ValueId]) -> Option<usize> {
        let signature = kernel.signature();
        let mut size = 0usize;
        for (position, &value) in arguments.iter().enumerate() {
            if position >= signature.parameters().len() {
                break;
            }
            if signature.writes().contains(&(position as u16)) {
                continue;
            }
            size = size.saturating_add(self.constant_size(value)?);
        }
        Some(size)
    }

    fn constant_size(&self, value: ValueId) -> Option<usize> {
        match &self.plan.values[value.index()] {
            PlannedValue::Tensor(id) => {
                let plan = self.now();
                let tensor = &plan.tensors[id.0 as usize];
                let constant = matches!(
                    plan.storages[tensor.storage.0 as usize],
                    PlannedStorage::Constant { .. }
                );
                let known = constant
                    && tensor.dynamism == ShapeDynamism::Static
                    && !self.open.contains(&value)
                    && !self.is_written_as_view(value);
                known.then_some(tensor.capacity)
            }
            PlannedValue::TensorList(list) => {
                list.iter().flatten().try_fold(0usize, |size, &value| {
                    Some(size.saturating_add(self.constant_size(value)?))
                })
            }
            PlannedValue::IntList(list) => list
                .iter()
                .all(|value| !self.facts.written().values.contains(value))
                .then_some(0),
            PlannedValue::Scalar(_) => (!self.facts.written().values.contains(&value)
                && !self.open.contains(&value))
            .then_some(0),
            PlannedValue::String(_) | PlannedValue::DoubleList(_) | PlannedValue::BoolList(_) => {
                Some(0)
            }
        }
    }

    fn keep(&mut self, index: usize, operator: u32, target: TensorId, block: Block) {
        let changed = self.changed.get_or_insert_with(|| (**self.plan).clone());
        let storage = StorageId(changed.storages.len() as u32);
        let tensor = &mut changed.tensors[target.0 as usize];
        (tensor.storage, tensor.offset) = (storage, 0);
        changed.storages.push(PlannedStorage::Constant {
            bytes: block.len(),
            align: tensor.dtype.align(),
            data: DataSource::Shared(SharedBytes::all(&FileBytes::computed(block))),
        });
        changed.steps[index] = Step::Folded { operator };
    }

    /// Makes tensors views of a constant for good.
    fn view(&mut self, index: usize, operator: u32, source: TensorId, targets: &[TensorId]) {
        let from = &self.now().tensors[source.0 as usize];
        let (storage, offset, dtype, capacity) =
            (from.storage, from.offset, from.dtype, from.capacity);
        let fits = |target: &TensorId| {
            let to = &self.plan.tensors[target.0 as usize];
            to.dtype == dtype && to.capacity == capacity
        };
        if !targets.iter().all(fits) {
            return;
        }
        let changed = self.changed.get_or_insert_with(|| (**self.plan).clone());
        for target in targets {
            let tensor = &mut changed.tensors[target.0 as usize];
            (tensor.storage, tensor.offset) = (storage, offset);
        }
        changed.steps[index] = Step::Folded { operator };
    }

    /// Returns true if two results have the same type, shape and order.
    fn are_alike(&self, a: TensorId, b: TensorId) -> bool {
        let [a, b] = [a, b].map(|id| &self.plan.tensors[id.0 as usize]);
        a.dtype == b.dtype && a.sizes == b.sizes && a.dim_order == b.dim_order
    }

    /// The tensors that nothing writes, and that are read from the location of what an instruction
    /// writes to `target`, before anything else is written there. `None` if something is read from
    /// there in another way.
    fn views(&self, index: usize, target: TensorId) -> Option<Vec<TensorId>> {
        let accesses = self.facts.accesses();
        let region = accesses.region(target);
        let is_straight = !self.facts.jumps();
        let mut views: Vec<TensorId> = Vec::new();
        let mut written: HashSet<TensorId> = HashSet::new();
        let mut before: HashSet<TensorId> = HashSet::new();
        // What has been written over since.
        let mut over: Vec<Region> = Vec::new();
        for access in accesses.of_overlapping(target) {
            let id = access.tensor;
            let other = accesses.region(id);
            if access.step <= index && is_straight {
                before.insert(id);
            } else if access.writes {
                if views.contains(&id) {
                    return None;
                }
                over.push(other.clone());
                written.insert(id);
            } else if !written.contains(&id) {
                // It may be a view of what was written since, and then has nothing to do with this.
                let part = other.intersection(region);
                if over.iter().any(|by| by.covers(&part)) && !views.contains(&id) {
                    continue;
                }
                let is_view = is_straight
                    && over.is_empty()
                    && other == region
                    && self.can_be_view(id, target)
                    && !before.contains(&id);
                if !is_view {
                    return None;
                }
                if !views.contains(&id) {
                    views.push(id);
                }
            }
        }
        Some(views)
    }

    /// Returns true if a tensor at the location of another can be that tensor with another shape.
    fn can_be_view(&self, id: TensorId, target: TensorId) -> bool {
        let [tensor, target] = [id, target].map(|id| &self.plan.tensors[id.0 as usize]);
        tensor.dtype == target.dtype
            && tensor.dynamism == ShapeDynamism::Static
            && tensor.initial.is_none()
    }
}
