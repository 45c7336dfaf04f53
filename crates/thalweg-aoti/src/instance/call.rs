//! Calls that run at once.

use std::sync::Arc;

use thalweg_core::{Call, Device as _, Result, StreamHandle, ensure};

use super::arguments::{input, output, output_address};
use super::layout::TensorLayout;
use super::records::{OutputRecord, RunRecord};
use super::{Instance, present, stream_for};
use crate::abi::{AllocationPlan, AllocationTrace, RunOutcome, Session, Tensor};
use crate::model::Model;
use crate::mutation::{Rule, disabled};

/// The outputs of a run.
struct Outputs {
    records: Vec<OutputRecord>,
    /// The allocations that can be placed in the memory of an output, with the output.
    placed: Vec<(usize, usize)>,
}

impl Instance {
    /// Runs the library for a call. `has_end` is true if the core reports the end of the call for this
    /// device.
    pub(super) fn run(
        &mut self,
        call: &mut Call<'_>,
        model: &Model,
        handle: StreamHandle,
        has_end: bool,
    ) -> Result<()> {
        let library = &model.library;
        let expected = model.inputs + model.outputs;
        ensure!(
            call.argument_count() == expected,
            InvalidProgram,
            "the delegate is called with {} arguments, and its library has {} inputs and {} outputs",
            call.argument_count(),
            model.inputs,
            model.outputs
        );
        let stream = stream_for(library, handle)?;
        let own = present(&mut self.own)?;
        if !disabled(Rule::UseAfterUpload) {
            for event in &own.ready {
                stream.wait(event)?;
            }
        }
        let waits_for_no_folding = own.waits_for_no_folding;
        let session = library.session(&stream)?;
        if waits_for_no_folding {
            session.set_idle_stream(&library.resources.idle)?;
        }
        let result = self.run_in(&session, call, model, has_end.then_some(handle));
        let finished = session.finish();
        call.tracer().bytes(|| library.resources.pool_size());
        result.and(finished)?;
        // Later calls are ordered after this one.
        let own = present(&mut self.own)?;
        own.ready.clear();
        own.waits_for_no_folding = false;
        Ok(())
    }

    fn run_in(
        &mut self,
        session: &Session<'_>,
        call: &mut Call<'_>,
        model: &Model,
        handle: Option<StreamHandle>,
    ) -> Result<()> {
        let mut layouts = Vec::with_capacity(model.inputs);
        let mut inputs = Vec::with_capacity(model.inputs);
        let last = self.records.current().map(|record| &record.inputs[..]);
        for index in 0..model.inputs {
            let last = last.and_then(|inputs| inputs.get(index));
            let (layout, tensor) = input(session, call, index, last)?;
            layouts.push(layout);
            inputs.push(tensor);
        }
        let record = self.records.find(|index, layout| layouts[index] == *layout);
        let has_record = record.is_some();
        let trace = match record {
            None => AllocationTrace::recording(),
            Some(record) => {
                let addresses = output_addresses(session, call, model, record, &inputs)?;
                let plan = record.plan.clone();
                let workspace = match handle {
                    Some(handle) => self.workspace(call, &plan, handle)?,
                    None => None,
                };
                AllocationTrace::planned(plan, addresses, workspace)
            }
        };
        session.begin_run(trace, false);
        let functions = &model.library.functions;
        let container = present(&mut self.own)?.container.get_mut()?;
        let results = container.run(functions, session, inputs, model.outputs)?;
        let record = self.records.current().filter(|_| has_record);
        let outputs = Outputs::write(session, call, model, &results, record.as_deref())?;
        let outcome = session.end_run(results);
        self.record(layouts, outputs, outcome, has_record, model);
        Ok(())
    }

    /// Updates the record of runs with such inputs. `has_record`: there was one.
    fn record(
        &mut self,
        inputs: Vec<Arc<TensorLayout>>,
        outputs: Outputs,
        mut outcome: RunOutcome,
        has_record: bool,
        model: &Model,
    ) {
        if outcome.keeps {
            // In a run without a record, what the library keeps is not in a workspace.
            if has_record {
                self.records.remove_current();
                self.abandon_workspace(model);
            }
            return;
        }
        match (outcome.events.take(), self.records.current()) {
            (None, Some(record)) if has_record && record.outputs == outputs.records => {
                record.not_capturable = outcome.not_capturable;
            }
            (None, _) if has_record => self.records.remove_current(),
            (events, _) => {
                let plan = AllocationPlan::new(events.unwrap_or_default(), &outputs.placed);
                let workspace = usize::try_from(plan.workspace()).unwrap_or(usize::MAX);
                model.library.resources.workspaces.needs(workspace);
                self.records.insert(inputs, outputs.records, plan, &outcome);
            }
        }
    }
}

/// The addresses of the outputs that the library can write in place.
fn output_addresses(
    session: &Session<'_>,
    call: &mut Call<'_>,
    model: &Model,
    record: &RunRecord,
    inputs: &[Tensor],
) -> Result<Vec<Option<u64>>> {
    let outputs = record.outputs.iter().enumerate();
    outputs
        .map(|(output, record)| match record.placed {
            Some(_) => {
                let index = model.inputs + output;
                output_address(call, index, record, inputs, session.device.id())
            }
            None => Ok(None),
        })
        .collect()
}

impl Outputs {
    /// Writes the results of a run to the call's outputs.
    fn write(
        session: &Session<'_>,
        call: &mut Call<'_>,
        model: &Model,
        results: &[Tensor],
        record: Option<&RunRecord>,
    ) -> Result<Self> {
        let mut outputs = Self {
            records: Vec::with_capacity(results.len()),
            placed: Vec::new(),
        };
        for (index, tensor) in results.iter().enumerate() {
            let last = record.and_then(|record| Some(&record.outputs.get(index)?.layout));
            let (layout, on_device) = output(session, call, model.inputs + index, tensor, last)?;
            let is_placeable = on_device
                && tensor.offset == 0
                && tensor.storage.bytes == layout.bytes()
                && layout.is_of_result(tensor);
            let allocation = tensor.storage.allocation.filter(|_| is_placeable);
            let allocation = allocation
                .map(|allocation| allocation.number)
                .filter(|number| !outputs.placed.iter().any(|(taken, _)| taken == number));
            outputs
                .placed
                .extend(allocation.map(|number| (number, index)));
            outputs.records.push(OutputRecord {
                layout,
                placed: allocation.map(|_| tensor.storage.bytes),
            });
        }
        Ok(outputs)
    }
}
