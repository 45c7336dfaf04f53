//! `nvinfer1::IRuntime`

use std::ffi::c_void;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::interface::{CountedCall, ReportKind, Site, count_call, machine, report};
use crate::nvinfer::callback::{self, Severity};
use crate::nvinfer::class::{Class, TO_10, methods_of};
use crate::nvinfer::deserialize::{Source, deserialize};
use crate::nvinfer::error::usage;
use crate::nvinfer::lifecycle;
use crate::nvinfer::method::methods;
use crate::nvinfer::object::Implementation;
use crate::nvinfer::runtime::Runtime;

/// The class, with all methods of all versions.
static CLASS: Class = Class {
    name: "IRuntime",
    exclusive: false,
    methods: || {
        methods_of! {
            "getPImpl" => get_p_impl;
            "deserializeCudaEngine" => deserialize_cuda_engine;
            "deserializeCudaEngine(IStreamReader)", until TO_10 => deserialize_from_reader;
            "setDLACore" => set_dla_core;
            "getDLACore" => get_dla_core;
            "getNbDLACores" => get_nb_dla_cores;
            "setGpuAllocator";
            "setErrorRecorder" => set_error_recorder;
            "getErrorRecorder" => get_error_recorder;
            "getLogger" => get_logger;
            "setMaxThreads" => set_max_threads;
            "getMaxThreads" => get_max_threads;
            "setTemporaryDirectory";
            "getTemporaryDirectory";
            "setTempfileControlFlags";
            "getTempfileControlFlags";
            "getPluginRegistry";
            "setPluginRegistryParent";
            "loadRuntime";
            "setEngineHostCodeAllowed" => set_engine_host_code_allowed;
            "getEngineHostCodeAllowed" => get_engine_host_code_allowed;
            "deserializeCudaEngineV2" from (10, 7) => deserialize_from_reader_v2;
        }
    },
};

impl Implementation for Runtime {
    fn class() -> &'static Class {
        &CLASS
    }

    fn logger(&self) -> usize {
        self.logger
    }

    fn recorder(&self) -> usize {
        self.recorder.load(Ordering::Relaxed)
    }

    fn destroyed(&self, site: &Arc<Site>) {
        self.end(site);
    }
}

/// The address that is returned instead of an object where the library cannot start: the real one
/// adds the offset of a base class to a null pointer. Seen with 10.6, 10.15 and 11.2.
pub(crate) const NO_OBJECT: usize = 0x200;

/// The code of a fault that has `createInferRuntime_INTERNAL` return null. Any other small number
/// is returned itself.
const NULL: u32 = 999;

/// Creates a runtime.
pub(in crate::nvinfer) fn create(logger: usize, version: i32) -> usize {
    let CountedCall { site, injected, .. } = count_call("nvinfer.createInferRuntime_INTERNAL");
    let machine = machine();
    let emulated = machine.tensorrt;
    let fail = |text: &str| {
        let line = format!("createInferRuntime: {text}");
        callback::log(logger, emulated, Severity::Error, &line);
        0
    };
    if logger == 0 {
        let message = format!("{site} without a logger");
        report(ReportKind::Misuse, message, vec![(*site).clone()]);
        return 0;
    }
    match injected {
        Some(NULL) => return fail("Error Code 2: Internal Error (a plan of faults)"),
        Some(other) => return other as usize,
        None => {}
    }
    if machine.devices == 0 {
        fail("Error Code 6: API Usage Error (CUDA initialization failure with error: 100)");
        return NO_OBJECT;
    }
    if version / 10_000 != emulated.major {
        return fail(&format!(
            "Error Code 3: API Usage Error (the caller was built for version {version}, and this is {})",
            emulated.number()
        ));
    }
    let object = lifecycle::create(Runtime::new(emulated, logger), emulated, &site);
    callback::log(
        logger,
        emulated,
        Severity::Info,
        "the stand-in's runtime is there",
    );
    object
}

methods! { Runtime:
    /// The address of the object that callers hold.
    fn get_p_impl = "getPImpl" () -> usize, else 0, |call, _this| {
        Ok(call.object.outer())
    }
    /// Creates an engine from bytes in memory, which are not needed afterwards.
    fn deserialize_cuda_engine = "deserializeCudaEngine" (blob: *const u8, size: usize) -> usize, else 0, |call, this| {
        if blob.is_null() || size == 0 {
            return usage("there are no bytes");
        }
        // SAFETY: the caller gave so many bytes.
        let bytes = unsafe { slice::from_raw_parts(blob, size) };
        deserialize(call, this, Source::Memory(bytes))
    }
    /// Creates an engine from a reader.
    fn deserialize_from_reader = "deserializeCudaEngine(IStreamReader)" (reader: usize) -> usize, else 0, |call, this| {
        deserialize(call, this, Source::Reader { reader, v2: false })
    }
    /// Creates an engine from a reader that can seek.
    fn deserialize_from_reader_v2 = "deserializeCudaEngineV2" (reader: usize) -> usize, else 0, |call, this| {
        deserialize(call, this, Source::Reader { reader, v2: true })
    }
    /// Sets the DLA core. It has no effect.
    fn set_dla_core = "setDLACore" (core: i32) -> (), else (), |_call, this| {
        this.dla.store(core, Ordering::Relaxed);
        Ok(())
    }
    /// The DLA core.
    fn get_dla_core = "getDLACore" () -> i32, else -1, |_call, this| {
        Ok(this.dla.load(Ordering::Relaxed))
    }
    /// The number of DLA cores: none.
    fn get_nb_dla_cores = "getNbDLACores" () -> i32, else 0, |_call, _this| { Ok(0) }
    /// Sets the error recorder.
    fn set_error_recorder = "setErrorRecorder" (recorder: usize) -> (), else (), |_call, this| {
        callback::exchange_recorder(&this.recorder, recorder);
        Ok(())
    }
    /// The error recorder.
    fn get_error_recorder = "getErrorRecorder" () -> usize, else 0, |_call, this| {
        Ok(this.recorder())
    }
    /// The logger that it was created with.
    fn get_logger = "getLogger" () -> *const c_void, else std::ptr::null(), |_call, this| {
        Ok(this.logger as *const c_void)
    }
    /// Sets the number of threads that it may use.
    fn set_max_threads = "setMaxThreads" (threads: i32) -> bool, else false, |_call, this| {
        if threads < 1 {
            return usage(format!("{threads} threads"));
        }
        this.threads.store(threads, Ordering::Relaxed);
        Ok(true)
    }
    /// The number of threads that it may use.
    fn get_max_threads = "getMaxThreads" () -> i32, else 0, |_call, this| {
        Ok(this.threads.load(Ordering::Relaxed))
    }
    /// Sets if engines may have code for the host.
    fn set_engine_host_code_allowed = "setEngineHostCodeAllowed" (allowed: bool) -> (), else (), |_call, this| {
        this.host_code.store(allowed, Ordering::Relaxed);
        Ok(())
    }
    /// True if engines may have code for the host.
    fn get_engine_host_code_allowed = "getEngineHostCodeAllowed" () -> bool, else false, |_call, this| {
        Ok(this.host_code.load(Ordering::Relaxed))
    }
}
