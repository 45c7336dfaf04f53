//! The driver, as a program sees it: opened by its file, called through its symbols.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

pub(crate) use cudarc::driver::sys::CUresult;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use thalweg_simgpu::Sim;

pub(crate) const LEGACY: u64 = 1;
pub(crate) const PER_THREAD: u64 = 2;
pub(crate) const NON_BLOCKING: u32 = 1;

/// The result of a call: a `CUresult` as a number.
pub(crate) type Code = u32;

pub(crate) const OK: Code = 0;
pub(crate) const INVALID_VALUE: Code = CUresult::CUDA_ERROR_INVALID_VALUE as u32;
pub(crate) const OUT_OF_MEMORY: Code = CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32;
pub(crate) const NOT_INITIALIZED: Code = CUresult::CUDA_ERROR_NOT_INITIALIZED as u32;
pub(crate) const INVALID_CONTEXT: Code = CUresult::CUDA_ERROR_INVALID_CONTEXT as u32;
pub(crate) const INVALID_HANDLE: Code = CUresult::CUDA_ERROR_INVALID_HANDLE as u32;
pub(crate) const NOT_FOUND: Code = CUresult::CUDA_ERROR_NOT_FOUND as u32;
pub(crate) const NOT_READY: Code = CUresult::CUDA_ERROR_NOT_READY as u32;
pub(crate) const UNKNOWN: Code = CUresult::CUDA_ERROR_UNKNOWN as u32;
pub(crate) const ILLEGAL_ADDRESS: Code = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS as u32;
pub(crate) const LAUNCH_FAILED: Code = CUresult::CUDA_ERROR_LAUNCH_FAILED as u32;
pub(crate) const ILLEGAL_STATE: Code = CUresult::CUDA_ERROR_ILLEGAL_STATE as u32;
pub(crate) const NOT_SUPPORTED: Code = CUresult::CUDA_ERROR_NOT_SUPPORTED as u32;
pub(crate) const CAPTURE_UNSUPPORTED: Code = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED as u32;
pub(crate) const CAPTURE_INVALIDATED: Code = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED as u32;
pub(crate) const CAPTURE_MERGE: Code = CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE as u32;
pub(crate) const CAPTURE_UNMATCHED: Code = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED as u32;
pub(crate) const CAPTURE_UNJOINED: Code = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED as u32;
pub(crate) const CAPTURE_ISOLATION: Code = CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION as u32;
pub(crate) const CAPTURE_IMPLICIT: Code = CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT as u32;
pub(crate) const CAPTURED_EVENT: Code = CUresult::CUDA_ERROR_CAPTURED_EVENT as u32;
pub(crate) const WRONG_THREAD: Code = CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD as u32;
pub(crate) const UPDATE_FAILURE: Code = CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE as u32;

/// Returns true if the real driver is tested instead of the stand-in.
pub(crate) fn is_real() -> bool {
    std::env::var("THALWEG_TEST_DRIVER").is_ok_and(|driver| driver == "real")
}

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let path = if is_real() {
            std::path::Path::new("libcuda.so.1")
        } else {
            Sim::path()
        };
        // SAFETY: loading a driver runs nothing that matters.
        unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.unwrap()
    })
}

/// The address of a function.
pub(crate) fn symbol(name: &str) -> *mut c_void {
    // SAFETY: only the address is taken.
    unsafe { *library().get::<*mut c_void>(name.as_bytes()).unwrap() }
}

/// Defines safe functions that call the driver's. Their callers are tests, and mean what they pass.
macro_rules! driver {
    ($($name:ident => $symbol:ident($($arg:ident: $type:ty),*);)*) => {$(
        pub(crate) fn $name($($arg: $type),*) -> Code {
            let address = symbol(stringify!($symbol));
            type Function = unsafe extern "C" fn($($type),*) -> Code;
            // SAFETY: that is the function's type.
            let function = unsafe { std::mem::transmute::<*mut c_void, Function>(address) };
            // SAFETY: tests pass what the function takes.
            unsafe { function($($arg),*) }
        }
    )*};
}

