//! The completion of a call on a device, for whoever waits for it.

use std::fmt;
use std::sync::Arc;

use thalweg_core::{CallerStream, Device, DeviceId, Result, StreamHandle, ensure};

use crate::end_event::EndEvent;
use crate::mutation::{Rule, disabled};

/// The completion of a call on a device.
///
/// A call that leaves outputs on a device returns before they are there. On the call's own stream
/// nothing has to be done about that: what is asked for there comes after the call. Everything else
/// that uses such an output goes on after its completion:
///
/// - another call, whatever its stream and its thread, with [`RunOptions::after`];
/// - work of the caller's own on another stream, with [`Completion::before`];
/// - the host, with [`Completion::wait`].
///
/// And as the method writes its outputs anew in its next call, that one goes on after the completion of
/// whoever still reads them.
///
/// Cheap to clone, and not bound to a thread. It outlives the method. After a later call of the same
/// method it stands for that call's end, which comes after this one.
///
/// [`RunOptions::after`]: crate::RunOptions::after
#[derive(Clone)]
pub struct Completion {
    device: Arc<dyn Device>,
    /// `None`, if nothing was left in flight.
    end: Option<EndEvent>,
}

impl Completion {
    pub(crate) fn new(device: Arc<dyn Device>, end: Option<EndEvent>) -> Self {
        Self { device, end }
    }

    /// The device that the work is on.
    pub fn device(&self) -> DeviceId {
        self.device.id()
    }

    /// Makes a stream of the same device go on after it. The host does not wait.
    ///
    /// # Errors
    /// If the stream is another device's, or the device failed.
    pub fn before(&self, stream: &dyn CallerStream) -> Result<()> {
        ensure!(
            stream.device() == self.device(),
            InvalidOption,
            "a stream of {} cannot go on after work on {}",
            stream.device(),
            self.device()
        );
        self.before_stream(stream.handle())
    }

    /// Waits for it on the host.
    ///
    /// # Errors
    /// If the device failed, perhaps at something earlier.
    pub fn wait(&self) -> Result<()> {
        match &self.end {
            Some(end) if !disabled(Rule::AfterCompletion) => end.wait(),
            _ => Ok(()),
        }
    }

    pub(crate) fn before_stream(&self, stream: StreamHandle) -> Result<()> {
        match &self.end {
            Some(end) if !disabled(Rule::AfterCompletion) => end.before(&*self.device, stream),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}
