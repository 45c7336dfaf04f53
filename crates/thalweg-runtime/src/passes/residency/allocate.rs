//! The allocation of buffers on the device heap.

use thalweg_core::ValueId;
use thalweg_core::engine::TensorId;

use super::analysis::{PartCopy, Refusal, ResidencyAnalysis};
use super::device_heap::{Buffer, Home, Part};
use super::host_shadows::Shadow;
use crate::facts::device_of;
use crate::schedule::{Execution, StepBefore, What};

impl ResidencyAnalysis<'_> {
    /// Gives a tensor on a device, which has no memory yet, a buffer of its own.
    pub(super) fn define(&mut self, value: ValueId) -> Option<()> {
        let id = self.undefined(value)?;
        let device = device_of(self.plan, value)?;
        let device = self.devices.iter().position(|other| other.id() == device)?;
        self.buffer(device, id, Home::Planned(id));
        Some(())
    }

    pub(super) fn buffer(&mut self, device: usize, id: TensorId, home: Home) -> Part {
        let bytes = self.plan.tensors[id.0 as usize].capacity;
        let part = self.add_buffer(device, bytes, home);
        self.tensors.insert(id, part);
        part
    }

    pub(super) fn add_buffer(&mut self, device: usize, bytes: usize, home: Home) -> Part {
        self.buffers.push(Buffer {
            device,
            bytes,
            first: self.now,
            last: self.now,
            home,
        });
        Part {
            buffer: self.buffers.len() - 1,
            offset: 0,
        }
    }

    /// This instruction becomes a copy within a device.
    pub(super) fn copy(&mut self, device: usize, from: Part, to: Part, bytes: usize) {
        self.executions[self.now] = Execution::CopyParts(self.copies.len());
        self.add_copy(device, from, to, bytes);
    }

    /// A copy within a device before this instruction.
    pub(super) fn copy_before(&mut self, device: usize, from: Part, to: Part, bytes: usize) {
        self.do_before(What::Copy(self.copies.len()));
        self.add_copy(device, from, to, bytes);
    }

    /// Something is done before this instruction.
    pub(super) fn do_before(&mut self, what: What) {
        let before = self.now;
        self.steps_before.push(StepBefore { before, what });
    }

    fn add_copy(&mut self, device: usize, from: Part, to: Part, bytes: usize) {
        self.touch(from, self.now);
        self.touch(to, self.now);
        self.copies.push(PartCopy {
            device,
            from,
            to,
            bytes,
        });
    }

    pub(super) fn touch(&mut self, part: Part, index: usize) {
        // What is used in more than one stretch may be needed at any time.
        let always = self.stretches[self.buffers[part.buffer].first] != self.stretches[index];
        let buffer = &mut self.buffers[part.buffer];
        if always {
            buffer.first = 0;
            buffer.last = self.plan.steps.len();
        }
        buffer.last = buffer.last.max(index);
    }

    /// The memory of a buffer is written anew: whoever relies on what was there is told so.
    pub(super) fn overwrite(&mut self, buffer: usize, blame: Refusal) {
        let stale = self.tensors.extract_if(|_, part| part.buffer == buffer);
        self.stale
            .extend(stale.map(|(id, part)| (id, (part, blame.clone()))));
        // What the host would get from there, it gets by an instruction before this one.
        for shadow in &mut self.shadows {
            if shadow
                .on_device
                .is_some_and(|(_, part)| part.buffer == buffer)
            {
                shadow.on_device = None;
            }
        }
        self.shadows.retain(Shadow::is_known);
    }
}
