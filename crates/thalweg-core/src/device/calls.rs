//! Devices over the life of a method instance: the stream of a call, and what calls leave behind.

use std::ops::Range;
use std::sync::Arc;

use super::asking::{Asking, DOWN, DelegateTask, OfDelegate, UP, WITHIN};
use super::stretch::{Choice, Graphs, Task};
use super::{Device, DeviceAddress, DeviceId, Pending, Point, StreamHandle, Use};
use crate::memory::StorageId;
use crate::omit::{Rule, omitted};
use crate::state::StateGuard;
use crate::trace::{Category, Names, Timed, Why};
use crate::{Completion, Error, GraphUse, Result, RunOptions, State, Trace, Tracer, bail, ensure};

/// One device, as a method instance uses it.
///
/// # Order
/// All that a call does on the device goes to one stream. What the call before has left in flight
/// there is waited for by the stream, not by the host; the host waits only where it has to touch
/// memory that a copy still uses.
///
/// # Tasks
/// What a call asks for is asked for at once, or, if graphs may be used, collected until
/// [`flush`](DeviceState::flush); see [`stretch`](super::stretch). While there are tasks that were not
/// asked for yet, nothing may wait for them: whoever is about to wait flushes first.
pub(crate) struct DeviceState {
    pub(crate) device: Arc<dyn Device>,
    /// The device's, which is asked for often.
    id: DeviceId,
    /// After the last thing that the call before asked for, if it may still be in flight.
    end: Point,
    in_flight: bool,
    stream: StreamHandle,
    /// Whether something was asked for that comes after that point.
    used: bool,
    /// Whether a delegate was given the stream, and may ask for something at any time.
    lent: bool,
    /// Whether copies still read memory that the caller has lent for the time of the call.
    reads_callers: bool,
    /// Host memory that copies of this call, or of calls before, still use.
    pending: Pending,
    /// Whether the caller records the stream: what the call asks for is a part of a graph of theirs, and
    /// nothing of it runs before the call is over.
    recorded: bool,
    /// Whether this call may use graphs, and what to do where that fails.
    graph_use: GraphUse,
    /// Whether tasks are collected, rather than asked for at once.
    collects: bool,
    /// What was not asked for yet, and the host memory that this uses.
    tasks: Vec<Task>,
    /// Which delegates have one among these.
    delegates: Vec<bool>,
    unasked: Pending,
    graphs: Graphs,
    /// Whether it was said that something could not be recorded.
    warned: bool,
    /// Where the call is written down, if it is traced.
    timed: Option<Box<Timed>>,
}

impl DeviceState {
    pub(crate) fn new(device: Arc<dyn Device>, copies: usize) -> Result<Self> {
        Ok(Self {
            end: Point::new(&*device)?,
            stream: device.default_stream(),
            id: device.id(),
            device,
            in_flight: false,
            used: false,
            lent: false,
            reads_callers: false,
            pending: Pending::with_capacity(copies),
            recorded: false,
            graph_use: GraphUse::Off,
            collects: false,
            tasks: Vec::new(),
            delegates: Vec::new(),
            unasked: Pending::default(),
            graphs: Graphs::default(),
            warned: false,
            timed: None,
        })
    }

    /// Chooses the stream of a call, which goes on after what the call before left in flight.
    pub(crate) fn begin(&mut self, options: &RunOptions<'_>) -> Result<()> {
        self.stream = options
            .stream_on(self.id)
            .unwrap_or_else(|| self.device.default_stream());
        self.used = false;
        self.graph_use = match self.device.records() {
            true => options.graph_use(),
            false => GraphUse::Off,
        };
        self.recorded = false;
        if self.device.is_recorded(self.stream)? {
            // A graph cannot wait for what is not in it.
            if !omitted(Rule::RecordedAfterCall) {
                self.wait(Why::Recorded)?;
            }
            for completion in options.after_on(self.id) {
                completion.wait()?;
            }
            self.recorded = true;
            return Ok(());
        }
        for completion in options.after_on(self.id) {
            completion.before_stream(self.stream)?;
        }
        if self.in_flight && !omitted(Rule::CallAfterCall) {
            self.end.before(&*self.device, self.stream)?;
        }
        Ok(())
    }

    /// Writes down what the call asks for from now on, until it ends.
    pub(crate) fn trace(&mut self, trace: &Trace, names: &Arc<Names>) {
        let timed = Timed::new(trace, names, &self.device, self.stream);
        self.timed = Some(Box::new(timed));
    }

    /// What the call asks for, if it is traced.
    #[inline]
    pub(crate) fn timed(&mut self) -> Option<&mut Timed> {
        self.timed.as_deref_mut()
    }

