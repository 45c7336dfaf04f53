//! Work: the operations in the queues of streams, and the log of those that ran.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::callback::HostFunction;
use crate::clock::{Clock, Epoch};
use crate::kernel::KernelLaunch;
use crate::memory::{Access, Accessor, BlockId};
use crate::report::Site;

/// An operation in a queue: one piece of work.
pub(crate) struct Op {
    pub(crate) epoch: Epoch,
    /// The number of the work, in the order in which all work was enqueued.
    pub(crate) number: u64,
    pub(crate) site: Arc<Site>,
    /// The clock of the work.
    pub(crate) clock: Arc<Clock>,
    /// The work that must be complete before it may run, other than what is ahead of it in its
    /// queue.
    pub(crate) after: Vec<Epoch>,
    pub(crate) device: usize,
    pub(crate) body: Body,
}

/// The action of an operation.
#[derive(Clone)]
pub(crate) enum Body {
    /// No action: the operation is only ordered.
    Marker,
    /// The record of an event.
    Record {
        event: u64,
        id: u64,
    },
    /// In a graph, a wait for the last record of an event before the launch.
    Wait {
        event: u64,
        id: u64,
    },
    Copy(Copy),
    Fill(Fill),
    Kernel(Arc<KernelLaunch>),
    Host(HostFunction),
    /// The begin and the end of an allocation of a pool.
    Alloc(BlockId),
    Free(BlockId),
}

/// A copy of rows of bytes.
#[derive(Clone)]
pub(crate) struct Copy {
    pub(crate) to: Location,
    pub(crate) to_pitch: u64,
    pub(crate) from: Location,
    pub(crate) from_pitch: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// The location of a copy's bytes.
#[derive(Clone)]
pub(crate) enum Location {
    Address(u64),
    /// A staging buffer, which was filled from pageable memory.
    Staged(Arc<Vec<u8>>),
}

impl Copy {
    pub(crate) fn plain(to: u64, from: Location, len: u64) -> Self {
        Self {
            to: Location::Address(to),
            to_pitch: len,
            from,
            from_pitch: len,
            width: len,
            height: 1,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.width * self.height
    }
}

/// A pattern written to rows of memory.
#[derive(Clone)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    pub(crate) pattern: Vec<u8>,
    pub(crate) pitch: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// The kind of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WorkKind {
    /// A kernel.
    Kernel,
    /// A copy from memory of the host to a device.
    HostToDevice,
    /// A copy from a device to memory of the host.
    DeviceToHost,
    /// A copy within a device or between devices.
    DeviceToDevice,
    /// A copy from the host to the host.
    HostToHost,
    /// Memory filled with a pattern.
    Fill,
    /// A host function.
    Host,
    /// Memory allocated or freed in the order of a stream.
    Memory,
    /// An operation that is only ordered: an event, a wait, the start or end of a graph.
    Marker,
}

/// An entry of the log: a piece of work that has run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Done {
    /// The work: its name, its stream, its number there.
    pub site: Site,
    /// The kind of the work.
    pub kind: WorkKind,
    /// The number of bytes that it copied or filled.
    pub bytes: u64,
    /// The device.
    pub device: usize,
    /// The grid of a kernel.
    pub grid: [u32; 3],
    /// The block of a kernel.
    pub block: [u32; 3],
}

/// The queue of one stream, or of one branch of a graph: first in, first out.
pub(crate) struct Queue {
    pub(crate) label: Arc<str>,
    pub(crate) device: usize,
    pub(crate) context: u64,
    pub(crate) pending: VecDeque<Op>,
    pub(crate) running: bool,
    /// The numbers of the work that was enqueued last, and of the work that is complete.
    pub(crate) last: u64,
    pub(crate) completed: u64,
    /// The number of pieces of work with this label.
    pub(crate) sequence: u64,
    /// The clock of the work that was enqueued last.
    pub(crate) clock: Clock,
    /// True if the stream is ordered with the legacy default stream.
    pub(crate) blocking: bool,
    /// True if nothing is enqueued here any more.
    pub(crate) retired: bool,
}

impl Queue {
    pub(crate) fn new(label: Arc<str>, device: usize, context: u64) -> Self {
        Self {
            label,
            device,
            context,
            pending: VecDeque::new(),
            running: false,
            last: 0,
            completed: 0,
            sequence: 0,
            clock: Clock::default(),
            blocking: false,
            retired: false,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.completed == self.last
    }
}

impl Op {
    pub(crate) fn access(&self) -> Access {
        Access {
            epoch: self.epoch,
            site: self.site.clone(),
        }
    }

    pub(crate) fn accessor(&self) -> Accessor<'_> {
        Accessor {
            access: self.access(),
            clock: &self.clock,
        }
    }
}

impl Body {
    /// Returns true for an operation that is complete as soon as it may run.
    pub(crate) fn is_instant(&self) -> bool {
        matches!(self, Self::Marker | Self::Record { .. } | Self::Wait { .. })
    }

    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Self::Copy(_))
    }

    /// The `CUgraphNodeType`.
    pub(crate) fn node_type(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Host(_) => 3,
            Self::Marker => 5,
            Self::Wait { .. } => 6,
            Self::Record { .. } => 7,
            Self::Alloc(_) => 10,
            Self::Free(_) => 11,
        }
    }
}
