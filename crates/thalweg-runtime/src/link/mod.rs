//! A plan, linked with the kernels and delegates that run it.
//!
//! This happens once per method and program, when the first instance is made; all instances share
//! the result.

mod delegates;
mod report;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use thalweg_core::engine::{Category, Slot, StorageId, TensorId};
use thalweg_core::{
    Delegate, Device, Kernel, Prepacked, Result, SharedBytes, Tracer, ValueId, ensure,
};

use self::delegates::{load_delegates, separate_graphs};
use crate::data::ProgramData;
use crate::facts::{Facts, Moving, Written};
use crate::missing::Missing;
use crate::options::LoadOptions;
use crate::passes::{Lowering, Resources, check_arguments, passes};
use crate::plan::{MethodPlan, PlannedStorage, PlannedValue, Step};
use crate::profile::{Outline, Profile, Profiled};
use crate::runtime::Runtime;
use crate::schedule::{Execution, Places};
use crate::sources::Sources;
use crate::trace::InstructionNames;

pub(crate) use crate::storages::LinkedStorage;
pub use report::{PersistentBufferInfo, Schedule, ScheduledStep, StepExecution, TransferDirection};

/// A method that is ready to be instantiated.
pub(crate) struct LinkedMethod {
    pub(crate) plan: Arc<MethodPlan>,
    /// By index of the plan's operators.
    pub(crate) kernels: Arc<[Kernel]>,
    /// By index of the plan's delegates.
    pub(crate) delegates: Vec<Arc<dyn Delegate>>,
    /// The number of tensors that have their channels last, though the program plans them first.
    pub(crate) reordered: usize,
    /// The methods and delegates of the program, whose profiles can be pinned.
    pub(crate) outline: Arc<Outline>,
    /// The delegates of the method, whose profiles can be pinned.
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
    /// By instruction, how it runs.
    pub(crate) executions: Vec<Execution>,
    /// By instruction, its prepacked arguments.
    pub(crate) prepacked: Vec<Option<Prepacked>>,
    /// For each instruction, the outputs that nothing reads, as bits.
    pub(crate) unused: Vec<u64>,
    /// By instruction, true if it only copies an output to the host.
    pub(crate) output_copies: Vec<bool>,
    /// The locations of tensors on devices, where they are not as planned.
    pub(crate) places: Places,
    /// The devices that the method has memory on.
    pub(crate) devices: Vec<Arc<dyn Device>>,
    /// True if instances have named buffers, which others may share.
    pub(crate) has_state: bool,
    /// The named buffers that the host uses, with true for those that it may write.
    pub(crate) states_on_host: Vec<(StorageId, bool)>,
    /// The initial values of tensors in arenas.
    pub(crate) initial: Vec<(TensorId, SharedBytes)>,
    /// The names of instructions in traces, once there was one.
    names: OnceLock<Arc<InstructionNames>>,
}

impl LinkedMethod {
    /// Links a plan: finds what it needs, loads its delegates, and runs the passes.
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
        check_memory(plan, options)?;
        let facts = Facts::new(plan.clone(), kernels(plan, runtime));
        check_arguments(&facts)?;
        let span = tracer.begin(Category::Load, "find devices");
        let devices = devices(plan, runtime)?;
        drop(span);
        let sources = Sources::find(plan, data)?;
        let span = tracer.begin(Category::Load, "load delegates");
        let loaded = load_delegates(plan, runtime, data, &options.backend_options, tracer)?;
        let (delegates, graphs) = separate_graphs(loaded);
        drop(span);
        let (profiled, profiles) = profiles(plan, &delegates, &options.profile)?;
        let resources = Resources {
            sources: &sources,
            devices: &devices,
            delegates: &delegates,
            graphs: &graphs,
            registry: runtime.kernels(),
            threads: runtime.threads(),
            memory_limit: options.memory_limit,
            tracer,
        };
        let mut lowering = Lowering::new(facts, resources);
        for pass in passes(options.optimizations) {
            let facts = lowering.facts();
            pass.run(&facts, &mut lowering)?;
        }
        let facts = lowering.facts();
        let plan = facts.plan();
        Ok(Self {
            plan: plan.clone(),
            kernels: facts.kernels().clone(),
            reordered: lowering.reordered,
            outline: outline.clone(),
            profiled,
            profiles,
            fixed_lists: facts.fixed_lists().clone(),
            has_state: has_state(plan, &delegates),
            states_on_host: states_on_host(plan, &lowering.places, facts.written()),
            output_copies: output_copies(&lowering),
            initial: sources.initial(plan)?,
            names: OnceLock::new(),
            storages: lowering.storages,
            lends: lowering.lends,
            moving: lowering.moving,
            executions: lowering.executions,
            prepacked: lowering.prepacked,
            unused: lowering.unread,
            places: lowering.places,
            devices,
            delegates,
        })
    }

    /// The names of instructions in traces.
    pub(crate) fn names(&self) -> &Arc<InstructionNames> {
        self.names.get_or_init(|| Arc::new(report::names(self)))
    }

    /// The initial values.
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

/// Checks that a plan does not ask for more memory of the host than its caller allows.
fn check_memory(plan: &MethodPlan, options: &LoadOptions) -> Result<()> {
    ensure!(
        plan.arena_bytes() <= options.memory_limit,
        OutOfMemory,
        "the plan asks for {} bytes of memory, and the limit is {}",
        plan.arena_bytes(),
        options.memory_limit
    );
    Ok(())
}

/// The kernels of a plan's operators, which are all there.
fn kernels(plan: &MethodPlan, runtime: &Runtime) -> Arc<[Kernel]> {
    let operators = plan.operators.iter();
    operators
        .filter_map(|operator| runtime.kernels().get(operator).cloned())
        .collect()
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

/// The delegates whose profiles can be pinned, and the profiles that are pinned for all calls.
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

/// Returns true if instances have named buffers, which others may share.
fn has_state(plan: &MethodPlan, delegates: &[Arc<dyn Delegate>]) -> bool {
    let is_state = |storage: &PlannedStorage| matches!(storage, PlannedStorage::State { .. });
    plan.storages.iter().any(is_state) || delegates.iter().any(|delegate| delegate.has_state())
}

/// For each instruction, true if it only copies an output to the host.
fn output_copies(lowering: &Lowering<'_>) -> Vec<bool> {
    let mut copies = vec![false; lowering.executions.len()];
    let steps = lowering.places.output_copies();
    steps.for_each(|step| copies[step] = true);
    copies
}

/// The named buffers that are used where they are planned, on the host, with true for those that an
/// instruction may write.
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
