//! A plan, linked with the kernels and delegates that run it.
//!
//! This happens once per method and program, when the first instance is made; all instances share
//! the result.

mod check;
mod delegates;
mod report;
mod storages;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use thalweg_core::engine::{Block, Category, Slot, StorageId, TensorId};
use thalweg_core::{
    Delegate, Device, Kernel, LoadedDelegate, Prepacked, Result, SharedBytes, Tracer, ValueId,
    bail, ensure,
};

use self::delegates::load_delegates;
use self::storages::storages;
use crate::data::ProgramData;
use crate::facts::{Moving, Written, fixed_lists, unread, views};
use crate::missing::Missing;
use crate::options::LoadOptions;
use crate::passes::execution::executions;
use crate::passes::fusion::Absorption;
use crate::passes::{channels_last, constant_folding, prepack, residency};
use crate::plan::{MethodPlan, PlannedStorage, PlannedValue, Step};
use crate::profile::{Outline, Profile, Profiled};
use crate::runtime::Runtime;
use crate::schedule::{Execution, PlacedStorage, Places};
use crate::sources::Sources;
use crate::trace::InstructionNames;

pub use report::{PersistentBufferInfo, Schedule, ScheduledStep, StepExecution, TransferDirection};

/// A method that is ready to be instantiated.
pub(crate) struct LinkedMethod {
    pub(crate) plan: Arc<MethodPlan>,
    /// By index of the plan's operators.
    pub(crate) kernels: Vec<Kernel>,
    /// By index of the plan's delegates.
    pub(crate) delegates: Vec<Arc<dyn Delegate>>,
    /// How many tensors have their channels last, though the program plans them first.
    pub(crate) reordered: usize,
    /// What there is to pin in the program.
    pub(crate) outline: Arc<Outline>,
    /// What there is to pin here.
    pub(crate) profiled: Profiled,
    /// By index of the plan's delegates, the profile for calls that say nothing else.
    pub(crate) profiles: Vec<Option<usize>>,
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
    /// For each instruction, what its kernel has prepared.
    pub(crate) prepacked: Vec<Option<Prepacked>>,
    /// For each instruction, the outputs that nothing reads, as bits.
    pub(crate) unused: Vec<u64>,
    /// For each instruction, whether it only copies an output to the host.
    pub(crate) output_copies: Vec<bool>,
    /// Where tensors on devices lie, where that is not as planned.
    pub(crate) places: Places,
    /// The devices that the method has memory on.
    pub(crate) devices: Vec<Arc<dyn Device>>,
    /// Whether instances have named buffers, which others may share.
    pub(crate) has_state: bool,
    /// The named buffers that the host uses, and whether it may write to them.
    pub(crate) states_on_host: Vec<(StorageId, bool)>,
    /// What tensors of arenas start with.
    pub(crate) initial: Vec<(TensorId, SharedBytes)>,
    /// What instructions are called in traces, once there was one.
    names: OnceLock<Arc<InstructionNames>>,
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
    /// What no program plans.
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

impl LinkedMethod {
    /// Links a plan: finds what it needs, runs the passes, and loads its delegates.
    ///
    /// # Errors
    /// Names everything that is missing at once.
    pub(crate) fn new(
        plan: &Arc<MethodPlan>,
        runtime: &Runtime,
        data: &ProgramData,
        options: &LoadOptions,
        outline: &Arc<Outline>,
        tracer: Tracer<'_>,
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
        let kernels = kernels(plan, runtime);
        check::check_arguments(plan, &kernels)?;
        let span = tracer.begin(Category::Load, "find devices");
        let devices = devices(plan, runtime)?;
        drop(span);
        let sources = Sources::find(plan, data)?;
        let known;
        let plan = if options.optimizations.constant_folding {
            let room = options.memory_limit - plan.arena_bytes();
            known = constant_folding::compute(plan, &kernels, &sources, runtime.threads(), room)?;
            &known
        } else {
            plan
        };
        let (plan, reordered) = if options.optimizations.channels_last {
            channels_last::chosen(plan, &kernels)
        } else {
            (plan.clone(), 0)
        };
        let plan = &plan;
        let fusion = if options.optimizations.fusion {
            let room = options.memory_limit.saturating_sub(plan.arena_bytes());
            Absorption::find(plan, &kernels, &sources, room)?
        } else {
            Absorption::none(plan)
        };
        let plan = &fusion.plan;
        let written = Written::find(plan, &kernels);
        let moving = Moving::new(plan, views(plan, &kernels));
        let lends = written.lends(plan);
        let mut executions = executions(plan, &kernels, &moving, &devices);
        let span = tracer.begin(Category::Load, "load delegates");
        let delegates = load_delegates(plan, runtime, data, &options.backend_options, tracer)?;
        let delegates = opaque(delegates)?;
        drop(span);
        let (profiled, profiles) = profiles(plan, &delegates, &options.profile)?;
        let span = tracer.begin(Category::Load, "plan copies");
        let places = if options.optimizations.residency {
            let aliases: Vec<Vec<(usize, usize)>> = delegates
                .iter()
                .map(|delegate| delegate.aliases())
                .collect();
            let search = residency::Search {
                plan,
                kernels: &kernels,
                devices: &devices,
                changing: &written.values,
                aliases: &aliases,
            };
            residency::without_needless_copies(&search, &mut executions)
        } else {
            Places::default()
        };
        let storages = storages(plan, &sources, &lends, &executions, &devices, &places)?;
        drop(span);
        Ok(Self {
            names: OnceLock::new(),
            prepacked: {
                let constants = |id: StorageId| storages[id.0 as usize].constant();
                prepack::prepack(plan, &kernels, constants, &written, &fusion.prepared)?
            },
            unused: unread(plan, &kernels),
            fixed_lists: fixed_lists(plan, &written),
            moving,
            has_state: plan
                .storages
                .iter()
                .any(|storage| matches!(storage, PlannedStorage::State { .. }))
                || delegates.iter().any(|delegate| delegate.has_state()),
            storages,
            states_on_host: states_on_host(plan, &places, &written),
            output_copies: {
                let mut copies = vec![false; executions.len()];
                places.output_copies().for_each(|step| copies[step] = true);
                copies
            },
            executions,
            devices,
            places,
            initial: sources.initial(plan)?,
            delegates,
            reordered,
            outline: outline.clone(),
            profiled,
            profiles,
            plan: plan.clone(),
            kernels,
            lends,
        })
    }

