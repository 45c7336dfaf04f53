//! Controlling the stand-in from a test.

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

/// The library, once it is loaded.
struct Loaded {
    path: PathBuf,
    request: RequestFunction,
    register: RegisterFunction,
    host_access: HostAccess,
    _library: Library,
}

/// One test's use of the stand-in.
///
/// The state of the stand-in is that of the whole process, so sessions of several threads come one
/// after the other. A session starts as a new machine.
pub struct Sim {
    loaded: &'static Loaded,
    kernels: Mutex<Vec<String>>,
    _session: MutexGuard<'static, ()>,
}

/// Which call is to fail in a run of [`Sim::for_each_fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultRun {
    /// The function.
    pub function: String,
    /// The how-many-th call of it, from 1.
    pub nth: u64,
    /// What it returns.
    pub code: u32,
}

/// A registered closure.
struct Kernel {
    run: Box<dyn Fn(&Launch<'_>) -> Result<(), KernelFault> + Send + Sync>,
}

impl Sim {
    /// The library's file. Cargo builds it with the test, for which this package must be among the
    /// dependencies for tests.
    ///
    /// # Panics
    /// If it is not beside the running program, nor where `THALWEG_SIMGPU` says.
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

    /// Forgets everything, except kernels, and starts as a new machine. Whatever handles and
    /// pointers a program still has are stale then.
    pub fn reset(&self, config: Config) {
        self.request(&Request::Reset(config));
    }

    /// Sets what is to go wrong, and starts to count.
    pub fn faults(&self, plan: &[Fault]) {
        self.request(&Request::Faults(plan.to_vec()));
    }

    /// What was found wrong so far.
    pub fn reports(&self) -> Vec<Report> {
        match self.request(&Request::Reports) {
            Response::Reports(reports) => reports,
            _ => Vec::new(),
        }
    }

    /// Runs all work that is left, looks for what was not freed, and gives all that was found
    /// wrong. It is forgotten then.
    pub fn finish(&self) -> Vec<Report> {
        match self.request(&Request::Finish) {
            Response::Reports(reports) => reports,
            _ => Vec::new(),
        }
    }

    /// As [`finish`](Self::finish).
    ///
    /// # Panics
    /// If anything was wrong, other than warnings.
    #[track_caller]
    pub fn assert_clean(&self) {
        let mut reports = self.finish();
        reports.retain(|report| !report.kind.is_warning());
        if !reports.is_empty() {
            let text: Vec<String> = reports.iter().map(ToString::to_string).collect();
            panic!("the stand-in reports:\n{}", text.join("\n"));
        }
    }

    /// How often each function of the driver was called since the last reset. Variants of a
    /// function count as one.
    pub fn call_counts(&self) -> Vec<(String, u64)> {
        match self.request(&Request::CallCounts) {
            Response::Counts(counts) => counts,
            _ => Vec::new(),
        }
    }

    /// How often one function was called since the last reset.
    pub fn calls(&self, function: &str) -> u64 {
        let function = base_name(function);
        let counts = self.call_counts();
        counts
            .into_iter()
            .find_map(|(name, count)| (name == function).then_some(count))
            .unwrap_or(0)
    }

    /// The work that has run, in the order in which it ended.
    pub fn log(&self) -> Vec<Done> {
        match self.request(&Request::Log) {
            Response::Log(log) => log,
            _ => Vec::new(),
        }
    }

    /// The kernels that have run, by name.
    pub fn launches(&self) -> Vec<String> {
        let kernels = self.log().into_iter();
        kernels
            .filter(|done| done.kind == WorkKind::Kernel)
            .map(|done| done.site.name.to_string())
            .collect()
    }

    /// How many copies of a kind have run.
    pub fn copies(&self, kind: WorkKind) -> usize {
        self.log().iter().filter(|done| done.kind == kind).count()
    }

    /// Forgets the work that has run.
    pub fn clear_log(&self) {
        self.request(&Request::ClearLog);
    }

    /// How often the host stood still for work since the last reset.
    pub fn host_waits(&self) -> u64 {
        match self.request(&Request::Waits) {
            Response::Number(number) => number,
            _ => 0,
        }
    }

    /// How many bytes of a device are taken.
    pub fn used_memory(&self, device: usize) -> u64 {
        match self.request(&Request::Used(device)) {
            Response::Number(number) => number,
            _ => 0,
        }
    }

    /// Runs all work that is enqueued. For the checks of order, nobody has waited for it.
    pub fn drain(&self) {
        self.request(&Request::Drain);
    }

    /// Says that the host reads or writes memory at an address; false if that was wrong and was
    /// reported.
    pub fn host_access(&self, address: u64, len: usize, write: bool) -> bool {
        let address = address as *const c_void;
        // SAFETY: the address is only looked up.
        unsafe { (self.loaded.host_access)(address, len, u32::from(write)) == 0 }
    }

    /// Defines what kernels of a name compute, until the end of the session. `sizes` are those of
    /// the parameters, in bytes. It runs on a thread of the stand-in and must not call the driver.
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

    /// Runs a scenario once to count its calls, and then once for each call with that call
    /// failing. Each run starts as a new machine of that `config`; `after` is given what failed
    /// (nothing in the first run), what the scenario gave, and the reports.
    ///
    /// Allocations fail with `CUDA_ERROR_OUT_OF_MEMORY`, everything else with
    /// `CUDA_ERROR_UNKNOWN`. Making a runtime of TensorRT's fails twice: with null, and with a small
    /// number that is no object. Functions that only translate (`cuGetErrorName`, `cuGetErrorString`,
    /// `cuGetProcAddress`, `cuDriverGetVersion`) do not fail. Functions that free, destroy or end
    /// something do so even when they fail.
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

    /// The library that this session controls.
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

/// A function of the stand-in's `control`.
fn find<T: Copy>(library: &Library, name: &str) -> T {
    // SAFETY: each is asked for with the type that `control` defines it with.
    let function = unsafe { library.get::<T>(name.as_bytes()) };
    *function.unwrap_or_else(|error| panic!("this is no stand-in: {error}"))
}

/// The codes with which a function is made to fail, one after the other.
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

/// Functions for which a failure would mean nothing.
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
