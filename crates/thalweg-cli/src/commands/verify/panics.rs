//! Panics of cases, which are bugs, and failures of these cases alone.

use std::sync::Mutex;

/// A panic hook that notes the place and message of a panic, and prints nothing.
pub(super) struct PanicNotes;

static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

impl PanicNotes {
    /// Installs the hook, until this is dropped.
    pub(super) fn keep() -> Self {
        std::panic::set_hook(Box::new(|info| {
            let place = info
                .location()
                .map(|at| format!(" at {}:{}", at.file(), at.line()))
                .unwrap_or_default();
            let payload = info.payload();
            let message = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            let note = format!("panicked{place}: {message}");
            // The first is the cause where one thread's panic makes another thread panic.
            lock(&LAST_PANIC).get_or_insert(note);
        }));
        Self
    }

    /// The note of the last panic.
    pub(super) fn take(&self) -> String {
        lock(&LAST_PANIC)
            .take()
            .unwrap_or_else(|| "panicked".into())
    }
}

impl Drop for PanicNotes {
    fn drop(&mut self) {
        drop(std::panic::take_hook());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
