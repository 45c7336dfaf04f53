//! Pieces of work, and what they do when they run.

use std::collections::VecDeque;
use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use serde::{Deserialize, Serialize};

use crate::callback::{HostFunction, KernelFunction};
use crate::clock::{Clock, Point};
use crate::driver::Driver;
use crate::memory::{Access, BlockId, BlockKind, Span, Toucher};
use crate::report::{ReportKind, Site};

/// A piece of work in a queue.
pub(crate) struct Op {
    pub(crate) point: Point,
    /// Counts all work.
    pub(crate) number: u64,
    pub(crate) site: Arc<Site>,
    /// Everything that happened before it, and itself.
    pub(crate) clock: Arc<Clock>,
    /// What must be done before it may run, other than what is ahead of it in its queue.
    pub(crate) after: Vec<Point>,
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
    Kernel(Arc<KernelCall>),
    Host(HostFunction),
    /// Memory of a pool starts or ceases to exist.
    Alloc(BlockId),
    Free(BlockId),
}

/// A copy of rows of bytes.
#[derive(Clone)]
pub(crate) struct Copy {
    pub(crate) to: Place,
    pub(crate) to_pitch: u64,
    pub(crate) from: Place,
    pub(crate) from_pitch: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// Where a copy's bytes are.
#[derive(Clone)]
pub(crate) enum Place {
    Address(u64),
    /// Read from the host's memory already.
    Staged(Arc<Vec<u8>>),
}

impl Copy {
    pub(crate) fn plain(to: u64, from: Place, len: u64) -> Self {
        Self {
            to: Place::Address(to),
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

/// A kernel and its arguments.
pub(crate) struct KernelCall {
    pub(crate) name: Arc<str>,
    /// `None` where no test registered the kernel: it is recorded, and computes nothing.
    pub(crate) function: Option<KernelFunction>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) parameters: Vec<u8>,
    /// Where each parameter starts.
    pub(crate) offsets: Vec<usize>,
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
            point: self.point,
            site: self.site.clone(),
        }
    }

    fn toucher(&self) -> Toucher<'_> {
        Toucher {
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
}

impl Driver {
    /// Runs what touches only memory. Functions of others run elsewhere.
    pub(crate) fn run_op(&mut self, op: &Op) -> Result<(), CUresult> {
        match &op.body {
            Body::Copy(copy) => self.run_copy(op, copy),
            Body::Fill(fill) => self.run_fill(op, fill),
            Body::Alloc(block) => {
                self.memory.bring_to_life(*block);
                self.memory.touch_whole(*block, &op.toucher());
                Ok(())
            }
            Body::Free(block) => {
                if let Some(other) = self.memory.touch_whole(*block, &op.toucher()) {
                    self.reports.add(
                        ReportKind::FreeWhileInUse,
                        format!("{} is not ordered after {}", op.site, other.site),
                        vec![(*op.site).clone(), (*other.site).clone()],
                    );
                }
                self.memory.bury(*block, &op.site, true);
                Ok(())
            }
            Body::Marker
            | Body::Record { .. }
            | Body::Wait { .. }
            | Body::Kernel(_)
            | Body::Host(_) => Ok(()),
        }
    }

    fn run_copy(&mut self, op: &Op, copy: &Copy) -> Result<(), CUresult> {
        for row in 0..copy.height {
            let from = match &copy.from {
                Place::Address(address) => {
                    let address = address + row * copy.from_pitch;
                    Some(self.reach(op, address, copy.width, false)?)
                }
                Place::Staged(_) => None,
            };
            let Place::Address(to) = copy.to else {
                continue;
            };
            let to = self.reach(op, to + row * copy.to_pitch, copy.width, true)?;
            match (&copy.from, from) {
                (Place::Staged(bytes), _) => {
                    let start = (row * copy.from_pitch) as usize;
                    to.copy_from_slice(&bytes[start..start + copy.width as usize]);
                }
                (_, Some(from)) => to.copy_from(from),
                (_, None) => {}
            }
        }
        Ok(())
    }

    fn run_fill(&mut self, op: &Op, fill: &Fill) -> Result<(), CUresult> {
        for row in 0..fill.height {
            let span = self.reach(op, fill.address + row * fill.pitch, fill.width, true)?;
            span.fill(&fill.pattern);
        }
        Ok(())
    }

    /// The bytes at an address that a copy may name: of devices, pinned, or any of the host.
    fn reach(&mut self, op: &Op, address: u64, len: u64, write: bool) -> Result<Span, CUresult> {
        if self.memory.is_ours(address) {
            let toucher = op.toucher();
            return self
                .memory
                .touch(address, len, write, &toucher, &mut self.reports);
        }
        Ok(crate::entry::pageable(address, len))
    }

    /// What a piece of work is, for the log.
    pub(crate) fn describe(&self, op: &Op) -> Done {
        let on_host = |place: &Place| match place {
            Place::Staged(_) => true,
            Place::Address(address) => !self.memory.arenas.iter().any(|a| a.contains(*address)),
        };
        let (kind, bytes) = match &op.body {
            Body::Marker | Body::Record { .. } | Body::Wait { .. } => (WorkKind::Marker, 0),
            Body::Copy(copy) => {
                let kind = match (on_host(&copy.from), on_host(&copy.to)) {
                    (true, false) => WorkKind::HostToDevice,
                    (false, true) => WorkKind::DeviceToHost,
                    (false, false) => WorkKind::DeviceToDevice,
                    (true, true) => WorkKind::HostToHost,
                };
                (kind, copy.bytes())
            }
            Body::Fill(fill) => (WorkKind::Fill, fill.width * fill.height),
            Body::Kernel(_) => (WorkKind::Kernel, 0),
            Body::Host(_) => (WorkKind::Host, 0),
            Body::Alloc(block) | Body::Free(block) => {
                let len = self.memory.block(*block).map_or(0, |block| block.len);
                (WorkKind::Memory, len)
            }
        };
        let (grid, block) = match &op.body {
            Body::Kernel(call) => (call.grid, call.block),
            _ => Default::default(),
        };
        Done {
            site: (*op.site).clone(),
            kind,
            bytes,
            device: op.device,
            grid,
            block,
        }
    }

    /// Checks an access of a kernel.
    pub(crate) fn kernel_access(
        &mut self,
        access: Access,
        clock: &Clock,
        device: usize,
        address: u64,
        len: u64,
        write: bool,
    ) -> Result<Span, CUresult> {
        let site = access.site.clone();
        let toucher = Toucher { access, clock };
        let foreign = self
            .memory
            .known_at(address)
            .and_then(|block| match block.kind {
                BlockKind::Device { device: other, .. } if other != device => Some(other),
                _ => None,
            });
        if let Some(other) = foreign
            && !self.peers.contains(&(device, other))
        {
            self.reports.add(
                ReportKind::InvalidAddress,
                format!("{site} on device {device} touches memory of device {other}, without access to it"),
                vec![(*site).clone()],
            );
            return Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        }
        self.memory
            .touch(address, len, write, &toucher, &mut self.reports)
    }
}
