//! Memory that devices can reach, and the checks of every access to it.
//!
//! There are two views of what is allocated, since freeing and allocating can be work of a
//! stream: `known` is what callers hold, `live` is what exists for the work that runs now.

mod arena;
mod history;
mod pages;
mod pool;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use cudarc::driver::sys::CUresult;

pub(crate) use arena::{Arena, FREED, FRESH};
pub(crate) use history::{Access, History};
pub(crate) use pages::{Mapping, Span, pageable};
pub(crate) use pool::{Cached, Pool};

use crate::clock::Clock;
use crate::report::{ReportKind, Reports, Site};

/// How many bytes of freed host memory are kept, to find out who still uses them.
const QUARANTINE: u64 = 64 << 20;

/// Names an allocation; never used twice.
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

/// Where an allocation's bytes are.
pub(crate) enum BlockKind {
    /// On a device; from a pool, and then with what the pool holds for it.
    Device {
        device: usize,
        pool: Option<u64>,
        reserved: u64,
    },
    /// On the host, allocated by the driver.
    Pinned { memory: Mapping, flags: u32 },
    /// On the host, of the caller.
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

/// An allocation that is gone.
struct Dead {
    len: u64,
    freed: Arc<Site>,
    /// The call that freed it was made to fail, so whoever frees it once more is right.
    injected: bool,
}

/// Who wants to touch memory.
pub(crate) struct Accessor<'a> {
    pub(crate) access: Access,
    pub(crate) clock: &'a Clock,
}

