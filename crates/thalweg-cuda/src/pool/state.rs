//! The state of a pool, and the choice of the best block. Nothing here calls the driver.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::block::Block;
use super::limit::Limit;
use super::request::Request;
use super::sizes::{Sizes, class};
use super::statistics::PoolStatistics;
use crate::handle::StreamId;
use crate::order::Uses;

/// The rules of a pool.
#[derive(Clone, Copy)]
pub(super) struct Policy {
    pub(super) limit: Limit,
    pub(super) sizes: Sizes,
}

/// The state of a pool.
#[derive(Default)]
pub(super) struct State {
    /// Blocks that nobody has, by size; of each size the one that came back last is the last.
    idle: BTreeMap<usize, Vec<Block>>,
    /// Numbers the blocks that come back.
    since: u64,
    /// The most bytes that a lease has needed.
    pub(super) largest: usize,
    /// The number of leases that last until their call ends, or are about to.
    pub(super) calls: usize,
    /// The number of leases that last until something was enqueued.
    pub(super) enqueues: usize,
    /// Those that wait on the host: how many, the numbers they get, and the one that goes first.
    pub(super) waiting: usize,
    pub(super) tickets: u64,
    pub(super) first: Option<u64>,
    pub(super) statistics: PoolStatistics,
}

/// The duration of a loan of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loan {
    /// As long as the buffer lives.
    Buffer,
    /// Until a call ends.
    Call,
    /// Until something was enqueued.
    Enqueue,
}

/// The next step to get a block.
pub(super) enum Choice {
    /// Take this one. `is_hit`: nobody else's last use has to be waited for.
    Take { block: Block, is_hit: bool },
    /// Make a larger block instead of this one.
    Replace(Block),
    /// Make a block of this size, after these were freed, which are not counted any more.
    Make { size: usize, victims: Vec<Block> },
    /// Find out which of these uses are complete, and choose again.
    Look(Looked, Candidates),
    /// Wait until somebody gives a block back.
    Wait,
}

/// The blocks of which it was found out whether their uses are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Looked {
    None,
    /// The one that is wished for.
    Wished,
    /// Some, those first that came back longest ago.
    Oldest,
}

/// The most blocks that are looked at, before another is made.
const LOOKED_AT: usize = 4;

/// The uses of blocks that are looked at.
pub(super) type Candidates = [Option<Uses>; LOOKED_AT];

/// A block in the state: its size, and its index among those of the size.
type Position = (usize, usize);

impl State {
    /// The best block for a request on a stream.
    ///
    /// That is only a preference, for speed: the one that the tenant wishes for, if it can be had at once
    /// or its last use is complete; another one of which that is so; a new one, if the limit allows; one
    /// that the device still works with.
    pub(super) fn choose(
        &mut self,
        policy: Policy,
        request: &Request<'_>,
        stream: StreamId,
        looked: Looked,
    ) -> Choice {
        let (sizes, fitting) = (policy.sizes, policy.sizes.fitting(request.len));
        let at_once = |block: &Block| {
            block.uses.only_on(stream)
                || request
                    .tenant
                    .is_some_and(|tenant| block.uses.were_of(tenant))
        };
        let wish = request.tenant.and_then(|tenant| tenant.wish);
        let wished = wish.and_then(|wish| {
            self.latest(sizes, fitting.clone(), |block| {
                block.memory.address() == wish
            })
        });
        if let Some(position) = wished {
            let block = self.get(position);
            if at_once(block) {
                return self.take(position, true);
            }
            if looked == Looked::None {
                let uses = Some(block.uses.clone());
                return Choice::Look(Looked::Wished, [uses, None, None, None]);
            }
        }
        if let Some(position) = self.latest(sizes, fitting.clone(), at_once) {
            return self.take(position, true);
        }
        if looked < Looked::Oldest {
            let uses = self.candidates(sizes, fitting.clone());
            if uses[0].is_some() {
                return Choice::Look(Looked::Oldest, uses);
            }
        }
        if sizes == Sizes::Largest
            && let Some(position) = self.outgrown(policy.limit, request.len, at_once)
        {
            return Choice::Replace(self.remove(position));
        }
        if request.tenant.is_none()
            && let Some(position) =
                self.oldest(sizes, fitting.clone(), |block| block.may_be_only_on(stream))
        {
            return self.take(position, false);
        }
        if self.has_capacity(policy, request.len) {
            return self.make(policy, request.len, Vec::new());
        }
        let wished = wished.filter(|position| self.get(*position).has_ends());
        let busy = wished.or_else(|| self.oldest(sizes, fitting, Block::has_ends));
        match busy {
            Some(position) => self.take(position, false),
            None => self.make_room(policy, request),
        }
    }

