//! Memory on devices, planned anew for values that stay there for longer than their program thought.

use std::ops::Range;

use thalweg_core::ValueId;
use thalweg_core::engine::{StorageId, TensorId};
use thalweg_format::Device as DeviceId;

use super::follow::{Blame, Follower, PartCopy};
use super::known::Shadow;
use crate::facts::device_of;
use crate::plan::{MethodPlan, PlannedStorage};
use crate::schedule::{Execution, StepBefore, What};

/// Buffers start on boundaries of this many bytes.
pub(super) const ALIGN: usize = 256;

/// Memory on a device, from when it is first written to when it is last used.
pub(super) struct Buffer {
    pub(super) device: usize,
    pub(super) bytes: usize,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) home: Home,
}

/// Where a buffer belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// In an arena, planned by the program for this tensor.
    Planned(TensorId),
    /// With an input, or, if the caller does not have it on the device, in an arena, planned for this
    /// tensor.
    Input(usize, TensorId),
    /// In this arena, for nothing that the program planned.
    Arena(StorageId),
    /// With something that is kept: it is memory of its own.
    Kept(usize),
}

impl Home {
    /// The tensor that the program planned it for.
    fn planned(self) -> Option<TensorId> {
        match self {
            Self::Planned(id) | Self::Input(_, id) => Some(id),
            Self::Arena(_) | Self::Kept(_) => None,
        }
    }
}

/// A part of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) buffer: usize,
    pub(super) offset: usize,
}

/// Places buffers: the arena and the offset of each that belongs in one. `None` if they need much
/// more memory than was planned.
pub(super) fn place(
    plan: &MethodPlan,
    buffers: &[Buffer],
) -> Option<Vec<Option<(StorageId, usize)>>> {
    // So that no sum of offsets overflows.
    let mut sizes = buffers.iter().map(|buffer| buffer.bytes.checked_add(ALIGN));
    sizes.try_fold(0usize, |total, bytes| total.checked_add(bytes?))?;
    let mut offsets: Vec<Option<(StorageId, usize)>> = Vec::new();
    let mut end = 0;
    for (index, buffer) in buffers.iter().enumerate() {
        let arena = match buffer.home {
            Home::Planned(id) | Home::Input(_, id) => plan.tensors[id.0 as usize].storage,
            Home::Arena(storage) => storage,
            Home::Kept(_) => {
                offsets.push(None);
                continue;
            }
        };
        // All memory of a device is in one arena, the first that the program has there.
        let mut before = buffers[..index].iter().zip(&offsets);
        let same =
            before.find_map(|(other, place)| place.filter(|_| other.device == buffer.device));
        let storage = same.map_or(arena, |(storage, _)| storage);
        let offset = first_fit(plan, buffers, index, &offsets);
        end = end.max(offset + buffer.bytes);
        offsets.push(Some((storage, offset)));
    }
    (end <= most_memory(plan)).then_some(offsets)
}

/// The lowest place for a buffer that is free of all buffers placed before which it must not
/// share memory with.
fn first_fit(
    plan: &MethodPlan,
    buffers: &[Buffer],
    index: usize,
    offsets: &[Option<(StorageId, usize)>],
) -> usize {
    let buffer = &buffers[index];
    let mut taken: Vec<Range<usize>> = buffers[..index]
        .iter()
        .zip(offsets)
        .filter(|(other, _)| other.device == buffer.device && !may_share(plan, buffer, other))
        .filter_map(|(other, place)| place.map(|(_, offset)| offset..offset + other.bytes))
        .collect();
    taken.sort_by_key(|range| range.start);
    let mut offset = 0;
    for range in taken {
        if offset + buffer.bytes <= range.start {
            break;
        }
        offset = offset.max(range.end.next_multiple_of(ALIGN));
    }
    offset
}

/// Whether two buffers may be the same memory at different times. They may if the program
/// planned it so, and neither is needed while the other is. What the program keeps apart may
/// have to live from call to call.
fn may_share(plan: &MethodPlan, a: &Buffer, b: &Buffer) -> bool {
    let apart = a.last < b.first || b.last < a.first;
    let place = |buffer: &Buffer| {
        let tensor = &plan.tensors[buffer.home.planned()?.0 as usize];
        let end = tensor.offset.checked_add(tensor.capacity)?;
        Some((tensor.storage, tensor.offset, end))
    };
    let (Some((a, a_start, a_end)), Some((b, b_start, b_end))) = (place(a), place(b)) else {
        return false;
    };
    apart && a == b && a_start < b_end && b_start < a_end
}

/// Values that stay on the device for longer may need more memory than was planned, but not
/// many times as much.
fn most_memory(plan: &MethodPlan) -> usize {
    let arenas = plan.storages.iter().map(|storage| match storage {
        PlannedStorage::Arena { bytes, device } if *device != DeviceId::default() => *bytes,
        _ => 0,
    });
    let planned = arenas.fold(0usize, usize::saturating_add);
    planned.saturating_mul(2).saturating_add(1 << 20)
}

impl Follower<'_> {
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
    pub(super) fn overwrite(&mut self, buffer: usize, blame: Blame) {
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
