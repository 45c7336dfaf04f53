//! The records of a trace: what was seen on the host.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use thalweg_core::Note;
use thalweg_core::engine::Category;

use super::names::InstructionNames;

/// All events, in the order in which they began.
pub(super) struct Records {
    pub(super) events: Vec<Event>,
    pub(super) threads: Vec<Track>,
    /// The number of further events that fit.
    left: usize,
    dropped: u64,
}

/// A thread, and the spans that are open on it, the innermost one last.
pub(super) struct Track {
    id: ThreadId,
    pub(super) name: Option<String>,
    open: Vec<usize>,
}

/// An event. Times are nanoseconds since the trace began.
pub(super) struct Event {
    pub(super) thread: usize,
    pub(super) category: Category,
    pub(super) name: Name,
    pub(super) start: u64,
    pub(super) kind: Kind,
    pub(super) notes: Vec<(&'static str, Note)>,
}

/// The kind of an event.
pub(super) enum Kind {
    /// It has a duration, and ended at this time, if it has ended.
    Span(Option<u64>),
    Instant,
    Counter(u64),
}

/// The name of an event.
#[derive(Clone)]
pub(crate) enum Name {
    Text(Cow<'static, str>),
    /// An instruction of a method.
    Step(Arc<InstructionNames>, usize),
}

impl Records {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            events: Vec::new(),
            threads: Vec::new(),
            left: limit,
            dropped: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// Begins a span on this thread. `None` if there are too many events.
    pub(super) fn begin(&mut self, category: Category, name: Name, start: u64) -> Option<usize> {
        let thread = self.thread();
        let index = self.add(Event {
            thread,
            category,
            name,
            start,
            kind: Kind::Span(None),
            notes: Vec::new(),
        })?;
        self.threads[thread].open.push(index);
        Some(index)
    }

    /// Ends it, and what is open within it.
    pub(super) fn end(&mut self, index: usize, now: u64) {
        let Some(event) = self.events.get_mut(index) else {
            return;
        };
        event.kind = Kind::Span(Some(now));
        let open = &mut self.threads[event.thread].open;
        if let Some(at) = open.iter().rposition(|&other| other == index) {
            open.truncate(at);
        }
    }

    /// Adds an event that does not last.
    pub(super) fn add(&mut self, event: Event) -> Option<usize> {
        if !self.take_room() {
            return None;
        }
        self.events.push(event);
        Some(self.events.len() - 1)
    }

    /// Room for another event, here or elsewhere.
    pub(super) fn take_room(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.dropped += 1;
                false
            }
        }
    }

    /// Notes something with an event.
    pub(super) fn note(&mut self, index: usize, key: &'static str, note: Note) {
        if let Some(event) = self.events.get_mut(index) {
            event.notes.retain(|(other, _)| *other != key);
            event.notes.push((key, note));
        }
    }

    /// The innermost span that is open on this thread.
    pub(super) fn innermost(&mut self) -> Option<usize> {
        let thread = self.thread();
        self.threads[thread].open.last().copied()
    }

    /// The track of this thread.
    pub(super) fn thread(&mut self) -> usize {
        let current = thread::current();
        let id = current.id();
        if let Some(index) = self.threads.iter().position(|track| track.id == id) {
            return index;
        }
        self.threads.push(Track {
            id,
            name: current.name().map(String::from),
            open: Vec::new(),
        });
        self.threads.len() - 1
    }

    /// What is to be said of events that were not kept.
    pub(super) fn dropped(&self) -> Option<String> {
        let text = || {
            format!(
                "{} events that came after the limit of the trace",
                self.dropped
            )
        };
        (self.dropped > 0).then(text)
    }
}

impl Name {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Step(names, index) => names.step(*index),
        }
    }
}

impl From<Cow<'static, str>> for Name {
    fn from(text: Cow<'static, str>) -> Self {
        Self::Text(text)
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}