    /// Takes blocks that nobody has, those first that came back longest ago, until there may be one for the
    /// request.
    fn make_room(&mut self, policy: Policy, request: &Request<'_>) -> Choice {
        let (mut blocks, mut bytes) = (self.statistics.blocks, self.statistics.held);
        let needed = least(policy.sizes, request.len);
        let fits = |blocks, bytes| policy.limit.capacity_beside(blocks, bytes) >= needed;
        let mut idle: Vec<_> = self.blocks().filter(|block| block.has_ends()).collect();
        idle.sort_by_key(|block| block.since);
        let mut oldest = Vec::new();
        for block in idle {
            if fits(blocks, bytes) {
                break;
            }
            blocks -= 1;
            bytes -= block.len();
            oldest.push(block.since);
        }
        if !fits(blocks, bytes) && request.tenant.is_some() && self.enqueues > 0 {
            return Choice::Wait;
        }
        // Without anybody to wait for it is better to exceed the limit.
        let victims = self.remove_all(|block| oldest.contains(&block.since));
        for block in &victims {
            self.subtract(block.len());
        }
        self.make(policy, request.len, victims)
    }

    fn make(&mut self, policy: Policy, needed: usize, victims: Vec<Block>) -> Choice {
        Choice::Make {
            size: self.new_size(policy, needed),
            victims,
        }
    }

    /// The best size of a new block.
    pub(super) fn new_size(&mut self, policy: Policy, needed: usize) -> usize {
        if policy.sizes == Sizes::Classes {
            return class(needed);
        }
        self.largest = self.largest.max(needed);
        let capacity = policy
            .limit
            .capacity_beside(self.statistics.blocks, self.statistics.held);
        self.largest.min(capacity).max(needed)
    }

    fn has_capacity(&self, policy: Policy, needed: usize) -> bool {
        let (blocks, bytes) = (self.statistics.blocks, self.statistics.held);
        policy.limit.capacity_beside(blocks, bytes) >= least(policy.sizes, needed)
    }

    /// A block that is too small and can go, so that there may be a larger one.
    fn outgrown(
        &self,
        limit: Limit,
        needed: usize,
        at_once: impl Fn(&Block) -> bool,
    ) -> Option<Position> {
        let (blocks, bytes) = (self.statistics.blocks, self.statistics.held);
        let smaller = 0..=needed.checked_sub(1)?;
        self.latest(Sizes::Largest, smaller, |block| {
            at_once(block) && limit.capacity_beside(blocks - 1, bytes - block.len()) >= needed
        })
    }

    /// Counts a block that is lent out.
    pub(super) fn lend(&mut self, loan: Loan) {
        match loan {
            Loan::Buffer => {}
            Loan::Call => self.calls += 1,
            Loan::Enqueue => self.enqueues += 1,
        }
    }

    /// Counts a block that is lent out no more.
    pub(super) fn end_loan(&mut self, loan: Loan) {
        match loan {
            Loan::Buffer => {}
            Loan::Call => self.calls -= 1,
            Loan::Enqueue => self.enqueues -= 1,
        }
    }

    /// Counts a block that is there, or about to be.
    pub(super) fn add(&mut self, bytes: usize) {
        self.statistics.blocks += 1;
        self.statistics.held += bytes;
    }

    /// Counts a block that is gone.
    pub(super) fn subtract(&mut self, bytes: usize) {
        self.statistics.blocks -= 1;
        self.statistics.held -= bytes;
    }

    /// Puts a block back that somebody had.
    pub(super) fn put(&mut self, block: Block) {
        self.since += 1;
        let since = self.since;
        self.put_as_it_was(Block { since, ..block });
    }

