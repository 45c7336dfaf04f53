//! Whether an instruction can run while what calls ask a device for is put off.

use super::{DelegateState, Given, Instance};
use crate::device::{DelegateTask, DeviceState, Use};
use crate::link::{Execution, KeptAction, StepBefore, What};
use crate::memory::{Place, Slot};
use crate::plan::{MethodPlan, Step};
use crate::{Result, RunOptions, ValueId, bail};

impl Instance {
    /// Whether the instruction with this number, and what comes before it, neither waits for the
    /// device nor does anything there that must not come before what was put off. Of a delegate only
    /// itself knows the rest.
    pub(super) fn can_be_put_off(&self, index: usize, options: &RunOptions<'_>) -> Result<bool> {
        let linked = &*self.linked;
        let [device] = &*self.devices else {
            return Ok(false);
        };
        if self.moves_what_is_kept(index, device) {
            return Ok(false);
        }
        let (operator, ids) = match linked.plan.steps.get(index) {
            Some(Step::Kernel {
                operator,
                arguments,
            }) => (*operator, linked.plan.arguments(*arguments)),
            Some(Step::JumpIfFalse { condition, .. }) => {
                return Ok(!self
                    .values
                    .conflicts(&self.devices, *condition, Use::Read)?);
            }
            _ => return Ok(true),
        };
        let skipped = options.device_outputs && linked.output_copies[index];
        match linked.executions[index] {
            Execution::Kernel(overlap) => {
                let lending = linked.kernels[operator as usize]
                    .signature()
                    .lending(overlap);
                let waits = self.values.waits_for_host(&self.devices, ids, &lending)?;
                Ok(!waits)
            }
            Execution::UploadInput { input, .. } => match self.given[input] {
                Given::InPlace | Given::OnDevice(_) => Ok(true),
                Given::Placed => self.is_pinned(ids[0]),
                // The host writes there what was lent.
                Given::Lent => Ok(self.is_pinned(ids[0])? && !self.unasked_uses(device, ids[0])?),
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

    /// Whether the caller records a stream of the call.
    pub(super) fn is_recorded(&self) -> bool {
        self.devices.iter().any(DeviceState::is_recorded)
    }

    /// Refuses an instruction that a graph cannot have, where the caller records the call: one that
    /// cannot be put off, or whose result depends on what the host has when the graph runs.
    #[cold]
    pub(super) fn check_recordable(
        &self,
        index: usize,
        options: &RunOptions<'_>,
        can_be_put_off: bool,
    ) -> Result<()> {
        let linked = &*self.linked;
        let skipped =
            options.device_outputs && matches!(linked.output_copies.get(index), Some(true));
        let reason = match (linked.plan.steps.get(index), linked.executions.get(index)) {
            _ if !can_be_put_off => {
                "would have to wait for the device, or brings to it what later calls \
                 find there, so that a call has to come before, outside of a recording"
            }
            (Some(Step::Kernel { arguments, .. }), Some(execution)) => match execution {
                Execution::UploadInput { input, .. } => match self.given[*input] {
                    Given::InPlace | Given::OnDevice(_) => return Ok(()),
                    Given::Placed | Given::Lent => {
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
            "the caller records the stream of this call, and this {reason}"
        )
    }

    /// Whether one of some values is a tensor, or has some.
    fn has_tensors(&self, values: &[ValueId]) -> Result<bool> {
        for &value in values {
            if let Slot::Tensor(_) | Slot::TensorList(_) = self.values.slot(value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether something that lasts is copied between host and device before an instruction. The host's
    /// memory for it is not pinned, so that this cannot be put off.
    fn moves_what_is_kept(&self, index: usize, device: &DeviceState) -> bool {
        let id = device.id();
        let before = self.linked.places.before(index);
        before.iter().enumerate().any(|(position, step)| {
            let What::Keep(kept, action) = step.what else {
                return false;
            };
            let has_it = match action {
                KeptAction::ToDevice => self.kept[kept].on_device(id),
                KeptAction::ToHost => self.kept[kept].on_host(),
                _ => return false,
            };
            // Who has it may be another thing by then.
            let changes =
                |step: &StepBefore| matches!(step.what, What::Keep(other, _) if other == kept);
            !has_it || before[..position].iter().any(changes)
        })
    }

    /// Whether a tensor is in memory of the host that the device reaches by itself.
    fn is_pinned(&self, value: ValueId) -> Result<bool> {
        Ok(match self.values.place_of(value)? {
            Place::Host { pinned, .. } => pinned.is_some(),
            Place::Device { .. } => false,
        })
    }

    /// Whether something that was not asked for yet uses a tensor on the host.
    fn unasked_uses(&self, device: &DeviceState, value: ValueId) -> Result<bool> {
        Ok(match self.values.place_of(value)? {
            Place::Host {
                storage,
                offset,
                len,
                ..
            } => device.unasked_conflicts(storage, &(offset..offset + len), Use::Write),
            Place::Device { .. } => false,
        })
    }
}

/// Asks devices for all that was put off.
pub(super) fn flush(
    devices: &mut [DeviceState],
    delegates: &mut [DelegateState],
    plan: &MethodPlan,
) -> Result<()> {
    for device in devices {
        device.flush(&mut |index, instruction, task, stream| {
            let delegate = &mut delegates[index].instance;
            let done = match task {
                DelegateTask::Ask => delegate.ask(stream, false),
                DelegateTask::Record => delegate.ask(stream, true),
                DelegateTask::Asked => delegate.asked(stream),
            };
            done.map_err(|error| error.at_instruction(instruction, &plan.step_name(instruction)))
        })?;
    }
    Ok(())
}
