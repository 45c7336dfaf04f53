//! The control of the stand-ins from a test.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::sys::CUresult;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::abi::{HostAccess, KernelEntry, LaunchView};
use crate::config::Config;
use crate::control::{Request, Response};
use crate::fault::{Fault, base_name};
use crate::launch::{KernelFault, Launch};
use crate::nvinfer;
use crate::report::Report;
use crate::work::{Done, WorkKind};

type RequestFunction = unsafe extern "C" fn(
    *const u8,
    usize,
    unsafe extern "C" fn(*mut c_void, *const u8, usize),
    *mut c_void,
) -> i32;

type RegisterFunction = unsafe extern "C" fn(
    *const u8,
    usize,
    *const usize,
    usize,
    Option<KernelEntry>,
    *mut c_void,
    Option<unsafe extern "C" fn(*mut c_void)>,
);

/// The loaded library, and its control functions.
struct Loaded {
    path: PathBuf,
    request: RequestFunction,
    register: RegisterFunction,
    host_access: HostAccess,
    _library: Library,
}

/// A session: the use of the stand-ins by one test.
///
/// The state of the stand-ins is that of the whole process, so sessions of several threads come one
/// after the other. A session starts as a new machine.
pub struct Sim {
    loaded: &'static Loaded,
    kernels: Mutex<Vec<String>>,
    _session: MutexGuard<'static, ()>,
}

/// The call that fails in a run of [`Sim::for_each_fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultRun {
    /// The function.
    pub function: String,
    /// The number of the call of that function, from 1.
    pub nth: u64,
    /// The code that it returns.
    pub code: u32,
}

/// A registered closure.
struct Kernel {
    run: Box<dyn Fn(&Launch<'_>) -> Result<(), KernelFault> + Send + Sync>,
}

impl Sim {
    /// The path of the library. Cargo builds it with the test, if this package is among the
    /// dependencies for tests.
    ///
    /// # Panics
    /// If the library is not beside the running program, and `THALWEG_SIMGPU` is not set.
    pub fn path() -> &'static Path {
        static PATH: OnceLock<PathBuf> = OnceLock::new();
        PATH.get_or_init(|| {
            if let Some(path) = std::env::var_os("THALWEG_SIMGPU") {
                return path.into();
            }
            let program = std::env::current_exe().unwrap_or_default();
            let places = program.ancestors().skip(1).take(3);
            let found = places
                .flat_map(|place| [place.join("deps"), place.to_owned()])
                .map(|place| place.join("libthalweg_simgpu.so"))
                .find(|path| path.is_file());
            found.unwrap_or_else(|| {
                panic!(
                    "no libthalweg_simgpu.so beside {}; `cargo build -p thalweg-simgpu` makes it",
                    program.display()
                )
            })
        })
    }

