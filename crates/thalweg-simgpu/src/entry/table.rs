//! The lookup of functions by name.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;

use cudarc::driver::sys::CUresult;

use super::argument::{Out, Text};
use super::entry;
use crate::report::ReportKind;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

/// The functions whose variants have other arguments: the name, the version of CUDA from which it
/// means a variant, and the variant. The last one that is not newer than the caller's version
/// counts.
const VERSIONS: &[(&str, c_int, &str)] = &[
    ("cuCtxCreate", 0, "cuCtxCreate_v2"),
    ("cuCtxCreate", 12050, "cuCtxCreate_v4"),
    ("cuDeviceGetUuid", 0, "cuDeviceGetUuid"),
    ("cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"),
    ("cuEventElapsedTime", 0, "cuEventElapsedTime"),
    ("cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"),
    ("cuGetProcAddress", 0, "cuGetProcAddress"),
    ("cuGetProcAddress", 12000, "cuGetProcAddress_v2"),
    ("cuGraphExecUpdate", 0, "cuGraphExecUpdate"),
    ("cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"),
    ("cuGraphInstantiate", 0, "cuGraphInstantiate_v2"),
    ("cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"),
    ("cuStreamGetCaptureInfo", 0, "cuStreamGetCaptureInfo"),
    ("cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"),
    ("cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"),
    ("cuStreamGetCtx", 0, "cuStreamGetCtx"),
    ("cuStreamGetCtx", 12050, "cuStreamGetCtx_v2"),
    ("cuCtxGetDevice", 0, "cuCtxGetDevice"),
    ("cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"),
    ("cuCtxSynchronize", 0, "cuCtxSynchronize"),
    ("cuCtxSynchronize", 13000, "cuCtxSynchronize_v2"),
    (
        "cuStreamUpdateCaptureDependencies",
        0,
        "cuStreamUpdateCaptureDependencies",
    ),
    (
        "cuStreamUpdateCaptureDependencies",
        12030,
        "cuStreamUpdateCaptureDependencies_v2",
    ),
];

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;

/// The address of an exported function of this library.
fn exported(name: &str) -> Option<*mut c_void> {
    // Whatever program has this code, as a shared library or as a part of itself.
    let mut info = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    let name = CString::new(name).ok()?;
    let here = exported as *const c_void;
    // SAFETY: the address is of this library, the name of its file stays while it is loaded, and
    // it is not loaded again, so nothing is run; the handle is not closed, for the library stays.
    unsafe {
        if libc::dladdr(here, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        let file = CStr::from_ptr(info.dli_fname);
        let library = libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        if library.is_null() {
            return None;
        }
        let found = libc::dlsym(library, name.as_ptr());
        libc::dlclose(library);
        (!found.is_null()).then_some(found)
    }
}

/// The function that a name means for a version of CUDA.
fn find(name: &str, version: c_int, per_thread: bool) -> Option<*mut c_void> {
    let versioned = VERSIONS
        .iter()
        .rfind(|(known, since, _)| *known == name && *since <= version)
        .map(|(_, _, symbol)| (*symbol).to_owned());
    let candidates = match versioned {
        Some(symbol) => vec![symbol],
        None => vec![format!("{name}_v2"), name.to_owned()],
    };
    if per_thread {
        let variants = candidates
            .iter()
            .flat_map(|name| [format!("{name}_ptsz"), format!("{name}_ptds")]);
        if let Some(found) = variants.into_iter().find_map(|name| exported(&name)) {
            return Some(found);
        }
    }
    candidates.iter().find_map(|name| exported(name))
}

impl Call {
    fn look_up(
        &mut self,
        name: Text,
        function: Out<*mut c_void>,
        version: c_int,
        flags: u64,
        status: Out<c_int>,
    ) -> CallResult {
        let name = name.get()?;
        if function.is_null() || flags > 2 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        match find(&name, version, flags == PER_THREAD) {
            Some(found) => {
                status.set_if_wanted(0);
                function.set(found)
            }
            None => {
                function.set(ptr::null_mut())?;
                // With a pointer for the status, the call succeeds, and the status is the error.
                if !status.is_null() {
                    return status.set(1);
                }
                fail(CUresult::CUDA_ERROR_NOT_FOUND)
            }
        }
    }

    /// Reports a call of a function that the stand-in does not have.
    pub(super) fn unsupported(&mut self) -> CallResult {
        let site = self.site.clone();
        let message = format!("{} is not in the stand-in", site.name);
        self.report(ReportKind::Unsupported, message, &site);
        fail(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }
}

entry! {
    /// The address of a function, by its name and the version of CUDA that the caller knows.
    fn cuGetProcAddress_v2(name: Text, function: Out<*mut c_void>, version: c_int, flags: u64, status: Out<c_int>), Rules::ALWAYS, |call| {
        call.look_up(name, function, version, flags, status)
    }
}

entry! {
    /// The address of a function, by its name and the version of CUDA that the caller knows.
    fn cuGetProcAddress(name: Text, function: Out<*mut c_void>, version: c_int, flags: u64), Rules::ALWAYS, |call| {
        call.look_up(name, function, version, flags, Out(ptr::null_mut()))
    }
}
