//! The description of a method.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use thalweg::extend::Backend;
use thalweg::format::{self, DataSource, Device, DeviceKind, Instruction, ShapeDynamism, Value};
use thalweg::{DType, Runtime};

use super::engine::{Describer, Engine};
use super::plan::Plan;
use crate::pytree;

/// A method.
#[derive(Debug, Serialize)]
pub(super) struct Method {
    pub(super) name: String,
    pub(super) runs_here: bool,
    pub(super) missing: Missing,
    pub(super) inputs: Vec<Argument>,
    pub(super) outputs: Vec<Argument>,
    pub(super) values: usize,
    pub(super) instructions: Instructions,
    pub(super) operators: Vec<Operator>,
    pub(super) delegates: Vec<Delegate>,
    pub(super) arenas: Vec<Arena>,
    pub(super) constants: Constants,
    pub(super) mutable_buffers: Vec<MutableBuffer>,
    /// The plan on this machine, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<Plan>,
}

/// The requirements that this build or machine lacks.
#[derive(Debug, Default, Serialize)]
pub(super) struct Missing {
    pub(super) operators: Vec<String>,
    pub(super) backends: Vec<String>,
    pub(super) devices: Vec<String>,
    /// The reasons that backends and devices of this build do not work here.
    pub(super) reasons: Vec<String>,
}

/// An input or output.
#[derive(Debug, Serialize)]
pub(super) struct Argument {
    /// Its name, where the program has one for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// `tensor`, `int`, `double`, `bool`, `string`, a list, or `any`: known only at run time.
    pub(super) kind: &'static str,
    #[serde(flatten)]
    pub(super) tensor: Option<Shape>,
    /// The number or string that the program was exported for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<serde_json::Value>,
}

/// The type and shape of a tensor.
#[derive(Debug, Serialize)]
pub(super) struct Shape {
    pub(super) dtype: String,
    /// Sizes, or their upper bounds.
    pub(super) shape: Vec<u32>,
    /// `static`, `bounded` or `unbounded`.
    pub(super) sizes: &'static str,
    /// Absent for row-major tensors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dim_order: Option<Vec<u8>>,
    /// Absent for the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<String>,
}

/// The number of instructions of each kind.
#[derive(Debug, Default, Serialize)]
pub(super) struct Instructions {
    pub(super) kernel_calls: usize,
    pub(super) delegate_calls: usize,
    pub(super) moves: usize,
    pub(super) jumps: usize,
    pub(super) frees: usize,
}

/// An operator of the method's table.
#[derive(Debug, Serialize)]
pub(super) struct Operator {
    pub(super) name: String,
    pub(super) calls: usize,
    /// True if this build has it.
    pub(super) available: bool,
}

/// A part that a backend runs.
#[derive(Debug, Serialize)]
pub(super) struct Delegate {
    pub(super) backend: String,
    /// True if this build has the backend.
    pub(super) available: bool,
    /// True if the backend works on this machine.
    pub(super) works_here: bool,
    pub(super) calls: usize,
    pub(super) payload_bytes: usize,
    /// The location of the payload: `inline 0` or `segment 3`.
    pub(super) stored: String,
    pub(super) compile_specs: Vec<CompileSpec>,
    /// Its engine, if the backend is TensorRT's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) engine: Option<Engine>,
}

/// An option that the exporter fixed: as text where it is printable, else its first bytes in hex.
#[derive(Debug, Serialize)]
pub(super) struct CompileSpec {
    pub(super) key: String,
    pub(super) bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hex: Option<String>,
}

/// Planned memory.
#[derive(Debug, Serialize)]
pub(super) struct Arena {
    pub(super) arena: usize,
    pub(super) bytes: u64,
    pub(super) device: String,
}

/// The constants that the method refers to.
#[derive(Debug, Default, Serialize)]
pub(super) struct Constants {
    pub(super) tensors: usize,
    pub(super) bytes: u64,
    /// The names of those in data files.
    pub(super) external: BTreeSet<String>,
}

/// A mutable buffer: a tensor whose content persists from call to call.
#[derive(Debug, Serialize)]
pub(super) struct MutableBuffer {
    /// Absent where the program has no name for it; methods share buffers by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(flatten)]
    pub(super) tensor: Shape,
    pub(super) bytes: u64,
    /// The initial value: `zeros`, `stored` in the program, or `external`, in a data file.
    pub(super) initial: &'static str,
}

