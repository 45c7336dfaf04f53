//! Scratch that all engines of a device share.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use thalweg_core::{Error, ErrorKind, Result, StreamHandle, Tracer, ensure};
use thalweg_cuda::{Device, Stream};

use super::memory::Memory;
use super::pieces::{Block, Choice, Lease, Place, State};
use super::{Limit, Room, ScratchStatistics, User, Wish};
use crate::abi::{is_captured, stream};

/// The scratch of a device, for all engines that share it.
///
/// # What callers may rely on
/// - Whoever takes a piece has it alone on the device: its stream goes on after the last use, which an
///   event of the piece's own says, and the next user's goes on after what it has enqueued. No stream
///   is ever remembered for that.
/// - A call keeps its piece until it ends, for all its engines. Where a limit leaves only one piece,
///   or is one of bytes, it has a piece only while it enqueues an engine.
/// - Nobody waits on the host for a call to end: only, where there is a limit, for others that are
///   just enqueueing an engine, and when memory is out. So calls may depend on each other, on other
///   pools, and on what the host does, in whatever way.
/// - The lock is never held while the driver is called, and nothing waits for a whole device.
/// - After an error there is what there was, but for what was freed to get more.
///
/// # Which piece
/// That is only a preference, for speed: the one that the call's contexts know, if it was used last
/// from here or its last use is over; another one of which that is so; a new one, if the limit
/// allows; one that the device still works with. A piece that is too small is replaced.
pub(crate) struct Pool {
    device: Device,
    limit: Limit,
    state: Mutex<State>,
    /// Something that somebody waits for may be there.
    turn: Condvar,
}

/// What somebody has in hand, for one enqueue.
pub(super) struct Held {
    pub(super) number: u64,
    pub(super) memory: Memory,
}

impl Held {
    pub(super) fn room(&self) -> Room {
        self.memory.room()
    }
}

/// What somebody has taken.
pub(super) enum Taken {
    /// The call has it until it ends.
    Leased(Room),
    /// To be put back after the enqueue.
    Held(Held),
    /// The call has one that would have to grow, and may not.
    Nothing,
}

impl Pool {
    pub(crate) fn new(device: &Device, limit: Limit) -> Self {
        Self {
            device: device.clone(),
            limit,
            state: Mutex::default(),
            turn: Condvar::new(),
        }
    }

    /// Whether it is the pool of a device, with a limit.
    pub(crate) fn is_of(&self, device: i32, limit: Limit) -> bool {
        self.device.ordinal() == device && self.limit == limit
    }

    /// Its device.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The number of its device.
    pub(crate) fn ordinal(&self) -> i32 {
        self.device.ordinal()
    }

    /// Whether calls have what they take until they end.
    pub(crate) fn has_no_limit(&self) -> bool {
        self.limit == Limit::None
    }

    pub(crate) fn check(&self, bytes: usize) -> Result<()> {
        self.limit.check(bytes)
    }

    pub(crate) fn statistics(&self) -> ScratchStatistics {
        let state = self.lock();
        let (buffers, bytes) = state.held();
        ScratchStatistics {
            buffers,
            bytes,
            idle: state.idle.iter().map(|block| block.memory.len()).sum(),
            ..state.statistics
        }
    }

    /// Frees what nobody has, in order. Gives the number of bytes.
    pub(crate) fn trim(&self) -> usize {
        let mut state = self.lock();
        let trimmed = state.take_unused();
        state.largest = 0;
        drop(state);
        let bytes = trimmed.iter().map(|block| block.memory.len()).sum();
        tracing::debug!(
            device = self.ordinal(),
            buffers = trimmed.len(),
            bytes,
            "shared scratch is trimmed"
        );
        bytes
    }

