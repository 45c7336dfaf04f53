//! Operators whose arguments are all constants run once, when the method is linked.
//!
//! Exporters leave such operators in programs: weights that are transposed or dequantized, masks
//! that are counted out. Their results become constants of the plan, and the instructions do
//! nothing ([`Step::Known`]). Constants that come about so can be prepared like others.
//!
//! Exporters also leave out instructions that would only give a tensor another shape: the result is
//! planned at the place of what it is a view of, and nothing writes it. What reads such a tensor
//! reads what was last written there, so it becomes the same constant, or nothing is done.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use thalweg_core::engine::{
    Block, FileBytes, Frame, KernelContext, Overlap, Scratch, Slot, Storage, StorageId, TensorId,
    TensorSlot,
};
use thalweg_core::{Kernel, Result, ValueId};
use thalweg_format::{Device as DeviceId, ShapeDynamism};

use crate::facts::{TensorAccess, Written, accesses, read_by};
use crate::plan::{DataSource, MethodPlan, PlannedStorage, PlannedValue, Step};
use crate::sources::Sources;

/// How many times as large as what it is computed from a result may be. Weights of four bits become
/// f32; a constant that is repeated many times should not.
const GROWTH: usize = 8;

/// Results up to this size are computed whatever they are computed from.
const SMALL: usize = 1 << 16;

/// The plan with all results that are known. `room`: how many bytes they may have.
pub(crate) fn compute(
    plan: &Arc<MethodPlan>,
    kernels: &[Kernel],
    sources: &Sources<'_>,
    threads: usize,
    room: usize,
) -> Result<Arc<MethodPlan>> {
    let mut search = Search::new(plan, kernels, sources, threads, room);
    for index in 0..plan.steps.len() {
        search.step(index)?;
    }
    Ok(match search.changed {
        Some(changed) => Arc::new(changed),
        None => plan.clone(),
    })
}

struct Search<'a> {
    plan: &'a Arc<MethodPlan>,
    kernels: &'a [Kernel],
    sources: &'a Sources<'a>,
    threads: usize,
    room: usize,
    written: Written,
    /// Values that something else than one kernel writes, or may write.
    open: HashSet<ValueId>,
    /// Values that instructions so far have used.
    used: HashSet<ValueId>,
    accesses: Vec<TensorAccess>,
    /// Whether there are no jumps.
    is_straight: bool,
    /// Results by operator and what it read: unrolled loops ask for the same many times.
    results: HashMap<(u32, Vec<ValueId>), TensorId>,
    changed: Option<MethodPlan>,
}

impl<'a> Search<'a> {
    fn new(
        plan: &'a Arc<MethodPlan>,
        kernels: &'a [Kernel],
        sources: &'a Sources<'a>,
        threads: usize,
        room: usize,
    ) -> Self {
        let mut open: HashSet<ValueId> = plan.inputs.iter().map(|input| input.value).collect();
        let mut once = HashSet::new();
        for step in &plan.steps {
            match step {
                Step::Kernel {
                    operator,
                    arguments,
                } => {
                    let arguments = plan.arguments(*arguments);
                    let signature = kernels[*operator as usize].signature();
                    let mut targets: Vec<ValueId> = signature
                        .writes()
                        .iter()
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
                | Step::Known { .. }
                | Step::Absorbed { .. } => {}
            }
        }
        Self {
            plan,
            kernels,
            sources,
            threads,
            room,
            written: Written::find(plan, kernels),
            open,
            used: HashSet::new(),
            accesses: accesses(plan, kernels),
            is_straight: !plan
                .steps
                .iter()
                .any(|step| matches!(step, Step::JumpIfFalse { .. })),
            results: HashMap::new(),
            changed: None,
        }
    }

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
        let kernel = &self.kernels[operator as usize];
        if kernel.is_pure()
            && let Some(target) = self.target(kernel, arguments)
            && let Some(size) = self.size_of_constants(kernel, arguments)
            && let Some(views) = self.views(index, target)
        {
            let reads = read_by(kernel, arguments);
            let before = self.results.get(&(operator, reads.clone())).copied();
            let targets = [&[target], &*views].concat();
            let capacity = self.now().tensors[target.0 as usize].capacity;
            let fits = capacity <= SMALL.max(size.saturating_mul(GROWTH)) && capacity <= self.room;
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
            } else if fits && let Some(block) = self.run(kernel, arguments, target)? {
                self.room -= capacity;
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

    /// Whether something is written through a view of the value.
    fn is_written_as_view(&self, value: ValueId) -> bool {
        self.written
            .shared_by(value)
            .any(|view| self.written.reaches(view) || self.open.contains(&view))
    }

    /// How many bytes the tensors have that the kernel reads, if everything that it reads is
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
                .all(|value| !self.written.values.contains(value))
                .then_some(0),
            PlannedValue::Scalar(_) => {
                (!self.written.values.contains(&value) && !self.open.contains(&value)).then_some(0)
            }
            PlannedValue::String(_) | PlannedValue::DoubleList(_) | PlannedValue::BoolList(_) => {
                Some(0)
            }
        }
    }

