//! The locations of planned tensors.

use std::collections::{BTreeMap, HashMap};

use ::thalweg_format as format;
use thalweg_core::engine::StorageId;
use thalweg_core::{DType, Result, bail, ensure};
use thalweg_format::{Allocation, Device};

use super::PlannedStorage;

/// The arenas of a method, and the named buffers that are kept outside of them.
///
/// A mutable buffer with a name has memory of its own, since methods may share it. It is planned
/// at a place in an arena all the same, and a tensor that is planned within that place is a view
/// of it.
pub(super) struct Placement<'p> {
    method: &'p format::Method<'p>,
    arenas: HashMap<u32, Arena>,
    states: HashMap<&'p str, StorageId>,
    /// By arena and start: end, and storage.
    state_places: HashMap<u32, BTreeMap<u64, (u64, StorageId)>>,
}

struct Arena {
    storage: StorageId,
    bytes: usize,
}

impl<'p> Placement<'p> {
    pub(super) fn new(method: &'p format::Method<'p>) -> Self {
        Self {
            method,
            arenas: HashMap::new(),
            states: HashMap::new(),
            state_places: HashMap::new(),
        }
    }

    /// The storage of a named buffer that was added before.
    pub(super) fn state(&self, name: &str) -> Option<StorageId> {
        self.states.get(name).copied()
    }

    /// Returns true if a planned tensor lies on the host.
    pub(super) fn is_on_host(&self, tensor: &format::Tensor<'_>) -> bool {
        let device = tensor
            .allocation
            .map(|allocation| self.device(allocation.arena));
        device.unwrap_or_default() == Device::default()
    }

    /// Adds the location where a named buffer is planned.
    pub(super) fn add_state(
        &mut self,
        tensor: &format::Tensor<'_>,
        name: &'p str,
        bytes: usize,
        storage: StorageId,
    ) -> Result<()> {
        self.states.insert(name, storage);
        let Some(allocation) = tensor.allocation else {
            return Ok(());
        };
        let end = self.check(allocation, bytes)?;
        let places = self.state_places.entry(allocation.arena).or_default();
        match overlapping(places, allocation.offset, end) {
            Some((start, (_, other))) => ensure!(
                other == storage && start == allocation.offset,
                InvalidProgram,
                "the mutable buffer `{name}` shares memory with another one"
            ),
            None if bytes > 0 => {
                places.insert(allocation.offset, (end, storage));
            }
            None => {}
        }
        Ok(())
    }

    /// The storage and offset of a planned tensor. `add` makes a storage.
    pub(super) fn place(
        &mut self,
        allocation: Allocation,
        bytes: usize,
        dtype: DType,
        add: impl FnOnce(PlannedStorage) -> StorageId,
    ) -> Result<(StorageId, usize)> {
        let end = self.check(allocation, bytes)?;
        if let Some(places) = self.state_places.get(&allocation.arena)
            && let Some((start, (state_end, storage))) = overlapping(places, allocation.offset, end)
        {
            ensure!(
                start <= allocation.offset && end <= state_end,
                InvalidProgram,
                "the tensor shares only a part of its memory with a mutable buffer"
            );
            return aligned(storage, allocation.offset - start, dtype);
        }
        let device = self.device(allocation.arena);
        let arena = self
            .arenas
            .entry(allocation.arena)
            .or_insert_with(|| Arena {
                storage: add(PlannedStorage::Arena { bytes: 0, device }),
                bytes: 0,
            });
        match usize::try_from(end) {
            Ok(end) => arena.bytes = arena.bytes.max(end),
            Err(_) => bail!(Unsupported, "the arena is too large for this machine"),
        }
        aligned(arena.storage, allocation.offset, dtype)
    }

    /// The size that each arena needs.
    pub(super) fn arena_sizes(&self) -> impl Iterator<Item = (StorageId, usize)> {
        self.arenas
            .values()
            .map(|arena| (arena.storage, arena.bytes))
    }

    /// The end of the planned bytes. An error if the arena is smaller.
    fn check(&self, allocation: Allocation, bytes: usize) -> Result<u64> {
        let size = self.method.arena_sizes.get(allocation.arena as usize);
        let end = allocation.offset.checked_add(bytes as u64);
        match (size, end) {
            (Some(&size), Some(end)) if end <= size => Ok(end),
            (Some(size), _) => bail!(
                InvalidProgram,
                "the tensor is planned at byte {} of arena {} and takes {bytes} bytes, but the \
                 arena has {size}",
                allocation.offset,
                allocation.arena
            ),
            (None, _) => bail!(InvalidProgram, "there is no arena {}", allocation.arena),
        }
    }

    fn device(&self, arena: u32) -> Device {
        self.method
            .arena_devices
            .iter()
            .find(|place| place.arena == arena)
            .map(|place| place.device)
            .unwrap_or_default()
    }
}

fn aligned(storage: StorageId, offset: u64, dtype: DType) -> Result<(StorageId, usize)> {
    match usize::try_from(offset) {
        Ok(offset) if offset % dtype.align() == 0 => Ok((storage, offset)),
        _ => bail!(
            InvalidProgram,
            "the tensor is planned at byte {offset}, which is not aligned for {dtype}"
        ),
    }
}

/// The place that shares bytes with `start..end`, if there is one. Places do not overlap.
fn overlapping(
    places: &BTreeMap<u64, (u64, StorageId)>,
    start: u64,
    end: u64,
) -> Option<(u64, (u64, StorageId))> {
    if start == end {
        return None;
    }
    let (&other, &(other_end, storage)) = places.range(..end).next_back()?;
    (start < other_end).then_some((other, (other_end, storage)))
}