/// Describes a method. `loaded` is the program, if it can be loaded.
pub(super) fn describe(
    program: &format::Program<'_>,
    method: &format::Method<'_>,
    loaded: Option<&thalweg::Program>,
    runtime: &Runtime,
    engines: &Describer,
) -> Method {
    let missing = loaded.and_then(|program| program.missing(&method.name).ok());
    let (instructions, operator_calls, delegate_calls) = count_instructions(method);
    let operator = |(operator, calls): (&format::Operator<'_>, usize)| {
        let name = operator_name(operator);
        let available = runtime.kernels().get(&name).is_some();
        Operator {
            name,
            calls,
            available,
        }
    };
    let works = |backend: &Arc<dyn Backend>| backend.available().is_ok();
    let payload = |delegate: &format::Delegate<'_>| {
        let payload = program.delegate_payload(delegate);
        payload.unwrap_or_default()
    };
    let delegate = |(delegate, calls): (&format::Delegate<'_>, usize)| Delegate {
        backend: delegate.backend.to_string(),
        available: runtime.backend(&delegate.backend).is_some(),
        works_here: runtime.backend(&delegate.backend).is_some_and(works),
        calls,
        payload_bytes: payload(delegate).len(),
        stored: match delegate.data {
            format::DelegateData::Inline(index) => format!("inline {index}"),
            format::DelegateData::Segment(index) => format!("segment {index}"),
        },
        compile_specs: delegate.compile_specs.iter().map(compile_spec).collect(),
        engine: engines.describe(delegate, payload(delegate)),
    };
    let meta = method.container_meta.as_ref();
    let input_tree = meta.and_then(|meta| meta.inputs.as_deref());
    let output_tree = meta.and_then(|meta| meta.outputs.as_deref());
    let input_names = pytree::input_names(input_tree, method.inputs.len());
    let output_names = pytree::output_names(output_tree, method.outputs.len());
    let operators = method.operators.iter().zip(operator_calls);
    let delegates = method.delegates.iter().zip(delegate_calls);
    Method {
        name: method.name.to_string(),
        runs_here: missing
            .as_ref()
            .is_some_and(thalweg::info::Missing::is_empty),
        inputs: arguments(method, &method.inputs, input_names),
        outputs: arguments(method, &method.outputs, output_names),
        values: method.values.len(),
        instructions,
        operators: operators.map(operator).collect(),
        delegates: delegates.map(delegate).collect(),
        arenas: arenas(method),
        constants: constants(method),
        mutable_buffers: mutable_buffers(method),
        missing: missing.map_or_else(Missing::default, |missing| Missing {
            operators: missing.operators,
            backends: missing.backends,
            devices: missing.devices,
            reasons: missing.reasons,
        }),
        plan: None,
    }
}

fn arguments(
    method: &format::Method<'_>,
    values: &[u32],
    names: Vec<Option<String>>,
) -> Vec<Argument> {
    let values = values
        .iter()
        .map(|&value| method.values.get(value as usize));
    values
        .zip(names)
        .map(|(value, name)| argument(value, name))
        .collect()
}

fn argument(value: Option<&Value<'_>>, name: Option<String>) -> Argument {
    let (kind, tensor, value) = match value {
        None | Some(Value::None) => ("any", None, None),
        Some(Value::Int(value)) => ("int", None, Some(json!(value))),
        // JSON has no infinite numbers.
        Some(Value::Double(value)) if !value.is_finite() => {
            ("double", None, Some(json!(value.to_string())))
        }
        Some(Value::Double(value)) => ("double", None, Some(json!(value))),
        Some(Value::Bool(value)) => ("bool", None, Some(json!(value))),
        Some(Value::String(value)) => ("string", None, Some(json!(value))),
        Some(Value::Tensor(tensor)) => ("tensor", Some(Shape::of(tensor)), None),
        Some(Value::IntList(_)) => ("list of integers", None, None),
        Some(Value::DoubleList(list)) => ("list of doubles", None, Some(json!(list))),
        Some(Value::BoolList(list)) => ("list of booleans", None, Some(json!(list))),
        Some(Value::TensorList(_)) => ("list of tensors", None, None),
        Some(Value::OptionalTensorList(_)) => ("list of optional tensors", None, None),
    };
    Argument {
        name,
        kind,
        tensor,
        value,
    }
}

/// The instructions by kind, the calls of each operator, and those of each delegate.
fn count_instructions(method: &format::Method<'_>) -> (Instructions, Vec<usize>, Vec<usize>) {
    let mut counts = Instructions::default();
    let mut operators = vec![0; method.operators.len()];
    let mut delegates = vec![0; method.delegates.len()];
    let add = |calls: &mut Vec<usize>, index: u32| {
        if let Some(count) = calls.get_mut(index as usize) {
            *count += 1;
        }
    };
    for instruction in method.chains.iter().flat_map(|chain| &chain.instructions) {
        match instruction {
            Instruction::KernelCall { operator, .. } => {
                counts.kernel_calls += 1;
                add(&mut operators, *operator);
            }
            Instruction::DelegateCall { delegate, .. } => {
                counts.delegate_calls += 1;
                add(&mut delegates, *delegate);
            }
            Instruction::Move { .. } => counts.moves += 1,
            Instruction::JumpIfFalse { .. } => counts.jumps += 1,
            Instruction::Free { .. } => counts.frees += 1,
        }
    }
    (counts, operators, delegates)
}

