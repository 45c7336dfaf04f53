//! A pool of device memory: for temporaries that come and go, and for scratch that is shared.

mod block;
mod calls;
mod lease;
mod limit;
mod request;
mod shelf;
mod sizes;
mod state;
mod statistics;

use std::sync::Arc;

use thalweg_core::Result;

pub use calls::CallLeases;
pub use lease::Lease;
pub use limit::Limit;
pub use request::{PoolObserver, Request};
pub use statistics::PoolStatistics;

use crate::buffer::DeviceBuffer;
use crate::device::Device;
use crate::memory::Home;
use crate::order::{Access, Operand};
use crate::work::Work;
use shelf::Shelf;
use sizes::{Sizes, class};
use state::Policy;

/// A pool of memory of one device: in a steady state it asks the driver for nothing. Clones are the same
/// pool.
///
/// There are two ways to have memory. A buffer ([`Work::allocate`]) is for one work and what follows; it
/// goes back to its pool when it is dropped or [released](Work::release). A [`Lease`] is for code that
/// enqueues by itself. Either can be had again at once: where its last use was as it is, since the device
/// does one after the other; elsewhere, if the last use is complete or, rather than exceed the limit, after
/// waiting for it on the device.
///
/// The pool's memory is freed, in order, when the last clone and the last of what was taken are gone.
///
/// # Order
/// Whoever has memory of a pool has it alone on the device: the stream waits for the last use, which an
/// event says. No lock is held while the driver is called, and nothing waits for a whole device.
///
/// # Limit
/// Rather than exceed its limit, a pool makes streams wait, and lets leases last only until something was
/// enqueued ([`Lease::lasts`]): only for the end of such leases the host may have to wait. So nobody waits
/// on the host for a call to end, and calls may depend on each other in any way. More than the limit is
/// taken only where there is nobody to wait for.
#[derive(Clone)]
pub struct Pool {
    shelf: Arc<Shelf>,
}

impl Pool {
    /// A pool without a limit, for buffers and leases of all sizes.
    pub fn new(device: &Device) -> Self {
        Self::with_limit(device, usize::MAX)
    }

    /// A pool for buffers and leases of all sizes, with a limit of bytes.
    pub fn with_limit(device: &Device, limit: usize) -> Self {
        let limit = match limit {
            usize::MAX => Limit::None,
            bytes => Limit::Bytes(bytes),
        };
        Self::of(device, limit, Sizes::Classes)
    }

    /// A pool of scratch, for leases alone. Each block is as large as the largest lease has needed, since
    /// any may have it; one that is too small is replaced. On a stream that is being captured there is no
    /// lease.
    pub fn of_scratch(device: &Device, limit: Limit) -> Self {
        Self::of(device, limit, Sizes::Largest)
    }

    fn of(device: &Device, limit: Limit, sizes: Sizes) -> Self {
        let shelf = Shelf::new(device, Policy { limit, sizes });
        Self {
            shelf: Arc::new(shelf),
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.shelf.device()
    }

    /// The limit.
    pub fn limit(&self) -> Limit {
        self.shelf.policy().limit
    }

    /// The statistics.
    pub fn statistics(&self) -> PoolStatistics {
        self.shelf.statistics()
    }

    /// Frees what is not lent out, in order. Gives the number of bytes.
    pub fn trim(&self) -> usize {
        self.shelf.trim()
    }
}

impl Work<'_> {
    /// Takes memory of a pool, for this work and what follows on its stream, with arbitrary
    /// values at first. It counts as written by this work.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](thalweg_core::ErrorKind::OutOfMemory) if memory is out even
    /// after the pool has given back what it does not use.
    pub fn allocate(&mut self, pool: &Pool, len: usize) -> Result<DeviceBuffer> {
        if let Some(capture) = self.capture() {
            let size = class(len);
            let fits = |buffer: &DeviceBuffer| {
                let block = buffer.block();
                block.belongs_to(&pool.shelf) && block.capacity() == size
            };
            if let Some(buffer) = capture.take_released(fits) {
                return Ok(buffer.with_len(len));
            }
        }
        let stream = self.stream();
        let request = Request::for_buffer(len);
        let block = pool.shelf.take(stream, stream.id(), &request)?.block;
        let home: Arc<dyn Home> = pool.shelf.clone();
        let home = Some(Arc::downgrade(&home));
        let buffer = DeviceBuffer::of(block.memory, block.uses, home, len);
        // Here the stream is made to wait for another's last use, if there is one.
        self.touch(buffer.block(), Access::Write)?;
        Ok(buffer)
    }

    /// Gives a buffer back that this work was the last to use. Later work on this stream, this
    /// work included, can have the memory at once. For a buffer that is of no pool, or that other
    /// work still uses, this is the same as dropping it.
    pub fn release(&mut self, buffer: DeviceBuffer) {
        if let Some(capture) = self.capture() {
            capture.release(buffer);
            return;
        }
        self.let_go(buffer.block().uses());
        buffer.give_back();
    }
}
