//! Method instances, and the running of calls.

mod inputs;
mod outputs;
mod putting_off;
mod traced;

use std::cell::Cell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

pub use outputs::Outputs;

use self::putting_off::flush;
use self::traced::brings;
use crate::device::{DeviceAddress, DeviceState, Use};
use crate::link::{Execution, LinkedMethod, LinkedStorage, PlacedStorage, What};
use crate::memory::{
    Arguments, Block, Overlap, Scratch, Sides, Slot, Storage, StorageId, TensorId, TensorSlot,
    Values,
};
use crate::plan::{MethodPlan, Step};
use crate::state::StateGuard;
use crate::trace::Category;
use crate::{Bool, Call, CallEnd, DType, DelegateInstance, Input, KernelCall, MethodInfo, Result};
use crate::{RunOptions, Scalar, Stamp, State, Trace, Tracer, ValueId, bail, ensure};

/// An instance of a method: its memory, its delegates, its mutable buffers.
///
/// # One call at a time
/// [`run`](Method::run) takes `&mut self`, because an instance's memory serves one call at a
/// time, and outputs are borrowed from it. For calls at the same time take several instances from
/// the [`Program`](crate::Program); they share everything that does not change, so an instance
/// costs the memory that its calls compute in and nothing else.
pub struct Method {
    state: State,
    instance: Instance,
}

/// What a call works on, apart from the state that it may share.
struct Instance {
    // Devices first: they are dropped first, and then wait until nothing uses the memory any more.
    devices: Vec<DeviceState>,
    linked: Arc<LinkedMethod>,
    values: Values,
    scratch: Scratch,
    delegates: Vec<DelegateState>,
    threads: usize,
    /// For each input, where it is.
    given: Vec<Given>,
    /// Who has what is kept on devices.
    kept: Vec<Arc<Sides>>,
    /// Whether some of that is the state's, or delegates have some of the state on devices.
    keeps_state: bool,
    /// Whether the call leaves outputs on devices.
    device_outputs: bool,
    /// Copies of outputs that lie in shared state, by output.
    output_copies: Vec<Option<Block>>,
}

/// A delegate of the instance.
struct DelegateState {
    instance: Box<dyn DelegateInstance>,
    /// Whether this call has executed it.
    executed: bool,
    /// What this call pins, if it pins anything.
    profile: Option<usize>,
    /// Whether it was said that its only profile takes the place of another.
    warned: bool,
}

/// Where it is said which profiles a call uses.
#[derive(Clone, Copy)]
enum Profiles {
    /// In what the program was loaded with.
    Loaded,
    /// Nowhere: everything is chosen by the inputs.
    Automatic,
    /// In the call's options; delegates have been told.
    Call,
}

/// What is the same for all instructions of a call.
struct Running<'r> {
    options: &'r RunOptions<'r>,
    profiles: Profiles,
    number: u64,
    /// Whether what is asked of the device is put off for as long as that can be.
    puts_off: bool,
}

/// What a delegate is called with.
struct Calling<'c> {
    instruction: usize,
    ids: &'c [ValueId],
    options: &'c RunOptions<'c>,
    number: u64,
    profile: Option<usize>,
}

/// Where an input is.
#[derive(Clone, Copy)]
enum Given {
    /// In its place on the host.
    Placed,
    /// In the caller's memory on the host, to be copied to a device.
    Lent,
    /// In the caller's memory on the device, and used there.
    InPlace,
    /// In the caller's memory on the device, to be copied to its place there.
    OnDevice(InputPlace),
}

/// Where a caller has an input on a device.
#[derive(Clone, Copy)]
pub(crate) struct InputPlace {
    /// The index of the device.
    pub(crate) device: usize,
    pub(crate) address: DeviceAddress,
    pub(crate) len: usize,
}

/// Choices for making an instance.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct MethodOptions {
    state: Option<State>,
    pub(crate) trace: Option<Trace>,
}

impl MethodOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Named mutable buffers are those of this state, rather than the instance's own.
    pub fn state(mut self, state: &State) -> Self {
        self.state = Some(state.clone());
        self
    }

    /// Writes down in a trace what making the instance does: the loading of delegates, where it is the
    /// first of the method, and what is the instance's own.
    pub fn trace(mut self, trace: &Trace) -> Self {
        self.trace = Some(trace.clone());
        self
    }
}

