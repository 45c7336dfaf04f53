//! The instructions, followed in order.

use thalweg_core::ValueId;
use thalweg_core::engine::TensorId;

use super::analysis::{Refusal, ResidencyAnalysis};
use super::device_heap::{ALIGN, Home, Part};
use super::host_shadows::{Shadow, Source};
use super::persistent::Candidate;
use crate::facts::device_of;
use crate::plan::{ArgumentRange, InputKind, PlannedValue, Step};
use crate::schedule::{CoherenceAction, Execution, What};

impl ResidencyAnalysis<'_> {
    /// The memory of values that others may become. `None` if some of it is on a device.
    pub(super) fn find_moving(&mut self) -> Option<()> {
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
}

impl ResidencyAnalysis<'_> {
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
                self.leave()?;
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
                Step::Move { .. } => self.move_value()?,
                Step::Free { .. } | Step::Folded { .. } | Step::Fused { .. } => {}
            }
        }
        self.now = plan.steps.len();
        if self.now > 0 && self.stretches[self.now] != self.stretches[self.now - 1] {
            self.leave()?;
        }
        self.end()
    }

    /// How many copies between host and device the instructions make.
    pub(super) fn copies_made(&self) -> usize {
        let copies = |execution: &&Execution| {
            matches!(
                execution,
                Execution::Upload(_)
                    | Execution::UploadInput { .. }
                    | Execution::Download(_)
                    | Execution::Fetch { .. }
            )
        };
        self.executions.iter().filter(copies).count()
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
                self.blame = Some(Refusal::Alias(alias));
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
                since: None,
                source: Some(Source::Input(index)),
                input: Some(index),
            });
        }
        Some(())
    }

    fn kernel(&mut self, operator: usize, arguments: ArgumentRange) -> Option<()> {
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
        let target = self.undefined(to)?;
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
            let since = self.brought_before(&self.shadows[shadow]);
            self.bring_to_device(part, since);
            self.touch(part, self.now);
            if part.offset.is_multiple_of(ALIGN) {
                self.tensors.insert(target, part);
                self.executions[self.now] = Execution::Elided;
            } else {
                let own = self.buffer(device, target, Home::Planned(target));
                self.do_before(What::PassShape(from, to));
                self.copy(device, part, own, region.bytes.len());
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
            let part = self.buffer(device, target, Home::Input(input, target));
            self.input_buffers.insert(input, part.buffer);
            for shadow in &mut self.shadows {
                if shadow.input == Some(input) && shadow.on_device.is_none() {
                    shadow.on_device = Some((device, part));
                }
            }
            self.executions[self.now] = Execution::UploadInput { device, input };
            return Some(());
        }
        self.fetch(&region)?;
        let part = self.buffer(device, target, Home::Planned(target));
        self.learn(Shadow {
            region,
            on_device: Some((device, part)),
            since: None,
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
        if !made && self.is_static(to)? && self.write_kept(device, part, &region, false)? {
            return Some(());
        }
        self.write_region(&region)?;
        if !made {
            self.executions[self.now] = Execution::Elided;
        }
        self.learn(Shadow {
            region,
            on_device: Some((device, part)),
            since: None,
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
    fn delegate(&mut self, delegate: usize, arguments: ArgumentRange) -> Option<()> {
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
            Home::Kept(k) if self.is_current(k) => {
                self.act(k, CoherenceAction::ToDevice);
                self.act(k, CoherenceAction::DeviceOnly);
                self.overwrite(part.buffer, Refusal::Alias(alias));
                let region = self.keeping[k].candidate.region.clone();
                // Until the program says that the buffer becomes the result, nobody may look.
                self.shadows.retain(|shadow| shadow.region != region);
                self.keeping[k].updated_by = Some(alias);
            }
            Home::Input(input, _) => {
                self.updated_inputs.insert(input);
                self.overwrite(part.buffer, Refusal::Alias(alias));
            }
            _ => self.overwrite(part.buffer, Refusal::Alias(alias)),
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
}
