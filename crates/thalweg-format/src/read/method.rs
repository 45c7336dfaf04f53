//! Translates methods: their values, instructions, operators and delegates.

use std::borrow::Cow;

use super::tensor::{device, tensor};
use super::{index, indices, list, required_text, text};
use crate::budget::Budget;
use crate::error::{At, Error, chain_place, quoted};
use crate::program::*;
use crate::schema::executorch_flatbuffer as fb;

pub(super) fn method<'a>(
    i: usize,
    plan: fb::ExecutionPlanRef<'a>,
    budget: &mut Budget,
) -> Result<Method<'a>, Error> {
    let name = plan
        .name()
        .map_err(Error::from)
        .and_then(|name| required_text(name, "name", budget))
        .at(|| format!("method {i}"))?;
    let place = format!("method {}", quoted(&name));
    body(name, plan, budget).at(|| place)
}

fn body<'a>(
    name: Cow<'a, str>,
    plan: fb::ExecutionPlanRef<'a>,
    budget: &mut Budget,
) -> Result<Method<'a>, Error> {
    let chains = plan.chains()?;
    let chain_count = chains.map_or(0, |chains| chains.len());
    Ok(Method {
        name,
        container_meta: match plan.container_meta_type()? {
            None => None,
            Some(meta) => Some(ContainerMeta {
                inputs: text(meta.encoded_inp_str()?, budget)?,
                outputs: text(meta.encoded_out_str()?, budget)?,
            }),
        },
        values: list(plan.values()?, budget, |i, v, budget| {
            v.map_err(Error::from)
                .and_then(|v| value(v, budget))
                .at(|| format!("value {i}"))
        })?,
        inputs: indices(plan.inputs()?, budget, "input")?,
        outputs: indices(plan.outputs()?, budget, "output")?,
        chains: list(chains, budget, |i, c, budget| {
            c.map_err(Error::from)
                .and_then(|c| chain(c, budget))
                .at(|| chain_place(i, chain_count))
        })?,
        operators: list(plan.operators()?, budget, |i, op, budget| {
            op.map_err(Error::from)
                .and_then(|op| operator(op, budget))
                .at(|| format!("operator {i}"))
        })?,
        delegates: list(plan.delegates()?, budget, |i, d, budget| {
            d.map_err(Error::from)
                .and_then(|d| delegate(d, budget))
                .at(|| format!("delegate {i}"))
        })?,
        arena_sizes: list(plan.non_const_buffer_sizes()?, budget, |i, size, _| {
            u64::try_from(size).map_err(|_| Error::invalid(format!("arena {i} has size {size}")))
        })?,
        arena_devices: list(plan.non_const_buffer_device()?, budget, |i, d, _| {
            d.map_err(Error::from)
                .and_then(arena_device)
                .at(|| format!("device mapping {i}"))
        })?,
    })
}

fn value<'a>(value: fb::EValueRef<'a>, budget: &mut Budget) -> Result<Value<'a>, Error> {
    use fb::KernelTypesRef as Kind;
    let Some(value) = value.val()? else {
        return Err(Error::invalid("it has no kind"));
    };
    Ok(match value {
        Kind::Null(_) => Value::None,
        Kind::Int(v) => Value::Int(v.int_val()?),
        Kind::Bool(v) => Value::Bool(v.bool_val()?),
        Kind::Double(v) => Value::Double(v.double_val()?),
        Kind::String(v) => Value::String(required_text(v.string_val()?, "text", budget)?),
        Kind::Tensor(v) => {
            let tensor = tensor(v, budget)?;
            Value::Tensor(budget.boxed(tensor)?)
        }
        Kind::IntList(v) => Value::IntList(indices(v.items()?, budget, "item")?),
        Kind::DoubleList(v) => Value::DoubleList(list(v.items()?, budget, |_, x, _| Ok(x))?),
        Kind::BoolList(v) => Value::BoolList(list(v.items()?, budget, |_, x, _| Ok(x))?),
        Kind::TensorList(v) => Value::TensorList(indices(v.items()?, budget, "item")?),
        Kind::OptionalTensorList(v) => {
            Value::OptionalTensorList(list(v.items()?, budget, |i, item, _| match item {
                -1 => Ok(None),
                item => index(item).map(Some).at(|| format!("item {i}")),
            })?)
        }
    })
}