impl Method {
    pub(crate) fn new(
        linked: Arc<LinkedMethod>,
        options: &MethodOptions,
        threads: usize,
    ) -> Result<Self> {
        let tracer = Tracer::new(options.trace.as_ref());
        let _instance = tracer.begin(Category::Load, "make an instance");
        let state = options.state.clone().unwrap_or_default();
        let memory = tracer.begin(Category::Load, "memory of the instance");
        let (storages, kept) = storages(&linked, &state)?;
        let tensors = linked
            .plan
            .tensors
            .iter()
            .enumerate()
            .map(|(index, tensor)| {
                let id = TensorId(index as u32);
                TensorSlot::new(tensor, linked.places.of(id), linked.moving.may_move(id))
            })
            .collect::<Result<_>>()?;
        let mut values = Values::new(linked.slots(), tensors, storages);
        for (tensor, bytes) in &linked.initial {
            values.write(*tensor, bytes.get())?;
        }
        drop(memory);
        if tracer.is_on() {
            // Now, rather than in the first call that is traced.
            linked.names();
        }
        let delegates = linked
            .delegates
            .iter()
            .enumerate()
            .map(|(index, delegate)| {
                let span = tracer.begin(Category::Load, "instance of a delegate");
                if tracer.is_on() {
                    span.note("delegate", index);
                    span.note("backend", linked.plan.delegates[index].backend.clone());
                }
                Ok(DelegateState {
                    instance: delegate.instance(&state)?,
                    executed: false,
                    profile: None,
                    warned: false,
                })
            })
            .collect::<Result<_>>()?;
        let copy = |execution: &&Execution| {
            matches!(
                execution,
                Execution::Upload(_)
                    | Execution::UploadInput { .. }
                    | Execution::Download(_)
                    | Execution::Fetch { .. }
            )
        };
        let copies = linked.executions.iter().filter(copy).count() + linked.lends.len();
        let devices = linked
            .devices
            .iter()
            .map(|device| DeviceState::new(device.clone(), copies))
            .collect::<Result<_>>()?;
        let instance = Instance {
            devices,
            output_copies: linked.plan.outputs.iter().map(|_| None).collect(),
            values,
            scratch: Scratch::new(),
            delegates,
            threads,
            given: vec![Given::Placed; linked.plan.inputs.len()],
            kept,
            device_outputs: false,
            keeps_state: linked.delegates.iter().any(|delegate| delegate.has_state())
                || linked.places.kept.iter().any(|kept| {
                    let host = &linked.storages[kept.host.0.0 as usize];
                    matches!(host, LinkedStorage::State { .. })
                }),
            linked,
        };
        Ok(Self { state, instance })
    }

    /// Runs the method.
    ///
    /// Inputs are given in the program's order, one for each leaf of what the exported module
    /// takes. Outputs are borrowed from the method until its next call; those that the program
    /// passes through unchanged are borrowed from the inputs.
    ///
    /// # Errors
    /// If an input does not fit, or an instruction fails. The method can be called again after
    /// any error; mutable buffers may have been written in part.
    pub fn run<'m>(&'m mut self, inputs: &[Input<'m>]) -> Result<Outputs<'m>> {
        self.run_with(inputs, &RunOptions::default())
    }

    /// Runs the method, with choices for this call.
    ///
    /// # Errors
    /// As for [`Method::run`].
    pub fn run_with<'m>(
        &'m mut self,
        inputs: &[Input<'m>],
        options: &RunOptions<'_>,
    ) -> Result<Outputs<'m>> {
        let span = options.tracer().trace().map(|trace| {
            let name = self.name().to_string();
            trace.tracer().begin(Category::Call, name)
        });
        let turn = self.instance.linked.has_state.then(|| {
            let _span = options.tracer().wait("wait for the state");
            self.state.lock()
        });
        let state = turn.as_ref().map(|turn| (&self.state, turn));
        let result = self.instance.call(inputs, options, state);
        drop(turn);
        match result {
            Ok(()) => Ok(Outputs::new(&self.instance)),
            Err(error) => {
                let error = error.in_method(self.name());
                if let Some(span) = span {
                    span.note("error", error.to_string());
                }
                Err(error)
            }
        }
    }

    /// The method's name.
    pub fn name(&self) -> &str {
        &self.instance.linked.plan.name
    }

