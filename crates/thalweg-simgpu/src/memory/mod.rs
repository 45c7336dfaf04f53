//! The memory that devices can reach.
//!
//! Allocating and freeing can be work of a stream, so there are two sets of allocations: the `known`
//! ones, which callers have allocated and not freed, and the `live` ones, which exist for the work
//! that runs now.

mod arena;
mod check;
mod history;
mod pages;
mod pool;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use cudarc::driver::sys::CUresult;

pub(crate) use arena::{Arena, FREED, FRESH};
pub(crate) use check::Accessor;
pub(crate) use history::{Access, History};
pub(crate) use pages::{Mapping, Span, pageable};
pub(crate) use pool::{Cached, Pool};

use crate::clock::Clock;
use crate::report::{ReportKind, Reports, Site};

/// The number of bytes of freed host memory that are kept, so that late accesses are reported.
const QUARANTINE: u64 = 64 << 20;

/// The number of an allocation. No other allocation ever has it.
pub(crate) type BlockId = u64;

/// One allocation.
pub(crate) struct Block {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) kind: BlockKind,
    pub(crate) history: History,
    /// The call that allocated it.
    pub(crate) origin: Arc<Site>,
    /// The context to which it belongs.
    pub(crate) context: u64,
}

/// The kind of an allocation, and where its bytes are.
pub(crate) enum BlockKind {
    /// Device memory. `pool` is the pool that it comes from, `reserved` the bytes that it takes there.
    Device {
        device: usize,
        pool: Option<u64>,
        reserved: u64,
    },
    /// Page-locked memory of the host, allocated by the driver.
    Pinned { memory: Mapping, flags: u32 },
    /// Memory of the caller, registered with the driver.
    Registered { flags: u32 },
}

impl Block {
    pub(crate) fn is_host(&self) -> bool {
        !matches!(self.kind, BlockKind::Device { .. })
    }

    pub(crate) fn end(&self) -> u64 {
        self.start + self.len
    }
}

/// An allocation that was freed.
struct Freed {
    len: u64,
    /// The call or the work that freed it.
    by: Arc<Site>,
    /// True if a plan of faults made the call that freed it fail. Then it may be freed once more.
    injected: bool,
}

/// All memory of the machine that devices can reach.
pub(crate) struct Memory {
    pub(crate) arenas: Vec<Arena>,
    blocks: HashMap<BlockId, Block>,
    last_block: BlockId,
    known: BTreeMap<u64, BlockId>,
    live: BTreeMap<u64, BlockId>,
    freed_known: BTreeMap<u64, Freed>,
    freed_live: BTreeMap<u64, Freed>,
    /// Freed host memory. It is kept for a while, so that a late access is reported, and does not
    /// reach an allocation that comes after it.
    quarantine: VecDeque<(u64, Mapping)>,
    /// True if fresh and freed memory is filled with patterns.
    fill: bool,
}

impl Memory {
    pub(crate) fn new(devices: usize, bytes: u64, fill: bool) -> Self {
        let arenas = (0..devices).map_while(|_| Arena::new(bytes)).collect();
        Self {
            arenas,
            blocks: HashMap::new(),
            last_block: 0,
            known: BTreeMap::new(),
            live: BTreeMap::new(),
            freed_known: BTreeMap::new(),
            freed_live: BTreeMap::new(),
            quarantine: VecDeque::new(),
            fill,
        }
    }

    /// Adds a known allocation.
    pub(crate) fn add(&mut self, block: Block) -> BlockId {
        self.last_block += 1;
        forget(&mut self.freed_known, block.start, block.len);
        self.known.insert(block.start, self.last_block);
        self.blocks.insert(self.last_block, block);
        self.last_block
    }

    /// Makes an allocation live.
    pub(crate) fn begin_lifetime(&mut self, id: BlockId) {
        let Some(block) = self.blocks.get(&id) else {
            return;
        };
        let (start, len) = (block.start, block.len);
        forget(&mut self.freed_live, start, len);
        self.live.insert(start, id);
        if self.fill
            && let BlockKind::Device { device, .. } = block.kind
            && let Some(span) = self.arenas[device].span(start, len)
        {
            span.fill(&FRESH);
        }
    }

