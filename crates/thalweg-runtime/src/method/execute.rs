//! The execution of instructions.

use thalweg_core::engine::{ArgumentAccess, CallContext, KernelContext, Overlap, Slot, StorageId};
use thalweg_core::{
    Access, Bool, Call, DType, DelegateInstance, Result, Scalar, ValueId, bail, ensure,
};

use super::delegate_devices::DelegateDevices;
use super::instance::Given;
use super::instance::Instance;
use super::instance::ProfileSource;
use super::run::Run;
use super::traced::persist_span;
use crate::link::LinkedMethod;
use crate::options::RunOptions;
use crate::plan::Step;
use crate::schedule::{Execution, What};
use crate::submit::DeviceQueue;
use crate::transfer::Transfer;
use crate::transfer::wait_for_host;
use crate::transfer::wait_for_value;

/// An instruction that calls a delegate.
struct DelegateCall<'c> {
    instruction: usize,
    arguments: &'c [ValueId],
    profile: Option<usize>,
}

impl Instance {
    /// Runs all instructions.
    pub(super) fn execute(
        &mut self,
        options: &RunOptions<'_>,
        profiles: ProfileSource,
        number: u64,
    ) -> Result<()> {
        let linked = self.linked.clone();
        let run = Run {
            options,
            profiles,
            number,
            defers: matches!(&*self.devices, [device] if device.may_defer()),
        };
        // Two loops, so that one that is not traced has no instruction for it.
        match options.trace {
            None => self.run_steps(&linked, &run, Self::step)?,
            Some(trace) => self.run_traced_steps(&linked, &run, trace)?,
        }
        self.before_step(&linked, linked.plan.steps.len(), &run)?;
        self.defer(false)
    }

    #[inline(always)]
    pub(super) fn run_steps(
        &mut self,
        linked: &LinkedMethod,
        run: &Run<'_>,
        run_step: impl Fn(&mut Self, &LinkedMethod, usize, &Step, &Run<'_>) -> Result<usize>,
    ) -> Result<()> {
        let plan = &*linked.plan;
        let mut left = run.options.instruction_limit.unwrap_or(u64::MAX);
        let mut next = 0;
        while let Some(step) = plan.steps.get(next) {
            let Some(rest) = left.checked_sub(1) else {
                bail!(
                    Limit,
                    "the call ran longer than the instructions it was allowed"
                );
            };
            left = rest;
            let index = next;
            let result = run_step(self, linked, index, step, run);
            next = result.map_err(|error| plan.at_step(error, index))?;
        }
        Ok(())
    }

    /// Runs an instruction, with what comes before it. Returns the index of the next one.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        linked: &LinkedMethod,
        index: usize,
        step: &Step,
        run: &Run<'_>,
    ) -> Result<usize> {
        let plan = &*linked.plan;
        self.before_step(linked, index, run)?;
        match step {
            Step::Kernel {
                operator,
                arguments,
            } => {
                let ids = plan.arguments(*arguments);
                self.run_kernel(linked, index, *operator as usize, ids, run.options)?;
                Ok(index + 1)
            }
            Step::Delegate {
                delegate,
                arguments,
            } => {
                let which = *delegate as usize;
                let call = DelegateCall {
                    instruction: index,
                    arguments: plan.arguments(*arguments),
                    profile: match run.profiles {
                        ProfileSource::Loaded => linked.profiles[which],
                        ProfileSource::Automatic => None,
                        ProfileSource::Call => self.delegates[which].profile,
                    },
                };
                self.run_delegate(which, &call, run)?;
                Ok(index + 1)
            }
            Step::Move { from, to } => {
                self.frame.slots[to.index()] = self.frame.slots[from.index()].clone();
                Ok(index + 1)
            }
            Step::JumpIfFalse {
                condition,
                destination,
            } => {
                wait_for_value(&self.frame, &mut self.devices, *condition, Access::Read)?;
                Ok(match self.holds(*condition)? {
                    true => index + 1,
                    false => *destination as usize,
                })
            }
            // Upstream gives the memory back to an allocator. Here it stays with the tensor,
            // for the next call will need it again.
            Step::Free { .. } | Step::Folded { .. } | Step::Fused { .. } => Ok(index + 1),
        }
    }

