//! Writing down what happens on the host.

use std::marker::PhantomData;

use super::record::{Event, Kind};
use super::{Category, Name, Note, Trace};

/// Where something is written down that is traced, or nowhere. Copies are the same.
///
/// Without a trace, all of it does nothing. A name or a note that takes time to make is made only where
/// [`is_on`](Tracer::is_on) says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracer<'t>(Option<&'t Trace>);

/// A span of time on the host, which ends when this is dropped. Spans of a thread nest.
#[must_use = "it ends at once"]
pub struct Span<'t> {
    of: Option<(&'t Trace, usize)>,
    /// Spans are those of a thread.
    thread: PhantomData<*const ()>,
}

impl<'t> Tracer<'t> {
    pub(crate) const OFF: Self = Self(None);

    #[inline]
    pub(crate) fn new(trace: Option<&'t Trace>) -> Self {
        Self(trace)
    }

    /// The trace, if there is one.
    #[inline]
    pub(crate) fn trace(self) -> Option<&'t Trace> {
        self.0
    }

    /// Whether there is a trace.
    #[inline]
    pub fn is_on(self) -> bool {
        self.0.is_some()
    }

    /// Begins a span on this thread.
    #[inline]
    pub fn span(self, name: &'static str) -> Span<'t> {
        self.begin(Category::Delegate, name)
    }

    /// Begins a span of a wait.
    #[inline]
    pub fn wait(self, name: &'static str) -> Span<'t> {
        self.begin(Category::Wait, name)
    }

    /// Writes down that something has happened just now.
    #[inline]
    pub fn instant(self, name: &'static str, notes: &[(&'static str, Note)]) {
        if let Some(trace) = self.0 {
            trace.add(Category::Memory, name.into(), Kind::Instant, notes);
        }
    }

    /// Writes down how many bytes there are of something, by its name, which is a track of its own.
    #[inline]
    pub fn bytes(self, of: impl FnOnce() -> (String, usize)) {
        if let Some(trace) = self.0 {
            let (name, bytes) = of();
            let kind = Kind::Counter(bytes as u64);
            trace.add(Category::Memory, name.into(), kind, &[]);
        }
    }

    /// Notes something with the innermost span of this thread, such as that of a delegate's call.
    #[inline]
    pub fn note(self, key: &'static str, note: impl Into<Note>) {
        if let Some(trace) = self.0 {
            let mut inner = trace.lock();
            if let Some(index) = inner.records.innermost() {
                inner.records.note(index, key, note.into());
            }
        }
    }

    #[inline]
    pub(crate) fn begin(self, category: Category, name: impl Into<Name>) -> Span<'t> {
        let of = match self.0 {
            None => None,
            Some(trace) => trace.begin(category, name.into()),
        };
        Span {
            of,
            thread: PhantomData,
        }
    }
}

impl Trace {
    #[cold]
    fn begin(&self, category: Category, name: Name) -> Option<(&Self, usize)> {
        let mut inner = self.lock();
        // After the lock, so that a span does not begin before those that others have written.
        let index = inner.records.begin(category, name, self.now())?;
        drop(inner);
        Some((self, index))
    }

    #[cold]
    fn add(&self, category: Category, name: Name, kind: Kind, notes: &[(&'static str, Note)]) {
        let mut inner = self.lock();
        let event = Event {
            thread: inner.records.thread(),
            category,
            name,
            start: self.now(),
            kind,
            notes: notes.to_vec(),
        };
        inner.records.add(event);
    }
}

impl Span<'_> {
    /// Notes something with it. What was noted under the same key before is forgotten.
    pub fn note(&self, key: &'static str, note: impl Into<Note>) {
        if let Some((trace, index)) = self.of {
            trace.lock().records.note(index, key, note.into());
        }
    }
}

impl Drop for Span<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((trace, index)) = self.of {
            let now = trace.now();
            trace.lock().records.end(index, now);
        }
    }
}
