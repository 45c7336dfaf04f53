//! The commands of calls on devices, with their times.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use thalweg_core::engine::Category;
use thalweg_core::{Device, DeviceId, DeviceTimer, Note, Span, StreamHandle, Tracer};

use super::Trace;
use super::clock::ClockOffset;
use super::names::InstructionNames;
use super::record::Name;

/// What one call asks one device for, on its stream there.
///
/// Around each piece of work, a point is recorded in the stream. What becomes of these is asked when
/// the trace is written. If a point cannot be recorded, the work is not timed, and the call goes on.
pub(crate) struct CommandTrace {
    trace: Trace,
    names: Arc<InstructionNames>,
    stream: StreamHandle,
    /// The instruction that runs.
    instruction: usize,
    /// The instructions of tasks that were put off, in order.
    deferred: Vec<usize>,
    /// The work that began last, while it has no end.
    open: Option<usize>,
    /// How much work there was when the host waited last.
    waited: usize,
    /// All that lasts.
    ended: Option<EndedCommands>,
}

/// What a call has asked for, and what is needed to know when it was done.
pub(super) struct EndedCommands {
    device: Arc<dyn Device>,
    stream: StreamKey,
    /// None, if the device does not tell times.
    timer: Option<Box<dyn DeviceTimer>>,
    work: Vec<Work>,
    /// For each point, when the host was about to ask for it.
    asked: Vec<u64>,
    /// So many points had been passed by a time.
    passed: Vec<(usize, u64)>,
}

/// A piece of work. The points around it have these numbers.
struct Work {
    name: Name,
    category: Category,
    step: Option<Name>,
    notes: Vec<(&'static str, Note)>,
    thread: usize,
    first: Option<usize>,
    last: Option<usize>,
}

/// What tells streams of a device apart.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum StreamKey {
    /// A thread's own.
    Own(ThreadId, String),
    /// A caller's, by its handle, which may become another stream's.
    Chosen(StreamHandle),
}

/// Work of devices whose times are known.
#[derive(Default)]
pub(super) struct Resolved {
    /// The devices, and what they are called.
    pub(super) devices: Vec<(DeviceId, String)>,
    /// The streams, each a track.
    pub(super) streams: Vec<(DeviceId, StreamKey)>,
    pub(super) work: Vec<Done>,
    /// By device, how far its times may be off at worst, in nanoseconds.
    pub(super) inexact: Vec<(DeviceId, f64)>,
}

/// A piece of work that was done. Times are nanoseconds since the trace began.
pub(super) struct Done {
    pub(super) stream: usize,
    pub(super) name: Name,
    pub(super) category: Category,
    /// The instruction that it belongs to.
    pub(super) step: Option<Name>,
    pub(super) notes: Vec<(&'static str, Note)>,
    pub(super) start: u64,
    pub(super) end: u64,
    /// On which thread it was asked for, and when.
    pub(super) asked: (usize, u64),
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CopyKind {
    /// From the host to the device.
    Upload,
    /// From the device to the host.
    Download,
    /// Within the device.
    OnDevice,
}

/// The reason why the host waits for a device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitReason {
    /// It reads memory that copies write.
    Read(usize),
    /// It writes memory that copies use.
    Write(usize),
    /// The caller gets back memory that copies read.
    Borrowed,
    /// A graph is replaced.
    ReplacedGraph,
    /// The caller captures the call, and a graph cannot wait for what came before.
    Capture,
}

impl CommandTrace {
    /// For a call that begins on a stream.
    pub(crate) fn new(
        trace: &Trace,
        names: &Arc<InstructionNames>,
        device: &Arc<dyn Device>,
        stream: StreamHandle,
    ) -> Self {
        let id = device.id();
        let timer = match device.timer(stream) {
            Ok(Some(timer)) => Some(timer),
            Ok(None) => {
                let lacks =
                    format!("times on {id}: it does not tell times on the stream of a call");
                trace.lock().lacks(lacks);
                None
            }
            Err(error) => {
                trace.lock().lacks(format!("times on {id}: {error}"));
                None
            }
        };
        let current = thread::current();
        let key = match stream == device.default_stream() {
            true => {
                let name = current.name().unwrap_or("without a name");
                StreamKey::Own(current.id(), name.into())
            }
            false => StreamKey::Chosen(stream),
        };
        Self {
            trace: trace.clone(),
            names: names.clone(),
            stream,
            instruction: 0,
            deferred: Vec::new(),
            open: None,
            waited: 0,
            ended: Some(EndedCommands {
                device: device.clone(),
                stream: key,
                timer,
                work: Vec::new(),
                asked: Vec::new(),
                passed: Vec::new(),
            }),
        }
    }

