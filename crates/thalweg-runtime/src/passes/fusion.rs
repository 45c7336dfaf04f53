//! Epilogue fusion: instructions do the work of those that follow them.
//!
//! A convolution can normalize and clamp what it has summed while it writes it, and then nothing goes
//! over all elements again. Kernels say whether they can be fused, and with which epilogues
//! ([`Kernel::with_fusion`], [`Kernel::with_epilogue`]). This pass finds where a program allows it:
//! nothing else may read what is in between, not even by another name for its location.
//!
//! The first instruction then writes what the last one would have. Meanwhile it reads its own inputs,
//! whose memory the program may have planned for that very result. Such a result moves to an arena
//! that is added to the plan.

use std::collections::HashMap;
use std::sync::Arc;

use thalweg_core::engine::{StorageId, TensorId};
use thalweg_core::{Epilogue, Kernel, Prepacked, Result, SharedBytes, StaticArguments, ValueId};
use thalweg_format::Device as DeviceId;

use super::{Lowering, Pass};
use crate::facts::{Facts, Region, read_by};
use crate::first_fit::ReusedArena;
use crate::plan::{ArgumentRange, MethodPlan, PlannedStorage, PlannedTensor, PlannedValue, Step};
use crate::sources::Sources;

/// The largest number of epilogues of one instruction.
const MOST: usize = 4;

/// Moved results start on multiples of this many bytes.
const ALIGN: usize = 64;

/// Fuses instructions with those that follow them.
pub(crate) struct EpilogueFusion;

impl Pass for EpilogueFusion {
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()> {
        let plan = facts.plan();
        let can_fuse = |step: &Step| match step {
            Step::Kernel { operator, .. } => facts.kernel(*operator).has_fusion(),
            _ => false,
        };
        // Where a method jumps, another path may read what is in between.
        if !plan.steps.iter().any(can_fuse) || facts.jumps() {
            return Ok(());
        }
        let mut fusion = Fusion {
            facts,
            plan,
            sources: lowering.resources.sources,
            spare_memory: lowering.spare_memory(),
            changed: None,
            moved: MovedResults::new(),
            fused: HashMap::new(),
        };
        for index in 0..plan.steps.len() {
            fusion.step(index)?;
        }
        lowering.fused = fusion.fused;
        if let Some(changed) = fusion.changed {
            lowering.change(changed);
        }
        Ok(())
    }
}

/// The state of the pass, from instruction to instruction.
struct Fusion<'a> {
    /// Those of the plan as it was.
    facts: &'a Facts,
    plan: &'a Arc<MethodPlan>,
    sources: &'a Sources<'a>,
    /// The bytes that moved results may need.
    spare_memory: usize,
    changed: Option<MethodPlan>,
    moved: MovedResults,
    /// By instruction, the prepacked arguments of fused ones.
    fused: HashMap<usize, Prepacked>,
}

/// The arena of results that cannot be written where they are planned.
struct MovedResults {
    storage: Option<StorageId>,
    arena: ReusedArena,
}

/// An instruction that could be an epilogue.
struct Candidate {
    step: usize,
    operator: u32,
    epilogue: Epilogue,
    result: ValueId,
    tensor: TensorId,
}

