//! From the file to plans.

use std::ops::Range;

use ::thalweg_format as format;
use thalweg_core::engine::{FileBytes, StorageId, TensorId};
use thalweg_core::{
    DType, Error, MAX_RANK, Result, Scalar, TensorSpec, ValueId, bail, ensure, numel,
};
use thalweg_format::{Instruction, ShapeDynamism};

use super::placement::Placement;
use super::{
    ArgumentRange, DataSource, InputKind, MethodPlan, PlannedDelegate, PlannedInput,
    PlannedStorage, PlannedTensor, PlannedValue, Step,
};

pub(super) fn read(file: &FileBytes) -> Result<(Vec<MethodPlan>, Vec<(String, Range<usize>)>)> {
    let program = format::Program::parse(file.bytes()).map_err(Error::from)?;
    let locate = Locate(file.bytes());
    let plans = program
        .methods
        .iter()
        .map(|method| {
            Builder::new(&program, method, &locate)
                .build()
                .map_err(|error| error.in_method(&method.name))
        })
        .collect::<Result<_>>()?;
    let named = program
        .named_data
        .iter()
        .filter_map(|entry| {
            let data = program.segments.get(entry.segment as usize)?;
            Some(
                locate
                    .range(data)
                    .map(|range| (entry.key.to_string(), range)),
            )
        })
        .collect::<Result<_>>()?;
    Ok((plans, named))
}

/// Turns slices of the file into ranges.
struct Locate<'a>(&'a [u8]);

impl Locate<'_> {
    fn range(&self, part: &[u8]) -> Result<Range<usize>> {
        if part.is_empty() {
            return Ok(0..0);
        }
        let start = part.as_ptr().addr().checked_sub(self.0.as_ptr().addr());
        match start.map(|start| start..start + part.len()) {
            Some(range) if range.end <= self.0.len() => Ok(range),
            _ => bail!(Internal, "data of a program does not lie in its file"),
        }
    }
}

struct Builder<'p> {
    program: &'p format::Program<'p>,
    method: &'p format::Method<'p>,
    locate: &'p Locate<'p>,
    storages: Vec<PlannedStorage>,
    tensors: Vec<PlannedTensor>,
    values: Vec<PlannedValue>,
    steps: Vec<Step>,
    arguments: Vec<ValueId>,
}

impl<'p> Builder<'p> {
    fn new(
        program: &'p format::Program<'p>,
        method: &'p format::Method<'p>,
        locate: &'p Locate<'p>,
    ) -> Self {
        Self {
            program,
            method,
            locate,
            storages: Vec::new(),
            tensors: Vec::new(),
            values: Vec::new(),
            steps: Vec::new(),
            arguments: Vec::new(),
        }
    }

    fn build(mut self) -> Result<MethodPlan> {
        self.steps()?;
        self.values()?;
        let inputs = self
            .method
            .inputs
            .iter()
            .map(|&value| self.input(value))
            .collect::<Result<_>>()?;
        let meta = self.method.container_meta.as_ref();
        let tree = |encoded: &Option<std::borrow::Cow<'_, str>>| encoded.as_deref().map(Into::into);
        Ok(MethodPlan {
            name: self.method.name.to_string(),
            input_tree: meta.and_then(|meta| tree(&meta.inputs)),
            output_tree: meta.and_then(|meta| tree(&meta.outputs)),
            values: self.values,
            tensors: self.tensors,
            storages: self.storages,
            inputs,
            outputs: self
                .method
                .outputs
                .iter()
                .copied()
                .map(ValueId::new)
                .collect(),
            operators: self.method.operators.iter().map(operator_name).collect(),
            delegates: self
                .method
                .delegates
                .iter()
                .map(|delegate| {
                    let payload = self.program.delegate_payload(delegate)?;
                    Ok(PlannedDelegate {
                        backend: delegate.backend.to_string(),
                        payload: self.locate.range(payload)?,
                        compile_specs: delegate
                            .compile_specs
                            .iter()
                            .map(|spec| (spec.key.to_string(), spec.value.to_vec()))
                            .collect(),
                    })
                })
                .collect::<Result<_>>()?,
            steps: self.steps,
            arguments: self.arguments,
            origins: None,
        })
    }

