//! Tracing: the interface between what is traced and the trace that records it.

use std::borrow::Cow;
use std::marker::PhantomData;

/// The recording side of a trace. The runtime implements it.
pub trait Recorder: Sync {
    /// Begins a span on this thread. `None` if the trace is full.
    fn begin(&self, category: Category, name: Cow<'static, str>) -> Option<usize>;

    /// Ends a span.
    fn end(&self, span: usize);

    /// Adds a note to a span, in place of one under the same key; to the innermost span of this thread
    /// if none is given.
    fn note(&self, span: Option<usize>, key: &'static str, note: Note);

    /// Records an event without duration.
    fn instant(&self, category: Category, name: &'static str, notes: &[(&'static str, Note)]);

    /// Records the value of a counter, which is a track of its own.
    fn counter(&self, category: Category, name: String, value: u64);
}

/// The category of an event, for viewers that filter by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Category {
    Load,
    Call,
    Instruction,
    Delegate,
    Copy,
    Graph,
    Wait,
    Memory,
}

impl Category {
    /// The category's name.
    pub fn name(self) -> &'static str {
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

/// A value that is noted with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A number.
    Number(i128),
    /// A boolean.
    Flag(bool),
    /// A text, of whatever characters.
    Text(Cow<'static, str>),
    /// Several texts.
    List(Vec<String>),
}

/// A handle to a trace, or to none. Copies are the same.
///
/// Without a trace, all of it does nothing. A name or a note that takes time to make is made only where
/// [`is_on`](Tracer::is_on) says so.
#[derive(Clone, Copy, Default)]
pub struct Tracer<'t>(Option<&'t dyn Recorder>);

/// A span of time on the host, which ends when this is dropped. Spans of a thread nest.
#[must_use = "it ends at once"]
pub struct Span<'t> {
    of: Option<(&'t dyn Recorder, usize)>,
    /// Spans are those of a thread.
    thread: PhantomData<*const ()>,
}

impl<'t> Tracer<'t> {
    /// A tracer that does nothing.
    pub const OFF: Self = Self(None);

    /// A tracer that records.
    #[inline]
    pub fn new(recorder: Option<&'t dyn Recorder>) -> Self {
        Self(recorder)
    }

    /// True if there is a trace.
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

    /// Begins a span of a category.
    #[inline]
    pub fn begin(self, category: Category, name: impl Into<Cow<'static, str>>) -> Span<'t> {
        match self.0 {
            None => Span::none(),
            Some(recorder) => Span::new(recorder, recorder.begin(category, name.into())),
        }
    }

    /// Records that something happened just now.
    #[inline]
    pub fn instant(self, name: &'static str, notes: &[(&'static str, Note)]) {
        if let Some(recorder) = self.0 {
            recorder.instant(Category::Memory, name, notes);
        }
    }

    /// Records a number of bytes, under a name that is a track of its own.
    #[inline]
    pub fn bytes(self, of: impl FnOnce() -> (String, usize)) {
        if let Some(recorder) = self.0 {
            let (name, bytes) = of();
            recorder.counter(Category::Memory, name, bytes as u64);
        }
    }

    /// Adds a note to the innermost span of this thread, such as that of a delegate's call.
    #[inline]
    pub fn note(self, key: &'static str, note: impl Into<Note>) {
        if let Some(recorder) = self.0 {
            recorder.note(None, key, note.into());
        }
    }
}

impl<'t> Span<'t> {
    /// A span that a recorder has begun.
    #[inline]
    pub fn new(recorder: &'t dyn Recorder, span: Option<usize>) -> Self {
        Self {
            of: span.map(|span| (recorder, span)),
            thread: PhantomData,
        }
    }

    /// A span of nothing.
    #[inline]
    pub fn none() -> Self {
        Self {
            of: None,
            thread: PhantomData,
        }
    }

    /// Adds a note, in place of one under the same key.
    pub fn note(&self, key: &'static str, note: impl Into<Note>) {
        if let Some((recorder, span)) = self.of {
            recorder.note(Some(span), key, note.into());
        }
    }
}

impl Drop for Span<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((recorder, span)) = self.of {
            recorder.end(span);
        }
    }
}

impl std::fmt::Debug for Tracer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tracer").field(&self.is_on()).finish()
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