    /// Makes the call go on after others that use the same state on the device.
    pub(crate) fn begin_after(&mut self, state: &State, turn: &StateGuard<'_>) -> Result<()> {
        match self.recorded {
            true => state.wait(turn),
            false => state.begin(&*self.device, self.stream),
        }
    }

    /// Which device it is.
    #[inline]
    pub(crate) fn id(&self) -> DeviceId {
        self.id
    }

    /// Whether the caller records the stream of the call.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// The stream of the call, on which something is about to be asked for.
    pub(crate) fn stream(&mut self) -> StreamHandle {
        self.used = true;
        self.stream
    }

    /// The stream of the call, for events, which use no memory.
    pub(crate) fn chosen_stream(&self) -> StreamHandle {
        self.stream
    }

    /// Whether nothing that was asked for may still be in flight.
    pub(crate) fn is_over(&self) -> bool {
        !self.used && !self.lent && !self.in_flight
    }

    /// Where the device is done with the last call.
    ///
    /// # Errors
    /// If that is for the caller to say.
    pub(crate) fn completion(&self) -> Result<Completion> {
        ensure!(
            !self.recorded,
            InvalidOption,
            "the caller has recorded the call, and knows when it runs"
        );
        let point = self.in_flight.then(|| self.end.clone());
        Ok(Completion::new(self.device.clone(), point))
    }

    /// The stream of the call, for a delegate.
    pub(crate) fn lend_stream(&mut self) -> StreamHandle {
        self.lent = true;
        // What it prepares is asked for later.
        if !self.collects
            && let Some(timed) = self.timed()
        {
            timed.begin_delegate();
        }
        self.stream()
    }

    /// A delegate that was given the stream is done with asking. A wait in between may have come
    /// before what it asked for.
    pub(crate) fn take_stream_back(&mut self) {
        self.used |= std::mem::take(&mut self.lent);
        if let Some(timed) = self.timed() {
            timed.end();
        }
    }

    /// Whether what the call asks for may be put off: to become a graph, or since all of it has to be
    /// what a graph can have, where the caller makes one.
    pub(crate) fn may_collect(&self) -> bool {
        self.graph_use != GraphUse::Off || self.recorded
    }

    /// From now on tasks are collected, or asked for at once. In that case there must be none that was
    /// not asked for.
    pub(crate) fn collect(&mut self, collects: bool) {
        self.collects = collects;
    }

    /// Whether tasks are collected.
    pub(crate) fn collects(&self) -> bool {
        self.collects
    }

    /// Copies to the device, or will.
    ///
    /// # Safety
    /// As for [`Device::upload`], until the call has flushed.
    pub(crate) unsafe fn upload(
        &mut self,
        to: DeviceAddress,
        from: *const u8,
        len: usize,
    ) -> Result<()> {
        if self.collects {
            let from = from.expose_provenance();
            self.put_off(Task::Upload { to, from, len });
            return Ok(());
        }
        let stream = self.begin_copy(UP, len);
        // SAFETY: the caller's.
        let asked = unsafe { self.device.upload(to, from, len, stream) };
        self.end_copy();
        asked
    }

    /// Copies from the device, or will.
    ///
    /// # Safety
    /// As for [`Device::download`], until the call has flushed.
    pub(crate) unsafe fn download(
        &mut self,
        to: *mut u8,
        from: DeviceAddress,
        len: usize,
    ) -> Result<()> {
        if self.collects {
            let to = to.expose_provenance();
            self.put_off(Task::Download { to, from, len });
            return Ok(());
        }
        let stream = self.begin_copy(DOWN, len);
        // SAFETY: the caller's.
        let asked = unsafe { self.device.download(to, from, len, stream) };
        self.end_copy();
        asked
    }

    /// Copies within the device, or will.
    ///
    /// # Safety
    /// As for [`Device::copy`], until the call has flushed.
    pub(crate) unsafe fn copy(
        &mut self,
        to: DeviceAddress,
        from: DeviceAddress,
        len: usize,
    ) -> Result<()> {
        if self.collects {
            self.put_off(Task::Copy { to, from, len });
            return Ok(());
        }
        let stream = self.begin_copy(WITHIN, len);
        // SAFETY: the caller's.
        let asked = unsafe { self.device.copy(to, from, len, stream) };
        self.end_copy();
        asked
    }

    /// Adds what a delegate has prepared.
    pub(crate) fn add_delegate(&mut self, index: usize, stamp: u64, instruction: usize) {
        if self.delegates.len() <= index {
            self.delegates.resize(index + 1, false);
        }
        self.delegates[index] = true;
        self.put_off(Task::Delegate {
            index,
            stamp,
            instruction,
        });
    }

    fn put_off(&mut self, task: Task) {
        self.tasks.push(task);
        if let Some(timed) = self.timed() {
            timed.puts_off();
        }
    }