    fn steps(&mut self) -> Result<()> {
        let [chain] = &self.method.chains[..] else {
            // A method that only returns constants may have none.
            ensure!(
                self.method.chains.is_empty(),
                Unsupported,
                "the method has {} chains of instructions; programs have one",
                self.method.chains.len()
            );
            return Ok(());
        };
        for instruction in &chain.instructions {
            let step = match instruction {
                Instruction::KernelCall { operator, args } => Step::Kernel {
                    operator: *operator,
                    arguments: self.span(args)?,
                },
                Instruction::DelegateCall { delegate, args } => Step::Delegate {
                    delegate: *delegate,
                    arguments: self.span(args)?,
                },
                Instruction::Move { from, to } => Step::Move {
                    from: ValueId::new(*from),
                    to: ValueId::new(*to),
                },
                Instruction::JumpIfFalse {
                    condition,
                    destination,
                } => Step::JumpIfFalse {
                    condition: ValueId::new(*condition),
                    destination: *destination,
                },
                Instruction::Free { value } => Step::Free {
                    value: ValueId::new(*value),
                },
            };
            self.steps.push(step);
        }
        Ok(())
    }

    fn span(&mut self, arguments: &[u32]) -> Result<ArgumentRange> {
        let start = u32::try_from(self.arguments.len());
        let len = u32::try_from(arguments.len());
        let (Ok(start), Ok(len)) = (start, len) else {
            bail!(Unsupported, "the method has more than 4 billion arguments");
        };
        self.arguments
            .extend(arguments.iter().copied().map(ValueId::new));
        Ok(ArgumentRange { start, len })
    }

    fn values(&mut self) -> Result<()> {
        let mut placement = Placement::new(self.method);
        // Named state first: other tensors may be views of it.
        for (index, value) in self.method.values.iter().enumerate() {
            if let format::Value::Tensor(tensor) = value
                && let Some(name) = state_name(tensor)
            {
                self.place_state(&mut placement, tensor, name)
                    .map_err(|error| in_value(error, index))?;
            }
        }
        for (index, value) in self.method.values.iter().enumerate() {
            let planned = match value {
                format::Value::None => PlannedValue::Scalar(None),
                format::Value::Int(value) => PlannedValue::Scalar(Some(Scalar::Int(*value))),
                format::Value::Double(value) => PlannedValue::Scalar(Some(Scalar::Double(*value))),
                format::Value::Bool(value) => PlannedValue::Scalar(Some(Scalar::Bool(*value))),
                format::Value::String(value) => PlannedValue::String((&**value).into()),
                format::Value::Tensor(tensor) => {
                    let tensor = self
                        .tensor(&mut placement, tensor)
                        .map_err(|error| in_value(error, index))?;
                    self.tensors.push(tensor);
                    PlannedValue::Tensor(TensorId(self.tensors.len() as u32 - 1))
                }
                format::Value::IntList(items) => {
                    PlannedValue::IntList(items.iter().copied().map(ValueId::new).collect())
                }
                format::Value::DoubleList(items) => PlannedValue::DoubleList((&items[..]).into()),
                format::Value::BoolList(items) => PlannedValue::BoolList((&items[..]).into()),
                format::Value::TensorList(items) => PlannedValue::TensorList(
                    items.iter().map(|&item| Some(ValueId::new(item))).collect(),
                ),
                format::Value::OptionalTensorList(items) => PlannedValue::TensorList(
                    items.iter().map(|item| item.map(ValueId::new)).collect(),
                ),
            };
            self.values.push(planned);
        }
        for (storage, bytes) in placement.arena_sizes() {
            if let PlannedStorage::Arena { bytes: size, .. } =
                &mut self.storages[storage.0 as usize]
            {
                *size = bytes;
            }
        }
        Ok(())
    }

    fn storage(&mut self, storage: PlannedStorage) -> StorageId {
        self.storages.push(storage);
        StorageId(self.storages.len() as u32 - 1)
    }

    fn place_state(
        &mut self,
        placement: &mut Placement<'p>,
        tensor: &'p format::Tensor<'p>,
        name: &'p str,
    ) -> Result<()> {
        let (_, bytes) = type_and_bytes(tensor)?;
        ensure!(
            placement.is_on_host(tensor),
            Unsupported,
            "the mutable buffer `{name}` is planned on a device; programs plan state on the host"
        );
        if let Some(storage) = placement.state(name) {
            ensure!(
                matches!(&self.storages[storage.0 as usize], PlannedStorage::State { bytes: other, .. } if *other == bytes),
                InvalidProgram,
                "two mutable buffers are called `{name}` and have different sizes"
            );
            return placement.add_state(tensor, name, bytes, storage);
        }
        let storage = PlannedStorage::State {
            name: name.into(),
            bytes,
            initial: self.initial_data(tensor, bytes)?,
        };
        let storage = self.storage(storage);
        placement.add_state(tensor, name, bytes, storage)
    }

