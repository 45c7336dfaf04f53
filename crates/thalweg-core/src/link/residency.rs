//! Which copies between the host and a device are not needed.
//!
//! Programs copy the result of every delegate to the host, and every argument of a delegate to the
//! device, also where nothing on the host looks at the value in between. Here the instructions are
//! followed in their order, with what is known of each value: whether the host has it, and which
//! memory of a device has it. From that it follows that
//! - a copy to a device of something that the device has already is none;
//! - a copy from a device is made only if the host reads the value later;
//! - an operator that only moves a whole range (a view, a slice of leading rows, a clone) of
//!   something that only the device has runs nowhere: its result is a part of the same memory.
//!
//! A value that the device keeps for longer than its program planned needs memory of its own for
//! as long, so device memory is planned anew, too.
//!
//! Methods that jump or move values are left as they are.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::buffers::{Buffer, Part, place};
use super::steps::{Execution, device_of};
use crate::kernel::{Moved, StaticCall};
use crate::memory::{StorageId, TensorId};
use crate::plan::{MethodPlan, PlannedStorage, PlannedValue, Span, Step};
use crate::{Device, Kernel, ValueId, is_row_major, numel};

/// The search is quadratic in the worst case, which no program is that an exporter writes; a file
/// that is made to be slow is left as it is.
const MOST_COPIES: usize = 4_000;
const MOST_STEPS: usize = 100_000;

/// Where tensors on devices lie, where that is not as planned.
#[derive(Default)]
pub(crate) struct Places {
    /// For each output that a device has: where.
    outputs: Vec<Option<OutputPlace>>,
    tensors: HashMap<TensorId, (StorageId, usize)>,
    /// How large each arena on a device has to be.
    arenas: HashMap<StorageId, usize>,
}

/// Where a device has an output.
#[derive(Clone, Copy)]
pub(crate) struct OutputPlace {
    pub(crate) device: usize,
    pub(crate) storage: StorageId,
    pub(crate) offset: usize,
    /// The instruction that copies it to the host, if that does nothing else.
    fetch: Option<usize>,
}

impl Places {
    /// Where a device has an output, if one has it.
    pub(crate) fn output(&self, index: usize) -> Option<OutputPlace> {
        self.outputs.get(index).copied().flatten()
    }

    /// The instructions that only copy outputs to the host.
    pub(super) fn output_copies(&self) -> impl Iterator<Item = usize> {
        self.outputs
            .iter()
            .flatten()
            .filter_map(|output| output.fetch)
    }

    /// The storage and offset of a tensor.
    pub(crate) fn of(&self, id: TensorId) -> Option<(StorageId, usize)> {
        self.tensors.get(&id).copied()
    }

    /// The size of an arena on a device, if that is not as planned.
    pub(super) fn arena_bytes(&self, id: StorageId) -> Option<usize> {
        if self.arenas.is_empty() {
            return None;
        }
        Some(self.arenas.get(&id).copied().unwrap_or(0))
    }
}

/// Finds the copies of a method that are not needed. `executions` becomes how its instructions run
/// without them; the result is where its tensors on devices then lie.
pub(super) fn without_needless_copies(
    plan: &MethodPlan,
    kernels: &[Kernel],
    devices: &[Arc<dyn Device>],
    changing: &HashSet<ValueId>,
    executions: &mut Vec<Execution>,
) -> Places {
    let straight = plan.steps.iter().all(|step| {
        matches!(
            step,
            Step::Kernel { .. } | Step::Delegate { .. } | Step::Free { .. }
        )
    });
    let copies =
        |execution: &Execution| matches!(execution, Execution::Upload(_) | Execution::Download(_));
    let count = executions
        .iter()
        .filter(|execution| copies(execution))
        .count();
    if !straight || count == 0 || count > MOST_COPIES || plan.steps.len() > MOST_STEPS {
        return Places::default();
    }
    let mut follower = Follower {
        plan,
        kernels,
        devices,
        changing,
        executions: executions.clone(),
        buffers: Vec::new(),
        tensors: HashMap::new(),
        regions: HashMap::new(),
        shadows: Vec::new(),
        moves: Vec::new(),
        written: HashMap::new(),
        lasting: Vec::new(),
        outputs: Vec::new(),
    };
    // Where something is unlike what exporters write, or would take much more memory than was
    // planned, nothing is changed.
    follower
        .follow()
        .and_then(|()| follower.finish(executions))
        .unwrap_or_default()
}

