//! Functions of others that work calls: host functions and kernels.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::abi::{KernelEntry, LaunchView};
use crate::clock::Clock;
use crate::memory::Access;
use crate::work::{KernelCall, Op};
use crate::worker::SHARED;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs a function of others, which must not call the driver.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Calls a function of others.
pub(crate) fn inside(function: impl FnOnce()) {
    let outer = INSIDE.replace(true);
    function();
    INSIDE.set(outer);
}

/// A function of the host that a stream calls.
#[derive(Clone, Copy)]
pub(crate) enum HostFunction {
    /// Of `cuLaunchHostFunc`.
    Plain {
        function: unsafe extern "C" fn(*mut c_void),
        data: usize,
    },
    /// Of `cuStreamAddCallback`, which is also told the stream and its status.
    Callback {
        function: unsafe extern "C" fn(usize, u32, *mut c_void),
        stream: u64,
        data: usize,
    },
}

impl HostFunction {
    /// Calls it, with the status of its device.
    pub(crate) fn call(self, status: u32) {
        INSIDE.set(true);
        match self {
            // Plain functions are not called once the device has failed.
            Self::Plain { .. } if status != 0 => {}
            // SAFETY: whoever enqueued it promised that it may be called once with its data.
            Self::Plain { function, data } => unsafe { function(data as *mut c_void) },
            Self::Callback {
                function,
                stream,
                data,
                // SAFETY: as above.
            } => unsafe { function(stream as usize, status, data as *mut c_void) },
        }
        INSIDE.set(false);
    }
}

/// A registered kernel.
#[derive(Clone)]
pub(crate) struct KernelFunction {
    registered: Arc<Registered>,
}

struct Registered {
    function: KernelEntry,
    user: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    sizes: Vec<usize>,
}

// SAFETY: whoever registers a kernel promises that it may be called and released on any thread.
unsafe impl Send for Registered {}
// SAFETY: as above; several threads may call it at once.
unsafe impl Sync for Registered {}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: this is the last user, and it is called once.
            unsafe { release(self.user) };
        }
    }
}

impl KernelFunction {
    pub(crate) fn new(
        function: KernelEntry,
        user: *mut c_void,
        release: Option<unsafe extern "C" fn(*mut c_void)>,
        sizes: Vec<usize>,
    ) -> Self {
        Self {
            registered: Arc::new(Registered {
                function,
                user,
                release,
                sizes,
            }),
        }
    }

    /// The sizes of its parameters, in bytes.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.registered.sizes
    }

    /// Runs it; false is a failure.
    pub(crate) fn call(&self, call: &KernelCall, op: &Op) -> bool {
        let running = Running {
            access: op.access(),
            clock: op.clock.clone(),
            device: op.device,
        };
        let view = LaunchView {
            name: call.name.as_ptr(),
            name_len: call.name.len(),
            grid: call.grid,
            block: call.block,
            shared_bytes: call.shared_bytes,
            device: op.device as u32,
            parameters: call.parameters.as_ptr(),
            parameters_len: call.parameters.len(),
            offsets: call.offsets.as_ptr(),
            offsets_len: call.offsets.len(),
            running: ptr::from_ref(&running).cast(),
            access: access_memory,
        };
        INSIDE.set(true);
        // SAFETY: whoever registered it promised that it may be called with a view, which lives
        // until it returns.
        let status = unsafe { (self.registered.function)(self.registered.user, &view) };
        INSIDE.set(false);
        status == 0
    }
}

/// What tests defined kernels to be, by name. It outlives a reset.
static KERNELS: LazyLock<Mutex<HashMap<String, KernelFunction>>> = LazyLock::new(Mutex::default);

/// Defines a kernel, or, with `None`, forgets it.
pub(crate) fn register(name: &str, function: Option<KernelFunction>) {
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let before = match function {
        Some(function) => kernels.insert(name.to_owned(), function),
        None => kernels.remove(name),
    };
    drop(kernels);
    // What releasing it does is not ours.
    drop(before);
}

/// What a kernel is defined to be.
pub(crate) fn registered(name: &str) -> Option<KernelFunction> {
    let kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    kernels.get(name).cloned()
}

/// The kernel that runs, for the checks of what it touches.
struct Running {
    access: Access,
    clock: Arc<Clock>,
    device: usize,
}

/// Gives a kernel the bytes at an address, or null if it may not have them.
unsafe extern "C" fn access_memory(
    running: *const c_void,
    address: u64,
    len: usize,
    write: u32,
) -> *mut u8 {
    // SAFETY: the pointer comes from the view, which is only used while the kernel runs.
    let running = unsafe { &*running.cast::<Running>() };
    let mut driver = SHARED.lock();
    let len = len as u64;
    let span = driver.kernel_access(
        running.access.clone(),
        &running.clock,
        running.device,
        address,
        len,
        write != 0,
    );
    span.map_or(ptr::null_mut(), |span| span.start())
}
