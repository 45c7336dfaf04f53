//! `nvinfer1::ICudaEngine`

use std::ffi::c_char;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, PoisonError};

use super::host_memory::HostMemory;
use super::runtime_config::RuntimeConfig;
use crate::interface::{Site, free_memory};
use crate::nvinfer::callback::{self, Severity};
use crate::nvinfer::class::{Class, TO_10, methods_of};
use crate::nvinfer::context::{Context, Strategy};
use crate::nvinfer::dims::Dims;
use crate::nvinfer::engine::{Engine, selector};
use crate::nvinfer::error::{ApiError, ApiResult, usage};
use crate::nvinfer::lifecycle;
use crate::nvinfer::memory;
use crate::nvinfer::method::{MethodCall, methods};
use crate::nvinfer::object::{Implementation, Inner, Outer};
use crate::nvinfer::shape::Shapes;
use crate::nvinfer::spec::Dim;

/// The class, with all methods of all versions.
static CLASS: Class = Class {
    name: "ICudaEngine",
    exclusive: false,
    methods: || {
        methods_of! {
            "getPImpl" => get_p_impl;
            "getNbLayers" => get_nb_layers;
            "serialize" => serialize;
            "createExecutionContext" => create_execution_context;
            "createExecutionContextWithoutDeviceMemory", until TO_10 => create_without_device_memory;
            "getDeviceMemorySize", until TO_10 => get_device_memory_size;
            "isRefittable" => is_refittable;
            "getName" => get_name;
            "getNbOptimizationProfiles" => get_nb_optimization_profiles;
            "getProfileTensorValues", until TO_10 => get_profile_tensor_values;
            "getEngineCapability" => get_engine_capability;
            "setErrorRecorder" => set_error_recorder;
            "getErrorRecorder" => get_error_recorder;
            "hasImplicitBatchDimension", until TO_10 => has_implicit_batch_dimension;
            "getTacticSources";
            "getProfilingVerbosity" => get_profiling_verbosity;
            "createEngineInspector";
            "getTensorShape" => get_tensor_shape;
            "getTensorDataType" => get_tensor_data_type;
            "getTensorLocation" => get_tensor_location;
            "isShapeInferenceIO" => is_shape_inference_io;
            "getTensorIOMode" => get_tensor_io_mode;
            "getTensorBytesPerComponent" => get_tensor_bytes_per_component;
            "getTensorComponentsPerElement" => get_tensor_components_per_element;
            "getTensorFormat" => get_tensor_format;
            "getTensorFormatDesc" => get_tensor_format_desc;
            "getTensorVectorizedDim" => get_tensor_vectorized_dim;
            "getProfileShape" => get_profile_shape;
            "getNbIOTensors" => get_nb_io_tensors;
            "getIOTensorName" => get_io_tensor_name;
            "getHardwareCompatibilityLevel" => get_hardware_compatibility_level;
            "getNbAuxStreams" => get_nb_aux_streams;
            "getTensorBytesPerComponentV2" => get_tensor_bytes_per_component_v2;
            "getTensorComponentsPerElementV2" => get_tensor_components_per_element_v2;
            "getTensorFormatV2" => get_tensor_format_v2;
            "getTensorFormatDescV2" => get_tensor_format_desc_v2;
            "getTensorVectorizedDimV2" => get_tensor_vectorized_dim_v2;
            "createSerializationConfig";
            "serializeWithConfig";
            "getDeviceMemorySizeForProfile", until TO_10 => get_device_memory_size_for_profile;
            "createRefitter";
            "setWeightStreamingBudget", until TO_10;
            "getWeightStreamingBudget", until TO_10;
            "getMinimumWeightStreamingBudget", until TO_10;
            "getStreamableWeightsSize" => get_streamable_weights_size;
            "isDebugTensor" => is_debug_tensor;
            "setWeightStreamingBudgetV2" from (10, 1) => set_weight_streaming_budget_v2;
            "getWeightStreamingBudgetV2" from (10, 1) => get_weight_streaming_budget_v2;
            "getWeightStreamingAutomaticBudget" from (10, 1) => get_weight_streaming_automatic_budget;
            "getWeightStreamingScratchMemorySize" from (10, 1) => get_weight_streaming_scratch_memory_size;
            "getDeviceMemorySizeV2" from (10, 1) => get_device_memory_size_v2;
            "getDeviceMemorySizeForProfileV2" from (10, 1) => get_device_memory_size_for_profile_v2;
            "getProfileTensorValuesV2" from (10, 11) => get_profile_tensor_values_v2;
            "createExecutionContextWithRuntimeConfig" from (10, 11) => create_execution_context_with_config;
            "createRuntimeConfig" from (10, 11) => create_runtime_config;
            "getEngineStat" from (10, 14) => get_engine_stat;
            "getAliasedInputTensor" from (10, 15) => get_aliased_input_tensor;
        }
    },
};

