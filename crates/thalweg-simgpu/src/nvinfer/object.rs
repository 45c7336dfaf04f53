//! Objects with the memory layout of NVIDIA's: what callers hold has a virtual table with nothing
//! but a destructor, and a pointer to the implementation, whose table has the methods.
//!
//! Objects are never freed. One that was destroyed has tables that report whoever calls it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::callback::{self, Severity};
use super::context::Context;
use super::engine::Engine;
use super::refusal::{Refusal, Refused};
use super::runtime::Runtime;
use super::small::{HostMemory, RuntimeConfig};
use super::version::TensorRt;
use super::{layout, missing};
use crate::report::{ReportKind, Site};
use crate::worker::SHARED;

/// A class of NVIDIA's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Class {
    Runtime,
    Engine,
    Context,
    HostMemory,
    RuntimeConfig,
}

impl Class {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Runtime => "IRuntime",
            Self::Engine => "ICudaEngine",
            Self::Context => "IExecutionContext",
            Self::HostMemory => "IHostMemory",
            Self::RuntimeConfig => "IRuntimeConfig",
        }
    }
}

/// What an object is behind its tables.
#[derive(Clone)]
pub(super) enum Data {
    Runtime(Arc<Runtime>),
    Engine(Arc<Engine>),
    Context(Arc<Context>),
    HostMemory(Arc<HostMemory>),
    RuntimeConfig(Arc<RuntimeConfig>),
}

/// A kind of [`Data`].
pub(super) trait Part: Sized {
    /// The one in there, if it is of this kind.
    fn of(data: &Data) -> Option<&Arc<Self>>;
    /// The runtime behind it, whose logger it uses.
    fn runtime(&self) -> Option<&Runtime>;
    /// Its recorder of errors.
    fn recorder(&self) -> usize {
        0
    }
}

/// What callers hold.
#[repr(C)]
pub(super) struct Outer {
    table: AtomicUsize,
    implementation: *const Inner,
}

/// An implementation.
#[repr(C)]
pub(super) struct Inner {
    table: AtomicUsize,
    tag: u64,
    outer: AtomicUsize,
    pub(super) class: Class,
    pub(super) version: TensorRt,
    generation: u64,
    id: u64,
    label: String,
    data: Mutex<Option<Data>>,
    destroyed: Mutex<Option<Arc<Site>>>,
    /// The thread that is in a method.
    inside: AtomicU64,
}

const TAG: u64 = 0x7468_616c_7765_6721;

/// The objects that are there, for those who forget to destroy them.
#[derive(Default)]
pub(crate) struct Alive {
    objects: BTreeMap<u64, (String, Arc<Site>)>,
    last: u64,
}

impl Alive {
    /// What is left, in words.
    pub(crate) fn left(&self) -> impl Iterator<Item = String> {
        self.objects
            .values()
            .map(|(label, site)| format!("{label} was not destroyed, from {site}"))
    }
}

/// Reports something.
pub(super) fn report(kind: ReportKind, message: String, sites: Vec<Site>) {
    SHARED.lock().reports.add(kind, message, sites);
}

impl Outer {
    /// The implementation.
    ///
    /// # Safety
    /// The pointer must be null or to an object of ours.
    pub(super) unsafe fn find<'a>(this: *const Self) -> Option<&'a Inner> {
        // SAFETY: as promised; objects are never freed.
        let this = unsafe { this.as_ref() }?;
        // SAFETY: as above.
        unsafe { Inner::find(this.implementation) }
    }
}

impl Inner {
    /// The object.
    ///
    /// # Safety
    /// The pointer must be null or to an implementation of ours.
    pub(super) unsafe fn find<'a>(this: *const Self) -> Option<&'a Self> {
        // SAFETY: as promised; objects are never freed.
        let this = unsafe { this.as_ref() }?;
        if this.tag == TAG {
            return Some(this);
        }
        let message = format!("a method was called on {this:p}, which is no object of TensorRT's");
        report(ReportKind::Misuse, message, Vec::new());
        None
    }

