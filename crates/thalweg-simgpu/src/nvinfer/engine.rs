//! `nvinfer1::ICudaEngine`: what an engine says of itself, its weights, and making contexts.

use std::ffi::{CStr, CString, c_char};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::callback;
use super::context::{Context, Strategy};
use super::device;
use super::dims::Dims;
use super::object::{Class, Data, Inner, Part, Scope, make, methods, report};
use super::refusal::{Refusal, Refused, usage};
use super::runtime::Runtime;
use super::shape::{ALIGNMENT, Shapes};
use super::small::{HostMemory, RuntimeConfig};
use super::spec::{Dim, EngineSpec, TensorSpec};
use crate::report::{ReportKind, Site};
use crate::worker::SHARED;

/// An engine.
pub(super) struct Engine {
    pub(super) runtime: Arc<Runtime>,
    pub(super) spec: Arc<EngineSpec>,
    /// The device that was current when it was made.
    pub(super) device: usize,
    /// What callers hold.
    pub(super) outer: AtomicUsize,
    name: CString,
    names: Vec<CString>,
    descriptions: Vec<CString>,
    /// By profile, input and selector: values of inputs on the host.
    values: Vec<Values>,
    /// Start and length of what is on the device.
    weights: Mutex<(u64, u64)>,
    budget: AtomicI64,
    recorder: AtomicUsize,
    /// How many contexts of it there are.
    pub(super) contexts: AtomicUsize,
}

struct Values {
    profile: usize,
    input: String,
    wide: [Vec<i64>; 3],
    narrow: [Vec<i32>; 3],
}

impl Part for Engine {
    fn of(data: &Data) -> Option<&Arc<Self>> {
        match data {
            Data::Engine(engine) => Some(engine),
            _ => None,
        }
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(&self.runtime)
    }

    fn recorder(&self) -> usize {
        self.recorder.load(Ordering::Relaxed)
    }
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// A name of a caller's.
///
/// # Safety
/// It must be null or a terminated string.
pub(super) unsafe fn text(name: *const c_char) -> Refused<String> {
    if name.is_null() {
        return usage("there is no name");
    }
    // SAFETY: as promised.
    let name = unsafe { CStr::from_ptr(name) };
    match name.to_str() {
        Ok(name) if name.len() < 4096 => Ok(name.to_owned()),
        _ => usage("the name is too long, or no text"),
    }
}

impl Engine {
    pub(super) fn new(
        runtime: &Arc<Runtime>,
        spec: EngineSpec,
        site: &Arc<Site>,
        recorder: usize,
    ) -> Refused<Self> {
        let device = device::current(site)?;
        let resident = spec.weights + spec.streamable;
        let weights = device::allocate(site, resident)?;
        callback::count_recorder(recorder, true);
        let values = spec
            .profiles
            .iter()
            .enumerate()
            .flat_map(|(profile, bounds)| {
                bounds.values.iter().map(move |(input, values)| Values {
                    profile,
                    input: input.clone(),
                    wide: values.clone(),
                    narrow: values
                        .clone()
                        .map(|v| v.iter().map(|&v| v as i32).collect()),
                })
            });
        let values = values.collect();
        Ok(Self {
            runtime: runtime.clone(),
            device,
            outer: AtomicUsize::new(0),
            name: c_text(&spec.name),
            names: spec.tensors.iter().map(|t| c_text(&t.name)).collect(),
            descriptions: spec
                .tensors
                .iter()
                .map(|t| c_text(t.dtype.description()))
                .collect(),
            values,
            weights: Mutex::new((weights, resident)),
            budget: AtomicI64::new(spec.streamable as i64),
            recorder: AtomicUsize::new(recorder),
            contexts: AtomicUsize::new(0),
            spec: Arc::new(spec),
        })
    }

    /// It was destroyed.
    pub(super) fn end(&self, site: &Arc<Site>) {
        let contexts = self.contexts.load(Ordering::Relaxed);
        if contexts > 0 {
            let name = &self.spec.name;
            let message =
                format!("{site} destroys the engine {name} with {contexts} contexts left");
            report(ReportKind::Misuse, message, vec![(**site).clone()]);
        }
        let (start, _) = *self.weights.lock().unwrap_or_else(PoisonError::into_inner);
        device::free(site, start);
        self.runtime.engines.fetch_sub(1, Ordering::Relaxed);
        callback::count_recorder(self.recorder.swap(0, Ordering::Relaxed), false);
    }