driver! {
    init => cuInit(flags: u32);
    device_count => cuDeviceGetCount(count: &mut i32);
    attribute => cuDeviceGetAttribute(value: &mut i32, attribute: i32, device: i32);
    retain => cuDevicePrimaryCtxRetain(context: &mut u64, device: i32);
    release => cuDevicePrimaryCtxRelease_v2(device: i32);
    reset_device => cuDevicePrimaryCtxReset_v2(device: i32);
    primary_state => cuDevicePrimaryCtxGetState(device: i32, flags: &mut u32, active: &mut i32);
    set_current => cuCtxSetCurrent(context: u64);
    get_current => cuCtxGetCurrent(context: &mut u64);
    push_current => cuCtxPushCurrent_v2(context: u64);
    pop_current => cuCtxPopCurrent_v2(context: &mut u64);
    synchronize => cuCtxSynchronize();
    enable_peer => cuCtxEnablePeerAccess(context: u64, flags: u32);
    memory_info => cuMemGetInfo_v2(free: &mut usize, total: &mut usize);
    alloc => cuMemAlloc_v2(pointer: &mut u64, bytes: usize);
    free => cuMemFree_v2(pointer: u64);
    alloc_host => cuMemHostAlloc(pointer: &mut u64, bytes: usize, flags: u32);
    free_host => cuMemFreeHost(pointer: u64);
    register_host => cuMemHostRegister_v2(pointer: *const c_void, bytes: usize, flags: u32);
    unregister_host => cuMemHostUnregister(pointer: *const c_void);
    alloc_async => cuMemAllocAsync(pointer: &mut u64, bytes: usize, stream: u64);
    alloc_from_pool => cuMemAllocFromPoolAsync(pointer: &mut u64, bytes: usize, pool: u64, stream: u64);
    free_async => cuMemFreeAsync(pointer: u64, stream: u64);
    default_pool => cuDeviceGetDefaultMemPool(pool: &mut u64, device: i32);
    pool_get => cuMemPoolGetAttribute(pool: u64, attribute: u32, value: &mut u64);
    pool_set => cuMemPoolSetAttribute(pool: u64, attribute: u32, value: &u64);
    pool_trim => cuMemPoolTrimTo(pool: u64, keep: usize);
    pool_destroy => cuMemPoolDestroy(pool: u64);
    pointer_attribute => cuPointerGetAttribute(value: *mut c_void, attribute: u32, pointer: u64);
    to_device => cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize);
    to_host => cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize);
    on_device => cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize);
    to_device_async => cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: u64);
    to_host_async => cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: u64);
    on_device_async => cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64);
    to_peer_async => cuMemcpyPeerAsync(to: u64, to_context: u64, from: u64, from_context: u64, bytes: usize, stream: u64);
    copy_rows => cuMemcpy2D_v2(rows: &cudarc::driver::sys::CUDA_MEMCPY2D);
    fill8_async => cuMemsetD8Async(to: u64, value: u8, count: usize, stream: u64);
    fill32_async => cuMemsetD32Async(to: u64, value: u32, count: usize, stream: u64);
    fill32 => cuMemsetD32_v2(to: u64, value: u32, count: usize);
    stream_create => cuStreamCreate(stream: &mut u64, flags: u32);
    stream_destroy => cuStreamDestroy_v2(stream: u64);
    stream_query => cuStreamQuery(stream: u64);
    stream_synchronize => cuStreamSynchronize(stream: u64);
    stream_wait => cuStreamWaitEvent(stream: u64, event: u64, flags: u32);
    stream_id => cuStreamGetId(stream: u64, id: &mut u64);
    stream_id_ptsz => cuStreamGetId_ptsz(stream: u64, id: &mut u64);
    host_function => cuLaunchHostFunc(stream: u64, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void);
    event_create => cuEventCreate(event: &mut u64, flags: u32);
    event_destroy => cuEventDestroy_v2(event: u64);
    event_record => cuEventRecord(event: u64, stream: u64);
    event_record_external => cuEventRecordWithFlags(event: u64, stream: u64, flags: u32);
    event_query => cuEventQuery(event: u64);
    event_synchronize => cuEventSynchronize(event: u64);
    known => simgpu_is_known(mark: u64);
    priority_range => cuCtxGetStreamPriorityRange(least: &mut i32, greatest: &mut i32);
    stream_flags => cuStreamGetFlags(stream: u64, flags: &mut u32);
    host_pointer => cuMemHostGetDevicePointer_v2(pointer: &mut u64, host: u64, flags: u32);
    address_range => cuMemGetAddressRange_v2(base: &mut u64, bytes: &mut usize, pointer: u64);
    event_elapsed => cuEventElapsedTime(milliseconds: &mut f32, start: u64, end: u64);
    module_load => cuModuleLoadData(module: &mut u64, image: *const c_void);
    module_unload => cuModuleUnload(module: u64);
    module_function => cuModuleGetFunction(function: &mut u64, module: u64, name: *const i8);
    module_global => cuModuleGetGlobal_v2(pointer: &mut u64, bytes: &mut usize, module: u64, name: *const i8);
    function_set => cuFuncSetAttribute(function: u64, attribute: i32, value: i32);
    begin_capture => cuStreamBeginCapture_v2(stream: u64, mode: u32);
    end_capture => cuStreamEndCapture(stream: u64, graph: &mut u64);
    is_capturing => cuStreamIsCapturing(stream: u64, status: &mut u32);
    capture_info => cuStreamGetCaptureInfo_v2(stream: u64, status: &mut u32, id: &mut u64, graph: &mut u64, nodes: &mut *const u64, count: &mut usize);
    exchange_mode => cuThreadExchangeStreamCaptureMode(mode: &mut u32);
    instantiate => cuGraphInstantiateWithFlags(exec: &mut u64, graph: u64, flags: u64);
    graph_launch => cuGraphLaunch(exec: u64, stream: u64);
    graph_update => cuGraphExecUpdate_v2(exec: u64, graph: u64, info: &mut [u64; 3]);
    graph_destroy => cuGraphDestroy(graph: u64);
    exec_destroy => cuGraphExecDestroy(exec: u64);
    graph_nodes => cuGraphGetNodes(graph: u64, nodes: *mut u64, count: &mut usize);
    node_type => cuGraphNodeGetType(node: u64, out: &mut u32);
    proc_address => cuGetProcAddress_v2(name: *const i8, function: &mut *mut c_void, version: i32, flags: u64, status: &mut i32);
    error_name => cuGetErrorName(code: u32, text: &mut *const i8);
    device_resource => cuDeviceGetDevResource(device: i32, resource: *mut c_void, kind: u32);
    split_resource => cuDevSmResourceSplitByCount(result: *mut c_void, groups: &mut u32, input: *const c_void, remaining: *mut c_void, flags: u32, least: u32);
    describe_resource => cuDevResourceGenerateDesc(description: &mut u64, resources: *mut c_void, count: u32);
    green_create => cuGreenCtxCreate(context: &mut u64, description: u64, device: i32, flags: u32);
    green_destroy => cuGreenCtxDestroy(context: u64);
    green_stream => cuGreenCtxStreamCreate(stream: &mut u64, context: u64, flags: u32, priority: i32);
    context_of_green => cuCtxFromGreenCtx(context: &mut u64, green: u64);
}

