//! Scratch that all engines of a device share: leases of a pool.

use std::sync::Arc;

use thalweg_core::{Device as _, DeviceAddress, Error, ErrorKind, Result, StreamHandle, Tracer};
use thalweg_cuda::{CallLeases, Device, Lease, Limit, Pool, PoolObserver, Request, Tenant};

use super::limit::check;
use super::{Room, ScratchStatistics, User, Wish};
use crate::abi::borrow_stream;

/// The scratch of a device, for all engines that share it, with a limit.
///
/// A call keeps its piece until it ends, for all its engines. Where the limit leaves only one piece, or is
/// one of bytes, it has a piece only while it enqueues an engine.
pub(crate) struct SharedScratch {
    pool: Pool,
    /// The pieces that calls have until they end.
    calls: CallLeases,
}

impl SharedScratch {
    pub(crate) fn new(device: &Device, limit: Limit) -> Self {
        Self {
            pool: Pool::of_scratch(device, limit),
            calls: CallLeases::default(),
        }
    }

    /// True if it is that of a device, with a limit.
    pub(crate) fn is_of(&self, device: i32, limit: Limit) -> bool {
        self.ordinal() == device && self.pool.limit() == limit
    }

    /// The number of its device.
    pub(crate) fn ordinal(&self) -> i32 {
        self.pool.device().ordinal()
    }

    /// True if calls have what they take until they end.
    pub(super) fn has_no_limit(&self) -> bool {
        self.pool.limit() == Limit::None
    }

    pub(super) fn check(&self, bytes: usize) -> Result<()> {
        check(self.pool.limit(), bytes)
    }

    pub(crate) fn statistics(&self) -> ScratchStatistics {
        ScratchStatistics::of(&self.pool.statistics())
    }

    /// Frees what nobody has, in order. Gives the number of bytes.
    pub(crate) fn trim(&self) -> usize {
        self.pool.trim()
    }
}

/// Shared scratch, as one instance uses it.
pub(super) struct Share {
    scratch: Arc<SharedScratch>,
    /// What was taken for one enqueue.
    held: Option<Lease>,
    /// The call that has a lease, perhaps of another instance's taking.
    call: Option<u64>,
    /// The last call that had room, and where that was.
    last: Option<(u64, u64)>,
}

impl Share {
    pub(super) fn new(scratch: &Arc<SharedScratch>) -> Self {
        Self {
            scratch: scratch.clone(),
            held: None,
            call: None,
            last: None,
        }
    }

    pub(super) fn scratch(&self) -> &SharedScratch {
        &self.scratch
    }

    pub(super) fn room(&mut self, wish: &Wish, user: &User<'_>) -> Result<Option<Room>> {
        if let Some(call) = self.call
            && call != user.call
        {
            // Nobody has said that this call was over, as happens to an instance that is wrapped by one
            // that does not pass it on. What that call has enqueued here is before what comes now.
            self.end(call, user.stream, false)?;
        }
        self.scratch.check(wish.bytes)?;
        let room = match self.scratch.calls.get(user.call) {
            Some((address, len)) if len >= wish.bytes => {
                self.call = Some(user.call);
                Room::at(address, len)
            }
            Some(_) if wish.stays => return Ok(None),
            _ => self.take(wish, user)?,
        };
        user.tracer.bytes(|| {
            let pool = &self.scratch.pool;
            let name = format!("shared scratch, {}", pool.device().id());
            (name, pool.statistics().held)
        });
        self.last = Some((user.call, room.address.0));
        Ok(Some(room))
    }

    /// Takes a piece for a call that has none, or one that is too small.
    fn take(&mut self, wish: &Wish, user: &User<'_>) -> Result<Room> {
        let SharedScratch { pool, calls } = &*self.scratch;
        let stream = borrow_stream(pool.device(), user.stream);
        let mut tenant = Tenant::new(user.call, &stream, self.last)?;
        if let Some(DeviceAddress(address)) = wish.address {
            tenant = tenant.wishes(address);
        }
        let traced = Traced(user.tracer);
        let request = Request::new(wish.bytes, &tenant)
            .may_last(user.is_told)
            .observer(&traced);
        let lease = match calls.take(user.call) {
            None => pool.lease_for(&stream, &request),
            Some(small) => pool
                .grow(small, &stream, &request)
                .map_err(|(error, small)| {
                    if let Some(small) = small {
                        calls.put(user.call, small);
                    }
                    error
                }),
        };
        let lease = lease.map_err(|error| explain(&error))?;
        let room = Room::at(lease.address(), lease.len());
        match lease.lasts() {
            true => {
                self.call = Some(user.call);
                calls.put(user.call, lease);
            }
            false => self.held = Some(lease),
        }
        Ok(room)
    }

    /// Gives back what was taken for one enqueue, which was made.
    pub(super) fn put(&mut self, handle: StreamHandle) -> Result<()> {
        match self.held.take() {
            Some(held) => held.end(&borrow_stream(self.scratch.pool.device(), handle)),
            None => Ok(()),
        }
    }

    /// Gives back what a call has, which asks for nothing more. `is_over`: all that it has asked for is
    /// complete.
    pub(super) fn end(&mut self, call: u64, handle: StreamHandle, is_over: bool) -> Result<()> {
        let put = self.put(handle);
        self.call = None;
        let ended = match self.scratch.calls.take(call) {
            Some(lease) if is_over => {
                lease.end_over();
                Ok(())
            }
            Some(lease) => lease.end(&borrow_stream(self.scratch.pool.device(), handle)),
            None => Ok(()),
        };
        put.and(ended)
    }

    /// Never frees what there is, since it may be in use forever.
    pub(super) fn abandon(&mut self) {
        drop(self.held.take());
        if let Some(call) = self.call.take() {
            drop(self.scratch.calls.take(call));
        }
    }
}

impl Drop for Share {
    /// Nothing of the instance's runs any more: the core has waited, and what cannot be waited for was
    /// abandoned.
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            held.end_over();
        }
        if let Some(lease) = self
            .call
            .take()
            .and_then(|call| self.scratch.calls.take(call))
        {
            lease.end_over();
        }
    }
}

#[cold]
fn explain(error: &Error) -> Error {
    let message = match error.kind() {
        ErrorKind::Unsupported => error.message().into(),
        _ => format!("shared scratch for an engine: {}", error.message()),
    };
    Error::new(error.kind(), message)
}

/// The trace of a call, which notes what the pool does for it.
struct Traced<'t>(Tracer<'t>);

impl PoolObserver for Traced<'_> {
    fn stream_waits(&self, bytes: usize) {
        let notes = [("bytes", bytes.into())];
        self.0.instant("a stream waits for shared scratch", &notes);
    }

    fn grows(&self, from: usize, to: usize) {
        let notes = [("from", from.into()), ("to", to.into())];
        self.0.instant("shared scratch grows", &notes);
    }

    fn allocated(&self, bytes: usize) {
        let notes = [("bytes", bytes.into())];
        self.0.instant("shared scratch is allocated", &notes);
    }

    fn trimmed(&self, blocks: usize, bytes: usize) {
        let notes = [("bytes", bytes.into()), ("pieces", blocks.into())];
        self.0
            .instant("shared scratch is trimmed, since memory is out", &notes);
    }

    fn host_waits(&self, wait: &mut dyn FnMut()) {
        let _span = self.0.wait("wait for shared scratch");
        wait();
    }
}