    /// What the kernel writes; `None` if it fails, which it then does when it is called.
    fn run(
        &self,
        kernel: &Kernel,
        arguments: &[ValueId],
        target: TensorId,
    ) -> Result<Option<Block>> {
        let mut lent = Lent::default();
        let mut ids = Vec::new();
        for &value in arguments {
            ids.push(lent.value(self, value, target)?);
        }
        let mut frame = Frame::new(lent.slots, lent.tensors, lent.storages)?;
        let mut scratch = Scratch::new();
        let context = KernelContext::on_threads(self.threads);
        let ran = panic::catch_unwind(AssertUnwindSafe(|| {
            kernel.run(&mut frame, &mut scratch, &ids, Overlap::Possible, context)
        }));
        let (Ok(Ok(())), Some(written)) = (ran, lent.target) else {
            return Ok(None);
        };
        let view = frame.view(written)?;
        let planned = &self.plan.tensors[target.0 as usize];
        if *view.sizes() != *planned.sizes {
            return Ok(None);
        }
        Block::copy_of(view.bytes()).map(Some)
    }

    fn keep(&mut self, index: usize, operator: u32, target: TensorId, block: Block) {
        let changed = self.changed.get_or_insert_with(|| (**self.plan).clone());
        let storage = StorageId(changed.storages.len() as u32);
        let tensor = &mut changed.tensors[target.0 as usize];
        (tensor.storage, tensor.offset) = (storage, 0);
        changed.storages.push(PlannedStorage::Constant {
            bytes: block.len(),
            align: tensor.dtype.align(),
            data: DataSource::Computed(FileBytes::computed(block)),
        });
        changed.steps[index] = Step::Known { operator };
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
        changed.steps[index] = Step::Known { operator };
    }

    /// Whether two results have the same type, shape and order.
    fn are_alike(&self, a: TensorId, b: TensorId) -> bool {
        let [a, b] = [a, b].map(|id| &self.plan.tensors[id.0 as usize]);
        a.dtype == b.dtype && a.sizes == b.sizes && a.dim_order == b.dim_order
    }