    fn loaded() -> &'static Loaded {
        static LOADED: OnceLock<Loaded> = OnceLock::new();
        LOADED.get_or_init(|| {
            let path = Self::path().to_owned();
            // SAFETY: loading the stand-in starts nothing.
            let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
            let library =
                library.unwrap_or_else(|error| panic!("cannot load {}: {error}", path.display()));
            Loaded {
                request: find(&library, "simgpu_request"),
                register: find(&library, "simgpu_register_kernel"),
                host_access: find(&library, "simgpu_host_access"),
                path,
                _library: library,
            }
        })
    }

    /// Starts a session as a new machine, once no other thread of this process has one.
    ///
    /// # Panics
    /// As [`path`](Self::path).
    pub fn session(config: Config) -> Self {
        static SESSION: Mutex<()> = Mutex::new(());
        let session = SESSION.lock().unwrap_or_else(PoisonError::into_inner);
        let sim = Self {
            loaded: Self::loaded(),
            kernels: Mutex::default(),
            _session: session,
        };
        sim.reset(config);
        sim
    }

    /// Starts as a new machine, with the registered kernels. Handles and pointers that a program
    /// still has are stale then.
    pub fn reset(&self, config: Config) {
        self.request(&Request::Reset(config));
    }

    /// Sets the plan of faults, and starts to count calls for it.
    pub fn faults(&self, plan: &[Fault]) {
        self.request(&Request::Faults(plan.to_vec()));
    }

    /// The reports so far.
    pub fn reports(&self) -> Vec<Report> {
        match self.request(&Request::Reports) {
            Response::Reports(reports) => reports,
            _ => Vec::new(),
        }
    }

    /// Runs all work that is left, reports leaks, and takes all reports.
    pub fn finish(&self) -> Vec<Report> {
        match self.request(&Request::Finish) {
            Response::Reports(reports) => reports,
            _ => Vec::new(),
        }
    }

    /// As [`finish`](Self::finish).
    ///
    /// # Panics
    /// If there are reports, other than warnings.
    #[track_caller]
    pub fn assert_clean(&self) {
        let mut reports = self.finish();
        reports.retain(|report| !report.kind.is_warning());
        if !reports.is_empty() {
            let text: Vec<String> = reports.iter().map(ToString::to_string).collect();
            panic!("the stand-in reports:\n{}", text.join("\n"));
        }
    }

    /// The number of calls of each function since the last reset. Variants of a function count as
    /// one.
    pub fn call_counts(&self) -> Vec<(String, u64)> {
        match self.request(&Request::CallCounts) {
            Response::Counts(counts) => counts,
            _ => Vec::new(),
        }
    }

    /// The number of calls of one function since the last reset.
    pub fn calls(&self, function: &str) -> u64 {
        let function = base_name(function);
        let counts = self.call_counts();
        counts
            .into_iter()
            .find_map(|(name, count)| (name == function).then_some(count))
            .unwrap_or(0)
    }

    /// The log: the work that has run, in the order in which it was complete.
    pub fn log(&self) -> Vec<Done> {
        match self.request(&Request::Log) {
            Response::Log(log) => log,
            _ => Vec::new(),
        }
    }

    /// The names of the kernels that have run.
    pub fn launches(&self) -> Vec<String> {
        let kernels = self.log().into_iter();
        kernels
            .filter(|done| done.kind == WorkKind::Kernel)
            .map(|done| done.site.name.to_string())
            .collect()
    }

    /// The number of copies of a kind that have run.
    pub fn copies(&self, kind: WorkKind) -> usize {
        self.log().iter().filter(|done| done.kind == kind).count()
    }

    /// Clears the log.
    pub fn clear_log(&self) {
        self.request(&Request::ClearLog);
    }

    /// The number of times that the host had to wait for work since the last reset.
    pub fn host_waits(&self) -> u64 {
        match self.request(&Request::Waits) {
            Response::Number(number) => number,
            _ => 0,
        }
    }

    /// The bytes of a device that are in use.
    pub fn used_memory(&self, device: usize) -> u64 {
        match self.request(&Request::Used(device)) {
            Response::Number(number) => number,
            _ => 0,
        }
    }

    /// Runs all work that is enqueued. The host has not waited for it, for the checks of order.
    pub fn drain(&self) {
        self.request(&Request::Drain);
    }

    /// Checks an access that the host is about to make. Returns false if it was reported.
    pub fn host_access(&self, address: u64, len: usize, write: bool) -> bool {
        let address = address as *const c_void;
        // SAFETY: the address is only looked up.
        unsafe { (self.loaded.host_access)(address, len, u32::from(write)) == 0 }
    }

    /// Registers the code of all kernels of a name, until the end of the session. `sizes` are the
    /// sizes of the parameters, in bytes. The closure runs on a thread of the stand-in and must not
    /// call the driver.
    pub fn register_kernel(
        &self,
        name: &str,
        sizes: &[usize],
        kernel: impl Fn(&Launch<'_>) -> Result<(), KernelFault> + Send + Sync + 'static,
    ) {
        let kernel = Box::new(Kernel {
            run: Box::new(kernel),
        });
        let user = Box::into_raw(kernel).cast();
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.push(name.to_owned());
        // SAFETY: the name and the sizes are readable; the functions take what `user` is, which
        // may be used on several threads.
        unsafe {
            (self.loaded.register)(
                name.as_ptr(),
                name.len(),
                sizes.as_ptr(),
                sizes.len(),
                Some(run_kernel),
                user,
                Some(drop_kernel),
            );
        }
    }

    /// Runs a scenario once to count its calls, and then once for each call with that call failing.
    /// Each run starts as a new machine of `config`. `after` gets the call that failed (`None` in
    /// the first run), the scenario's result, and the reports.
    ///
    /// Allocations fail with `CUDA_ERROR_OUT_OF_MEMORY`, all other functions with
    /// `CUDA_ERROR_UNKNOWN`. Creating a runtime of TensorRT fails twice: with null, and with a
    /// small number that is no object. `cuGetErrorName`, `cuGetErrorString`, `cuGetProcAddress` and
    /// `cuDriverGetVersion` do not fail. Functions that free, destroy or end something do so even
    /// when they fail.
    pub fn for_each_fault<T>(
        &self,
        config: &Config,
        mut scenario: impl FnMut(&Self) -> T,
        mut after: impl FnMut(Option<&FaultRun>, T, Vec<Report>),
    ) {
        self.reset(config.clone());
        let result = scenario(self);
        let counts = self.call_counts();
        after(None, result, self.finish());
        for (function, count) in counts {
            if never_fails(&function) {
                continue;
            }
            let codes = failures(&function);
            for (nth, &code) in
                (1..=count).flat_map(|nth| codes.iter().map(move |code| (nth, code)))
            {
                let run = FaultRun {
                    function: function.clone(),
                    nth,
                    code,
                };
                self.reset(config.clone());
                self.faults(&[Fault::Call {
                    function: function.clone(),
                    nth,
                    code,
                }]);
                let result = scenario(self);
                self.faults(&[]);
                after(Some(&run), result, self.finish());
            }
        }
        self.reset(config.clone());
    }

    /// The path of the library that this session controls.
    pub fn library(&self) -> &Path {
        &self.loaded.path
    }

    fn request(&self, request: &Request) -> Response {
        unsafe extern "C" fn reply(user: *mut c_void, bytes: *const u8, len: usize) {
            // SAFETY: `user` is the vector below, and the bytes are readable during the call.
            unsafe {
                let answer = &mut *user.cast::<Vec<u8>>();
                answer.extend_from_slice(std::slice::from_raw_parts(bytes, len));
            }
        }
        let request = serde_json::to_vec(request).unwrap_or_default();
        let mut answer = Vec::<u8>::new();
        let user = (&raw mut answer).cast();
        // SAFETY: the request is readable, and `reply` takes what `user` is.
        let status = unsafe { (self.loaded.request)(request.as_ptr(), request.len(), reply, user) };
        let response = serde_json::from_slice(&answer);
        match response {
            Ok(response) if status == 0 => response,
            _ => panic!("the stand-in does not understand {request:?}: is it of another build?"),
        }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // So that nothing of this session runs during the next.
        if !std::thread::panicking() {
            self.request(&Request::ResetToEnvironment);
        }
        let kernels = self
            .kernels
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for name in kernels.drain(..) {
            let none = std::ptr::null();
            // SAFETY: the name is readable, and nothing is registered.
            unsafe {
                (self.loaded.register)(
                    name.as_ptr(),
                    name.len(),
                    none,
                    0,
                    None,
                    std::ptr::null_mut(),
                    None,
                );
            }
        }
    }
}

