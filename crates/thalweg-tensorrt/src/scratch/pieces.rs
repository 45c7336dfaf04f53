//! The pieces of a pool: where they are, and which of them is best taken. Nothing here calls the driver.

use std::thread::{self, ThreadId};

use thalweg_core::{DeviceAddress, StreamHandle};
use thalweg_cuda::Event;

use super::memory::Memory;
use super::pool::{Held, Taken};
use super::{Limit, ScratchStatistics, User, Wish};

/// All pieces of a pool.
#[derive(Default)]
pub(super) struct State {
    /// Those that nobody has, the one that was used longest ago first.
    pub(super) idle: Vec<Block>,
    pub(super) leased: Vec<Lease>,
    /// Those that somebody has in hand.
    pub(super) out: Vec<Out>,
    /// The most that an engine has needed. New pieces have as much.
    pub(super) largest: usize,
    /// Numbers what is out.
    pub(super) next: u64,
    /// How many wait, and who of them goes first.
    pub(super) waiting: usize,
    pub(super) first: Option<u64>,
    pub(super) statistics: ScratchStatistics,
}

/// A piece that nobody has.
pub(super) struct Block {
    pub(super) memory: Memory,
    /// Who used it last: from where, and in which call.
    pub(super) place: Place,
    pub(super) call: u64,
}

/// A piece that is a call's until it ends.
pub(super) struct Lease {
    pub(super) call: u64,
    pub(super) memory: Memory,
}

/// A piece that is being taken, made, replaced, or used for one enqueue.
#[derive(Clone, Copy)]
pub(super) struct Out {
    pub(super) number: u64,
    pub(super) call: u64,
    /// Nowhere yet, of one that is being made.
    pub(super) address: Option<DeviceAddress>,
    pub(super) bytes: usize,
    /// Whether it will be leased.
    pub(super) lasts: bool,
}

/// From where a piece was used: a stream, if it is still the same one, on a thread. It says what is
/// likely, and nothing about order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(StreamHandle, ThreadId);

/// What to do to get a piece.
pub(super) enum Choice {
    Take(usize),
    Replace(usize),
    /// So many bytes, after some others were freed.
    Make(usize, Vec<Block>),
    /// Look which uses are over.
    Look,
    Wait,
}

/// So many pieces are looked at.
pub(super) const EXAMINED: usize = 4;

/// Pieces whose last use is over.
pub(super) type Over = [Option<DeviceAddress>; EXAMINED];

impl State {
    /// How many pieces there are, and of how many bytes in all.
    pub(super) fn held(&self) -> (usize, usize) {
        let idle = self.idle.iter().map(|block| block.memory.len());
        let leased = self.leased.iter().map(|lease| lease.memory.len());
        let out = self.out.iter().map(|out| out.bytes);
        let all = idle.chain(leased).chain(out);
        all.fold((0, 0), |(count, bytes), len| (count + 1, bytes + len))
    }

    /// How many pieces are calls' until these end, or about to be.
    pub(super) fn leases(&self) -> usize {
        self.leased.len() + self.out.iter().filter(|out| out.lasts).count()
    }

    pub(super) fn add(
        &mut self,
        call: u64,
        address: Option<DeviceAddress>,
        bytes: usize,
        lasts: bool,
    ) -> u64 {
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
    pub(super) fn remove(&mut self, number: u64) -> u64 {
        let index = self.out.iter().position(|out| out.number == number);
        index.map_or(0, |index| self.out.swap_remove(index).call)
    }

    pub(super) fn hand_out(
        &mut self,
        number: u64,
        memory: Memory,
        user: &User<'_>,
        lasts: bool,
    ) -> Taken {
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

    /// The pieces that nobody has.
    pub(super) fn take_unused(&mut self) -> Vec<Block> {
        let unused = std::mem::take(&mut self.idle);
        self.statistics.trims += unused.len() as u64;
        unused
    }

    /// How many bytes a new piece had best have: as many as any engine has needed, if there may be so
    /// many.
    pub(super) fn most_useful(&mut self, needed: usize, limit: Limit) -> usize {
        self.largest = self.largest.max(needed);
        let (count, bytes) = self.held();
        let most = limit.room_beside(count, bytes);
        self.largest.min(most).max(needed)
    }

    /// The pieces whose ends are worth a look: the one that is wished for, and those that were used
    /// longest ago.
    pub(super) fn examined(&self, wish: &Wish) -> [Option<(DeviceAddress, Event)>; EXAMINED] {
        let wished = |block: &&Block| Some(block.memory.address()) == wish.address;
        let first = self.idle.iter().find(wished);
        let others = self.idle.iter().filter(|block| !wished(block));
        let mut blocks = first.into_iter().chain(others);
        std::array::from_fn(|_| {
            let memory = &blocks.next()?.memory;
            Some((memory.address(), memory.event().clone()))
        })
    }

    pub(super) fn choose(
        &mut self,
        wish: &Wish,
        user: &User<'_>,
        over: Option<&Over>,
        limit: Limit,
    ) -> Choice {
        let wished = |block: &Block| Some(block.memory.address()) == wish.address;
        let fits = |block: &Block| block.memory.len() >= wish.bytes;
        let from_here = |block: &Block| block.was_used_by(user);
        let is_over = |block: &Block| {
            let mut over = over.into_iter().flatten().flatten();
            over.any(|address| *address == block.memory.address())
        };
        let idle = &self.idle;
        let best =
            |block: &Block| fits(block) && wished(block) && (from_here(block) || is_over(block));
        if let Some(index) = idle.iter().position(best) {
            return Choice::Take(index);
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
    pub(super) fn make_room(&mut self, needed: usize, limit: Limit) -> Choice {
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
    pub(super) fn was_used_by(&self, user: &User<'_>) -> bool {
        self.place == Place::here(user.stream) || Some(self.call) == user.last_call
    }
}

impl Place {
    pub(super) fn here(stream: StreamHandle) -> Self {
        Self(stream, thread::current().id())
    }
}