/// `cuLaunchKernel`
type Launch = unsafe extern "C" fn(
    u64,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u64,
    *mut *mut c_void,
    *mut *mut c_void,
) -> Code;

#[allow(clippy::too_many_arguments, reason = "so has the driver's")]
pub(crate) fn launch_shaped(
    function: u64,
    grid: u32,
    block: u32,
    shared: u32,
    stream: u64,
) -> Code {
    // SAFETY: that is the function's type.
    let call: Launch = unsafe { std::mem::transmute(symbol("cuLaunchKernel")) };
    let none = std::ptr::null_mut();
    // SAFETY: it is for kernels without parameters.
    unsafe {
        call(
            function, grid, 1, 1, block, 1, 1, shared, stream, none, none,
        )
    }
}

#[allow(clippy::too_many_arguments, reason = "so has the driver's")]
pub(crate) fn launch(function: u64, stream: u64, parameters: &mut [*mut c_void]) -> Code {
    // SAFETY: that is the function's type.
    let call: Launch = unsafe { std::mem::transmute(symbol("cuLaunchKernel")) };
    let none = std::ptr::null_mut();
    // SAFETY: tests pass the kernel's parameters.
    unsafe {
        call(
            function,
            1,
            1,
            1,
            32,
            1,
            1,
            0,
            stream,
            parameters.as_mut_ptr(),
            none,
        )
    }
}

