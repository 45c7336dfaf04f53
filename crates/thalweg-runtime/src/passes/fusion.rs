//! Instructions that do the work of those that follow them.
//!
//! A convolution can normalize and clamp what it has summed while it writes it, and then nothing goes
//! over all elements again. Which kernels can do that, and whose work, is theirs to say
//! ([`Kernel::with_absorption`], [`Kernel::with_offer`]). Here is found out where a program allows it:
//! nothing else may look at what is in between, not even by another name for its place.
//!
//! The first instruction then writes what the last one would have. Meanwhile it reads its own inputs,
//! whose memory the program may have planned for that very result. Such a result gets a place of its
//! own, in an arena that is added to the plan.

use std::collections::HashMap;
use std::sync::Arc;

use thalweg_core::engine::{StorageId, TensorId};
use thalweg_core::{Epilogue, Kernel, Prepacked, Result, SharedBytes, StaticArguments, ValueId};
use thalweg_format::Device as DeviceId;

use crate::facts::{Statics, TensorAccess, Written, accesses, is_alone, overlap, read_by};
use crate::plan::{ArgumentRange, MethodPlan, PlannedStorage, PlannedTensor, PlannedValue, Step};
use crate::sources::Sources;

/// How many instructions one can do the work of.
const MOST: usize = 4;

/// Where tensors in the arena that is added start: on multiples of this.
const ALIGN: usize = 64;

/// What was found.
pub(crate) struct Absorption {
    /// The plan, in which instructions that others do the work of do nothing.
    pub(crate) plan: Arc<MethodPlan>,
    /// By instruction, what those that do more than their own work know of it.
    pub(crate) prepared: HashMap<usize, Prepacked>,
}

impl Absorption {
    /// The plan as it is.
    pub(crate) fn none(plan: &Arc<MethodPlan>) -> Self {
        Self {
            plan: plan.clone(),
            prepared: HashMap::new(),
        }
    }

    /// Finds all. `room`: how many bytes of memory results may need anew.
    pub(crate) fn find(
        plan: &Arc<MethodPlan>,
        kernels: &[Kernel],
        sources: &Sources<'_>,
        room: usize,
    ) -> Result<Self> {
        let takes_part = |step: &Step| match step {
            Step::Kernel { operator, .. } => kernels[*operator as usize].has_fusion(),
            _ => false,
        };
        let jumps = |step: &Step| matches!(step, Step::JumpIfFalse { .. });
        // Where a method jumps, another path may look at what is in between.
        if !plan.steps.iter().any(takes_part) || plan.steps.iter().any(jumps) {
            return Ok(Self::none(plan));
        }
        let written = Written::find(plan, kernels);
        let mut search = Search {
            plan,
            kernels,
            sources,
            room,
            knowledge: Statics::new(plan, kernels, &written),
            accesses: accesses(plan, kernels),
            changed: None,
            added: Added::default(),
            prepared: HashMap::new(),
        };
        for index in 0..plan.steps.len() {
            search.step(index)?;
        }
        Ok(Self {
            plan: search.changed.map_or_else(|| plan.clone(), Arc::new),
            prepared: search.prepared,
        })
    }
}

struct Search<'a> {
    plan: &'a Arc<MethodPlan>,
    kernels: &'a [Kernel],
    sources: &'a Sources<'a>,
    room: usize,
    knowledge: Statics<'a>,
    /// Of the plan as it was.
    accesses: Vec<TensorAccess>,
    changed: Option<MethodPlan>,
    added: Added,
    prepared: HashMap<usize, Prepacked>,
}

/// An instruction whose work another could do.
struct Follower {
    step: usize,
    operator: u32,
    offer: Epilogue,
    result: ValueId,
    tensor: TensorId,
}