/// All memory.
pub(crate) struct Memory {
    pub(crate) arenas: Vec<Arena>,
    blocks: HashMap<BlockId, Block>,
    last_block: BlockId,
    known: BTreeMap<u64, BlockId>,
    live: BTreeMap<u64, BlockId>,
    dead_known: BTreeMap<u64, Dead>,
    dead_live: BTreeMap<u64, Dead>,
    /// Host memory that was freed. It is kept for a while, so that work that still touches it is
    /// found out instead of touching what comes after it.
    quarantine: VecDeque<(u64, Mapping)>,
    /// Whether fresh and freed memory is filled.
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
            dead_known: BTreeMap::new(),
            dead_live: BTreeMap::new(),
            quarantine: VecDeque::new(),
            fill,
        }
    }

    /// Adds an allocation that callers may name from now on.
    pub(crate) fn add(&mut self, block: Block) -> BlockId {
        self.last_block += 1;
        forget(&mut self.dead_known, block.start, block.len);
        self.known.insert(block.start, self.last_block);
        self.blocks.insert(self.last_block, block);
        self.last_block
    }

    /// Makes an allocation exist for work that runs from now on.
    pub(crate) fn begin_lifetime(&mut self, id: BlockId) {
        let Some(block) = self.blocks.get(&id) else {
            return;
        };
        let (start, len) = (block.start, block.len);
        forget(&mut self.dead_live, start, len);
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

    /// The allocation that starts at an address, as callers see it.
    pub(crate) fn starting_at(&self, address: u64) -> Option<BlockId> {
        self.known.get(&address).copied()
    }

    /// The allocation around an address, as callers see it.
    pub(crate) fn known_at(&self, address: u64) -> Option<&Block> {
        let (_, id) = self.known.range(..=address).next_back()?;
        self.blocks.get(id).filter(|block| address < block.end())
    }

    /// Everything that callers have not freed.
    pub(crate) fn known_blocks(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        let known = self.known.values();
        known.filter_map(|id| Some((*id, self.blocks.get(id)?)))
    }

    /// Takes an allocation out of what callers may name.
    ///
    /// # Errors
    /// The address of no allocation is reported, unless a call that was made to fail freed it.
    pub(crate) fn free_known(
        &mut self,
        address: u64,
        by: &Arc<Site>,
        injected: bool,
        reports: &mut Reports,
    ) -> Result<Option<BlockId>, CUresult> {
        if let Some(id) = self.known.remove(&address) {
            let len = self.blocks.get(&id).map_or(0, |block| block.len);
            self.dead_known.insert(
                address,
                Dead {
                    len,
                    freed: by.clone(),
                    injected,
                },
            );
            return Ok(Some(id));
        }
        match self.dead_known.get_mut(&address) {
            Some(dead) if dead.injected => {
                dead.injected = false;
                return Ok(None);
            }
            Some(dead) => reports.add(
                ReportKind::DoubleFree,
                format!("{by} frees {address:#x}, which was freed before"),
                vec![(**by).clone(), (*dead.freed).clone()],
            ),
            None => reports.add(
                ReportKind::InvalidFree,
                format!("{by} frees {address:#x}, where no allocation starts"),
                vec![(**by).clone()],
            ),
        }
        Err(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// Ends an allocation for work that runs from now on. Device memory of no pool goes back to
    /// its device. While work is `busy`, nothing is unmapped.
    pub(crate) fn end_lifetime(&mut self, id: BlockId, by: &Arc<Site>, busy: bool) {
        let Some(block) = self.blocks.remove(&id) else {
            return;
        };
        if self.live.get(&block.start) == Some(&id) {
            self.live.remove(&block.start);
        }
        if self.dead_live.len() > 4096 {
            self.dead_live.clear();
        }
        let dead = Dead {
            len: block.len,
            freed: by.clone(),
            injected: false,
        };
        match block.kind {
            BlockKind::Device { device, pool, .. } => {
                self.dead_live.insert(block.start, dead);
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
                self.dead_live.insert(block.start, dead);
                self.quarantine.push_back((block.len, memory));
                while !busy && self.quarantine.iter().map(|(len, _)| len).sum::<u64>() > QUARANTINE
                {
                    if let Some((len, memory)) = self.quarantine.pop_front() {
                        forget(&mut self.dead_live, memory.address(), len);
                        forget(&mut self.dead_known, memory.address(), len);
                    }
                }
            }
            // The memory is the caller's, who may go on using it.
            BlockKind::Registered { .. } => {}
        }
    }

    /// Whether some work may have touched an allocation, or be about to, that a clock does not
    /// know.
    pub(crate) fn in_use(&self, id: BlockId, clock: &Clock) -> Option<Access> {
        let block = self.blocks.get(&id)?;
        block.history.unknown(0..block.len, clock)
    }

    /// Checks and records an access to memory that a device reaches, and gives its bytes.
    ///
    /// # Errors
    /// If there is no such memory, or it was never there. Memory that is gone is reported, but
    /// its bytes are given where they still exist.
    pub(crate) fn check_access(
        &mut self,
        address: u64,
        len: u64,
        write: bool,
        by: &Accessor<'_>,
        reports: &mut Reports,
    ) -> Result<Span, CUresult> {
        let site = &by.access.site;
        let what = if write { "writes" } else { "reads" };
        let range = Range(address, len);
        let arena = self.arenas.iter().find(|arena| arena.contains(address));
        let found = self.live.range(..=address).next_back();
        let found = found.and_then(|(_, id)| self.blocks.get_mut(id));
        if let Some(block) = found.filter(|block| address < block.end() || len == 0) {
            if len > block.end().saturating_sub(address) && len > 0 {
                reports.add(
                    ReportKind::OutOfBounds,
                    format!(
                        "{site} {what} {range} of an allocation that is {}, from {}",
                        Range(block.start, block.len),
                        block.origin
                    ),
                    vec![(**site).clone(), (*block.origin).clone()],
                );
                return Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
            }
            let start = address - block.start;
            let conflict = block
                .history
                .access(start..start + len, write, &by.access, by.clock);
            if let Some(other) = conflict {
                let host = by.access.epoch.slot == crate::clock::HOST
                    || other.epoch.slot == crate::clock::HOST;
                reports.add(
                    if host {
                        ReportKind::HostRace
                    } else {
                        ReportKind::Race
                    },
                    format!(
                        "{site} {what} {range}, and nothing orders it after {}",
                        other.site
                    ),
                    vec![(**site).clone(), (*other.site).clone()],
                );
            }
            return match &block.kind {
                BlockKind::Device { device, .. } => self.arenas[*device].span(address, len),
                BlockKind::Pinned { memory, .. } => {
                    Some(memory.span().part(start as usize, len as usize))
                }
                BlockKind::Registered { .. } => {
                    // SAFETY: the caller registered the memory, and has to leave it in place
                    // until it is not registered any more.
                    let span = unsafe { Span::of_caller(address, len as usize) };
                    Some(span)
                }
            }
            .ok_or(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        }
        // Callers have it, but the work that makes it exist has not run.
        if let Some(block) = self.known_at(address).filter(|b| b.end() - address >= len) {
            reports.add(
                ReportKind::Race,
                format!(
                    "{site} {what} {range}, and nothing orders it after {}",
                    block.origin
                ),
                vec![(**site).clone(), (*block.origin).clone()],
            );
            let span = self
                .arenas
                .iter()
                .find_map(|arena| arena.span(address, len));
            return span.ok_or(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        }
        let dead = self.dead_live.range(..=address).next_back();
        if let Some((_, dead)) = dead.filter(|(start, dead)| address < **start + dead.len) {
            reports.add(
                ReportKind::UseAfterFree,
                format!("{site} {what} {range}, which {} freed", dead.freed),
                vec![(**site).clone(), (*dead.freed).clone()],
            );
            let kept = self.quarantine.iter().find_map(|(kept, memory)| {
                let offset = address.checked_sub(memory.address())?;
                let fits = offset.checked_add(len)? <= *kept;
                fits.then(|| memory.span().part(offset as usize, len as usize))
            });
            return arena
                .and_then(|arena| arena.span(address, len))
                .or(kept)
                .ok_or(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        }
        reports.add(
            ReportKind::InvalidAddress,
            format!("{site} {what} {range}, where there is no memory for it"),
            vec![(**site).clone()],
        );
        Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)
    }

    /// Records that something touched all of an allocation, and gives what it conflicts with.
    pub(crate) fn access_block(&mut self, id: BlockId, by: &Accessor<'_>) -> Option<Access> {
        let block = self.blocks.get_mut(&id)?;
        block
            .history
            .access(0..block.len, true, &by.access, by.clock)
    }

    /// Reports that a caller names memory that it does not have.
    pub(crate) fn report_unknown(&self, address: u64, by: &Site, reports: &mut Reports) {
        let dead = self.dead_known.range(..=address).next_back();
        match dead.filter(|(start, dead)| address < **start + dead.len) {
            Some((_, dead)) => reports.add(
                ReportKind::UseAfterFree,
                format!("{by} names {address:#x}, which {} freed", dead.freed),
                vec![by.clone(), (*dead.freed).clone()],
            ),
            None => reports.add(
                ReportKind::InvalidAddress,
                format!("{by} names {address:#x}, where there is no memory for it"),
                vec![by.clone()],
            ),
        }
    }

    /// Whether an address is, or was, memory that the driver knows. Everything else is ordinary
    /// memory of the host.
    pub(crate) fn is_ours(&self, address: u64) -> bool {
        let in_dead = |dead: &BTreeMap<u64, Dead>| {
            let before = dead.range(..=address).next_back();
            before.is_some_and(|(start, dead)| address < start + dead.len)
        };
        self.arenas.iter().any(|arena| arena.contains(address))
            || self.known_at(address).is_some()
            || self
                .live
                .range(..=address)
                .next_back()
                .and_then(|(_, id)| self.blocks.get(id))
                .is_some_and(|block| address < block.end())
            || in_dead(&self.dead_live)
    }
}

fn forget(dead: &mut BTreeMap<u64, Dead>, start: u64, len: u64) {
    let covered: Vec<u64> = dead
        .range(..start + len)
        .rev()
        .take_while(|(other, dead)| **other + dead.len > start)
        .map(|(other, _)| *other)
        .collect();
    for other in covered {
        dead.remove(&other);
    }
}

/// Addresses, as reports print them.
struct Range(u64, u64);

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at {:#x}", self.1, self.0)
    }
}