/// Calls that give something, which it is an error not to get.
pub(crate) fn get<T: Default>(call: impl FnOnce(&mut T) -> Code) -> T {
    let mut value = T::default();
    assert_eq!(call(&mut value), OK);
    value
}

/// A stand-in with a current context on each device of which the first is current.
pub(crate) fn start() -> u64 {
    assert_eq!(init(0), OK);
    let context = get(|context| retain(context, 0));
    assert_eq!(set_current(context), OK);
    context
}

/// Loads kernels by name.
pub(crate) fn load(names: &[&str]) -> (u64, Vec<u64>) {
    let image = CString::new(format!("simgpu\n{}", names.join("\n"))).unwrap();
    let module = get(|module| module_load(module, image.as_ptr().cast()));
    let functions = names
        .iter()
        .map(|name| {
            let name = CString::new(*name).unwrap();
            get(|function| module_function(function, module, name.as_ptr()))
        })
        .collect();
    (module, functions)
}

/// `y[i] = a * x[i] + b`, as a kernel named `affine`.
pub(crate) fn register_affine(sim: &Sim) {
    sim.register_kernel("affine", &[8, 8, 4, 4, 4], |launch| {
        let n = launch.argument::<u32>(4)? as usize;
        let (a, b) = (launch.argument::<f32>(2)?, launch.argument::<f32>(3)?);
        let (to, from) = (launch.argument(0)?, launch.argument(1)?);
        if to == from {
            for y in launch.update::<f32>(to, n)? {
                *y = a * *y + b;
            }
            return Ok(());
        }
        let x = launch.read::<f32>(from, n)?;
        for (y, x) in launch.write::<f32>(to, n)?.iter_mut().zip(x) {
            *y = a * x + b;
        }
        Ok(())
    });
}

/// Launches `affine`.
pub(crate) fn affine(
    function: u64,
    stream: u64,
    to: u64,
    from: u64,
    a: f32,
    b: f32,
    n: u32,
) -> Code {
    let mut parameters = [
        (&raw const to).cast_mut().cast(),
        (&raw const from).cast_mut().cast(),
        (&raw const a).cast_mut().cast(),
        (&raw const b).cast_mut().cast(),
        (&raw const n).cast_mut().cast(),
    ];
    launch(function, stream, &mut parameters)
}

/// Numbers in pinned memory.
pub(crate) struct Pinned {
    pub(crate) address: u64,
    len: usize,
}

impl Pinned {
    pub(crate) fn new(len: usize) -> Self {
        let address = get(|pointer| alloc_host(pointer, len * 4, 0));
        Self { address, len }
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.address as *mut c_void
    }

    pub(crate) fn set(&self, sim: &Sim, values: impl Fn(usize) -> f32) {
        sim.host_access(self.address, self.len * 4, true);
        for index in 0..self.len {
            // SAFETY: the memory is as large, and this test's.
            unsafe { *(self.address as *mut f32).add(index) = values(index) };
        }
    }

    pub(crate) fn values(&self, sim: &Sim) -> Vec<f32> {
        sim.host_access(self.address, self.len * 4, false);
        // SAFETY: the memory is as large, and this test's.
        unsafe { std::slice::from_raw_parts(self.address as *const f32, self.len) }.to_vec()
    }

    pub(crate) fn free(self) {
        assert_eq!(free_host(self.address), OK);
    }
}

/// Remembers the end of a stream's work, as another stand-in does.
pub(crate) fn mark(stream: u64) -> u64 {
    type Mark = thalweg_simgpu::abi::Mark;
    // SAFETY: that is the function's type.
    let mark = unsafe { std::mem::transmute::<*mut c_void, Mark>(symbol("simgpu_mark")) };
    // SAFETY: it takes any number.
    unsafe { mark(stream) }
}

/// Returns true if the host has waited for a mark.
pub(crate) fn is_known(mark: u64) -> bool {
    known(mark) != 0
}