    /// Takes note of which instruction runs from now on.
    pub(crate) fn at_instruction(&mut self, instruction: usize) {
        self.instruction = instruction;
    }

    /// The instruction that runs.
    pub(crate) fn instruction(&self) -> usize {
        self.instruction
    }

    /// Takes note that a task of the instruction was put off.
    pub(crate) fn defer(&mut self) {
        self.deferred.push(self.instruction);
    }

    /// The instructions of the tasks that were put off so far, which are about to be asked for.
    pub(crate) fn take_deferred(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.deferred)
    }

    /// A copy is about to be asked for.
    pub(crate) fn begin_copy(&mut self, kind: CopyKind, bytes: usize) {
        let step = Name::Step(self.names.clone(), self.instruction);
        let notes = vec![("bytes", bytes.into())];
        self.begin(Category::Copy, kind.name().into(), Some(step), notes);
    }

    /// A delegate is about to ask for something, unless it was already.
    pub(crate) fn begin_delegate(&mut self) {
        if self.open.is_none() {
            let step = Name::Step(self.names.clone(), self.instruction);
            self.begin(Category::Delegate, step.clone(), Some(step), Vec::new());
        }
    }

    /// A graph is about to be launched.
    pub(crate) fn begin_graph(&mut self, notes: Vec<(&'static str, Note)>) {
        self.begin(Category::Graph, "graph".into(), None, notes);
    }

    /// What was begun was asked for.
    pub(crate) fn end(&mut self) {
        let Some(index) = self.open.take() else {
            return;
        };
        let last = self.point();
        if let Some(work) = self
            .ended
            .as_mut()
            .and_then(|ended| ended.work.get_mut(index))
        {
            work.last = last;
        }
    }

    /// The trace, for spans that last while this changes.
    pub(crate) fn trace(&self) -> Trace {
        self.trace.clone()
    }

    /// The name and the number of an instruction.
    pub(crate) fn name_of(&self, instruction: usize) -> String {
        let number = self.names.instruction(instruction);
        format!("{} (instruction {number})", self.names.step(instruction))
    }

    /// A span of a wait of the host.
    pub(crate) fn wait<'t>(&self, tracer: Tracer<'t>, why: WaitReason) -> Span<'t> {
        let span = tracer.begin(Category::Wait, "wait for a device");
        span.note("why", why.in_words());
        if let Some(ended) = &self.ended {
            span.note("device", ended.device.id().to_string());
            span.note(
                "commands since the last wait",
                ended.work.len() - self.waited,
            );
            if let Some(last) = ended.work.last() {
                span.note("last command", last.in_words());
            }
        }
        span
    }

    /// The host has waited for all that was asked for.
    pub(crate) fn waited(&mut self) {
        let now = self.trace.now();
        if let Some(ended) = &mut self.ended {
            ended.passed.push((ended.asked.len(), now));
            self.waited = ended.work.len();
        }
    }

    fn begin(
        &mut self,
        category: Category,
        name: Name,
        step: Option<Name>,
        notes: Vec<(&'static str, Note)>,
    ) {
        let mut inner = self.trace.lock();
        let (thread, room) = (inner.records.thread(), inner.records.take_room());
        drop(inner);
        if !room {
            return;
        }
        let first = self.point();
        let Some(ended) = &mut self.ended else {
            return;
        };
        self.open = Some(ended.work.len());
        ended.work.push(Work {
            name,
            category,
            step,
            notes,
            thread,
            first,
            last: None,
        });
    }

    /// Records a point in the stream.
    fn point(&mut self) -> Option<usize> {
        let now = self.trace.now();
        let ended = self.ended.as_mut()?;
        match ended.timer.as_mut()?.record(self.stream) {
            Ok(()) => {
                ended.asked.push(now);
                Some(ended.asked.len() - 1)
            }
            Err(error) => {
                let lacks = format!("a time on {}: {error}", ended.device.id());
                self.trace.lock().lacks(lacks);
                None
            }
        }
    }
}

impl Drop for CommandTrace {
    /// However the call has ended, the trace gets what there is.
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take().filter(|ended| !ended.work.is_empty()) {
            self.trace.lock().ended.push(ended);
        }
    }
}

