//! `nvinfer1::IRuntime`: making one, and engines from bytes.

use std::ffi::c_void;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use super::callback::{self, Severity};
use super::engine::Engine;
use super::object::{Class, Data, Part, Scope, make, methods, report};
use super::refusal::{Refusal, Refused, usage};
use super::spec::{EngineSpec, HEADER};
use super::version::{TensorRt, Variant};
use crate::report::{ReportKind, Site};
use crate::worker::SHARED;

/// A runtime.
pub(super) struct Runtime {
    pub(super) version: TensorRt,
    logger: usize,
    recorder: AtomicUsize,
    host_code: AtomicBool,
    threads: AtomicI32,
    dla: AtomicI32,
    /// How many engines of it there are.
    pub(super) engines: AtomicUsize,
}

impl Part for Runtime {
    fn of(data: &Data) -> Option<&Arc<Self>> {
        match data {
            Data::Runtime(runtime) => Some(runtime),
            _ => None,
        }
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self)
    }

    fn recorder(&self) -> usize {
        self.recorder.load(Ordering::Relaxed)
    }
}

impl Runtime {
    pub(super) fn logger(&self) -> usize {
        self.logger
    }

    /// It was destroyed.
    pub(super) fn end(&self, site: &Site) {
        let engines = self.engines.load(Ordering::Relaxed);
        if engines > 0 {
            let message = format!("{site} destroys a runtime with {engines} engines left");
            report(ReportKind::Misuse, message, vec![site.clone()]);
        }
        callback::count_recorder(self.recorder.swap(0, Ordering::Relaxed), false);
    }

    /// Sets a recorder of errors in a place for it.
    pub(super) fn exchange_recorder(place: &AtomicUsize, recorder: usize) {
        callback::count_recorder(recorder, true);
        callback::count_recorder(place.swap(recorder, Ordering::Relaxed), false);
    }
}

/// What is given instead of an object where the library cannot start: the real one adds where a base
/// class lies to a pointer that is null. Seen with 10.6, 10.15 and 11.2.
pub(crate) const NO_OBJECT: usize = 0x200;

/// The code of a fault that makes `createInferRuntime_INTERNAL` give null; any other small number
/// is given itself.
const NULL: u32 = 999;

/// Makes a runtime.
pub(super) fn create(logger: usize, version: i32) -> usize {
    SHARED.start();
    let name = "nvinfer.createInferRuntime_INTERNAL";
    let mut driver = SHARED.lock();
    let site = driver.host_site(name);
    let injected = driver.faults.call(name);
    let plays = driver.config.tensorrt;
    let devices = driver.devices.len();
    drop(driver);
    let fail = |text: &str| {
        let line = format!("createInferRuntime: {text}");
        callback::log(logger, plays, Severity::Error, &line);
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
    if devices == 0 {
        fail("Error Code 6: API Usage Error (CUDA initialization failure with error: 100)");
        return NO_OBJECT;
    }
    if version / 10_000 != plays.major {
        return fail(&format!(
            "Error Code 3: API Usage Error (the caller was built for version {version}, and this is {})",
            plays.number()
        ));
    }
    let runtime = Runtime {
        version: plays,
        logger,
        recorder: AtomicUsize::new(0),
        host_code: AtomicBool::new(false),
        threads: AtomicI32::new(1),
        dla: AtomicI32::new(-1),
        engines: AtomicUsize::new(0),
    };
    let object = make(
        Class::Runtime,
        plays,
        &site,
        Data::Runtime(Arc::new(runtime)),
    );
    callback::log(
        logger,
        plays,
        Severity::Info,
        "the stand-in's runtime is there",
    );
    object
}

/// Where the bytes of an engine come from.
enum Source<'a> {
    Memory(&'a [u8]),
    Reader { reader: usize, v2: bool },
}

impl Source<'_> {
    fn take(&mut self, len: usize) -> Refused<Vec<u8>> {
        match self {
            Self::Memory(bytes) => match bytes.split_at_checked(len) {
                Some((taken, rest)) => {
                    *bytes = rest;
                    Ok(taken.to_vec())
                }
                None => Err(Refusal::Serialization(format!(
                    "{len} bytes are needed and {} left: the engine is cut off",
                    bytes.len()
                ))),
            },
            Self::Reader { reader, v2 } => {
                let mut bytes = vec![0; len];
                let mut done = 0;
                while done < len {
                    let end = len.min(done + (64 << 10));
                    let read = callback::read(*reader, *v2, &mut bytes[done..end]);
                    let read = usize::try_from(read)
                        .ok()
                        .filter(|n| *n > 0 && *n <= end - done);
                    let Some(read) = read else {
                        return Err(Refusal::Serialization(format!(
                            "the reader gave {done} of {len} bytes"
                        )));
                    };
                    done += read;
                }
                Ok(bytes)
            }
        }
    }
}

