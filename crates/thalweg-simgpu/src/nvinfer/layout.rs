//! Which method is in which slot of which class's virtual table, in which version.
//!
//! Slots 0 and 1 are the destructor; the methods follow in the order of these tables, those left out
//! that the version does not have. The tables were made from what a C++ compiler says of NVIDIA's
//! headers of 10.0 to 10.16, 11.0 and 11.1.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::object::Class;
use super::{context, engine, missing, runtime, small};

/// A version by its major and minor number.
type Version = (i32, i32);

/// A method, from when to before when it is there, and the function that does it, if the stand-in
/// has it.
pub(super) struct Row {
    pub(super) name: &'static str,
    since: Version,
    until: Version,
    function: Option<usize>,
}

/// More slots than any class has: what is behind the last one is reported, too.
pub(super) const SLOTS: usize = 96;

/// What is ahead of the slots: the offset to the top, and no type information.
const AHEAD: usize = 2;

const ALWAYS: Version = (10, 0);
const NEVER: Version = (i32::MAX, 0);
const TO_10: Version = (11, 0);

macro_rules! rows {
    ($($name:literal $(from $since:expr)? $(, until $until:expr)? $(=> $function:expr)?;)*) => {
        vec![$(Row {
            name: $name,
            since: first([$($since,)? ALWAYS]),
            until: first([$($until,)? NEVER]),
            function: first([$(Some($function as *const () as usize),)? None]),
        }),*]
    };
}

/// The one of two that was given.
fn first<T: Copy, const N: usize>(choices: [T; N]) -> T {
    choices[0]
}

fn runtime_rows() -> Vec<Row> {
    rows! {
        "getPImpl" => runtime::get_p_impl;
        "deserializeCudaEngine" => runtime::deserialize_cuda_engine;
        "deserializeCudaEngine(IStreamReader)", until TO_10 => runtime::deserialize_from_reader;
        "setDLACore" => runtime::set_dla_core;
        "getDLACore" => runtime::get_dla_core;
        "getNbDLACores" => runtime::get_nb_dla_cores;
        "setGpuAllocator";
        "setErrorRecorder" => runtime::set_error_recorder;
        "getErrorRecorder" => runtime::get_error_recorder;
        "getLogger" => runtime::get_logger;
        "setMaxThreads" => runtime::set_max_threads;
        "getMaxThreads" => runtime::get_max_threads;
        "setTemporaryDirectory";
        "getTemporaryDirectory";
        "setTempfileControlFlags";
        "getTempfileControlFlags";
        "getPluginRegistry";
        "setPluginRegistryParent";
        "loadRuntime";
        "setEngineHostCodeAllowed" => runtime::set_engine_host_code_allowed;
        "getEngineHostCodeAllowed" => runtime::get_engine_host_code_allowed;
        "deserializeCudaEngineV2" from (10, 7) => runtime::deserialize_from_reader_v2;
    }
}

