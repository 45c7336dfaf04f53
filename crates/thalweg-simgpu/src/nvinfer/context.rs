//! `nvinfer1::IExecutionContext`: what a caller sets for a run.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::callback::{self, Severity};
use super::device;
use super::dims::Dims;
use super::engine::{Engine, text};
use super::execute::Life;
use super::object::{Data, Part, Scope, methods, report};
use super::refusal::{Refusal, Refused, usage};
use super::runtime::Runtime;
use super::shape::{ALIGNMENT, Shapes, elements, strides};
use super::spec::TensorSpec;
use crate::call::{Rules, within};
use crate::event::Recorded;
use crate::report::{ReportKind, Site};
use crate::status::Status;
use crate::work::{Body, Fill};
use crate::worker::SHARED;

/// Where a context gets its scratch from: `nvinfer1::ExecutionContextAllocationStrategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// As much as any profile needs, at once.
    Static,
    /// As much as the profile needs, anew whenever it changes.
    OnProfileChange,
    /// The caller's.
    UserManaged,
}

impl Strategy {
    pub(super) fn from_number(number: i32) -> Option<Self> {
        match number {
            0 => Some(Self::Static),
            1 => Some(Self::OnProfileChange),
            2 => Some(Self::UserManaged),
            _ => None,
        }
    }
}

/// A context.
pub(super) struct Context {
    pub(super) engine: Arc<Engine>,
    pub(super) strategy: Strategy,
    pub(super) life: Arc<Life>,
    /// A few bytes on the device, which profiles are written to, and every enqueue reads.
    pub(super) own: u64,
    recorder: AtomicUsize,
    state: Mutex<State>,
}

/// What [`Context::own`] has.
pub(super) const OWN: u64 = 256;

/// What a caller has set, and what runs.
pub(super) struct State {
    pub(super) profile: usize,
    pub(super) inputs: BTreeMap<String, Vec<i64>>,
    pub(super) addresses: BTreeMap<String, u64>,
    pub(super) allocators: BTreeMap<String, usize>,
    /// Scratch, and how many bytes of it there are, where the caller said so.
    pub(super) memory: u64,
    pub(super) memory_size: Option<u64>,
    /// What `updateDeviceMemorySizeForShapes` answered, until something changes.
    pub(super) partition: Option<u64>,
    pub(super) consumed_event: u64,
    /// Streams beside the caller's: those that it gave, and those that were made.
    pub(super) aux_given: Vec<u64>,
    pub(super) aux_made: Vec<u64>,
    /// The ends of enqueues, with their calls.
    pub(super) pending: VecDeque<(Recorded, Arc<Site>)>,
    /// The ends of switches to another profile, with their calls.
    switches: VecDeque<(Recorded, Arc<Site>)>,
    /// Whether one was ever enqueued, or a part, so that [`Context::own`] says which profile it is of.
    pub(super) switched: bool,
    pub(super) enqueues: u64,
    name: CString,
    profiler: usize,
    temporary: usize,
    emits_profile: bool,
    cache_limit: usize,
    verbosity: i32,
}

impl Part for Context {
    fn of(data: &Data) -> Option<&Arc<Self>> {
        match data {
            Data::Context(context) => Some(context),
            _ => None,
        }
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(&self.engine.runtime)
    }

    fn recorder(&self) -> usize {
        self.recorder.load(Ordering::Relaxed)
    }
}