impl Implementation for Engine {
    fn class() -> &'static Class {
        &CLASS
    }

    fn logger(&self) -> usize {
        self.runtime.logger
    }

    fn recorder(&self) -> usize {
        self.recorder.load(Ordering::Relaxed)
    }

    fn destroyed(&self, site: &Arc<Site>) {
        self.end(site);
    }
}

/// Creates a context.
fn create(engine: &Arc<Engine>, call: &mut MethodCall<'_>, strategy: i32) -> ApiResult<usize> {
    let Some(strategy) = Strategy::from_number(strategy) else {
        return usage(format!("there is no allocation strategy {strategy}"));
    };
    if let Some(text) = &engine.spec.fails_to_create_context {
        return Err(ApiError::Internal(text.clone()));
    }
    engine.outer.store(call.object.outer(), Ordering::Relaxed);
    let context = Context::new(engine, strategy, &call.site, engine.recorder())?;
    engine.contexts.fetch_add(1, Ordering::Relaxed);
    Ok(lifecycle::create(
        context,
        engine.runtime.version,
        &call.site,
    ))
}

fn warn_of_profiles(call: &mut MethodCall<'_>, engine: &Engine) {
    if engine.spec.profiles.len() > 1 {
        call.log(
            Severity::Warning,
            "only the answer for profile 0 is given, and the engine has several",
        );
    }
}

