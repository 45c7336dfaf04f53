//! Runs that are deferred, and submitted or captured later.

use thalweg_core::{Call, Device as _, Result, bail, ensure};

use super::arguments::{borrowed, copy_to_output, overlap};
use super::{Instance, present};
use crate::abi::{AllocationTrace, Session};
use crate::model::Model;
use crate::mutation::{Rule, disabled};

impl Instance {
    /// Encodes the run of a call. Returns false if it cannot be deferred.
    pub(super) fn encode(&mut self, call: &mut Call<'_>, model: &Model) -> Result<bool> {
        let own = present(&mut self.own)?;
        // The first run waits for uploads, and for constant folding.
        let is_first = own.waits_for_no_folding || !own.ready.is_empty();
        if is_first || model.library.unwatched.is_some() {
            return Ok(false);
        }
        Ok(self.encode_inputs(call, model)? && self.encode_outputs(call, model)?)
    }

    /// Encodes the run record and the inputs. Returns false if there is no record of such a run, or it
    /// cannot be captured.
    fn encode_inputs(&mut self, call: &Call<'_>, model: &Model) -> Result<bool> {
        let here = model.library.resources.device.id();
        let count = model.inputs + model.outputs;
        if call.argument_count() != count {
            return Ok(false);
        }
        self.encoded.clear();
        for index in 0..count {
            match call.tensor_on_device(index)? {
                Some(tensor) if tensor.device() == here => {
                    if index < model.inputs {
                        self.encoded.push(tensor.address().0);
                    }
                }
                _ => return Ok(false),
            }
        }
        let record = self.records.find(|index, layout| {
            let tensor = call.device_tensor(index);
            tensor.is_ok_and(|tensor| layout.is_of_tensor(&tensor))
        });
        let Some(record) = record else {
            return Ok(false);
        };
        if let Some(operation) = record.not_capturable
            && !disabled(Rule::OnlyWhatGraphsHold)
        {
            tracing::trace!("a compiled library is not deferred, because of `{operation}`");
            return Ok(false);
        }
        self.encoded.set_record(record.number);
        Ok(true)
    }

    /// Encodes the outputs and the workspace. Returns false if a graph could not write the outputs in
    /// place.
    fn encode_outputs(&mut self, call: &mut Call<'_>, model: &Model) -> Result<bool> {
        let Some(record) = self.records.current() else {
            return Ok(false);
        };
        for (output, output_record) in record.outputs.iter().enumerate() {
            let layout = &output_record.layout;
            let tensor = call.device_output(model.inputs + output, layout.sizes())?;
            if !layout.is_of_tensor(&tensor) {
                return Ok(false);
            }
            let (address, len) = (tensor.address().0, tensor.len() as u64);
            let inputs = self.encoded.inputs(model).iter();
            let mut inputs = inputs.zip(&record.inputs);
            let overlaps =
                inputs.any(|(&start, input)| overlap(start, input.bytes(), address, len));
            if overlaps || output_record.placed.is_some_and(|bytes| bytes != len) {
                return Ok(false);
            }
            self.encoded.push(address);
        }
        let plan = record.plan.clone();
        let workspace = match plan.workspace() {
            0 => Some(0),
            _ => {
                let handle = call.stream(model.library.resources.device.id())?;
                self.workspace(call, &plan, handle)?
            }
        };
        match workspace {
            Some(address) => self.encoded.push(address),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Submits the encoded run. `capturing`: the stream is captured into a graph.
    pub(super) fn submit(
        &mut self,
        session: &Session<'_>,
        model: &Model,
        capturing: bool,
    ) -> Result<()> {
        let encoded = &self.encoded;
        let record = self.records.current();
        let record = record.filter(|record| encoded.is_complete(record.number, model));
        let Some(record) = record else {
            bail!(
                Internal,
                "a compiled library is submitted, but its run was not encoded"
            );
        };
        let inputs = encoded.inputs(model).iter().zip(&record.inputs);
        let inputs = inputs
            .map(|(address, layout)| borrowed(session, *address, layout))
            .collect::<Result<Vec<_>>>()?;
        let outputs = encoded.outputs(model);
        let addresses = record.outputs.iter().zip(outputs);
        let addresses = addresses.map(|(output, address)| output.placed.map(|_| *address));
        let plan = record.plan.clone();
        let trace = AllocationTrace::planned(plan, addresses.collect(), encoded.workspace());
        session.begin_run(trace, capturing);
        let functions = &model.library.functions;
        let container = present(&mut self.own)?.container.get_mut()?;
        let results = container.run(functions, session, inputs, model.outputs)?;
        for (index, result) in results.iter().enumerate() {
            let layout = &record.outputs[index].layout;
            ensure!(
                result.sizes == layout.signed_sizes && result.dtype == layout.dtype,
                Delegate,
                "output {} is of {} and sizes {:?}, and was of {} and sizes {:?} in the run before with \
                 such inputs",
                model.inputs + index,
                result.dtype,
                result.sizes,
                layout.dtype,
                layout.signed_sizes
            );
            copy_to_output(session, &borrowed(session, outputs[index], layout)?, result)?;
        }
        let outcome = session.end_run(results);
        if capturing {
            return outcome.check_captured();
        }
        record.not_capturable = outcome.not_capturable;
        if outcome.keeps {
            self.abandon_workspace(model);
        }
        if outcome.keeps || outcome.events.is_some() {
            // The next run records its trace again.
            self.records.remove_current();
        }
        Ok(())
    }
}
