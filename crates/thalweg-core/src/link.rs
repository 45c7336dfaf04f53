//! A plan, joined with the kernels and delegates that run it.
//!
//! This happens once per method and program, when the first instance is made; all instances share
//! the result.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use thalweg_format::{Device, DeviceKind};

use crate::data::ProgramData;
use crate::memory::{Block, FileBytes, Moving, Overlap, Slot, StorageId, TensorId};
use crate::plan::{DataSource, InputKind, MethodPlan, PlannedStorage, PlannedValue, Step};
use crate::{
    BackendOptions, Delegate, DelegateSpec, Error, ErrorKind, Kernel, ParameterKind, Result,
    Runtime, ValueId, bail, ensure,
};

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
    /// For each instruction, whether its arguments may share memory.
    pub(crate) overlaps: Vec<Overlap>,
    /// Whether instances have named buffers, which others may share.
    pub(crate) has_state: bool,
    /// What tensors of arenas start with.
    pub(crate) initial: Vec<(TensorId, Bytes)>,
}

/// Where an instance's piece of memory comes from.
pub(crate) enum LinkedStorage {
    Arena(usize),
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

/// What a method needs and a runtime does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// Operators, by full name.
    pub operators: Vec<String>,
    /// Backends, by name.
    pub backends: Vec<String>,
    /// Devices, such as `cuda:0`.
    pub devices: Vec<String>,
}

