//! Deferral: which instructions can run while commands are deferred, and the submission of what was.

use thalweg_core::engine::{ArgumentAccess, HostLocation, Location, Slot};
use thalweg_core::{Access, Result, ValueId, bail};

use super::instance::Given;
use super::instance::Instance;
use crate::options::RunOptions;
use crate::plan::Step;
use crate::schedule::{CoherenceAction, Execution, StepBefore, What};
use crate::submit::{DelegateStep, DeviceQueue};
use crate::transfer::conflicts;
use crate::transfer::location_of;
use crate::transfer::waits_for_host;

impl Instance {
    /// Returns true if the instruction with this index, and what comes before it, neither waits for the
    /// device nor does anything there that must not come before deferred commands. Of a delegate only
    /// itself knows the rest.
    pub(super) fn can_defer(&self, index: usize, options: &RunOptions<'_>) -> Result<bool> {
        let linked = &*self.linked;
        let [device] = &*self.devices else {
            return Ok(false);
        };
        if self.copies_persistent(index, device) {
            return Ok(false);
        }
        let (operator, ids) = match linked.plan.steps.get(index) {
            Some(Step::Kernel {
                operator,
                arguments,
            }) => (*operator, linked.plan.arguments(*arguments)),
            Some(Step::JumpIfFalse { condition, .. }) => {
                return Ok(!conflicts(
                    &self.frame,
                    &self.devices,
                    *condition,
                    Access::Read,
                )?);
            }
            _ => return Ok(true),
        };
        let skipped = options.device_outputs && linked.output_copies[index];
        match linked.executions[index] {
            Execution::Kernel(overlap) => {
                let signature = linked.kernels[operator as usize].signature();
                let access = ArgumentAccess::of_operator(signature, overlap);
                let waits = waits_for_host(&self.frame, &self.devices, ids, &access)?;
                Ok(!waits)
            }
            Execution::UploadInput { input, .. } => match self.given[input] {
                Given::InPlace | Given::OnDevice(_) => Ok(true),
                Given::Placed => self.is_pinned(ids[0]),
                // The host writes there what was lent.
                Given::Borrowed => {
                    Ok(self.is_pinned(ids[0])? && !self.deferred_uses(device, ids[0])?)
                }
            },
            Execution::Upload(_) => self.is_pinned(ids[0]),
            Execution::Download(_) => Ok(skipped || self.is_pinned(ids[1])?),
            Execution::Fetch { to, .. } => Ok(skipped || self.is_pinned(to)?),
            Execution::Copy(_)
            | Execution::CopyParts(_)
            | Execution::Elided
            | Execution::Nothing
            | Execution::View
            | Execution::Other => Ok(true),
        }
    }

    /// True if the caller captures a stream of the call.
    pub(super) fn is_capture(&self) -> bool {
        self.devices.iter().any(DeviceQueue::is_capture)
    }

    /// Refuses an instruction that a graph cannot have, where the caller captures the call: one that
    /// cannot be deferred, or whose result depends on what the host has when the graph runs.
    #[cold]
    pub(super) fn check_capture(
        &self,
        index: usize,
        options: &RunOptions<'_>,
        can_defer: bool,
    ) -> Result<()> {
        let linked = &*self.linked;
        let skipped =
            options.device_outputs && matches!(linked.output_copies.get(index), Some(true));
        let reason = match (linked.plan.steps.get(index), linked.executions.get(index)) {
            _ if !can_defer => {
                "would have to wait for the device, or brings to it what later calls \
                 find there, so that a call has to come before, outside of a capture"
            }
            (Some(Step::Kernel { arguments, .. }), Some(execution)) => match execution {
                Execution::UploadInput { input, .. } => match self.given[*input] {
                    Given::InPlace | Given::OnDevice(_) => return Ok(()),
                    Given::Placed | Given::Borrowed => {
                        "copies an input from the host, where it has to be on \
                         the device"
                    }
                },
                Execution::Upload(_) => {
                    "copies from the host, which is not there when the graph runs"
                }
                Execution::Download(_) | Execution::Fetch { .. } if !skipped => {
                    "copies to the host, where outputs have to stay on the device"
                }
                Execution::Kernel(_) if self.has_tensors(linked.plan.arguments(*arguments))? => {
                    "is an operator of the host"
                }
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        bail!(
            Unsupported,
            "the caller captures the stream of this call, and this {reason}"
        )
    }

    /// Returns true if one of some values is a tensor, or a list of tensors.
    fn has_tensors(&self, values: &[ValueId]) -> Result<bool> {
        for &value in values {
            if let Slot::Tensor(_) | Slot::TensorList(_) = self.frame.slot(value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if a persistent buffer is copied between host and device before an instruction. The
    /// host's memory for it is not pinned, so that this cannot be deferred.
    fn copies_persistent(&self, index: usize, device: &DeviceQueue) -> bool {
        let id = device.id();
        let before = self.linked.places.before(index);
        before.iter().enumerate().any(|(position, step)| {
            let What::Persist(kept, action) = step.what else {
                return false;
            };
            let has_it = match action {
                CoherenceAction::ToDevice => self.coherence[kept].on_device(id),
                CoherenceAction::ToHost => self.coherence[kept].on_host(),
                _ => return false,
            };
            // Its coherence state may be another one by then.
            let changes =
                |step: &StepBefore| matches!(step.what, What::Persist(other, _) if other == kept);
            !has_it || before[..position].iter().any(changes)
        })
    }

    /// Returns true if a tensor is in pinned memory.
    fn is_pinned(&self, value: ValueId) -> Result<bool> {
        Ok(match location_of(&self.frame, value)? {
            Location::Host(host) => host.pinned.is_some(),
            Location::Device(_) => false,
        })
    }

    /// Returns true if a deferred command uses a tensor on the host.
    fn deferred_uses(&self, device: &DeviceQueue, value: ValueId) -> Result<bool> {
        Ok(match location_of(&self.frame, value)? {
            Location::Host(HostLocation {
                storage,
                offset,
                len,
                ..
            }) => device.deferred_conflicts(storage, &(offset..offset + len), Access::Write),
            Location::Device(_) => false,
        })
    }

    /// Submits all deferred commands.
    pub(super) fn flush(&mut self) -> Result<()> {
        let Self {
            devices,
            delegates,
            linked,
            ..
        } = self;
        for device in devices {
            device.flush(&mut |index, instruction, step, stream| {
                let delegate = &mut delegates[index].instance;
                let done = match step {
                    DelegateStep::Submit => delegate.submit(stream, false),
                    DelegateStep::Capture => delegate.submit(stream, true),
                    DelegateStep::Submitted => delegate.submitted(stream),
                };
                done.map_err(|error| linked.plan.at_step(error, instruction))
            })?;
        }
        Ok(())
    }

    /// From now on commands are deferred, or submitted at once, after those that were deferred.
    pub(super) fn defer(&mut self, defers: bool) -> Result<()> {
        if !defers {
            self.flush()?;
        }
        let devices = self.devices.iter_mut();
        devices.for_each(|device| device.defer(defers));
        Ok(())
    }
}
