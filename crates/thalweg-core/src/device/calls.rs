//! Devices over the life of a method instance: the stream of a call, and what calls leave behind.

use std::ops::Range;
use std::sync::Arc;

use super::{Device, Pending, Point, StreamHandle, Use};
use crate::memory::StorageId;
use crate::omit::{Rule, omitted};
use crate::{Result, RunOptions, State};

/// One device, as a method instance uses it.
///
/// # Order
/// All that a call does on the device goes to one stream. What the call before has left in flight
/// there is waited for by the stream, not by the host; the host waits only where it has to touch
/// memory that a copy still uses.
pub(crate) struct DeviceState {
    pub(crate) device: Arc<dyn Device>,
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
}

impl DeviceState {
    pub(crate) fn new(device: Arc<dyn Device>, copies: usize) -> Result<Self> {
        Ok(Self {
            end: Point::new(&*device)?,
            stream: device.default_stream(),
            device,
            in_flight: false,
            used: false,
            lent: false,
            reads_callers: false,
            pending: Pending::with_capacity(copies),
        })
    }

    /// Chooses the stream of a call, which goes on after what the call before left in flight.
    pub(crate) fn begin(&mut self, options: &RunOptions<'_>) -> Result<()> {
        self.stream = options
            .stream_on(self.device.id())
            .unwrap_or_else(|| self.device.default_stream());
        self.used = false;
        if self.in_flight && !omitted(Rule::CallAfterCall) {
            self.end.before(&*self.device, self.stream)?;
        }
        Ok(())
    }

    /// Makes the call go on after others that use the same state on the device.
    pub(crate) fn begin_after(&mut self, state: &State) -> Result<()> {
        state.begin(&*self.device, self.stream)
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

    /// The stream of the call, for a delegate.
    pub(crate) fn lend_stream(&mut self) -> StreamHandle {
        self.lent = true;
        self.stream()
    }

    /// A delegate that was given the stream is done with asking. A wait in between may have come
    /// before what it asked for.
    pub(crate) fn take_stream_back(&mut self) {
        self.used |= std::mem::take(&mut self.lent);
    }

    /// Remembers that a copy on the stream uses host memory.
    pub(crate) fn add_pending(&mut self, storage: StorageId, range: Range<usize>, by_device: Use) {
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
        self.wait()
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
            self.wait().or_else(|error| self.wait().and(Err(error)))
        } else {
            Ok(())
        };
        self.reads_callers = false;
        returned.and(self.record_end(state))
    }

    fn record_end(&mut self, state: Option<&State>) -> Result<()> {
        if !std::mem::take(&mut self.used) || omitted(Rule::RecordEnd) {
            return Ok(());
        }
        self.in_flight = true;
        let recorded = self.end.record(&*self.device, self.stream);
        match &recorded {
            Ok(()) => {
                if let Some(state) = state {
                    state.end(self.device.id(), &self.end);
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
    fn wait(&mut self) -> Result<()> {
        if self.used {
            // The stream waits for the calls before, so this waits for them, too.
            self.device.synchronize(self.stream)?;
        } else if self.in_flight {
            self.end.wait()?;
        }
        self.used = false;
        self.in_flight = false;
        self.reads_callers = false;
        self.pending.clear();
        Ok(())
    }
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