    /// Start and length of the weights on the device.
    pub(super) fn weights(&self) -> (u64, u64) {
        *self.weights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether weights are streamed.
    pub(super) fn streams_weights(&self) -> bool {
        self.budget.load(Ordering::Relaxed) < self.spec.streamable as i64
    }

    /// What streaming adds to the scratch.
    pub(super) fn streaming_scratch(&self) -> u64 {
        match self.streams_weights() {
            true => self.spec.streaming_scratch.next_multiple_of(ALIGNMENT),
            false => 0,
        }
    }

    /// The most that a context needs for a profile.
    pub(super) fn scratch_of_profile(&self, profile: usize) -> u64 {
        Shapes::greatest(&self.spec, profile).scratch(&self.spec) + self.streaming_scratch()
    }

    /// The most that a context needs.
    pub(super) fn scratch(&self) -> u64 {
        let profiles = 0..self.spec.profiles.len();
        profiles
            .map(|profile| self.scratch_of_profile(profile))
            .max()
            .unwrap_or(0)
    }

    /// A tensor of a caller's name.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn tensor(&self, name: *const c_char) -> Refused<&TensorSpec> {
        Ok(&self.spec.tensors[self.index(name)?])
    }

    fn index(&self, name: *const c_char) -> Refused<usize> {
        // SAFETY: callers give terminated strings.
        let name = unsafe { text(name) }?;
        let index = self
            .spec
            .tensors
            .iter()
            .position(|tensor| tensor.name == name);
        match index {
            Some(index) => Ok(index),
            None => usage(format!(
                "{name} is no input or output of {}",
                self.spec.name
            )),
        }
    }

    /// A tensor's name, for callers.
    pub(super) fn name_of(&self, tensor: &TensorSpec) -> *const c_char {
        let index = self.spec.tensors.iter().position(|t| t.name == tensor.name);
        index.map_or(std::ptr::null(), |index| self.names[index].as_ptr())
    }

    fn profile(&self, index: i32) -> Refused<usize> {
        let count = self.spec.profiles.len();
        match usize::try_from(index) {
            Ok(index) if index < count => Ok(index),
            _ => usage(format!("there is no profile {index}, only {count}")),
        }
    }

    fn values(
        &self,
        name: *const c_char,
        profile: i32,
        select: i32,
    ) -> Refused<Option<(&Values, usize)>> {
        let input = &self.tensor(name)?.name;
        let (profile, select) = (self.profile(profile)?, selector(select)?);
        let mut all = self.values.iter();
        let found = all.find(|values| values.profile == profile && values.input == *input);
        Ok(found.map(|values| (values, select)))
    }