fn engine_rows() -> Vec<Row> {
    rows! {
        "getPImpl" => engine::get_p_impl;
        "getNbLayers" => engine::get_nb_layers;
        "serialize" => engine::serialize;
        "createExecutionContext" => engine::create_execution_context;
        "createExecutionContextWithoutDeviceMemory", until TO_10 => engine::create_without_device_memory;
        "getDeviceMemorySize", until TO_10 => engine::get_device_memory_size;
        "isRefittable" => engine::is_refittable;
        "getName" => engine::get_name;
        "getNbOptimizationProfiles" => engine::get_nb_optimization_profiles;
        "getProfileTensorValues", until TO_10 => engine::get_profile_tensor_values;
        "getEngineCapability" => engine::get_engine_capability;
        "setErrorRecorder" => engine::set_error_recorder;
        "getErrorRecorder" => engine::get_error_recorder;
        "hasImplicitBatchDimension", until TO_10 => engine::has_implicit_batch_dimension;
        "getTacticSources";
        "getProfilingVerbosity" => engine::get_profiling_verbosity;
        "createEngineInspector";
        "getTensorShape" => engine::get_tensor_shape;
        "getTensorDataType" => engine::get_tensor_data_type;
        "getTensorLocation" => engine::get_tensor_location;
        "isShapeInferenceIO" => engine::is_shape_inference_io;
        "getTensorIOMode" => engine::get_tensor_io_mode;
        "getTensorBytesPerComponent" => engine::get_tensor_bytes_per_component;
        "getTensorComponentsPerElement" => engine::get_tensor_components_per_element;
        "getTensorFormat" => engine::get_tensor_format;
        "getTensorFormatDesc" => engine::get_tensor_format_desc;
        "getTensorVectorizedDim" => engine::get_tensor_vectorized_dim;
        "getProfileShape" => engine::get_profile_shape;
        "getNbIOTensors" => engine::get_nb_io_tensors;
        "getIOTensorName" => engine::get_io_tensor_name;
        "getHardwareCompatibilityLevel" => engine::get_hardware_compatibility_level;
        "getNbAuxStreams" => engine::get_nb_aux_streams;
        "getTensorBytesPerComponentV2" => engine::get_tensor_bytes_per_component_v2;
        "getTensorComponentsPerElementV2" => engine::get_tensor_components_per_element_v2;
        "getTensorFormatV2" => engine::get_tensor_format_v2;
        "getTensorFormatDescV2" => engine::get_tensor_format_desc_v2;
        "getTensorVectorizedDimV2" => engine::get_tensor_vectorized_dim_v2;
        "createSerializationConfig";
        "serializeWithConfig";
        "getDeviceMemorySizeForProfile", until TO_10 => engine::get_device_memory_size_for_profile;
        "createRefitter";
        "setWeightStreamingBudget", until TO_10;
        "getWeightStreamingBudget", until TO_10;
        "getMinimumWeightStreamingBudget", until TO_10;
        "getStreamableWeightsSize" => engine::get_streamable_weights_size;
        "isDebugTensor" => engine::is_debug_tensor;
        "setWeightStreamingBudgetV2" from (10, 1) => engine::set_weight_streaming_budget_v2;
        "getWeightStreamingBudgetV2" from (10, 1) => engine::get_weight_streaming_budget_v2;
        "getWeightStreamingAutomaticBudget" from (10, 1) => engine::get_weight_streaming_automatic_budget;
        "getWeightStreamingScratchMemorySize" from (10, 1) => engine::get_weight_streaming_scratch_memory_size;
        "getDeviceMemorySizeV2" from (10, 1) => engine::get_device_memory_size_v2;
        "getDeviceMemorySizeForProfileV2" from (10, 1) => engine::get_device_memory_size_for_profile_v2;
        "getProfileTensorValuesV2" from (10, 11) => engine::get_profile_tensor_values_v2;
        "createExecutionContextWithRuntimeConfig" from (10, 11) => engine::create_execution_context_with_config;
        "createRuntimeConfig" from (10, 11) => engine::create_runtime_config;
        "getEngineStat" from (10, 14) => engine::get_engine_stat;
        "getAliasedInputTensor" from (10, 15) => engine::get_aliased_input_tensor;
    }
}