/// Makes an engine.
fn deserialize(
    scope: &mut Scope<'_>,
    runtime: &Arc<Runtime>,
    mut source: Source<'_>,
) -> Refused<usize> {
    // Reading calls the caller, and so does the log; nothing is locked.
    if let Source::Reader { reader, v2: true } = source
        && !callback::seek(reader, 0, 0)
    {
        return Err(Refusal::Serialization("the reader cannot seek".into()));
    }
    let header = source.take(HEADER)?;
    let len = EngineSpec::description(&header).map_err(Refusal::Serialization)?;
    let json = source.take(len)?;
    let spec = EngineSpec::parse(&json).map_err(Refusal::Serialization)?;
    source.take(spec.payload as usize)?;
    if let Some(text) = &spec.fails_to_deserialize {
        return Err(Refusal::Internal(text.clone()));
    }
    check(runtime, &spec)?;
    let engine = Engine::new(runtime, spec, &scope.site, runtime.recorder())?;
    runtime.engines.fetch_add(1, Ordering::Relaxed);
    scope.log(Severity::Info, "an engine was deserialized");
    let data = Data::Engine(Arc::new(engine));
    Ok(make(Class::Engine, runtime.version, &scope.site, data))
}

/// Whether a runtime runs an engine.
fn check(runtime: &Runtime, spec: &EngineSpec) -> Refused<()> {
    let ours = runtime.version;
    let (major, minor, _) = spec.version;
    let same = (major, minor) == (ours.major, ours.minor);
    let newer = spec.version_compatible && major == ours.major && minor <= ours.minor;
    if !same && !newer {
        let current = TensorRt::serialization((ours.major, ours.minor, ours.patch));
        let version = TensorRt::serialization(spec.version);
        return Err(Refusal::Serialization(format!(
            "Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version tag does not match. Note: Current Version: {current}, Serialized Engine Version: {version}"
        )));
    }
    if ours.kind != Variant::Full && ours.kind != Variant::Rtx && !spec.version_compatible {
        return Err(Refusal::Serialization(
            "this library runs version compatible engines only".into(),
        ));
    }
    if ours.kind == Variant::Dispatch && !spec.host_code {
        return Err(Refusal::Serialization(
            "the engine brings no lean runtime to dispatch to".into(),
        ));
    }
    if spec.host_code && !runtime.host_code.load(Ordering::Relaxed) {
        return Err(Refusal::State(
            "the engine has code for the host in it, which IRuntime::setEngineHostCodeAllowed has to allow".into(),
        ));
    }
    let device = SHARED.lock().config.capability;
    if let Some(built) = spec.capability
        && built != device
    {
        return Err(Refusal::Serialization(format!(
            "the engine was generated for compute capability {}.{}, and the device has {}.{}",
            built.0, built.1, device.0, device.1
        )));
    }
    Ok(())
}

methods! { Runtime:
    /// What callers hold.
    fn get_p_impl = "getPImpl" () -> usize, else 0, |scope, _this| { Ok(scope.object.outer()) }
    /// An engine from bytes in memory, which are not needed afterwards.
    fn deserialize_cuda_engine = "deserializeCudaEngine" (blob: *const u8, size: usize) -> usize, else 0, |scope, this| {
        if blob.is_null() || size == 0 {
            return usage("there are no bytes");
        }
        // SAFETY: the caller gave so many bytes.
        let bytes = unsafe { slice::from_raw_parts(blob, size) };
        deserialize(scope, this, Source::Memory(bytes))
    }
    /// An engine from a reader.
    fn deserialize_from_reader = "deserializeCudaEngine(IStreamReader)" (reader: usize) -> usize, else 0, |scope, this| {
        deserialize(scope, this, Source::Reader { reader, v2: false })
    }
    /// An engine from a reader that can seek.
    fn deserialize_from_reader_v2 = "deserializeCudaEngineV2" (reader: usize) -> usize, else 0, |scope, this| {
        deserialize(scope, this, Source::Reader { reader, v2: true })
    }
    /// There are no such cores.
    fn set_dla_core = "setDLACore" (core: i32) -> (), else (), |_scope, this| {
        this.dla.store(core, Ordering::Relaxed);
        Ok(())
    }
    /// That.
    fn get_dla_core = "getDLACore" () -> i32, else -1, |_scope, this| {
        Ok(this.dla.load(Ordering::Relaxed))
    }
    /// None.
    fn get_nb_dla_cores = "getNbDLACores" () -> i32, else 0, |_scope, _this| { Ok(0) }
    /// Who is told of errors, beside the logger.
    fn set_error_recorder = "setErrorRecorder" (recorder: usize) -> (), else (), |_scope, this| {
        Runtime::exchange_recorder(&this.recorder, recorder);
        Ok(())
    }
    /// That.
    fn get_error_recorder = "getErrorRecorder" () -> usize, else 0, |_scope, this| {
        Ok(this.recorder())
    }
    /// The logger that it was made with.
    fn get_logger = "getLogger" () -> *const c_void, else std::ptr::null(), |_scope, this| {
        Ok(this.logger as *const c_void)
    }
    /// How many threads it may use.
    fn set_max_threads = "setMaxThreads" (threads: i32) -> bool, else false, |_scope, this| {
        if threads < 1 {
            return usage(format!("{threads} threads"));
        }
        this.threads.store(threads, Ordering::Relaxed);
        Ok(true)
    }
    /// That.
    fn get_max_threads = "getMaxThreads" () -> i32, else 0, |_scope, this| {
        Ok(this.threads.load(Ordering::Relaxed))
    }
    /// Whether engines may bring code for the host.
    fn set_engine_host_code_allowed = "setEngineHostCodeAllowed" (allowed: bool) -> (), else (), |_scope, this| {
        this.host_code.store(allowed, Ordering::Relaxed);
        Ok(())
    }
    /// That.
    fn get_engine_host_code_allowed = "getEngineHostCodeAllowed" () -> bool, else false, |_scope, this| {
        Ok(this.host_code.load(Ordering::Relaxed))
    }
}
