//! What goes into a call and what comes out of it.

use std::fmt;

use crate::{DeviceInput, DeviceTensor, Result, Scalar, Tensor, TensorView, bail};

/// Index of a value of a method. Instructions name what they work on by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(u32);

impl ValueId {
    /// The value with this index.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An input of a call.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Input<'a> {
    /// Nothing, for optional inputs.
    #[default]
    None,
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// A boolean.
    Bool(bool),
    /// A string.
    String(&'a str),
    /// A tensor.
    Tensor(TensorView<'a>),
    /// A tensor in the memory of a device.
    Device(DeviceInput<'a>),
}

/// An output of a call, borrowed from the method that computed it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Output<'a> {
    /// Nothing.
    None,
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// A boolean.
    Bool(bool),
    /// A string.
    String(&'a str),
    /// A tensor.
    Tensor(TensorView<'a>),
    /// A tensor that stays in the memory of a device, as `RunOptions::device_outputs` asks for.
    Device(DeviceTensor<'a>),
    /// A list of integers.
    IntList(&'a [i64]),
    /// A list of doubles.
    DoubleList(&'a [f64]),
    /// A list of booleans.
    BoolList(&'a [bool]),
}

/// A value that owns what it holds.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Value {
    /// Nothing.
    #[default]
    None,
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// A boolean.
    Bool(bool),
    /// A string.
    String(String),
    /// A tensor.
    Tensor(Tensor),
    /// A list of integers.
    IntList(Vec<i64>),
    /// A list of doubles.
    DoubleList(Vec<f64>),
    /// A list of booleans.
    BoolList(Vec<bool>),
}

impl Input<'_> {
    /// What it is, for messages.
    #[doc(hidden)]
    pub fn describe(&self) -> String {
        match self {
            Self::None => "none".into(),
            Self::Int(value) => format!("the integer {value}"),
            Self::Double(value) => format!("the double {value:?}"),
            Self::Bool(value) => format!("the boolean {value}"),
            Self::String(_) => "a string".into(),
            Self::Tensor(tensor) => format!("a tensor {tensor:?}"),
            Self::Device(input) => {
                let tensor = input.tensor();
                format!(
                    "a tensor {}{:?} on a device",
                    tensor.dtype(),
                    tensor.sizes()
                )
            }
        }
    }
}

impl<'a> Output<'a> {
    /// The tensor.
    ///
    /// # Errors
    /// If the output is not a tensor.
    pub fn tensor(&self) -> Result<TensorView<'a>> {
        match self {
            Self::Tensor(tensor) => Ok(*tensor),
            other => bail!(
                InvalidInput,
                "the output is {}, not a tensor",
                other.kind_name()
            ),
        }
    }

    /// The tensor on a device.
    ///
    /// # Errors
    /// If the output is not a tensor that stays on a device.
    pub fn device_tensor(&self) -> Result<DeviceTensor<'a>> {
        match self {
            Self::Device(tensor) => Ok(*tensor),
            other => bail!(
                InvalidInput,
                "the output is {}, not a tensor on a device",
                other.kind_name()
            ),
        }
    }

    /// A copy that owns what it holds.
    ///
    /// # Errors
    /// If memory is out, or the output stays on a device.
    pub fn to_value(&self) -> Result<Value> {
        Ok(match *self {
            Self::None => Value::None,
            Self::Int(value) => Value::Int(value),
            Self::Double(value) => Value::Double(value),
            Self::Bool(value) => Value::Bool(value),
            Self::String(value) => Value::String(value.into()),
            Self::Tensor(view) => Value::Tensor(view.to_tensor()?),
            Self::Device(_) => bail!(
                Unsupported,
                "the output lies on a device; without `device_outputs` it comes to the host"
            ),
            Self::IntList(list) => Value::IntList(list.into()),
            Self::DoubleList(list) => Value::DoubleList(list.into()),
            Self::BoolList(list) => Value::BoolList(list.into()),
        })
    }

    /// What it is, for messages.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Int(_) => "an integer",
            Self::Double(_) => "a double",
            Self::Bool(_) => "a boolean",
            Self::String(_) => "a string",
            Self::Tensor(_) => "a tensor",
            Self::Device(_) => "a tensor on a device",
            Self::IntList(_) => "a list of integers",
            Self::DoubleList(_) => "a list of doubles",
            Self::BoolList(_) => "a list of booleans",
        }
    }
}

impl Value {
    /// The tensor.
    ///
    /// # Errors
    /// If the value is not a tensor.
    pub fn tensor(&self) -> Result<&Tensor> {
        match self {
            Self::Tensor(tensor) => Ok(tensor),
            other => bail!(
                InvalidInput,
                "the value is {}, not a tensor",
                other.as_output().kind_name()
            ),
        }
    }

    /// The value, borrowed as an output is.
    pub fn as_output(&self) -> Output<'_> {
        match self {
            Self::None => Output::None,
            Self::Int(value) => Output::Int(*value),
            Self::Double(value) => Output::Double(*value),
            Self::Bool(value) => Output::Bool(*value),
            Self::String(value) => Output::String(value),
            Self::Tensor(tensor) => Output::Tensor(tensor.view()),
            Self::IntList(list) => Output::IntList(list),
            Self::DoubleList(list) => Output::DoubleList(list),
            Self::BoolList(list) => Output::BoolList(list),
        }
    }

    /// The value, borrowed as an input.
    ///
    /// # Errors
    /// If it is a list: methods take their elements one by one.
    pub fn as_input(&self) -> Result<Input<'_>> {
        Ok(match self {
            Self::None => Input::None,
            Self::Int(value) => Input::Int(*value),
            Self::Double(value) => Input::Double(*value),
            Self::Bool(value) => Input::Bool(*value),
            Self::String(value) => Input::String(value),
            Self::Tensor(tensor) => Input::Tensor(tensor.view()),
            other => bail!(
                InvalidInput,
                "{} is not an input",
                other.as_output().kind_name()
            ),
        })
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "value {}", self.0)
    }
}

impl<'a> From<TensorView<'a>> for Input<'a> {
    fn from(view: TensorView<'a>) -> Self {
        Self::Tensor(view)
    }
}

impl<'a> From<DeviceInput<'a>> for Input<'a> {
    fn from(input: DeviceInput<'a>) -> Self {
        Self::Device(input)
    }
}

impl<'a> From<&'a Tensor> for Input<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor.view())
    }
}

impl From<i64> for Input<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Input<'_> {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<bool> for Input<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<'a> From<&'a str> for Input<'a> {
    fn from(value: &'a str) -> Self {
        Self::String(value)
    }
}

impl From<Scalar> for Input<'_> {
    fn from(value: Scalar) -> Self {
        match value {
            Scalar::Int(value) => Self::Int(value),
            Scalar::Double(value) => Self::Double(value),
            Scalar::Bool(value) => Self::Bool(value),
        }
    }
}
