//! A method, resolved: what a program file says about it, checked and made ready to instantiate.
//!
//! A plan owns everything and refers to the file by ranges of bytes, so that it can be shared
//! freely. It is made when a program is loaded ([`build`]) and knows nothing of kernels and
//! backends; those are looked up when the first instance is made (see [`crate::link`]).

mod build;
mod origin;
mod placement;

use std::ops::{Deref, Range};
use std::sync::Arc;

use thalweg_core::engine::{FileBytes, StorageId, TensorId};
use thalweg_core::{Error, Result, Scalar, SharedBytes, TensorSpec, ValueId};
use thalweg_format::Device;

pub(crate) use origin::{NodeOrigin, Origin};

/// A method, resolved.
#[derive(Clone)]
pub(crate) struct MethodPlan {
    pub(crate) name: String,
    /// The nesting of inputs, as the exporter encoded it.
    pub(crate) input_tree: Option<String>,
    /// The nesting of outputs.
    pub(crate) output_tree: Option<String>,
    /// By [`ValueId`].
    pub(crate) values: Vec<PlannedValue>,
    /// By [`TensorId`].
    pub(crate) tensors: Vec<PlannedTensor>,
    /// By [`StorageId`].
    pub(crate) storages: Vec<PlannedStorage>,
    pub(crate) inputs: Vec<PlannedInput>,
    pub(crate) outputs: Vec<ValueId>,
    /// Full names, such as `aten::add.out`.
    pub(crate) operators: Vec<String>,
    pub(crate) delegates: Vec<PlannedDelegate>,
    pub(crate) steps: Vec<Step>,
    /// The arguments of all steps, one after another.
    pub(crate) arguments: Vec<ValueId>,
    /// The origin of each step, and of the end, if delegates were inlined. Otherwise steps are the
    /// program's instructions.
    pub(crate) origins: Option<Arc<[Origin]>>,
}

/// A value, as it is at the start of a call.
#[derive(Clone, Debug)]
pub(crate) enum PlannedValue {
    Scalar(Option<Scalar>),
    String(Arc<str>),
    Tensor(TensorId),
    IntList(Arc<[ValueId]>),
    DoubleList(Arc<[f64]>),
    BoolList(Arc<[bool]>),
    TensorList(Arc<[Option<ValueId>]>),
}

/// A tensor and its location.
#[derive(Clone)]
pub(crate) struct PlannedTensor {
    pub(crate) spec: TensorSpec,
    pub(crate) storage: StorageId,
    /// In bytes, from the start of the storage.
    pub(crate) offset: usize,
    /// The initial value in an instance, for tensors of an arena; `None` for zeros.
    pub(crate) initial: Option<DataSource>,
}

/// A piece of memory that an instance has.
#[derive(Clone)]
pub(crate) enum PlannedStorage {
    /// An arena, as large as the tensors in it need.
    Arena { bytes: usize, device: Device },
    /// A constant.
    Constant {
        data: DataSource,
        bytes: usize,
        align: usize,
    },
    /// A mutable buffer with a name, which methods can share.
    State {
        name: Arc<str>,
        bytes: usize,
        initial: Option<DataSource>,
    },
    /// None is planned: the caller's memory for an input, else memory that grows as needed.
    Unplanned,
}

/// The source of data that is known before a method runs.
#[derive(Clone)]
pub(crate) enum DataSource {
    /// Bytes of the program file.
    File(Range<usize>),
    /// A data file, under this name.
    External(Arc<str>),
    /// Bytes that are at hand: computed when the method was linked, or of a delegate.
    Shared(SharedBytes),
}

/// An input, and what it must be.
#[derive(Clone)]
pub(crate) struct PlannedInput {
    pub(crate) value: ValueId,
    pub(crate) kind: InputKind,
}

/// The requirement of an input.
#[derive(Clone)]
pub(crate) enum InputKind {
    /// A tensor of the planned type and shape.
    Tensor(TensorId),
    /// This very number: the program was exported for it.
    Fixed(Scalar),
    /// This very string.
    FixedString(Arc<str>),
    /// Anything but a tensor; the program only says that there is an input.
    Any,
}

/// A delegate, and its payload.
#[derive(Clone)]
pub(crate) struct PlannedDelegate {
    pub(crate) backend: String,
    /// The payload, as a range of the program file.
    pub(crate) payload: Range<usize>,
    pub(crate) compile_specs: Vec<(String, Vec<u8>)>,
}

/// An instruction. Arguments are a range of [`MethodPlan::arguments`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Kernel {
        operator: u32,
        arguments: ArgumentRange,
    },
    Delegate {
        delegate: u32,
        arguments: ArgumentRange,
    },
    Move {
        from: ValueId,
        to: ValueId,
    },
    JumpIfFalse {
        condition: ValueId,
        destination: u32,
    },
    Free {
        value: ValueId,
    },
    /// A kernel whose results are constants: they were computed when the method was linked.
    Folded {
        operator: u32,
    },
    /// A kernel that is an epilogue of an instruction before it.
    Fused {
        operator: u32,
    },
}