    /// What the method takes and returns.
    pub fn info(&self) -> MethodInfo {
        MethodInfo::new(&self.instance.linked.plan)
    }

    /// The method's named mutable buffers, to read and write them, to share them with another
    /// instance, or to start anew.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Bytes of host memory that this instance holds for itself, temporary memory included.
    /// Delegates and shared things are not counted.
    pub fn memory_used(&self) -> usize {
        self.instance.values.owned_bytes() + self.instance.scratch.capacity()
    }
}

impl Instance {
    fn plan(&self) -> &MethodPlan {
        &self.linked.plan
    }

    /// A whole call. Whatever happens, also if an operator panics, what it has asked devices for is
    /// remembered at its end, and the instance is ready for the next call.
    fn call(
        &mut self,
        inputs: &[Input<'_>],
        options: &RunOptions<'_>,
        state: Option<(&State, &StateGuard<'_>)>,
    ) -> Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.device_outputs = options.device_outputs;
        let tracer = options.tracer();
        tracer.note("call", number);
        // Unwind safe, since what a panic leaves behind is what an error does.
        let mut result = panic::catch_unwind(AssertUnwindSafe(|| {
            let profiles = self.choose_profiles(options)?;
            for device in &mut self.devices {
                device.begin(options)?;
                if let Some(trace) = tracer.trace() {
                    device.trace(trace, self.linked.names());
                }
            }
            if let Some((state, turn)) = state {
                let _span = tracer.begin(Category::Call, "state");
                self.begin_with_state(state, turn)?;
            }
            ensure!(
                self.devices.len() == 1 || !self.is_recorded(),
                Unsupported,
                "the caller records a stream of this call, whose method has memory on several devices"
            );
            let span = tracer.begin(Category::Call, "inputs");
            self.set_inputs(inputs)?;
            drop(span);
            self.execute(options, profiles, number)?;
            let _span = tracer.begin(Category::Call, "outputs");
            self.finish_outputs()
        }));
        let ending = tracer.begin(Category::Call, "end of the call");
        // What came before an error is done, as it is where nothing is put off.
        if self.devices.iter().any(DeviceState::has_tasks) {
            let flushed = panic::catch_unwind(AssertUnwindSafe(|| {
                flush(&mut self.devices, &mut self.delegates, &self.linked.plan)
            }));
            result = result.and_then(|result| flushed.map(|flushed| result.and(flushed)));
        }
        // Before what the call leaves in flight is recorded, since this may add to it.
        for index in 0..self.delegates.len() {
            let ended = self.end_delegate(index, number);
            result = result.and_then(|result| ended.map(|ended| result.and(ended)));
        }
        for device in &mut self.devices {
            device.collect(false);
            device.take_stream_back();
            let ended = device.end(state.map(|(state, _)| state).filter(|_| self.keeps_state));
            result = result.map(|result| result.and(ended));
        }
        if tracer.is_on() {
            self.count_memory(tracer);
        }
        drop(ending);
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                self.recover();
                Err(error)
            }
            Err(panic) => {
                self.recover();
                panic::resume_unwind(panic)
            }
        }
    }

    /// Tells delegates which profiles a call pins, and says where that is said.
    fn choose_profiles(&mut self, options: &RunOptions<'_>) -> Result<Profiles> {
        let Some(profile) = &options.profile else {
            return Ok(Profiles::Loaded);
        };
        let Some(pins) = profile.pins() else {
            return Ok(Profiles::Automatic);
        };
        let linked = &self.linked;
        linked.outline.check(pins)?;
        linked.profiled.check(pins, true)?;
        for (index, delegate) in self.delegates.iter_mut().enumerate() {
            let resolved = linked.profiled.resolve(pins, index)?;
            if resolved.replaced && !std::mem::replace(&mut delegate.warned, true) {
                linked.profiled.warn(pins, index);
            }
            delegate.profile = resolved.profile;
        }
        Ok(Profiles::Call)
    }

    /// Puts the state where the instructions look for it, and the call after others that use it.
    fn begin_with_state(&mut self, state: &State, turn: &StateGuard<'_>) -> Result<()> {
        if self.keeps_state {
            for device in &mut self.devices {
                device.begin_after(state, turn)?;
            }
        }
        for &(storage, may_write) in &self.linked.states_on_host {
            let Some(block) = self.values.state_block(storage) else {
                continue;
            };
            state.bring_to_host(block, turn)?;
            if may_write {
                block.sides().host_only();
            }
        }
        for kept in &self.linked.places.kept {
            // What is on another device than this method uses comes by way of the host.
            if let Some(block) = self.values.state_block(kept.host.0)
                && !block.sides().on_device(self.devices[kept.device].id())
            {
                state.bring_to_host(block, turn)?;
            }
        }
        Ok(())
    }

    /// Tells a delegate that the call is over, if it has taken part in it.
    #[inline]
    fn end_delegate(&mut self, index: usize, number: u64) -> thread::Result<Result<()>> {
        let delegate = &mut self.delegates[index];
        if !std::mem::take(&mut delegate.executed) {
            return Ok(Ok(()));
        }
        let devices = &self.devices;
        // Unwind safe as the call is.
        panic::catch_unwind(AssertUnwindSafe(|| {
            delegate.instance.end(&CallEnd { number, devices })
        }))
    }

    fn execute(&mut self, options: &RunOptions<'_>, profiles: Profiles, number: u64) -> Result<()> {
        let linked = self.linked.clone();
        let running = Running {
            options,
            profiles,
            number,
            puts_off: matches!(&*self.devices, [device] if device.may_collect()),
        };
        // Two loops, so that one that is not traced has no instruction for it.
        match options.tracer().trace() {
            None => self.run_steps(&linked, &running, Self::step)?,
            Some(trace) => self.run_traced_steps(&linked, &running, trace)?,
        }
        self.make_ready(&linked, linked.plan.steps.len(), options, running.puts_off)?;
        self.put_off(false)
    }

    #[inline(always)]
    fn run_steps(
        &mut self,
        linked: &LinkedMethod,
        running: &Running<'_>,
        run: impl Fn(&mut Self, &LinkedMethod, usize, &Step, &Running<'_>) -> Result<usize>,
    ) -> Result<()> {
        let plan = &*linked.plan;
        let mut left = running.options.instruction_limit.unwrap_or(u64::MAX);
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
            let result = run(self, linked, index, step, running);
            next = result.map_err(|error| error.at_instruction(index, &plan.step_name(index)))?;
        }
        Ok(())
    }

    /// Runs an instruction, with what comes before it. Gives the number of the next one.
    #[inline(always)]
    fn step(
        &mut self,
        linked: &LinkedMethod,
        index: usize,
        step: &Step,
        running: &Running<'_>,
    ) -> Result<usize> {
        let Running {
            options,
            profiles,
            number,
            puts_off,
        } = *running;
        let plan = &*linked.plan;
        self.make_ready(linked, index, options, puts_off)?;
        match step {
            Step::Kernel {
                operator,
                arguments,
            } => {
                let ids = plan.arguments(*arguments);
                self.run_kernel(linked, index, *operator as usize, ids, options)?;
                Ok(index + 1)
            }
            Step::Delegate {
                delegate,
                arguments,
            } => {
                let ids = plan.arguments(*arguments);
                let which = *delegate as usize;
                let profile = match profiles {
                    Profiles::Loaded => linked.profiles[which],
                    Profiles::Automatic => None,
                    Profiles::Call => self.delegates[which].profile,
                };
                let call = Calling {
                    instruction: index,
                    ids,
                    options,
                    number,
                    profile,
                };
                self.run_delegate(which, &call)?;
                Ok(index + 1)
            }
            Step::Move { from, to } => {
                self.values.slots[to.index()] = self.values.slots[from.index()].clone();
                Ok(index + 1)
            }
            Step::JumpIfFalse {
                condition,
                destination,
            } => {
                let values = &self.values;
                values.wait_for_value(&mut self.devices, *condition, Use::Read)?;
                Ok(match holds(values, *condition)? {
                    true => index + 1,
                    false => *destination as usize,
                })
            }
            // Upstream gives the memory back to an allocator. Here it stays with the tensor,
            // for the next call will need it again.
            Step::Free { .. } | Step::Known { .. } | Step::Absorbed { .. } => Ok(index + 1),
        }
    }

    /// Does what comes before an instruction, or before the end of the call. `puts_off`: what is asked
    /// of the device is put off for as long as that can be.
    #[inline(always)]
    fn make_ready(
        &mut self,
        linked: &LinkedMethod,
        index: usize,
        options: &RunOptions<'_>,
        puts_off: bool,
    ) -> Result<()> {
        if puts_off {
            let can = self.can_be_put_off(index, options)?;
            if self.is_recorded() {
                self.check_recordable(index, options, can)?;
            }
            self.put_off(can)?;
        }
        let (places, values, devices) = (&linked.places, &mut self.values, &mut self.devices);
        for step in places.before(index) {
            match step.what {
                What::Keep(index, action) => {
                    let _span = brings(linked, &self.kept[index], index, action, options);
                    values.keep(devices, &places.kept[index], &self.kept[index], action)?;
                }
                What::Copy(copy) => values.copy_parts(devices, &places.copies[copy])?,
                What::PassShape(from, to) => values.pass_shape(from, to)?,
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
        let Self {
            devices,
            values,
            scratch,
            given,
            ..
        } = self;
        let threads = options.threads.unwrap_or(self.threads);
        let skipped = options.device_outputs && linked.output_copies[index];
        match linked.executions[index] {
            Execution::Download(_) if skipped => values.pass_shape(ids[0], ids[1]),
            Execution::Fetch { .. } if skipped => Ok(()),
            Execution::Kernel(overlap) => {
                let kernel = &linked.kernels[operator];
                let lending = kernel.signature().lending(overlap);
                values.wait_for_host(devices, ids, &lending)?;
                let call = KernelCall::new(
                    Arguments::unkept(values, scratch, ids, &lending),
                    threads,
                    linked.prepared[index].as_ref(),
                    linked.unread[index],
                );
                call.keep_inputs()?;
                kernel.run(&call)
            }
            Execution::Upload(_) => values.upload(devices, ids[0], ids[1]),
            Execution::UploadInput { input, .. } => match given[input] {
                Given::Placed => values.upload(devices, ids[0], ids[1]),
                Given::Lent => {
                    let lent = linked.places.input(input).map(|placed| placed.lent);
                    let lent = lent.unwrap_or(StorageId(u32::MAX));
                    values.upload_input(devices, lent, ids[0], ids[1])
                }
                Given::InPlace => values.pass_shape(ids[0], ids[1]),
                Given::OnDevice(place) => values.copy_input(devices, place, ids[0], ids[1]),
            },
            Execution::CopyParts(copy) => values.copy_parts(devices, &linked.places.copies[copy]),
            Execution::Download(_) => values.download(devices, ids[0], ids[1]),
            Execution::Copy(_) => values.copy_on_device(devices, ids[0], ids[1]),
            Execution::Fetch {
                device,
                storage,
                offset,
                to,
            } => values.fetch(devices, device, storage, offset, to),
            Execution::Elided => values.pass_shape(ids[0], ids[1]),
            Execution::View => {
                let kernel = &linked.kernels[operator];
                let lending = kernel.signature().lending(Overlap::View);
                let call = Arguments::new(values, scratch, ids, &lending)?;
                kernel.run(&KernelCall::new(call, threads, None, 0))
            }
            Execution::Nothing | Execution::Other => Ok(()),
        }
    }

    fn run_delegate(&mut self, index: usize, calling: &Calling<'_>) -> Result<()> {
        let puts_off = self.devices.iter().any(DeviceState::collects);
        if puts_off && self.devices.iter().any(|device| device.has_task_of(index)) {
            flush(&mut self.devices, &mut self.delegates, &self.linked.plan)?;
        }
        self.delegates[index].executed = true;
        if let Some(profile) = calling.profile {
            calling.options.tracer().note("pinned profile", profile);
        }
        if puts_off {
            let prepared =
                self.with_delegate(index, calling, |delegate, call| delegate.prepare(call))?;
            if let (Some(Stamp(stamp)), [device]) = (prepared, &mut *self.devices) {
                device.add_delegate(index, stamp, calling.instruction);
                return Ok(());
            }
            ensure!(
                !self.is_recorded(),
                Unsupported,
                "the caller records the stream of this call, and this delegate cannot be recorded: \
                 because it never can, or since no call like this one came before, outside of a \
                 recording"
            );
            self.put_off(false)?;
        }
        self.with_delegate(index, calling, |delegate, call| delegate.execute(call))
    }

    fn with_delegate<T>(
        &mut self,
        index: usize,
        calling: &Calling<'_>,
        with: impl FnOnce(&mut dyn DelegateInstance, &mut Call<'_>) -> T,
    ) -> T {
        let result = with(
            &mut *self.delegates[index].instance,
            &mut Call {
                values: &mut self.values,
                scratch: &mut self.scratch,
                devices: &mut self.devices,
                arguments: calling.ids,
                options: calling.options,
                number: calling.number,
                profile: calling.profile,
            },
        );
        let devices = self.devices.iter_mut();
        devices.for_each(DeviceState::take_stream_back);
        result
    }

    /// From now on, what is asked of devices is put off, or asked for at once, after what was put off.
    fn put_off(&mut self, puts_off: bool) -> Result<()> {
        if !puts_off {
            flush(&mut self.devices, &mut self.delegates, &self.linked.plan)?;
        }
        let devices = self.devices.iter_mut();
        devices.for_each(|device| device.collect(puts_off));
        Ok(())
    }

    /// Sets back what a call that stopped midway may have left behind: the counter of a loop, or
    /// a value that was moved elsewhere.
    #[cold]
    fn recover(&mut self) {
        self.values.slots = self.linked.slots();
        self.forget_inputs();
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// The storages of an instance, and who has what is kept of them on devices.
fn storages(linked: &LinkedMethod, state: &State) -> Result<(Vec<Storage>, Vec<Arc<Sides>>)> {
    let mut storages: Vec<Storage> = Vec::with_capacity(linked.storages.len());
    let mut kept = Vec::new();
    for storage in &linked.storages {
        storages.push(match storage {
            LinkedStorage::Arena {
                bytes,
                device: Some(device),
            } => Storage::pinned(linked.devices[*device].allocate_pinned(*bytes)?, *device),
            LinkedStorage::Arena { bytes, .. } => Storage::block(Block::zeroed(*bytes)?),
            LinkedStorage::DeviceArena { bytes, device } => {
                Storage::device(linked.devices[*device].allocate(*bytes)?.into(), *device)
            }
            LinkedStorage::Constant(bytes) => Storage::file(&bytes.file, &bytes.range)?,
            LinkedStorage::Copied(block) => Storage::constant(block.clone()),
            LinkedStorage::State {
                name,
                bytes,
                initial,
            } => Storage::state(state.buffer(name, *bytes, initial.as_ref())?),
            LinkedStorage::Caller | LinkedStorage::Placed(PlacedStorage::Lent) => Storage::caller(),
            LinkedStorage::Growing => Storage::growing()?,
            LinkedStorage::Placed(PlacedStorage::Input(input)) => {
                let Some(placed) = linked.places.input(*input) else {
                    bail!(Internal, "input {input} has no place on a device");
                };
                let (arena, offset) = placed.home;
                let address = storages[arena.0 as usize].address(offset, placed.bytes)?;
                Storage::device_place(address, placed.bytes, placed.device)
            }
            LinkedStorage::Placed(PlacedStorage::Kept(index)) => {
                let what = &linked.places.kept[*index];
                let sides = match storages[what.host.0.0 as usize].state_sides() {
                    Some(sides) => sides.clone(),
                    None => Arc::new(Sides::new()),
                };
                let memory = sides.memory_on(&linked.devices[what.device], what.bytes)?;
                kept.push(sides);
                Storage::device(memory, what.device)
            }
        });
    }
    Ok((storages, kept))
}

/// A condition holds if it is true, or a tensor of booleans that are all true.
fn holds(values: &Values, condition: ValueId) -> Result<bool> {
    let slot = values.slot(condition)?;
    if let Some(Scalar::Bool(holds)) = slot.number() {
        return Ok(holds);
    }
    let Slot::Tensor(id) = slot else {
        bail!(InvalidProgram, "the condition is not a boolean");
    };
    let tensor = values.view(*id)?;
    ensure!(
        tensor.dtype() == DType::Bool,
        InvalidProgram,
        "the condition is a tensor of {}, not of booleans",
        tensor.dtype()
    );
    Ok(tensor.data::<Bool>()?.iter().all(|element| element.get()))
}

/// A number in the place of a value.
fn number(value: impl Into<Scalar>) -> Slot {
    Slot::Scalar(Cell::new(Some(value.into())))
}
