//! The execution of operations, and the checks of what they access.

use cudarc::driver::sys::CUresult;

use super::Driver;
use crate::clock::Clock;
use crate::memory::{Access, Accessor, BlockKind, Span, pageable};
use crate::report::ReportKind;
use crate::work::{Body, Copy, Done, Fill, Location, Op, WorkKind};

impl Driver {
    /// Runs an operation on memory. Host functions and kernels run elsewhere, without the lock.
    pub(crate) fn run_op(&mut self, op: &Op) -> Result<(), CUresult> {
        match &op.body {
            Body::Copy(copy) => self.run_copy(op, copy),
            Body::Fill(fill) => self.run_fill(op, fill),
            Body::Alloc(block) => {
                self.memory.begin_lifetime(*block);
                self.memory.access_block(*block, &op.accessor());
                Ok(())
            }
            Body::Free(block) => {
                if let Some(other) = self.memory.access_block(*block, &op.accessor()) {
                    self.reports.add(
                        ReportKind::FreeWhileInUse,
                        format!("{} is not ordered after {}", op.site, other.site),
                        vec![(*op.site).clone(), (*other.site).clone()],
                    );
                }
                self.memory.end_lifetime(*block, &op.site, true);
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
                Location::Address(address) => {
                    let address = address + row * copy.from_pitch;
                    Some(self.reach(op, address, copy.width, false)?)
                }
                Location::Staged(_) => None,
            };
            let Location::Address(to) = copy.to else {
                continue;
            };
            let to = self.reach(op, to + row * copy.to_pitch, copy.width, true)?;
            match (&copy.from, from) {
                (Location::Staged(bytes), _) => {
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

    /// The bytes of a copy or a fill at an address: of a device, pinned, or pageable.
    fn reach(&mut self, op: &Op, address: u64, len: u64, write: bool) -> Result<Span, CUresult> {
        if self.memory.is_ours(address) {
            let accessor = op.accessor();
            return self
                .memory
                .check_access(address, len, write, &accessor, &mut self.reports);
        }
        Ok(pageable(address, len))
    }

    /// The entry of a piece of work in the log.
    pub(crate) fn describe(&self, op: &Op) -> Done {
        let on_host = |place: &Location| match place {
            Location::Staged(_) => true,
            Location::Address(address) => !self.memory.arenas.iter().any(|a| a.contains(*address)),
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

    /// Checks an access of a kernel, also that its device has access to the memory's device.
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
        let accessor = Accessor { access, clock };
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
            .check_access(address, len, write, &accessor, &mut self.reports)
    }
}