    /// Does what comes before an instruction, or before the end of the call.
    #[inline(always)]
    fn before_step(&mut self, linked: &LinkedMethod, index: usize, run: &Run<'_>) -> Result<()> {
        if run.defers {
            let can = self.can_defer(index, run.options)?;
            if self.is_capture() {
                self.check_capture(index, run.options, can)?;
            }
            self.defer(can)?;
        }
        let places = &linked.places;
        for step in places.before(index) {
            match step.what {
                What::Persist(index, action) => {
                    let coherence = &self.coherence[index];
                    let _span = persist_span(linked, coherence, index, action, run.options);
                    let mut transfer = Transfer {
                        frame: &mut self.frame,
                        devices: &mut self.devices,
                    };
                    transfer.persist(&places.persistent[index], coherence, action)?;
                }
                What::Copy(copy) => self.transfer().copy_parts(&places.copies[copy])?,
                What::PassShape(from, to) => self.transfer().pass_shape(from, to)?,
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn run_kernel(
        &mut self,
        linked: &LinkedMethod,
        index: usize,
        operator: usize,
        ids: &[ValueId],
        options: &RunOptions<'_>,
    ) -> Result<()> {
        let execution = linked.executions[index];
        if let Execution::Kernel(overlap) = execution {
            let kernel = &linked.kernels[operator];
            let access = ArgumentAccess::of_operator(kernel.signature(), overlap);
            wait_for_host(&self.frame, &mut self.devices, ids, &access)?;
            let context = KernelContext {
                threads: options.threads.unwrap_or(self.threads),
                prepacked: linked.prepacked[index].as_ref(),
                unused: linked.unused[index],
            };
            return kernel.run(&mut self.frame, &mut self.scratch, ids, overlap, context);
        }
        self.run_elsewhere(linked, index, operator, ids, options)
    }

    /// Runs an operator that its kernel does not run on the host.
    fn run_elsewhere(
        &mut self,
        linked: &LinkedMethod,
        index: usize,
        operator: usize,
        ids: &[ValueId],
        options: &RunOptions<'_>,
    ) -> Result<()> {
        let skipped = options.device_outputs && linked.output_copies[index];
        match linked.executions[index] {
            Execution::Download(_) if skipped => self.transfer().pass_shape(ids[0], ids[1]),
            Execution::Fetch { .. } if skipped => Ok(()),
            Execution::Upload(_) => self.transfer().upload(ids[0], ids[1]),
            Execution::UploadInput { input, .. } => match self.given[input] {
                Given::Placed => self.transfer().upload(ids[0], ids[1]),
                Given::Borrowed => {
                    let borrowed = linked.places.input(input).map(|placed| placed.borrowed);
                    let borrowed = borrowed.unwrap_or(StorageId(u32::MAX));
                    self.transfer().upload_input(borrowed, ids[0], ids[1])
                }
                Given::InPlace => self.transfer().pass_shape(ids[0], ids[1]),
                Given::OnDevice(location) => self.transfer().copy_input(location, ids[0], ids[1]),
            },
            Execution::CopyParts(copy) => self.transfer().copy_parts(&linked.places.copies[copy]),
            Execution::Download(_) => self.transfer().download(ids[0], ids[1]),
            Execution::Copy(_) => self.transfer().copy_on_device(ids[0], ids[1]),
            Execution::Fetch {
                device,
                storage,
                offset,
                to,
            } => self.transfer().fetch(device, storage, offset, to),
            Execution::Elided => self.transfer().pass_shape(ids[0], ids[1]),
            Execution::View => {
                let context = KernelContext::on_threads(options.threads.unwrap_or(self.threads));
                let (frame, scratch) = (&mut self.frame, &mut self.scratch);
                linked.kernels[operator].run(frame, scratch, ids, Overlap::View, context)
            }
            Execution::Nothing | Execution::Other | Execution::Kernel(_) => Ok(()),
        }
    }

    fn run_delegate(&mut self, index: usize, call: &DelegateCall<'_>, run: &Run<'_>) -> Result<()> {
        let defers = self.devices.iter().any(DeviceQueue::defers);
        let mut devices = self.devices.iter();
        if defers && devices.any(|device| device.has_deferred_delegate(index)) {
            self.flush()?;
        }
        self.delegates[index].executed = true;
        if let Some(profile) = call.profile {
            run.options.tracer().note("pinned profile", profile);
        }
        if defers {
            let encoded =
                self.with_delegate(index, call, run, |delegate, call| delegate.encode(call))?;
            if let (Some(key), [device]) = (encoded, &mut *self.devices) {
                device.add_delegate(index, key, call.instruction);
                return Ok(());
            }
            ensure!(
                !self.is_capture(),
                Unsupported,
                "the caller captures the stream of this call, and this delegate cannot be captured: \
                 because it never can, or since no call like this one came before, outside of a \
                 capture"
            );
            self.defer(false)?;
        }
        self.with_delegate(index, call, run, |delegate, call| delegate.execute(call))
    }

    fn with_delegate<T>(
        &mut self,
        index: usize,
        call: &DelegateCall<'_>,
        run: &Run<'_>,
        with: impl FnOnce(&mut dyn DelegateInstance, &mut Call<'_>) -> T,
    ) -> T {
        let mut devices = DelegateDevices {
            queues: &mut self.devices,
            options: run.options,
        };
        let context = CallContext {
            number: run.number,
            profile: call.profile,
            tracer: run.options.tracer(),
        };
        let mut call = Call::new(
            &mut self.frame,
            &mut self.scratch,
            &mut devices,
            call.arguments,
            context,
        );
        let result = with(&mut *self.delegates[index].instance, &mut call);
        let devices = self.devices.iter_mut();
        devices.for_each(DeviceQueue::take_stream_back);
        result
    }

    /// A condition holds if it is true, or a tensor of booleans that are all true.
    fn holds(&self, condition: ValueId) -> Result<bool> {
        let slot = self.frame.slot(condition)?;
        if let Some(Scalar::Bool(holds)) = slot.number() {
            return Ok(holds);
        }
        let Slot::Tensor(id) = slot else {
            bail!(InvalidProgram, "the condition is not a boolean");
        };
        let tensor = self.frame.view(*id)?;
        ensure!(
            tensor.dtype() == DType::Bool,
            InvalidProgram,
            "the condition is a tensor of {}, not of booleans",
            tensor.dtype()
        );
        Ok(tensor.data::<Bool>()?.iter().all(|element| element.get()))
    }
}