    fn create(self: &Arc<Self>, scope: &mut Scope<'_>, strategy: i32) -> Refused<usize> {
        let Some(strategy) = Strategy::from_number(strategy) else {
            return usage(format!("there is no allocation strategy {strategy}"));
        };
        if let Some(text) = &self.spec.fails_to_create_context {
            return Err(Refusal::Internal(text.clone()));
        }
        self.outer.store(scope.object.outer(), Ordering::Relaxed);
        let context = Context::new(self, strategy, &scope.site, self.recorder())?;
        self.contexts.fetch_add(1, Ordering::Relaxed);
        let data = Data::Context(Arc::new(context));
        Ok(make(
            Class::Context,
            self.runtime.version,
            &scope.site,
            data,
        ))
    }
}

fn selector(select: i32) -> Refused<usize> {
    match usize::try_from(select) {
        Ok(select) if select < 3 => Ok(select),
        _ => usage(format!("there is no selector {select}")),
    }
}

fn warn_of_profiles(scope: &mut Scope<'_>, engine: &Engine) {
    if engine.spec.profiles.len() > 1 {
        scope.log(
            callback::Severity::Warning,
            "only the answer for profile 0 is given, and the engine has several",
        );
    }
}

methods! { Engine:
    /// What callers hold.
    fn get_p_impl = "getPImpl" () -> usize, else 0, |scope, _this| { Ok(scope.object.outer()) }
    /// One for each thing that it computes.
    fn get_nb_layers = "getNbLayers" () -> i32, else 0, |_scope, this| {
        Ok(this.spec.compute.len() as i32)
    }
    /// Its bytes.
    fn serialize = "serialize" () -> usize, else 0, |scope, this| {
        let memory = HostMemory { bytes: this.spec.to_bytes(), runtime: this.runtime.clone() };
        let data = Data::HostMemory(Arc::new(memory));
        Ok(make(Class::HostMemory, this.runtime.version, &scope.site, data))
    }
    /// A context, by where it gets its scratch.
    fn create_execution_context = "createExecutionContext" (strategy: i32) -> usize, else 0, |scope, this| {
        this.create(scope, strategy)
    }
    /// A context without scratch.
    fn create_without_device_memory = "createExecutionContextWithoutDeviceMemory" () -> usize, else 0, |scope, this| {
        this.create(scope, 2)
    }
    /// A context, by a configuration.
    fn create_execution_context_with_config = "createExecutionContextWithRuntimeConfig" (config: usize) -> usize, else 0, |scope, this| {
        // SAFETY: it is null or an object of ours.
        let config = unsafe { super::object::Outer::find(config as *const super::object::Outer) };
        let Some(config) = config.and_then(Inner::part::<RuntimeConfig>) else {
            return usage("there is no configuration");
        };
        this.create(scope, config.strategy.load(Ordering::Relaxed))
    }
    /// A configuration, with the default.
    fn create_runtime_config = "createRuntimeConfig" () -> usize, else 0, |scope, this| {
        let config = RuntimeConfig { strategy: AtomicI32::new(0), runtime: this.runtime.clone() };
        let data = Data::RuntimeConfig(Arc::new(config));
        Ok(make(Class::RuntimeConfig, this.runtime.version, &scope.site, data))
    }
    /// The most scratch that a context needs.
    fn get_device_memory_size = "getDeviceMemorySize" () -> usize, else 0, |_scope, this| {
        Ok(this.scratch() as usize)
    }
    /// The most scratch that a context needs, with what streaming adds.
    fn get_device_memory_size_v2 = "getDeviceMemorySizeV2" () -> i64, else 0, |_scope, this| {
        Ok(this.scratch() as i64)
    }
    /// The most scratch for a profile.
    fn get_device_memory_size_for_profile = "getDeviceMemorySizeForProfile" (profile: i32) -> usize, else 0, |_scope, this| {
        Ok(this.scratch_of_profile(this.profile(profile)?) as usize)
    }
    /// The most scratch for a profile.
    fn get_device_memory_size_for_profile_v2 = "getDeviceMemorySizeForProfileV2" (profile: i32) -> i64, else 0, |_scope, this| {
        Ok(this.scratch_of_profile(this.profile(profile)?) as i64)
    }
    /// Weights cannot be replaced.
    fn is_refittable = "isRefittable" () -> bool, else false, |_scope, _this| { Ok(false) }
    /// Its name.
    fn get_name = "getName" () -> *const c_char, else std::ptr::null(), |_scope, this| {
        Ok(this.name.as_ptr())
    }
    /// How many profiles it has.
    fn get_nb_optimization_profiles = "getNbOptimizationProfiles" () -> i32, else 0, |_scope, this| {
        Ok(this.spec.profiles.len() as i32)
    }
    /// Bounds of the values of an input, where they are of 32 bits.
    fn get_profile_tensor_values = "getProfileTensorValues" (name: *const c_char, profile: i32, select: i32) -> *const i32, else std::ptr::null(), |_scope, this| {
        let found = this.values(name, profile, select)?;
        Ok(found.map_or(std::ptr::null(), |(values, select)| values.narrow[select].as_ptr()))
    }
    /// Bounds of the values of an input.
    fn get_profile_tensor_values_v2 = "getProfileTensorValuesV2" (name: *const c_char, profile: i32, select: i32) -> *const i64, else std::ptr::null(), |_scope, this| {
        let found = this.values(name, profile, select)?;
        Ok(found.map_or(std::ptr::null(), |(values, select)| values.wide[select].as_ptr()))
    }
    /// The standard one.
    fn get_engine_capability = "getEngineCapability" () -> i32, else 0, |_scope, _this| { Ok(0) }
    /// Who is told of errors, beside the logger.
    fn set_error_recorder = "setErrorRecorder" (recorder: usize) -> (), else (), |_scope, this| {
        Runtime::exchange_recorder(&this.recorder, recorder);
        Ok(())
    }
    /// That.
    fn get_error_recorder = "getErrorRecorder" () -> usize, else 0, |_scope, this| {
        Ok(this.recorder())
    }
    /// There is no such dimension any more.
    fn has_implicit_batch_dimension = "hasImplicitBatchDimension" () -> bool, else false, |_scope, _this| { Ok(false) }
    /// Names of layers only.
    fn get_profiling_verbosity = "getProfilingVerbosity" () -> i32, else 0, |_scope, _this| { Ok(0) }
    /// A shape, with -1 for what is open.
    fn get_tensor_shape = "getTensorShape" (name: *const c_char) -> Dims, else Dims::NONE, |_scope, this| {
        let dims = this.tensor(name)?.dims.iter();
        let dims: Vec<i64> = dims.map(|dim| match dim {
            Dim::Fixed(dim) => *dim,
            _ => -1,
        }).collect();
        Ok(Dims::new(&dims))
    }
    /// A type.
    fn get_tensor_data_type = "getTensorDataType" (name: *const c_char) -> i32, else 0, |_scope, this| {
        Ok(this.tensor(name)?.dtype.code())
    }
    /// Whether it is on the host.
    fn get_tensor_location = "getTensorLocation" (name: *const c_char) -> i32, else 0, |_scope, this| {
        Ok(this.tensor(name)?.on_host.into())
    }
    /// Whether shapes depend on its values.
    fn is_shape_inference_io = "isShapeInferenceIO" (name: *const c_char) -> bool, else false, |_scope, this| {
        Ok(this.tensor(name)?.on_host)
    }
    /// Whether it is an input or an output.
    fn get_tensor_io_mode = "getTensorIOMode" (name: *const c_char) -> i32, else 0, |_scope, this| {
        Ok(if this.tensor(name)?.input { 1 } else { 2 })
    }
    /// Not vectorized.
    fn get_tensor_bytes_per_component = "getTensorBytesPerComponent" (name: *const c_char) -> i32, else -1, |scope, this| {
        warn_of_profiles(scope, this);
        this.tensor(name)?;
        Ok(-1)
    }
    /// Not vectorized.
    fn get_tensor_bytes_per_component_v2 = "getTensorBytesPerComponentV2" (name: *const c_char, profile: i32) -> i32, else -1, |_scope, this| {
        this.tensor(name)?;
        this.profile(profile)?;
        Ok(-1)
    }
    /// Not vectorized.
    fn get_tensor_components_per_element = "getTensorComponentsPerElement" (name: *const c_char) -> i32, else -1, |scope, this| {
        warn_of_profiles(scope, this);
        this.tensor(name)?;
        Ok(-1)
    }
    /// Not vectorized.
    fn get_tensor_components_per_element_v2 = "getTensorComponentsPerElementV2" (name: *const c_char, profile: i32) -> i32, else -1, |_scope, this| {
        this.tensor(name)?;
        this.profile(profile)?;
        Ok(-1)
    }
    /// Row-major.
    fn get_tensor_format = "getTensorFormat" (name: *const c_char) -> i32, else 0, |scope, this| {
        warn_of_profiles(scope, this);
        this.tensor(name)?;
        Ok(0)
    }
    /// Row-major.
    fn get_tensor_format_v2 = "getTensorFormatV2" (name: *const c_char, profile: i32) -> i32, else 0, |_scope, this| {
        this.tensor(name)?;
        this.profile(profile)?;
        Ok(0)
    }
    /// Row-major, in words.
    fn get_tensor_format_desc = "getTensorFormatDesc" (name: *const c_char) -> *const c_char, else c"".as_ptr(), |scope, this| {
        warn_of_profiles(scope, this);
        Ok(this.descriptions[this.index(name)?].as_ptr())
    }
    /// Row-major, in words.
    fn get_tensor_format_desc_v2 = "getTensorFormatDescV2" (name: *const c_char, profile: i32) -> *const c_char, else c"".as_ptr(), |_scope, this| {
        this.profile(profile)?;
        Ok(this.descriptions[this.index(name)?].as_ptr())
    }
    /// Not vectorized.
    fn get_tensor_vectorized_dim = "getTensorVectorizedDim" (name: *const c_char) -> i32, else -1, |scope, this| {
        warn_of_profiles(scope, this);
        this.tensor(name)?;
        Ok(-1)
    }
    /// Not vectorized.
    fn get_tensor_vectorized_dim_v2 = "getTensorVectorizedDimV2" (name: *const c_char, profile: i32) -> i32, else -1, |_scope, this| {
        this.tensor(name)?;
        this.profile(profile)?;
        Ok(-1)
    }
    /// Bounds of an input's shape.
    fn get_profile_shape = "getProfileShape" (name: *const c_char, profile: i32, select: i32) -> Dims, else Dims::NONE, |_scope, this| {
        let tensor = this.tensor(name)?;
        let (profile, select) = (this.profile(profile)?, selector(select)?);
        if !tensor.input {
            return usage(format!("{} is no input", tensor.name));
        }
        if let Some(bounds) = this.spec.bounds(profile, &tensor.name) {
            return Ok(Dims::new(&bounds[select]));
        }
        Ok(Dims::new(&Shapes::default().of(&this.spec, tensor)))
    }
    /// How many inputs and outputs there are.
    fn get_nb_io_tensors = "getNbIOTensors" () -> i32, else 0, |_scope, this| {
        Ok(this.spec.tensors.len() as i32)
    }
    /// The name of one.
    fn get_io_tensor_name = "getIOTensorName" (index: i32) -> *const c_char, else std::ptr::null(), |_scope, this| {
        match usize::try_from(index).ok().and_then(|index| this.names.get(index)) {
            Some(name) => Ok(name.as_ptr()),
            None => usage(format!("there is no tensor {index}, only {}", this.names.len())),
        }
    }
    /// For one kind of device only.
    fn get_hardware_compatibility_level = "getHardwareCompatibilityLevel" () -> i32, else 0, |_scope, _this| { Ok(0) }
    /// How many streams beside the caller's it uses.
    fn get_nb_aux_streams = "getNbAuxStreams" () -> i32, else 0, |_scope, this| {
        Ok(this.spec.aux_streams as i32)
    }
    /// How many bytes of weights can be streamed.
    fn get_streamable_weights_size = "getStreamableWeightsSize" () -> i64, else 0, |_scope, this| {
        Ok(this.spec.streamable as i64)
    }
    /// No tensor is.
    fn is_debug_tensor = "isDebugTensor" (name: *const c_char) -> bool, else false, |_scope, this| {
        this.tensor(name)?;
        Ok(false)
    }
    /// How many bytes of streamable weights are on the device.
    fn set_weight_streaming_budget_v2 = "setWeightStreamingBudgetV2" (budget: i64) -> bool, else false, |scope, this| {
        let Ok(bytes) = u64::try_from(budget) else {
            return usage(format!("a budget of {budget} bytes"));
        };
        if this.spec.streamable == 0 {
            return usage("the engine was not built to stream weights");
        }
        let contexts = this.contexts.load(Ordering::Relaxed);
        if contexts > 0 {
            return Err(Refusal::State(format!("there are {contexts} contexts")));
        }
        let resident = this.spec.weights + bytes.min(this.spec.streamable);
        let new = device::allocate(&scope.site, resident)?;
        let mut weights = this.weights.lock().unwrap_or_else(PoisonError::into_inner);
        let (old, _) = std::mem::replace(&mut *weights, (new, resident));
        drop(weights);
        device::free(&scope.site, old);
        this.budget.store(budget.min(this.spec.streamable as i64), Ordering::Relaxed);
        Ok(true)
    }
    /// That.
    fn get_weight_streaming_budget_v2 = "getWeightStreamingBudgetV2" () -> i64, else 0, |_scope, this| {
        Ok(this.budget.load(Ordering::Relaxed))
    }
    /// A budget that the device has room for.
    fn get_weight_streaming_automatic_budget = "getWeightStreamingAutomaticBudget" () -> i64, else 0, |_scope, this| {
        let driver = SHARED.lock();
        let free = driver.memory.arenas.get(this.device).map_or(0, |arena| arena.len() - arena.used());
        Ok((free / 10 * 9).min(this.spec.streamable) as i64)
    }
    /// What streaming adds to the scratch.
    fn get_weight_streaming_scratch_memory_size = "getWeightStreamingScratchMemorySize" () -> i64, else 0, |_scope, this| {
        Ok(this.streaming_scratch() as i64)
    }
    /// The size of all weights.
    fn get_engine_stat = "getEngineStat" (which: i32) -> i64, else -1, |_scope, this| {
        match which {
            0 => Ok((this.spec.weights + this.spec.streamable) as i64),
            _ => usage(format!("there is no statistic {which} of this engine")),
        }
    }
    /// The input whose memory an output shares.
    fn get_aliased_input_tensor = "getAliasedInputTensor" (name: *const c_char) -> *const c_char, else std::ptr::null(), |_scope, this| {
        let alias = this.tensor(name)?.alias.as_ref();
        let index = alias.and_then(|alias| this.spec.tensors.iter().position(|t| t.name == *alias));
        Ok(index.map_or(std::ptr::null(), |index| this.names[index].as_ptr()))
    }
}