    /// Takes a piece for work that is about to be enqueued on the user's stream. If the call has one
    /// already, it is that, made larger if it has to be.
    pub(super) fn take(&self, wish: &Wish, user: &User<'_>) -> Result<Taken> {
        self.limit.check(wish.bytes)?;
        let mut state = self.lock();
        let leased = state
            .leased
            .iter()
            .position(|lease| lease.call == user.call);
        if let Some(index) = leased {
            let memory = &state.leased[index].memory;
            if memory.len() >= wish.bytes {
                return Ok(Taken::Leased(memory.room()));
            }
            if wish.stays {
                return Ok(Taken::Nothing);
            }
            let lease = state.leased.swap_remove(index);
            return self.replace(state, lease.memory, wish, user, (true, true));
        }
        self.take_another(state, wish, user)
    }

    /// Puts a piece back after an enqueue.
    pub(super) fn put(&self, held: Held, stream: StreamHandle) -> Result<()> {
        match held.memory.hand_on(&self.device, stream) {
            Ok(()) => {
                self.put_back(held, Place::here(stream));
                Ok(())
            }
            Err(not) if not.is_drained => {
                self.put_back(held, Place::here(stream));
                Err(not.error)
            }
            Err(not) => {
                self.abandon(held);
                Err(not.error)
            }
        }
    }

    /// Puts the piece of a call back, which asks for nothing more. `is_over`: all that it has asked for
    /// is over.
    pub(super) fn end(&self, call: u64, stream: StreamHandle, is_over: bool) -> Result<()> {
        match self.unlease(call) {
            Some(held) if is_over => {
                held.memory.set_over();
                self.put_back(held, Place::here(stream));
                Ok(())
            }
            Some(held) => self.put(held, stream),
            None => Ok(()),
        }
    }

    /// Puts a piece back that nothing uses any more.
    pub(super) fn put_unused(&self, held: Held) {
        self.put_back(held, Place::here(StreamHandle(0)));
    }

    /// As [`Pool::end`], of a call of which nothing runs any more.
    pub(super) fn end_unused(&self, call: u64) {
        if let Some(held) = self.unlease(call) {
            self.put_unused(held);
        }
    }

    /// Never frees a piece, since it may be in use forever.
    pub(super) fn abandon(&self, held: Held) {
        tracing::warn!(
            device = self.ordinal(),
            bytes = held.memory.len(),
            "shared scratch that may be in use is never freed"
        );
        std::mem::forget(held.memory);
        let mut state = self.lock();
        state.remove(held.number);
        self.notify(state);
    }

