//! Loading the delegates of a method.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::data::ProgramData;
use crate::plan::MethodPlan;
use crate::trace::Category;
use crate::{BackendOptions, Delegate, DelegateSpec, Error, Result, Runtime, Tracer, bail};

/// So many delegates are loaded at the same time, at most.
const MAX_LOADERS: usize = 8;

/// Loads the delegates of a method, several at once: engines and code take their time.
pub(super) fn load_delegates(
    plan: &MethodPlan,
    runtime: &Runtime,
    data: &ProgramData,
    options: &BackendOptions,
    tracer: Tracer<'_>,
) -> Result<Vec<Arc<dyn Delegate>>> {
    let load = |index: usize| {
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
        let spec = DelegateSpec {
            method: &plan.name,
            index,
            backend: &delegate.backend,
            file: data.program(),
            payload: delegate.payload.clone(),
            compile_specs: &delegate.compile_specs,
            data,
            options,
            tracer,
        };
        let loaded = backend.load(&spec).inspect(|delegate| {
            if let Some(name) = delegate.name().filter(|_| tracer.is_on()) {
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
    };
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
    let mut loaded = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let mut loaded = worker();
        for other in others {
            match other.join() {
                Ok(more) => loaded.extend(more),
                Err(panic) => panic::resume_unwind(panic),
            }
        }
        loaded
    });
    loaded.sort_by_key(|(index, _)| *index);
    loaded.into_iter().map(|(_, result)| result).collect()
}
