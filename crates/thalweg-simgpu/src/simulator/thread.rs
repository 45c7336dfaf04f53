//! The threads of the host: their current contexts, and their capture modes.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::CUresult;

use super::call::Call;
use crate::status::{CallResult, fail};

/// The state of a host thread.
struct Thread {
    /// A number that no other thread has.
    key: u64,
    /// The generation of the driver's state that the rest belongs to.
    generation: u64,
    /// The stack of current contexts; the last one is in force.
    contexts: Vec<u64>,
    capture_mode: u32,
}

static THREADS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::new(Thread {
        key: THREADS.fetch_add(1, Ordering::Relaxed),
        generation: 0,
        contexts: Vec::new(),
        capture_mode: 0,
    });
}

impl Call {
    fn with_thread<T>(&self, f: impl FnOnce(&mut Thread) -> T) -> T {
        THREAD.with_borrow_mut(|thread| {
            if thread.generation != self.generation {
                thread.generation = self.generation;
                thread.contexts.clear();
                thread.capture_mode = 0;
            }
            f(thread)
        })
    }

    /// The number of the thread of this call.
    pub(crate) fn thread(&self) -> u64 {
        self.with_thread(|thread| thread.key)
    }

    /// Uses the thread's stack of contexts, of which the last one is in force.
    pub(crate) fn with_contexts<T>(&self, f: impl FnOnce(&mut Vec<u64>) -> T) -> T {
        self.with_thread(|thread| f(&mut thread.contexts))
    }

    pub(crate) fn capture_mode(&self) -> u32 {
        self.with_thread(|thread| thread.capture_mode)
    }

    pub(crate) fn set_capture_mode(&self, mode: u32) {
        self.with_thread(|thread| thread.capture_mode = mode);
    }

    /// The handle of the current context, which may be destroyed.
    pub(crate) fn current(&self) -> Option<u64> {
        self.with_contexts(|contexts| contexts.last().copied())
            .filter(|context| *context != 0)
    }

    /// The current context.
    ///
    /// # Errors
    /// If there is none, or it was destroyed.
    pub(crate) fn context(&self) -> CallResult<u64> {
        let Some(context) = self.current() else {
            return fail(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        };
        match self.contexts.get(context) {
            Ok(_) => Ok(context),
            Err(_) => fail(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
        }
    }

    /// The device of the current context.
    pub(crate) fn device(&self) -> CallResult<usize> {
        Ok(self.contexts.get(self.context()?)?.device)
    }
}