    /// As [`Pool::abandon`], of the piece of a call.
    pub(super) fn abandon_lease(&self, call: u64) {
        if let Some(held) = self.unlease(call) {
            self.abandon(held);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_another<'p>(
        &'p self,
        mut state: MutexGuard<'p, State>,
        wish: &Wish,
        user: &User<'_>,
    ) -> Result<Taken> {
        let mut over = None;
        let mut ticket = None;
        loop {
            let lasts = user.is_told && self.limit.leaves_one(state.leases());
            let others_first = state.first.is_some() && state.first != ticket;
            let choice = match others_first {
                true => Choice::Wait,
                false => state.choose(wish, user, over.as_ref(), self.limit),
            };
            match choice {
                Choice::Wait => {
                    state = self.wait(state, &mut ticket, user.tracer);
                    // All may be different.
                    over = None;
                    continue;
                }
                Choice::Look => {
                    let examined = state.examined(wish);
                    drop(state);
                    over = Some(examined.map(|examined| {
                        let (address, event) = examined?;
                        event.is_done().is_ok_and(|done| done).then_some(address)
                    }));
                    state = self.lock();
                    continue;
                }
                _ => {}
            }
            if ticket.is_some() {
                state.first = None;
                if state.waiting > 0 {
                    self.turn.notify_all();
                }
            }
            return match choice {
                Choice::Take(index) => {
                    let block = state.idle.remove(index);
                    let is_over = over.iter().flatten().flatten();
                    let is_over = is_over.into_iter().any(|at| *at == block.memory.address());
                    self.reuse(state, block, user, lasts, is_over)
                }
                Choice::Replace(index) => {
                    let block = state.idle.remove(index);
                    self.replace(state, block.memory, wish, user, (false, lasts))
                }
                Choice::Make(bytes, victims) => {
                    let number = state.add(user.call, None, bytes, lasts);
                    drop(state);
                    let count = victims.len() as u64;
                    let mut left = victims;
                    let made = self.make(bytes, wish.bytes, &mut left, user);
                    let mut state = self.lock();
                    state.statistics.trims += count - left.len() as u64;
                    state.idle.splice(..0, left);
                    self.made(state, number, made, user, lasts)
                }
                Choice::Look | Choice::Wait => unreachable!("both go on above"),
            };
        }
    }

    /// Takes a piece as it is.
    fn reuse(
        &self,
        mut state: MutexGuard<'_, State>,
        block: Block,
        user: &User<'_>,
        lasts: bool,
        is_over: bool,
    ) -> Result<Taken> {
        let address = block.memory.address();
        let number = state.add(user.call, Some(address), block.memory.len(), lasts);
        drop(state);
        let waited = match block.memory.needs_no_wait() {
            // Where the stream is captured, the driver refuses the wait. Without one it must be asked.
            true => refused(&self.device, user.stream),
            false => block.memory.wait_on(user.stream),
        };
        let mut state = self.lock();
        if let Err(error) = waited {
            state.remove(number);
            state.idle.push(block);
            self.notify(state);
            return Err(refused(&self.device, user.stream).err().unwrap_or(error));
        }
        state.statistics.hits += 1;
        if !is_over && !block.was_used_by(user) {
            state.statistics.waits += 1;
            tracing::debug!(
                device = self.ordinal(),
                bytes = block.memory.len(),
                "a stream waits for shared scratch"
            );
            let notes = [("bytes", block.memory.len().into())];
            user.tracer
                .instant("a stream waits for shared scratch", &notes);
        }
        Ok(state.hand_out(number, block.memory, user, lasts))
    }

    /// Makes a larger piece in the place of one that is too small, and that is the call's own if
    /// `is_leased`.
    fn replace(
        &self,
        mut state: MutexGuard<'_, State>,
        old: Memory,
        wish: &Wish,
        user: &User<'_>,
        (is_leased, lasts): (bool, bool),
    ) -> Result<Taken> {
        // The old one counts no more.
        let bytes = state.most_useful(wish.bytes, self.limit);
        let number = state.add(user.call, None, bytes, lasts);
        drop(state);
        tracing::debug!(
            device = self.ordinal(),
            from = old.len(),
            to = bytes,
            "shared scratch grows"
        );
        let notes = [("from", old.len().into()), ("to", bytes.into())];
        user.tracer.instant("shared scratch grows", &notes);
        // It goes first, so that the new one can have its memory. What the user has enqueued in it is on
        // the same stream.
        let old = Block {
            memory: old,
            place: Place::here(user.stream),
            call: user.call,
        };
        let mut old = vec![old];
        let made = self.make(bytes, wish.bytes, &mut old, user);
        let mut state = self.lock();
        state.statistics.growths += u64::from(made.is_ok());
        // What the call has enqueued in it may run, which its event does not know yet.
        for Block { call, memory, .. } in old.extract_if(.., |_| is_leased) {
            state.leased.push(Lease { call, memory });
        }
        state.idle.append(&mut old);
        self.made(state, number, made, user, lasts)
    }

    /// Frees some pieces, and makes one. If memory is out for `bytes`, `least` will do. After an error
    /// that comes before that, the pieces are still there.
    fn make(
        &self,
        bytes: usize,
        least: usize,
        victims: &mut Vec<Block>,
        user: &User<'_>,
    ) -> Result<Memory> {
        // There, an event would be recorded that nobody else can wait for.
        refused(&self.device, user.stream)?;
        let stream = stream(&self.device, user.stream);
        free(std::mem::take(victims), &stream)?;
        let made = Memory::allocate(&stream, bytes).or_else(|error| {
            if error.kind() != ErrorKind::OutOfMemory {
                return Err(error);
            }
            let mut state = self.lock();
            let unused = state.take_unused();
            drop(state);
            tracing::debug!(
                device = self.ordinal(),
                buffers = unused.len(),
                bytes,
                "memory is out; shared scratch that nobody has is freed"
            );
            let trimmed: usize = unused.iter().map(|block| block.memory.len()).sum();
            let notes = [("bytes", trimmed.into()), ("pieces", unused.len().into())];
            user.tracer
                .instant("shared scratch is trimmed, since memory is out", &notes);
            free(unused, &stream)?;
            // Memory comes back when what used it is over: here on this stream, elsewhere on others.
            // Waiting for both is better than failing.
            stream.synchronize()?;
            let reclaimed = self.device.reclaim();
            Memory::allocate(&stream, least).map_err(|error| reclaimed.err().unwrap_or(error))
        });
        made.map_err(|error| self.explain(&error, bytes))
    }

    #[cold]
    fn explain(&self, error: &Error, bytes: usize) -> Error {
        // Without what was being made.
        let (buffers, held) = self.lock().held();
        let (buffers, held) = (buffers.saturating_sub(1), held.saturating_sub(bytes));
        let message = format!(
            "shared scratch for an engine: {}; there are {held} bytes of it in {buffers} buffers",
            error.message()
        );
        Error::new(error.kind(), message)
    }

    /// Hands out what was made, or takes note that it was not.
    fn made(
        &self,
        mut state: MutexGuard<'_, State>,
        number: u64,
        made: Result<Memory>,
        user: &User<'_>,
        lasts: bool,
    ) -> Result<Taken> {
        let memory = match made {
            Ok(memory) => memory,
            Err(error) => {
                state.remove(number);
                self.notify(state);
                return Err(error);
            }
        };
        state.statistics.allocations += 1;
        let notes = [("bytes", memory.len().into())];
        user.tracer.instant("shared scratch is allocated", &notes);
        Ok(state.hand_out(number, memory, user, lasts))
    }

    fn put_back(&self, held: Held, place: Place) {
        let mut state = self.lock();
        let call = state.remove(held.number);
        state.idle.push(Block {
            memory: held.memory,
            place,
            call,
        });
        self.notify(state);
    }

    /// Lets those go on that wait, if there are any.
    fn notify(&self, state: MutexGuard<'_, State>) {
        let waiting = state.waiting;
        drop(state);
        if waiting > 0 {
            self.turn.notify_all();
        }
    }

    /// Takes the piece of a call in hand.
    fn unlease(&self, call: u64) -> Option<Held> {
        let mut state = self.lock();
        let index = state.leased.iter().position(|lease| lease.call == call)?;
        let lease = state.leased.swap_remove(index);
        let memory = lease.memory;
        Some(Held {
            number: state.add(call, Some(memory.address()), memory.len(), true),
            memory,
        })
    }

    /// Waits until somebody has put something back. The first that waits goes first, so that small
    /// pieces do not pass by somebody who needs a large one.
    fn wait<'s>(
        &self,
        mut state: MutexGuard<'s, State>,
        ticket: &mut Option<u64>,
        tracer: Tracer<'_>,
    ) -> MutexGuard<'s, State> {
        let number = *ticket.get_or_insert_with(|| {
            state.next += 1;
            state.statistics.turns += 1;
            state.next
        });
        state.first.get_or_insert(number);
        state.waiting += 1;
        tracing::debug!(device = self.ordinal(), "a call waits for shared scratch");
        let _span = tracer.wait("wait for shared scratch");
        let waited = self.turn.wait(state);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }
}

/// Refuses a stream that is being captured.
fn refused(device: &Device, stream: StreamHandle) -> Result<()> {
    ensure!(
        !is_captured(device, stream)?,
        Unsupported,
        "the stream is being captured, and a graph cannot take its turn with scratch that is shared"
    );
    Ok(())
}

/// Frees pieces on a stream, all of them whatever happens.
fn free(blocks: Vec<Block>, stream: &Stream) -> Result<()> {
    let mut freed = Ok(());
    for block in blocks {
        freed = freed.and(block.memory.free_on(stream));
    }
    freed
}
