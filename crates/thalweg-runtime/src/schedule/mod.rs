//! The schedule of a method: how its instructions run, where tensors on devices lie, and what is copied
//! when. The passes make it, calls follow it.

mod execution;
mod persistent;

use std::collections::HashMap;

use thalweg_core::engine::{StorageId, TensorId};

pub(crate) use execution::Execution;
pub(crate) use persistent::{CoherenceAction, PersistentBuffer, StepBefore, What};

/// Where tensors lie that are on devices, and what is copied when.
#[derive(Default)]
pub(crate) struct Places {
    /// For each output that a device has: where.
    pub(crate) outputs: Vec<Option<OutputPlace>>,
    pub(crate) tensors: HashMap<TensorId, (StorageId, usize)>,
    /// How large each arena on a device has to be; `None` if as planned.
    pub(crate) arenas: Option<HashMap<StorageId, usize>>,
    /// For each input, whether something looks at it on the host. All are, if this is empty.
    pub(crate) inputs_on_host: Vec<bool>,
    /// For each input, where it goes if it goes to a device by itself.
    pub(crate) inputs: Vec<Option<PlacedInput>>,
    /// What stays on a device from call to call.
    pub(crate) persistent: Vec<PersistentBuffer>,
    /// What is done before instructions, in their order, and where in that each instruction's
    /// begins; nothing if nothing is done at all.
    pub(crate) steps_before: Vec<StepBefore>,
    pub(crate) before_starts: Vec<u32>,
    /// Copies within devices, by the number that the instructions, and what is before them, name.
    pub(crate) copies: Vec<DeviceCopy>,
    /// Storages beside the plan's, which come after those.
    pub(crate) storages: Vec<PlacedStorage>,
}

/// A storage that no program plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlacedStorage {
    /// Where a device has the input with this number: at home, or where the caller has it.
    Input(usize),
    /// The caller's memory of an input that is copied from there to a device.
    Borrowed,
    /// What stays on a device, by its number.
    Persistent(usize),
}

/// An input that goes to a device from where the caller has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedInput {
    pub(crate) device: usize,
    /// Its memory on the device.
    pub(crate) storage: StorageId,
    /// Its place in an arena there, for callers who do not have it on the device.
    pub(crate) home: (StorageId, usize),
    pub(crate) bytes: usize,
    /// The caller's memory, if that is on the host.
    pub(crate) borrowed: StorageId,
    /// Whether a delegate updates it in place.
    pub(crate) updated: bool,
}

/// A copy within a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceCopy {
    pub(crate) device: usize,
    pub(crate) from: (StorageId, usize),
    pub(crate) to: (StorageId, usize),
    pub(crate) bytes: usize,
}

/// Where a device has an output.
#[derive(Clone, Copy)]
pub(crate) struct OutputPlace {
    pub(crate) device: usize,
    pub(crate) storage: StorageId,
    pub(crate) offset: usize,
    /// The instruction that copies it to the host, if that does nothing else.
    pub(crate) fetch: Option<usize>,
}

impl Places {
    /// What is done before an instruction, or, by the number of them all, after the last.
    #[inline]
    pub(crate) fn before(&self, index: usize) -> &[StepBefore] {
        match self.before_starts.get(index..index + 2) {
            Some(&[start, end]) => &self.steps_before[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Where a device has an output, if one has it.
    pub(crate) fn output(&self, index: usize) -> Option<OutputPlace> {
        self.outputs.get(index).copied().flatten()
    }

    /// The instructions that only copy outputs to the host.
    pub(crate) fn output_copies(&self) -> impl Iterator<Item = usize> {
        self.outputs
            .iter()
            .flatten()
            .filter_map(|output| output.fetch)
    }

    /// Whether something looks at an input on the host.
    #[inline]
    pub(crate) fn input_on_host(&self, index: usize) -> bool {
        self.inputs_on_host
            .get(index)
            .is_none_or(|&on_host| on_host)
    }

    /// An input that goes to a device by itself.
    #[inline]
    pub(crate) fn input(&self, index: usize) -> Option<&PlacedInput> {
        self.inputs.get(index)?.as_ref()
    }

    /// The storage and offset of a tensor.
    pub(crate) fn of(&self, id: TensorId) -> Option<(StorageId, usize)> {
        self.tensors.get(&id).copied()
    }

    /// The size of an arena on a device, if that is not as planned.
    pub(crate) fn arena_bytes(&self, id: StorageId) -> Option<usize> {
        let arenas = self.arenas.as_ref()?;
        Some(arenas.get(&id).copied().unwrap_or(0))
    }

    /// Whether a storage of the plan is looked after by the kept steps.
    pub(crate) fn keeps(&self, storage: StorageId) -> bool {
        self.persistent.iter().any(|kept| kept.host.0 == storage)
    }
}
