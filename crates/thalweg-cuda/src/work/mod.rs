//! Work: what is enqueued on a stream between its begin and its end.

mod copies;
mod host_function;

use std::sync::Arc;

use thalweg_core::{Result, bail};

use crate::buffer::{DeviceBuffer, PinnedBuffer};
use crate::captured::CaptureState;
use crate::event::Event;
use crate::handle::capture::drop_left_behind;
use crate::handle::{Context, Entered, EventHandle, RelaxedCapture};
use crate::in_flight::InFlight;
use crate::mutation::{Rule, disabled};
use crate::order::{Access, Mark, Operand, Uses, next_number};
use crate::stream::{CaptureStatus, Stream};

/// Work that is being enqueued on a stream.
///
/// Copies, kernels and graphs are enqueued by methods of this; so is work of other libraries, by
/// giving them [`Stream::raw`] and naming the buffers ([`Work::reads`], [`Work::writes`]). Before a
/// buffer's first use here, the stream is made to wait for what other streams do with it.
/// [`Work::finish`] records one event that stands for all of it, and every buffer knows that event
/// afterwards. So one event a call is all that order costs.
///
/// Whatever way the value goes out of scope, nothing is left on the device that nobody knows of:
/// dropping it without [`Work::finish`], as on an error, records the event, too. If the driver
/// refuses that, the stream is drained; if it refuses even that, the buffers are never freed, and
/// the host is kept away from them.
///
/// While the value lives, its device is current on this thread.
///
/// # Captures
/// On a stream that is being captured, nothing runs: the work becomes part of a graph. Buffers and
/// what is [kept](Work::keep) then stay alive as long as the graph, and each
/// [launch](crate::GraphExec::launch) takes its turn with the buffers. If the capture is the
/// caller's own, it is the caller who orders the launches of the graph.
pub struct Work<'s> {
    stream: &'s Stream,
    number: u64,
    touched: Vec<Touched>,
    waits: Vec<Arc<EventHandle>>,
    kept: Vec<Box<dyn Send>>,
    capture: Option<Arc<CaptureState>>,
    /// Last, so that everything else is dropped in the device's context.
    _entered: Entered<'s>,
}

struct Touched {
    uses: Uses,
    access: Access,
    /// Keeps the memory alive; `None` if a pool has it back.
    operand: Option<Arc<dyn Operand>>,
}

/// The end of work.
pub(crate) enum Settled {
    /// It is complete after the event.
    After(Arc<EventHandle>),
    /// It belongs to a graph.
    Captured(Arc<CaptureState>),
}

impl<'s> Work<'s> {
    /// Begins to enqueue work on a stream.
    ///
    /// # Errors
    /// If the device's context is lost, if the stream is the default stream of another thread, or
    /// if the stream's capture has failed.
    pub fn on(stream: &'s Stream) -> Result<Self> {
        let context = stream.context();
        drop_left_behind();
        let entered = context.enter()?;
        let capture = match stream.capture_status()? {
            CaptureStatus::None => None,
            CaptureStatus::Active => Some(CaptureState::of_stream(stream)?),
            CaptureStatus::Invalidated => bail!(
                Device,
                "the stream is in a capture that has failed; it must be ended first"
            ),
        };
        Ok(Self {
            stream,
            number: next_number(),
            touched: Vec::new(),
            waits: Vec::new(),
            kept: Vec::new(),
            capture,
            _entered: entered,
        })
    }

