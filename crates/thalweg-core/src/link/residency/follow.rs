//! Following the instructions.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use thalweg_format::ShapeDynamism;

use super::buffers::{Buffer, Home, Part};
use super::kept::{Candidate, Keeping, KeptAction, KeptStep};
use super::known::{Move, Region, Shadow, Source};
use super::{Search, is_straight};
use crate::kernel::{Moved, StaticCall};
use crate::link::steps::{Execution, device_of};
use crate::memory::{StorageId, TensorId};
use crate::plan::{InputKind, MethodPlan, PlannedStorage, PlannedValue, Span, Step};
use crate::{Device, Kernel, ValueId, is_row_major, numel};

/// What a tensor that a device is given starts on a multiple of.
const ALIGN: usize = super::buffers::ALIGN;

/// Follows the instructions.
pub(super) struct Follower<'p> {
    pub(super) plan: &'p MethodPlan,
    kernels: &'p [Kernel],
    devices: &'p [Arc<dyn Device>],
    /// Values that instructions or callers change.
    changing: &'p HashSet<ValueId>,
    aliases: &'p [Vec<(usize, usize)>],
    /// Outputs of delegates, by instruction and position, that are not their inputs after all.
    unaliased: &'p HashSet<(usize, usize)>,
    straight: bool,
    /// For each instruction, and the end, the stretch without jumps that it is in.
    stretches: Vec<usize>,
    pub(super) executions: Vec<Execution>,
    pub(super) buffers: Vec<Buffer>,
    /// The memory that each tensor on a device has.
    pub(super) tensors: HashMap<TensorId, Part>,
    /// Tensors on a device whose memory was written since.
    pub(super) stale: HashMap<TensorId, (Part, Blame)>,
    /// Host memory of tensors that became views.
    regions: HashMap<TensorId, Region>,
    shadows: Vec<Shadow>,
    /// Instructions that only move, in order.
    pub(super) moves: Vec<Move>,
    /// What has been written on the host so far, by storage.
    written: HashMap<StorageId, Vec<Range<usize>>>,
    /// What was read before it was written: it lasts from call to call.
    lasting: Vec<Region>,
    /// What lasts and a device takes, or gives.
    taken: Vec<Candidate>,
    pub(super) keeping: Vec<Keeping>,
    pub(super) kept_steps: Vec<KeptStep>,
    /// Memory of values that others may become: nothing about it is certain.
    moving: Vec<Region>,
    /// For each input, whether the host needs it in its place.
    pub(super) inputs_on_host: Vec<bool>,
    /// For each input, its buffer on a device.
    pub(super) input_buffers: HashMap<usize, usize>,
    /// Inputs that a delegate updates in place.
    pub(super) updated_inputs: HashSet<usize>,
    pub(super) copies: Vec<PartCopy>,
    /// Where a device has each output at the end, and how the host gets it.
    pub(super) outputs: Vec<Option<(Part, usize, Option<Source>)>>,
    /// The instruction that is followed.
    now: usize,
    /// What has to be given up for the instructions to be followed.
    pub(super) blame: Option<Blame>,
}

/// A copy within a device.
pub(super) struct PartCopy {
    pub(super) device: usize,
    pub(super) from: Part,
    pub(super) to: Part,
    pub(super) bytes: usize,
    pub(super) passes_shape: bool,
}

/// Something that cannot be as it was assumed.
#[derive(Clone, Debug)]
pub(super) enum Blame {
    /// This cannot be kept on a device.
    Kept(Candidate),
    /// This output of this instruction cannot be its input.
    Alias((usize, usize)),
}

impl<'p> Follower<'p> {
    pub(super) fn new(
        search: &Search<'p>,
        executions: &[Execution],
        kept: &[Candidate],
        unaliased: &'p HashSet<(usize, usize)>,
    ) -> Self {
        let mut follower = Self {
            plan: search.plan,
            kernels: search.kernels,
            devices: search.devices,
            changing: search.changing,
            aliases: search.aliases,
            unaliased,
            straight: is_straight(search.plan),
            stretches: stretches(search.plan),
            executions: executions.to_vec(),
            buffers: Vec::new(),
            tensors: HashMap::new(),
            stale: HashMap::new(),
            regions: HashMap::new(),
            shadows: Vec::new(),
            moves: Vec::new(),
            written: HashMap::new(),
            lasting: Vec::new(),
            taken: Vec::new(),
            keeping: Vec::new(),
            kept_steps: Vec::new(),
            moving: Vec::new(),
            inputs_on_host: vec![false; search.plan.inputs.len()],
            input_buffers: HashMap::new(),
            updated_inputs: HashSet::new(),
            copies: Vec::new(),
            outputs: Vec::new(),
            now: 0,
            blame: None,
        };
        for candidate in kept {
            follower.keep(candidate);
        }
        follower
    }