    fn begin_copy(&mut self, what: &'static str, len: usize) -> StreamHandle {
        if let Some(timed) = self.timed() {
            timed.begin_copy(what, len);
        }
        self.stream()
    }

    fn end_copy(&mut self) {
        if let Some(timed) = self.timed() {
            timed.end();
        }
    }

    /// How many tasks there are that were not asked for yet.
    pub(crate) fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Whether something that a delegate has prepared was not asked for yet.
    pub(crate) fn has_task_of(&self, delegate: usize) -> bool {
        self.delegates.get(delegate).copied().unwrap_or(false)
    }

    /// Whether a task that was not asked for yet uses host memory in a way that conflicts.
    pub(crate) fn unasked_conflicts(
        &self,
        storage: StorageId,
        range: &Range<usize>,
        by_host: Use,
    ) -> bool {
        self.unasked.conflicts(storage, range, by_host)
    }

    /// Whether there is something that was not asked for yet.
    #[inline]
    pub(crate) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Asks for what was collected. `of_delegate` does so for what a delegate has prepared.
    ///
    /// # Errors
    /// If the device failed. Some of it may have been asked for then, and nothing will be any more.
    pub(crate) fn flush(&mut self, of_delegate: &mut OfDelegate<'_>) -> Result<()> {
        if self.tasks.is_empty() {
            return Ok(());
        }
        let mut tasks = std::mem::take(&mut self.tasks);
        self.delegates.fill(false);
        self.unasked.clear();
        // Apart while the rest changes.
        let mut timed = self.timed.take();
        let asked = self.ask_for(&tasks, of_delegate, timed.as_deref_mut());
        self.timed = timed;
        tasks.clear();
        self.tasks = tasks;
        asked
    }

    fn ask_for(
        &mut self,
        tasks: &[Task],
        of_delegate: &mut OfDelegate<'_>,
        mut timed: Option<&mut Timed>,
    ) -> Result<()> {
        let stream = self.stream();
        let device = self.device.clone();
        let trace = timed.as_deref().map(Timed::trace);
        let tracer = Tracer::new(trace.as_ref());
        let instructions = timed.as_deref_mut().map(Timed::take_put_off);
        let mut asking = Asking {
            device: &*device,
            tasks,
            instructions: instructions.as_deref().unwrap_or_default(),
            stream,
            of_delegate,
        };
        if self.recorded {
            asking.one_by_one(DelegateTask::Record, None)?;
            return asking.asked();
        }
        let (choice, forgotten) = self.graphs.choose(tasks);
        if let Some(graph) = forgotten {
            let _span = timed.as_deref().map(|timed| timed.wait(tracer, Why::Graph));
            // The stream comes after all launches that there were.
            match self.device.synchronize(stream) {
                Ok(()) => drop(graph),
                // What fails once may work the second time; a device that is lost does nothing.
                Err(error) => {
                    let _ = self.device.synchronize(stream);
                    drop(graph);
                    return Err(error);
                }
            }
        }
        match choice {
            Choice::Ask => asking.ask(timed)?,
            Choice::Launch(index) => self.launch(index, &asking, timed)?,
            Choice::Record(index) => {
                let span = tracer.begin(Category::Graph, "record a graph");
                let recorded = self.device.record(stream, &mut || {
                    asking.one_by_one(DelegateTask::Record, None)
                });
                if let Err(error) = &recorded
                    && tracer.is_on()
                {
                    span.note("error", error.to_string());
                }
                drop(span);
                match recorded {
                    Ok(Some(graph)) => {
                        self.graphs.keep(index, graph);
                        self.launch(index, &asking, timed)?;
                    }
                    Ok(None) => {
                        self.graphs.later(index);
                        asking.ask(timed)?;
                    }
                    Err(error) if self.graph_use == GraphUse::On => return Err(no_graph(error)),
                    Err(error) => {
                        self.graphs.never(index);
                        if !std::mem::replace(&mut self.warned, true) {
                            tracing::warn!("work is not launched as a graph: {error}");
                        }
                        asking.ask(timed)?;
                    }
                }
            }
        }
        asking.asked()
    }

    fn launch(
        &self,
        index: usize,
        asking: &Asking<'_, '_>,
        timed: Option<&mut Timed>,
    ) -> Result<()> {
        let Some(graph) = self.graphs.graph(index) else {
            bail!(Internal, "a graph that is gone");
        };
        let launch = || {
            // SAFETY: it was recorded from the very tasks that are asked for now, whose memory is
            // valid as these need it, and the instance waits before any of it goes.
            unsafe { graph.launch(asking.stream) }
        };
        let Some(timed) = timed else {
            return launch();
        };
        let (trace, contents) = (timed.trace(), asking.contents(timed));
        let span = trace.tracer().begin(Category::Graph, "launch a graph");
        for (key, note) in &contents {
            span.note(key, note.clone());
        }
        timed.begin_graph(contents);
        let launched = launch();
        timed.end();
        launched
    }

