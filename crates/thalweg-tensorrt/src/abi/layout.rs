//! The slots of TensorRT's methods in its virtual tables.
//!
//! The slots come from the output of `g++ -fdump-lang-class` for the headers that NVIDIA publishes for
//! TensorRT 10.0 to 10.16, 11.0 and 11.1. Minor versions of 10 only add methods at the ends of the
//! tables. So one layout, with the minor version of each addition, describes all of them. 11.0 removes
//! methods, and has a layout of its own. 11.2 and later are assumed to be like 11.1.
//!
//! No headers of TensorRT for RTX were available. Code that is compiled against both libraries uses the
//! same classes and methods as 10.11 and later, so that layout is used. It has not been checked.
//!
//! The first two slots of every table are destructors.

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;

use super::types::Shape;
use crate::version::{Flavor, Version};

/// The inner object that a method is called on.
pub(crate) type This = *mut c_void;

type Name = *const c_char;
type Object = *mut c_void;

/// The virtual tables of one major version.
pub(crate) struct Layout {
    pub(crate) runtime: RuntimeMethods,
    pub(crate) engine: EngineMethods,
    pub(crate) context: ContextMethods,
    pub(crate) logger: LoggerTable,
}

/// The form of the virtual table of an `ILogger`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoggerTable {
    /// `log`, then destructors.
    Plain,
    /// That of an `IVersionedInterface`: language, interface info, destructors, `log`.
    Versioned,
}

/// The virtual tables of one library: a layout, and the minor version.
#[derive(Clone, Copy)]
pub(crate) struct Api {
    pub(crate) layout: &'static Layout,
    /// The library does not have methods that were added after this minor version.
    minor: u16,
}

impl Api {
    /// The virtual tables of a library; `None` for an unknown version.
    pub(crate) fn of(version: Version, flavor: Flavor) -> Option<Self> {
        let (layout, minor) = match (flavor, version.major) {
            (Flavor::Rtx, 1) => (&TEN, LIKE_RTX),
            (Flavor::Rtx, _) => return None,
            (_, 10) => (&TEN, version.minor),
            (_, 11) => (&ELEVEN, version.minor),
            _ => return None,
        };
        Some(Self { layout, minor })
    }

    /// The slot of a method; `None` if the library does not have it.
    pub(crate) fn slot<F>(&self, method: &Method<F>) -> Option<usize> {
        let slot = method.slot?;
        (method.since <= self.minor).then_some(usize::from(slot))
    }
}

/// The minor version of 10 that TensorRT for RTX 1.x is like.
const LIKE_RTX: u16 = 11;

/// A method: its name, signature and slot.
pub(crate) struct Method<F> {
    pub(crate) name: &'static str,
    slot: Option<u16>,
    since: u16,
    signature: PhantomData<F>,
}

/// A method of all minor versions.
const fn at<F>(slot: u16, name: &'static str) -> Method<F> {
    Method {
        name,
        slot: Some(slot),
        since: 0,
        signature: PhantomData,
    }
}

/// A method that a minor version has added.
const fn since<F>(minor: u16, slot: u16, name: &'static str) -> Method<F> {
    Method {
        name,
        slot: Some(slot),
        since: minor,
        signature: PhantomData,
    }
}

/// A method that the major version does not have.
const fn absent<F>(name: &'static str) -> Method<F> {
    Method {
        name,
        slot: None,
        since: 0,
        signature: PhantomData,
    }
}

/// Methods of `IRuntime`.
pub(crate) struct RuntimeMethods {
    pub(crate) deserialize: Method<unsafe extern "C" fn(This, *const c_void, usize) -> Object>,
    pub(crate) deserialize_stream: Method<unsafe extern "C" fn(This, Object) -> Object>,
    pub(crate) deserialize_stream_v2: Method<unsafe extern "C" fn(This, Object) -> Object>,
    pub(crate) allow_host_code: Method<unsafe extern "C" fn(This, u8)>,
}

