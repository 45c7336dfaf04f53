//! Scratch: memory that engines compute in, beside their inputs and outputs.
//!
//! An instance of an engine has scratch of its own ([`own`]), or takes it from a [`Pool`] that all
//! engines of the device share. Whoever runs the engine sees no difference: it asks for room before
//! an enqueue, says when the enqueue was made, and says when the call is over.

mod limit;
mod memory;
mod own;
mod pieces;
mod pool;
mod statistics;

use std::sync::Arc;

use thalweg_core::{Call, Device as _, DeviceAddress, Result, StreamHandle, Tracer};
use thalweg_cuda::Device;

pub(crate) use limit::{Limit, sharing};
pub use limit::{SHARED_SCRATCH, SHARED_SCRATCH_LIMIT};
use own::Own;
pub(crate) use pool::Pool;
use pool::{Held, Taken};
pub use statistics::ScratchStatistics;

/// Where an instance of an engine has its scratch from.
pub(crate) struct Scratch(Source);

enum Source {
    Own(Own),
    Shared(Shared),
}

/// A pool, as one instance uses it.
struct Shared {
    pool: Arc<Pool>,
    /// What was taken for one enqueue.
    held: Option<Held>,
    /// The call that has a lease, perhaps of another instance's taking.
    call: Option<u64>,
    /// Where the last room was, and for which call.
    last: Option<(DeviceAddress, u64)>,
}

/// A piece of scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) address: DeviceAddress,
    pub(crate) len: usize,
}

/// Who asks for room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User<'t> {
    /// The number of the call.
    pub(crate) call: u64,
    /// That of the call before in which the instance has used shared scratch, which knows it by itself.
    pub(crate) last_call: Option<u64>,
    pub(crate) stream: StreamHandle,
    /// Whether the instance will be told when the call is over, and on which stream.
    pub(crate) is_told: bool,
    /// Where it is written down what scratch does.
    pub(crate) tracer: Tracer<'t>,
}

/// What room is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) bytes: usize,
    /// Where it is best, since the context knows it.
    pub(crate) address: Option<DeviceAddress>,
    /// Whether what the call has already must stay where it is.
    pub(crate) stays: bool,
}

impl<'t> User<'t> {
    /// A call's delegate. `is_told`: it will be told when the call is over, and on which stream.
    pub(crate) fn of(call: &Call<'t>, stream: StreamHandle, is_told: bool) -> Self {
        Self {
            call: call.number(),
            last_call: None,
            stream,
            is_told,
            tracer: call.tracer(),
        }
    }
}

impl Scratch {
    /// Scratch of an instance's own.
    pub(crate) fn own(device: &Device) -> Self {
        Self(Source::Own(Own::new(device)))
    }

    /// Scratch of a pool, or, without one, of an instance's own.
    pub(crate) fn of(pool: Option<&Arc<Pool>>, device: &Device) -> Self {
        match pool {
            None => Self::own(device),
            Some(pool) => Self(Source::Shared(Shared {
                pool: pool.clone(),
                held: None,
                call: None,
                last: None,
            })),
        }
    }

    /// Whether room that was given is there until the call ends, and not only for one enqueue.
    pub(crate) fn lasts(&self) -> bool {
        match &self.0 {
            Source::Own(_) => true,
            Source::Shared(shared) => shared.pool.has_no_limit(),
        }
    }

    /// Whether so much can be had at all.
    ///
    /// # Errors
    /// If a limit does not allow it.
    pub(crate) fn check(&self, bytes: usize) -> Result<()> {
        match &self.0 {
            Source::Own(_) => Ok(()),
            Source::Shared(shared) => shared.pool.check(bytes),
        }
    }

    /// Room for what is enqueued next on the user's stream, until [`Scratch::enqueued`]. The stream
    /// goes on after whoever had it before.
    ///
    /// Where an instance's own scratch must be replaced, `idle` is called, after which nothing uses
    /// what there was. `None`, with nothing done, if what the call has would have to move and may not.
    ///
    /// # Errors
    /// If the device's memory is out, or the driver refuses the wait.
    pub(crate) fn room(
        &mut self,
        wish: &Wish,
        user: &User<'_>,
        idle: impl FnOnce() -> Result<()>,
    ) -> Result<Option<Room>> {
        match &mut self.0 {
            Source::Own(own) => own.room(wish.bytes, user.stream, idle).map(Some),
            Source::Shared(shared) => shared.room(wish, user),
        }
    }

    /// Takes note that what room was asked for is on the stream, or a part of it, if enqueueing has
    /// failed.
    ///
    /// # Errors
    /// If that cannot be remembered. The stream was waited for then.
    #[inline]
    pub(crate) fn enqueued(&mut self, stream: StreamHandle) -> Result<()> {
        match &mut self.0 {
            Source::Own(_) => Ok(()),
            Source::Shared(shared) => shared.put(stream),
        }
    }

    /// Takes note that a call asks for nothing more. `is_over`: all that it has asked for is over.
    ///
    /// # Errors
    /// As for [`Scratch::enqueued`].
    pub(crate) fn end(&mut self, call: u64, stream: StreamHandle, is_over: bool) -> Result<()> {
        match &mut self.0 {
            Source::Own(_) => Ok(()),
            Source::Shared(shared) => {
                let put = shared.put(stream);
                shared.call = None;
                put.and(shared.pool.end(call, stream, is_over))
            }
        }
    }

    /// Never frees what there is, since it may be in use forever.
    pub(crate) fn abandon(&mut self) {
        match &mut self.0 {
            Source::Own(own) => own.abandon(),
            Source::Shared(shared) => {
                if let Some(held) = shared.held.take() {
                    shared.pool.abandon(held);
                }
                if let Some(call) = shared.call.take() {
                    shared.pool.abandon_lease(call);
                }
            }
        }
    }
}

impl Shared {
    fn room(&mut self, wish: &Wish, user: &User<'_>) -> Result<Option<Room>> {
        if let Some(call) = self.call
            && call != user.call
        {
            // Nobody has said that this call was over, as happens to an instance that is wrapped by one
            // that does not pass it on. What that call has enqueued here is before what comes now.
            self.call = None;
            let put = self.put(user.stream);
            put.and(self.pool.end(call, user.stream, false))?;
        }
        let wish = Wish {
            address: wish.address.or(self.last.map(|(address, _)| address)),
            ..*wish
        };
        let user = User {
            last_call: self.last.map(|(_, call)| call),
            ..*user
        };
        let room = match self.pool.take(&wish, &user)? {
            Taken::Leased(room) => {
                self.call = Some(user.call);
                room
            }
            Taken::Held(held) => self.held.insert(held).room(),
            Taken::Nothing => return Ok(None),
        };
        user.tracer.bytes(|| {
            let bytes = self.pool.statistics().bytes;
            (
                format!("shared scratch, {}", self.pool.device().id()),
                bytes,
            )
        });
        self.last = Some((room.address, user.call));
        Ok(Some(room))
    }

    fn put(&mut self, stream: StreamHandle) -> Result<()> {
        match self.held.take() {
            Some(held) => self.pool.put(held, stream),
            None => Ok(()),
        }
    }
}

impl Drop for Shared {
    /// Nothing of the instance's runs any more: the core has waited, and what cannot be waited for was
    /// abandoned.
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.pool.put_unused(held);
        }
        if let Some(call) = self.call.take() {
            self.pool.end_unused(call);
        }
    }
}