    /// Remembers that a copy on the stream uses host memory.
    pub(crate) fn add_pending(&mut self, storage: StorageId, range: Range<usize>, by_device: Use) {
        if self.collects {
            self.unasked.add(storage, range.clone(), by_device);
        }
        self.pending.add(storage, range, by_device);
    }

    /// Remembers that a copy on the stream reads memory that the caller has lent.
    pub(crate) fn reads_callers(&mut self) {
        self.reads_callers = true;
    }

    /// Waits if the host cannot use a range yet, once for all that is pending.
    #[inline]
    pub(crate) fn before_host(
        &mut self,
        storage: StorageId,
        range: &Range<usize>,
        by_host: Use,
    ) -> Result<()> {
        if self.pending.is_empty() || !self.pending.conflicts(storage, range, by_host) {
            return Ok(());
        }
        if self.unasked.conflicts(storage, range, by_host) {
            bail!(
                Internal,
                "something waits for a copy that was not asked for yet"
            );
        }
        self.wait(match by_host {
            Use::Read => Why::Reads(range.len()),
            Use::Write => Why::Writes(range.len()),
        })
    }

    /// Whether the host would have to wait before it uses a range.
    pub(crate) fn conflicts(&self, storage: StorageId, range: &Range<usize>, by_host: Use) -> bool {
        self.pending.conflicts(storage, range, by_host)
    }

    /// Whether copies still use host memory.
    #[inline]
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Ends a call: whatever it left in flight can be waited for from now on. If that cannot be
    /// remembered, the call waits here.
    ///
    /// `state`: what others may use of it on the device can be waited for by them, too.
    pub(crate) fn end(&mut self, state: Option<&State>) -> Result<()> {
        // The caller may write to what it has lent as soon as the call is over.
        let returned = if self.reads_callers && !omitted(Rule::LentUntilCopied) {
            self.wait(Why::Lent)
                .or_else(|error| self.wait(Why::Lent).and(Err(error)))
        } else {
            Ok(())
        };
        self.reads_callers = false;
        let recorded = self.record_end(state);
        self.timed = None;
        returned.and(recorded)
    }

    fn record_end(&mut self, state: Option<&State>) -> Result<()> {
        if self.recorded && !omitted(Rule::NoEndInRecording) {
            // When it runs, and what comes after it, is the caller's to say.
            self.used = false;
            return Ok(());
        }
        if !std::mem::take(&mut self.used) || omitted(Rule::RecordEnd) {
            return Ok(());
        }
        self.in_flight = true;
        let recorded = self.end.record(&*self.device, self.stream);
        match &recorded {
            Ok(()) => {
                if let Some(state) = state {
                    state.end(self.id, &self.end);
                }
            }
            // The error is the call's, in any case. What fails once may work the second time; a device
            // that cannot be waited for either is lost, and does nothing any more.
            Err(_) => {
                if !omitted(Rule::DrainWithoutRecord) {
                    let wait = || self.device.synchronize(self.stream);
                    let _ = wait().or_else(|_| wait());
                }
                self.in_flight = false;
                self.pending.clear();
            }
        }
        recorded
    }

    /// Waits, on the host, for all that this call and calls before have asked for.
    fn wait(&mut self, why: Why) -> Result<()> {
        ensure!(
            !self.recorded,
            Unsupported,
            "the caller records the stream of this call, which would have to wait for what it has asked \
             for there"
        );
        let trace = self.timed.as_deref().map(Timed::trace);
        let _span = self
            .timed
            .as_deref()
            .map(|timed| timed.wait(Tracer::new(trace.as_ref()), why));
        if self.used {
            // The stream waits for the calls before, so this waits for them, too.
            self.device.synchronize(self.stream)?;
            if let Some(timed) = self.timed.as_deref_mut() {
                timed.waited();
            }
        } else if self.in_flight {
            self.end.wait()?;
        }
        self.used = false;
        self.in_flight = false;
        self.reads_callers = false;
        self.pending.clone_from(&self.unasked);
        Ok(())
    }
}

#[cold]
fn no_graph(error: Error) -> Error {
    let message = format!("no graph of the call's work: {}", error.message());
    Error::new(error.kind(), message).with_source(error)
}

impl Drop for DeviceState {
    /// The instance's memory goes next, and nothing may use it any more.
    fn drop(&mut self) {
        // What fails once may work the second time. A device that cannot be waited for is lost, and does
        // nothing any more.
        if self.used {
            // Only a panic comes here in the middle of a call.
            let wait = || self.device.synchronize(self.stream);
            let _ = wait().or_else(|_| wait());
        } else if self.in_flight && !omitted(Rule::DropAfterUse) {
            let _ = self.end.wait().or_else(|_| self.end.wait());
        }
    }
}