    /// What callers hold.
    pub(super) fn outer(&self) -> usize {
        self.outer.load(Ordering::Relaxed)
    }

    pub(super) fn data(&self) -> Option<Data> {
        let data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        data.clone()
    }

    /// The part of it that is of a kind.
    pub(super) fn part<T: Part>(&self) -> Option<Arc<T>> {
        self.data().as_ref().and_then(T::of).cloned()
    }

    pub(super) fn report_dead(&self, slot: usize) {
        let destroyed = self
            .destroyed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let by = destroyed
            .as_ref()
            .map_or_else(String::new, |site| format!(", which {site} destroyed"));
        let known = layout::rows(self.class, self.version.layout());
        let name = slot.checked_sub(2).and_then(|index| known.get(index));
        let name = name.map_or("its destructor", |row| row.name);
        report(
            ReportKind::UseAfterDestroy,
            format!("{name} was called of {}{by}", self.label),
            destroyed.iter().map(|site| (**site).clone()).collect(),
        );
    }
}

/// Makes an object; the result is what callers hold.
pub(super) fn make(class: Class, version: TensorRt, site: &Arc<Site>, data: Data) -> usize {
    let mut driver = SHARED.lock();
    let generation = driver.generation;
    let alive = &mut driver.nvinfer;
    alive.last += 1;
    let id = alive.last;
    let label = format!("{} {id}", class.name());
    alive.objects.insert(id, (label.clone(), site.clone()));
    drop(driver);
    let inner: &'static Inner = Box::leak(Box::new(Inner {
        table: AtomicUsize::new(layout::table(class, version.layout())),
        tag: TAG,
        outer: AtomicUsize::new(0),
        class,
        version,
        generation,
        id,
        label,
        data: Mutex::new(Some(data)),
        destroyed: Mutex::new(None),
        inside: AtomicU64::new(0),
    }));
    let outer = Box::leak(Box::new(Outer {
        table: AtomicUsize::new(*OUTER),
        implementation: inner,
    }));
    let outer = std::ptr::from_mut(outer) as usize;
    inner.outer.store(outer, Ordering::Relaxed);
    outer
}

static OUTER: LazyLock<usize> = LazyLock::new(|| {
    let mut slots = missing::outer_slots();
    // The destructor of an object in place, and the one that frees its memory, too.
    slots[0] = destroy as *const () as usize;
    slots[1] = destroy as *const () as usize;
    layout::place(&slots)
});

static DEAD: LazyLock<(usize, usize)> = LazyLock::new(|| {
    let outer = layout::place(&missing::dead_outer_slots());
    (outer, layout::place(&missing::dead_slots()))
});

unsafe extern "C" fn destroy(this: *mut Outer) {
    // SAFETY: the slot is in the table of an object of ours.
    let Some(object) = (unsafe { Outer::find(this) }) else {
        return;
    };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        SHARED.start();
        let name = format!("nvinfer.{}.~", object.class.name());
        let mut driver = SHARED.lock();
        let site = driver.host_site(&name);
        driver.faults.call(&name);
        let current = driver.generation == object.generation;
        if current {
            driver.nvinfer.objects.remove(&object.id);
        }
        drop(driver);
        let data = object
            .data
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (outer_table, table) = *DEAD;
        *object
            .destroyed
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(site.clone());
        object.table.store(table, Ordering::Release);
        // SAFETY: it is an object of ours, which is never freed.
        unsafe { &*this }
            .table
            .store(outer_table, Ordering::Release);
        // What an earlier session left is gone already.
        if current {
            match data {
                Some(Data::Context(context)) => context.end(&site),
                Some(Data::Engine(engine)) => engine.end(&site),
                Some(Data::Runtime(runtime)) => runtime.end(&site),
                Some(Data::HostMemory(_) | Data::RuntimeConfig(_)) | None => {}
            }
        }
    }));
}

/// What a method has while it runs.
pub(super) struct Scope<'a> {
    /// The object.
    pub(super) object: &'a Inner,
    /// The method, and the number of the call.
    pub(super) site: Arc<Site>,
    method: &'static str,
    logger: usize,
    recorder: usize,
    lines: Vec<(Severity, String)>,
}

