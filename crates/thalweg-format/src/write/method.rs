//! Writes methods: their values, instructions, operators and delegates.

use planus::{Builder, Offset, UnionOffset, WriteAsDefault};

use super::if_any;
use crate::error::{At, Error, ErrorKind, quoted};
use crate::program::*;
use crate::schema::executorch_flatbuffer as fb;

pub(super) fn method(m: &Method<'_>, b: &mut Builder) -> Result<Offset<fb::ExecutionPlan>, Error> {
    body(m, b).at(|| format!("method {}", quoted(&m.name)))
}

fn body(m: &Method<'_>, b: &mut Builder) -> Result<Offset<fb::ExecutionPlan>, Error> {
    let meta = m.container_meta.as_ref().map(|meta| {
        fb::ContainerMetadata::create(b, meta.inputs.as_deref(), meta.outputs.as_deref())
    });
    let values = each(&m.values, "value", |v| {
        let kind = value(v, b)?;
        Ok(fb::EValue::create(b, kind))
    })?;
    let chains = each(&m.chains, "chain", |c| chain(c, b))?;
    let operators: Vec<_> = m
        .operators
        .iter()
        .map(|op| fb::Operator::create(b, &*op.name, &*op.overload))
        .collect();
    let delegates: Vec<_> = m.delegates.iter().map(|d| delegate(d, b)).collect();
    let sizes = each(&m.arena_sizes, "arena", |&size| {
        i64::try_from(size).map_err(|_| too_big(size))
    })?;
    let devices = each(&m.arena_devices, "device mapping", |mapping| {
        let arena = signed_one(mapping.arena)?;
        let (kind, index) = device(mapping.device);
        Ok(fb::NonConstBufferDevice::create(b, arena, kind, index))
    })?;
    Ok(fb::ExecutionPlan::create(
        b,
        &*m.name,
        meta,
        values,
        signed(&m.inputs)?,
        signed(&m.outputs)?,
        chains,
        operators,
        delegates,
        sizes,
        if_any(devices),
    ))
}

fn value(v: &Value<'_>, b: &mut Builder) -> Result<UnionOffset<fb::KernelTypes>, Error> {
    use fb::KernelTypes as Kind;
    Ok(match v {
        Value::None => {
            let v = fb::Null::create(b);
            Kind::create_null(b, v)
        }
        Value::Int(v) => {
            let v = fb::Int::create(b, *v);
            Kind::create_int(b, v)
        }
        Value::Double(v) => {
            let v = fb::Double::create(b, Exactly(*v));
            Kind::create_double(b, v)
        }
        Value::Bool(v) => {
            let v = fb::Bool::create(b, *v);
            Kind::create_bool(b, v)
        }
        Value::String(v) => {
            let v = fb::String::create(b, &**v);
            Kind::create_string(b, v)
        }
        Value::Tensor(v) => {
            let v = tensor(v, b)?;
            Kind::create_tensor(b, v)
        }
        Value::IntList(items) => {
            let items: Vec<i64> = items.iter().copied().map(i64::from).collect();
            let v = fb::IntList::create(b, items);
            Kind::create_int_list(b, v)
        }
        Value::DoubleList(items) => {
            let v = fb::DoubleList::create(b, items.as_slice());
            Kind::create_double_list(b, v)
        }
        Value::BoolList(items) => {
            let v = fb::BoolList::create(b, items.as_slice());
            Kind::create_bool_list(b, v)
        }
        Value::TensorList(items) => {
            let v = fb::TensorList::create(b, signed(items)?);
            Kind::create_tensor_list(b, v)
        }
        Value::OptionalTensorList(items) => {
            let items = items
                .iter()
                .map(|item| item.map_or(Ok(-1), signed_one))
                .collect::<Result<Vec<_>, _>>()?;
            let v = fb::OptionalTensorList::create(b, items);
            Kind::create_optional_tensor_list(b, v)
        }
    })
}

/// Planus leaves out what equals the default, and -0 equals 0.
struct Exactly(f64);

impl WriteAsDefault<f64, f64> for Exactly {
    type Prepared = f64;

    fn prepare(&self, _: &mut Builder, default: &f64) -> Option<f64> {
        (self.0.to_bits() != default.to_bits()).then_some(self.0)
    }
}

