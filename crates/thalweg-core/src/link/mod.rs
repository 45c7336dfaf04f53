//! A plan, joined with the kernels and delegates that run it.
//!
//! This happens once per method and program, when the first instance is made; all instances share
//! the result.

mod buffers;
mod check;
mod delegates;
mod missing;
mod residency;
mod steps;
mod storages;
mod written;

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

pub use missing::Missing;
pub(crate) use residency::Places;
pub(crate) use steps::Execution;

use self::delegates::load_delegates;
use self::storages::{Sources, storages};
use self::written::{Written, fixed_lists};
use crate::data::ProgramData;
use crate::memory::{Block, FileBytes, Moving, Slot, StorageId, TensorId};
use crate::plan::{MethodPlan, PlannedStorage, PlannedValue};
use crate::{Delegate, Device, Kernel, LoadOptions, Result, Runtime, ValueId, ensure};

/// A method that is ready to be instantiated.
pub(crate) struct LinkedMethod {
    pub(crate) plan: Arc<MethodPlan>,
    /// By index of the plan's operators.
    pub(crate) kernels: Vec<Kernel>,
    /// By index of the plan's delegates.
    pub(crate) delegates: Vec<Arc<dyn Delegate>>,
    /// The lists of integers that no instruction changes.
    fixed_lists: HashMap<ValueId, Arc<[i64]>>,
    pub(crate) storages: Vec<LinkedStorage>,
    /// For each input, the storage through which the caller's memory is used; `None` where the
    /// content is copied, or is no tensor.
    pub(crate) lends: Vec<Option<StorageId>>,
    /// Tensors that may become views of others, and values that may become others.
    pub(crate) moving: Moving,
    /// How each instruction runs.
    pub(crate) executions: Vec<Execution>,
    /// For each input of a method with memory on devices, whether something looks at it on the
    /// host.
    pub(crate) inputs_on_host: Vec<bool>,
    /// For each instruction, the input that it copies to a device as the caller gave it.
    pub(crate) input_uploads: Vec<Option<usize>>,
    /// For each instruction, whether it only copies an output to the host.
    pub(crate) output_copies: Vec<bool>,
    /// Where tensors on devices lie, where that is not as planned.
    pub(crate) places: Places,
    /// The devices that the method has memory on.
    pub(crate) devices: Vec<Arc<dyn Device>>,
    /// Whether instances have named buffers, which others may share.
    pub(crate) has_state: bool,
    /// What tensors of arenas start with.
    pub(crate) initial: Vec<(TensorId, Bytes)>,
}

/// Where an instance's piece of memory comes from.
pub(crate) enum LinkedStorage {
    /// Memory of the host; `device` is the index of the device that copies from it or to it, if
    /// one does.
    Arena {
        bytes: usize,
        device: Option<usize>,
    },
    /// Memory of the device with this index.
    DeviceArena {
        bytes: usize,
        device: usize,
    },
    Constant(Bytes),
    /// A constant that could not be used where it lies in the file.
    Copied(Arc<Block>),
    State {
        name: Arc<str>,
        bytes: usize,
        initial: Option<Bytes>,
    },
    Caller,
    Growing,
}

/// A part of a file.
#[derive(Clone)]
pub(crate) struct Bytes {
    pub(crate) file: FileBytes,
    pub(crate) range: Range<usize>,
}

impl Bytes {
    pub(crate) fn get(&self) -> &[u8] {
        self.file
            .bytes()
            .get(self.range.clone())
            .unwrap_or_default()
    }
}

impl LinkedMethod {
    /// Joins a plan with what the runtime has.
    ///
    /// # Errors
    /// Names everything that is missing at once.
    pub(crate) fn new(
        plan: &Arc<MethodPlan>,
        runtime: &Runtime,
        data: &ProgramData,
        options: &LoadOptions,
    ) -> Result<Self> {
        let missing = Missing::of(plan, runtime);
        if !missing.is_empty() {
            return Err(missing.into_error());
        }
        ensure!(
            plan.arena_bytes() <= options.memory_limit,
            OutOfMemory,
            "the plan asks for {} bytes of memory, and the limit is {}",
            plan.arena_bytes(),
            options.memory_limit
        );
        let kernels: Vec<Kernel> = plan
            .operators
            .iter()
            .filter_map(|operator| runtime.kernels().get(operator).cloned())
            .collect();
        check::check_arguments(plan, &kernels)?;
        let mut devices: Vec<Arc<dyn Device>> = Vec::new();
        for device in plan.devices().filter_map(|id| runtime.device(id)) {
            if devices.iter().all(|known| known.id() != device.id()) {
                devices.push(device.clone());
            }
        }
        let sources = Sources::find(plan, data)?;
        let written = Written::find(plan, &kernels);
        let moving = Moving::new(plan, steps::views(plan, &kernels));
        let lends = written.lends(plan);
        let mut executions = steps::executions(plan, &kernels, &moving, &devices);
        let places = if options.every_copy {
            Places::default()
        } else {
            let changing = &written.values;
            residency::without_needless_copies(plan, &kernels, &devices, changing, &mut executions)
        };
        Ok(Self {
            fixed_lists: fixed_lists(plan, &written),
            moving,
            has_state: plan
                .storages
                .iter()
                .any(|storage| matches!(storage, PlannedStorage::State { .. })),
            storages: storages(plan, &sources, &lends, &executions, &devices, &places)?,
            inputs_on_host: if devices.is_empty() {
                // Where there is no device, no input is on one.
                Vec::new()
            } else {
                steps::inputs_on_host(plan, &executions, &written)
            },
            input_uploads: steps::input_uploads(plan, &kernels, &executions, &written),
            output_copies: {
                let mut copies = vec![false; executions.len()];
                places.output_copies().for_each(|step| copies[step] = true);
                copies
            },
            executions,
            devices,
            places,
            initial: sources.initial(plan)?,
            delegates: load_delegates(plan, runtime, data, &options.backend_options)?,
            plan: plan.clone(),
            kernels,
            lends,
        })
    }

    /// What each value is at the start.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        let slot = |(index, value): (usize, &PlannedValue)| match value {
            PlannedValue::Scalar(value) => Slot::Scalar(Cell::new(*value)),
            PlannedValue::String(value) => Slot::String(value.clone()),
            PlannedValue::Tensor(id) => Slot::Tensor(*id),
            PlannedValue::IntList(ids) => match self.fixed_lists.get(&ValueId::new(index as u32)) {
                Some(ints) => Slot::Ints(ints.clone()),
                None => Slot::IntList(ids.clone()),
            },
            PlannedValue::DoubleList(list) => Slot::DoubleList(list.clone()),
            PlannedValue::BoolList(list) => Slot::BoolList(list.clone()),
            PlannedValue::TensorList(list) => Slot::TensorList(list.clone()),
        };
        self.plan.values.iter().enumerate().map(slot).collect()
    }
}
