//! Leases: memory of a pool for code that enqueues by itself.

use std::sync::Arc;
use std::thread;

use thalweg_core::{Error, Result};

use super::Pool;
use super::block::Block;
use super::request::Request;
use super::shelf::{Shelf, Taken};
use super::sizes::Sizes;
use super::state::Loan;
use crate::captured::CaptureState;
use crate::handle::{EventHandle, StreamId};
use crate::memory::{DeviceBlock, Home};
use crate::mutation::{Rule, disabled};
use crate::order::{Access, Mark, Operand, Place, Tenant, next_number};
use crate::stream::{CaptureStatus, Stream};
use crate::work::{drain, record, record_in};

/// Memory of a [`Pool`] that one stream has until [`Lease::end`].
///
/// It is for code that enqueues by itself and at several times, so that no [`Work`](crate::Work) can be
/// about it: that code is given the address, and stays on the stream that the lease was taken for. The
/// stream has waited for whoever used the memory before, and whoever uses it next waits for the end of
/// the lease. That is one event, whatever the number of uses, and none if the host knows that all of them
/// are complete.
///
/// A lease that is dropped without an end is never freed, since nobody knows when it could be.
///
/// # Captures
/// On a stream that a caller captures, the memory becomes the graph's, as that of `Work` does; a pool of
/// [shared scratch](Pool::of_scratch) refuses such a stream.
pub struct Lease {
    shelf: Arc<Shelf>,
    /// There, until the end.
    block: Option<Block>,
    address: u64,
    len: usize,
    /// Its use's number among those of works.
    number: u64,
    loan: Loan,
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
    /// Takes memory until a call ends, for what is enqueued on a stream from now on, with arbitrary values
    /// at first: memory that the tenant's stream need not wait for, if there can be such.
    ///
    /// # Errors
    /// As [`Pool::lease_for`].
    pub fn lease(&self, stream: &Stream, len: usize, tenant: &Tenant) -> Result<Lease> {
        self.lease_for(stream, &Request::new(len, tenant))
    }

    /// As [`Pool::lease`]; at a limit until something was enqueued, if the request cannot have it for
    /// longer ([`Lease::lasts`]). Then the host may have to wait for others that have such a lease: whoever
    /// has one ends it before it waits for anything.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](thalweg_core::ErrorKind::OutOfMemory) if memory is out, and if the driver
    /// refuses the wait.
    pub fn lease_for(&self, stream: &Stream, request: &Request<'_>) -> Result<Lease> {
        let capture = self.capture_of(stream)?;
        let id = self.id_of(stream);
        let taken = self.shelf.take(stream, id, request)?;
        self.hand_out(taken, stream, id, request, capture)
    }

    /// Replaces a lease by a larger one. What has been enqueued in it is on the same stream, in whose order
    /// its memory is freed.
    ///
    /// # Errors
    /// As [`Pool::lease_for`], with the lease if it is still there.
    pub fn grow(
        &self,
        mut lease: Lease,
        stream: &Stream,
        request: &Request<'_>,
    ) -> Result<Lease, (Error, Option<Lease>)> {
        if let Err(error) = self.shelf.check_capture(stream) {
            return Err((error, Some(lease)));
        }
        let Some(block) = lease.block.take() else {
            unreachable!("there, until the end");
        };
        // What it was used for comes before whatever is next on the stream.
        block.uses.close(lease.number, None);
        let loan = lease.loan;
        let replaced = self.shelf.replace(block, stream, request);
        let block = replaced.map_err(|error| {
            self.shelf.end_loan(loan);
            (error, None)
        })?;
        let (taken, capture) = (Taken::new(block, loan), lease.capture.take());
        self.hand_out(taken, stream, stream.id(), request, capture)
            .map_err(|error| (error, None))
    }

