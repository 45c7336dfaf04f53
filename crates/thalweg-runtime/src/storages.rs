//! The storages of a linked method.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use thalweg_core::engine::{Block, StorageId};
use thalweg_core::{Device, Result, SharedBytes, bail};
use thalweg_format::Device as DeviceId;

use crate::plan::{MethodPlan, PlannedStorage, PlannedValue, Step};
use crate::schedule::{Execution, PlacedStorage, Places};
use crate::sources::Sources;

/// The origin of a piece of an instance's memory.
pub(crate) enum LinkedStorage {
    /// Memory of the host. `device` is the index of the device that copies from it or to it, if one
    /// does.
    Arena {
        bytes: usize,
        device: Option<usize>,
    },
    /// Memory of the device with this index.
    DeviceArena {
        bytes: usize,
        device: usize,
    },
    Constant(SharedBytes),
    /// A constant that could not be used where it lies in the file.
    Copied(Arc<Block>),
    State {
        name: Arc<str>,
        bytes: usize,
        initial: Option<SharedBytes>,
    },
    Caller,
    Growing,
    /// A storage that no program plans.
    Placed(PlacedStorage),
}

impl LinkedStorage {
    /// The bytes, if it is a constant.
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        match self {
            Self::Constant(bytes) => Some(bytes),
            Self::Copied(block) => Some(block.bytes()),
            _ => None,
        }
    }
}

/// The origin of each piece of an instance's memory.
pub(crate) fn storages(
    plan: &MethodPlan,
    sources: &Sources<'_>,
    lends: &[Option<StorageId>],
    executions: &[Execution],
    devices: &[Arc<dyn Device>],
    places: &Places,
) -> Result<Vec<LinkedStorage>> {
    let lent: HashSet<StorageId> = lends.iter().copied().flatten().collect();
    let copied = copied_arenas(plan, executions, places);
    let mut storages = Vec::new();
    for (index, storage) in plan.storages.iter().enumerate() {
        storages.push(match storage {
            PlannedStorage::Arena { bytes, device } if *device != DeviceId::default() => {
                let bytes = places
                    .arena_bytes(StorageId(index as u32))
                    .unwrap_or(*bytes);
                match devices.iter().position(|other| other.id() == *device) {
                    Some(device) => LinkedStorage::DeviceArena { bytes, device },
                    None => bail!(
                        MissingDevice,
                        "an arena is planned on a device that is not there"
                    ),
                }
            }
            PlannedStorage::Arena { bytes, .. } => LinkedStorage::Arena {
                bytes: *bytes,
                device: copied.get(&StorageId(index as u32)).copied(),
            },
            PlannedStorage::Constant { data, bytes, align } => {
                let found = sources.bytes(data, *bytes)?;
                if found.as_ptr().addr().is_multiple_of(*align) || *bytes == 0 {
                    LinkedStorage::Constant(found)
                } else {
                    LinkedStorage::Copied(Arc::new(Block::copy_of(&found)?))
                }
            }
            PlannedStorage::State {
                name,
                bytes,
                initial,
            } => LinkedStorage::State {
                name: name.clone(),
                bytes: *bytes,
                initial: initial
                    .as_ref()
                    .map(|source| sources.bytes(source, *bytes))
                    .transpose()?,
            },
            PlannedStorage::Unplanned if lent.contains(&StorageId(index as u32)) => {
                LinkedStorage::Caller
            }
            PlannedStorage::Unplanned => LinkedStorage::Growing,
        });
    }
    storages.extend(places.storages.iter().copied().map(LinkedStorage::Placed));
    Ok(storages)
}

/// The arenas of the host that copies from or to a device use, with the device's index.
fn copied_arenas(
    plan: &MethodPlan,
    executions: &[Execution],
    places: &Places,
) -> HashMap<StorageId, usize> {
    let kept = places.persistent.iter();
    let mut copied: HashMap<_, _> = kept.map(|kept| (kept.host.0, kept.device)).collect();
    for (step, execution) in plan.steps.iter().zip(executions) {
        let Step::Kernel { arguments, .. } = step else {
            continue;
        };
        let (device, position) = match execution {
            Execution::Upload(device) | Execution::UploadInput { device, .. } => (*device, 0),
            Execution::Download(device) => (*device, 1),
            Execution::Fetch { device, to, .. } => {
                let position = plan
                    .arguments(*arguments)
                    .iter()
                    .position(|value| value == to);
                (*device, position.unwrap_or(0))
            }
            _ => continue,
        };
        if let Some(&value) = plan.arguments(*arguments).get(position)
            && let PlannedValue::Tensor(id) = plan.values[value.index()]
        {
            copied.insert(plan.tensors[id.0 as usize].storage, device);
        }
    }
    copied
}
