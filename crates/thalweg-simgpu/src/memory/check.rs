//! The checks of accesses to memory.

use std::fmt;

use cudarc::driver::sys::CUresult;

use super::{Access, Block, BlockId, BlockKind, Memory, Span, freed_at};
use crate::clock::{Clock, HOST};
use crate::report::{ReportKind, Reports, Site};

/// The origin of an access: the work that makes it, and the clock of what is ordered before.
pub(crate) struct Accessor<'a> {
    pub(crate) access: Access,
    pub(crate) clock: &'a Clock,
}

/// An access that is being checked. It is displayed as the start of a report's message.
struct Attempt<'a> {
    address: u64,
    len: u64,
    write: bool,
    by: &'a Accessor<'a>,
}

impl Memory {
    /// Checks and records an access, and returns the bytes.
    ///
    /// # Errors
    /// If there is no such memory, and never was. An access to freed memory is reported, but returns
    /// the bytes where they still exist.
    pub(crate) fn check_access(
        &mut self,
        address: u64,
        len: u64,
        write: bool,
        by: &Accessor<'_>,
        reports: &mut Reports,
    ) -> Result<Span, CUresult> {
        let attempt = Attempt {
            address,
            len,
            write,
            by,
        };
        let span = if let Some(id) = self.live_at(address, len) {
            self.access_live(id, &attempt, reports)
        } else if let Some(block) = self.known_at(address).filter(|b| b.end() - address >= len) {
            // The work that makes it live has not run.
            attempt.report_unordered(ReportKind::Race, &block.origin, reports);
            self.device_span(address, len)
        } else if let Some(freed) = freed_at(&self.freed_live, address) {
            let message = format!("{attempt}, which {} freed", freed.by);
            attempt.report(ReportKind::UseAfterFree, message, Some(&freed.by), reports);
            self.device_span(address, len)
                .or_else(|| self.quarantined_span(address, len))
        } else {
            let message = format!("{attempt}, where there is no memory for it");
            attempt.report(ReportKind::InvalidAddress, message, None, reports);
            None
        };
        span.ok_or(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)
    }

    /// Records a write of a whole allocation, and returns an access that it conflicts with.
    pub(crate) fn access_block(&mut self, id: BlockId, by: &Accessor<'_>) -> Option<Access> {
        let block = self.blocks.get_mut(&id)?;
        block
            .history
            .access(0..block.len, true, &by.access, by.clock)
    }

    fn access_live(
        &mut self,
        id: BlockId,
        attempt: &Attempt<'_>,
        reports: &mut Reports,
    ) -> Option<Span> {
        let (address, len) = (attempt.address, attempt.len);
        let block = self.blocks.get_mut(&id)?;
        if len > block.end().saturating_sub(address) && len > 0 {
            let (range, origin) = (Range(block.start, block.len), &block.origin);
            let message = format!("{attempt} of an allocation that is {range}, from {origin}");
            attempt.report(ReportKind::OutOfBounds, message, Some(origin), reports);
            return None;
        }
        attempt.check_order(block, reports);
        let start = address - block.start;
        match &block.kind {
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
    }

    /// The bytes at an address of a device, whatever is allocated there.
    fn device_span(&self, address: u64, len: u64) -> Option<Span> {
        let mut arenas = self.arenas.iter();
        arenas.find_map(|arena| arena.span(address, len))
    }

    /// The bytes at an address of freed host memory, while they are kept.
    fn quarantined_span(&self, address: u64, len: u64) -> Option<Span> {
        self.quarantine.iter().find_map(|(kept, memory)| {
            let offset = address.checked_sub(memory.address())?;
            let fits = offset.checked_add(len)? <= *kept;
            fits.then(|| memory.span().part(offset as usize, len as usize))
        })
    }
}

impl Attempt<'_> {
    /// Records the access to a live allocation, and reports an earlier one that it conflicts with.
    fn check_order(&self, block: &mut Block, reports: &mut Reports) {
        let start = self.address - block.start;
        let (access, clock) = (&self.by.access, self.by.clock);
        let conflict = block
            .history
            .access(start..start + self.len, self.write, access, clock);
        if let Some(other) = conflict {
            let host = access.epoch.slot == HOST || other.epoch.slot == HOST;
            let kind = if host {
                ReportKind::HostRace
            } else {
                ReportKind::Race
            };
            self.report_unordered(kind, &other.site, reports);
        }
    }

    fn report_unordered(&self, kind: ReportKind, other: &Site, reports: &mut Reports) {
        let message = format!("{self}, and nothing orders it after {other}");
        self.report(kind, message, Some(other), reports);
    }

    fn report(
        &self,
        kind: ReportKind,
        message: String,
        other: Option<&Site>,
        reports: &mut Reports,
    ) {
        let mut sites = vec![(*self.by.access.site).clone()];
        sites.extend(other.cloned());
        reports.add(kind, message, sites);
    }
}

impl fmt::Display for Attempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let site = &self.by.access.site;
        let what = if self.write { "writes" } else { "reads" };
        write!(f, "{site} {what} {}", Range(self.address, self.len))
    }
}

/// A range of addresses, as reports print it.
struct Range(u64, u64);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.1, self.0)
    }
}