    /// `None` if the program does something that cannot be followed, or not with what is assumed;
    /// then there is someone to blame.
    pub(super) fn follow(&mut self) -> Option<()> {
        let plan = self.plan;
        self.find_moving()?;
        for (index, input) in plan.inputs.iter().enumerate() {
            self.input(index, input.value, &input.kind)?;
        }
        for (index, step) in plan.steps.iter().enumerate() {
            self.now = index;
            if index > 0 && self.stretches[index] != self.stretches[index - 1] {
                self.meet()?;
            }
            match step {
                Step::Kernel {
                    operator,
                    arguments,
                } => self.kernel(*operator as usize, *arguments)?,
                Step::Delegate {
                    delegate,
                    arguments,
                } => self.delegate(*delegate as usize, *arguments)?,
                Step::JumpIfFalse { condition, .. } => self.read(*condition)?,
                Step::Move { .. } => self.meet()?,
                Step::Free { .. } => {}
            }
        }
        self.now = plan.steps.len();
        if self.now > 0 && self.stretches[self.now] != self.stretches[self.now - 1] {
            self.meet()?;
        }
        self.end()
    }

    /// What the program leaves behind: buffers that last, and outputs.
    fn end(&mut self) -> Option<()> {
        // What lasts comes first, and outputs that the device does not have as they are, so that
        // what is left is fetched for outputs that it has, alone.
        for region in self.lasting.clone().into_iter().chain(self.states()) {
            self.check_update(&region)?;
            for index in 0..self.shadows.len() {
                let shadow = &self.shadows[index];
                let kept = matches!(shadow.source, Some(Source::Kept(_)));
                if shadow.region.overlaps(&region) && !kept {
                    self.provide(index)?;
                }
            }
        }
        for keeping in &self.keeping {
            // The program did not take the update: the buffer has changed all the same.
            if let Some(alias) = keeping.updated_by {
                self.blame = Some(Blame::Alias(alias));
                return None;
            }
        }
        for &output in &self.plan.outputs {
            if self.output(output).is_none() {
                self.read(output)?;
            }
        }
        let end = self.now;
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

    /// What lasts and can be kept on the device that takes it or gives it, in a method that runs
    /// straight on.
    pub(super) fn candidates(&self, refused: &HashSet<Candidate>) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut all: Vec<Candidate> = self.keeping.iter().map(|k| k.candidate.clone()).collect();
        all.extend(self.taken.iter().cloned());
        for candidate in all {
            let lasts = |lasting: &Region| candidate.region.covers(lasting);
            let of_input = |input: &crate::plan::PlannedInput| {
                let mut tensors = self.plan.tensors_of(input.value);
                tensors.any(|id| {
                    self.planned_region(id)
                        .is_none_or(|region| region.overlaps(&candidate.region))
                })
            };
            let known = candidates
                .iter()
                .any(|other| other.region.overlaps(&candidate.region));
            if self.straight
                && !known
                && !refused.contains(&candidate)
                && !candidate.region.bytes.is_empty()
                && !matches!(
                    self.plan.storages[candidate.region.storage.0 as usize],
                    PlannedStorage::Unplanned
                )
                && (self.is_state(&candidate.region) || self.lasting.iter().any(lasts))
                && !self.plan.inputs.iter().any(of_input)
            {
                candidates.push(candidate);
            }
        }
        candidates
    }

    /// Where paths meet or part, or values are moved, the host has everything.
    fn meet(&mut self) -> Option<()> {
        for index in 0..self.shadows.len() {
            self.provide(index)?;
        }
        self.shadows.clear();
        self.written.clear();
        Some(())
    }

