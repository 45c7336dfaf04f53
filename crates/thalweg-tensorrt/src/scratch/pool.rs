//! Scratch that all engines of a device share.

use std::iter::Sum;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use thalweg_core::{DeviceAddress, Error, ErrorKind, Result, StreamHandle, ensure};
use thalweg_cuda::{CaptureStatus, Device, Event, Stream};

use super::memory::Memory;
use super::{Limit, Room, User, Wish};
use crate::abi::stream;

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

/// What pools of shared scratch have and have done, on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScratchStatistics {
    /// Pieces of memory.
    pub buffers: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Bytes of those that no call has at the moment.
    pub idle: usize,
    /// How often a piece was taken as it was: by a call, or, at a limit, by an engine.
    pub hits: u64,
    /// How often it was one that the device may still have worked with for others, so that a stream
    /// waited.
    pub waits: u64,
    /// How often somebody waited on the host for others to enqueue their engines.
    pub turns: u64,
    /// How often the driver was asked for memory with success.
    pub allocations: u64,
    /// How often that was because a piece was too small, which was freed.
    pub growths: u64,
    /// How many pieces were freed because nobody had them, to get memory or by
    /// [`trim_scratch`](crate::TensorRt::trim_scratch).
    pub trims: u64,
}

/// Of several pools together.
impl Sum for ScratchStatistics {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            buffers: sum.buffers + one.buffers,
            bytes: sum.bytes + one.bytes,
            idle: sum.idle + one.idle,
            hits: sum.hits + one.hits,
            waits: sum.waits + one.waits,
            turns: sum.turns + one.turns,
            allocations: sum.allocations + one.allocations,
            growths: sum.growths + one.growths,
            trims: sum.trims + one.trims,
        })
    }
}

#[derive(Default)]
struct State {
    /// Those that nobody has, the one that was used longest ago first.
    idle: Vec<Block>,
    leased: Vec<Lease>,
    /// Those that somebody has in hand.
    out: Vec<Out>,
    /// The most that an engine has needed. New pieces have as much.
    largest: usize,
    /// Numbers what is out.
    next: u64,
    /// How many wait, and who of them goes first.
    waiting: usize,
    first: Option<u64>,
    statistics: ScratchStatistics,
}

/// A piece that nobody has.
struct Block {
    memory: Arc<Memory>,
    /// Who used it last: from where, and in which call.
    place: Place,
    call: u64,
}

/// A piece that is a call's until it ends.
struct Lease {
    call: u64,
    memory: Arc<Memory>,
}

/// A piece that is being taken, made, replaced, or used for one enqueue.
#[derive(Clone, Copy)]
struct Out {
    number: u64,
    call: u64,
    /// Nowhere yet, of one that is being made.
    address: Option<DeviceAddress>,
    bytes: usize,
    /// Whether it will be leased.
    lasts: bool,
}

/// What somebody has in hand, for one enqueue.
pub(super) struct Held {
    number: u64,
    memory: Arc<Memory>,
}

impl Held {
    pub(super) fn room(&self) -> Room {
        self.memory.room()
    }

    pub(super) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }
}

/// What somebody has taken.
pub(super) enum Taken {
    /// The call has it until it ends.
    Leased(Room),
    /// To be put back after the enqueue.
    Held(Held),
}

/// From where a piece was used: a stream, if it is still the same one, on a thread. It says what is
/// likely, and nothing about order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place(StreamHandle, ThreadId);

/// What to do to get a piece.
enum Choice {
    Take(usize),
    Replace(usize),
    /// So many bytes, after some others were freed.
    Make(usize, Vec<Block>),
    /// Look which uses are over.
    Look,
    Wait,
}

/// So many pieces are looked at.
const EXAMINED: usize = 4;

