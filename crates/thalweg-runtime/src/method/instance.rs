//! An instance: what calls of a method work on, apart from the state that they may share.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use thalweg_core::engine::{Block, Category, Frame, Scratch, Storage, TensorId, TensorSlot};
use thalweg_core::{CallEnd, DelegateInstance, Input, Result, Tracer, bail, ensure};

use super::delegate_devices::DelegateDevices;
use crate::link::{LinkedMethod, LinkedStorage};
use crate::options::RunOptions;
use crate::plan::MethodPlan;
use crate::schedule::{Execution, PlacedStorage};
use crate::state::{Coherence, SharedBlock, State, StateGuard};
use crate::submit::DeviceQueue;
use crate::transfer::DeviceInputLocation;
use crate::transfer::Transfer;

/// What calls of a method work on, apart from the state that they may share.
pub(crate) struct Instance {
    // Devices first: they are dropped first, and then wait until nothing uses the memory any more.
    pub(super) devices: Vec<DeviceQueue>,
    pub(super) linked: Arc<LinkedMethod>,
    pub(super) frame: Frame,
    pub(super) scratch: Scratch,
    pub(super) delegates: Vec<DelegateSlot>,
    pub(super) threads: usize,
    /// For each input, where the caller has it.
    pub(super) given: Vec<Given>,
    /// By index, the coherence states of the persistent buffers.
    pub(super) coherence: Vec<Arc<Coherence>>,
    /// By index of the linked storages, the named buffers.
    pub(super) named: Vec<Option<SharedBlock>>,
    /// True if calls use some of the state on devices.
    state_on_devices: bool,
    /// True if the call leaves outputs on devices.
    pub(super) device_outputs: bool,
    /// Copies of outputs that lie in shared state, by output.
    pub(super) output_copies: Vec<Option<Block>>,
}

/// A delegate of the instance.
pub(super) struct DelegateSlot {
    pub(super) instance: Box<dyn DelegateInstance>,
    /// True if this call has executed it.
    pub(super) executed: bool,
    /// The profile that this call pins, if it pins one.
    pub(super) profile: Option<usize>,
    /// True if it was logged that its only profile takes the place of another.
    pub(super) warned: bool,
}

/// The origin of the profiles that a call uses.
#[derive(Clone, Copy)]
pub(super) enum ProfileSource {
    /// The options that the program was loaded with.
    Loaded,
    /// None: the inputs decide.
    Automatic,
    /// The call's options; delegates have been told.
    Call,
}

/// Where the caller has an input.
#[derive(Clone, Copy)]
pub(super) enum Given {
    /// In its planned location on the host.
    Placed,
    /// In the caller's memory on the host, to be copied to a device.
    Borrowed,
    /// In the caller's memory on the device, and used there.
    InPlace,
    /// In the caller's memory on the device, to be copied to its planned location there.
    OnDevice(DeviceInputLocation),
}

impl Instance {
    pub(super) fn new(
        linked: Arc<LinkedMethod>,
        state: &State,
        threads: usize,
        tracer: Tracer<'_>,
    ) -> Result<Self> {
        let memory = tracer.begin(Category::Load, "memory of the instance");
        let mut memories = Memories::default();
        for storage in &linked.storages {
            memories.add(&linked, state, storage)?;
        }
        let tensors = linked.plan.tensors.iter().enumerate();
        let tensors = tensors.map(|(index, tensor)| {
            let id = TensorId(index as u32);
            let planned = (tensor.storage, tensor.offset);
            let location = linked.places.of(id).unwrap_or(planned);
            TensorSlot::new(&tensor.spec, location, linked.moving.may_move(id))
        });
        let tensors = tensors.collect::<Result<_>>()?;
        let mut frame = Frame::new(linked.slots(), tensors, memories.storages)?;
        for (tensor, bytes) in &linked.initial {
            frame.write(*tensor, bytes)?;
        }
        drop(memory);
        if tracer.is_on() {
            // Now, rather than in the first call that is traced.
            linked.names();
        }
        let delegates = delegates(&linked, state, tracer)?;
        let copies = linked
            .executions
            .iter()
            .filter(|e| e.is_host_copy())
            .count();
        let copies = copies + linked.lends.len();
        let devices = linked.devices.iter();
        let devices = devices.map(|device| DeviceQueue::new(device.clone(), copies));
        let persistent = linked.places.persistent.iter();
        let persists_state = persistent
            .clone()
            .any(|buffer| memories.named[buffer.host.0.0 as usize].is_some());
        Ok(Self {
            devices: devices.collect::<Result<_>>()?,
            output_copies: linked.plan.outputs.iter().map(|_| None).collect(),
            frame,
            scratch: Scratch::new(),
            delegates,
            threads,
            given: vec![Given::Placed; linked.plan.inputs.len()],
            coherence: memories.coherence,
            named: memories.named,
            device_outputs: false,
            state_on_devices: persists_state
                || linked.delegates.iter().any(|delegate| delegate.has_state()),
            linked,
        })
    }