impl Search<'_> {
    fn step(&mut self, index: usize) -> Result<()> {
        let plan = self.changed.as_ref().unwrap_or(self.plan);
        let Step::Kernel {
            operator,
            arguments,
        } = plan.steps[index]
        else {
            return Ok(());
        };
        let kernel = &self.kernels[operator as usize];
        if !kernel.has_fusion() {
            return Ok(());
        }
        let arguments = self.plan.arguments(arguments);
        let [(value, tensor)] = self.results(kernel, arguments)[..] else {
            return Ok(());
        };
        let mut followers = self.followers(index, tensor)?;
        if followers.is_empty() {
            return Ok(());
        }
        let bytes = self.constants(arguments)?;
        while !followers.is_empty() {
            let offers: Vec<Epilogue> = followers.iter().map(|one| one.offer.clone()).collect();
            let known = self.statics(arguments, &bytes);
            if let Some(prepared) = kernel.fuse(&known, &offers)?
                && self.join(index, value, &followers)
            {
                self.prepared.insert(index, prepared);
                break;
            }
            followers.pop();
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

    /// The instructions after one that go on with its result, and with each other's, where nothing
    /// else does.
    fn followers(&self, index: usize, tensor: TensorId) -> Result<Vec<Follower>> {
        let mut followers = Vec::new();
        let (mut from, mut tensor) = (index, tensor);
        for step in index + 1..self.plan.steps.len() {
            match self.plan.steps[step] {
                Step::Known { .. } | Step::Free { .. } => continue,
                Step::Kernel { .. } if followers.len() < MOST => {}
                _ => break,
            }
            let Some(follower) = self.follower(step, from, tensor)? else {
                break;
            };
            (from, tensor) = (step, follower.tensor);
            followers.push(follower);
        }
        Ok(followers)
    }

    /// The instruction `step` as one whose work another could do, if it goes on with `source`, which
    /// the instruction `from` writes.
    fn follower(&self, step: usize, from: usize, source: TensorId) -> Result<Option<Follower>> {
        let Step::Kernel {
            operator,
            arguments,
        } = self.plan.steps[step]
        else {
            return Ok(None);
        };
        let kernel = &self.kernels[operator as usize];
        let arguments = self.plan.arguments(arguments);
        let first = arguments
            .first()
            .map(|value| &self.plan.values[value.index()]);
        let results = self.results(kernel, arguments);
        let Some((&(result, tensor), others)) = results.split_first() else {
            return Ok(None);
        };
        let goes_on = kernel.has_epilogue()
            && matches!(first, Some(PlannedValue::Tensor(id)) if *id == source)
            && self.are_alike(source, tensor)
            && (kernel.epilogue_converts()
                || self.tensor(source).dtype == self.tensor(tensor).dtype)
            && self.is_written_once(source, from)
            && self.is_written_once(tensor, step)
            && self.reads(source).eq([step])
            && self.is_alone(source, from)
            && others.iter().all(|&(_, other)| {
                self.reads(other).next().is_none() && self.is_alone(other, step)
            });
        if !goes_on {
            return Ok(None);
        }
        let bytes = self.constants(arguments)?;
        let offer = kernel.epilogue(&self.statics(arguments, &bytes))?;
        Ok(offer.map(|offer| Follower {
            step,
            operator,
            offer,
            result,
            tensor,
        }))
    }

    /// Whether two tensors have the same shape and order, and are both in arenas of the host.
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

    fn is_written_once(&self, id: TensorId, step: usize) -> bool {
        let writes = self.accesses.iter().filter(|access| access.writes);
        let mut steps: Vec<usize> = writes
            .filter(|access| access.tensor == id)
            .map(|access| access.step)
            .collect();
        steps.dedup();
        steps == [step]
            && !self
                .plan
                .inputs
                .iter()
                .any(|input| self.is(input.value, id))
    }

    /// The instructions that read a tensor, each as often as it does.
    fn reads(&self, id: TensorId) -> impl Iterator<Item = usize> {
        let reads = self.accesses.iter().filter(|access| !access.writes);
        let reads = reads.filter(move |access| access.tensor == id);
        reads.map(|access| access.step)
    }

    fn is_alone(&self, id: TensorId, at: usize) -> bool {
        is_alone(self.plan, &self.accesses, id, at)
    }

    /// Makes the instruction do the work of those that follow. `false` if its result would need memory
    /// that there is not.
    fn join(&mut self, index: usize, value: ValueId, followers: &[Follower]) -> bool {
        let Some(last) = followers.last() else {
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
        let kernel = &self.kernels[operator as usize];
        let mut arguments = plan.arguments(arguments).to_vec();
        let result = &plan.tensors[last.tensor.0 as usize];
        let is_in_the_way = read_by(kernel, &arguments).into_iter().any(|value| {
            plan.tensors_of(value)
                .any(|read| overlap(result, &plan.tensors[read.0 as usize]))
        });
        let mut moved = None;
        if is_in_the_way {
            let lifetime = [index, self.last_use(last)];
            let place = (lifetime[1] != usize::MAX && self.is_alone(last.tensor, last.step))
                .then(|| self.added.place(lifetime, result.capacity, self.room));
            let Some(Some(offset)) = place else {
                return false;
            };
            moved = Some(offset);
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
            let storage = *self.added.storage.get_or_insert_with(|| {
                changed.storages.push(PlannedStorage::Arena {
                    bytes: 0,
                    device: DeviceId::default(),
                });
                StorageId(changed.storages.len() as u32 - 1)
            });
            changed.storages[storage.0 as usize] = PlannedStorage::Arena {
                bytes: self.added.bytes,
                device: DeviceId::default(),
            };
            let tensor = &mut changed.tensors[last.tensor.0 as usize];
            (tensor.storage, tensor.offset) = (storage, offset);
        }
        changed.steps[index] = Step::Kernel {
            operator,
            arguments: ArgumentRange {
                start: changed.arguments.len() as u32,
                len: arguments.len() as u32,
            },
        };
        changed.arguments.extend(arguments);
        for follower in followers {
            let operator = follower.operator;
            changed.steps[follower.step] = Step::Absorbed { operator };
        }
        true
    }

    /// The last instruction that reads a result; `usize::MAX` if that cannot be known, since it may
    /// be read as what an instruction makes a view of it.
    fn last_use(&self, of: &Follower) -> usize {
        let mut last = of.step;
        for step in self.reads(of.tensor) {
            let makes_another = match self.plan.steps.get(step) {
                Some(Step::Kernel { operator, .. }) => {
                    let signature = self.kernels[*operator as usize].signature();
                    signature.is_view()
                }
                Some(_) => true,
                None => false,
            };
            if makes_another {
                return usize::MAX;
            }
            last = last.max(step);
        }
        last
    }

    fn tensor(&self, id: TensorId) -> &PlannedTensor {
        &self.plan.tensors[id.0 as usize]
    }

    fn is(&self, value: ValueId, id: TensorId) -> bool {
        self.plan.tensors_of(value).any(|tensor| tensor == id)
    }

    /// The bytes of each argument that is a constant tensor.
    fn constants(&self, arguments: &[ValueId]) -> Result<Vec<Option<SharedBytes>>> {
        let constant = |&value: &ValueId| {
            if !self.knowledge.is_fixed(value) {
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

    fn statics<'b>(
        &'b self,
        arguments: &[ValueId],
        bytes: &'b [Option<SharedBytes>],
    ) -> StaticArguments<'b> {
        let argument = |(&value, bytes): (&ValueId, &'b Option<SharedBytes>)| {
            let bytes = bytes.as_deref();
            self.knowledge.of(value, bytes)
        };
        StaticArguments::new(arguments.iter().zip(bytes).map(argument).collect())
    }
}

/// The arena that is added.
#[derive(Default)]
struct Added {
    storage: Option<StorageId>,
    bytes: usize,
    placed: Vec<Placed>,
}

struct Placed {
    /// The first and the last instruction that uses it.
    lifetime: [usize; 2],
    start: usize,
    end: usize,
}

impl Added {
    /// The lowest place where nothing is at that time.
    fn place(&mut self, lifetime: [usize; 2], len: usize, room: usize) -> Option<usize> {
        let mut others: Vec<&Placed> = self
            .placed
            .iter()
            .filter(|other| other.lifetime[0] <= lifetime[1] && lifetime[0] <= other.lifetime[1])
            .collect();
        others.sort_by_key(|other| other.start);
        let mut start = 0usize;
        for other in others {
            if start.checked_add(len)? <= other.start {
                break;
            }
            start = start.max(other.end);
        }
        let end = start.checked_add(len)?.checked_next_multiple_of(ALIGN)?;
        if end > room {
            return None;
        }
        self.bytes = self.bytes.max(end);
        self.placed.push(Placed {
            lifetime,
            start,
            end,
        });
        Some(start)
    }
}