    /// The stream.
    pub fn stream(&self) -> &'s Stream {
        self.stream
    }

    /// True if this becomes a part of a graph.
    pub fn is_captured(&self) -> bool {
        self.capture.is_some()
    }

    /// Says that work that other code enqueues from now on reads a buffer.
    ///
    /// # Errors
    /// If unfinished work on another stream writes it, or the driver refuses the wait.
    pub fn reads(&mut self, buffer: &DeviceBuffer) -> Result<()> {
        self.touch(buffer.block(), Access::Read)
    }

    /// Says that work that other code enqueues from now on writes (and perhaps reads) a buffer.
    ///
    /// # Errors
    /// If unfinished work on another stream uses it, or the driver refuses the wait.
    pub fn writes(&mut self, buffer: &DeviceBuffer) -> Result<()> {
        self.touch(buffer.block(), Access::Write)
    }

    /// As [`Work::reads`], for pinned memory.
    ///
    /// # Errors
    /// As there, and if the host holds the bytes to write.
    pub fn reads_pinned(&mut self, buffer: &PinnedBuffer) -> Result<()> {
        self.touch(buffer.block(), Access::Read)
    }

    /// As [`Work::writes`], for pinned memory.
    ///
    /// # Errors
    /// As there, and if the host holds the bytes.
    pub fn writes_pinned(&mut self, buffer: &PinnedBuffer) -> Result<()> {
        self.touch(buffer.block(), Access::Write)
    }

    /// Keeps something until the work is complete (or, in a capture, as long as the graph).
    pub fn keep(&mut self, thing: impl Send + 'static) {
        self.kept.push(Box::new(thing));
    }

    /// Makes what follows wait for an event.
    ///
    /// # Errors
    /// As [`Stream::wait`].
    pub fn wait(&mut self, event: &Event) -> Result<()> {
        self.stream.wait(event)
    }

    /// Ends the work.
    ///
    /// # Errors
    /// If its end could not be recorded. The stream was drained then, if the driver let it be.
    pub fn finish(self) -> Result<InFlight<()>> {
        self.finish_with(())
    }

    /// Ends the work, and keeps something until it is complete.
    ///
    /// # Errors
    /// As [`Work::finish`]. What was to be kept is dropped if the stream was drained, and leaked
    /// if not. In a capture it belongs to the graph from then on, and the error says that it
    /// cannot be given back.
    pub fn finish_with<T: Send + 'static>(mut self, keep: T) -> Result<InFlight<T>> {
        let context = self.stream.context().clone();
        match self.settle() {
            Ok(Settled::After(event)) => {
                let kept = std::mem::take(&mut self.kept);
                Ok(InFlight::new(context, event, kept, keep))
            }
            Ok(Settled::Captured(capture)) => {
                if !std::mem::needs_drop::<T>() {
                    return Ok(InFlight::over(context, keep));
                }
                capture.keep(Box::new(keep));
                bail!(
                    Unsupported,
                    "work in a capture keeps things as long as the graph, and never gives them back"
                )
            }
            Err((error, drained)) => {
                if !drained {
                    std::mem::forget(keep);
                }
                Err(error)
            }
        }
    }

    /// Opens a use of memory.
    pub(crate) fn touch<O: Operand + 'static>(
        &mut self,
        operand: &Arc<O>,
        access: Access,
    ) -> Result<()> {
        let operand: Arc<dyn Operand> = operand.clone();
        self.touch_any(&operand, access)
    }

    pub(crate) fn touch_any(&mut self, operand: &Arc<dyn Operand>, access: Access) -> Result<()> {
        let mut waits = std::mem::take(&mut self.waits);
        let opened = operand
            .uses()
            .open(self.number, self.stream.id(), access, |event| {
                waits.push(event.clone());
            });
        if opened.is_ok() {
            match self
                .touched
                .iter_mut()
                .find(|touched| touched.uses.are(operand.uses()))
            {
                Some(touched) => {
                    if access == Access::Write {
                        touched.access = access;
                    }
                    // A pool may have lent the memory again.
                    touched.operand.get_or_insert_with(|| operand.clone());
                }
                None => self.touched.push(Touched {
                    uses: operand.uses().clone(),
                    access,
                    operand: Some(operand.clone()),
                }),
            }
        }
        // In a capture nothing is ordered yet: each launch of the graph is.
        let waited = if self.capture.is_none() {
            waits.iter().try_for_each(|event| self.wait_for(event))
        } else {
            Ok(())
        };
        waits.clear();
        self.waits = waits;
        opened.and(waited)
    }

    fn wait_for(&self, event: &EventHandle) -> Result<()> {
        // If the stream does not wait, the host can; after that, the order is right as well.
        self.stream
            .wait_handle(event)
            .or_else(|error| event.synchronize().map_err(|_| error))
    }

    /// Gives all uses their end.
    ///
    /// On an error, says whether the stream was drained.
    fn settle(&mut self) -> Result<Settled, (thalweg_core::Error, bool)> {
        let touched = std::mem::take(&mut self.touched);
        if let Some(capture) = &self.capture {
            for touched in &touched {
                touched.uses.close(self.number, None);
            }
            let operands = touched
                .into_iter()
                .filter_map(|touched| Some((touched.operand?, touched.access)));
            capture.add(operands, std::mem::take(&mut self.kept));
            return Ok(Settled::Captured(capture.clone()));
        }
        match record(self.stream) {
            Ok(event) => {
                let mark = Mark {
                    stream: self.stream.id(),
                    event,
                };
                for touched in &touched {
                    touched.uses.close(self.number, Some(&mark));
                }
                Ok(Settled::After(mark.event))
            }
            Err(error) => {
                let drained = drain(self.stream);
                if drained {
                    for touched in &touched {
                        touched.uses.close(self.number, None);
                    }
                } else {
                    // The uses stay open, so that the memory is neither freed nor touched.
                    std::mem::forget(std::mem::take(&mut self.kept));
                }
                Err((error, drained))
            }
        }
    }

    /// Gives the use of one operand its end, while the work goes on.
    pub(crate) fn settle_one<O: Operand + 'static>(&mut self, operand: &Arc<O>) -> Result<()> {
        if self.capture.is_some() {
            return Ok(());
        }
        let event = record(self.stream)?;
        let mark = Mark {
            stream: self.stream.id(),
            event,
        };
        operand.uses().close(self.number, Some(&mark));
        self.touched
            .retain(|touched| !touched.uses.are(operand.uses()));
        Ok(())
    }

    /// Stops keeping an operand alive, though its use goes on.
    pub(crate) fn let_go(&mut self, uses: &Uses) {
        let mut touched = self.touched.iter_mut();
        if let Some(touched) = touched.find(|touched| touched.uses.are(uses)) {
            touched.operand = None;
        }
    }

    pub(crate) fn capture(&self) -> Option<&Arc<CaptureState>> {
        self.capture.as_ref()
    }

    pub(crate) fn context(&self) -> &'s Arc<Context> {
        self.stream.context()
    }
}

