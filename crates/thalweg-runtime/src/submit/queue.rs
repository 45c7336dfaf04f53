//! The queue of a device: the stream of a call, and what calls leave in flight.

use std::ops::Range;
use std::sync::Arc;

use thalweg_core::engine::StorageId;
use thalweg_core::{
    Access, Device, DeviceAddress, DeviceId, GraphKey, Result, StreamHandle, bail, ensure,
};

use super::batch::{Batch, Command};
use super::graphs::Graphs;
use super::in_flight::InFlightRanges;
use super::submission::OnDelegate;
use crate::completion::Completion;
use crate::end_event::EndEvent;
use crate::mutation::{Rule, disabled};
use crate::options::{GraphUse, RunOptions};
use crate::state::{State, StateGuard};
use crate::trace::{CommandTrace, CopyKind, InstructionNames, Trace, WaitReason};

/// One device, as a method instance uses it.
///
/// # Order
/// All work of a call on the device goes to one stream. That stream waits for what the call before
/// has left in flight; the host waits only where it has to access memory that a copy still uses.
///
/// # Batches
/// A call submits its commands at once, or, if graphs may be used, defers them until
/// [`flush`](DeviceQueue::flush); see [`graphs`](super::graphs). While there are deferred commands,
/// nothing may wait for them: whoever is about to wait flushes first.
pub(crate) struct DeviceQueue {
    pub(crate) device: Arc<dyn Device>,
    /// The device's, which is needed often.
    id: DeviceId,
    /// After the last work that the call before submitted, if it may still be in flight.
    end: EndEvent,
    in_flight: bool,
    stream: StreamHandle,
    /// True if work was submitted after that event.
    submitted: bool,
    /// True while a delegate has the stream, and may submit work at any time.
    lent: bool,
    /// True if copies still read memory that the caller has lent for the time of the call.
    reads_borrowed: bool,
    /// Host memory that copies of this call, or of calls before, still use.
    ranges: InFlightRanges,
    pub(super) mode: Mode,
    batch: Batch,
    pub(super) graphs: Graphs,
    /// True if a failed capture was logged.
    pub(super) warned: bool,
    /// The trace of the call's commands, if it is traced.
    traced: Option<Box<CommandTrace>>,
}

/// What becomes of the commands of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// They are submitted at once.
    Immediate,
    /// They may be deferred, and are then submitted in batches, which may become graphs.
    Batches(GraphUse),
    /// The caller captures the stream: they become a part of the caller's graph, and none of them runs
    /// before the call is over.
    Capture,
}

impl DeviceQueue {
    pub(crate) fn new(device: Arc<dyn Device>, copies: usize) -> Result<Self> {
        Ok(Self {
            end: EndEvent::new(&*device)?,
            stream: device.default_stream(),
            id: device.id(),
            device,
            in_flight: false,
            submitted: false,
            lent: false,
            reads_borrowed: false,
            ranges: InFlightRanges::with_capacity(copies),
            mode: Mode::Immediate,
            batch: Batch::default(),
            graphs: Graphs::default(),
            warned: false,
            traced: None,
        })
    }

    /// Chooses the stream of a call, which waits for what the call before left in flight.
    pub(crate) fn begin(&mut self, options: &RunOptions<'_>) -> Result<()> {
        self.stream = options
            .stream_on(self.id)
            .unwrap_or_else(|| self.device.default_stream());
        self.submitted = false;
        self.mode = match options.graph_use() {
            GraphUse::Off => Mode::Immediate,
            _ if !self.device.supports_graphs() => Mode::Immediate,
            graph_use => Mode::Batches(graph_use),
        };
        if self.device.is_capturing(self.stream)? {
            // A graph cannot wait for what is not in it.
            if !disabled(Rule::CaptureAfterCall) {
                self.wait(WaitReason::Capture)?;
            }
            for completion in options.after_on(self.id) {
                completion.wait()?;
            }
            self.mode = Mode::Capture;
            return Ok(());
        }
        for completion in options.after_on(self.id) {
            completion.before_stream(self.stream)?;
        }
        if self.in_flight && !disabled(Rule::CallAfterCall) {
            self.end.before(&*self.device, self.stream)?;
        }
        Ok(())
    }

    /// Makes the call wait for others that use the same state on the device.
    pub(crate) fn begin_after(&mut self, state: &State, turn: &StateGuard<'_>) -> Result<()> {
        match self.mode {
            Mode::Capture => state.wait(turn),
            _ => state.begin(&*self.device, self.stream),
        }
    }

    /// Traces the commands of the call, until it ends.
    pub(crate) fn trace(&mut self, trace: &Trace, names: &Arc<InstructionNames>) {
        let traced = CommandTrace::new(trace, names, &self.device, self.stream);
        self.traced = Some(Box::new(traced));
    }

    /// The trace of the call's commands, if it is traced.
    #[inline]
    pub(crate) fn traced(&mut self) -> Option<&mut CommandTrace> {
        self.traced.as_deref_mut()
    }

