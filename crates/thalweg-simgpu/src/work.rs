//! Work: the operations in the queues of streams, and the log of those that ran.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::callback::HostFunction;
use crate::clock::{Clock, Epoch};
use crate::kernel::KernelLaunch;
use crate::memory::{Access, Accessor, BlockId};
use crate::report::Site;

/// A piece of work in a queue.
pub(crate) struct Op {
    pub(crate) epoch: Epoch,
    /// Counts all work.
    pub(crate) number: u64,
    pub(crate) site: Arc<Site>,
    /// Everything that happened before it, and itself.
    pub(crate) clock: Arc<Clock>,
    /// What must be done before it may run, other than what is ahead of it in its queue.
    pub(crate) after: Vec<Epoch>,
    pub(crate) device: usize,
    pub(crate) body: Body,
}

/// What a piece of work does.
#[derive(Clone)]
pub(crate) enum Body {
    /// Nothing: it is only ordered.
    Marker,
    /// Gives an event its time.
    Record {
        event: u64,
        id: u64,
    },
    /// In a graph: waits for where an event was recorded last before the launch.
    Wait {
        event: u64,
        id: u64,
    },
    Copy(Copy),
    Fill(Fill),
    Kernel(Arc<KernelLaunch>),
    Host(HostFunction),
    /// Memory of a pool starts or ceases to exist.
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

/// Where a copy's bytes are.
#[derive(Clone)]
pub(crate) enum Location {
    Address(u64),
    /// Read from the host's memory already.
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

/// What kind of work it was.
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
    /// A function of the host.
    Host,
    /// Memory allocated or freed in the order of a stream.
    Memory,
    /// Something that is only ordered: an event, a wait, the start or end of a graph.
    Marker,
}

/// Work that has run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Done {
    /// What it was and where it ran.
    pub site: Site,
    /// Its kind.
    pub kind: WorkKind,
    /// How many bytes it copied or filled.
    pub bytes: u64,
    /// The device.
    pub device: usize,
    /// The grid of a kernel.
    pub grid: [u32; 3],
    /// The block of a kernel.
    pub block: [u32; 3],
}

/// The work of one stream, or of one branch of a graph, first in, first out.
pub(crate) struct Queue {
    pub(crate) label: Arc<str>,
    pub(crate) device: usize,
    pub(crate) context: u64,
    pub(crate) pending: VecDeque<Op>,
    pub(crate) running: bool,
    /// The number of what was enqueued last, and of what is done.
    pub(crate) last: u64,
    pub(crate) completed: u64,
    /// How much work there was for this label.
    pub(crate) sequence: u64,
    /// Everything that happens before what comes next.
    pub(crate) clock: Clock,
    /// Whether it orders itself with the legacy default stream.
    pub(crate) blocking: bool,
    /// Nobody enqueues here any more.
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
    /// Whether it is work only in name, and done as soon as it may run.
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