/// Methods of `ICudaEngine`. A `bool` is a byte.
pub(crate) struct EngineMethods {
    pub(crate) create_context: Method<unsafe extern "C" fn(This, c_int) -> Object>,
    pub(crate) name: Method<unsafe extern "C" fn(This) -> Name>,
    pub(crate) profile_count: Method<unsafe extern "C" fn(This) -> i32>,
    pub(crate) profile_values: Method<unsafe extern "C" fn(This, Name, i32, c_int) -> *const i32>,
    pub(crate) profile_values_v2:
        Method<unsafe extern "C" fn(This, Name, i32, c_int) -> *const i64>,
    pub(crate) shape: Method<unsafe extern "C" fn(This, Name) -> Shape>,
    pub(crate) data_type: Method<unsafe extern "C" fn(This, Name) -> i32>,
    pub(crate) location: Method<unsafe extern "C" fn(This, Name) -> i32>,
    pub(crate) is_shape_tensor: Method<unsafe extern "C" fn(This, Name) -> u8>,
    pub(crate) mode: Method<unsafe extern "C" fn(This, Name) -> i32>,
    pub(crate) format: Method<unsafe extern "C" fn(This, Name, i32) -> i32>,
    pub(crate) format_text: Method<unsafe extern "C" fn(This, Name, i32) -> Name>,
    pub(crate) profile_shape: Method<unsafe extern "C" fn(This, Name, i32, c_int) -> Shape>,
    pub(crate) tensor_count: Method<unsafe extern "C" fn(This) -> i32>,
    pub(crate) tensor_name: Method<unsafe extern "C" fn(This, i32) -> Name>,
    pub(crate) scratch: Method<unsafe extern "C" fn(This, i32) -> usize>,
    pub(crate) scratch_v2: Method<unsafe extern "C" fn(This, i32) -> i64>,
    pub(crate) streamable_weights: Method<unsafe extern "C" fn(This) -> i64>,
    pub(crate) set_weight_budget: Method<unsafe extern "C" fn(This, i64) -> u8>,
    pub(crate) weight_budget: Method<unsafe extern "C" fn(This) -> i64>,
    pub(crate) automatic_weight_budget: Method<unsafe extern "C" fn(This) -> i64>,
    pub(crate) weight_scratch: Method<unsafe extern "C" fn(This) -> i64>,
    pub(crate) aliased_input: Method<unsafe extern "C" fn(This, Name) -> Name>,
}

/// Methods of `IExecutionContext`.
pub(crate) struct ContextMethods {
    pub(crate) set_memory: Method<unsafe extern "C" fn(This, *mut c_void)>,
    pub(crate) set_memory_v2: Method<unsafe extern "C" fn(This, *mut c_void, i64)>,
    pub(crate) profile: Method<unsafe extern "C" fn(This) -> i32>,
    pub(crate) set_profile: Method<unsafe extern "C" fn(This, i32, *mut c_void) -> u8>,
    pub(crate) set_input_shape: Method<unsafe extern "C" fn(This, Name, *const Shape) -> u8>,
    pub(crate) shape: Method<unsafe extern "C" fn(This, Name) -> Shape>,
    pub(crate) set_address: Method<unsafe extern "C" fn(This, Name, *mut c_void) -> u8>,
    pub(crate) infer_shapes: Method<unsafe extern "C" fn(This, i32, *mut Name) -> i32>,
    pub(crate) set_output_allocator: Method<unsafe extern "C" fn(This, Name, Object) -> u8>,
    pub(crate) enqueue: Method<unsafe extern "C" fn(This, *mut c_void) -> u8>,
    pub(crate) update_memory_size: Method<unsafe extern "C" fn(This) -> usize>,
}

/// The virtual tables of TensorRT 10.x.
static TEN: Layout = Layout {
    logger: LoggerTable::Plain,
    runtime: RuntimeMethods {
        deserialize: at(3, "deserializeCudaEngine"),
        deserialize_stream: at(4, "deserializeCudaEngine"),
        deserialize_stream_v2: since(7, 23, "deserializeCudaEngineV2"),
        allow_host_code: at(21, "setEngineHostCodeAllowed"),
    },
    engine: EngineMethods {
        create_context: at(5, "createExecutionContext"),
        name: at(9, "getName"),
        profile_count: at(10, "getNbOptimizationProfiles"),
        profile_values: at(11, "getProfileTensorValues"),
        profile_values_v2: since(11, 54, "getProfileTensorValuesV2"),
        shape: at(19, "getTensorShape"),
        data_type: at(20, "getTensorDataType"),
        location: at(21, "getTensorLocation"),
        is_shape_tensor: at(22, "isShapeInferenceIO"),
        mode: at(23, "getTensorIOMode"),
        profile_shape: at(29, "getProfileShape"),
        tensor_count: at(30, "getNbIOTensors"),
        tensor_name: at(31, "getIOTensorName"),
        format: at(36, "getTensorFormat"),
        format_text: at(37, "getTensorFormatDesc"),
        scratch: at(41, "getDeviceMemorySizeForProfile"),
        scratch_v2: since(1, 53, "getDeviceMemorySizeForProfileV2"),
        streamable_weights: at(46, "getStreamableWeightsSize"),
        set_weight_budget: since(1, 48, "setWeightStreamingBudgetV2"),
        weight_budget: since(1, 49, "getWeightStreamingBudgetV2"),
        automatic_weight_budget: since(1, 50, "getWeightStreamingAutomaticBudget"),
        weight_scratch: since(1, 51, "getWeightStreamingScratchMemorySize"),
        aliased_input: since(15, 58, "getAliasedInputTensor"),
    },
    context: ContextMethods {
        set_memory: at(10, "setDeviceMemory"),
        set_memory_v2: since(1, 49, "setDeviceMemoryV2"),
        profile: at(11, "getOptimizationProfile"),
        set_profile: at(17, "setOptimizationProfileAsync"),
        set_input_shape: at(21, "setInputShape"),
        shape: at(22, "getTensorShape"),
        set_address: at(24, "setTensorAddress"),
        infer_shapes: at(28, "inferShapes"),
        set_output_allocator: at(32, "setOutputAllocator"),
        enqueue: at(37, "enqueueV3"),
        update_memory_size: at(48, "updateDeviceMemorySizeForShapes"),
    },
};