/// Follows the instructions.
struct Follower<'p> {
    plan: &'p MethodPlan,
    kernels: &'p [Kernel],
    devices: &'p [Arc<dyn Device>],
    /// Values that instructions or callers change.
    changing: &'p HashSet<ValueId>,
    executions: Vec<Execution>,
    buffers: Vec<Buffer>,
    /// The memory that each tensor on a device has.
    tensors: HashMap<TensorId, Part>,
    /// Host memory of tensors that became views.
    regions: HashMap<TensorId, Region>,
    shadows: Vec<Shadow>,
    /// Instructions that only move, in order: what they move of which buffer, and the instruction
    /// that makes their source.
    moves: Vec<Move>,
    /// What has been written on the host so far, by storage.
    written: HashMap<StorageId, Vec<Range<usize>>>,
    /// What was read before it was written: it lasts from call to call.
    lasting: Vec<Region>,
    /// Where a device has each output at the end, and how the host gets it.
    outputs: Vec<Option<(Part, usize, Option<Fetch>)>>,
}

/// A range of the host's memory.
#[derive(Clone, PartialEq, Eq)]
struct Region {
    storage: StorageId,
    bytes: Range<usize>,
}

/// A value of the host that a device has, too.
struct Shadow {
    region: Region,
    part: Part,
    device: usize,
    /// How the host can get the value, if it does not have it.
    fetch: Option<Fetch>,
}

/// An instruction that only moves something that the host does not have.
struct Move {
    step: usize,
    source: Fetch,
    device: usize,
    part: Part,
    /// How it runs on the host, once that has the source.
    on_host: Execution,
}

/// The instruction that makes a value of the host, and what it has to do for it.
#[derive(Clone, Copy)]
enum Fetch {
    /// Copy a tensor, as the program says.
    Download(usize),
    /// Copy a part of a buffer to this value.
    Part(usize, ValueId),
}

impl Fetch {
    fn step(self) -> usize {
        match self {
            Self::Download(step) | Self::Part(step, _) => step,
        }
    }

    /// How the instruction runs. Where a part lies is not known yet.
    fn execution(self, device: usize) -> Execution {
        match self {
            Self::Download(_) => Execution::Download(device),
            Self::Part(_, to) => Execution::Fetch {
                device,
                storage: StorageId(0),
                offset: 0,
                to,
            },
        }
    }
}

impl Region {
    fn overlaps(&self, other: &Self) -> bool {
        self.storage == other.storage
            && self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
    }

    fn covers(&self, other: &Self) -> bool {
        self.storage == other.storage
            && self.bytes.start <= other.bytes.start
            && other.bytes.end <= self.bytes.end
    }
}

impl<'p> Follower<'p> {
    /// `None` if the program does something that cannot be followed.
    fn follow(&mut self) -> Option<()> {
        for input in &self.plan.inputs {
            if device_of(self.plan, input.value).is_some() {
                return None;
            }
            self.write(input.value)?;
        }
        for (index, step) in self.plan.steps.iter().enumerate() {
            match step {
                Step::Kernel {
                    operator,
                    arguments,
                } => self.kernel(index, *operator as usize, *arguments)?,
                Step::Delegate { arguments, .. } => self.delegate(index, *arguments)?,
                _ => {}
            }
        }
        // What lasts comes first, and outputs that the device does not have as they are, so that
        // what is left is fetched for outputs that it has, alone.
        for region in std::mem::take(&mut self.lasting) {
            self.fetch(&region);
        }
        for state in self.states() {
            self.fetch(&state);
        }
        for &output in &self.plan.outputs {
            if self.output(output).is_none() {
                self.read(output)?;
            }
        }
        let end = self.plan.steps.len();
        for &output in &self.plan.outputs {
            let place = self.output(output);
            if let Some((part, ..)) = place {
                self.touch(part, end);
            }
            self.outputs.push(place);
        }
        for &output in &self.plan.outputs {
            self.read(output)?;
        }
        Some(())
    }