    /// Puts a block back that nobody has had since it was taken out.
    pub(super) fn put_as_it_was(&mut self, block: Block) {
        let blocks = self.idle.entry(block.len()).or_default();
        let index = blocks.partition_point(|other| other.since < block.since);
        blocks.insert(index, block);
    }

    /// Takes out the blocks whose last use has a known end. They are not counted any more.
    pub(super) fn take_unused(&mut self) -> Vec<Block> {
        let unused = self.remove_all(Block::has_ends);
        self.idle.retain(|_, blocks| !blocks.is_empty());
        for block in &unused {
            self.subtract(block.len());
        }
        self.statistics.trimmed += unused.len() as u64;
        unused
    }

    /// Takes out all blocks.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Block> + use<> {
        std::mem::take(&mut self.idle).into_values().flatten()
    }

    /// The bytes of the blocks that nobody has.
    pub(super) fn idle_bytes(&self) -> usize {
        self.blocks().map(Block::len).sum()
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.idle.values().flatten()
    }

    fn get(&self, (size, index): Position) -> &Block {
        &self.idle[&size][index]
    }

    fn remove(&mut self, (size, index): Position) -> Block {
        let blocks = self.idle.get_mut(&size).expect("a position of a block");
        blocks.remove(index)
    }

    fn remove_all(&mut self, pleases: impl Fn(&Block) -> bool) -> Vec<Block> {
        let blocks = self.idle.values_mut();
        blocks
            .flat_map(|blocks| blocks.extract_if(.., |block| pleases(block)))
            .collect()
    }

    fn take(&mut self, position: Position, is_hit: bool) -> Choice {
        match is_hit {
            true => self.statistics.hits += 1,
            false => self.statistics.waits += 1,
        }
        let block = self.remove(position);
        Choice::Take { block, is_hit }
    }

    /// The block that came back last among those that please; where sizes are classes, of the smallest
    /// size that has one.
    fn latest(
        &self,
        sizes: Sizes,
        range: RangeInclusive<usize>,
        pleases: impl Fn(&Block) -> bool,
    ) -> Option<Position> {
        let mut found = self.idle.range(range).filter_map(|(size, blocks)| {
            let index = blocks.iter().rposition(&pleases)?;
            Some((blocks[index].since, (*size, index)))
        });
        let latest = match sizes {
            Sizes::Classes => found.next(),
            Sizes::Largest => found.max(),
        };
        latest.map(|(_, position)| position)
    }

    /// The block that came back longest ago among those that please; where sizes are classes, of the
    /// smallest size that has one.
    fn oldest(
        &self,
        sizes: Sizes,
        range: RangeInclusive<usize>,
        pleases: impl Fn(&Block) -> bool,
    ) -> Option<Position> {
        let mut found = self.idle.range(range).filter_map(|(size, blocks)| {
            let index = blocks.iter().position(&pleases)?;
            Some((blocks[index].since, (*size, index)))
        });
        let oldest = match sizes {
            Sizes::Classes => found.next(),
            Sizes::Largest => found.min(),
        };
        oldest.map(|(_, position)| position)
    }

    /// The uses of blocks that are worth a look: those that fit and came back longest ago; where smaller
    /// ones can be replaced, also of these.
    fn candidates(&self, sizes: Sizes, fitting: RangeInclusive<usize>) -> Candidates {
        let range = match sizes {
            Sizes::Classes => fitting,
            Sizes::Largest => 0..=usize::MAX,
        };
        let mut candidates: Candidates = Default::default();
        let mut last = None;
        for candidate in &mut candidates {
            let is_next = |block: &Block| block.has_ends() && Some(block.since) > last;
            let Some(position) = self.oldest(Sizes::Largest, range.clone(), is_next) else {
                break;
            };
            let block = self.get(position);
            last = Some(block.since);
            *candidate = Some(block.uses.clone());
        }
        candidates
    }
}

/// The size of the smallest block for so many bytes.
fn least(sizes: Sizes, needed: usize) -> usize {
    match sizes {
        Sizes::Classes => class(needed),
        Sizes::Largest => needed,
    }
}
