//! Work in flight.

use std::sync::Arc;

use thalweg_core::{Error, Result};

use crate::event::Event;
use crate::handle::{Context, EventHandle};
use crate::mutation::{Rule, disabled};
use crate::stream::Stream;

/// Work in flight, with what must stay until it is complete.
///
/// Whoever wants to use that again makes its stream wait ([`InFlight::continue_on`]) where that
/// suffices; whoever wants to change or drop it waits on the host ([`InFlight::wait`]). Dropping
/// this waits on the host, too; if the driver does not even let it wait, what is kept is leaked.
pub struct InFlight<T> {
    context: Arc<Context>,
    /// `None` if the work is known to be complete, or belongs to a graph.
    event: Option<Arc<EventHandle>>,
    kept: Vec<Box<dyn Send>>,
    value: Option<T>,
}

impl<T> InFlight<T> {
    pub(crate) fn new(
        context: Arc<Context>,
        event: Arc<EventHandle>,
        kept: Vec<Box<dyn Send>>,
        value: T,
    ) -> Self {
        Self {
            context,
            event: Some(event),
            kept,
            value: Some(value),
        }
    }

    /// A token of no work.
    pub(crate) fn over(context: Arc<Context>, value: T) -> Self {
        Self {
            context,
            event: None,
            kept: Vec::new(),
            value: Some(value),
        }
    }

    /// The event that stands for the end of the work, for other streams and threads to wait for.
    /// `None` if the work was captured, or is known to be complete.
    pub fn event(&self) -> Option<Event> {
        self.event.as_ref().map(Event::of_handle)
    }

    /// True if the work is complete.
    ///
    /// # Errors
    /// If work on the device has failed.
    pub fn is_done(&self) -> Result<bool> {
        self.event.as_ref().map_or(Ok(true), |event| event.query())
    }

    /// Waits on the host until the work is complete.
    ///
    /// # Errors
    /// If work on the device has failed.
    pub fn synchronize(&self) -> Result<()> {
        self.event
            .as_ref()
            .map_or(Ok(()), |event| event.synchronize())
    }

    /// Makes what comes later on a stream wait for the work.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn wait_on(&self, stream: &Stream) -> Result<()> {
        self.event
            .as_ref()
            .map_or(Ok(()), |event| stream.wait_handle(event))
    }

    /// Gives what is kept to work that follows on a stream, which waits for this work first. It
    /// must be kept again by a token of that work.
    ///
    /// # Errors
    /// If the driver refuses the wait. The token is given back as it was.
    pub fn continue_on(mut self, stream: &Stream) -> Result<T, (Error, Self)> {
        if let Err(error) = self.wait_on(stream) {
            return Err((error, self));
        }
        match self.value.take() {
            Some(value) => {
                // What else is kept has no later user.
                if self.kept.is_empty() {
                    self.event = None;
                }
                Ok(value)
            }
            None => unreachable!("there, until it is dropped"),
        }
    }

    /// Waits on the host until the work is complete, and gives back what is kept.
    ///
    /// # Errors
    /// If work on the device has failed. The token is given back as it was.
    pub fn wait(mut self) -> Result<T, (Error, Self)> {
        if let Err(error) = self.synchronize() {
            return Err((error, self));
        }
        self.event = None;
        match self.value.take() {
            Some(value) => Ok(value),
            None => unreachable!("there, until it is dropped"),
        }
    }

    /// The value that is kept, to look at.
    pub fn get(&self) -> &T {
        match &self.value {
            Some(value) => value,
            None => unreachable!("there, until it is dropped"),
        }
    }
}

impl<T> Drop for InFlight<T> {
    fn drop(&mut self) {
        let Some(event) = self.event.take() else {
            return;
        };
        if (self.value.is_none() || !std::mem::needs_drop::<T>()) && self.kept.is_empty() {
            return;
        }
        let over = disabled(Rule::DropAfterWork)
            || event.synchronize().is_ok()
            // What fails once may work the second time. Nothing runs in a lost context.
            || event.synchronize().is_ok()
            || self.context.lost().is_some();
        if !over {
            tracing::warn!("what work in flight uses is never freed");
            std::mem::forget(self.value.take());
            std::mem::forget(std::mem::take(&mut self.kept));
        }
    }
}

impl Stream {
    /// Makes what comes later on this stream wait for work that is in flight.
    ///
    /// # Errors
    /// As [`Stream::wait`].
    pub fn wait_for<T>(&self, token: &InFlight<T>) -> Result<()> {
        token.wait_on(self)
    }
}