    /// The memory of values that others may become. `None` if some of it is on a device.
    fn find_moving(&mut self) -> Option<()> {
        let plan = self.plan;
        for step in &plan.steps {
            let Step::Move { from, to } = step else {
                continue;
            };
            for value in [*from, *to] {
                if device_of(plan, value).is_some() {
                    return None;
                }
                for id in plan.tensors_of(value) {
                    let region = self.planned_region(id)?;
                    self.moving.push(region);
                }
            }
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

    fn is_state(&self, region: &Region) -> bool {
        matches!(
            self.plan.storages[region.storage.0 as usize],
            PlannedStorage::State { .. }
        )
    }

    /// Where a device has an output, and how the host would get it. What is kept may change before
    /// the caller looks.
    fn output(&self, value: ValueId) -> Option<(Part, usize, Option<Source>)> {
        let region = self.region(value)?;
        let mut shadows = self.shadows.iter();
        let shadow = shadows.find(|shadow| shadow.region == region)?;
        let (device, part) = shadow.on_device?;
        let kept = matches!(self.buffers[part.buffer].home, Home::Kept(_));
        (!kept).then_some((part, device, shadow.source))
    }

    /// An input is the caller's until something looks at it.
    fn input(&mut self, index: usize, value: ValueId, kind: &InputKind) -> Option<()> {
        if device_of(self.plan, value).is_some() {
            return None;
        }
        self.write(value)?;
        if let InputKind::Tensor(id) = *kind {
            let region = self.region_of(id)?;
            self.learn(Shadow {
                region,
                on_device: None,
                since: 0,
                source: Some(Source::Input(index)),
                input: Some(index),
            });
        }
        Some(())
    }

    fn kernel(&mut self, operator: usize, arguments: Span) -> Option<()> {
        let arguments = self.plan.arguments(arguments);
        match self.executions[self.now] {
            Execution::Upload(device) => self.upload(device, arguments[0], arguments[1]),
            Execution::Download(device) => self.download(device, arguments[0], arguments[1]),
            Execution::Copy(_) => {
                let from = self.part(arguments[0])?;
                self.touch(from, self.now);
                self.define(arguments[1])
            }
            _ => self.on_host(operator, arguments),
        }
    }

    fn upload(&mut self, device: usize, from: ValueId, to: ValueId) -> Option<()> {
        self.same_layout(from, to)?;
        let region = self.region(from)?;
        let to = self.undefined(to)?;
        self.check_update(&region)?;
        if self.use_region(&region) {
            self.taken.push(Candidate {
                region: self.whole(&region),
                device,
            });
        }
        let kept = self
            .kept(&region)
            .filter(|&k| self.keeping[k].candidate.device == device);
        if let Some(k) = kept
            && self.shadow_on(&region, device).is_none()
        {
            self.keep_on_device_again(k)?;
        }
        if let Some((shadow, part)) = self.shadow_on(&region, device) {
            let same = self.shadows[shadow].region == region;
            let own = self
                .kept(&region)
                .is_some_and(|k| self.keeping[k].buffer == part.buffer);
            let since = self.shadows[shadow].since;
            self.bring_to_device(part, if own { self.now } else { since });
            self.touch(part, self.now);
            if part.offset.is_multiple_of(ALIGN) {
                self.tensors.insert(to, part);
                self.executions[self.now] = Execution::Elided;
            } else {
                let own = self.buffer(device, to, Home::Planned(to));
                self.copy(device, part, own, region.bytes.len(), true);
                if same {
                    self.shadows[shadow].on_device = Some((device, own));
                }
            }
            return Some(());
        }
        let input = self
            .shadows
            .iter()
            .position(|shadow| shadow.region == region && shadow.on_device.is_none());
        if let Some(shadow) = input
            && let Some(input) = self.shadows[shadow].input
            && !self.input_buffers.contains_key(&input)
        {
            let part = self.buffer(device, to, Home::Input(input, to));
            self.input_buffers.insert(input, part.buffer);
            self.shadows[shadow].on_device = Some((device, part));
            self.executions[self.now] = Execution::UploadInput { device, input };
            return Some(());
        }
        self.fetch(&region)?;
        let part = self.buffer(device, to, Home::Planned(to));
        self.learn(Shadow {
            region,
            on_device: Some((device, part)),
            since: self.now,
            source: None,
            input: None,
        });
        Some(())
    }

    fn download(&mut self, device: usize, from: ValueId, to: ValueId) -> Option<()> {
        self.same_layout(from, to)?;
        let part = self.part(from)?;
        self.touch(part, self.now);
        let region = self.region(to)?;
        // Memory that is not planned is there only once something was written to it, and memory
        // that values are moved to may be another.
        let made = !self.is_planned(to)? || self.is_moving(&region);
        if !made && self.is_static(to)? && self.write_kept(device, part, &region)? {
            return Some(());
        }
        self.write_region(&region)?;
        if !made {
            self.executions[self.now] = Execution::Elided;
        }
        self.learn(Shadow {
            region,
            on_device: Some((device, part)),
            since: self.now,
            source: (!made).then_some(Source::Download {
                step: self.now,
                device,
            }),
            input: None,
        });
        Some(())
    }

    /// A delegate reads what is there, and writes what is not there yet, unless it says that an
    /// output is an input; see [`DelegateInstance`](crate::DelegateInstance).
    fn delegate(&mut self, delegate: usize, arguments: Span) -> Option<()> {
        let plan = self.plan;
        let arguments = plan.arguments(arguments);
        let mut outputs = Vec::new();
        for (position, &argument) in arguments.iter().enumerate() {
            let id = match &plan.values[argument.index()] {
                PlannedValue::Tensor(id) => *id,
                PlannedValue::TensorList(_) => return None,
                _ => continue,
            };
            if device_of(plan, argument).is_none() {
                // It may read it, and write it.
                let region = self.region(argument)?;
                self.read_region(&region)?;
                self.write_region(&region)?;
            } else if let Some(&part) = self.tensors.get(&id) {
                self.touch(part, self.now);
            } else {
                self.undefined(argument)?;
                outputs.push((position, argument, id));
            }
        }
        for (position, argument, id) in outputs {
            let alias = self.aliases[delegate]
                .iter()
                .find(|(output, _)| *output == position);
            let updates = match alias.and_then(|(_, input)| arguments.get(*input)) {
                Some(&input) => self.update(position, input, id)?,
                None => false,
            };
            if !updates {
                self.define(argument)?;
            }
        }
        Some(())
    }

    /// A delegate updates an input in place: its output then has the input's memory, if nothing
    /// else needs what was there. Whether that is so.
    fn update(&mut self, position: usize, input: ValueId, output: TensorId) -> Option<bool> {
        let alias = (self.now, position);
        let Some(part) = self.part(input) else {
            return Some(false);
        };
        let id = self.tensor(input)?;
        let bytes = self.plan.tensors[output.0 as usize].capacity;
        let whole = part.offset == 0
            && bytes == self.buffers[part.buffer].bytes
            && bytes == self.plan.tensors[id.0 as usize].capacity;
        if !self.straight || self.unaliased.contains(&alias) || !whole {
            return Some(false);
        }
        match self.buffers[part.buffer].home {
            Home::Kept(k) => {
                self.act(k, KeptAction::ToDevice);
                self.act(k, KeptAction::DeviceOnly);
                self.overwrite(part.buffer, Blame::Alias(alias));
                let region = self.keeping[k].candidate.region.clone();
                // Until the program says that the buffer becomes the result, nobody may look.
                self.shadows.retain(|shadow| shadow.region != region);
                self.keeping[k].updated_by = Some(alias);
            }
            Home::Input(input, _) => {
                self.updated_inputs.insert(input);
                self.overwrite(part.buffer, Blame::Alias(alias));
            }
            _ => self.overwrite(part.buffer, Blame::Alias(alias)),
        }
        self.tensors.insert(output, part);
        self.touch(part, self.now);
        Some(true)
    }

    fn on_host(&mut self, operator: usize, arguments: &[ValueId]) -> Option<()> {
        let signature = self.kernels[operator].signature();
        if signature.is_view() {
            return self.view(arguments);
        }
        let moved = self.moved(operator, arguments);
        if let Some(moved) = moved
            && self.moves(moved, arguments)?
        {
            return Some(());
        }
        let writes = signature.writes();
        for (parameter, &argument) in signature.parameters().iter().zip(arguments) {
            // What is moved fills its target, and does not look at what was there.
            if !parameter.written || !(parameter.keyword || moved.is_some()) {
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
    fn view(&mut self, arguments: &[ValueId]) -> Option<()> {
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
        self.executions[self.now] = Execution::View;
        Some(())
    }

    /// What an operator moves to which of its arguments, if all that it does is to move bytes.
    fn moved(&self, operator: usize, arguments: &[ValueId]) -> Option<(Moved, usize)> {
        let kernel = &self.kernels[operator];
        let call = StaticCall::new(self.plan, arguments, self.changing);
        let moved = kernel.moved(&call)?;
        let &[position] = kernel.signature().writes() else {
            return None;
        };
        let to = usize::from(position);
        fits(&call, moved, to).then_some((moved, to))
    }

    /// An operator that only moves a whole range: if a device has what it moves, the device has
    /// the result. Whether that is so.
    fn moves(&mut self, (moved, to): (Moved, usize), arguments: &[ValueId]) -> Option<bool> {
        let (from, to) = (*arguments.get(moved.from)?, *arguments.get(to)?);
        let (source, target) = (self.region(from)?, self.region(to)?);
        let bytes = target.bytes.len();
        let start = source.bytes.start.checked_add(moved.offset)?;
        let range = Region {
            storage: source.storage,
            bytes: start..start.checked_add(bytes)?,
        };
        self.check_update(&source)?;
        let mut shadows = self.shadows.iter();
        let found = shadows
            .find(|shadow| shadow.region.covers(&range) && shadow.on_device.is_some())
            .map(|shadow| {
                let Shadow {
                    on_device, since, ..
                } = *shadow;
                (on_device, since, shadow.region.clone(), shadow.source)
            });
        let Some((Some((device, whole)), since, region, known)) = found else {
            return Some(false);
        };
        // What is kept is a value of its own until it is written.
        let since = match known {
            Some(Source::Kept(_)) => self.now,
            _ => since,
        };
        let part = Part {
            buffer: whole.buffer,
            offset: whole.offset + (range.bytes.start - region.bytes.start),
        };
        if source.overlaps(&target) || !self.is_planned(to)? || self.is_moving(&target) {
            return Some(false);
        }
        self.use_region(&range);
        if self.kept(&target).is_some() {
            self.bring_to_device(part, since);
        }
        if self.write_kept(device, part, &target)? {
            self.touch(part, self.now);
            return Some(true);
        }
        let Some(source) = known else {
            // Both sides have it: the host moves its own, and the device has the result, too.
            self.fetch(&range)?;
            self.touch(part, self.now);
            self.write_region(&target)?;
            self.learn(Shadow {
                region: target,
                on_device: Some((device, part)),
                since,
                source: None,
                input: None,
            });
            return Some(true);
        };
        self.touch(part, self.now);
        self.write_region(&target)?;
        let by_host = match source {
            Source::Input(_) | Source::Kept(_) => true,
            Source::Download { .. } => false,
            Source::Part { step, .. } => self.moved_at(step)?.by_host,
        };
        self.moves.push(Move {
            step: self.now,
            source,
            device,
            part,
            on_host: self.executions[self.now],
            by_host,
        });
        self.executions[self.now] = Execution::Nothing;
        self.learn(Shadow {
            region: target,
            on_device: Some((device, part)),
            since,
            source: Some(Source::Part { step: self.now, to }),
            input: None,
        });
        Some(true)
    }

    fn moved_at(&self, step: usize) -> Option<&Move> {
        self.moves.iter().find(|moved| moved.step == step)
    }

    /// A device has what is written to memory that is kept there: it is written there, too.
    /// Whether that is so.
    fn write_kept(&mut self, device: usize, part: Part, target: &Region) -> Option<bool> {
        if self.lasts(target) {
            self.taken.push(Candidate {
                region: self.whole(target),
                device,
            });
        }
        let Some(k) = self.kept(target) else {
            return Some(false);
        };
        let keeping = &self.keeping[k];
        let (own, region) = (keeping.buffer, keeping.candidate.region.clone());
        if keeping.candidate.device != device {
            return Some(false);
        }
        let there = Part {
            buffer: own,
            offset: target.bytes.start - region.bytes.start,
        };
        if part == there && keeping.updated_by.is_some() && *target == region {
            // The delegate has written it where it belongs.
            self.keeping[k].updated_by = None;
            self.write_region_but(target, k)?;
            self.executions[self.now] = Execution::Nothing;
            self.learn_kept(k);
            return Some(true);
        }
        self.check_update(target)?;
        if part.buffer == own {
            if part != there || *target != region {
                // It would move within itself.
                self.blame = Some(Blame::Kept(self.keeping[k].candidate.clone()));
                return None;
            }
            // It is what the device has there, whatever the host has written since.
            if self.shadow_on(&region, device).is_none() {
                self.act_after(k, KeptAction::DeviceOnly);
            }
            self.write_region_but(target, k)?;
            self.executions[self.now] = Execution::Nothing;
            self.learn_kept(k);
            return Some(true);
        }
        let partly = *target != region;
        if partly {
            self.act(k, KeptAction::ToDevice);
            self.act(k, KeptAction::DeviceOnly);
        } else {
            self.act(k, KeptAction::DeviceWrites);
        }
        self.write_region_but(target, k)?;
        self.overwrite(own, Blame::Kept(self.keeping[k].candidate.clone()));
        self.copy(device, part, there, target.bytes.len(), false);
        if !partly {
            self.act_after(k, KeptAction::DeviceOnly);
        }
        self.learn_kept(k);
        Some(true)
    }

    /// The host may lack what is kept on a device.
    fn learn_kept(&mut self, k: usize) {
        let Keeping {
            candidate, buffer, ..
        } = &self.keeping[k];
        let (region, device, buffer) = (candidate.region.clone(), candidate.device, *buffer);
        self.shadows.retain(|shadow| shadow.region != region);
        self.shadows.push(Shadow {
            region,
            on_device: Some((device, Part { buffer, offset: 0 })),
            since: self.now,
            source: Some(Source::Kept(k)),
            input: None,
        });
    }

    /// Something is kept on a device from the start.
    fn keep(&mut self, candidate: &Candidate) {
        let k = self.keeping.len();
        self.buffers.push(Buffer {
            device: candidate.device,
            bytes: candidate.region.bytes.len(),
            first: 0,
            last: self.plan.steps.len(),
            home: Home::Kept(k),
        });
        self.keeping.push(Keeping {
            candidate: candidate.clone(),
            buffer: self.buffers.len() - 1,
            updated_by: None,
        });
        self.learn_kept(k);
    }

    /// The host has written what is kept, and the device takes it anew.
    fn keep_on_device_again(&mut self, k: usize) -> Option<()> {
        let Keeping {
            candidate, buffer, ..
        } = &self.keeping[k];
        let (candidate, buffer) = (candidate.clone(), *buffer);
        self.fetch(&candidate.region)?;
        self.overwrite(buffer, Blame::Kept(candidate));
        self.act(k, KeptAction::ToDevice);
        self.learn_kept(k);
        if let Some(shadow) = self.shadows.last_mut() {
            shadow.source = None;
        }
        Some(())
    }

    /// If a part is one of something kept, the device gets it where it became that.
    fn bring_to_device(&mut self, part: Part, since: usize) {
        if let Home::Kept(k) = self.buffers[part.buffer].home {
            self.act_before(since, k, KeptAction::ToDevice);
        }
    }

    fn act(&mut self, kept: usize, action: KeptAction) {
        self.act_before(self.now, kept, action);
    }

    fn act_after(&mut self, kept: usize, action: KeptAction) {
        self.act_before(self.now + 1, kept, action);
    }

    fn act_before(&mut self, before: usize, kept: usize, action: KeptAction) {
        self.kept_steps.push(KeptStep {
            before,
            kept,
            action,
        });
    }

    /// The memory of a buffer is written anew: whoever relies on what was there is told so.
    fn overwrite(&mut self, buffer: usize, blame: Blame) {
        let stale = self.tensors.extract_if(|_, part| part.buffer == buffer);
        self.stale
            .extend(stale.map(|(id, part)| (id, (part, blame.clone()))));
        // What the host would get from there, it gets by an instruction before this one.
        for shadow in &mut self.shadows {
            if shadow
                .on_device
                .is_some_and(|(_, part)| part.buffer == buffer)
            {
                shadow.on_device = None;
            }
        }
        self.shadows.retain(Shadow::is_known);
    }

    /// The host reads a value: whatever of it only a device has is fetched.
    fn read(&mut self, value: ValueId) -> Option<()> {
        let plan = self.plan;
        for id in plan.tensors_of(value) {
            let region = self.region_of(id)?;
            self.read_region(&region)?;
        }
        Some(())
    }

    fn read_region(&mut self, region: &Region) -> Option<()> {
        self.use_region(region);
        self.fetch(region)
    }

    /// Remembers that a value is used, by whomever. Whether it is from before the call.
    fn use_region(&mut self, region: &Region) -> bool {
        let lasts = self.lasts(region);
        if lasts {
            self.lasting.push(region.clone());
        }
        lasts
    }

    /// Whether a region has not been written in this call, as far as is certain, or is shared.
    fn lasts(&self, region: &Region) -> bool {
        let written = self.written.get(&region.storage);
        let covers = |range: &Range<usize>| {
            range.start <= region.bytes.start && region.bytes.end <= range.end
        };
        self.is_state(region) || !written.is_some_and(|ranges| ranges.iter().any(covers))
    }

    /// What is fetched is fetched at the instruction that would have made it, so that the copy is
    /// under way while the device goes on.
    fn fetch(&mut self, region: &Region) -> Option<()> {
        self.check_update(region)?;
        for index in 0..self.shadows.len() {
            if self.shadows[index].region.overlaps(region) {
                self.provide(index)?;
            }
        }
        Some(())
    }

    /// `None` if a delegate has updated memory in place, and somebody looks at what was there.
    fn check_update(&mut self, region: &Region) -> Option<()> {
        let updated = |keeping: &&Keeping| {
            keeping.updated_by.is_some() && keeping.candidate.region.overlaps(region)
        };
        if let Some(alias) = self.keeping.iter().find(updated).and_then(|k| k.updated_by) {
            self.blame = Some(Blame::Alias(alias));
            return None;
        }
        Some(())
    }

    /// The host gets a value that it does not have.
    fn provide(&mut self, shadow: usize) -> Option<()> {
        match self.shadows[shadow].source.take() {
            Some(source) => self.provide_from(source, self.now),
            None => Some(()),
        }
    }

    fn provide_from(&mut self, source: Source, before: usize) -> Option<()> {
        match source {
            Source::Input(input) => self.inputs_on_host[input] = true,
            Source::Kept(k) => self.act_before(before, k, KeptAction::ToHost),
            Source::Download { step, device } => {
                self.executions[step] = Execution::Download(device)
            }
            Source::Part { step, to } => {
                let moved = self.moved_at(step)?;
                let (by_host, device) = (moved.by_host, moved.device);
                let (from, on_host) = (moved.source, moved.on_host);
                if by_host {
                    self.provide_from(from, step)?;
                    self.executions[step] = on_host;
                } else {
                    // Where the part lies is not known yet.
                    self.executions[step] = Execution::Fetch {
                        device,
                        storage: StorageId(0),
                        offset: 0,
                        to,
                    };
                }
            }
        }
        Some(())
    }

    /// The host, or a copy to it, writes a value: what was there before is gone.
    fn write(&mut self, value: ValueId) -> Option<()> {
        let plan = self.plan;
        for id in plan.tensors_of(value) {
            let region = self.region_of(id)?;
            self.write_region(&region)?;
        }
        Some(())
    }

    fn write_region(&mut self, region: &Region) -> Option<()> {
        for k in 0..self.keeping.len() {
            let kept = self.keeping[k].candidate.region.clone();
            if !kept.overlaps(region) {
                continue;
            }
            if region.covers(&kept) {
                self.keeping[k].updated_by = None;
                self.act(k, KeptAction::HostWrites);
                self.act_after(k, KeptAction::HostOnly);
            } else {
                self.check_update(&kept)?;
                self.act(k, KeptAction::ToHost);
                self.act(k, KeptAction::HostOnly);
            }
        }
        self.forget(region, None)
    }

    /// As for `write_region`, but the device writes what it keeps.
    fn write_region_but(&mut self, region: &Region, kept: usize) -> Option<()> {
        self.forget(region, Some(kept))
    }

    /// Nothing is known any more of a region, but of what is kept on the device that writes it.
    fn forget(&mut self, region: &Region, but: Option<usize>) -> Option<()> {
        let is_kept = |shadow: &Shadow| match shadow.on_device {
            Some((_, part)) => but.is_some_and(|k| {
                self.keeping[k].buffer == part.buffer
                    && self.keeping[k].candidate.region == shadow.region
            }),
            None => false,
        };
        // What is overwritten only in part is still needed for the rest.
        let in_part = |shadow: &Shadow| {
            shadow.region.overlaps(region) && !region.covers(&shadow.region) && !is_kept(shadow)
        };
        let partly: Vec<usize> = (0..self.shadows.len())
            .filter(|&index| in_part(&self.shadows[index]))
            .collect();
        for index in partly {
            self.provide(index)?;
        }
        let written = self.written.entry(region.storage).or_default();
        if !written.contains(&region.bytes) {
            written.push(region.bytes.clone());
        }
        self.shadows
            .retain(|shadow| !shadow.region.overlaps(region));
        Some(())
    }

    fn learn(&mut self, shadow: Shadow) {
        if !self.is_moving(&shadow.region) {
            self.shadows.push(shadow);
        } else if let Some(Source::Input(input)) = shadow.source {
            self.inputs_on_host[input] = true;
        }
    }

    fn is_moving(&self, region: &Region) -> bool {
        self.moving.iter().any(|moving| moving.overlaps(region))
    }

    /// What a device has of a region: a value that covers it, and where the region is in it.
    fn shadow_on(&self, region: &Region, device: usize) -> Option<(usize, Part)> {
        let covers = |shadow: &Shadow| {
            let there = shadow.on_device.is_some_and(|(other, _)| other == device);
            there && shadow.region.covers(region)
        };
        let index = self.shadows.iter().position(covers)?;
        let shadow = &self.shadows[index];
        let (_, part) = shadow.on_device?;
        let within = region.bytes.start - shadow.region.bytes.start;
        Some((
            index,
            Part {
                buffer: part.buffer,
                offset: part.offset + within,
            },
        ))
    }

    /// What is kept that covers a region.
    fn kept(&self, region: &Region) -> Option<usize> {
        self.keeping
            .iter()
            .position(|keeping| keeping.candidate.region.covers(region))
    }

    /// The region that would be kept for a part of it: all of a named buffer.
    fn whole(&self, region: &Region) -> Region {
        match &self.plan.storages[region.storage.0 as usize] {
            PlannedStorage::State { bytes, .. } => Region {
                storage: region.storage,
                bytes: 0..*bytes,
            },
            _ => region.clone(),
        }
    }

    /// Gives a tensor on a device, which has no memory yet, a buffer of its own.
    fn define(&mut self, value: ValueId) -> Option<()> {
        let id = self.undefined(value)?;
        let device = device_of(self.plan, value)?;
        let device = self.devices.iter().position(|other| other.id() == device)?;
        self.buffer(device, id, Home::Planned(id));
        Some(())
    }

    fn buffer(&mut self, device: usize, id: TensorId, home: Home) -> Part {
        self.buffers.push(Buffer {
            device,
            bytes: self.plan.tensors[id.0 as usize].capacity,
            first: self.now,
            last: self.now,
            home,
        });
        let part = Part {
            buffer: self.buffers.len() - 1,
            offset: 0,
        };
        self.tensors.insert(id, part);
        part
    }

    /// This instruction becomes a copy within a device.
    fn copy(&mut self, device: usize, from: Part, to: Part, bytes: usize, passes_shape: bool) {
        self.touch(from, self.now);
        self.touch(to, self.now);
        self.executions[self.now] = Execution::CopyParts(self.copies.len());
        self.copies.push(PartCopy {
            device,
            from,
            to,
            bytes,
            passes_shape,
        });
    }

    fn touch(&mut self, part: Part, index: usize) {
        // What is used in more than one stretch may be needed at any time.
        let always = self.stretches[self.buffers[part.buffer].first] != self.stretches[index];
        let buffer = &mut self.buffers[part.buffer];
        if always {
            buffer.first = 0;
            buffer.last = self.plan.steps.len();
        }
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

    fn is_static(&self, value: ValueId) -> Option<bool> {
        let tensor = &self.plan.tensors[self.tensor(value)?.0 as usize];
        Some(tensor.dynamism == ShapeDynamism::Static)
    }

    /// The memory of a tensor on a device that was written before.
    fn part(&mut self, value: ValueId) -> Option<Part> {
        let id = self.tensor(value)?;
        self.check_fresh(id)?;
        self.tensors.get(&id).copied()
    }

    /// A tensor that is written for the first time. Exported programs write each once.
    fn undefined(&mut self, value: ValueId) -> Option<TensorId> {
        let id = self.tensor(value)?;
        self.check_fresh(id)?;
        (!self.tensors.contains_key(&id)).then_some(id)
    }

    fn check_fresh(&mut self, id: TensorId) -> Option<()> {
        if let Some((_, blame)) = self.stale.get(&id) {
            self.blame = Some(blame.clone());
            return None;
        }
        Some(())
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
        match self.regions.get(&id) {
            Some(region) => Some(region.clone()),
            None => self.planned_region(id),
        }
    }

    fn planned_region(&self, id: TensorId) -> Option<Region> {
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

/// The stretch of instructions without jumps, from or to elsewhere, that each is in.
fn stretches(plan: &MethodPlan) -> Vec<usize> {
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