fn chain<'a>(chain: fb::ChainRef<'a>, budget: &mut Budget) -> Result<Chain<'a>, Error> {
    Ok(Chain {
        inputs: indices(chain.inputs()?, budget, "input")?,
        outputs: indices(chain.outputs()?, budget, "output")?,
        instructions: list(chain.instructions()?, budget, |i, step, budget| {
            step.map_err(Error::from)
                .and_then(|step| instruction(step, budget))
                .at(|| format!("instruction {i}"))
        })?,
        stacktrace: match chain.stacktrace()? {
            None => None,
            Some(frames) => Some(list(Some(frames), budget, |i, frames, budget| {
                frames
                    .and_then(|frames| frames.items())
                    .map_err(Error::from)
                    .and_then(|frames| list(frames, budget, |_, f, budget| frame(f?, budget)))
                    .at(|| format!("stack trace {i}"))
            })?),
        },
    })
}

fn instruction(step: fb::InstructionRef<'_>, budget: &mut Budget) -> Result<Instruction, Error> {
    use fb::InstructionArgumentsRef as Kind;
    let Some(arguments) = step.instr_args()? else {
        return Err(Error::invalid("it has no kind"));
    };
    Ok(match arguments {
        Kind::KernelCall(call) => Instruction::KernelCall {
            operator: index(call.op_index()?).at(|| "its operator")?,
            args: indices(call.args()?, budget, "argument")?,
        },
        Kind::DelegateCall(call) => Instruction::DelegateCall {
            delegate: index(call.delegate_index()?).at(|| "its delegate")?,
            args: indices(call.args()?, budget, "argument")?,
        },
        Kind::MoveCall(call) => Instruction::Move {
            from: index(call.move_from()?).at(|| "its source")?,
            to: index(call.move_to()?).at(|| "its target")?,
        },
        Kind::JumpFalseCall(call) => Instruction::JumpIfFalse {
            condition: index(call.cond_value_index()?).at(|| "its condition")?,
            destination: index(call.destination_instruction()?).at(|| "its destination")?,
        },
        Kind::FreeCall(call) => Instruction::Free {
            value: index(call.value_index()?).at(|| "its value")?,
        },
    })
}

fn frame<'a>(frame: fb::FrameRef<'a>, budget: &mut Budget) -> Result<Frame<'a>, Error> {
    Ok(Frame {
        file: text(frame.filename()?, budget)?,
        line: frame.lineno()?,
        function: text(frame.name()?, budget)?,
        context: text(frame.context()?, budget)?,
    })
}

fn operator<'a>(op: fb::OperatorRef<'a>, budget: &mut Budget) -> Result<Operator<'a>, Error> {
    Ok(Operator {
        name: required_text(op.name()?, "name", budget)?,
        overload: text(op.overload()?, budget)?.unwrap_or_default(),
    })
}

fn delegate<'a>(
    delegate: fb::BackendDelegateRef<'a>,
    budget: &mut Budget,
) -> Result<Delegate<'a>, Error> {
    let Some(data) = delegate.processed()? else {
        return Err(Error::invalid("it has no payload"));
    };
    let location = data.location()?;
    let at = data.index()?;
    Ok(Delegate {
        backend: required_text(delegate.id()?, "backend", budget)?,
        data: match location {
            fb::DataLocation::Inline => DelegateData::Inline(at),
            fb::DataLocation::Segment => DelegateData::Segment(at),
        },
        compile_specs: list(delegate.compile_specs()?, budget, |i, spec, budget| {
            spec.map_err(Error::from)
                .and_then(|spec| compile_spec(spec, budget))
                .at(|| format!("compile spec {i}"))
        })?,
    })
}

fn compile_spec<'a>(
    spec: fb::CompileSpecRef<'a>,
    budget: &mut Budget,
) -> Result<CompileSpec<'a>, Error> {
    Ok(CompileSpec {
        key: required_text(spec.key()?, "key", budget)?,
        value: Cow::Borrowed(spec.value()?.unwrap_or_default()),
    })
}

fn arena_device(mapping: fb::NonConstBufferDeviceRef<'_>) -> Result<ArenaDevice, Error> {
    Ok(ArenaDevice {
        arena: index(mapping.buffer_idx()?).at(|| "its arena")?,
        device: device(mapping.device_type()?, mapping.device_index()?),
    })
}