    /// The tensors that nothing writes, and that are read from the place of what an instruction
    /// writes to `target`, before anything else is written there. `None` if something is read from
    /// that place in another way.
    fn views(&self, index: usize, target: TensorId) -> Option<Vec<TensorId>> {
        let plan = self.plan;
        let place = |id: TensorId| {
            let tensor = &plan.tensors[id.0 as usize];
            (tensor.storage, tensor.offset, tensor.capacity)
        };
        let (storage, offset, len) = place(target);
        let mut views: Vec<TensorId> = Vec::new();
        let mut written: HashSet<TensorId> = HashSet::new();
        let mut before: HashSet<TensorId> = HashSet::new();
        // What has been written over since, as ranges.
        let mut over: Vec<Range<usize>> = Vec::new();
        for access in &self.accesses {
            let id = access.tensor;
            let (other, start, bytes) = place(id);
            let overlaps = other == storage
                && start < offset.saturating_add(len)
                && offset < start.saturating_add(bytes);
            if id == target || !overlaps {
                continue;
            }
            if access.step <= index && self.is_straight {
                before.insert(id);
            } else if access.writes {
                if views.contains(&id) {
                    return None;
                }
                over.push(start..start.saturating_add(bytes));
                written.insert(id);
            } else if !written.contains(&id) {
                // It may be a view of what was written since, and then has nothing to do with this.
                let part = start.max(offset)..start.saturating_add(bytes).min(offset + len);
                let covers = |by: &Range<usize>| by.start <= part.start && part.end <= by.end;
                if over.iter().any(covers) && !views.contains(&id) {
                    continue;
                }
                let to = &plan.tensors[id.0 as usize];
                let is_view = self.is_straight
                    && over.is_empty()
                    && (start, bytes) == (offset, len)
                    && to.dtype == plan.tensors[target.0 as usize].dtype
                    && to.dynamism == ShapeDynamism::Static
                    && to.initial.is_none()
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
}

/// The arguments of one call, with values of their own.
#[derive(Default)]
struct Lent {
    slots: Vec<Slot>,
    tensors: Vec<TensorSlot>,
    storages: Vec<Storage>,
    target: Option<TensorId>,
}

impl Lent {
    fn value(&mut self, search: &Search<'_>, value: ValueId, target: TensorId) -> Result<ValueId> {
        let slot = match &search.plan.values[value.index()] {
            PlannedValue::Scalar(value) => Slot::Scalar(std::cell::Cell::new(*value)),
            PlannedValue::String(value) => Slot::String(value.clone()),
            PlannedValue::DoubleList(list) => Slot::DoubleList(list.clone()),
            PlannedValue::BoolList(list) => Slot::BoolList(list.clone()),
            PlannedValue::IntList(list) => {
                let int = |id: &ValueId| match &search.plan.values[id.index()] {
                    PlannedValue::Scalar(Some(value)) => Some(value.to_i64()),
                    _ => None,
                };
                match list.iter().map(int).collect::<Option<Vec<_>>>() {
                    Some(ints) => Slot::Ints(ints.into()),
                    None => Slot::Scalar(std::cell::Cell::new(None)),
                }
            }
            PlannedValue::TensorList(list) => {
                let mut ids = Vec::new();
                for entry in list.iter() {
                    ids.push(match entry {
                        Some(value) => Some(self.value(search, *value, target)?),
                        None => None,
                    });
                }
                Slot::TensorList(ids.into())
            }
            PlannedValue::Tensor(id) => self.tensor(search, *id, target)?,
        };
        self.slots.push(slot);
        Ok(ValueId::new(self.slots.len() as u32 - 1))
    }

    fn tensor(&mut self, search: &Search<'_>, id: TensorId, target: TensorId) -> Result<Slot> {
        if id == target
            && let Some(there) = self.target
        {
            return Ok(Slot::Tensor(there));
        }
        let plan = search.now();
        let planned = &plan.tensors[id.0 as usize];
        let storage = match &plan.storages[planned.storage.0 as usize] {
            _ if id == target => Storage::planned(Block::zeroed(planned.capacity)?),
            PlannedStorage::Constant { data, bytes, align } => {
                let found = search.sources.bytes(data, *bytes)?;
                if found.as_ptr().addr().is_multiple_of(*align) {
                    Storage::file(found.file(), &found.range())?
                } else {
                    Storage::constant(Arc::new(Block::copy_of(&found)?))
                }
            }
            // Nothing else is a constant.
            _ => Storage::growing()?,
        };
        self.storages.push(storage);
        let place = StorageId(self.storages.len() as u32 - 1);
        let offset = if id == target { 0 } else { planned.offset };
        let slot = TensorSlot::new(&planned.spec, (place, offset), false)?;
        self.tensors.push(slot);
        let there = TensorId(self.tensors.len() as u32 - 1);
        if id == target {
            self.target = Some(there);
        }
        Ok(Slot::Tensor(there))
    }
}