impl Fusion<'_> {
    fn step(&mut self, index: usize) -> Result<()> {
        let plan = self.changed.as_ref().unwrap_or(self.plan);
        let Step::Kernel {
            operator,
            arguments,
        } = plan.steps[index]
        else {
            return Ok(());
        };
        let kernel = self.facts.kernel(operator);
        if !kernel.has_fusion() {
            return Ok(());
        }
        let arguments = self.plan.arguments(arguments);
        let [(value, tensor)] = self.results(kernel, arguments)[..] else {
            return Ok(());
        };
        let mut candidates = self.candidates(index, tensor)?;
        if candidates.is_empty() {
            return Ok(());
        }
        let bytes = self.constants(arguments)?;
        while !candidates.is_empty() {
            let epilogues: Vec<Epilogue> =
                candidates.iter().map(|one| one.epilogue.clone()).collect();
            let arguments = self.static_arguments(arguments, &bytes);
            if let Some(fused) = kernel.fuse(&arguments, &epilogues)?
                && self.fuse(index, value, &candidates)
            {
                self.fused.insert(index, fused);
                break;
            }
            candidates.pop();
        }
        Ok(())
    }

    /// The values that a kernel writes, each once, if all are tensors.
    fn results(&self, kernel: &Kernel, arguments: &[ValueId]) -> Vec<(ValueId, TensorId)> {
        let mut results: Vec<(ValueId, TensorId)> = Vec::new();
        for &position in kernel.signature().writes() {
            let Some(&value) = arguments.get(usize::from(position)) else {
                continue;
            };
            let PlannedValue::Tensor(id) = self.plan.values[value.index()] else {
                return Vec::new();
            };
            if !results.contains(&(value, id)) {
                results.push((value, id));
            }
        }
        results
    }

    /// The instructions after one that continue with its result, and with each other's, where nothing
    /// else does.
    fn candidates(&self, index: usize, tensor: TensorId) -> Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        let (mut from, mut tensor) = (index, tensor);
        for step in index + 1..self.plan.steps.len() {
            match self.plan.steps[step] {
                Step::Folded { .. } | Step::Free { .. } => continue,
                Step::Kernel { .. } if candidates.len() < MOST => {}
                _ => break,
            }
            let Some(candidate) = self.candidate(step, from, tensor)? else {
                break;
            };
            (from, tensor) = (step, candidate.tensor);
            candidates.push(candidate);
        }
        Ok(candidates)
    }

    /// The instruction `step` as an epilogue, if it continues with `source`, which the instruction
    /// `from` writes.
    fn candidate(&self, step: usize, from: usize, source: TensorId) -> Result<Option<Candidate>> {
        let Step::Kernel {
            operator,
            arguments,
        } = self.plan.steps[step]
        else {
            return Ok(None);
        };
        let kernel = self.facts.kernel(operator);
        let arguments = self.plan.arguments(arguments);
        let first = arguments
            .first()
            .map(|value| &self.plan.values[value.index()]);
        let results = self.results(kernel, arguments);
        let Some((&(result, tensor), others)) = results.split_first() else {
            return Ok(None);
        };
        let accesses = self.facts.accesses();
        let continues = kernel.has_epilogue()
            && matches!(first, Some(PlannedValue::Tensor(id)) if *id == source)
            && self.are_alike(source, tensor)
            && (kernel.epilogue_converts()
                || self.tensor(source).dtype == self.tensor(tensor).dtype)
            && accesses.is_written_once(source, from)
            && accesses.is_written_once(tensor, step)
            && accesses.reads(source).eq([step])
            && accesses.is_alone(source, from)
            && others.iter().all(|&(_, other)| {
                accesses.reads(other).next().is_none() && accesses.is_alone(other, step)
            });
        if !continues {
            return Ok(None);
        }
        let bytes = self.constants(arguments)?;
        let epilogue = kernel.epilogue(&self.static_arguments(arguments, &bytes))?;
        Ok(epilogue.map(|epilogue| Candidate {
            step,
            operator,
            epilogue,
            result,
            tensor,
        }))
    }

    /// Returns true if two tensors have the same shape and layout, and are both in arenas of the host.
    fn are_alike(&self, a: TensorId, b: TensorId) -> bool {
        let [first, second] = [a, b].map(|id| self.tensor(id));
        let in_arena = |tensor: &PlannedTensor| {
            let storage = &self.plan.storages[tensor.storage.0 as usize];
            let host = DeviceId::default();
            matches!(storage, PlannedStorage::Arena { device, .. } if *device == host)
                && tensor.initial.is_none()
        };
        a != b
            && first.sizes == second.sizes
            && first.dim_order == second.dim_order
            && first.dynamism == second.dynamism
            && in_arena(first)
            && in_arena(second)
    }

    /// Makes an instruction do the work of the epilogues. `false` if its result would need memory that
    /// there is not.
    fn fuse(&mut self, index: usize, value: ValueId, epilogues: &[Candidate]) -> bool {
        let Some(last) = epilogues.last() else {
            return false;
        };
        let plan = self.changed.as_ref().unwrap_or(self.plan);
        let Step::Kernel {
            operator,
            arguments,
        } = plan.steps[index]
        else {
            return false;
        };
        let kernel = self.facts.kernel(operator);
        let mut arguments = plan.arguments(arguments).to_vec();
        let result = Region::planned(plan, last.tensor);
        let overwrites_input = read_by(kernel, &arguments).into_iter().any(|value| {
            let mut read = plan.tensors_of(value);
            read.any(|id| result.overlaps(&Region::planned(plan, id)))
        });
        let mut moved = None;
        if overwrites_input {
            moved = self.place(index, last, result.bytes.len());
            if moved.is_none() {
                return false;
            }
        }
        for &position in kernel.signature().writes() {
            if let Some(argument) = arguments.get_mut(usize::from(position))
                && *argument == value
            {
                *argument = last.result;
            }
        }
        let changed = self.changed.get_or_insert_with(|| (**self.plan).clone());
        if let Some(offset) = moved {
            self.moved.add(changed, last.tensor, offset);
        }
        changed.steps[index] = Step::Kernel {
            operator,
            arguments: ArgumentRange {
                start: changed.arguments.len() as u32,
                len: arguments.len() as u32,
            },
        };
        changed.arguments.extend(arguments);
        for epilogue in epilogues {
            let operator = epilogue.operator;
            changed.steps[epilogue.step] = Step::Fused { operator };
        }
        true
    }

    /// An offset for a result of the instruction `index` in the arena of moved results.
    fn place(&mut self, index: usize, last: &Candidate, bytes: usize) -> Option<usize> {
        let until = self.last_use(last)?;
        if !self.facts.accesses().is_alone(last.tensor, last.step) {
            return None;
        }
        self.moved
            .arena
            .place(index..=until, bytes, self.spare_memory)
    }

    /// The last instruction that reads a result. `None` if that is not known, since it may be read as
    /// what an instruction makes a view of it.
    fn last_use(&self, of: &Candidate) -> Option<usize> {
        let mut last = of.step;
        for step in self.facts.accesses().reads(of.tensor) {
            let makes_another = match self.plan.steps.get(step) {
                Some(Step::Kernel { operator, .. }) => {
                    self.facts.kernel(*operator).signature().is_view()
                }
                Some(_) => true,
                None => false,
            };
            if makes_another {
                return None;
            }
            last = last.max(step);
        }
        Some(last)
    }

    fn tensor(&self, id: TensorId) -> &PlannedTensor {
        &self.plan.tensors[id.0 as usize]
    }

    /// The bytes of each argument that is a constant tensor.
    fn constants(&self, arguments: &[ValueId]) -> Result<Vec<Option<SharedBytes>>> {
        let constant = |&value: &ValueId| {
            if !self.facts.is_fixed(value) {
                return Ok(None);
            }
            let PlannedValue::Tensor(id) = self.plan.values[value.index()] else {
                return Ok(None);
            };
            let storage = self.tensor(id).storage;
            match &self.plan.storages[storage.0 as usize] {
                PlannedStorage::Constant { data, bytes, align } => {
                    let found = self.sources.bytes(data, *bytes)?;
                    let aligned = found.as_ptr().addr().is_multiple_of(*align);
                    Ok(aligned.then_some(found))
                }
                _ => Ok(None),
            }
        };
        arguments.iter().map(constant).collect()
    }

    fn static_arguments<'b>(
        &'b self,
        arguments: &[ValueId],
        bytes: &'b [Option<SharedBytes>],
    ) -> StaticArguments<'b> {
        let argument = |(&value, bytes): (&ValueId, &'b Option<SharedBytes>)| {
            let bytes = bytes.as_deref();
            self.facts.static_argument(value, bytes)
        };
        StaticArguments::new(arguments.iter().zip(bytes).map(argument).collect())
    }
}

impl MovedResults {
    fn new() -> Self {
        Self {
            storage: None,
            arena: ReusedArena::new(ALIGN),
        }
    }

    /// Moves a result to an offset of the arena.
    fn add(&mut self, plan: &mut MethodPlan, result: TensorId, offset: usize) {
        let arena = PlannedStorage::Arena {
            bytes: self.arena.bytes(),
            device: DeviceId::default(),
        };
        let storage = match self.storage {
            Some(storage) => {
                plan.storages[storage.0 as usize] = arena;
                storage
            }
            None => *self.storage.insert(plan.add_storage(arena)),
        };
        let tensor = &mut plan.tensors[result.0 as usize];
        (tensor.storage, tensor.offset) = (storage, offset);
    }
}