    fn tensor(
        &mut self,
        placement: &mut Placement<'p>,
        tensor: &'p format::Tensor<'p>,
    ) -> Result<PlannedTensor> {
        let (dtype, capacity) = type_and_bytes(tensor)?;
        ensure!(
            tensor.storage_offset == 0,
            Unsupported,
            "the tensor starts at element {} of its storage; programs start at 0",
            tensor.storage_offset
        );
        let mut initial = None;
        let (storage, offset) = if let Some(allocation) = tensor.allocation {
            let place = placement.place(allocation, capacity, dtype, |storage| {
                self.storages.push(storage);
                StorageId(self.storages.len() as u32 - 1)
            })?;
            if state_name(tensor).is_none() {
                initial = self.initial_data(tensor, capacity)?;
            }
            ensure!(
                initial.is_none()
                    || matches!(
                        self.storages[place.0.0 as usize],
                        PlannedStorage::Arena { .. }
                    ),
                InvalidProgram,
                "a part of a named mutable buffer has an initial value of its own"
            );
            place
        } else if tensor.is_constant() {
            let data = self.constant_data(tensor, capacity)?;
            let constant = PlannedStorage::Constant {
                data,
                bytes: capacity,
                align: dtype.align(),
            };
            (self.storage(constant), 0)
        } else {
            (self.storage(PlannedStorage::Unplanned), 0)
        };
        Ok(PlannedTensor {
            spec: TensorSpec {
                dtype,
                sizes: tensor.sizes.iter().map(|&size| size as usize).collect(),
                dim_order: (&tensor.dim_order[..]).into(),
                dynamism: tensor.dynamism,
                capacity,
            },
            storage,
            offset,
            initial,
        })
    }

    fn constant_data(&self, tensor: &format::Tensor<'_>, bytes: usize) -> Result<DataSource> {
        if let format::DataSource::External(name) = tensor.data_source() {
            return Ok(DataSource::External(name.into()));
        }
        let data = self.program.constant_data(tensor, bytes)?;
        Ok(DataSource::File(self.locate.range(data)?))
    }

    /// The initial value of a tensor with a planned location.
    fn initial_data(
        &self,
        tensor: &format::Tensor<'_>,
        bytes: usize,
    ) -> Result<Option<DataSource>> {
        Ok(match tensor.data_source() {
            format::DataSource::None => None,
            format::DataSource::External(name) => Some(DataSource::External(name.into())),
            format::DataSource::Program => {
                let data = self.program.initial_data(tensor, bytes)?;
                Some(DataSource::File(self.locate.range(data)?))
            }
        })
    }

    fn input(&self, value: u32) -> Result<PlannedInput> {
        let value = ValueId::new(value);
        let kind = match &self.values[value.index()] {
            PlannedValue::Scalar(None) => InputKind::Any,
            PlannedValue::Scalar(Some(scalar)) => InputKind::Fixed(*scalar),
            PlannedValue::String(string) => InputKind::FixedString(string.clone()),
            PlannedValue::Tensor(tensor) => InputKind::Tensor(*tensor),
            _ => bail!(
                Unsupported,
                "an input is a list; programs take its elements one by one"
            ),
        };
        Ok(PlannedInput { value, kind })
    }
}

/// The name of a mutable buffer that has one.
fn state_name<'t>(tensor: &'t format::Tensor<'_>) -> Option<&'t str> {
    tensor.allocation?;
    let name = tensor.extra.as_ref()?.fully_qualified_name.as_deref()?;
    (!name.is_empty()).then_some(name)
}

/// A tensor's element type, and the bytes of its largest shape (0 where that is not known).
fn type_and_bytes(tensor: &format::Tensor<'_>) -> Result<(DType, usize)> {
    let Some(dtype) = DType::from_scalar_type(tensor.scalar_type) else {
        bail!(
            Unsupported,
            "tensors of type {:?} do not exist at run time",
            tensor.scalar_type
        );
    };
    if tensor.dynamism == ShapeDynamism::DynamicUnbound && tensor.allocation.is_none() {
        return Ok((dtype, 0));
    }
    let mut sizes = [0; MAX_RANK];
    let Some(sizes) = sizes.get_mut(..tensor.sizes.len()) else {
        bail!(
            InvalidProgram,
            "a tensor has {} dimensions",
            tensor.sizes.len()
        );
    };
    for (to, &from) in sizes.iter_mut().zip(&tensor.sizes) {
        *to = from as usize;
    }
    match numel(sizes)?.checked_mul(dtype.size()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok((dtype, bytes)),
        _ => bail!(InvalidProgram, "a tensor of shape {sizes:?} is too large"),
    }
}

fn operator_name(operator: &format::Operator<'_>) -> String {
    if operator.overload.is_empty() {
        operator.name.to_string()
    } else {
        format!("{}.{}", operator.name, operator.overload)
    }
}

fn in_value(error: Error, index: usize) -> Error {
    Error::new(error.kind(), format!("value {index}: {}", error.message()))
}