fn tensor(t: &Tensor<'_>, b: &mut Builder) -> Result<Offset<fb::Tensor>, Error> {
    let allocation = t.allocation.map(|a| {
        fb::AllocationDetails::create(b, a.arena, a.offset as u32, (a.offset >> 32) as u32)
    });
    let extra = t.extra.as_ref().map(|extra| {
        let location = match extra.location {
            DataLocation::Segment => fb::TensorDataLocation::Segment,
            DataLocation::External => fb::TensorDataLocation::External,
        };
        let (kind, index) = device(extra.device);
        fb::ExtraTensorInfo::create(
            b,
            extra.mutable_data_segment,
            extra.fully_qualified_name.as_deref(),
            location,
            kind,
            index,
        )
    });
    let dynamism = match t.dynamism {
        ShapeDynamism::Static => fb::TensorShapeDynamism::Static,
        ShapeDynamism::DynamicBound => fb::TensorShapeDynamism::DynamicBound,
        ShapeDynamism::DynamicUnbound => fb::TensorShapeDynamism::DynamicUnbound,
    };
    Ok(fb::Tensor::create(
        b,
        scalar_type(t.scalar_type)?,
        t.storage_offset,
        signed(&t.sizes)?,
        t.dim_order.as_slice(),
        t.requires_grad,
        t.data_buffer,
        allocation,
        t.layout,
        dynamism,
        extra,
    ))
}

fn chain(c: &Chain<'_>, b: &mut Builder) -> Result<Offset<fb::Chain>, Error> {
    let instructions = each(&c.instructions, "instruction", |step| {
        let kind = instruction(step, b)?;
        Ok(fb::Instruction::create(b, kind))
    })?;
    let stacktrace: Option<Vec<_>> = c.stacktrace.as_ref().map(|traces| {
        traces
            .iter()
            .map(|frames| {
                let frames: Vec<_> = frames.iter().map(|f| frame(f, b)).collect();
                fb::FrameList::create(b, frames)
            })
            .collect()
    });
    let inputs = signed(&c.inputs)?;
    let outputs = signed(&c.outputs)?;
    Ok(fb::Chain::create(
        b,
        inputs,
        outputs,
        instructions,
        stacktrace,
    ))
}

fn instruction(
    step: &Instruction,
    b: &mut Builder,
) -> Result<UnionOffset<fb::InstructionArguments>, Error> {
    use fb::InstructionArguments as Kind;
    Ok(match step {
        Instruction::KernelCall { operator, args } => {
            let call = fb::KernelCall::create(b, signed_one(*operator)?, signed(args)?);
            Kind::create_kernel_call(b, call)
        }
        Instruction::DelegateCall { delegate, args } => {
            let call = fb::DelegateCall::create(b, signed_one(*delegate)?, signed(args)?);
            Kind::create_delegate_call(b, call)
        }
        Instruction::Move { from, to } => {
            let call = fb::MoveCall::create(b, signed_one(*from)?, signed_one(*to)?);
            Kind::create_move_call(b, call)
        }
        Instruction::JumpIfFalse {
            condition,
            destination,
        } => {
            let condition = signed_one(*condition)?;
            let call = fb::JumpFalseCall::create(b, condition, signed_one(*destination)?);
            Kind::create_jump_false_call(b, call)
        }
        Instruction::Free { value } => {
            let call = fb::FreeCall::create(b, signed_one(*value)?);
            Kind::create_free_call(b, call)
        }
    })
}

fn frame(f: &Frame<'_>, b: &mut Builder) -> Offset<fb::Frame> {
    fb::Frame::create(
        b,
        f.file.as_deref(),
        f.line,
        f.function.as_deref(),
        f.context.as_deref(),
    )
}

fn delegate(d: &Delegate<'_>, b: &mut Builder) -> Offset<fb::BackendDelegate> {
    let (location, index) = match d.data {
        DelegateData::Inline(i) => (fb::DataLocation::Inline, i),
        DelegateData::Segment(i) => (fb::DataLocation::Segment, i),
    };
    let data = fb::BackendDelegateDataReference::create(b, location, index);
    let specs: Vec<_> = d
        .compile_specs
        .iter()
        .map(|spec| fb::CompileSpec::create(b, &*spec.key, &*spec.value))
        .collect();
    fb::BackendDelegate::create(b, &*d.backend, data, specs)
}

fn device(device: Device) -> (fb::DeviceType, i8) {
    let kind = match device.kind {
        DeviceKind::Cpu => fb::DeviceType::Cpu,
        DeviceKind::Cuda => fb::DeviceType::Cuda,
    };
    (kind, device.index)
}

pub(super) fn scalar_type(t: ScalarType) -> Result<fb::ScalarType, Error> {
    let code = t.code();
    fb::ScalarType::try_from(code)
        .map_err(|_| Error::invalid(format!("the schema has no element type {code}")))
}

fn each<T, U>(
    items: &[T],
    noun: &str,
    mut write: impl FnMut(&T) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    let items = items.iter().enumerate();
    items
        .map(|(i, item)| write(item).at(|| format!("{noun} {i}")))
        .collect()
}

/// The format stores indices and sizes as signed numbers.
pub(super) fn signed(numbers: &[u32]) -> Result<Vec<i32>, Error> {
    numbers.iter().copied().map(signed_one).collect()
}

fn signed_one(number: u32) -> Result<i32, Error> {
    i32::try_from(number).map_err(|_| too_big(number))
}

fn too_big(number: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::TooBig,
        format!("{number} is more than the format can store"),
    )
}