    /// What instructions are called in traces.
    pub(crate) fn names(&self) -> &Arc<InstructionNames> {
        self.names.get_or_init(|| Arc::new(report::names(self)))
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

/// The kernels of a plan's operators, which are all there.
fn kernels(plan: &MethodPlan, runtime: &Runtime) -> Vec<Kernel> {
    let operators = plan.operators.iter();
    operators
        .filter_map(|operator| runtime.kernels().get(operator).cloned())
        .collect()
}

/// The delegates, which have to be opaque ones.
fn opaque(delegates: Vec<LoadedDelegate>) -> Result<Vec<Arc<dyn Delegate>>> {
    let opaque = |delegate| match delegate {
        LoadedDelegate::Opaque(delegate) => Ok(delegate),
        LoadedDelegate::Graph(_) => bail!(Unsupported, "a delegate is a graph"),
    };
    delegates.into_iter().map(opaque).collect()
}

/// The devices that a plan has memory on.
fn devices(plan: &MethodPlan, runtime: &Runtime) -> Result<Vec<Arc<dyn Device>>> {
    let mut devices: Vec<Arc<dyn Device>> = Vec::new();
    for id in plan.devices() {
        let device = runtime.device(id)?;
        if devices.iter().all(|known| known.id() != device.id()) {
            devices.push(device);
        }
    }
    Ok(devices)
}

/// What there is to pin, and what is pinned for all calls.
fn profiles(
    plan: &MethodPlan,
    delegates: &[Arc<dyn Delegate>],
    profile: &Profile,
) -> Result<(Profiled, Vec<Option<usize>>)> {
    let backends = plan.delegates.iter().map(|planned| &*planned.backend);
    let known = backends.zip(delegates.iter().map(|delegate| &**delegate));
    let profiled = Profiled::new(&plan.name, known);
    let Some(pins) = profile.pins() else {
        return Ok((profiled, vec![None; delegates.len()]));
    };
    profiled.check(pins, false)?;
    let mut profiles = Vec::with_capacity(delegates.len());
    for index in 0..delegates.len() {
        let resolved = profiled.resolve(pins, index)?;
        if resolved.replaced {
            profiled.warn(pins, index);
        }
        profiles.push(resolved.profile);
    }
    Ok((profiled, profiles))
}

/// The named buffers that are used where they are planned, on the host, and whether an instruction
/// may write to them.
fn states_on_host(plan: &MethodPlan, places: &Places, written: &Written) -> Vec<(StorageId, bool)> {
    let mut states = Vec::new();
    for (index, storage) in plan.storages.iter().enumerate() {
        let id = StorageId(index as u32);
        if !matches!(storage, PlannedStorage::State { .. }) || places.keeps(id) {
            continue;
        }
        let may_write = (0..plan.values.len() as u32)
            .map(ValueId::new)
            .any(|value| {
                let mut tensors = plan.tensors_of(value);
                let within = tensors.any(|tensor| plan.tensors[tensor.0 as usize].storage == id);
                within && written.reaches(value)
            });
        // A delegate may write any tensor that it is given.
        let delegated = plan.steps.iter().any(|step| match step {
            Step::Delegate { arguments, .. } => plan
                .arguments(*arguments)
                .iter()
                .flat_map(|&value| plan.tensors_of(value))
                .any(|tensor| plan.tensors[tensor.0 as usize].storage == id),
            _ => false,
        });
        let may_write = may_write || delegated;
        states.push((id, may_write));
    }
    states
}