    /// The device's id.
    #[inline]
    pub(crate) fn id(&self) -> DeviceId {
        self.id
    }

    /// True if the caller captures the stream of the call.
    pub(crate) fn is_capture(&self) -> bool {
        self.mode == Mode::Capture
    }

    /// The stream of the call, to which work is about to be submitted.
    pub(crate) fn stream(&mut self) -> StreamHandle {
        self.submitted = true;
        self.stream
    }

    /// The stream of the call, for events, which use no memory.
    pub(crate) fn event_stream(&self) -> StreamHandle {
        self.stream
    }

    /// True if no work that was submitted may still be in flight.
    pub(crate) fn is_idle(&self) -> bool {
        !self.submitted && !self.lent && !self.in_flight
    }

    /// The completion of the last call on the device.
    ///
    /// # Errors
    /// If the caller has captured the call.
    pub(crate) fn completion(&self) -> Result<Completion> {
        ensure!(
            !self.is_capture(),
            InvalidOption,
            "the caller has captured the call, and knows when it runs"
        );
        let end = self.in_flight.then(|| self.end.clone());
        Ok(Completion::new(self.device.clone(), end))
    }

    /// The stream of the call, for a delegate.
    pub(crate) fn lend_stream(&mut self) -> StreamHandle {
        self.lent = true;
        // What it encodes is submitted later.
        if !self.batch.is_open
            && let Some(traced) = self.traced()
        {
            traced.begin_delegate();
        }
        self.stream()
    }

    /// Ends the time in which a delegate has the stream. A wait in between may have come before what it
    /// submitted.
    pub(crate) fn take_stream_back(&mut self) {
        self.submitted |= std::mem::take(&mut self.lent);
        if let Some(traced) = self.traced() {
            traced.end();
        }
    }

    /// True if commands of the call may be deferred.
    pub(crate) fn may_defer(&self) -> bool {
        self.mode != Mode::Immediate
    }

    /// From now on commands are deferred, or submitted at once. In that case there must be no deferred
    /// ones.
    pub(crate) fn defer(&mut self, defers: bool) {
        self.batch.is_open = defers;
    }

    /// True while commands are deferred.
    pub(crate) fn defers(&self) -> bool {
        self.batch.is_open
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
        if self.batch.is_open {
            let from = from.expose_provenance();
            self.add(Command::Upload { to, from, len });
            return Ok(());
        }
        let stream = self.begin_copy(CopyKind::Upload, len);
        // SAFETY: the caller's.
        let submitted = unsafe { self.device.upload(to, from, len, stream) };
        self.end_copy();
        submitted
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
        if self.batch.is_open {
            let to = to.expose_provenance();
            self.add(Command::Download { to, from, len });
            return Ok(());
        }
        let stream = self.begin_copy(CopyKind::Download, len);
        // SAFETY: the caller's.
        let submitted = unsafe { self.device.download(to, from, len, stream) };
        self.end_copy();
        submitted
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
        if self.batch.is_open {
            self.add(Command::Copy { to, from, len });
            return Ok(());
        }
        let stream = self.begin_copy(CopyKind::OnDevice, len);
        // SAFETY: the caller's.
        let submitted = unsafe { self.device.copy(to, from, len, stream) };
        self.end_copy();
        submitted
    }

    /// Defers what a delegate has encoded.
    pub(crate) fn add_delegate(&mut self, index: usize, key: GraphKey, instruction: usize) {
        self.batch.add_delegate(index, key, instruction);
        self.trace_deferred();
    }

    fn add(&mut self, command: Command) {
        self.batch.commands.push(command);
        self.trace_deferred();
    }

    fn trace_deferred(&mut self) {
        if let Some(traced) = self.traced() {
            traced.defer();
        }
    }

    fn begin_copy(&mut self, kind: CopyKind, len: usize) -> StreamHandle {
        if let Some(traced) = self.traced() {
            traced.begin_copy(kind, len);
        }
        self.stream()
    }

    fn end_copy(&mut self) {
        if let Some(traced) = self.traced() {
            traced.end();
        }
    }

    /// The number of deferred commands.
    pub(crate) fn deferred(&self) -> usize {
        self.batch.commands.len()
    }

    /// True if there are deferred commands.
    #[inline]
    pub(crate) fn has_deferred(&self) -> bool {
        !self.batch.commands.is_empty()
    }

    /// True if something that a delegate has encoded is deferred.
    pub(crate) fn has_deferred_delegate(&self, delegate: usize) -> bool {
        self.batch.has_delegate(delegate)
    }

    /// True if a deferred command uses host memory in a way that conflicts with an access of the host.
    pub(crate) fn deferred_conflicts(
        &self,
        storage: StorageId,
        range: &Range<usize>,
        access: Access,
    ) -> bool {
        self.batch.conflicts(storage, range, access)
    }

