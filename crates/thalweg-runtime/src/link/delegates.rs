//! Loading the delegates of a method.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use thalweg_core::engine::Category;
use thalweg_core::{
    BackendOptions, Call, Delegate, DelegateInstance, DelegateSpec, Error, LoadedDelegate, Result,
    SharedBytes, StateBuffers, Subgraph, Tracer, bail,
};

use crate::data::ProgramData;
use crate::plan::MethodPlan;
use crate::runtime::Runtime;

/// The largest number of delegates that are loaded at the same time.
const MAX_LOADERS: usize = 8;

/// Loads the delegates of a method, several at once: engines and code take their time.
pub(super) fn load_delegates(
    plan: &MethodPlan,
    runtime: &Runtime,
    data: &ProgramData,
    options: &BackendOptions,
    tracer: Tracer<'_>,
) -> Result<Vec<LoadedDelegate>> {
    let load = |index| load_delegate(plan, index, runtime, data, options, tracer);
    let count = plan.delegates.len();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(count).min(MAX_LOADERS);
    if threads <= 1 {
        return (0..count).map(load).collect();
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut loaded = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return loaded;
            }
            let result = load(index);
            if result.is_err() {
                // What nobody has begun to load need not be loaded any more.
                next.store(count, Ordering::Relaxed);
            }
            loaded.push((index, result));
        }
    };
    let loading = Loading::new();
    // Unwind safe, since a panic goes on when all are done.
    let worker = || {
        let loaded = panic::catch_unwind(AssertUnwindSafe(worker));
        loading.end();
        loaded
    };
    let mut loaded = thread::scope(|scope| {
        let spawn = |_| {
            loading.begin();
            let spawned = thread::Builder::new().spawn_scoped(scope, worker);
            // Without it, the others load what there is.
            spawned.inspect_err(|_| loading.leave()).ok()
        };
        loading.begin();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut all = vec![worker()];
        // Only when they are gone does anybody call a driver again.
        all.extend(others.into_iter().map(|other| other.join().flatten()));
        let mut loaded = Vec::new();
        for part in all {
            match part {
                Ok(part) => loaded.extend(part),
                Err(panic) => panic::resume_unwind(panic),
            }
        }
        loaded
    });
    loaded.sort_by_key(|(index, _)| *index);
    loaded.into_iter().map(|(_, result)| result).collect()
}

/// Loads the delegate with an index.
fn load_delegate(
    plan: &MethodPlan,
    index: usize,
    runtime: &Runtime,
    data: &ProgramData,
    options: &BackendOptions,
    tracer: Tracer<'_>,
) -> Result<LoadedDelegate> {
    let delegate = &plan.delegates[index];
    let span = tracer.begin(Category::Load, "load a delegate");
    if tracer.is_on() {
        span.note("delegate", index);
        span.note("backend", delegate.backend.clone());
        span.note("payload bytes", delegate.payload.len());
    }
    let Some(backend) = runtime.backend(&delegate.backend) else {
        bail!(Missing, "there is no backend {}", delegate.backend);
    };
    let Some(payload) = SharedBytes::new(data.program(), delegate.payload.clone()) else {
        bail!(Internal, "the payload does not lie in the program");
    };
    let spec = DelegateSpec {
        method: &plan.name,
        index,
        backend: &delegate.backend,
        payload: &payload,
        compile_specs: &delegate.compile_specs,
        data,
        options,
        tracer,
    };
    let loaded = backend.load(&spec).inspect(|loaded| {
        if let LoadedDelegate::Opaque(delegate) = loaded
            && let Some(name) = delegate.name().filter(|_| tracer.is_on())
        {
            span.note("name", name.to_string());
        }
    });
    loaded.map_err(|error| {
        if tracer.is_on() {
            span.note("error", error.to_string());
        }
        let message = format!(
            "delegate {index} ({}): {}",
            delegate.backend,
            error.message()
        );
        Error::new(error.kind(), message).with_source(error)
    })
}

/// The delegates by index, and those that are graphs. In the place of a graph is a delegate that
/// nothing calls, so that all keep their indices.
pub(super) fn separate_graphs(
    loaded: Vec<LoadedDelegate>,
) -> (Vec<Arc<dyn Delegate>>, Vec<Option<Subgraph>>) {
    let separate = |delegate| match delegate {
        LoadedDelegate::Opaque(delegate) => (delegate, None),
        LoadedDelegate::Graph(graph) => (Arc::new(Inlined) as Arc<dyn Delegate>, Some(graph)),
    };
    loaded.into_iter().map(separate).unzip()
}

/// A delegate whose graph is a part of the method.
struct Inlined;

impl Delegate for Inlined {
    fn instance(&self, _: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(Self))
    }
}

impl DelegateInstance for Inlined {
    fn execute(&mut self, _: &mut Call<'_>) -> Result<()> {
        bail!(Internal, "a delegate is called whose graph was inlined")
    }
}

/// Threads that load. None of them goes while another one still does: on its way out, a thread gives back
/// what a driver has for it, and NVIDIA's was seen to do that and somebody else's first call in such an order
/// that both waited for each other.
struct Loading {
    threads: Mutex<usize>,
    fewer: Condvar,
}

impl Loading {
    fn new() -> Self {
        Self {
            threads: Mutex::new(0),
            fewer: Condvar::new(),
        }
    }

    /// One more loads.
    fn begin(&self) {
        *self.lock() += 1;
    }

    /// One less does.
    fn leave(&self) {
        *self.lock() -= 1;
        self.fewer.notify_all();
    }

    /// One less does, and waits until none does.
    fn end(&self) {
        self.leave();
        let all = self.fewer.wait_while(self.lock(), |threads| *threads > 0);
        drop(all);
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