impl Context {
    pub(super) fn new(
        engine: &Arc<Engine>,
        strategy: Strategy,
        site: &Arc<Site>,
        recorder: usize,
    ) -> Refused<Self> {
        let device = device::current(site)?;
        if device != engine.device {
            return usage(format!(
                "the engine is of device {}, and device {device} is current",
                engine.device
            ));
        }
        let own = device::allocate(site, OWN)?;
        let memory = match strategy {
            Strategy::Static => engine.scratch(),
            Strategy::OnProfileChange => engine.scratch_of_profile(0),
            Strategy::UserManaged => 0,
        };
        let memory = device::allocate(site, memory).inspect_err(|_| device::free(site, own))?;
        callback::count_recorder(recorder, true);
        Ok(Self {
            engine: engine.clone(),
            strategy,
            life: Arc::default(),
            own,
            recorder: AtomicUsize::new(recorder),
            state: Mutex::new(State {
                profile: 0,
                inputs: BTreeMap::new(),
                addresses: BTreeMap::new(),
                allocators: BTreeMap::new(),
                memory,
                memory_size: None,
                partition: None,
                consumed_event: 0,
                aux_given: Vec::new(),
                aux_made: Vec::new(),
                pending: VecDeque::new(),
                switches: VecDeque::new(),
                switched: false,
                enqueues: 0,
                name: CString::default(),
                profiler: 0,
                temporary: 0,
                emits_profile: true,
                cache_limit: 0,
                verbosity: 0,
            }),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It was destroyed.
    pub(super) fn end(&self, site: &Arc<Site>) {
        let mut state = self.state();
        state.report_in_flight(site, "destroys the context");
        state.report_switches(site);
        let (memory, streams) = (state.memory, std::mem::take(&mut state.aux_made));
        drop(state);
        if self.strategy != Strategy::UserManaged {
            device::free(site, memory);
        }
        device::free(site, self.own);
        for stream in streams {
            let _ = within(site, Rules::ALWAYS, |call| {
                let site = call.site.clone();
                call.destroy_stream(stream, &site)
            });
        }
        *self
            .life
            .destroyed
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(site.clone());
        self.engine.contexts.fetch_sub(1, Ordering::Relaxed);
        callback::count_recorder(self.recorder.swap(0, Ordering::Relaxed), false);
    }

    /// All shapes, with the values of inputs on the host that have an address.
    pub(super) fn shapes(&self, state: &State) -> Shapes {
        let spec = &self.engine.spec;
        let mut shapes = Shapes {
            profile: state.profile,
            inputs: state.inputs.clone(),
            values: BTreeMap::new(),
        };
        for tensor in spec.tensors.iter().filter(|tensor| tensor.on_host) {
            let shape = shapes.of(spec, tensor);
            let address = state.addresses.get(&tensor.name).copied().unwrap_or(0);
            if address == 0 || shape.contains(&-1) {
                continue;
            }
            let len = elements(&shape) as usize * tensor.dtype.size();
            // SAFETY: the caller set the address of memory of that size.
            let bytes = unsafe { device::read_host(address, len) };
            let numbers = tensor.dtype.numbers(&bytes);
            let values = numbers.iter().map(|number| number.whole()).collect();
            shapes.values.insert(tensor.name.clone(), values);
        }
        shapes
    }

    /// Inputs of which too little is known.
    pub(super) fn insufficient(&self, shapes: &Shapes) -> Vec<&TensorSpec> {
        let spec = &self.engine.spec;
        let inputs = spec.tensors.iter().filter(|tensor| tensor.input);
        inputs
            .filter(|tensor| {
                shapes.of(spec, tensor).contains(&-1)
                    || (tensor.on_host && !shapes.values.contains_key(&tensor.name))
            })
            .collect()
    }

    /// Whether all values of inputs on the host are within the profile.
    pub(super) fn check_values(&self, shapes: &Shapes) -> Refused<()> {
        for (input, values) in &shapes.values {
            let bounds = self.engine.spec.value_bounds(shapes.profile, input);
            let Some([min, _, max]) = bounds else {
                continue;
            };
            for (index, value) in values.iter().enumerate() {
                let (min, max) = (min.get(index), max.get(index));
                if min.is_some_and(|min| value < min) || max.is_some_and(|max| value > max) {
                    return usage(format!(
                        "the value {value} of {input}[{index}] is not from {min:?} to {max:?}, as profile {} has it",
                        shapes.profile
                    ));
                }
            }
        }
        Ok(())
    }

    fn set_address(
        &self,
        name: *const c_char,
        address: u64,
        wanted: Option<bool>,
    ) -> Refused<bool> {
        let tensor = self.engine.tensor(name)?;
        if wanted.is_some_and(|input| input != tensor.input) {
            let other = if tensor.input {
                "an input"
            } else {
                "an output"
            };
            return usage(format!("{} is {other}", tensor.name));
        }
        if !tensor.on_host && !address.is_multiple_of(ALIGNMENT) {
            return usage(format!(
                "the address {address:#x} of {} is not a multiple of {ALIGNMENT}",
                tensor.name
            ));
        }
        let mut state = self.state();
        if tensor.on_host {
            state.partition = None;
        }
        state.addresses.insert(tensor.name.clone(), address);
        Ok(true)
    }

    /// Sets the scratch, as far as TensorRT takes it.
    fn set_memory(&self, scope: &Scope<'_>, address: u64, size: Option<i64>) -> Refused<()> {
        if self.strategy != Strategy::UserManaged {
            return Err(Refusal::State("the context has scratch of its own".into()));
        }
        let mut state = self.state();
        // The old pointer stays in place, and that is all that happens.
        let most = self.engine.scratch_of_profile(state.profile);
        if address == 0 && most > 0 {
            return usage(format!("memory is null, and {most} bytes may be needed"));
        }
        let needed = self.needed(&state);
        if !address.is_multiple_of(ALIGNMENT) {
            return usage(format!("{address:#x} is not a multiple of {ALIGNMENT}"));
        }
        let size = match size {
            Some(size) if size < needed as i64 => {
                return usage(format!("{size} bytes are too few: {needed} are needed"));
            }
            size => size.map(|size| size as u64),
        };
        if state.memory != address {
            state.report_in_flight(&scope.site, "changes the scratch");
        }
        state.memory = address;
        state.memory_size = size;
        Ok(())
    }

    /// How much scratch an enqueue needs, as far as the context was told.
    pub(super) fn needed(&self, state: &State) -> u64 {
        state
            .partition
            .unwrap_or_else(|| self.engine.scratch_of_profile(state.profile))
    }

    fn switch_profile(&self, scope: &mut Scope<'_>, profile: i32, stream: u64) -> Refused<bool> {
        let count = self.engine.spec.profiles.len();
        let Some(profile) = usize::try_from(profile).ok().filter(|p| *p < count) else {
            return usage(format!("there is no profile {profile}, only {count}"));
        };
        let state = self.state();
        let (same, memory) = (state.profile == profile, state.memory);
        drop(state);
        if same {
            return Ok(true);
        }
        let what = "changes the profile";
        self.state().report_in_flight(&scope.site, what);
        // What was enqueued before something failed runs all the same.
        let mut enqueued = None;
        let copied = within(&scope.site, Rules::CONTEXT, |call| {
            let stream = call.stream(stream)?;
            for part in 0..2 {
                if let Some(code) = call.faults.call("cuMemcpyHtoDAsync") {
                    return Err(Status(code));
                }
                let copy = Body::Fill(Fill {
                    address: self.own + part * OWN / 2,
                    pattern: vec![profile as u8],
                    pitch: OWN / 2,
                    width: OWN / 2,
                    height: 1,
                });
                let copy = call.submit(stream, "setOptimizationProfileAsync", copy)?;
                enqueued = copy.or(enqueued.take());
            }
            Ok(())
        });
        if let Some(enqueued) = enqueued {
            let switch = (enqueued, scope.site.clone());
            let mut state = self.state();
            state.switched = true;
            state.switches.push_back(switch);
        }
        copied.map_err(|Status(code)| {
            Refusal::Driver("copying what belongs to the profile".into(), code)
        })?;
        if self.strategy == Strategy::OnProfileChange {
            let new = self.engine.scratch_of_profile(profile);
            let new = device::allocate(&scope.site, new)?;
            device::free(&scope.site, memory);
            self.state().memory = new;
        }
        let mut state = self.state();
        state.profile = profile;
        state.inputs.clear();
        state.partition = None;
        Ok(true)
    }

    fn set_shape(
        &self,
        scope: &Scope<'_>,
        name: *const c_char,
        dims: *const Dims,
    ) -> Refused<bool> {
        let tensor = self.engine.tensor(name)?;
        let name = &tensor.name;
        if !tensor.input {
            return usage(format!("{name} is no input"));
        }
        // SAFETY: it is a reference of C++.
        let dims = unsafe { dims.as_ref() };
        let Some(shape) = dims.and_then(Dims::get) else {
            return usage(format!("the shape of {name} has no sensible rank"));
        };
        let mut state = self.state();
        let unset = Shapes {
            profile: state.profile,
            ..Shapes::default()
        };
        let open = unset.of(&self.engine.spec, tensor);
        let fits = shape.len() == open.len()
            && shape
                .iter()
                .zip(&open)
                .all(|(dim, open)| *dim >= 0 && (*open == -1 || open == dim));
        if !fits {
            return usage(format!(
                "the shape {shape:?} of {name} does not fit {open:?}"
            ));
        }
        if let Some([min, _, max]) = self.engine.spec.bounds(state.profile, name) {
            let within = |axis: usize| min[axis] <= shape[axis] && shape[axis] <= max[axis];
            if !(0..shape.len()).all(within) {
                return usage(format!(
                    "the shape {shape:?} of {name} is not from {min:?} to {max:?}, as profile {} has it",
                    state.profile
                ));
            }
        }
        if state.inputs.get(name).is_some_and(|before| before == shape) {
            return Ok(true);
        }
        if open.contains(&-1) {
            state.report_in_flight(&scope.site, "changes a shape");
            state.partition = None;
        }
        state.inputs.insert(name.clone(), shape.to_vec());
        Ok(true)
    }
}

impl State {
    /// Forgets what the host has waited for, and reports the rest.
    fn report_in_flight(&mut self, site: &Arc<Site>, what: &str) {
        self.forget_known();
        report_last(&self.pending, site, what);
    }

    /// The same of switches to another profile.
    fn report_switches(&mut self, site: &Arc<Site>) {
        let driver = SHARED.lock();
        self.switches
            .retain(|(recorded, _)| !driver.host.knows(recorded.point));
        drop(driver);
        report_last(&self.switches, site, "destroys the context");
    }

    pub(super) fn forget_known(&mut self) {
        let driver = SHARED.lock();
        self.pending
            .retain(|(recorded, _)| !driver.host.knows(recorded.point));
    }
}

/// Reports the last of what may still run, if there is any.
fn report_last(running: &VecDeque<(Recorded, Arc<Site>)>, site: &Arc<Site>, what: &str) {
    if let Some((_, other)) = running.back() {
        let message = format!("{site} {what} while {other} may still run");
        let sites = vec![(**site).clone(), (**other).clone()];
        report(ReportKind::Misuse, message, sites);
    }
}

methods! { Context:
    /// What callers hold.
    fn get_p_impl = "getPImpl" () -> usize, else 0, |scope, _this| { Ok(scope.object.outer()) }
    /// Accepted; nothing is told to it.
    fn set_profiler = "setProfiler" (profiler: usize) -> (), else (), |_scope, this| {
        this.state().profiler = profiler;
        Ok(())
    }
    /// That.
    fn get_profiler = "getProfiler" () -> usize, else 0, |_scope, this| { Ok(this.state().profiler) }
    /// Its engine.
    fn get_engine = "getEngine" () -> usize, else 0, |_scope, this| {
        Ok(this.engine.outer.load(Ordering::Relaxed))
    }
    /// Names it.
    fn set_name = "setName" (name: *const c_char) -> (), else (), |_scope, this| {
        // SAFETY: callers give terminated strings.
        let name = unsafe { text(name) }?;
        this.state().name = CString::new(name).unwrap_or_default();
        Ok(())
    }
    /// That, until the next.
    fn get_name = "getName" () -> *const c_char, else c"".as_ptr(), |_scope, this| {
        Ok(this.state().name.as_ptr())
    }
    /// Sets the scratch, of whatever size.
    fn set_device_memory = "setDeviceMemory" (memory: u64) -> (), else (), |scope, this| {
        this.set_memory(scope, memory, None)
    }
    /// Sets the scratch and its size.
    fn set_device_memory_v2 = "setDeviceMemoryV2" (memory: u64, size: i64) -> (), else (), |scope, this| {
        this.set_memory(scope, memory, Some(size))
    }
    /// The profile.
    fn get_optimization_profile = "getOptimizationProfile" () -> i32, else -1, |_scope, this| {
        Ok(this.state().profile as i32)
    }
    /// Whether all shapes of inputs are known.
    fn all_input_dimensions_specified = "allInputDimensionsSpecified" () -> bool, else false, |_scope, this| {
        let shapes = this.shapes(&this.state());
        let spec = &this.engine.spec;
        Ok(spec.tensors.iter().filter(|t| t.input).all(|t| !shapes.of(spec, t).contains(&-1)))
    }
    /// Who is told of errors, beside the logger.
    fn set_error_recorder = "setErrorRecorder" (recorder: usize) -> (), else (), |_scope, this| {
        Runtime::exchange_recorder(&this.recorder, recorder);
        Ok(())
    }
    /// That.
    fn get_error_recorder = "getErrorRecorder" () -> usize, else 0, |_scope, this| {
        Ok(this.recorder())
    }
    /// Runs, and waits.
    fn execute_v2 = "executeV2" (bindings: *const u64) -> bool, else false, |scope, this| {
        if bindings.is_null() {
            return usage("there are no bindings");
        }
        for (index, tensor) in this.engine.spec.tensors.iter().enumerate() {
            // SAFETY: the caller gave as many as there are tensors.
            let address = unsafe { *bindings.add(index) };
            this.state().addresses.insert(tensor.name.clone(), address);
        }
        this.enqueue(scope, 0, true)
    }
    /// Changes the profile, in the order of a stream.
    fn set_optimization_profile_async = "setOptimizationProfileAsync" (profile: i32, stream: u64) -> bool, else false, |scope, this| {
        this.switch_profile(scope, profile, stream)
    }
    /// Accepted.
    fn set_enqueue_emits_profile = "setEnqueueEmitsProfile" (emits: bool) -> (), else (), |_scope, this| {
        this.state().emits_profile = emits;
        Ok(())
    }
    /// That.
    fn get_enqueue_emits_profile = "getEnqueueEmitsProfile" () -> bool, else false, |_scope, this| {
        Ok(this.state().emits_profile)
    }
    /// Sets the shape of an input.
    fn set_input_shape = "setInputShape" (name: *const c_char, dims: *const Dims) -> bool, else false, |scope, this| {
        this.set_shape(scope, name, dims)
    }
    /// A shape, with -1 for what is not known.
    fn get_tensor_shape = "getTensorShape" (name: *const c_char) -> Dims, else Dims::NONE, |_scope, this| {
        let tensor = this.engine.tensor(name)?;
        let shapes = this.shapes(&this.state());
        Ok(Dims::new(&shapes.of(&this.engine.spec, tensor)))
    }
    /// How far elements are apart.
    fn get_tensor_strides = "getTensorStrides" (name: *const c_char) -> Dims, else Dims::NONE, |_scope, this| {
        let tensor = this.engine.tensor(name)?;
        let shape = this.shapes(&this.state()).of(&this.engine.spec, tensor);
        match shape.contains(&-1) {
            true => Ok(Dims::NONE),
            false => Ok(Dims::new(&strides(&shape))),
        }
    }
    /// Says where a tensor is.
    fn set_tensor_address = "setTensorAddress" (name: *const c_char, address: u64) -> bool, else false, |_scope, this| {
        this.set_address(name, address, None)
    }
    /// That.
    fn get_tensor_address = "getTensorAddress" (name: *const c_char) -> u64, else 0, |_scope, this| {
        let tensor = this.engine.tensor(name)?;
        Ok(this.state().addresses.get(&tensor.name).copied().unwrap_or(0))
    }
    /// Says where an input is.
    fn set_input_tensor_address = "setInputTensorAddress" (name: *const c_char, address: u64) -> bool, else false, |_scope, this| {
        this.set_address(name, address, Some(true))
    }
    /// Says where an output is to be.
    fn set_output_tensor_address = "setOutputTensorAddress" (name: *const c_char, address: u64) -> bool, else false, |_scope, this| {
        this.set_address(name, address, Some(false))
    }
    /// How many inputs too little is known of, and which.
    fn infer_shapes = "inferShapes" (count: i32, names: *mut *const c_char) -> i32, else -1, |_scope, this| {
        if count < 0 || (names.is_null() && count != 0) {
            return usage(format!("a place for {count} names"));
        }
        let shapes = this.shapes(&this.state());
        let insufficient = this.insufficient(&shapes);
        for (index, tensor) in insufficient.iter().enumerate().take(count as usize) {
            let name = this.engine.name_of(tensor);
            // SAFETY: the caller has a place for so many.
            unsafe { *names.add(index) = name };
        }
        if insufficient.is_empty() {
            this.check_values(&shapes)?;
        }
        Ok(insufficient.len() as i32)
    }
    /// An event for the end of all reading of inputs.
    fn set_input_consumed_event = "setInputConsumedEvent" (event: u64) -> bool, else false, |_scope, this| {
        this.state().consumed_event = event;
        Ok(true)
    }
    /// That.
    fn get_input_consumed_event = "getInputConsumedEvent" () -> u64, else 0, |_scope, this| {
        Ok(this.state().consumed_event)
    }
    /// Where an output is to be.
    fn get_output_tensor_address = "getOutputTensorAddress" (name: *const c_char) -> u64, else 0, |_scope, this| {
        let tensor = this.engine.tensor(name)?;
        match tensor.input {
            true => usage(format!("{} is no output", tensor.name)),
            false => Ok(this.state().addresses.get(&tensor.name).copied().unwrap_or(0)),
        }
    }
    /// Who allocates an output.
    fn set_output_allocator = "setOutputAllocator" (name: *const c_char, allocator: usize) -> bool, else false, |_scope, this| {
        let tensor = this.engine.tensor(name)?;
        if tensor.input {
            return usage(format!("{} is no output", tensor.name));
        }
        this.state().allocators.insert(tensor.name.clone(), allocator);
        Ok(true)
    }
    /// That.
    fn get_output_allocator = "getOutputAllocator" (name: *const c_char) -> usize, else 0, |_scope, this| {
        let tensor = this.engine.tensor(name)?;
        Ok(this.state().allocators.get(&tensor.name).copied().unwrap_or(0))
    }
    /// The most bytes that an output takes.
    fn get_max_output_size = "getMaxOutputSize" (name: *const c_char) -> i64, else -1, |_scope, this| {
        let tensor = this.engine.tensor(name)?;
        let shapes = this.shapes(&this.state());
        if tensor.input || !this.insufficient(&shapes).is_empty() {
            return Ok(-1);
        }
        Ok(this.most_bytes(&shapes, tensor) as i64)
    }
    /// Accepted; nothing is allocated through it.
    fn set_temporary_storage_allocator = "setTemporaryStorageAllocator" (allocator: usize) -> bool, else false, |_scope, this| {
        this.state().temporary = allocator;
        Ok(true)
    }
    /// That.
    fn get_temporary_storage_allocator = "getTemporaryStorageAllocator" () -> usize, else 0, |_scope, this| {
        Ok(this.state().temporary)
    }
    /// Runs.
    fn enqueue_v3 = "enqueueV3" (stream: u64) -> bool, else false, |scope, this| {
        if stream == 0 {
            scope.log(Severity::Warning, "the default stream costs synchronizations");
        }
        this.enqueue(scope, stream, false)
    }
    /// Accepted.
    fn set_persistent_cache_limit = "setPersistentCacheLimit" (bytes: usize) -> (), else (), |_scope, this| {
        this.state().cache_limit = bytes;
        Ok(())
    }
    /// That.
    fn get_persistent_cache_limit = "getPersistentCacheLimit" () -> usize, else 0, |_scope, this| {
        Ok(this.state().cache_limit)
    }
    /// Accepted.
    fn set_nvtx_verbosity = "setNvtxVerbosity" (verbosity: i32) -> bool, else false, |_scope, this| {
        this.state().verbosity = verbosity;
        Ok(true)
    }
    /// That.
    fn get_nvtx_verbosity = "getNvtxVerbosity" () -> i32, else 0, |_scope, this| {
        Ok(this.state().verbosity)
    }
    /// Streams beside the caller's.
    fn set_aux_streams = "setAuxStreams" (streams: *const u64, count: i32) -> (), else (), |_scope, this| {
        let count = usize::try_from(count).unwrap_or(0).min(this.engine.spec.aux_streams as usize);
        if count > 0 && streams.is_null() {
            return usage(format!("a list of {count} streams is null"));
        }
        // SAFETY: the caller gave so many.
        let streams = (0..count).map(|index| unsafe { *streams.add(index) }).collect();
        this.state().aux_given = streams;
        Ok(())
    }
    /// How much scratch the shapes need.
    fn update_device_memory_size_for_shapes = "updateDeviceMemorySizeForShapes" () -> usize, else 0, |_scope, this| {
        let mut state = this.state();
        let shapes = this.shapes(&state);
        let insufficient = this.insufficient(&shapes);
        if let Some(tensor) = insufficient.first() {
            let name = tensor.name.clone();
            return Err(Refusal::State(format!("too little is known of {name}")));
        }
        let spec = &this.engine.spec;
        if spec.answers_no_scratch {
            return Ok(0);
        }
        let bytes = match spec.resize_by_shape {
            true => shapes.scratch(spec) + this.engine.streaming_scratch(),
            false => this.engine.scratch_of_profile(state.profile),
        };
        state.partition = Some(bytes);
        Ok(bytes as usize)
    }
}

/// The shape of a pointer that callers give and get.
const _: () = assert!(size_of::<*const c_void>() == size_of::<u64>());