    /// The named buffers, which other methods, and callers, may look at after the call.
    fn states(&self) -> Vec<Region> {
        let storages = self.plan.storages.iter().enumerate();
        storages
            .filter_map(|(index, storage)| match storage {
                PlannedStorage::State { bytes, .. } => Some(Region {
                    storage: StorageId(index as u32),
                    bytes: 0..*bytes,
                }),
                _ => None,
            })
            .collect()
    }

    /// Where a device has an output, and how the host would get it.
    fn output(&self, value: ValueId) -> Option<(Part, usize, Option<Fetch>)> {
        let region = self.region(value)?;
        let shadow = self.shadows.iter().find(|shadow| shadow.region == region)?;
        Some((shadow.part, shadow.device, shadow.fetch))
    }

    fn kernel(&mut self, index: usize, operator: usize, arguments: Span) -> Option<()> {
        let arguments = self.plan.arguments(arguments);
        match self.executions[index] {
            Execution::Upload(device) => self.upload(index, device, arguments[0], arguments[1]),
            Execution::Download(device) => self.download(index, device, arguments[0], arguments[1]),
            Execution::Copy => {
                let from = self.part(arguments[0])?;
                self.touch(from, index);
                self.define(index, arguments[1])
            }
            _ => self.on_host(index, operator, arguments),
        }
    }

    fn upload(&mut self, index: usize, device: usize, from: ValueId, to: ValueId) -> Option<()> {
        self.same_layout(from, to)?;
        let region = self.region(from)?;
        let to = self.undefined(to)?;
        let known = self
            .shadows
            .iter()
            .find(|s| s.region == region && s.device == device);
        if let Some(shadow) = known {
            let part = shadow.part;
            self.use_region(&region);
            self.tensors.insert(to, part);
            self.touch(part, index);
            self.executions[index] = Execution::Elided;
            return Some(());
        }
        self.read_region(&region);
        let part = self.buffer(index, device, to);
        self.shadows.push(Shadow {
            region,
            part,
            device,
            fetch: None,
        });
        Some(())
    }

    fn download(&mut self, index: usize, device: usize, from: ValueId, to: ValueId) -> Option<()> {
        self.same_layout(from, to)?;
        let part = self.part(from)?;
        self.touch(part, index);
        let region = self.region(to)?;
        self.write_region(&region);
        // Memory that is not planned is there only once something was written to it.
        let planned = self.is_planned(to)?;
        if planned {
            self.executions[index] = Execution::Elided;
        }
        self.shadows.push(Shadow {
            region,
            part,
            device,
            fetch: planned.then_some(Fetch::Download(index)),
        });
        Some(())
    }

    /// A delegate reads what is there, and writes what is not there yet; see
    /// [`DelegateInstance`](crate::DelegateInstance).
    fn delegate(&mut self, index: usize, arguments: Span) -> Option<()> {
        for &argument in self.plan.arguments(arguments) {
            let id = match &self.plan.values[argument.index()] {
                PlannedValue::Tensor(id) => *id,
                PlannedValue::TensorList(_) => return None,
                _ => continue,
            };
            if device_of(self.plan, argument).is_none() {
                // It may read it, and write it.
                let region = self.region(argument)?;
                self.read_region(&region);
                self.write_region(&region);
            } else if let Some(&part) = self.tensors.get(&id) {
                self.touch(part, index);
            } else {
                self.define(index, argument)?;
            }
        }
        Some(())
    }