    /// The capture that a stream is in, where its graph can have memory of the pool.
    fn capture_of(&self, stream: &Stream) -> Result<Option<Arc<CaptureState>>> {
        match self.shelf.policy().sizes {
            Sizes::Classes if stream.capture_status()? != CaptureStatus::None => {
                CaptureState::of_stream(stream).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The identity of a stream. Of shared scratch only events say when a use is complete: for a caller
    /// with many streams, no two uses are on the same one.
    fn id_of(&self, stream: &Stream) -> StreamId {
        match self.shelf.policy().sizes {
            Sizes::Classes => stream.id(),
            Sizes::Largest => StreamId::new(self.device().ordinal(), true),
        }
    }

    /// Opens the use of a block, and makes the stream wait for the uses before.
    fn hand_out(
        &self,
        taken: Taken,
        stream: &Stream,
        id: StreamId,
        request: &Request<'_>,
        capture: Option<Arc<CaptureState>>,
    ) -> Result<Lease> {
        let Taken {
            block,
            loan,
            is_hit,
            is_new,
        } = taken;
        let lease = Lease {
            shelf: self.shelf.clone(),
            address: block.memory.address(),
            len: match self.shelf.policy().sizes {
                Sizes::Classes => request.len,
                Sizes::Largest => block.len(),
            },
            number: next_number(),
            loan,
            capture,
            block: Some(block),
        };
        // It is allocated in the order of this stream.
        let id = if is_new { stream.id() } else { id };
        let mut waits = Waits::default();
        if let Some(block) = &lease.block {
            let opened = block
                .uses
                .open(lease.number, id, Access::Write, |event| waits.add(event));
            if let Err(error) = opened {
                lease.put();
                return Err(error);
            }
            if let Some(tenant) = request.tenant {
                block.uses.set_tenant(tenant);
            }
        }
        let waited = match waits.first.is_none() && !is_new {
            // Without a wait that the driver refuses, it must be asked.
            true => self.shelf.check_capture(stream),
            false => self.wait_for(waits, stream, lease.capture.is_some()),
        };
        if let Err(error) = waited {
            // Nothing has used it.
            if let Some(block) = &lease.block {
                block.uses.close(lease.number, None);
            }
            lease.put();
            return Err(error);
        }
        if !is_hit {
            tracing::debug!(bytes = lease.len, "a stream waits for a block of a pool");
            request.observer.stream_waits(lease.len);
        }
        Ok(lease)
    }

    /// Makes a stream wait for events.
    fn wait_for(&self, waits: Waits, stream: &Stream, is_captured: bool) -> Result<()> {
        if disabled(Rule::LeaseWait) {
            return Ok(());
        }
        let mut events = waits.first.into_iter().chain(waits.more);
        events.try_for_each(|event| match is_captured {
            // A graph cannot wait for what is not in it, and its launches may be the caller's to order.
            true => event.synchronize(),
            // If the stream does not wait, the host can; after that, the order is right as well.
            false => stream.wait_handle(&event).or_else(|error| {
                self.shelf.check_capture(stream)?;
                event.synchronize().map_err(|_| error)
            }),
        })
    }
}

/// The events that a stream has to wait for: mostly one, which costs no allocation.
#[derive(Default)]
struct Waits {
    first: Option<Arc<EventHandle>>,
    more: Vec<Arc<EventHandle>>,
}

impl Waits {
    fn add(&mut self, event: &Arc<EventHandle>) {
        match self.first {
            None => self.first = Some(event.clone()),
            Some(_) => self.more.push(event.clone()),
        }
    }
}

impl Lease {
    /// The address of the memory.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if it may last until the call ends; else it is to be ended when what uses it was enqueued.
    pub fn lasts(&self) -> bool {
        self.loan == Loan::Call
    }

    /// Gives the memory back, which is in use until all is complete that is on the stream so far: the one
    /// that it was taken for.
    ///
    /// # Errors
    /// If that cannot be recorded. The stream was drained then, or, if the driver did not let it be, the
    /// memory is never freed.
    pub fn end(self, stream: &Stream) -> Result<()> {
        let Some(block) = &self.block else {
            return Ok(());
        };
        if self.capture.is_some() {
            self.give_to_graph();
            return Ok(());
        }
        if disabled(Rule::LeaseRecord) {
            block.uses.close(self.number, None);
            self.put();
            return Ok(());
        }
        // The event of the last use, for which nobody waits who has not been told to, can be used again.
        let recorded = match block.uses.take_event() {
            Some(event) => record_in(event, stream),
            None => record(stream),
        };
        match recorded {
            Ok(event) => {
                let stream = stream.id();
                let mark = Mark { stream, event };
                block.uses.close(self.number, Some(&mark));
                self.put();
                Ok(())
            }
            Err(error) => {
                if disabled(Rule::LeaseDrain) || drain(stream) {
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
        if let Some(block) = &self.block {
            block.uses.close_over(self.number);
        }
        self.put();
    }

    /// Puts the block back, whose use is closed.
    fn put(mut self) {
        if let Some(block) = self.block.take() {
            self.shelf.put(block, self.loan);
        }
    }

    /// Gives the memory to the graph of a capture, and with that back to the pool.
    fn give_to_graph(mut self) {
        let (Some(block), Some(capture)) = (self.block.take(), self.capture.take()) else {
            return;
        };
        block.uses.close(self.number, None);
        let home: Arc<dyn Home> = self.shelf.clone();
        let home = Some(Arc::downgrade(&home));
        let operand: Arc<dyn Operand> = Arc::new(DeviceBlock::new(block.memory, block.uses, home));
        capture.add([(operand, Access::Write)].into_iter(), Vec::new());
        self.shelf.end_loan(self.loan);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            let bytes = block.len();
            // Its use is open, so that this frees nothing unless the device is lost.
            block.free();
            self.shelf.lose(bytes, self.loan);
        }
    }
}
