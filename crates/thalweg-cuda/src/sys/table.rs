//! The table of the driver's functions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};

use cudarc::driver::sys::{
    CUcontext, CUdevResource, CUdevResourceDesc, CUdevice, CUdeviceptr, CUevent, CUfunction,
    CUgraph, CUgraphExec, CUgraphExecUpdateResultInfo, CUgraphNode, CUgreenCtx, CUhostFn,
    CUmemoryPool, CUmodule, CUstream, CUuserObject, CUuuid,
};
use thalweg_core::{Result, bail};

use super::library::{Location, SharedLibrary};
use super::status::Status;

/// Declares the table: functions that every driver from CUDA 12.0 on has, and others that may be
/// missing. Names are those that the library exports; a suffix `_v2` is a newer binary interface,
/// which the headers of CUDA 12 give the plain name.
macro_rules! table {
    (
        required { $($required:ident ( $($parameter:ty),* );)* }
        optional { $($optional:ident ( $($optional_parameter:ty),* );)* }
    ) => {
        /// Pointers to the driver's functions. The library that they are in is never unloaded.
        #[allow(non_snake_case, reason = "the names are the driver's")]
        pub(crate) struct Table {
            /// The driver's version, as 1000 times the major version and 10 times the minor.
            pub(crate) version: i32,
            library: SharedLibrary,
            /// A function of the stand-in's, which is told of the host's accesses.
            observer: Option<unsafe extern "C" fn(*const c_void, usize, u32) -> u32>,
            $(pub(crate) $required: unsafe extern "C" fn($($parameter),*) -> Status,)*
            $(pub(crate) $optional:
                Option<unsafe extern "C" fn($($optional_parameter),*) -> Status>,)*
        }

        impl Table {
            /// Looks all functions up.
            pub(super) fn of(library: SharedLibrary, version: i32) -> Result<Self> {
                Ok(Self {
                    version,
                    $($required: {
                        let name = concat!(stringify!($required), "\0");
                        let Some(address) = library.symbol(name) else {
                            bail!(
                                MissingDevice,
                                "the driver {library} (CUDA {}.{}) has no function `{}`; Thalweg \
                                 needs a driver of CUDA 12.0 or newer",
                                version / 1000,
                                version % 1000 / 10,
                                stringify!($required),
                            );
                        };
                        // SAFETY: the symbol is the driver's function of that name, and has the
                        // signature that the driver's documentation gives it.
                        unsafe {
                            std::mem::transmute::<
                                *const c_void,
                                unsafe extern "C" fn($($parameter),*) -> Status,
                            >(address.as_ptr())
                        }
                    },)*
                    $($optional: library
                        .symbol(concat!(stringify!($optional), "\0"))
                        // SAFETY: as above.
                        .map(|address| unsafe {
                            std::mem::transmute::<
                                *const c_void,
                                unsafe extern "C" fn($($optional_parameter),*) -> Status,
                            >(address.as_ptr())
                        }),)*
                    observer: library
                        .symbol("simgpu_host_access\0")
                        // SAFETY: as above.
                        .map(|address| unsafe {
                            std::mem::transmute::<
                                *const c_void,
                                unsafe extern "C" fn(*const c_void, usize, u32) -> u32,
                            >(address.as_ptr())
                        }),
                    library,
                })
            }
        }
    };
}

