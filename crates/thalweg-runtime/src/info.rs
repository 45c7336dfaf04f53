//! What a method takes and returns.

use thalweg_core::{DType, Scalar, ValueId};
use thalweg_format::ShapeDynamism;

use crate::plan::{InputKind, MethodPlan, PlannedValue};

/// What a method takes and returns, and what it needs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MethodInfo {
    /// Its name.
    pub name: String,
    /// Its inputs, in order.
    pub inputs: Vec<ValueInfo>,
    /// Its outputs, in order.
    pub outputs: Vec<ValueInfo>,
    /// How the inputs nest in what the exported module takes, and by which keywords they go, as
    /// PyTorch's pytree encodes it in JSON. Taken from the file as it is.
    pub input_tree: Option<String>,
    /// How the outputs nest in what the module returns, encoded in the same way.
    pub output_tree: Option<String>,
    /// The full names of the operators that it uses.
    pub operators: Vec<String>,
    /// The names of the backends of its delegates, one for each delegate.
    pub backends: Vec<String>,
    /// How many instructions it has.
    pub instructions: usize,
    /// Bytes of planned memory that each instance has for itself.
    pub arena_bytes: usize,
}

/// What an input or output is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ValueInfo {
    /// A tensor.
    Tensor(TensorInfo),
    /// A number that the program was exported for: the only one that it takes, or returns.
    Scalar(Scalar),
    /// A string that the program was exported for.
    String(String),
    /// Something that is known only when the method runs.
    Any,
    /// A list, which only outputs can be.
    List,
}

/// The type and shape of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its element type.
    pub dtype: DType,
    /// The size of each dimension, or its largest if the shape is bounded. For unbounded shapes
    /// only the number of dimensions counts.
    pub sizes: Vec<usize>,
    /// The dimensions from outermost to innermost in memory.
    pub dim_order: Vec<u8>,
    /// What may change about the shape.
    pub shape: ShapeKind,
}

/// What may change about a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeKind {
    /// Nothing.
    Static,
    /// Every dimension may be smaller.
    Bounded,
    /// Everything but the number of dimensions.
    Unbounded,
}

impl From<ShapeDynamism> for ShapeKind {
    fn from(dynamism: ShapeDynamism) -> Self {
        match dynamism {
            ShapeDynamism::Static => Self::Static,
            ShapeDynamism::DynamicBound => Self::Bounded,
            ShapeDynamism::DynamicUnbound => Self::Unbounded,
        }
    }
}

impl MethodInfo {
    pub(crate) fn new(plan: &MethodPlan) -> Self {
        let input = |input: &crate::plan::PlannedInput| match &input.kind {
            InputKind::Any => ValueInfo::Any,
            _ => value(plan, input.value),
        };
        Self {
            name: plan.name.clone(),
            inputs: plan.inputs.iter().map(input).collect(),
            outputs: plan.outputs.iter().map(|&id| value(plan, id)).collect(),
            input_tree: plan.input_tree.clone(),
            output_tree: plan.output_tree.clone(),
            operators: plan.operators.clone(),
            backends: plan
                .delegates
                .iter()
                .map(|delegate| delegate.backend.clone())
                .collect(),
            instructions: plan.steps.len(),
            arena_bytes: plan.arena_bytes(),
        }
    }
}

fn value(plan: &MethodPlan, id: ValueId) -> ValueInfo {
    match &plan.values[id.index()] {
        PlannedValue::Scalar(None) => ValueInfo::Any,
        PlannedValue::Scalar(Some(scalar)) => ValueInfo::Scalar(*scalar),
        PlannedValue::String(string) => ValueInfo::String(string.to_string()),
        PlannedValue::Tensor(tensor) => {
            let tensor = &plan.tensors[tensor.0 as usize];
            ValueInfo::Tensor(TensorInfo {
                dtype: tensor.dtype,
                sizes: tensor.sizes.to_vec(),
                dim_order: tensor.dim_order.to_vec(),
                shape: tensor.dynamism.into(),
            })
        }
        PlannedValue::IntList(_)
        | PlannedValue::DoubleList(_)
        | PlannedValue::BoolList(_)
        | PlannedValue::TensorList(_) => ValueInfo::List,
    }
}