fn context_rows() -> Vec<Row> {
    rows! {
        "getPImpl" => context::get_p_impl;
        "setDebugSync";
        "getDebugSync";
        "setProfiler" => context::set_profiler;
        "getProfiler" => context::get_profiler;
        "getEngine" => context::get_engine;
        "setName" => context::set_name;
        "getName" => context::get_name;
        "setDeviceMemory" => context::set_device_memory;
        "getOptimizationProfile" => context::get_optimization_profile;
        "allInputDimensionsSpecified" => context::all_input_dimensions_specified;
        "allInputShapesSpecified", until TO_10 => context::all_input_dimensions_specified;
        "setErrorRecorder" => context::set_error_recorder;
        "getErrorRecorder" => context::get_error_recorder;
        "executeV2" => context::execute_v2;
        "setOptimizationProfileAsync" => context::set_optimization_profile_async;
        "setEnqueueEmitsProfile" => context::set_enqueue_emits_profile;
        "getEnqueueEmitsProfile" => context::get_enqueue_emits_profile;
        "reportToProfiler";
        "setInputShape" => context::set_input_shape;
        "getTensorShape" => context::get_tensor_shape;
        "getTensorStrides" => context::get_tensor_strides;
        "setTensorAddress" => context::set_tensor_address;
        "getTensorAddress" => context::get_tensor_address;
        "setInputTensorAddress" => context::set_input_tensor_address;
        "setOutputTensorAddress" => context::set_output_tensor_address;
        "inferShapes" => context::infer_shapes;
        "setInputConsumedEvent" => context::set_input_consumed_event;
        "getInputConsumedEvent" => context::get_input_consumed_event;
        "getOutputTensorAddress" => context::get_output_tensor_address;
        "setOutputAllocator" => context::set_output_allocator;
        "getOutputAllocator" => context::get_output_allocator;
        "getMaxOutputSize" => context::get_max_output_size;
        "setTemporaryStorageAllocator" => context::set_temporary_storage_allocator;
        "getTemporaryStorageAllocator" => context::get_temporary_storage_allocator;
        "enqueueV3" => context::enqueue_v3;
        "setPersistentCacheLimit" => context::set_persistent_cache_limit;
        "getPersistentCacheLimit" => context::get_persistent_cache_limit;
        "setNvtxVerbosity" => context::set_nvtx_verbosity;
        "getNvtxVerbosity" => context::get_nvtx_verbosity;
        "setAuxStreams" => context::set_aux_streams;
        "setDebugListener";
        "getDebugListener";
        "setTensorDebugState";
        "getDebugState";
        "setAllTensorsDebugState";
        "updateDeviceMemorySizeForShapes" => context::update_device_memory_size_for_shapes;
        "setDeviceMemoryV2" from (10, 1) => context::set_device_memory_v2;
        "getRuntimeConfig" from (10, 11);
        "setUnfusedTensorsDebugState" from (10, 12);
        "getUnfusedTensorsDebugState" from (10, 12);
        "setCommunicator" from (10, 16);
    }
}

fn host_memory_rows() -> Vec<Row> {
    rows! {
        "data" => small::data;
        "size" => small::size;
        "type" => small::data_type;
    }
}

fn runtime_config_rows() -> Vec<Row> {
    rows! {
        "getPImpl" => small::config_p_impl;
        "setExecutionContextAllocationStrategy" => small::set_strategy;
        "getExecutionContextAllocationStrategy" => small::get_strategy;
    }
}

/// The methods of a class in a version, from slot 2 on.
pub(super) fn rows(class: Class, version: Version) -> Vec<Row> {
    let rows = match class {
        Class::Runtime => runtime_rows(),
        Class::Engine => engine_rows(),
        Class::Context => context_rows(),
        Class::HostMemory => host_memory_rows(),
        Class::RuntimeConfig => runtime_config_rows(),
    };
    let there = |row: &Row| row.since <= version && version < row.until;
    rows.into_iter().filter(there).collect()
}

/// The virtual table of a class's implementation in a version. It is made once.
pub(super) fn table(class: Class, version: Version) -> usize {
    static TABLES: LazyLock<Mutex<HashMap<(Class, Version), usize>>> =
        LazyLock::new(Mutex::default);
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    *tables.entry((class, version)).or_insert_with(|| {
        let mut slots = missing::slots();
        for (slot, row) in rows(class, version).iter().enumerate() {
            if let Some(function) = row.function {
                slots[slot + 2] = function;
            }
        }
        place(&slots)
    })
}

/// Puts slots where they stay, and gives the address of the first.
pub(super) fn place(slots: &[usize; SLOTS]) -> usize {
    let mut table = vec![0; AHEAD];
    table.extend(slots);
    let table: &'static [usize] = Vec::leak(table);
    table[AHEAD..].as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_as_many_slots_as_the_headers_say() {
        let sizes = |version| {
            let size = |class| rows(class, version).len() + 2;
            [
                size(Class::Runtime),
                size(Class::Engine),
                size(Class::Context),
            ]
        };
        assert_eq!(sizes((10, 0)), [23, 48, 49]);
        assert_eq!(sizes((10, 6)), [23, 54, 50]);
        assert_eq!(sizes((10, 7)), [24, 54, 50]);
        assert_eq!(sizes((10, 11)), [24, 57, 51]);
        assert_eq!(sizes((10, 12)), [24, 57, 53]);
        assert_eq!(sizes((10, 14)), [24, 58, 53]);
        assert_eq!(sizes((10, 15)), [24, 59, 53]);
        assert_eq!(sizes((10, 16)), [24, 59, 54]);
        assert_eq!(sizes((11, 1)), [23, 51, 53]);
    }
}