    pub(super) fn plan(&self) -> &MethodPlan {
        &self.linked.plan
    }

    /// The copies of the instance.
    #[inline]
    pub(super) fn transfer(&mut self) -> Transfer<'_> {
        Transfer {
            frame: &mut self.frame,
            devices: &mut self.devices,
        }
    }

    /// A whole call. Whatever happens, also if an operator panics, the end of what it has submitted to
    /// devices is recorded, and the instance is ready for the next call.
    pub(super) fn call(
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
        let result = panic::catch_unwind(AssertUnwindSafe(|| {
            let profiles = self.begin(options, state)?;
            let span = tracer.begin(Category::Call, "inputs");
            self.set_inputs(inputs)?;
            drop(span);
            self.execute(options, profiles, number)?;
            let _span = tracer.begin(Category::Call, "outputs");
            self.finish_outputs()
        }));
        let ending = tracer.begin(Category::Call, "end of the call");
        let state = state.map(|(state, _)| state);
        let result = self.end(result, state, options, number);
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

    /// Makes devices and delegates ready for a call.
    fn begin(
        &mut self,
        options: &RunOptions<'_>,
        state: Option<(&State, &StateGuard<'_>)>,
    ) -> Result<ProfileSource> {
        let tracer = options.tracer();
        let profiles = self.choose_profiles(options)?;
        for device in &mut self.devices {
            device.begin(options)?;
            if let Some(trace) = options.trace {
                device.trace(trace, self.linked.names());
            }
        }
        if let Some((state, turn)) = state {
            let _span = tracer.begin(Category::Call, "state");
            self.begin_with_state(state, turn)?;
        }
        ensure!(
            self.devices.len() == 1 || !self.is_capture(),
            Unsupported,
            "the caller captures a stream of this call, whose method has memory on several devices"
        );
        Ok(profiles)
    }

    /// Ends a call with its result so far: submits what is deferred, tells delegates, and records the
    /// end on devices.
    fn end(
        &mut self,
        mut result: thread::Result<Result<()>>,
        state: Option<&State>,
        options: &RunOptions<'_>,
        number: u64,
    ) -> thread::Result<Result<()>> {
        // What came before an error is done, as it is where nothing is deferred.
        if self.devices.iter().any(DeviceQueue::has_deferred) {
            let flushed = panic::catch_unwind(AssertUnwindSafe(|| self.flush()));
            result = result.and_then(|result| flushed.map(|flushed| result.and(flushed)));
        }
        // Before the end is recorded, since this may submit more.
        for index in 0..self.delegates.len() {
            let ended = self.end_delegate(index, options, number);
            result = result.and_then(|result| ended.map(|ended| result.and(ended)));
        }
        for device in &mut self.devices {
            device.defer(false);
            device.take_stream_back();
            let ended = device.end(state.filter(|_| self.state_on_devices));
            result = result.map(|result| result.and(ended));
        }
        result
    }

    /// Tells delegates which profiles a call pins.
    fn choose_profiles(&mut self, options: &RunOptions<'_>) -> Result<ProfileSource> {
        let Some(profile) = &options.profile else {
            return Ok(ProfileSource::Loaded);
        };
        let Some(pins) = profile.pins() else {
            return Ok(ProfileSource::Automatic);
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
        Ok(ProfileSource::Call)
    }

    /// Brings the state to where the instructions use it, and orders the call after others that use it.
    fn begin_with_state(&mut self, state: &State, turn: &StateGuard<'_>) -> Result<()> {
        if self.state_on_devices {
            for device in &mut self.devices {
                device.begin_after(state, turn)?;
            }
        }
        for &(storage, may_write) in &self.linked.states_on_host {
            let Some(block) = &self.named[storage.0 as usize] else {
                continue;
            };
            state.bring_to_host(block, turn)?;
            if may_write {
                block.coherence().host_only();
            }
        }
        for buffer in &self.linked.places.persistent {
            // A buffer on another device than the ones of this method is copied through the host.
            if let Some(block) = &self.named[buffer.host.0.0 as usize]
                && !block
                    .coherence()
                    .on_device(self.devices[buffer.device].id())
            {
                state.bring_to_host(block, turn)?;
            }
        }
        Ok(())
    }

    /// Tells a delegate that the call is over, if it has taken part in it.
    #[inline]
    fn end_delegate(
        &mut self,
        index: usize,
        options: &RunOptions<'_>,
        number: u64,
    ) -> thread::Result<Result<()>> {
        let delegate = &mut self.delegates[index];
        if !std::mem::take(&mut delegate.executed) {
            return Ok(Ok(()));
        }
        let devices = DelegateDevices {
            queues: &mut self.devices,
            options,
        };
        // Unwind safe as the call is.
        panic::catch_unwind(AssertUnwindSafe(|| {
            delegate.instance.end(&CallEnd::new(number, &devices))
        }))
    }

    /// Resets what a call that stopped midway may have left behind: the counter of a loop, or
    /// a value that was moved elsewhere.
    #[cold]
    fn recover(&mut self) {
        self.frame.slots = self.linked.slots();
        self.forget_inputs();
    }
}

/// The delegates of an instance.
fn delegates(
    linked: &LinkedMethod,
    state: &State,
    tracer: Tracer<'_>,
) -> Result<Vec<DelegateSlot>> {
    let delegates = linked.delegates.iter().enumerate();
    let instances = delegates.map(|(index, delegate)| {
        let span = tracer.begin(Category::Load, "instance of a delegate");
        if tracer.is_on() {
            span.note("delegate", index);
            span.note("backend", linked.plan.delegates[index].backend.clone());
        }
        Ok(DelegateSlot {
            instance: delegate.instance(state)?,
            executed: false,
            profile: None,
            warned: false,
        })
    });
    instances.collect()
}

/// The memory of an instance, as it is allocated.
#[derive(Default)]
struct Memories {
    storages: Vec<Storage>,
    /// By index of the storages, the named buffers.
    named: Vec<Option<SharedBlock>>,
    /// By index, the coherence states of the persistent buffers.
    coherence: Vec<Arc<Coherence>>,
}

impl Memories {
    fn add(&mut self, linked: &LinkedMethod, state: &State, storage: &LinkedStorage) -> Result<()> {
        let devices = &linked.devices;
        let mut named = None;
        let storage = match storage {
            LinkedStorage::Arena {
                bytes,
                device: Some(device),
            } => Storage::pinned(devices[*device].allocate_pinned(*bytes)?, *device),
            LinkedStorage::Arena { bytes, .. } => Storage::planned(Block::zeroed(*bytes)?),
            LinkedStorage::DeviceArena { bytes, device } => {
                Storage::device(devices[*device].allocate(*bytes)?.into(), *device)
            }
            LinkedStorage::Constant(bytes) => Storage::file(bytes.file(), &bytes.range())?,
            LinkedStorage::Copied(block) => Storage::constant(block.clone()),
            LinkedStorage::State {
                name,
                bytes,
                initial,
            } => {
                let block = state.buffer(name, *bytes, initial.as_ref())?;
                let storage = block.storage();
                named = Some(block);
                storage
            }
            LinkedStorage::Caller | LinkedStorage::Placed(PlacedStorage::Borrowed) => {
                Storage::borrowed()
            }
            LinkedStorage::Growing => Storage::growing()?,
            LinkedStorage::Placed(PlacedStorage::Input(input)) => {
                let Some(placed) = linked.places.input(*input) else {
                    bail!(Internal, "input {input} has no location on a device");
                };
                let (arena, offset) = placed.home;
                let arena = &self.storages[arena.0 as usize];
                let address = arena.device_address(offset, placed.bytes)?;
                Storage::device_location(address, placed.bytes, placed.device)
            }
            LinkedStorage::Placed(PlacedStorage::Persistent(index)) => {
                let buffer = &linked.places.persistent[*index];
                let coherence = match &self.named[buffer.host.0.0 as usize] {
                    Some(block) => block.coherence().clone(),
                    None => Arc::new(Coherence::new()),
                };
                let memory = coherence.memory_on(&devices[buffer.device], buffer.bytes)?;
                self.coherence.push(coherence);
                Storage::device(memory, buffer.device)
            }
        };
        self.storages.push(storage);
        self.named.push(named);
        Ok(())
    }
}

impl Execution {
    /// True if it is a copy between the host and a device.
    fn is_host_copy(&self) -> bool {
        matches!(
            self,
            Self::Upload(_) | Self::UploadInput { .. } | Self::Download(_) | Self::Fetch { .. }
        )
    }
}