impl Scope<'_> {
    /// Adds a line to the log, once the method's locks are free.
    pub(super) fn log(&mut self, severity: Severity, line: impl Into<String>) {
        self.lines.push((severity, line.into()));
    }

    /// Logs, and tells the recorder, that something failed although the method goes on.
    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        let line = refusal.line(self.object.class.name(), self.method);
        self.log(Severity::Error, line.clone());
        if self.recorder != 0 {
            self.flush();
            callback::record_error(self.recorder, refusal.code(), &line);
        }
    }

    /// Writes the log. The caller's functions run here, so no lock may be held.
    pub(super) fn flush(&mut self) {
        for (severity, line) in std::mem::take(&mut self.lines) {
            callback::log(self.logger, self.object.version, severity, &line);
        }
    }

    /// Reports that something is not as it has to be.
    pub(super) fn misuse(&self, message: String, other: Option<&Site>) {
        let mut sites = vec![(*self.site).clone()];
        sites.extend(other.cloned());
        report(ReportKind::Misuse, message, sites);
    }
}

/// Names threads.
fn thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static KEY: u64 = LAST.fetch_add(1, Ordering::Relaxed);
    }
    KEY.with(|key| *key)
}

/// Does a method: counts it, lets it fail where a plan says so, and logs why it fails. It never
/// unwinds.
///
/// # Safety
/// The pointer must be null or to an implementation of ours.
pub(super) unsafe fn enter<T: Part, R: Copy>(
    this: *mut Inner,
    method: &'static str,
    failed: R,
    body: &mut dyn FnMut(&mut Scope<'_>, &Arc<T>) -> Refused<R>,
) -> R {
    let result = catch_unwind(AssertUnwindSafe(|| {
        SHARED.start();
        // SAFETY: as promised by the caller.
        let object = unsafe { Inner::find(this) }?;
        let part = object.part::<T>()?;
        let name = format!("nvinfer.{}.{method}", object.class.name());
        let mut driver = SHARED.lock();
        let site = driver.host_site(&name);
        let injected = driver.faults.call(&name);
        let stale = driver.generation != object.generation;
        drop(driver);
        let mut scope = Scope {
            object,
            site,
            method,
            logger: part.runtime().map_or(0, Runtime::logger),
            recorder: part.recorder(),
            lines: Vec::new(),
        };
        if stale {
            scope.misuse(
                format!("{name} was called of an object of an earlier session"),
                None,
            );
            return None;
        }
        let me = thread();
        let before = object.inside.swap(me, Ordering::AcqRel);
        if object.class == Class::Context && before != 0 && before != me {
            scope.misuse(format!("two threads call {} at once", object.label), None);
        }
        let result = match injected {
            Some(code) => Err(Refusal::Injected(code)),
            None => body(&mut scope, &part),
        };
        object.inside.store(before, Ordering::Release);
        let result = match result {
            Ok(result) => Some(result),
            Err(refusal) => {
                scope.refuse(&refusal);
                None
            }
        };
        scope.flush();
        result
    }));
    result.ok().flatten().unwrap_or(failed)
}

/// Defines methods of an implementation.
macro_rules! methods {
    ($part:ty: $(
        $(#[$doc:meta])*
        fn $function:ident = $method:literal ($($arg:ident: $type:ty),*) -> $result:ty, else $failed:expr,
        |$scope:ident, $this:ident| $body:block
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the method: pointers must point to what they are for.
        pub(super) unsafe extern "C" fn $function(
            this: *mut $crate::nvinfer::object::Inner $(, $arg: $type)*
        ) -> $result {
            let body: &mut dyn FnMut(
                &mut $crate::nvinfer::object::Scope<'_>,
                &std::sync::Arc<$part>,
            ) -> $crate::nvinfer::refusal::Refused<$result> = &mut |$scope, $this| $body;
            // SAFETY: the function is in the table of objects of ours.
            unsafe { $crate::nvinfer::object::enter(this, $method, $failed, body) }
        }
    )*};
}
pub(super) use methods;
