//! Traces: what happened when, on the host and on devices, while a program was loaded and run.
//!
//! A [`Trace`] is the caller's, and is lent to what it should see. The host's side is recorded as it
//! happens: spans, which nest on each thread, instants, and counters. A device's side
//! ([`CommandTrace`]) is a list of events in a stream, around each command that a call submits; their
//! times are asked for when the trace is written, and never by a call.

mod clock;
mod command;
mod json;
mod names;
mod record;
mod recorder;

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use thalweg_core::{Error, ErrorKind, Result, Tracer};

pub(crate) use command::{CommandTrace, CopyKind, WaitReason};
pub(crate) use names::{InstructionNames, StepName};

use self::command::{EndedCommands, Resolved};
use self::record::Records;

/// A record of what happened when, for a viewer such as <https://ui.perfetto.dev>.
///
/// Lend it to what it should see: [`LoadOptions::trace`](crate::LoadOptions::trace) for loading a
/// program, [`MethodOptions::trace`](crate::MethodOptions::trace) for loading delegates and making
/// an instance, [`RunOptions::trace`](crate::RunOptions::trace) for a call. Then
/// [`save`](Trace::save) it, or [`write`](Trace::write) it. Clones are the same trace, and any number of
/// threads may use it at once.
///
/// A traced call does the same work in the same order, and waits for nothing that it would not wait
/// for otherwise; it takes longer by the time that recording takes. What goes wrong with tracing is no
/// error of a call: the trace says what it lacks ([`Trace::missing`]).
#[derive(Clone)]
pub struct Trace(Arc<Shared>);

struct Shared {
    start: Instant,
    inner: Mutex<Inner>,
}

struct Inner {
    records: Records,
    /// The commands of calls, whose times nobody has asked for yet.
    ended: Vec<EndedCommands>,
    /// The same, with times.
    resolved: Resolved,
    missing: Vec<String>,
}

impl Trace {
    /// The default limit of events: a program can loop.
    pub const LIMIT: usize = 1 << 20;

    /// A trace without events. Its times begin now.
    pub fn new() -> Self {
        Self::with_limit(Self::LIMIT)
    }

    /// A trace with a limit of events, of the host and of devices together. Later ones are counted, not
    /// kept.
    pub fn with_limit(events: usize) -> Self {
        Self(Arc::new(Shared {
            start: Instant::now(),
            inner: Mutex::new(Inner {
                records: Records::new(events),
                ended: Vec::new(),
                resolved: Resolved::default(),
                missing: Vec::new(),
            }),
        }))
    }

    /// Writes all that was seen so far, in the JSON format of Chrome's traces. For times on devices, it
    /// waits until they have done what traced calls have left there. Calls that are traced meanwhile may
    /// wait while the text is put together.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(&self, mut out: impl io::Write) -> Result<()> {
        let written = self.to_json().and_then(|text| out.write_all(&text));
        written.map_err(not_written)
    }

    /// Writes it to a file, in the place of what was there.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let saved = self.to_json().and_then(|text| fs::write(path, text));
        saved.map_err(|error| not_written(error).in_file(path.display()))
    }

    /// The parts that are missing, with the reasons: times that a device did not give, events beyond the
    /// limit. It waits as [`write`](Trace::write) does.
    pub fn missing(&self) -> Vec<String> {
        self.resolve();
        self.lock().missing()
    }

    /// A tracer, for whoever records spans of their own.
    pub fn tracer(&self) -> Tracer<'_> {
        Tracer::new(Some(self))
    }

    /// The tracer of a trace, if there is one.
    pub(crate) fn tracer_of(trace: Option<&Self>) -> Tracer<'_> {
        trace.map_or(Tracer::OFF, Self::tracer)
    }

    /// All that was seen so far, as text. While the trace is locked, calls that are traced wait, so that
    /// neither devices nor files are waited for there.
    fn to_json(&self) -> io::Result<Vec<u8>> {
        self.resolve();
        let mut text = Vec::new();
        json::write(&self.lock(), self.now(), &mut text)?;
        Ok(text)
    }

    /// Asks devices when they have done what calls have asked for.
    fn resolve(&self) {
        let ended = std::mem::take(&mut self.lock().ended);
        let (mut resolved, mut missing) = (Resolved::default(), Vec::new());
        for ended in ended {
            ended.resolve(self, &mut resolved, &mut missing);
        }
        let mut inner = self.lock();
        inner.resolved.append(resolved);
        missing.into_iter().for_each(|what| inner.lacks(what));
    }

    /// Nanoseconds since it began.
    fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    fn at(&self, instant: Instant) -> u64 {
        let since = instant.saturating_duration_since(self.0.start);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// A panic while it was locked leaves an event half written, which is no harm.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn missing(&self) -> Vec<String> {
        let mut missing = self.missing.clone();
        if let Some(dropped) = self.records.dropped() {
            missing.push(dropped);
        }
        missing
    }

    /// Takes note of something that is not there, once.
    fn lacks(&mut self, what: String) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }
}

fn not_written(error: io::Error) -> Error {
    let message = format!("the trace cannot be written: {error}");
    Error::new(ErrorKind::Io, message).with_source(error)
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.lock();
        f.debug_struct("Trace")
            .field("events", &inner.records.len())
            .finish_non_exhaustive()
    }
}
