//! Tracing of calls.

use thalweg_core::engine::Category;
use thalweg_core::{Result, Span, Tracer};

use super::instance::Instance;
use super::run::Run;
use crate::link::{LinkedMethod, LinkedStorage};
use crate::options::RunOptions;
use crate::plan::Step;
use crate::schedule::CoherenceAction;
use crate::state::Coherence;
use crate::submit::DeviceQueue;
use crate::trace::Trace;

impl Instance {
    /// Runs all instructions, traced.
    #[cold]
    #[inline(never)]
    pub(super) fn run_traced_steps(
        &mut self,
        linked: &LinkedMethod,
        run: &Run<'_>,
        trace: &Trace,
    ) -> Result<()> {
        self.run_steps(linked, run, |instance, linked, index, step, run| {
            instance.traced_step(linked, index, step, run, trace)
        })?;
        self.trace_instruction(linked.plan.steps.len());
        Ok(())
    }

    /// Runs an instruction as [`step`](Self::step) does, traced.
    fn traced_step(
        &mut self,
        linked: &LinkedMethod,
        index: usize,
        step: &Step,
        run: &Run<'_>,
        trace: &Trace,
    ) -> Result<usize> {
        let names = linked.names();
        let category = match step {
            Step::Delegate { .. } => Category::Delegate,
            _ => Category::Instruction,
        };
        let span = trace.begin_instruction(category, names, index);
        if run.options.device_outputs && linked.output_copies[index] {
            span.note("left on the device", true);
        }
        let deferred =
            |devices: &[DeviceQueue]| -> usize { devices.iter().map(DeviceQueue::deferred).sum() };
        self.trace_instruction(index);
        let result = self.step(linked, index, step, run);
        // Commands that were deferred before are submitted before the instruction, or still there.
        if self.devices.iter().any(DeviceQueue::defers) && deferred(&self.devices) > 0 {
            span.note("deferred commands", deferred(&self.devices));
        }
        if let Err(error) = &result {
            span.note("error", error.to_string());
        }
        result
    }

    /// Tells the traces of devices which instruction runs.
    fn trace_instruction(&mut self, index: usize) {
        for device in &mut self.devices {
            if let Some(traced) = device.traced() {
                traced.at_instruction(index);
            }
        }
    }

    /// Records the memory at the end of a call.
    pub(super) fn count_memory(&self, tracer: Tracer<'_>) {
        let name = &self.plan().name;
        let host = self.frame.owned_bytes() + self.scratch.capacity();
        tracer.bytes(|| (format!("memory of `{name}`, host"), host));
        for (device, bytes) in self.linked.device_bytes() {
            tracer.bytes(|| (format!("memory of `{name}`, {device}"), bytes));
        }
    }
}

/// The span of a copy of a persistent buffer, if the call is traced and there is a copy.
#[inline]
pub(super) fn persist_span<'t>(
    linked: &LinkedMethod,
    coherence: &Coherence,
    kept: usize,
    action: CoherenceAction,
    options: &RunOptions<'t>,
) -> Option<Span<'t>> {
    let tracer = options.tracer();
    if !tracer.is_on() {
        return None;
    }
    let what = &linked.places.persistent[kept];
    let id = linked.devices[what.device].id();
    let to = match action {
        CoherenceAction::ToDevice if !coherence.on_device(id) => id.to_string(),
        CoherenceAction::ToHost if !coherence.on_host() => "the host".into(),
        _ => return None,
    };
    let span = tracer.begin(Category::Copy, "copy a persistent buffer");
    if let LinkedStorage::State { name, .. } = &linked.storages[what.host.0.0 as usize] {
        span.note("name", name.to_string());
    }
    span.note("to", to);
    span.note("bytes", what.bytes);
    Some(span)
}
