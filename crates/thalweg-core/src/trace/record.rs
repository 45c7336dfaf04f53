//! What was seen on the host.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use super::Names;

/// All of it, in the order in which it began.
pub(super) struct Records {
    pub(super) events: Vec<Event>,
    pub(super) threads: Vec<Track>,
    /// How many more there may be.
    left: usize,
    dropped: u64,
}

/// A thread, and the spans that are open on it, the innermost one last.
pub(super) struct Track {
    id: ThreadId,
    pub(super) name: Option<String>,
    open: Vec<usize>,
}

/// Something that was seen. Times are nanoseconds since the trace began.
pub(super) struct Event {
    pub(super) thread: usize,
    pub(super) category: Category,
    pub(super) name: Name,
    pub(super) start: u64,
    pub(super) kind: Kind,
    pub(super) notes: Vec<(&'static str, Note)>,
}

/// What kind of event it is.
pub(super) enum Kind {
    /// It lasts, and is over at this time, if it is over.
    Span(Option<u64>),
    Instant,
    Counter(u64),
}

/// What something belongs to, for those who look for a kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Category {
    Load,
    Call,
    Instruction,
    Delegate,
    Copy,
    Graph,
    Wait,
    Memory,
}

/// What something is called.
#[derive(Clone)]
pub(crate) enum Name {
    Text(Cow<'static, str>),
    /// An instruction of a method.
    Step(Arc<Names>, usize),
}

/// A value that is noted with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A number.
    Number(i128),
    /// Whether something is so.
    Flag(bool),
    /// A text, of whatever characters.
    Text(Cow<'static, str>),
    /// Several texts.
    List(Vec<String>),
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

impl Category {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Call => "call",
            Self::Instruction => "instruction",
            Self::Delegate => "delegate",
            Self::Copy => "copy",
            Self::Graph => "graph",
            Self::Wait => "wait",
            Self::Memory => "memory",
        }
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

impl From<usize> for Note {
    fn from(number: usize) -> Self {
        Self::Number(number as i128)
    }
}

impl From<u64> for Note {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for Note {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&'static str> for Note {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Vec<String>> for Note {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}