table! {
    required {
        cuGetErrorName(Status, *mut *const c_char);
        cuGetErrorString(Status, *mut *const c_char);

        cuDeviceGetCount(*mut c_int);
        cuDeviceGet(*mut CUdevice, c_int);
        cuDeviceGetName(*mut c_char, c_int, CUdevice);
        cuDeviceGetUuid_v2(*mut CUuuid, CUdevice);
        cuDeviceGetAttribute(*mut c_int, c_int, CUdevice);
        cuDeviceTotalMem_v2(*mut usize, CUdevice);
        cuDeviceCanAccessPeer(*mut c_int, CUdevice, CUdevice);
        cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
        cuDevicePrimaryCtxRelease_v2(CUdevice);

        cuCtxGetCurrent(*mut CUcontext);
        cuCtxSetCurrent(CUcontext);
        cuCtxSynchronize();
        cuCtxGetStreamPriorityRange(*mut c_int, *mut c_int);
        cuCtxEnablePeerAccess(CUcontext, c_uint);

        cuStreamCreateWithPriority(*mut CUstream, c_uint, c_int);
        cuStreamDestroy_v2(CUstream);
        cuStreamQuery(CUstream);
        cuStreamSynchronize(CUstream);
        cuStreamWaitEvent(CUstream, CUevent, c_uint);
        cuStreamIsCapturing(CUstream, *mut c_uint);
        cuStreamBeginCapture_v2(CUstream, c_uint);
        cuStreamEndCapture(CUstream, *mut CUgraph);
        cuThreadExchangeStreamCaptureMode(*mut c_uint);
        cuLaunchHostFunc(CUstream, CUhostFn, *mut c_void);

        cuEventCreate(*mut CUevent, c_uint);
        cuEventDestroy_v2(CUevent);
        cuEventRecord(CUevent, CUstream);
        cuEventQuery(CUevent);
        cuEventSynchronize(CUevent);
        cuEventElapsedTime(*mut f32, CUevent, CUevent);

        cuMemGetInfo_v2(*mut usize, *mut usize);
        cuMemAlloc_v2(*mut CUdeviceptr, usize);
        cuMemFree_v2(CUdeviceptr);
        cuMemAllocAsync(*mut CUdeviceptr, usize, CUstream);
        cuMemFreeAsync(CUdeviceptr, CUstream);
        cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
        cuMemFreeHost(*mut c_void);
        cuDeviceGetDefaultMemPool(*mut CUmemoryPool, CUdevice);
        cuMemPoolTrimTo(CUmemoryPool, usize);
        cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream);
        cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream);
        cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, usize, CUstream);
        cuMemcpyAsync(CUdeviceptr, CUdeviceptr, usize, CUstream);
        cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, usize, CUstream);
        cuMemsetD8Async(CUdeviceptr, u8, usize, CUstream);
        cuPointerGetAttributes(c_uint, *mut c_int, *mut *mut c_void, CUdeviceptr);

        cuModuleLoadData(*mut CUmodule, *const c_void);
        cuModuleUnload(CUmodule);
        cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
        cuFuncSetAttribute(CUfunction, c_int, c_int);
        cuLaunchKernel(
            CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream,
            *mut *mut c_void, *mut *mut c_void
        );

        cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
        cuGraphLaunch(CUgraphExec, CUstream);
        cuGraphExecUpdate_v2(CUgraphExec, CUgraph, *mut CUgraphExecUpdateResultInfo);
        cuGraphExecDestroy(CUgraphExec);
        cuGraphDestroy(CUgraph);
        cuGraphGetNodes(CUgraph, *mut CUgraphNode, *mut usize);
    }
    optional {
        cuGraphUpload(CUgraphExec, CUstream);
        cuStreamGetCaptureInfo_v2(
            CUstream, *mut c_uint, *mut u64, *mut CUgraph, *mut *const CUgraphNode, *mut usize
        );
        cuUserObjectCreate(*mut CUuserObject, *mut c_void, CUhostFn, c_uint, c_uint);
        cuUserObjectRelease(CUuserObject, c_uint);
        cuGraphRetainUserObject(CUgraph, CUuserObject, c_uint, c_uint);

        // From CUDA 12.4 on.
        cuDeviceGetDevResource(CUdevice, *mut CUdevResource, c_int);
        cuDevSmResourceSplitByCount(
            *mut CUdevResource, *mut c_uint, *const CUdevResource, *mut CUdevResource, c_uint,
            c_uint
        );
        cuDevResourceGenerateDesc(*mut CUdevResourceDesc, *mut CUdevResource, c_uint);
        cuGreenCtxCreate(*mut CUgreenCtx, CUdevResourceDesc, CUdevice, c_uint);
        cuGreenCtxDestroy(CUgreenCtx);
        // From CUDA 12.5 on.
        cuGreenCtxStreamCreate(*mut CUstream, CUgreenCtx, c_uint, c_int);
    }
}

impl Table {
    /// The name and the text of a code.
    pub(crate) fn describe(&self, status: Status) -> (String, String) {
        let ask = |function: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text = std::ptr::null();
            // SAFETY: the driver writes a pointer to a static string, or leaves or makes it null
            // for codes that it does not know.
            let answer = unsafe { function(status, &raw mut text) };
            if !answer.is_success() || text.is_null() {
                return None;
            }
            // SAFETY: as said above.
            let text = unsafe { CStr::from_ptr(text) };
            Some(text.to_string_lossy().into_owned())
        };
        (
            ask(self.cuGetErrorName).unwrap_or_else(|| format!("code {}", status.0)),
            ask(self.cuGetErrorString).unwrap_or_else(|| "the driver has no text for it".into()),
        )
    }

    /// The address of any function that the library exports.
    pub(crate) fn symbol(&self, name: &str) -> Option<std::ptr::NonNull<c_void>> {
        self.library.symbol(&format!("{name}\0"))
    }

    /// The stand-in's function, if that is the driver.
    pub(crate) fn observer(
        &self,
    ) -> Option<unsafe extern "C" fn(*const c_void, usize, u32) -> u32> {
        self.observer
    }

    /// The location at which the library was found.
    pub(crate) fn location(&self) -> &Location {
        self.library.location()
    }
}
