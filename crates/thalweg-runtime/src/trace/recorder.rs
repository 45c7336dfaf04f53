//! The host's side of a trace, as it is recorded.

use std::borrow::Cow;
use std::sync::Arc;

use thalweg_core::engine::{Category, Recorder};
use thalweg_core::{Note, Span};

use super::Trace;
use super::names::InstructionNames;
use super::record::{Event, Kind, Name};

impl Trace {
    /// Begins the span of an instruction.
    pub(crate) fn begin_instruction(
        &self,
        category: Category,
        names: &Arc<InstructionNames>,
        index: usize,
    ) -> Span<'_> {
        let name = Name::Step(names.clone(), index);
        Span::new(self, self.begin_named(category, name))
    }

    #[cold]
    fn begin_named(&self, category: Category, name: Name) -> Option<usize> {
        let mut inner = self.lock();
        // After the lock, so that a span does not begin before those that others have recorded.
        let now = self.now();
        inner.records.begin(category, name, now)
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

impl Recorder for Trace {
    fn begin(&self, category: Category, name: Cow<'static, str>) -> Option<usize> {
        self.begin_named(category, name.into())
    }

    fn end(&self, span: usize) {
        let now = self.now();
        self.lock().records.end(span, now);
    }

    fn note(&self, span: Option<usize>, key: &'static str, note: Note) {
        let mut inner = self.lock();
        if let Some(span) = span.or_else(|| inner.records.innermost()) {
            inner.records.note(span, key, note);
        }
    }

    fn instant(&self, category: Category, name: &'static str, notes: &[(&'static str, Note)]) {
        self.add(category, name.into(), Kind::Instant, notes);
    }

    fn counter(&self, category: Category, name: String, value: u64) {
        self.add(category, name.into(), Kind::Counter(value), &[]);
    }
}
