//! A stand-in for `libnvinfer`, which runs on the stand-in for the driver.
//!
//! Callers find its functions in the same library, and call its objects through their virtual
//! tables, which have the layout of the version that is emulated. `docs/simgpu.md` says what it
//! promises.

mod callback;
#[forbid(unsafe_code)]
mod class;
#[forbid(unsafe_code)]
mod compute;
mod context;
#[forbid(unsafe_code)]
mod deserialize;
#[forbid(unsafe_code)]
mod dims;
#[forbid(unsafe_code)]
mod dtype;
mod engine;
#[forbid(unsafe_code)]
mod enqueue;
#[forbid(unsafe_code)]
mod error;
#[forbid(unsafe_code)]
mod kernels;
mod lifecycle;
mod memory;
mod method;
mod methods;
mod missing;
mod object;
#[forbid(unsafe_code)]
mod runtime;
mod settings;
#[forbid(unsafe_code)]
mod shape;
#[forbid(unsafe_code)]
mod spec;

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

pub use dtype::DType;
pub(crate) use methods::NO_OBJECT;
pub use spec::{Compute, Dim, EngineSpec, ProfileSpec, TensorSpec};

pub use crate::config::{TensorRt, Variant};
use crate::interface::{ReportKind, machine, report};

/// Creates a runtime, for a caller that was built for a version.
///
/// # Safety
/// The logger must be of that version, and outlive all that is made with it.
#[allow(non_snake_case, reason = "the name is TensorRT's")]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn createInferRuntime_INTERNAL(
    logger: *mut c_void,
    version: i32,
) -> *mut c_void {
    let made = catch_unwind(AssertUnwindSafe(|| {
        methods::create_runtime(logger as usize, version)
    }));
    made.unwrap_or(0) as *mut c_void
}

/// The version that is emulated.
fn emulated() -> TensorRt {
    machine().tensorrt
}

/// The version in one number.
#[allow(non_snake_case, reason = "the name is TensorRT's")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn getInferLibVersion() -> i32 {
    emulated().number()
}

/// The major number.
#[allow(non_snake_case, reason = "the name is TensorRT's")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn getInferLibMajorVersion() -> i32 {
    emulated().major
}

/// The minor number.
#[allow(non_snake_case, reason = "the name is TensorRT's")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn getInferLibMinorVersion() -> i32 {
    emulated().minor
}

/// The patch number.
#[allow(non_snake_case, reason = "the name is TensorRT's")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn getInferLibPatchVersion() -> i32 {
    emulated().patch
}

/// The number of the build.
#[allow(non_snake_case, reason = "the name is TensorRT's")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn getInferLibBuildVersion() -> i32 {
    1
}

/// Defines functions that only report that they are not modelled.
macro_rules! unmodelled {
    ($($name:ident)*) => {$(
        /// Not in the stand-in.
        #[allow(non_snake_case, reason = "the name is TensorRT's")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name() -> *mut c_void {
            let message = concat!(stringify!($name), " is not in the stand-in").to_owned();
            report(ReportKind::Unsupported, message, Vec::new());
            ptr::null_mut()
        }
    )*};
}

unmodelled! {
    createInferBuilder_INTERNAL
    createInferRefitter_INTERNAL
    getBuilderPluginRegistry
    getBuilderSafePluginRegistry
    getLogger
    getPluginRegistry
}

/// Returns true for a method of which a failure would mean nothing: it only reads or keeps a
/// setting, or ends something.
pub(crate) fn never_fails(function: &str) -> bool {
    let Some(method) = function.strip_prefix("nvinfer.") else {
        return false;
    };
    let method = method.rsplit('.').next().unwrap_or_default();
    matches!(
        method,
        "~" | "getPImpl"
            | "getLogger"
            | "getEngine"
            | "getName"
            | "setName"
            | "getErrorRecorder"
            | "setErrorRecorder"
            | "getProfiler"
            | "setProfiler"
            | "getEngineHostCodeAllowed"
            | "setEngineHostCodeAllowed"
            | "setEnqueueEmitsProfile"
            | "getEnqueueEmitsProfile"
            | "setPersistentCacheLimit"
            | "getPersistentCacheLimit"
            | "data"
            | "size"
            | "type"
    )
}