    /// Submits the deferred commands. `on_delegate` does so for what delegates have encoded.
    ///
    /// # Errors
    /// If the device failed. Some commands may have been submitted then, and the others never will.
    pub(crate) fn flush(&mut self, on_delegate: &mut OnDelegate<'_>) -> Result<()> {
        if !self.has_deferred() {
            return Ok(());
        }
        let commands = self.batch.take();
        // Apart while the rest changes.
        let mut traced = self.traced.take();
        let submitted = self.submit(&commands, on_delegate, traced.as_deref_mut());
        self.traced = traced;
        self.batch.recycle(commands);
        submitted
    }

    /// Remembers that a copy on the stream uses host memory.
    pub(crate) fn add_in_flight(
        &mut self,
        storage: StorageId,
        range: Range<usize>,
        access: Access,
    ) {
        if self.batch.is_open {
            self.batch.ranges.add(storage, range.clone(), access);
        }
        self.ranges.add(storage, range, access);
    }

    /// Remembers that a copy on the stream reads memory that the caller has lent.
    pub(crate) fn reads_borrowed(&mut self) {
        self.reads_borrowed = true;
    }

    /// Waits if the host cannot access a range yet, once for all that is in flight.
    #[inline]
    pub(crate) fn before_host(
        &mut self,
        storage: StorageId,
        range: &Range<usize>,
        access: Access,
    ) -> Result<()> {
        if self.ranges.is_empty() || !self.ranges.conflicts(storage, range, access) {
            return Ok(());
        }
        if self.batch.conflicts(storage, range, access) {
            bail!(Internal, "the host would wait for a deferred copy");
        }
        self.wait(match access {
            Access::Read => WaitReason::Read(range.len()),
            Access::Write => WaitReason::Write(range.len()),
        })
    }

    /// True if the host would have to wait before it accesses a range.
    pub(crate) fn conflicts(
        &self,
        storage: StorageId,
        range: &Range<usize>,
        access: Access,
    ) -> bool {
        self.ranges.conflicts(storage, range, access)
    }

    /// True if copies still use host memory.
    #[inline]
    pub(crate) fn has_in_flight(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Ends a call: whatever it left in flight can be waited for from now on. If the event cannot be
    /// recorded, the call waits here.
    ///
    /// `state`: other calls that use it on the device wait for this one.
    pub(crate) fn end(&mut self, state: Option<&State>) -> Result<()> {
        // The caller may write to what it has lent as soon as the call is over.
        let returned = if self.reads_borrowed && !disabled(Rule::BorrowedUntilCopied) {
            self.wait(WaitReason::Borrowed)
                .or_else(|error| self.wait(WaitReason::Borrowed).and(Err(error)))
        } else {
            Ok(())
        };
        self.reads_borrowed = false;
        let recorded = self.record_end(state);
        self.traced = None;
        returned.and(recorded)
    }

    fn record_end(&mut self, state: Option<&State>) -> Result<()> {
        if self.is_capture() && !disabled(Rule::NoEndInCapture) {
            // The caller knows when it runs, and what comes after it.
            self.submitted = false;
            return Ok(());
        }
        if !std::mem::take(&mut self.submitted) || disabled(Rule::RecordEnd) {
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
                if !disabled(Rule::DrainWithoutRecord) {
                    let wait = || self.device.synchronize(self.stream);
                    let _ = wait().or_else(|_| wait());
                }
                self.in_flight = false;
                self.ranges.clear();
            }
        }
        recorded
    }

    /// Waits, on the host, for all work that this call and calls before have submitted.
    fn wait(&mut self, reason: WaitReason) -> Result<()> {
        ensure!(
            !self.is_capture(),
            Unsupported,
            "the caller captures the stream of this call, which would have to wait for its own work \
             there"
        );
        let trace = self.traced.as_deref().map(CommandTrace::trace);
        let _span = self
            .traced
            .as_deref()
            .map(|traced| traced.wait(Trace::tracer_of(trace.as_ref()), reason));
        if self.submitted {
            // The stream waits for the calls before, so this waits for them, too.
            self.device.synchronize(self.stream)?;
            if let Some(traced) = self.traced.as_deref_mut() {
                traced.waited();
            }
        } else if self.in_flight {
            self.end.wait()?;
        }
        self.submitted = false;
        self.in_flight = false;
        self.reads_borrowed = false;
        self.ranges.clone_from(&self.batch.ranges);
        Ok(())
    }
}

impl Drop for DeviceQueue {
    /// The instance's memory goes next, and nothing may use it any more.
    fn drop(&mut self) {
        // What fails once may work the second time. A device that cannot be waited for is lost, and does
        // nothing any more.
        if self.submitted {
            // Only a panic comes here in the middle of a call.
            let wait = || self.device.synchronize(self.stream);
            let _ = wait().or_else(|_| wait());
        } else if self.in_flight && !disabled(Rule::DropAfterUse) {
            let _ = self.end.wait().or_else(|_| self.end.wait());
        }
    }
}