    fn on_host(&mut self, index: usize, operator: usize, arguments: &[ValueId]) -> Option<()> {
        let signature = self.kernels[operator].signature();
        if signature.is_view() {
            return self.view(index, arguments);
        }
        if self.moves(index, operator, arguments)? {
            return Some(());
        }
        let writes = signature.writes();
        for (parameter, &argument) in signature.parameters().iter().zip(arguments) {
            if !parameter.written || !parameter.keyword {
                self.read(argument)?;
            }
        }
        for &position in writes {
            if let Some(&argument) = arguments.get(usize::from(position)) {
                self.write(argument)?;
            }
        }
        Some(())
    }

    /// An output that is a view of an input is the same region. Where a view might have to be a
    /// copy, nothing is certain.
    fn view(&mut self, index: usize, arguments: &[ValueId]) -> Option<()> {
        let (from, to) = (arguments[0], arguments[2]);
        let (source, target) = (self.tensor(from)?, self.tensor(to)?);
        let in_order = |id: TensorId| {
            let order = &self.plan.tensors[id.0 as usize].dim_order;
            order
                .iter()
                .enumerate()
                .all(|(index, &dim)| index == usize::from(dim))
        };
        if !in_order(source) || !in_order(target) {
            return None;
        }
        let region = self.region(from)?;
        self.regions.insert(target, region);
        self.executions[index] = Execution::View;
        Some(())
    }

    /// An operator that only moves a whole range: if a device has what it moves, the device has
    /// the result. Whether that is so.
    fn moves(&mut self, index: usize, operator: usize, arguments: &[ValueId]) -> Option<bool> {
        let kernel = &self.kernels[operator];
        let call = StaticCall::new(self.plan, arguments, self.changing);
        let (Some(moved), &[position]) = (kernel.moved(&call), kernel.signature().writes()) else {
            return Some(false);
        };
        if !fits(&call, moved, usize::from(position)) {
            return Some(false);
        }
        let (from, to) = (
            *arguments.get(moved.from)?,
            *arguments.get(usize::from(position))?,
        );
        let (source, target) = (self.region(from)?, self.region(to)?);
        let found = self
            .shadows
            .iter()
            .find(|shadow| shadow.region.covers(&source));
        let Some(shadow) = found else {
            return Some(false);
        };
        let within = source.bytes.start - shadow.region.bytes.start + moved.offset;
        let part = Part {
            buffer: shadow.part.buffer,
            offset: shadow.part.offset + within,
        };
        let (device, fetch) = (shadow.device, shadow.fetch);
        if source.overlaps(&target) || !self.is_planned(to)? {
            return Some(false);
        }
        self.touch(part, index);
        self.use_region(&source);
        self.write_region(&target);
        if let Some(source) = fetch {
            self.moves.push(Move {
                step: index,
                source,
                device,
                part,
                on_host: self.executions[index],
            });
            self.executions[index] = Execution::Nothing;
        }
        self.shadows.push(Shadow {
            region: target,
            part,
            device,
            fetch: fetch.map(|_| Fetch::Part(index, to)),
        });
        Some(true)
    }

    /// The host reads a value: whatever of it only a device has is fetched.
    fn read(&mut self, value: ValueId) -> Option<()> {
        let plan = self.plan;
        for id in plan.tensors_of(value) {
            let region = self.region_of(id)?;
            self.read_region(&region);
        }
        Some(())
    }

    fn read_region(&mut self, region: &Region) {
        self.use_region(region);
        self.fetch(region);
    }

    /// Remembers that a value is used, by whomever.
    fn use_region(&mut self, region: &Region) {
        let written = self.written.get(&region.storage);
        let covers = |range: &Range<usize>| {
            range.start <= region.bytes.start && region.bytes.end <= range.end
        };
        if !written.is_some_and(|ranges| ranges.iter().any(covers)) {
            self.lasting.push(region.clone());
        }
    }

    /// The value is fetched at the instruction that would have made it, so that the copy is under
    /// way while the device goes on.
    fn fetch(&mut self, region: &Region) {
        for shadow in &mut self.shadows {
            if !shadow.region.overlaps(region) {
                continue;
            }
            let device = shadow.device;
            if let Some(fetch) = shadow.fetch.take() {
                self.executions[fetch.step()] = fetch.execution(device);
            }
        }
    }

