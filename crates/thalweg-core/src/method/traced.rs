//! What calls do beside running, when they are written down.

use super::{Instance, Running};
use crate::device::DeviceState;
use crate::link::{KeptAction, LinkedMethod, LinkedStorage};
use crate::memory::Sides;
use crate::plan::Step;
use crate::trace::{Category, Name};
use crate::{Result, RunOptions, Span, Trace, Tracer};

impl Instance {
    /// Runs all instructions, and writes that down.
    #[cold]
    #[inline(never)]
    pub(super) fn run_traced_steps(
        &mut self,
        linked: &LinkedMethod,
        running: &Running<'_>,
        trace: &Trace,
    ) -> Result<()> {
        self.run_steps(linked, running, |instance, linked, index, step, running| {
            instance.traced_step(linked, index, step, running, trace)
        })?;
        self.trace_instruction(linked.plan.steps.len());
        Ok(())
    }

    /// Runs an instruction as [`step`](Self::step) does, and writes that down.
    fn traced_step(
        &mut self,
        linked: &LinkedMethod,
        index: usize,
        step: &Step,
        running: &Running<'_>,
        trace: &Trace,
    ) -> Result<usize> {
        let names = linked.names();
        let category = match step {
            Step::Delegate { .. } => Category::Delegate,
            _ => Category::Instruction,
        };
        let span = trace
            .tracer()
            .begin(category, Name::Step(names.clone(), index));
        if running.options.device_outputs && linked.output_copies[index] {
            span.note("left on the device", true);
        }
        let tasks = |devices: &[DeviceState]| -> usize {
            devices.iter().map(DeviceState::task_count).sum()
        };
        self.trace_instruction(index);
        let result = self.step(linked, index, step, running);
        // What was put off before is asked for before the instruction, or it is still there.
        if self.devices.iter().any(DeviceState::collects) && tasks(&self.devices) > 0 {
            span.note("work that is put off", tasks(&self.devices));
        }
        if let Err(error) = &result {
            span.note("error", error.to_string());
        }
        result
    }

    /// Says which instruction devices are asked for something from now on.
    fn trace_instruction(&mut self, index: usize) {
        for device in &mut self.devices {
            if let Some(timed) = device.timed() {
                timed.at_instruction(index);
            }
        }
    }

    /// Writes down how much memory there is at the end of a call.
    pub(super) fn count_memory(&self, tracer: Tracer<'_>) {
        let name = &self.plan().name;
        let host = self.values.owned_bytes() + self.scratch.capacity();
        tracer.bytes(|| (format!("memory of `{name}`, host"), host));
        for (device, bytes) in self.linked.device_bytes() {
            tracer.bytes(|| (format!("memory of `{name}`, {device}"), bytes));
        }
    }
}

/// A span of bringing what lasts to where it is not, if that is traced.
#[inline]
pub(super) fn brings<'t>(
    linked: &LinkedMethod,
    sides: &Sides,
    kept: usize,
    action: KeptAction,
    options: &RunOptions<'t>,
) -> Option<Span<'t>> {
    let tracer = options.tracer();
    if !tracer.is_on() {
        return None;
    }
    let what = &linked.places.kept[kept];
    let id = linked.devices[what.device].id();
    let to = match action {
        KeptAction::ToDevice if !sides.on_device(id) => id.to_string(),
        KeptAction::ToHost if !sides.on_host() => "the host".into(),
        _ => return None,
    };
    let span = tracer.begin(Category::Copy, "bring what lasts");
    if let LinkedStorage::State { name, .. } = &linked.storages[what.host.0.0 as usize] {
        span.note("name", name.to_string());
    }
    span.note("to", to);
    span.note("bytes", what.bytes);
    Some(span)
}