/// A range of [`MethodPlan::arguments`], half the size of a `Range<usize>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentRange {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Deref for PlannedTensor {
    type Target = TensorSpec;

    fn deref(&self) -> &TensorSpec {
        &self.spec
    }
}

impl MethodPlan {
    /// The arguments of an instruction.
    #[inline]
    pub(crate) fn arguments(&self, span: ArgumentRange) -> &[ValueId] {
        let start = span.start as usize;
        &self.arguments[start..start + span.len as usize]
    }

    /// The tensors that a value stands for: one, those of a list, or none.
    pub(crate) fn tensors_of(&self, value: ValueId) -> impl Iterator<Item = TensorId> {
        let (one, list) = match &self.values[value.index()] {
            PlannedValue::Tensor(id) => (Some(*id), &[][..]),
            PlannedValue::TensorList(ids) => (None, &ids[..]),
            _ => (None, &[][..]),
        };
        let listed = list
            .iter()
            .flatten()
            .filter_map(|id| match self.values[id.index()] {
                PlannedValue::Tensor(id) => Some(id),
                _ => None,
            });
        one.into_iter().chain(listed)
    }

    /// Adds a storage.
    pub(crate) fn add_storage(&mut self, storage: PlannedStorage) -> StorageId {
        self.storages.push(storage);
        StorageId(self.storages.len() as u32 - 1)
    }

    /// An error of a step, with its place in the program.
    #[cold]
    pub(crate) fn at_step(&self, error: Error, index: usize) -> Error {
        let mut name = self.step_name(index);
        if let Some(node) = self.node(index) {
            let delegate = self.delegate_name(node.delegate);
            name = format!("{name}, {} of {delegate}", node.describe());
        }
        error.at_instruction(self.instruction(index), &name)
    }

    /// The index of the program's instruction that a step comes from.
    pub(crate) fn instruction(&self, step: usize) -> usize {
        match &self.origins {
            None => step,
            Some(origins) => match origins.get(step).or(origins.last()) {
                Some(origin) => origin.instruction as usize,
                None => step,
            },
        }
    }

    /// The node that a step comes from, if a delegate was inlined there.
    pub(crate) fn node(&self, step: usize) -> Option<&NodeOrigin> {
        let origin = self.origins.as_ref()?.get(step)?;
        origin.node.as_ref()
    }

    /// A delegate in words, such as "delegate 0 (TensorRT)".
    pub(crate) fn delegate_name(&self, delegate: u32) -> String {
        let backend = &self.delegates[delegate as usize].backend;
        format!("delegate {delegate} ({backend})")
    }

    /// The operator or delegate of a step, for messages.
    pub(crate) fn step_name(&self, index: usize) -> String {
        match self.steps.get(index) {
            Some(
                Step::Kernel { operator, .. }
                | Step::Folded { operator }
                | Step::Fused { operator },
            ) => self.operators[*operator as usize].clone(),
            Some(Step::Delegate { delegate, .. }) => self.delegate_name(*delegate),
            Some(Step::Move { .. }) => "move".into(),
            Some(Step::JumpIfFalse { .. }) => "jump if false".into(),
            Some(Step::Free { .. }) => "free".into(),
            None => "end".into(),
        }
    }

    /// The devices, other than the CPU, that the method's arenas live on.
    pub(crate) fn devices(&self) -> impl Iterator<Item = Device> {
        self.storages.iter().filter_map(|storage| match storage {
            PlannedStorage::Arena { device, .. } if *device != Device::default() => Some(*device),
            _ => None,
        })
    }

    /// Returns true if a data file may be of use: for tensors whose data is kept outside, or a delegate.
    pub(crate) fn may_need_data(&self) -> bool {
        let external = |source: &DataSource| matches!(source, DataSource::External(_));
        !self.delegates.is_empty()
            || self
                .tensors
                .iter()
                .any(|tensor| tensor.initial.as_ref().is_some_and(external))
            || self.storages.iter().any(|storage| match storage {
                PlannedStorage::Constant { data, .. } => external(data),
                PlannedStorage::State { initial, .. } => initial.as_ref().is_some_and(external),
                _ => false,
            })
    }

    /// Bytes that each instance has for itself on the host before it first runs: its arenas and its
    /// named buffers.
    pub(crate) fn arena_bytes(&self) -> usize {
        self.storages
            .iter()
            .map(|storage| match storage {
                PlannedStorage::Arena { bytes, device } if *device == Device::default() => *bytes,
                PlannedStorage::State { bytes, .. } => *bytes,
                _ => 0,
            })
            .fold(0, usize::saturating_add)
    }
}

/// Resolves every method of a program file.
///
/// # Errors
/// If the bytes are no program, or one that says something that cannot be.
pub(crate) fn read(file: &FileBytes) -> Result<(Vec<MethodPlan>, Vec<(String, Range<usize>)>)> {
    build::read(file)
}
