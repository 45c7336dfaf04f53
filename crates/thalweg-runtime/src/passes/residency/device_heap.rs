//! The device heap: memory on devices, placed anew for values that stay there for longer than their
//! program planned.

use std::ops::Range;

use thalweg_core::engine::{StorageId, TensorId};
use thalweg_format::Device as DeviceId;

use crate::first_fit;
use crate::plan::{MethodPlan, PlannedStorage};

/// The alignment of buffers, in bytes.
pub(super) const ALIGN: usize = 256;

/// Memory on a device, with its lifetime: the instructions that first write and last use it.
pub(super) struct Buffer {
    pub(super) device: usize,
    pub(super) bytes: usize,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) home: Home,
}

/// The place that a buffer belongs in.
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
        let offset = offset_of(plan, buffers, index, &offsets)?;
        end = end.max(offset + buffer.bytes);
        offsets.push(Some((storage, offset)));
    }
    (end <= most_memory(plan)).then_some(offsets)
}

/// The lowest place for a buffer that is free of all buffers placed before which it must not
/// share memory with.
fn offset_of(
    plan: &MethodPlan,
    buffers: &[Buffer],
    index: usize,
    offsets: &[Option<(StorageId, usize)>],
) -> Option<usize> {
    let buffer = &buffers[index];
    let taken: Vec<Range<usize>> = buffers[..index]
        .iter()
        .zip(offsets)
        .filter(|(other, _)| other.device == buffer.device && !may_share(plan, buffer, other))
        .filter_map(|(other, place)| place.map(|(_, offset)| offset..offset + other.bytes))
        .collect();
    first_fit::first_fit(taken, buffer.bytes, ALIGN)
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
