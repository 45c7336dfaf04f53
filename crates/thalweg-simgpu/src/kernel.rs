//! Kernels: their launches, their code, and the table of registered kernels.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::abi::{KernelEntry, LaunchView};
use crate::callback::inside;
use crate::memory::Span;

/// A kernel launch: the kernel, its grid, and its arguments.
pub(crate) struct KernelLaunch {
    pub(crate) name: Arc<str>,
    /// `None` for a kernel that no test registered: its launches are logged, and compute nothing.
    pub(crate) function: Option<KernelFunction>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) parameters: Vec<u8>,
    /// The offset of each parameter in `parameters`.
    pub(crate) offsets: Vec<usize>,
}

/// The memory of a device, as a running kernel reaches it. The arguments are an address, a length in
/// bytes, and true for a write. The access is checked; `None` is an access that the kernel may not
/// make.
pub(crate) type MemoryAccess<'a> = &'a dyn Fn(u64, u64, bool) -> Option<Span>;

impl KernelLaunch {
    /// Runs the kernel on a device; false is a failure.
    pub(crate) fn run(&self, device: usize, memory: MemoryAccess<'_>) -> bool {
        let Some(function) = &self.function else {
            return true;
        };
        match &*function.code {
            Code::Registered(kernel) => kernel.run(self, device, memory),
            Code::Native(code) => inside(|| code(memory)),
        }
    }
}

/// The code of a kernel.
#[derive(Clone)]
pub(crate) struct KernelFunction {
    code: Arc<Code>,
}

enum Code {
    Registered(Registered),
    Native(NativeKernel),
}

/// The code of a kernel of this library; false is a failure.
type NativeKernel = Box<dyn Fn(MemoryAccess<'_>) -> bool + Send + Sync>;

/// A C function that a test registered as a kernel.
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
    /// A registered kernel, with the sizes of its parameters in bytes.
    pub(crate) fn registered(
        function: KernelEntry,
        user: *mut c_void,
        release: Option<unsafe extern "C" fn(*mut c_void)>,
        sizes: Vec<usize>,
    ) -> Self {
        Self {
            code: Arc::new(Code::Registered(Registered {
                function,
                user,
                release,
                sizes,
            })),
        }
    }

    /// A kernel of this library, without parameters.
    pub(crate) fn native(code: impl Fn(MemoryAccess<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self {
            code: Arc::new(Code::Native(Box::new(code))),
        }
    }

    /// The offset and the size of each parameter in bytes. Parameters are aligned as the fields of a
    /// C struct.
    pub(crate) fn parameters(&self) -> Vec<(usize, usize)> {
        let sizes = match &*self.code {
            Code::Registered(kernel) => &kernel.sizes[..],
            Code::Native(_) => &[],
        };
        let mut end = 0usize;
        sizes
            .iter()
            .map(|&size| {
                let alignment = match size {
                    0 => 1,
                    size if size.is_power_of_two() => size.min(16),
                    _ => 8,
                };
                let start = end.next_multiple_of(alignment);
                end = start + size;
                (start, size)
            })
            .collect()
    }
}

impl Registered {
    fn run(&self, launch: &KernelLaunch, device: usize, memory: MemoryAccess<'_>) -> bool {
        let running = Running { memory };
        let view = LaunchView {
            name: launch.name.as_ptr(),
            name_len: launch.name.len(),
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            device: device as u32,
            parameters: launch.parameters.as_ptr(),
            parameters_len: launch.parameters.len(),
            offsets: launch.offsets.as_ptr(),
            offsets_len: launch.offsets.len(),
            running: ptr::from_ref(&running).cast(),
            access: access_memory,
        };
        // SAFETY: whoever registered it promised that it may be called with a view, which lives
        // until it returns.
        inside(|| unsafe { (self.function)(self.user, &view) }) == 0
    }
}

/// The state of a running kernel behind [`LaunchView::running`].
struct Running<'a> {
    memory: MemoryAccess<'a>,
}

/// Returns the bytes at an address for a kernel, or null for an access that it may not make.
unsafe extern "C" fn access_memory(
    running: *const c_void,
    address: u64,
    len: usize,
    write: u32,
) -> *mut u8 {
    // SAFETY: the pointer comes from the view, which is only used while the kernel runs.
    let running = unsafe { &*running.cast::<Running<'_>>() };
    let span = (running.memory)(address, len as u64, write != 0);
    span.map_or(ptr::null_mut(), Span::start)
}

/// The registered kernels, by name. The table outlives a reset.
static KERNELS: LazyLock<Mutex<HashMap<String, KernelFunction>>> = LazyLock::new(Mutex::default);

/// Registers a kernel; `None` removes it.
pub(crate) fn register(name: &str, function: Option<KernelFunction>) {
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let before = match function {
        Some(function) => kernels.insert(name.to_owned(), function),
        None => kernels.remove(name),
    };
    drop(kernels);
    // Releasing it runs code of the caller, so no lock may be held.
    drop(before);
}

/// The registered kernel of a name.
pub(crate) fn registered(name: &str) -> Option<KernelFunction> {
    let kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    kernels.get(name).cloned()
}