fn compile_spec(spec: &format::CompileSpec<'_>) -> CompileSpec {
    // Texts often end with a zero byte.
    let bytes = spec.value.strip_suffix(&[0]).unwrap_or(&spec.value);
    let is_text = |text: &&str| !text.is_empty() && !text.contains(char::is_control);
    let text = std::str::from_utf8(bytes).ok().filter(is_text);
    let hex = || {
        let bytes = spec.value.iter().take(16);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    };
    CompileSpec {
        key: spec.key.to_string(),
        bytes: spec.value.len(),
        text: text.map(Into::into),
        hex: (text.is_none() && !spec.value.is_empty()).then(hex),
    }
}

fn arenas(method: &format::Method<'_>) -> Vec<Arena> {
    let device = |arena: usize| {
        let mut places = method.arena_devices.iter();
        let place = places.find(|place| place.arena as usize == arena);
        device_name(place.map(|place| place.device).unwrap_or_default())
    };
    // The first entry is reserved.
    let planned = method.arena_sizes.iter().enumerate().skip(1);
    planned
        .map(|(arena, &bytes)| Arena {
            arena,
            bytes,
            device: device(arena),
        })
        .collect()
}

fn constants(method: &format::Method<'_>) -> Constants {
    let mut constants = Constants::default();
    // Several tensors may show the same data.
    let mut seen = BTreeSet::new();
    for tensor in tensors(method).filter(|tensor| tensor.is_constant()) {
        let is_new = match tensor.data_source() {
            DataSource::External(name) => constants.external.insert(name.to_string()),
            _ => seen.insert(tensor.data_buffer),
        };
        if is_new {
            constants.tensors += 1;
            let bytes = tensor.nbytes().unwrap_or(0);
            constants.bytes = constants.bytes.saturating_add(bytes);
        }
    }
    constants
}

fn mutable_buffers(method: &format::Method<'_>) -> Vec<MutableBuffer> {
    let mut buffers = Vec::new();
    let mut seen = BTreeSet::new();
    for tensor in tensors(method).filter(|tensor| tensor.allocation.is_some()) {
        let extra = tensor.extra.as_ref();
        let name = extra
            .and_then(|extra| extra.fully_qualified_name.as_deref())
            .filter(|name| !name.is_empty());
        let initial = match tensor.data_source() {
            DataSource::None => "zeros",
            DataSource::Program => "stored",
            DataSource::External(_) => "external",
        };
        let is_state = name.is_some() || initial != "zeros";
        let is_new = name.is_none_or(|name| seen.insert(name.to_string()));
        if is_state && is_new {
            buffers.push(MutableBuffer {
                name: name.map(Into::into),
                tensor: Shape::of(tensor),
                bytes: tensor.nbytes().unwrap_or(0),
                initial,
            });
        }
    }
    buffers
}

impl Shape {
    fn of(tensor: &format::Tensor<'_>) -> Self {
        let extra = tensor.extra.as_ref();
        let device = extra.map(|extra| extra.device).unwrap_or_default();
        Self {
            dtype: dtype_name(tensor.scalar_type),
            shape: tensor.sizes.clone(),
            sizes: match tensor.dynamism {
                ShapeDynamism::Static => "static",
                ShapeDynamism::DynamicBound => "bounded",
                ShapeDynamism::DynamicUnbound => "unbounded",
            },
            dim_order: order(&tensor.sizes, &tensor.dim_order),
            device: (device.kind != DeviceKind::Cpu).then(|| device_name(device)),
        }
    }

    /// The type and shape of a tensor in a data file.
    pub(super) fn of_layout(layout: &format::TensorLayout) -> Self {
        Self {
            dtype: dtype_name(layout.scalar_type),
            shape: layout.sizes.clone(),
            sizes: "static",
            dim_order: order(&layout.sizes, &layout.dim_order),
            device: None,
        }
    }
}

/// The dim order, unless it means row-major.
fn order(sizes: &[u32], dim_order: &[u8]) -> Option<Vec<u8>> {
    let sizes: Vec<usize> = sizes.iter().map(|&size| size as usize).collect();
    (!thalweg::extend::is_row_major(&sizes, dim_order)).then(|| dim_order.to_vec())
}

fn tensors<'m>(method: &'m format::Method<'_>) -> impl Iterator<Item = &'m format::Tensor<'m>> {
    method.values.iter().filter_map(|value| match value {
        Value::Tensor(tensor) => Some(&**tensor),
        _ => None,
    })
}

fn dtype_name(scalar_type: format::ScalarType) -> String {
    match DType::from_scalar_type(scalar_type) {
        Some(dtype) => dtype.name().to_string(),
        // Types that exist only in files go by upstream's names.
        None => format!("{scalar_type:?}"),
    }
}

fn operator_name(operator: &format::Operator<'_>) -> String {
    if operator.overload.is_empty() {
        operator.name.to_string()
    } else {
        format!("{}.{}", operator.name, operator.overload)
    }
}

fn device_name(device: Device) -> String {
    match device.kind {
        DeviceKind::Cpu => "cpu".into(),
        DeviceKind::Cuda => format!("cuda:{}", device.index),
    }
}