impl Missing {
    /// What a plan needs and a runtime lacks.
    pub(crate) fn of(plan: &MethodPlan, runtime: &Runtime) -> Self {
        let mut missing = Self::default();
        for operator in &plan.operators {
            if runtime.kernels().get(operator).is_none() {
                missing.operators.push(operator.clone());
            }
        }
        for delegate in &plan.delegates {
            if runtime.backend(&delegate.backend).is_none() {
                missing.backends.push(delegate.backend.clone());
            }
        }
        missing.devices.extend(plan.devices().map(device_name));
        for names in [
            &mut missing.operators,
            &mut missing.backends,
            &mut missing.devices,
        ] {
            names.sort();
            names.dedup();
        }
        missing
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn into_error(self) -> Error {
        let mut parts = Vec::new();
        for (one, many, names) in [
            ("operator", "operators", &self.operators),
            ("backend", "backends", &self.backends),
            ("device", "devices", &self.devices),
        ] {
            if let [first, rest @ ..] = &names[..] {
                let noun = if rest.is_empty() { one } else { many };
                let list = rest
                    .iter()
                    .fold(first.clone(), |list, name| list + ", " + name);
                parts.push(format!("the {noun} {list}"));
            }
        }
        let kind = if self.operators.is_empty() && self.backends.is_empty() {
            ErrorKind::MissingDevice
        } else {
            ErrorKind::Missing
        };
        Error::new(
            kind,
            format!(
                "it needs what this runtime does not have: {}",
                parts.join("; ")
            ),
        )
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
        options: &BackendOptions,
        memory_limit: usize,
    ) -> Result<Self> {
        let missing = Missing::of(plan, runtime);
        if !missing.is_empty() {
            return Err(missing.into_error());
        }
        ensure!(
            plan.arena_bytes() <= memory_limit,
            OutOfMemory,
            "the plan asks for {} bytes of memory, and the limit is {memory_limit}",
            plan.arena_bytes()
        );
        let kernels: Vec<Kernel> = plan
            .operators
            .iter()
            .filter_map(|operator| runtime.kernels().get(operator).cloned())
            .collect();
        check_arguments(plan, &kernels)?;
        let sources = Sources::find(plan, data)?;
        let written = Written::find(plan, &kernels);
        let moving = Moving::new(plan, views(plan, &kernels));
        let lends = written.lends(plan);
        Ok(Self {
            fixed_lists: fixed_lists(plan, &written),
            overlaps: overlaps(plan, &kernels, &moving),
            moving,
            has_state: plan
                .storages
                .iter()
                .any(|storage| matches!(storage, PlannedStorage::State { .. })),
            storages: storages(plan, &sources, &lends)?,
            initial: sources.initial(plan)?,
            delegates: load_delegates(plan, runtime, data, options)?,
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

/// An error unless every instruction has the arguments that its operator takes.
fn check_arguments(plan: &MethodPlan, kernels: &[Kernel]) -> Result<()> {
    for (index, step) in plan.steps.iter().enumerate() {
        if let Step::Kernel {
            operator,
            arguments,
        } = step
        {
            check_call(
                plan,
                &kernels[*operator as usize],
                plan.arguments(*arguments),
            )
            .map_err(|error| error.at_instruction(index, &plan.step_name(index)))?;
        }
    }
    Ok(())
}

fn check_call(plan: &MethodPlan, kernel: &Kernel, arguments: &[ValueId]) -> Result<()> {
    let signature = kernel.signature();
    ensure!(
        signature.accepts(arguments.len()),
        InvalidProgram,
        "the instruction has {} arguments, but {signature} takes {}",
        arguments.len(),
        signature.argument_count()
    );
    for (position, argument) in arguments.iter().enumerate() {
        let Some(parameter) = signature.argument(position) else {
            continue;
        };
        let value = &plan.values[argument.index()];
        ensure!(
            fits(value, parameter.kind),
            InvalidProgram,
            "argument `{}` must be {}",
            signature.parameter_name(position).unwrap_or_default(),
            parameter.kind
        );
    }
    Ok(())
}

/// Whether a value may be passed as a kind of argument. A value that is none now may become any
/// number, and may be an optional argument of any kind; numbers convert where they are read.
fn fits(value: &PlannedValue, kind: ParameterKind) -> bool {
    use ParameterKind as Kind;
    match value {
        PlannedValue::Scalar(None) => true,
        PlannedValue::Scalar(Some(_)) => matches!(
            kind,
            Kind::Scalar | Kind::Int | Kind::Double | Kind::Bool | Kind::IntList
        ),
        PlannedValue::String(_) => kind == Kind::String,
        PlannedValue::Tensor(_) => kind == Kind::Tensor,
        PlannedValue::IntList(_) => kind == Kind::IntList,
        PlannedValue::DoubleList(_) => kind == Kind::DoubleList,
        PlannedValue::BoolList(_) => kind == Kind::BoolList,
        PlannedValue::TensorList(_) => {
            matches!(kind, Kind::TensorList | Kind::OptionalTensorList)
        }
    }
}

/// What instructions may change.
struct Written {
    values: HashSet<ValueId>,
    /// From a value to those that may share its memory: views of it, and what it is moved to.
    shares: HashMap<ValueId, Vec<ValueId>>,
}

impl Written {
    fn find(plan: &MethodPlan, kernels: &[Kernel]) -> Self {
        let mut written = Self {
            values: HashSet::new(),
            shares: HashMap::new(),
        };
        for step in &plan.steps {
            match step {
                Step::Kernel {
                    operator,
                    arguments,
                } => {
                    let kernel = &kernels[*operator as usize];
                    let arguments = plan.arguments(*arguments);
                    for &position in kernel.signature().writes() {
                        let Some(&target) = arguments.get(usize::from(position)) else {
                            continue;
                        };
                        if kernel.signature().operator() == VIEW {
                            written.shares.entry(arguments[0]).or_default().push(target);
                        } else {
                            written.values.insert(target);
                            written.values.extend(list_entries(plan, target));
                        }
                    }
                }
                Step::Move { from, to } => {
                    written.shares.entry(*from).or_default().push(*to);
                }
                Step::Delegate { .. } | Step::JumpIfFalse { .. } | Step::Free { .. } => {}
            }
        }
        // An integer that a delegate returns, that is moved, or that the caller passes, is not
        // the one that the program lists.
        let changing = plan.steps.iter().flat_map(|step| match step {
            Step::Delegate { arguments, .. } => plan.arguments(*arguments),
            Step::Move { to, .. } => std::slice::from_ref(to),
            _ => &[],
        });
        let numbers: Vec<ValueId> = changing
            .copied()
            .chain(plan.inputs.iter().map(|input| input.value))
            .filter(|value| matches!(plan.values[value.index()], PlannedValue::Scalar(_)))
            .collect();
        written.values.extend(numbers);
        written
    }

    /// For each input, the storage that can refer to the caller's memory: that of a tensor without
    /// planned memory, unless an instruction writes to it.
    fn lends(&self, plan: &MethodPlan) -> Vec<Option<StorageId>> {
        let lend = |input: &crate::plan::PlannedInput| {
            let InputKind::Tensor(tensor) = input.kind else {
                return None;
            };
            let storage = plan.tensors[tensor.0 as usize].storage;
            let unplanned = matches!(plan.storages[storage.0 as usize], PlannedStorage::Unplanned);
            (unplanned && !self.reaches(input.value)).then_some(storage)
        };
        plan.inputs.iter().map(lend).collect()
    }

    /// Whether a value, or one that may share its memory, is written.
    fn reaches(&self, from: ValueId) -> bool {
        let mut seen = HashSet::from([from]);
        let mut open = vec![from];
        while let Some(value) = open.pop() {
            if self.values.contains(&value) {
                return true;
            }
            for &next in self.shares.get(&value).into_iter().flatten() {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}

/// The operator whose output is its input's memory.
const VIEW: &str = "executorch_prim::et_view.default";

/// The values that instructions make views of others.
fn views(plan: &MethodPlan, kernels: &[Kernel]) -> Vec<ValueId> {
    let view = |step: &Step| match step {
        Step::Kernel {
            operator,
            arguments,
        } => {
            let signature = kernels[*operator as usize].signature();
            let position = *signature.writes().first()?;
            let is_view = signature.operator() == VIEW;
            let argument = plan.arguments(*arguments).get(usize::from(position));
            argument.copied().filter(|_| is_view)
        }
        _ => None,
    };
    plan.steps.iter().filter_map(view).collect()
}

fn overlaps(plan: &MethodPlan, kernels: &[Kernel], moving: &Moving) -> Vec<Overlap> {
    let overlap = |step: &Step| {
        let Step::Kernel {
            operator,
            arguments,
        } = step
        else {
            return Overlap::Copied;
        };
        let signature = kernels[*operator as usize].signature();
        if signature.operator() == VIEW {
            return Overlap::View;
        }
        let reads = signature.parameters().len();
        let arguments = plan.arguments(*arguments);
        moving
            .apart(plan, arguments, reads, signature.writes())
            .map_or(Overlap::Copied, Overlap::None)
    };
    plan.steps.iter().map(overlap).collect()
}

fn list_entries(plan: &MethodPlan, list: ValueId) -> impl Iterator<Item = ValueId> {
    let entries = match &plan.values[list.index()] {
        PlannedValue::TensorList(ids) => &ids[..],
        _ => &[],
    };
    entries.iter().copied().flatten()
}

/// The lists of integers of which none changes. They are looked up once; others at every use.
fn fixed_lists(plan: &MethodPlan, written: &Written) -> HashMap<ValueId, Arc<[i64]>> {
    let fixed = |id: &ValueId| match &plan.values[id.index()] {
        PlannedValue::Scalar(Some(value)) if !written.values.contains(id) => Some(value.to_i64()),
        _ => None,
    };
    let lists = plan.values.iter().enumerate();
    lists
        .filter_map(|(index, value)| match value {
            PlannedValue::IntList(ids) => {
                let ints: Option<Arc<[i64]>> = ids.iter().map(fixed).collect();
                Some((ValueId::new(index as u32), ints?))
            }
            _ => None,
        })
        .collect()
}

/// The data of a plan, found.
struct Sources<'a>(&'a ProgramData);

impl<'a> Sources<'a> {
    /// An error that names all data that is missing at once.
    fn find(plan: &MethodPlan, data: &'a ProgramData) -> Result<Self> {
        let of_storages = plan.storages.iter().filter_map(|storage| match storage {
            PlannedStorage::Constant { data, .. } => Some(data),
            PlannedStorage::State { initial, .. } => initial.as_ref(),
            _ => None,
        });
        let of_tensors = plan
            .tensors
            .iter()
            .filter_map(|tensor| tensor.initial.as_ref());
        let mut missing: Vec<&str> = of_storages
            .chain(of_tensors)
            .filter_map(|source| match source {
                DataSource::External(name) if data.find(name).is_none() => Some(&**name),
                _ => None,
            })
            .collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            return Err(data.missing(&missing));
        }
        Ok(Self(data))
    }

    fn bytes(&self, source: &DataSource, len: usize) -> Result<Bytes> {
        let (file, range) = match source {
            DataSource::File(range) => (self.0.program(), range.clone()),
            DataSource::External(name) => match self.0.find(name) {
                Some(found) => found,
                None => return Err(self.0.missing(&[name])),
            },
        };
        ensure!(
            range.len() >= len,
            InvalidProgram,
            "a tensor needs {len} bytes of data, but {} has {}",
            match source {
                DataSource::File(_) => "the program".to_string(),
                DataSource::External(name) => format!("`{name}` in the data file"),
            },
            range.len()
        );
        Ok(Bytes {
            file: file.clone(),
            range: range.start..range.start + len,
        })
    }

    fn initial(&self, plan: &MethodPlan) -> Result<Vec<(TensorId, Bytes)>> {
        let mut initial = Vec::new();
        for (index, tensor) in plan.tensors.iter().enumerate() {
            if let Some(source) = &tensor.initial {
                initial.push((TensorId(index as u32), self.bytes(source, tensor.capacity)?));
            }
        }
        Ok(initial)
    }
}

fn storages(
    plan: &MethodPlan,
    sources: &Sources<'_>,
    lends: &[Option<StorageId>],
) -> Result<Vec<LinkedStorage>> {
    let lent: HashSet<StorageId> = lends.iter().copied().flatten().collect();
    let mut storages = Vec::new();
    for (index, storage) in plan.storages.iter().enumerate() {
        storages.push(match storage {
            PlannedStorage::Arena { bytes, .. } => LinkedStorage::Arena(*bytes),
            PlannedStorage::Constant { data, bytes, align } => {
                let found = sources.bytes(data, *bytes)?;
                if found.get().as_ptr().addr().is_multiple_of(*align) || *bytes == 0 {
                    LinkedStorage::Constant(found)
                } else {
                    LinkedStorage::Copied(Arc::new(Block::copy_of(found.get())?))
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
    Ok(storages)
}

fn load_delegates(
    plan: &MethodPlan,
    runtime: &Runtime,
    data: &ProgramData,
    options: &BackendOptions,
) -> Result<Vec<Arc<dyn Delegate>>> {
    let mut delegates = Vec::new();
    for (index, delegate) in plan.delegates.iter().enumerate() {
        let Some(backend) = runtime.backend(&delegate.backend) else {
            bail!(Missing, "there is no backend {}", delegate.backend);
        };
        let spec = DelegateSpec {
            method: &plan.name,
            index,
            backend: &delegate.backend,
            file: data.program(),
            payload: delegate.payload.clone(),
            compile_specs: &delegate.compile_specs,
            data,
            options,
        };
        delegates.push(backend.load(&spec).map_err(|error| {
            let message = format!(
                "delegate {index} ({}): {}",
                delegate.backend,
                error.message()
            );
            Error::new(error.kind(), message).with_source(error)
        })?);
    }
    Ok(delegates)
}

fn device_name(device: Device) -> String {
    match device.kind {
        DeviceKind::Cpu => format!("cpu:{}", device.index),
        DeviceKind::Cuda => format!("cuda:{}", device.index),
    }
}
