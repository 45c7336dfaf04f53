//! Reports: the errors that the stand-ins find.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The number of reports after which further ones are dropped.
const LIMIT: usize = 1000;

/// The site of an error: a piece of work, or a call of the host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Site {
    /// The kernel, or the function of the driver.
    pub name: Arc<str>,
    /// The stream, or `host`.
    pub stream: Arc<str>,
    /// The number of the work in that stream, from 1; for the host, the number of the call.
    pub sequence: u64,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} #{})", self.name, self.stream, self.sequence)
    }
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ReportKind {
    /// Two accesses to the same memory, one of them a write, with nothing that orders them.
    Race,
    /// The host touched pinned memory that work on a device still reads or writes.
    HostRace,
    /// Memory was used after it was freed.
    UseAfterFree,
    /// Memory was freed, or given back to its pool, while work that uses it was not ordered
    /// before.
    FreeWhileInUse,
    /// Memory was freed twice.
    DoubleFree,
    /// A pointer was freed that no allocation starts with.
    InvalidFree,
    /// An access reached beyond the end of its allocation.
    OutOfBounds,
    /// An access to an address that is no memory, or not memory that a device can reach.
    InvalidAddress,
    /// A handle was used after its object was destroyed.
    UseAfterDestroy,
    /// A handle was used that never was valid.
    InvalidHandle,
    /// Something waited for an event that was never recorded. CUDA allows that, and the wait does
    /// nothing.
    EventNeverRecorded,
    /// A capture was never ended.
    CaptureLeftOpen,
    /// Something was not destroyed, freed or released.
    Leak,
    /// A function of the driver that the stand-in does not have.
    Unsupported,
    /// A registered kernel returned an error or panicked.
    KernelFailed,
    /// A host function or a kernel called the driver.
    CallInCallback,
    /// An error that another stand-in found.
    Misuse,
}

impl ReportKind {
    /// Returns true for a warning: CUDA allows it, but it is hardly intended.
    pub fn is_warning(self) -> bool {
        matches!(self, Self::EventNeverRecorded)
    }
}

/// A report of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The kind of the error.
    pub kind: ReportKind,
    /// The message, with all numbers.
    pub message: String,
    /// The work and the calls that took part, the later first.
    pub sites: Vec<Site>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)?;
        for site in &self.sites {
            write!(f, "\n    {site}")?;
        }
        Ok(())
    }
}

/// All reports since the last reset.
#[derive(Default)]
pub(crate) struct Reports {
    list: Vec<Report>,
    /// The number of reports with the same kind and names, so that a loop does not fill the list.
    repeated: std::collections::HashMap<(ReportKind, Vec<Arc<str>>), u32>,
}

impl Reports {
    pub(crate) fn add(&mut self, kind: ReportKind, message: String, sites: Vec<Site>) {
        let names = sites.iter().map(|site| site.name.clone()).collect();
        let times = self.repeated.entry((kind, names)).or_default();
        *times += 1;
        // Objects that leak have no sites that tell them apart.
        if (*times <= 8 || kind == ReportKind::Leak) && self.list.len() < LIMIT {
            self.list.push(Report {
                kind,
                message,
                sites,
            });
        }
    }

    pub(crate) fn list(&self) -> &[Report] {
        &self.list
    }

    pub(crate) fn take(&mut self) -> Vec<Report> {
        self.repeated.clear();
        std::mem::take(&mut self.list)
    }
}
