//! `nvinfer1::IExecutionContext`

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::interface::Site;
use crate::nvinfer::callback::{self, Severity};
use crate::nvinfer::class::{Class, TO_10, methods_of};
use crate::nvinfer::context::Context;
use crate::nvinfer::dims::Dims;
use crate::nvinfer::engine::text;
use crate::nvinfer::error::{ApiError, usage};
use crate::nvinfer::method::methods;
use crate::nvinfer::object::Implementation;
use crate::nvinfer::shape::strides;

/// The class, with all methods of all versions.
static CLASS: Class = Class {
    name: "IExecutionContext",
    exclusive: true,
    methods: || {
        methods_of! {
            "getPImpl" => get_p_impl;
            "setDebugSync";
            "getDebugSync";
            "setProfiler" => set_profiler;
            "getProfiler" => get_profiler;
            "getEngine" => get_engine;
            "setName" => set_name;
            "getName" => get_name;
            "setDeviceMemory" => set_device_memory;
            "getOptimizationProfile" => get_optimization_profile;
            "allInputDimensionsSpecified" => all_input_dimensions_specified;
            "allInputShapesSpecified", until TO_10 => all_input_dimensions_specified;
            "setErrorRecorder" => set_error_recorder;
            "getErrorRecorder" => get_error_recorder;
            "executeV2" => execute_v2;
            "setOptimizationProfileAsync" => set_optimization_profile_async;
            "setEnqueueEmitsProfile" => set_enqueue_emits_profile;
            "getEnqueueEmitsProfile" => get_enqueue_emits_profile;
            "reportToProfiler";
            "setInputShape" => set_input_shape;
            "getTensorShape" => get_tensor_shape;
            "getTensorStrides" => get_tensor_strides;
            "setTensorAddress" => set_tensor_address;
            "getTensorAddress" => get_tensor_address;
            "setInputTensorAddress" => set_input_tensor_address;
            "setOutputTensorAddress" => set_output_tensor_address;
            "inferShapes" => infer_shapes;
            "setInputConsumedEvent" => set_input_consumed_event;
            "getInputConsumedEvent" => get_input_consumed_event;
            "getOutputTensorAddress" => get_output_tensor_address;
            "setOutputAllocator" => set_output_allocator;
            "getOutputAllocator" => get_output_allocator;
            "getMaxOutputSize" => get_max_output_size;
            "setTemporaryStorageAllocator" => set_temporary_storage_allocator;
            "getTemporaryStorageAllocator" => get_temporary_storage_allocator;
            "enqueueV3" => enqueue_v3;
            "setPersistentCacheLimit" => set_persistent_cache_limit;
            "getPersistentCacheLimit" => get_persistent_cache_limit;
            "setNvtxVerbosity" => set_nvtx_verbosity;
            "getNvtxVerbosity" => get_nvtx_verbosity;
            "setAuxStreams" => set_aux_streams;
            "setDebugListener";
            "getDebugListener";
            "setTensorDebugState";
            "getDebugState";
            "setAllTensorsDebugState";
            "updateDeviceMemorySizeForShapes" => update_device_memory_size_for_shapes;
            "setDeviceMemoryV2" from (10, 1) => set_device_memory_v2;
            "getRuntimeConfig" from (10, 11);
            "setUnfusedTensorsDebugState" from (10, 12);
            "getUnfusedTensorsDebugState" from (10, 12);
            "setCommunicator" from (10, 16);
        }
    },
};

impl Implementation for Context {
    fn class() -> &'static Class {
        &CLASS
    }

    fn logger(&self) -> usize {
        self.engine.runtime.logger
    }

    fn recorder(&self) -> usize {
        self.recorder.load(Ordering::Relaxed)
    }

    fn destroyed(&self, site: &Arc<Site>) {
        self.end(site);
    }
}