    /// The host, or a copy to it, writes a value: what was there before is gone.
    fn write(&mut self, value: ValueId) -> Option<()> {
        let plan = self.plan;
        for id in plan.tensors_of(value) {
            let region = self.region_of(id)?;
            self.write_region(&region);
        }
        Some(())
    }

    fn write_region(&mut self, region: &Region) {
        // What is overwritten only in part is still needed for the rest.
        let in_part =
            |shadow: &Shadow| shadow.region.overlaps(region) && !region.covers(&shadow.region);
        let partly: Vec<Region> = self
            .shadows
            .iter()
            .filter(|shadow| in_part(shadow))
            .map(|shadow| shadow.region.clone())
            .collect();
        for part in partly {
            self.fetch(&part);
        }
        let written = self.written.entry(region.storage).or_default();
        if !written.contains(&region.bytes) {
            written.push(region.bytes.clone());
        }
        self.shadows
            .retain(|shadow| !shadow.region.overlaps(region));
    }

    /// Gives a tensor on a device, which has no memory yet, a buffer of its own.
    fn define(&mut self, index: usize, value: ValueId) -> Option<()> {
        let id = self.undefined(value)?;
        let device = device_of(self.plan, value)?;
        let device = self.devices.iter().position(|other| other.id() == device)?;
        self.buffer(index, device, id);
        Some(())
    }

    fn buffer(&mut self, index: usize, device: usize, id: TensorId) -> Part {
        self.buffers.push(Buffer {
            device,
            bytes: self.plan.tensors[id.0 as usize].capacity,
            first: index,
            last: index,
            planned: id,
        });
        let part = Part {
            buffer: self.buffers.len() - 1,
            offset: 0,
        };
        self.tensors.insert(id, part);
        part
    }

    fn touch(&mut self, part: Part, index: usize) {
        let buffer = &mut self.buffers[part.buffer];
        buffer.last = buffer.last.max(index);
    }

    /// `None` unless two tensors have the same type, order and room, so that one can stand for the
    /// other.
    fn same_layout(&self, a: ValueId, b: ValueId) -> Option<()> {
        let tensor = |value| Some(&self.plan.tensors[self.tensor(value)?.0 as usize]);
        let (a, b) = (tensor(a)?, tensor(b)?);
        // What is not planned has no room of its own yet.
        let room = a.capacity == b.capacity || a.capacity == 0 || b.capacity == 0;
        (a.dtype == b.dtype && a.dim_order == b.dim_order && room).then_some(())
    }

    /// Whether a tensor's memory on the host is there before anything is written to it.
    fn is_planned(&self, value: ValueId) -> Option<bool> {
        let storage = self.region(value)?.storage;
        let storage = &self.plan.storages[storage.0 as usize];
        Some(!matches!(storage, PlannedStorage::Unplanned))
    }

    /// The memory of a tensor on a device that was written before.
    fn part(&self, value: ValueId) -> Option<Part> {
        self.tensors.get(&self.tensor(value)?).copied()
    }

    /// A tensor that is written for the first time. Exported programs write each once.
    fn undefined(&self, value: ValueId) -> Option<TensorId> {
        self.tensor(value)
            .filter(|id| !self.tensors.contains_key(id))
    }

    fn tensor(&self, value: ValueId) -> Option<TensorId> {
        match self.plan.values[value.index()] {
            PlannedValue::Tensor(id) => Some(id),
            _ => None,
        }
    }

    fn region(&self, value: ValueId) -> Option<Region> {
        self.region_of(self.tensor(value)?)
    }

