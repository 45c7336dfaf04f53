//! The exported functions with which tests control the stand-ins. [`Sim`](crate::Sim) calls them.

use std::ffi::c_void;
use std::slice;

use serde::{Deserialize, Serialize};

use crate::abi::KernelEntry;
use crate::config::{Config, TensorRt};
use crate::fault::Fault;
use crate::kernel::{self, KernelFunction};
use crate::report::{Report, ReportKind};
use crate::simulator::{self, SIMULATOR};
use crate::work::Done;

/// A request of a test.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Start as a new machine of a configuration.
    Reset(Config),
    /// Start as a new machine of the environment's configuration.
    ResetToEnvironment,
    Faults(Vec<Fault>),
    Reports,
    /// Run all work, report leaks, and take all reports.
    Finish,
    CallCounts,
    Log,
    ClearLog,
    Waits,
    /// Run all work.
    Drain,
    Used(usize),
}

/// The answer to a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Response {
    Nothing,
    Reports(Vec<Report>),
    Counts(Vec<(String, u64)>),
    Log(Vec<Done>),
    Number(u64),
}

fn answer(request: Request) -> Response {
    SIMULATOR.start();
    let mut driver = SIMULATOR.lock();
    match request {
        Request::Reset(config) => {
            drop(driver);
            SIMULATOR.reset(config);
            Response::Nothing
        }
        Request::ResetToEnvironment => {
            drop(driver);
            SIMULATOR.reset(Config::from_environment());
            Response::Nothing
        }
        Request::Faults(plan) => {
            driver.faults.set_plan(plan);
            Response::Nothing
        }
        Request::Reports => Response::Reports(driver.reports.list().to_vec()),
        Request::Finish => {
            drop(driver);
            SIMULATOR.drain();
            driver = SIMULATOR.lock();
            let site = driver.host_site("the end");
            driver.report_leaks(&site);
            Response::Reports(driver.reports.take())
        }
        Request::CallCounts => {
            let counts = driver.faults.counts().iter();
            Response::Counts(counts.map(|(name, n)| (name.to_string(), *n)).collect())
        }
        Request::Log => Response::Log(driver.log.iter().cloned().collect()),
        Request::ClearLog => {
            driver.log.clear();
            Response::Nothing
        }
        Request::Waits => Response::Number(driver.waits),
        Request::Drain => {
            drop(driver);
            SIMULATOR.drain();
            Response::Nothing
        }
        Request::Used(device) => {
            let arena = driver.memory.arenas.get(device);
            Response::Number(arena.map_or(0, |arena| arena.used()))
        }
    }
}

/// Answers a request. Both are JSON.
///
/// # Safety
/// The request must be `len` readable bytes, and `reply` is called with `user` and the answer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn simgpu_request(
    request: *const u8,
    len: usize,
    reply: unsafe extern "C" fn(*mut c_void, *const u8, usize),
    user: *mut c_void,
) -> i32 {
    // SAFETY: as promised by the caller.
    let request = unsafe { slice::from_raw_parts(request, len) };
    let result = std::panic::catch_unwind(|| {
        let request = serde_json::from_slice(request).ok()?;
        serde_json::to_vec(&answer(request)).ok()
    });
    let Ok(Some(response)) = result else {
        return 1;
    };
    // SAFETY: as promised by the caller.
    unsafe { reply(user, response.as_ptr(), response.len()) };
    0
}

/// Registers the kernels of a name, or, without a function, removes them.
/// [`RegisterKernel`](crate::abi::RegisterKernel) says what the arguments are.
///
/// # Safety
/// The name and the sizes must be readable for as long as the call, and `function` and `release`
/// must be callable with `user` on any thread, `function` on several at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn simgpu_register_kernel(
    name: *const u8,
    name_len: usize,
    sizes: *const usize,
    count: usize,
    function: Option<KernelEntry>,
    user: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
) {
    // SAFETY: as promised by the caller.
    let name = unsafe { slice::from_raw_parts(name, name_len) };
    let name = String::from_utf8_lossy(name);
    let function = function.map(|function| {
        let sizes = if count == 0 {
            Vec::new()
        } else {
            // SAFETY: as promised by the caller.
            unsafe { slice::from_raw_parts(sizes, count) }.to_vec()
        };
        KernelFunction::registered(function, user, release, sizes)
    });
    kernel::register(&name, function);
}

/// As [`HostAccess`](crate::abi::HostAccess). The result is 0 for pageable memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn simgpu_host_access(address: *const c_void, len: usize, write: u32) -> u32 {
    SIMULATOR.host_access(address as u64, len, write != 0)
}

/// Sets the version of TensorRT that is emulated, until the next reset. `kind` is 0 for the full
/// library, 1 for the lean one, 2 for the dispatch one, 3 for RTX. Returns 0, or 1 for another
/// kind.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn simgpu_nvinfer_version(
    major: i32,
    minor: i32,
    patch: i32,
    kind: u32,
) -> u32 {
    match TensorRt::from_parts(major, minor, patch, kind) {
        Some(version) => {
            SIMULATOR.lock().config.tensorrt = version;
            0
        }
        None => 1,
    }
}

/// As [`CountCall`](crate::abi::CountCall).
///
/// # Safety
/// The name must be readable.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn simgpu_count_call(name: *const u8, name_len: usize) -> u32 {
    // SAFETY: as promised by the caller.
    let name = unsafe { slice::from_raw_parts(name, name_len) };
    let name = String::from_utf8_lossy(name);
    SIMULATOR.lock().faults.call(&name).unwrap_or(0)
}

/// As [`ReportMisuse`](crate::abi::ReportMisuse).
///
/// # Safety
/// The message must be readable.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn simgpu_report(message: *const u8, len: usize) {
    // SAFETY: as promised by the caller.
    let message = unsafe { slice::from_raw_parts(message, len) };
    let message = String::from_utf8_lossy(message).into_owned();
    SIMULATOR
        .lock()
        .reports
        .add(ReportKind::Misuse, message, Vec::new());
}

/// As [`Mark`](crate::abi::Mark).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn simgpu_mark(stream: u64) -> u64 {
    simulator::mark(stream)
}

/// As [`IsKnown`](crate::abi::IsKnown).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn simgpu_is_known(mark: u64) -> u32 {
    let driver = SIMULATOR.lock();
    let mark = usize::try_from(mark)
        .ok()
        .and_then(|mark| mark.checked_sub(1));
    let recorded = mark.and_then(|mark| driver.marks.get(mark));
    u32::from(recorded.is_none_or(|recorded| driver.host.knows(recorded.epoch)))
}