/// The virtual tables of TensorRT 11.x.
static ELEVEN: Layout = Layout {
    logger: LoggerTable::Versioned,
    runtime: RuntimeMethods {
        deserialize: at(3, "deserializeCudaEngine"),
        deserialize_stream: absent("deserializeCudaEngine"),
        deserialize_stream_v2: at(22, "deserializeCudaEngineV2"),
        allow_host_code: at(20, "setEngineHostCodeAllowed"),
    },
    engine: EngineMethods {
        create_context: at(5, "createExecutionContext"),
        name: at(7, "getName"),
        profile_count: at(8, "getNbOptimizationProfiles"),
        profile_values: absent("getProfileTensorValues"),
        profile_values_v2: at(46, "getProfileTensorValuesV2"),
        shape: at(15, "getTensorShape"),
        data_type: at(16, "getTensorDataType"),
        location: at(17, "getTensorLocation"),
        is_shape_tensor: at(18, "isShapeInferenceIO"),
        mode: at(19, "getTensorIOMode"),
        profile_shape: at(25, "getProfileShape"),
        tensor_count: at(26, "getNbIOTensors"),
        tensor_name: at(27, "getIOTensorName"),
        format: at(32, "getTensorFormat"),
        format_text: at(33, "getTensorFormatDesc"),
        scratch: absent("getDeviceMemorySizeForProfile"),
        scratch_v2: at(45, "getDeviceMemorySizeForProfileV2"),
        streamable_weights: at(38, "getStreamableWeightsSize"),
        set_weight_budget: at(40, "setWeightStreamingBudgetV2"),
        weight_budget: at(41, "getWeightStreamingBudgetV2"),
        automatic_weight_budget: at(42, "getWeightStreamingAutomaticBudget"),
        weight_scratch: at(43, "getWeightStreamingScratchMemorySize"),
        aliased_input: at(50, "getAliasedInputTensor"),
    },
    context: ContextMethods {
        set_memory: at(10, "setDeviceMemory"),
        set_memory_v2: at(48, "setDeviceMemoryV2"),
        profile: at(11, "getOptimizationProfile"),
        set_profile: at(16, "setOptimizationProfileAsync"),
        set_input_shape: at(20, "setInputShape"),
        shape: at(21, "getTensorShape"),
        set_address: at(23, "setTensorAddress"),
        infer_shapes: at(27, "inferShapes"),
        set_output_allocator: at(31, "setOutputAllocator"),
        enqueue: at(36, "enqueueV3"),
        update_memory_size: at(47, "updateDeviceMemorySizeForShapes"),
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_there_from_the_version_on_that_added_them() {
        let api = |major, minor, flavor| Api::of(Version::new(major, minor, 0), flavor);
        let ten = api(10, 0, Flavor::Full).unwrap();
        let engine = &ten.layout.engine;
        assert_eq!(ten.slot(&engine.scratch_v2), None);
        assert_eq!(ten.slot(&engine.scratch), Some(41));
        let ten = api(10, 6, Flavor::Lean).unwrap();
        assert_eq!(ten.slot(&engine.scratch_v2), Some(53));
        assert_eq!(ten.slot(&ten.layout.runtime.deserialize_stream_v2), None);
        let eleven = api(11, 7, Flavor::Full).unwrap();
        assert_eq!(eleven.slot(&eleven.layout.engine.scratch), None);
        assert_eq!(eleven.slot(&eleven.layout.context.enqueue), Some(36));
        let rtx = api(1, 0, Flavor::Rtx).unwrap();
        assert_eq!(rtx.slot(&engine.profile_values_v2), Some(54));
        assert_eq!(rtx.slot(&engine.aliased_input), None);
    }

    #[test]
    fn other_versions_have_no_layout() {
        for (major, flavor) in [(9, Flavor::Full), (12, Flavor::Lean), (2, Flavor::Rtx)] {
            assert!(Api::of(Version::new(major, 0, 0), flavor).is_none());
        }
    }
}