    /// The host memory of a tensor, as large as it may become.
    fn region_of(&self, id: TensorId) -> Option<Region> {
        if let Some(region) = self.regions.get(&id) {
            return Some(region.clone());
        }
        let tensor = &self.plan.tensors[id.0 as usize];
        // What is not planned is a storage by itself, of any size.
        let bytes = match self.plan.storages[tensor.storage.0 as usize] {
            PlannedStorage::Unplanned => 0..tensor.capacity.max(1),
            _ => tensor.offset..tensor.offset.checked_add(tensor.capacity)?,
        };
        Some(Region {
            storage: tensor.storage,
            bytes,
        })
    }

    /// Places the buffers, and says so in the instructions.
    fn finish(mut self, executions: &mut Vec<Execution>) -> Option<Places> {
        let offsets = place(self.plan, &self.buffers)?;
        let mut places = Places::default();
        for (buffer, &(storage, offset)) in self.buffers.iter().zip(&offsets) {
            let end = places.arenas.entry(storage).or_default();
            *end = (*end).max(offset + buffer.bytes);
        }
        for (&id, part) in &self.tensors {
            let (storage, offset) = offsets[part.buffer];
            places.tensors.insert(id, (storage, offset + part.offset));
        }
        let needed = self.fetch_sources();
        for moved in &self.moves {
            if let Execution::Fetch {
                storage, offset, ..
            } = &mut self.executions[moved.step]
            {
                let (arena, start) = offsets[moved.part.buffer];
                (*storage, *offset) = (arena, start + moved.part.offset);
            }
        }
        for output in &self.outputs {
            let place = output.map(|(part, device, fetch)| {
                let (storage, offset) = offsets[part.buffer];
                let copies = |step: &usize| {
                    let execution = self.executions[*step];
                    matches!(execution, Execution::Download(_) | Execution::Fetch { .. })
                        && !needed.contains(step)
                };
                OutputPlace {
                    device,
                    storage,
                    offset: offset + part.offset,
                    fetch: fetch.map(Fetch::step).filter(copies),
                }
            });
            places.outputs.push(place);
        }
        *executions = self.executions;
        Some(places)
    }

    /// What several moved values are made of is fetched once, rather than each of them; and what
    /// is made of something that the host has, the host makes.
    /// The result is the instructions that the host then needs.
    fn fetch_sources(&mut self) -> HashSet<usize> {
        let fetched = |execution: &Execution| matches!(execution, Execution::Fetch { .. });
        let mut moved_from: HashMap<usize, usize> = HashMap::new();
        // From the end, for a source may be moved itself: then the one thing that is fetched of what
        // is made of it counts for its own source.
        for moved in self.moves.iter().rev() {
            if fetched(&self.executions[moved.step]) || moved_from.get(&moved.step) == Some(&1) {
                let count = moved_from.entry(moved.source.step()).or_default();
                *count += 1;
                if *count == 2 {
                    let execution = moved.source.execution(moved.device);
                    self.executions[moved.source.step()] = execution;
                }
            }
        }
        let mut needed = HashSet::new();
        for moved in &self.moves {
            let source = self.executions[moved.source.step()];
            let on_host = !matches!(source, Execution::Elided | Execution::Nothing);
            let wanted =
                fetched(&self.executions[moved.step]) || moved_from.get(&moved.step) == Some(&1);
            if on_host && wanted {
                self.executions[moved.step] = moved.on_host;
                needed.insert(moved.source.step());
            }
        }
        needed
    }
}

/// Whether a move is one of bytes: within the source, of the same type, and in logical order on
/// both sides.
fn fits(call: &StaticCall<'_>, moved: Moved, output: usize) -> bool {
    let (Some((from, sizes, order)), Some((to, to_sizes, to_order))) =
        (call.tensor(moved.from), call.tensor(output))
    else {
        return false;
    };
    let bytes = |sizes: &[usize]| numel(sizes).ok()?.checked_mul(from.size());
    let (Some(room), Some(needed)) = (bytes(sizes), bytes(to_sizes)) else {
        return false;
    };
    let end = moved.offset.checked_add(needed);
    from == to
        && is_row_major(sizes, order)
        && is_row_major(to_sizes, to_order)
        && end.is_some_and(|end| end <= room)
}