methods! { Engine:
    /// The address of the object that callers hold.
    fn get_p_impl = "getPImpl" () -> usize, else 0, |call, _this| {
        Ok(call.object.outer())
    }
    /// The number of layers: one for each computation.
    fn get_nb_layers = "getNbLayers" () -> i32, else 0, |_call, this| {
        Ok(this.spec.compute.len() as i32)
    }
    /// The bytes of the engine.
    fn serialize = "serialize" () -> usize, else 0, |call, this| {
        let memory = HostMemory { bytes: this.spec.to_bytes(), runtime: this.runtime.clone() };
        Ok(lifecycle::create(memory, this.runtime.version, &call.site))
    }
    /// Creates a context with an allocation strategy.
    fn create_execution_context = "createExecutionContext" (strategy: i32) -> usize, else 0, |call, this| {
        create(this, call, strategy)
    }
    /// Creates a context without scratch.
    fn create_without_device_memory = "createExecutionContextWithoutDeviceMemory" () -> usize, else 0, |call, this| {
        create(this, call, 2)
    }
    /// Creates a context with a configuration.
    fn create_execution_context_with_config = "createExecutionContextWithRuntimeConfig" (config: usize) -> usize, else 0, |call, this| {
        // SAFETY: it is null or an object of ours.
        let config = unsafe { Outer::find(config as *const Outer) };
        let Some(config) = config.and_then(Inner::implementation::<RuntimeConfig>) else {
            return usage("there is no configuration");
        };
        create(this, call, config.strategy.load(Ordering::Relaxed))
    }
    /// Creates a configuration with the defaults.
    fn create_runtime_config = "createRuntimeConfig" () -> usize, else 0, |call, this| {
        let config = RuntimeConfig { strategy: AtomicI32::new(0), runtime: this.runtime.clone() };
        Ok(lifecycle::create(config, this.runtime.version, &call.site))
    }
    /// The most scratch that a context needs, in bytes.
    fn get_device_memory_size = "getDeviceMemorySize" () -> usize, else 0, |_call, this| {
        Ok(this.scratch() as usize)
    }
    /// The most scratch that a context needs, in bytes, as a wider type.
    fn get_device_memory_size_v2 = "getDeviceMemorySizeV2" () -> i64, else 0, |_call, this| {
        Ok(this.scratch() as i64)
    }
    /// The most scratch that a context needs for a profile, in bytes.
    fn get_device_memory_size_for_profile = "getDeviceMemorySizeForProfile" (profile: i32) -> usize, else 0, |_call, this| {
        Ok(this.scratch_of_profile(this.profile(profile)?) as usize)
    }
    /// The most scratch that a context needs for a profile, in bytes, as a wider type.
    fn get_device_memory_size_for_profile_v2 = "getDeviceMemorySizeForProfileV2" (profile: i32) -> i64, else 0, |_call, this| {
        Ok(this.scratch_of_profile(this.profile(profile)?) as i64)
    }
    /// False: weights cannot be replaced.
    fn is_refittable = "isRefittable" () -> bool, else false, |_call, _this| { Ok(false) }
    /// The name.
    fn get_name = "getName" () -> *const c_char, else std::ptr::null(), |_call, this| {
        Ok(this.name.as_ptr())
    }
    /// The number of profiles.
    fn get_nb_optimization_profiles = "getNbOptimizationProfiles" () -> i32, else 0, |_call, this| {
        Ok(this.spec.profiles.len() as i32)
    }
    /// A bound of the values of an input on the host, as 32-bit integers.
    fn get_profile_tensor_values = "getProfileTensorValues" (name: *const c_char, profile: i32, select: i32) -> *const i32, else std::ptr::null(), |_call, this| {
        let found = this.values(name, profile, select)?;
        Ok(found.map_or(std::ptr::null(), |(values, select)| values.narrow[select].as_ptr()))
    }
    /// A bound of the values of an input on the host, as 64-bit integers.
    fn get_profile_tensor_values_v2 = "getProfileTensorValuesV2" (name: *const c_char, profile: i32, select: i32) -> *const i64, else std::ptr::null(), |_call, this| {
        let found = this.values(name, profile, select)?;
        Ok(found.map_or(std::ptr::null(), |(values, select)| values.wide[select].as_ptr()))
    }
    /// The engine capability: standard.
    fn get_engine_capability = "getEngineCapability" () -> i32, else 0, |_call, _this| { Ok(0) }
    /// Sets the error recorder.
    fn set_error_recorder = "setErrorRecorder" (recorder: usize) -> (), else (), |_call, this| {
        callback::exchange_recorder(&this.recorder, recorder);
        Ok(())
    }
    /// The error recorder.
    fn get_error_recorder = "getErrorRecorder" () -> usize, else 0, |_call, this| {
        Ok(this.recorder())
    }
    /// False: there is no implicit batch dimension any more.
    fn has_implicit_batch_dimension = "hasImplicitBatchDimension" () -> bool, else false, |_call, _this| { Ok(false) }
    /// The profiling verbosity: names of layers only.
    fn get_profiling_verbosity = "getProfilingVerbosity" () -> i32, else 0, |_call, _this| { Ok(0) }
    /// The shape of a tensor. Dimensions that the caller sets are -1.
    fn get_tensor_shape = "getTensorShape" (name: *const c_char) -> Dims, else Dims::NONE, |_call, this| {
        let dims = this.tensor(name)?.dims.iter();
        let dims: Vec<i64> = dims.map(|dim| match dim {
            Dim::Fixed(dim) => *dim,
            _ => -1,
        }).collect();
        Ok(Dims::new(&dims))
    }
    /// The element type of a tensor.
    fn get_tensor_data_type = "getTensorDataType" (name: *const c_char) -> i32, else 0, |_call, this| {
        Ok(this.tensor(name)?.dtype.code())
    }
    /// The location of a tensor: 1 on the host.
    fn get_tensor_location = "getTensorLocation" (name: *const c_char) -> i32, else 0, |_call, this| {
        Ok(this.tensor(name)?.on_host.into())
    }
    /// True for a tensor on the host, on whose values shapes depend.
    fn is_shape_inference_io = "isShapeInferenceIO" (name: *const c_char) -> bool, else false, |_call, this| {
        Ok(this.tensor(name)?.on_host)
    }
    /// The mode of a tensor: 1 for an input, 2 for an output.
    fn get_tensor_io_mode = "getTensorIOMode" (name: *const c_char) -> i32, else 0, |_call, this| {
        Ok(if this.tensor(name)?.input { 1 } else { 2 })
    }
    /// -1: no tensor is vectorized.
    fn get_tensor_bytes_per_component = "getTensorBytesPerComponent" (name: *const c_char) -> i32, else -1, |call, this| {
        warn_of_profiles(call, this);
        this.tensor(name)?;
        Ok(-1)
    }
    /// -1: no tensor is vectorized.
    fn get_tensor_bytes_per_component_v2 = "getTensorBytesPerComponentV2" (name: *const c_char, profile: i32) -> i32, else -1, |_call, this| {
        this.tensor(name)?;
        this.profile(profile)?;
        Ok(-1)
    }
    /// -1: no tensor is vectorized.
    fn get_tensor_components_per_element = "getTensorComponentsPerElement" (name: *const c_char) -> i32, else -1, |call, this| {
        warn_of_profiles(call, this);
        this.tensor(name)?;
        Ok(-1)
    }
    /// -1: no tensor is vectorized.
    fn get_tensor_components_per_element_v2 = "getTensorComponentsPerElementV2" (name: *const c_char, profile: i32) -> i32, else -1, |_call, this| {
        this.tensor(name)?;
        this.profile(profile)?;
        Ok(-1)
    }
    /// The format: row-major.
    fn get_tensor_format = "getTensorFormat" (name: *const c_char) -> i32, else 0, |call, this| {
        warn_of_profiles(call, this);
        this.tensor(name)?;
        Ok(0)
    }
    /// The format: row-major.
    fn get_tensor_format_v2 = "getTensorFormatV2" (name: *const c_char, profile: i32) -> i32, else 0, |_call, this| {
        this.tensor(name)?;
        this.profile(profile)?;
        Ok(0)
    }
    /// The format, as text.
    fn get_tensor_format_desc = "getTensorFormatDesc" (name: *const c_char) -> *const c_char, else c"".as_ptr(), |call, this| {
        warn_of_profiles(call, this);
        Ok(this.descriptions[this.index(name)?].as_ptr())
    }
    /// The format, as text.
    fn get_tensor_format_desc_v2 = "getTensorFormatDescV2" (name: *const c_char, profile: i32) -> *const c_char, else c"".as_ptr(), |_call, this| {
        this.profile(profile)?;
        Ok(this.descriptions[this.index(name)?].as_ptr())
    }
    /// -1: no tensor is vectorized.
    fn get_tensor_vectorized_dim = "getTensorVectorizedDim" (name: *const c_char) -> i32, else -1, |call, this| {
        warn_of_profiles(call, this);
        this.tensor(name)?;
        Ok(-1)
    }
    /// -1: no tensor is vectorized.
    fn get_tensor_vectorized_dim_v2 = "getTensorVectorizedDimV2" (name: *const c_char, profile: i32) -> i32, else -1, |_call, this| {
        this.tensor(name)?;
        this.profile(profile)?;
        Ok(-1)
    }
    /// A bound of the shape of an input.
    fn get_profile_shape = "getProfileShape" (name: *const c_char, profile: i32, select: i32) -> Dims, else Dims::NONE, |_call, this| {
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
    /// The number of inputs and outputs.
    fn get_nb_io_tensors = "getNbIOTensors" () -> i32, else 0, |_call, this| {
        Ok(this.spec.tensors.len() as i32)
    }
    /// The name of an input or output.
    fn get_io_tensor_name = "getIOTensorName" (index: i32) -> *const c_char, else std::ptr::null(), |_call, this| {
        match usize::try_from(index).ok().and_then(|index| this.names.get(index)) {
            Some(name) => Ok(name.as_ptr()),
            None => usage(format!("there is no tensor {index}, only {}", this.names.len())),
        }
    }
    /// The hardware compatibility: the same compute capability only.
    fn get_hardware_compatibility_level = "getHardwareCompatibilityLevel" () -> i32, else 0, |_call, _this| { Ok(0) }
    /// The number of auxiliary streams.
    fn get_nb_aux_streams = "getNbAuxStreams" () -> i32, else 0, |_call, this| {
        Ok(this.spec.aux_streams as i32)
    }
    /// The size of the weights that can be streamed, in bytes.
    fn get_streamable_weights_size = "getStreamableWeightsSize" () -> i64, else 0, |_call, this| {
        Ok(this.spec.streamable as i64)
    }
    /// False: there are no debug tensors.
    fn is_debug_tensor = "isDebugTensor" (name: *const c_char) -> bool, else false, |_call, this| {
        this.tensor(name)?;
        Ok(false)
    }
    /// Sets the size of the streamable weights that are on the device, in bytes.
    fn set_weight_streaming_budget_v2 = "setWeightStreamingBudgetV2" (budget: i64) -> bool, else false, |call, this| {
        let Ok(bytes) = u64::try_from(budget) else {
            return usage(format!("a budget of {budget} bytes"));
        };
        if this.spec.streamable == 0 {
            return usage("the engine was not built to stream weights");
        }
        let contexts = this.contexts.load(Ordering::Relaxed);
        if contexts > 0 {
            return Err(ApiError::State(format!("there are {contexts} contexts")));
        }
        let resident = this.spec.weights + bytes.min(this.spec.streamable);
        let new = memory::allocate(&call.site, resident)?;
        let mut weights = this.weights.lock().unwrap_or_else(PoisonError::into_inner);
        let (old, _) = std::mem::replace(&mut *weights, (new, resident));
        drop(weights);
        memory::free(&call.site, old);
        this.budget.store(budget.min(this.spec.streamable as i64), Ordering::Relaxed);
        Ok(true)
    }
    /// The size of the streamable weights that are on the device, in bytes.
    fn get_weight_streaming_budget_v2 = "getWeightStreamingBudgetV2" () -> i64, else 0, |_call, this| {
        Ok(this.budget.load(Ordering::Relaxed))
    }
    /// A budget for which the device has capacity.
    fn get_weight_streaming_automatic_budget = "getWeightStreamingAutomaticBudget" () -> i64, else 0, |_call, this| {
        let free = free_memory(this.device);
        Ok((free / 10 * 9).min(this.spec.streamable) as i64)
    }
    /// The scratch that weight streaming needs, in bytes.
    fn get_weight_streaming_scratch_memory_size = "getWeightStreamingScratchMemorySize" () -> i64, else 0, |_call, this| {
        Ok(this.streaming_scratch() as i64)
    }
    /// A statistic: the size of all weights, in bytes.
    fn get_engine_stat = "getEngineStat" (which: i32) -> i64, else -1, |_call, this| {
        match which {
            0 => Ok((this.spec.weights + this.spec.streamable) as i64),
            _ => usage(format!("there is no statistic {which} of this engine")),
        }
    }
    /// The input whose memory an output shares.
    fn get_aliased_input_tensor = "getAliasedInputTensor" (name: *const c_char) -> *const c_char, else std::ptr::null(), |_call, this| {
        let alias = this.tensor(name)?.alias.as_ref();
        let index = alias.and_then(|alias| this.spec.tensors.iter().position(|t| t.name == *alias));
        Ok(index.map_or(std::ptr::null(), |index| this.names[index].as_ptr()))
    }
}
