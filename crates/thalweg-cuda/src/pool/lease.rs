//! Memory of a pool for a while, whatever enqueues what uses it.

use std::sync::Arc;
use std::thread;

use thalweg_core::{Error, Result};

use super::Pool;
use crate::buffer::DeviceBuffer;
use crate::captured::CaptureState;
use crate::order::{Access, Mark, Operand, Place, Tenant, next_number};
use crate::stream::{CaptureStatus, Stream};
use crate::work::{drain, record};

/// Memory of a [`Pool`] that one stream has until [`Lease::end`].
///
/// It is for code that enqueues by itself and at several times, so that no [`Work`](crate::Work) can be
/// about it: that code is given the address, and stays on the stream that the lease was taken for. The
/// stream has waited for whoever used the memory before, and whoever uses it next waits for the end of
/// the lease. That is one event, whatever the number of uses, and none if the host knows that all of them
/// are over.
///
/// A lease that is dropped without an end is never freed, since nobody knows when it could be.
///
/// # Captures
/// On a stream that a caller captures, the memory becomes the graph's, as that of `Work` does.
pub struct Lease {
    buffer: DeviceBuffer,
    /// Its use's number among those of works.
    number: u64,
    capture: Option<Arc<CaptureState>>,
}

impl Tenant {
    /// A call on a stream, which comes after another call of which it is the continuation, and where the
    /// memory of that one was.
    ///
    /// # Errors
    /// If it is the default stream of another thread.
    pub fn new(call: u64, stream: &Stream, last: Option<(u64, u64)>) -> Result<Self> {
        Ok(Self {
            place: Place {
                call,
                stream: stream.raw()?.addr(),
                thread: thread::current().id(),
            },
            last_call: last.map(|(call, _)| call),
            wish: last.map(|(_, address)| address),
        })
    }
}

impl Pool {
    /// Takes memory for what is enqueued on a stream from now on, with arbitrary values at first: memory
    /// that the tenant's stream need not wait for, if there can be such.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](thalweg_core::ErrorKind::OutOfMemory) if memory is out, and if the driver
    /// refuses the wait.
    pub fn lease(&self, stream: &Stream, len: usize, tenant: &Tenant) -> Result<Lease> {
        let capture = match stream.capture_status()? {
            CaptureStatus::None => None,
            _ => Some(CaptureState::of_stream(stream)?),
        };
        let buffer = self.take(stream, len, Some(tenant))?;
        let lease = Lease {
            buffer,
            number: next_number(),
            capture,
        };
        let mut waits = Vec::new();
        let uses = lease.buffer.block().uses();
        uses.open(lease.number, stream.id(), Access::Write, &mut waits)?;
        uses.set_tenant(tenant);
        let waited = waits.iter().try_for_each(|event| match lease.capture {
            // A graph cannot wait for what is not in it, and its launches may be the caller's to order.
            Some(_) => event.synchronize(),
            // If the stream does not wait, the host can; after that, the order is right as well.
            None => stream
                .wait_handle(event)
                .or_else(|error| event.synchronize().map_err(|_| error)),
        });
        if let Err(error) = waited {
            // Nothing has used it.
            uses.close(lease.number, None);
            return Err(error);
        }
        Ok(lease)
    }
}

impl Lease {
    /// Where the memory is.
    pub fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Gives the memory back, which is in use until all is over that is on the stream so far: the one that
    /// it was taken for.
    ///
    /// # Errors
    /// If that cannot be recorded. The stream was drained then, or, if the driver did not let it be, the
    /// memory is never freed.
    pub fn end(self, stream: &Stream) -> Result<()> {
        if self.capture.is_some() {
            self.give_to_graph();
            return Ok(());
        }
        let block = self.buffer.block();
        match record(stream) {
            Ok(event) => {
                let stream = stream.id();
                let mark = Mark { stream, event };
                block.uses().close(self.number, Some(&mark));
                Ok(())
            }
            Err(error) => {
                if drain(stream) {
                    self.end_over();
                    return Err(error);
                }
                let message = format!("{}; what it used is never freed", error.message());
                Err(Error::new(error.kind(), message).with_source(error))
            }
        }
    }

    /// Gives the memory back, of which the host knows that nothing uses it any more.
    pub fn end_over(self) {
        // What is captured has not even begun.
        if self.capture.is_some() {
            return self.give_to_graph();
        }
        self.buffer.block().uses().close_over(self.number);
    }

    fn give_to_graph(self) {
        let block = self.buffer.block();
        block.uses().close(self.number, None);
        if let Some(capture) = &self.capture {
            let operand: Arc<dyn Operand> = block.clone();
            capture.add([(operand, Access::Write)].into_iter(), Vec::new());
        }
    }
}