    pub(crate) fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(&id)
    }

    /// The known allocation that starts at an address.
    pub(crate) fn starting_at(&self, address: u64) -> Option<BlockId> {
        self.known.get(&address).copied()
    }

    /// The known allocation around an address.
    pub(crate) fn known_at(&self, address: u64) -> Option<&Block> {
        let (_, id) = self.known.range(..=address).next_back()?;
        self.blocks.get(id).filter(|block| address < block.end())
    }

    /// All known allocations.
    pub(crate) fn known_blocks(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        let known = self.known.values();
        known.filter_map(|id| Some((*id, self.blocks.get(id)?)))
    }

    /// Removes a known allocation. The result is `None` if a call that was made to fail has freed it
    /// before.
    ///
    /// # Errors
    /// If no known allocation starts at the address, which is also reported.
    pub(crate) fn free_known(
        &mut self,
        address: u64,
        by: &Arc<Site>,
        injected: bool,
        reports: &mut Reports,
    ) -> Result<Option<BlockId>, CUresult> {
        if let Some(id) = self.known.remove(&address) {
            let len = self.blocks.get(&id).map_or(0, |block| block.len);
            self.freed_known.insert(
                address,
                Freed {
                    len,
                    by: by.clone(),
                    injected,
                },
            );
            return Ok(Some(id));
        }
        match self.freed_known.get_mut(&address) {
            Some(freed) if freed.injected => {
                freed.injected = false;
                return Ok(None);
            }
            Some(freed) => reports.add(
                ReportKind::DoubleFree,
                format!("{by} frees {address:#x}, which was freed before"),
                vec![(**by).clone(), (*freed.by).clone()],
            ),
            None => reports.add(
                ReportKind::InvalidFree,
                format!("{by} frees {address:#x}, where no allocation starts"),
                vec![(**by).clone()],
            ),
        }
        Err(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// Ends a live allocation. Device memory of no pool goes back to its device. While work is `busy`,
    /// nothing is unmapped.
    pub(crate) fn end_lifetime(&mut self, id: BlockId, by: &Arc<Site>, busy: bool) {
        let Some(block) = self.blocks.remove(&id) else {
            return;
        };
        if self.live.get(&block.start) == Some(&id) {
            self.live.remove(&block.start);
        }
        if self.freed_live.len() > 4096 {
            self.freed_live.clear();
        }
        let freed = Freed {
            len: block.len,
            by: by.clone(),
            injected: false,
        };
        match block.kind {
            BlockKind::Device { device, pool, .. } => {
                self.freed_live.insert(block.start, freed);
                let span = self.arenas[device].span(block.start, block.len);
                if self.fill
                    && let Some(span) = span
                {
                    span.fill(&FREED);
                }
                if pool.is_none() {
                    self.arenas[device].give_back(block.start, block.len);
                }
            }
            BlockKind::Pinned { memory, .. } => {
                memory.span().fill(&FREED);
                self.freed_live.insert(block.start, freed);
                self.quarantine.push_back((block.len, memory));
                while !busy && self.quarantine.iter().map(|(len, _)| len).sum::<u64>() > QUARANTINE
                {
                    if let Some((len, memory)) = self.quarantine.pop_front() {
                        forget(&mut self.freed_live, memory.address(), len);
                        forget(&mut self.freed_known, memory.address(), len);
                    }
                }
            }
            // The memory belongs to the caller, who may go on using it.
            BlockKind::Registered { .. } => {}
        }
    }

    /// An access to an allocation that a clock does not cover, if there is one.
    pub(crate) fn in_use(&self, id: BlockId, clock: &Clock) -> Option<Access> {
        let block = self.blocks.get(&id)?;
        block.history.unknown(0..block.len, clock)
    }

    /// Reports that a caller names memory that is not allocated.
    pub(crate) fn report_unknown(&self, address: u64, by: &Site, reports: &mut Reports) {
        match freed_at(&self.freed_known, address) {
            Some(freed) => reports.add(
                ReportKind::UseAfterFree,
                format!("{by} names {address:#x}, which {} freed", freed.by),
                vec![by.clone(), (*freed.by).clone()],
            ),
            None => reports.add(
                ReportKind::InvalidAddress,
                format!("{by} names {address:#x}, where there is no memory for it"),
                vec![by.clone()],
            ),
        }
    }

    /// Returns true if an address is, or was, memory that the driver knows. All other memory is
    /// ordinary memory of the host.
    pub(crate) fn is_ours(&self, address: u64) -> bool {
        self.arenas.iter().any(|arena| arena.contains(address))
            || self.known_at(address).is_some()
            || self.live_at(address, 1).is_some()
            || freed_at(&self.freed_live, address).is_some()
    }

    /// The allocation around an address that exists for the work that runs now. An empty access also
    /// finds the allocation before it.
    fn live_at(&self, address: u64, len: u64) -> Option<BlockId> {
        let (_, id) = self.live.range(..=address).next_back()?;
        let block = self.blocks.get(id)?;
        (address < block.end() || len == 0).then_some(*id)
    }
}

/// The freed allocation around an address.
fn freed_at(freed: &BTreeMap<u64, Freed>, address: u64) -> Option<&Freed> {
    let (start, found) = freed.range(..=address).next_back()?;
    (address < start + found.len).then_some(found)
}

/// Removes the freed allocations that overlap some memory.
fn forget(freed: &mut BTreeMap<u64, Freed>, start: u64, len: u64) {
    let covered: Vec<u64> = freed
        .range(..start + len)
        .rev()
        .take_while(|(other, found)| **other + found.len > start)
        .map(|(other, _)| *other)
        .collect();
    for other in covered {
        freed.remove(&other);
    }
}