methods! { Context:
    /// The address of the object that callers hold.
    fn get_p_impl = "getPImpl" () -> usize, else 0, |call, _this| {
        Ok(call.object.outer())
    }
    /// Sets the profiler, which is never called.
    fn set_profiler = "setProfiler" (profiler: usize) -> (), else (), |_call, this| {
        this.state().profiler = profiler;
        Ok(())
    }
    /// The profiler.
    fn get_profiler = "getProfiler" () -> usize, else 0, |_call, this| { Ok(this.state().profiler) }
    /// The engine.
    fn get_engine = "getEngine" () -> usize, else 0, |_call, this| {
        Ok(this.engine.outer.load(Ordering::Relaxed))
    }
    /// Sets the name.
    fn set_name = "setName" (name: *const c_char) -> (), else (), |_call, this| {
        // SAFETY: callers give terminated strings.
        let name = unsafe { text(name) }?;
        this.state().name = CString::new(name).unwrap_or_default();
        Ok(())
    }
    /// The name. It is valid until the next one is set.
    fn get_name = "getName" () -> *const c_char, else c"".as_ptr(), |_call, this| {
        Ok(this.state().name.as_ptr())
    }
    /// Sets the scratch, without a size.
    fn set_device_memory = "setDeviceMemory" (memory: u64) -> (), else (), |call, this| {
        this.set_memory(call, memory, None)
    }
    /// Sets the scratch and its size.
    fn set_device_memory_v2 = "setDeviceMemoryV2" (memory: u64, size: i64) -> (), else (), |call, this| {
        this.set_memory(call, memory, Some(size))
    }
    /// The profile.
    fn get_optimization_profile = "getOptimizationProfile" () -> i32, else -1, |_call, this| {
        Ok(this.state().profile as i32)
    }
    /// True if the shapes of all inputs are known.
    fn all_input_dimensions_specified = "allInputDimensionsSpecified" () -> bool, else false, |_call, this| {
        let shapes = this.shapes(&this.state());
        let spec = &this.engine.spec;
        Ok(spec.tensors.iter().filter(|t| t.input).all(|t| !shapes.of(spec, t).contains(&-1)))
    }
    /// Sets the error recorder.
    fn set_error_recorder = "setErrorRecorder" (recorder: usize) -> (), else (), |_call, this| {
        callback::exchange_recorder(&this.recorder, recorder);
        Ok(())
    }
    /// The error recorder.
    fn get_error_recorder = "getErrorRecorder" () -> usize, else 0, |_call, this| {
        Ok(this.recorder())
    }
    /// Enqueues, and waits.
    fn execute_v2 = "executeV2" (bindings: *const u64) -> bool, else false, |call, this| {
        if bindings.is_null() {
            return usage("there are no bindings");
        }
        for (index, tensor) in this.engine.spec.tensors.iter().enumerate() {
            // SAFETY: the caller gave as many as there are tensors.
            let address = unsafe { *bindings.add(index) };
            this.state().addresses.insert(tensor.name.clone(), address);
        }
        this.enqueue(call, 0, true)
    }
    /// Switches the profile, in the order of a stream.
    fn set_optimization_profile_async = "setOptimizationProfileAsync" (profile: i32, stream: u64) -> bool, else false, |call, this| {
        this.switch_profile(call, profile, stream)
    }
    /// Sets if an enqueue profiles itself. It has no effect.
    fn set_enqueue_emits_profile = "setEnqueueEmitsProfile" (emits: bool) -> (), else (), |_call, this| {
        this.state().emits_profile = emits;
        Ok(())
    }
    /// True if an enqueue profiles itself.
    fn get_enqueue_emits_profile = "getEnqueueEmitsProfile" () -> bool, else false, |_call, this| {
        Ok(this.state().emits_profile)
    }
    /// Sets the shape of an input.
    fn set_input_shape = "setInputShape" (name: *const c_char, dims: *const Dims) -> bool, else false, |call, this| {
        this.set_shape(call, name, dims)
    }
    /// The shape of a tensor. Dimensions that are not known are -1.
    fn get_tensor_shape = "getTensorShape" (name: *const c_char) -> Dims, else Dims::NONE, |_call, this| {
        let tensor = this.engine.tensor(name)?;
        let shapes = this.shapes(&this.state());
        Ok(Dims::new(&shapes.of(&this.engine.spec, tensor)))
    }
    /// The strides of a tensor, in elements.
    fn get_tensor_strides = "getTensorStrides" (name: *const c_char) -> Dims, else Dims::NONE, |_call, this| {
        let tensor = this.engine.tensor(name)?;
        let shape = this.shapes(&this.state()).of(&this.engine.spec, tensor);
        match shape.contains(&-1) {
            true => Ok(Dims::NONE),
            false => Ok(Dims::new(&strides(&shape))),
        }
    }
    /// Sets the address of a tensor.
    fn set_tensor_address = "setTensorAddress" (name: *const c_char, address: u64) -> bool, else false, |_call, this| {
        this.set_address(name, address, None)
    }
    /// The address of a tensor.
    fn get_tensor_address = "getTensorAddress" (name: *const c_char) -> u64, else 0, |_call, this| {
        let tensor = this.engine.tensor(name)?;
        Ok(this.state().addresses.get(&tensor.name).copied().unwrap_or(0))
    }
    /// Sets the address of an input.
    fn set_input_tensor_address = "setInputTensorAddress" (name: *const c_char, address: u64) -> bool, else false, |_call, this| {
        this.set_address(name, address, Some(true))
    }
    /// Sets the address of an output.
    fn set_output_tensor_address = "setOutputTensorAddress" (name: *const c_char, address: u64) -> bool, else false, |_call, this| {
        this.set_address(name, address, Some(false))
    }
    /// The number of inputs whose shape or values are not set, and their names.
    fn infer_shapes = "inferShapes" (count: i32, names: *mut *const c_char) -> i32, else -1, |_call, this| {
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
    /// Sets the event that is recorded when the inputs have been read.
    fn set_input_consumed_event = "setInputConsumedEvent" (event: u64) -> bool, else false, |_call, this| {
        this.state().consumed_event = event;
        Ok(true)
    }
    /// The event that is recorded when the inputs have been read.
    fn get_input_consumed_event = "getInputConsumedEvent" () -> u64, else 0, |_call, this| {
        Ok(this.state().consumed_event)
    }
    /// The address of an output.
    fn get_output_tensor_address = "getOutputTensorAddress" (name: *const c_char) -> u64, else 0, |_call, this| {
        let tensor = this.engine.tensor(name)?;
        match tensor.input {
            true => usage(format!("{} is no output", tensor.name)),
            false => Ok(this.state().addresses.get(&tensor.name).copied().unwrap_or(0)),
        }
    }
    /// Sets the allocator of an output.
    fn set_output_allocator = "setOutputAllocator" (name: *const c_char, allocator: usize) -> bool, else false, |_call, this| {
        let tensor = this.engine.tensor(name)?;
        if tensor.input {
            return usage(format!("{} is no output", tensor.name));
        }
        this.state().allocators.insert(tensor.name.clone(), allocator);
        Ok(true)
    }
    /// The allocator of an output.
    fn get_output_allocator = "getOutputAllocator" (name: *const c_char) -> usize, else 0, |_call, this| {
        let tensor = this.engine.tensor(name)?;
        Ok(this.state().allocators.get(&tensor.name).copied().unwrap_or(0))
    }
    /// The most bytes that an output takes.
    fn get_max_output_size = "getMaxOutputSize" (name: *const c_char) -> i64, else -1, |_call, this| {
        let tensor = this.engine.tensor(name)?;
        let shapes = this.shapes(&this.state());
        if tensor.input || !this.insufficient(&shapes).is_empty() {
            return Ok(-1);
        }
        Ok(this.most_bytes(&shapes, tensor) as i64)
    }
    /// Sets the allocator of temporary storage, which is never called.
    fn set_temporary_storage_allocator = "setTemporaryStorageAllocator" (allocator: usize) -> bool, else false, |_call, this| {
        this.state().temporary = allocator;
        Ok(true)
    }
    /// The allocator of temporary storage.
    fn get_temporary_storage_allocator = "getTemporaryStorageAllocator" () -> usize, else 0, |_call, this| {
        Ok(this.state().temporary)
    }
    /// Enqueues the kernels in a stream.
    fn enqueue_v3 = "enqueueV3" (stream: u64) -> bool, else false, |call, this| {
        if stream == 0 {
            call.log(Severity::Warning, "the default stream costs synchronizations");
        }
        this.enqueue(call, stream, false)
    }
    /// Sets the limit of the persistent cache. It has no effect.
    fn set_persistent_cache_limit = "setPersistentCacheLimit" (bytes: usize) -> (), else (), |_call, this| {
        this.state().cache_limit = bytes;
        Ok(())
    }
    /// The limit of the persistent cache.
    fn get_persistent_cache_limit = "getPersistentCacheLimit" () -> usize, else 0, |_call, this| {
        Ok(this.state().cache_limit)
    }
    /// Sets the verbosity of NVTX. It has no effect.
    fn set_nvtx_verbosity = "setNvtxVerbosity" (verbosity: i32) -> bool, else false, |_call, this| {
        this.state().verbosity = verbosity;
        Ok(true)
    }
    /// The verbosity of NVTX.
    fn get_nvtx_verbosity = "getNvtxVerbosity" () -> i32, else 0, |_call, this| {
        Ok(this.state().verbosity)
    }
    /// Sets the auxiliary streams.
    fn set_aux_streams = "setAuxStreams" (streams: *const u64, count: i32) -> (), else (), |_call, this| {
        let count = usize::try_from(count).unwrap_or(0).min(this.engine.spec.aux_streams as usize);
        if count > 0 && streams.is_null() {
            return usage(format!("a list of {count} streams is null"));
        }
        // SAFETY: the caller gave so many.
        let streams = (0..count).map(|index| unsafe { *streams.add(index) }).collect();
        this.state().aux_given = streams;
        Ok(())
    }
    /// The scratch that the shapes need, in bytes.
    fn update_device_memory_size_for_shapes = "updateDeviceMemorySizeForShapes" () -> usize, else 0, |_call, this| {
        let mut state = this.state();
        let shapes = this.shapes(&state);
        let insufficient = this.insufficient(&shapes);
        if let Some(tensor) = insufficient.first() {
            let name = tensor.name.clone();
            return Err(ApiError::State(format!("too little is known of {name}")));
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