impl EndedCommands {
    /// Asks the device when it has done the work, which it waits for. What it does not say is lacking.
    pub(super) fn resolve(self, trace: &Trace, resolved: &mut Resolved, missing: &mut Vec<String>) {
        let id = self.device.id();
        let Some(mut timer) = self.timer else {
            return;
        };
        let mut lacks = |error: &dyn std::fmt::Display| {
            let what = format!("times on {id}: {error}");
            if !missing.contains(&what) {
                missing.push(what);
            }
        };
        let times = match timer.times() {
            Ok(times) => times,
            Err(error) => {
                lacks(&error);
                return;
            }
        };
        let mut at = Vec::with_capacity(times.events.len());
        for time in times.events {
            at.push(time.map_err(|error| lacks(&error)).ok());
        }
        let time_of = |point: Option<usize>| *at.get(point?)?;
        let mut offset = ClockOffset::default();
        for (point, &asked) in self.asked.iter().enumerate() {
            if let Some(time) = time_of(Some(point)) {
                offset.asked(time, asked);
            }
        }
        for &(count, passed) in &self.passed {
            if let Some(time) = count.checked_sub(1).and_then(|last| time_of(Some(last))) {
                offset.passed(time, passed);
            }
        }
        // Later than the call, where clocks may have drifted apart: only if there is nothing better.
        if let Some(reference) = times.reference
            && !offset.is_bounded()
        {
            offset.asked(reference.time, trace.at(reference.submitted));
            offset.passed(reference.time, trace.at(reference.completed));
        }
        let Some((distance, inexact)) = offset.value() else {
            return;
        };
        match inexact {
            Some(inexact) => resolved.is_inexact(id, inexact),
            None => {
                lacks(&"its clock cannot be compared with the host's, so that they may be late");
            }
        }
        let stream = resolved.stream(id, self.stream);
        if !resolved.devices.iter().any(|(other, _)| *other == id) {
            // Here and not in the call, since a device may ask its driver.
            resolved.devices.push((id, self.device.name()));
        }
        let on_host = |time: f64| (time + distance).round().max(0.0) as u64;
        for work in self.work {
            let (Some(start), Some(end)) = (time_of(work.first), time_of(work.last)) else {
                continue;
            };
            let asked = work.first.map_or(0, |first| self.asked[first]);
            resolved.work.push(Done {
                stream,
                name: work.name,
                category: work.category,
                step: work.step,
                notes: work.notes,
                start: on_host(start),
                end: on_host(end.max(start)),
                asked: (work.thread, asked),
            });
        }
    }
}

impl Resolved {
    /// Adds what another one has.
    pub(super) fn append(&mut self, other: Self) {
        for done in other.work {
            let (device, key) = &other.streams[done.stream];
            let stream = self.stream(*device, key.clone());
            self.work.push(Done { stream, ..done });
        }
        for device in other.devices {
            if !self.devices.iter().any(|(known, _)| *known == device.0) {
                self.devices.push(device);
            }
        }
        for (device, inexact) in other.inexact {
            self.is_inexact(device, inexact);
        }
    }

    /// The track of a stream.
    fn stream(&mut self, device: DeviceId, key: StreamKey) -> usize {
        let stream = (device, key);
        match self.streams.iter().position(|known| *known == stream) {
            Some(index) => index,
            None => {
                self.streams.push(stream);
                self.streams.len() - 1
            }
        }
    }

    fn is_inexact(&mut self, device: DeviceId, inexact: f64) {
        match self.inexact.iter_mut().find(|(other, _)| *other == device) {
            Some((_, known)) => *known = known.max(inexact),
            None => self.inexact.push((device, inexact)),
        }
    }
}

impl StreamKey {
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Own(_, thread) => format!("stream of thread {thread}"),
            Self::Chosen(StreamHandle(handle)) => format!("stream {handle:#x} of the caller"),
        }
    }
}

impl Work {
    fn in_words(&self) -> String {
        match &self.step {
            Some(Name::Step(names, index)) if self.category == Category::Copy => {
                format!(
                    "{} of {} (instruction {})",
                    self.name.text(),
                    names.step(*index),
                    names.instruction(*index)
                )
            }
            _ => self.name.text().to_string(),
        }
    }
}

impl CopyKind {
    fn name(self) -> &'static str {
        match self {
            Self::Upload => "copy to the device",
            Self::Download => "copy to the host",
            Self::OnDevice => "copy within the device",
        }
    }
}

impl WaitReason {
    fn in_words(self) -> String {
        match self {
            Self::Read(bytes) => format!("the host reads {bytes} bytes that a copy writes"),
            Self::Write(bytes) => format!("the host writes {bytes} bytes that a copy uses"),
            Self::Borrowed => "the caller gets back memory that a copy reads".into(),
            Self::ReplacedGraph => "the least recently used graph is replaced".into(),
            Self::Capture => "the caller captures the call".into(),
        }
    }
}
