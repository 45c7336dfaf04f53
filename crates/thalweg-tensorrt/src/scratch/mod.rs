//! Scratch: memory that engines compute in, beside their inputs and outputs.
//!
//! An instance of an engine has scratch of its own ([`own`]), or takes it from [`SharedScratch`], which all
//! engines of the device share. Whoever runs the engine sees no difference: it asks for room before
//! an enqueue, says when the enqueue was made, and says when the call is over.

mod limit;
mod own;
mod shared;
mod statistics;

use std::sync::Arc;

use thalweg_core::{Call, DeviceAddress, Result, StreamHandle, Tracer};
use thalweg_cuda::Device;

pub(crate) use limit::sharing;
pub use limit::{SHARED_SCRATCH, SHARED_SCRATCH_LIMIT};
use own::Own;
use shared::Share;
pub(crate) use shared::SharedScratch;
pub use statistics::ScratchStatistics;

/// The source of an instance's scratch.
pub(crate) struct Scratch(Source);

enum Source {
    Own(Own),
    Shared(Share),
}

/// A piece of scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) address: DeviceAddress,
    pub(crate) len: usize,
}

impl Room {
    fn at(address: u64, len: usize) -> Self {
        Self {
            address: DeviceAddress(address),
            len,
        }
    }
}

/// A user of scratch: a call, on its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User<'t> {
    /// The number of the call.
    pub(crate) call: u64,
    pub(crate) stream: StreamHandle,
    /// True if the instance will be told when the call is over, and on which stream.
    pub(crate) is_told: bool,
    /// The trace of what scratch does.
    pub(crate) tracer: Tracer<'t>,
}

/// A request for room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) bytes: usize,
    /// The best address, since the context knows it.
    pub(crate) address: Option<DeviceAddress>,
    /// True if what the call has already must stay where it is.
    pub(crate) stays: bool,
}

impl<'t> User<'t> {
    /// A call's delegate. `is_told`: it will be told when the call is over, and on which stream.
    pub(crate) fn of(call: &Call<'t>, stream: StreamHandle, is_told: bool) -> Self {
        Self {
            call: call.number(),
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

    /// Scratch that is shared, or, without such, of an instance's own.
    pub(crate) fn of(shared: Option<&Arc<SharedScratch>>, device: &Device) -> Self {
        match shared {
            None => Self::own(device),
            Some(shared) => Self(Source::Shared(Share::new(shared))),
        }
    }

    /// True if room that was given is there until the call ends, and not only for one enqueue.
    pub(crate) fn lasts(&self) -> bool {
        match &self.0 {
            Source::Own(_) => true,
            Source::Shared(shared) => shared.scratch().has_no_limit(),
        }
    }

    /// Checks that so much can be had at all.
    ///
    /// # Errors
    /// If a limit does not allow it.
    pub(crate) fn check(&self, bytes: usize) -> Result<()> {
        match &self.0 {
            Source::Own(_) => Ok(()),
            Source::Shared(shared) => shared.scratch().check(bytes),
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
            Source::Shared(shared) => shared.end(call, stream, is_over),
        }
    }

    /// Never frees what there is, since it may be in use forever.
    pub(crate) fn abandon(&mut self) {
        match &mut self.0 {
            Source::Own(own) => own.abandon(),
            Source::Shared(shared) => shared.abandon(),
        }
    }
}