/// A control function of the library.
fn find<T: Copy>(library: &Library, name: &str) -> T {
    // SAFETY: each is looked up with the type that `control` defines it with.
    let function = unsafe { library.get::<T>(name.as_bytes()) };
    *function.unwrap_or_else(|error| panic!("this is no stand-in: {error}"))
}

/// The codes with which a function fails, one after the other.
fn failures(function: &str) -> &'static [u32] {
    const UNKNOWN: u32 = CUresult::CUDA_ERROR_UNKNOWN as u32;
    const OUT_OF_MEMORY: u32 = CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32;
    match function {
        // Null, and what is neither null nor an object.
        "nvinfer.createInferRuntime_INTERNAL" => &[UNKNOWN, nvinfer::NO_OBJECT as u32],
        function if function.starts_with("cu") && function.contains("Alloc") => &[OUT_OF_MEMORY],
        _ => &[UNKNOWN],
    }
}

/// Returns true for a function of which a failure would mean nothing.
fn never_fails(function: &str) -> bool {
    matches!(
        function,
        "cuGetErrorName" | "cuGetErrorString" | "cuGetProcAddress" | "cuDriverGetVersion"
    ) || nvinfer::never_fails(function)
}

unsafe extern "C" fn run_kernel(user: *mut c_void, view: *const LaunchView) -> i32 {
    // SAFETY: `user` is what `register_kernel` gave, and the view lives during the call.
    let (kernel, view) = unsafe { (&*user.cast::<Kernel>(), &*view) };
    let launch = Launch::new(view);
    match catch_unwind(AssertUnwindSafe(|| (kernel.run)(&launch))) {
        Ok(Ok(())) => 0,
        Ok(Err(fault)) => {
            eprintln!("kernel {}: {fault}", launch.name());
            1
        }
        Err(_) => 2,
    }
}

unsafe extern "C" fn drop_kernel(user: *mut c_void) {
    // SAFETY: it is what `register_kernel` made, and this is called once.
    drop(unsafe { Box::from_raw(user.cast::<Kernel>()) });
}