/// Pieces whose last use is over.
type Over = [Option<DeviceAddress>; EXAMINED];

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

    /// The number of its device.
    pub(crate) fn ordinal(&self) -> i32 {
        self.device.ordinal()
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

    /// Frees what nobody has and no graph uses, in order. Gives the number of bytes.
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
    pub(super) fn take(&self, wish: &Wish, user: &User) -> Result<Taken> {
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
            if Arc::strong_count(memory) == 1 {
                let lease = state.leased.swap_remove(index);
                return self.replace(state, lease.memory, wish, user, true);
            }
            // A graph uses it, and there it stays.
            drop(state);
            self.end(user.call, user.stream)?;
            state = self.lock();
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

    /// Puts the piece of a call back, which is over on the host.
    pub(super) fn end(&self, call: u64, stream: StreamHandle) -> Result<()> {
        match self.unlease(call) {
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

    /// The piece of a call.
    pub(super) fn leased(&self, call: u64) -> Option<Arc<Memory>> {
        let state = self.lock();
        let lease = state.leased.iter().find(|lease| lease.call == call)?;
        Some(lease.memory.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_another<'p>(
        &'p self,
        mut state: MutexGuard<'p, State>,
        wish: &Wish,
        user: &User,
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
                    state = self.wait(state, &mut ticket);
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
                    self.replace(state, block.memory, wish, user, lasts)
                }
                Choice::Make(bytes, victims) => {
                    let number = state.add(user.call, None, bytes, lasts);
                    state.statistics.trims += victims.len() as u64;
                    drop(state);
                    let made = self.make(bytes, wish.bytes, victims, user);
                    self.made(number, made, user, lasts)
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
        user: &User,
        lasts: bool,
        is_over: bool,
    ) -> Result<Taken> {
        let address = block.memory.address();
        let number = state.add(user.call, Some(address), block.memory.len(), lasts);
        drop(state);
        let waited = block.memory.wait_on(user.stream);
        let mut state = self.lock();
        if let Err(error) = waited {
            state.remove(number);
            state.idle.push(block);
            self.notify(state);
            return Err(refused(&stream(&self.device, user.stream))
                .err()
                .unwrap_or(error));
        }
        state.statistics.hits += 1;
        if !is_over && !block.was_used_by(user) {
            state.statistics.waits += 1;
            tracing::debug!(
                device = self.ordinal(),
                bytes = block.memory.len(),
                "a stream waits for shared scratch"
            );
        }
        Ok(state.hand_out(number, block.memory, user, lasts))
    }

    /// Makes a larger piece in the place of one that is too small.
    fn replace(
        &self,
        mut state: MutexGuard<'_, State>,
        old: Arc<Memory>,
        wish: &Wish,
        user: &User,
        lasts: bool,
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
        // It goes first, so that the new one can have its memory. What the user has enqueued in it is on
        // the same stream.
        let old = Block {
            memory: old,
            place: Place::here(user.stream),
            call: user.call,
        };
        let made = self.make(bytes, wish.bytes, vec![old], user);
        let taken = self.made(number, made, user, lasts)?;
        self.lock().statistics.growths += 1;
        Ok(taken)
    }

    /// Frees some pieces, and makes one. If memory is out for `bytes`, `least` will do.
    fn make(
        &self,
        bytes: usize,
        least: usize,
        victims: Vec<Block>,
        user: &User,
    ) -> Result<Arc<Memory>> {
        let stream = stream(&self.device, user.stream);
        // There, an event would be recorded that nobody else can wait for.
        refused(&stream)?;
        free(victims, &stream)?;
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
            free(unused, &stream)?;
            // Memory comes back when what used it is over: here on this stream, elsewhere on others.
            // Waiting for both is better than failing.
            stream.synchronize()?;
            let reclaimed = self.device.reclaim();
            Memory::allocate(&stream, least).map_err(|error| reclaimed.err().unwrap_or(error))
        });
        made.map(Arc::new)
            .map_err(|error| self.explain(&error, bytes))
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
        number: u64,
        made: Result<Arc<Memory>>,
        user: &User,
        lasts: bool,
    ) -> Result<Taken> {
        let mut state = self.lock();
        let memory = match made {
            Ok(memory) => memory,
            Err(error) => {
                state.remove(number);
                self.notify(state);
                return Err(error);
            }
        };
        state.statistics.allocations += 1;
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
    ) -> MutexGuard<'s, State> {
        let number = *ticket.get_or_insert_with(|| {
            state.next += 1;
            state.statistics.turns += 1;
            state.next
        });
        state.first.get_or_insert(number);
        state.waiting += 1;
        tracing::debug!(device = self.ordinal(), "a call waits for shared scratch");
        let waited = self.turn.wait(state);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }
}

/// Refuses a stream that is being captured.
#[cold]
fn refused(stream: &Stream) -> Result<()> {
    ensure!(
        stream.capture_status()? == CaptureStatus::None,
        Unsupported,
        "the stream is being captured, and a graph cannot take its turn with scratch that is shared"
    );
    Ok(())
}

/// Frees pieces on a stream, all of them whatever happens. What a graph uses is only let go.
fn free(blocks: Vec<Block>, stream: &Stream) -> Result<()> {
    let mut freed = Ok(());
    for block in blocks {
        if let Ok(memory) = Arc::try_unwrap(block.memory) {
            freed = freed.and(memory.free_on(stream));
        }
    }
    freed
}

impl State {
    /// How many pieces there are, and of how many bytes in all.
    fn held(&self) -> (usize, usize) {
        let idle = self.idle.iter().map(|block| block.memory.len());
        let leased = self.leased.iter().map(|lease| lease.memory.len());
        let out = self.out.iter().map(|out| out.bytes);
        let all = idle.chain(leased).chain(out);
        all.fold((0, 0), |(count, bytes), len| (count + 1, bytes + len))
    }

    /// How many pieces are calls' until these end, or about to be.
    fn leases(&self) -> usize {
        self.leased.len() + self.out.iter().filter(|out| out.lasts).count()
    }

    fn add(&mut self, call: u64, address: Option<DeviceAddress>, bytes: usize, lasts: bool) -> u64 {
        self.next += 1;
        self.out.push(Out {
            number: self.next,
            call,
            address,
            bytes,
            lasts,
        });
        self.next
    }

    /// Gives the call that had it, too.
    fn remove(&mut self, number: u64) -> u64 {
        let index = self.out.iter().position(|out| out.number == number);
        index.map_or(0, |index| self.out.swap_remove(index).call)
    }

    fn hand_out(&mut self, number: u64, memory: Arc<Memory>, user: &User, lasts: bool) -> Taken {
        if lasts {
            self.remove(number);
            let room = memory.room();
            let call = user.call;
            self.leased.push(Lease { call, memory });
            return Taken::Leased(room);
        }
        if let Some(out) = self.out.iter_mut().find(|out| out.number == number) {
            out.address = Some(memory.address());
            out.bytes = memory.len();
        }
        Taken::Held(Held { number, memory })
    }

    /// The pieces that nobody has and no graph uses.
    fn take_unused(&mut self) -> Vec<Block> {
        let unused = |block: &mut Block| !block.is_kept();
        let unused: Vec<_> = self.idle.extract_if(.., unused).collect();
        self.statistics.trims += unused.len() as u64;
        unused
    }

    /// How many bytes a new piece had best have: as many as any engine has needed, if there may be so
    /// many.
    fn most_useful(&mut self, needed: usize, limit: Limit) -> usize {
        self.largest = self.largest.max(needed);
        let (count, bytes) = self.held();
        let most = limit.room_beside(count, bytes);
        self.largest.min(most).max(needed)
    }

    /// The pieces whose ends are worth a look: the one that is wished for, and those that were used
    /// longest ago.
    fn examined(&self, wish: &Wish) -> [Option<(DeviceAddress, Event)>; EXAMINED] {
        let wished = |block: &&Block| Some(block.memory.address()) == wish.address;
        let first = self.idle.iter().find(wished);
        let others = self.idle.iter().filter(|block| !wished(block));
        let mut blocks = first.into_iter().chain(others);
        std::array::from_fn(|_| {
            let memory = &blocks.next()?.memory;
            Some((memory.address(), memory.event().clone()))
        })
    }

    fn choose(&mut self, wish: &Wish, user: &User, over: Option<&Over>, limit: Limit) -> Choice {
        let wished = |block: &Block| Some(block.memory.address()) == wish.address;
        let fits = |block: &Block| block.memory.len() >= wish.bytes;
        let from_here = |block: &Block| block.was_used_by(user);
        let is_over = |block: &Block| {
            let mut over = over.into_iter().flatten().flatten();
            over.any(|address| *address == block.memory.address())
        };
        let idle = &self.idle;
        let best = |block: &Block| {
            fits(block) && wished(block) && (wish.has_graph || from_here(block) || is_over(block))
        };
        if let Some(index) = idle.iter().position(best) {
            return Choice::Take(index);
        }
        // Somebody is just enqueueing what the graph is of use with.
        let in_use = |out: &Out| !out.lasts && out.address == wish.address;
        if wish.has_graph && wish.address.is_some() && self.out.iter().any(in_use) {
            return Choice::Wait;
        }
        let good = |block: &Block| fits(block) && from_here(block);
        if let Some(index) = idle.iter().rposition(good) {
            return Choice::Take(index);
        }
        if over.is_none() && !idle.is_empty() {
            return Choice::Look;
        }
        let good = |block: &Block| fits(block) && is_over(block);
        if let Some(index) = idle.iter().rposition(good) {
            return Choice::Take(index);
        }
        let (count, bytes) = self.held();
        let outgrown = |block: &Block| {
            let others = bytes - block.memory.len();
            !fits(block)
                && !block.is_kept()
                && (from_here(block) || is_over(block))
                && limit.room_beside(count - 1, others) >= wish.bytes
        };
        if let Some(index) = idle.iter().rposition(outgrown) {
            return Choice::Replace(index);
        }
        if limit.room_beside(count, bytes) >= wish.bytes {
            return Choice::Make(self.most_useful(wish.bytes, limit), Vec::new());
        }
        let busy = idle.iter().position(|block| fits(block) && wished(block));
        if let Some(index) = busy.or_else(|| idle.iter().position(fits)) {
            return Choice::Take(index);
        }
        self.make_room(wish.bytes, limit)
    }

    /// Takes pieces that nobody has, those first that were used longest ago, until there may be one of
    /// so many bytes.
    fn make_room(&mut self, needed: usize, limit: Limit) -> Choice {
        let (mut count, mut bytes) = self.held();
        let mut freed = 0;
        for block in &self.idle {
            if limit.room_beside(count, bytes) >= needed {
                break;
            }
            count -= 1;
            bytes -= block.memory.len();
            freed += 1;
        }
        let has_room = limit.room_beside(count, bytes) >= needed;
        if !has_room && self.out.iter().any(|out| !out.lasts) {
            return Choice::Wait;
        }
        // Without anybody to wait for, which cannot be, it would be better to exceed the limit.
        debug_assert!(has_room, "nobody has what there is no room for");
        let victims = self.idle.drain(..freed).collect();
        Choice::Make(self.most_useful(needed, limit), victims)
    }
}

impl Block {
    /// Whether the last use comes before what a user enqueues now, as far as can be guessed: it was at
    /// the same place, or in the call that the instance had last, which comes before wherever it was.
    fn was_used_by(&self, user: &User) -> bool {
        self.place == Place::here(user.stream) || Some(self.call) == user.last_call
    }

    /// Whether a graph uses it.
    fn is_kept(&self) -> bool {
        Arc::strong_count(&self.memory) > 1
    }
}

impl Place {
    fn here(stream: StreamHandle) -> Self {
        Self(stream, thread::current().id())
    }
}