/// An event that stands for everything on the stream so far.
pub(crate) fn record(stream: &Stream) -> Result<Arc<EventHandle>> {
    record_in(Arc::new(EventHandle::new(stream.context(), false)?), stream)
}

/// Lets an event of nobody else's stand for everything on the stream so far.
pub(crate) fn record_in(event: Arc<EventHandle>, stream: &Stream) -> Result<Arc<EventHandle>> {
    if !disabled(Rule::RecordEnd) {
        event.record(stream.handle())?;
    }
    Ok(event)
}

/// Waits on the host for a stream whose end could not be recorded. Nothing runs on a device whose
/// context is lost.
pub(crate) fn drain(stream: &Stream) -> bool {
    let _relaxed = RelaxedCapture::on_this_thread(stream.context());
    stream.synchronize().is_ok()
        || stream.context().lost().is_some()
        // What fails once may work the second time.
        || stream.synchronize().is_ok()
        || stream.context().lost().is_some()
}

impl Stream {
    /// Begins to enqueue work.
    ///
    /// # Errors
    /// See [`Work`].
    pub fn work(&self) -> Result<Work<'_>> {
        Work::on(self)
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if self.touched.is_empty() && self.kept.is_empty() {
            return;
        }
        match self.settle() {
            Ok(Settled::After(event)) => {
                let kept = std::mem::take(&mut self.kept);
                if !kept.is_empty() {
                    // Waits, then drops them.
                    drop(InFlight::new(
                        self.stream.context().clone(),
                        event,
                        kept,
                        (),
                    ));
                }
            }
            Ok(Settled::Captured(_)) => {}
            Err((error, true)) => tracing::debug!("work was drained: {error}"),
            Err((error, false)) => tracing::warn!("work was left behind: {error}"),
        }
    }
}
