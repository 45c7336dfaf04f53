//! Numbers that are not tensors.

use std::fmt;

/// A number whose kind is known only at run time, as operators take them (`alpha`, `value`, ...).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// A boolean.
    Bool(bool),
}

impl Scalar {
    /// The number as a double, rounded where it is a large integer.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Double(value) => value,
            Self::Bool(value) => f64::from(u8::from(value)),
        }
    }

    /// The number as an integer: doubles lose their fraction and saturate.
    pub fn to_i64(self) -> i64 {
        match self {
            Self::Int(value) => value,
            Self::Double(value) => value as i64,
            Self::Bool(value) => i64::from(value),
        }
    }

    /// Whether the number is not zero.
    pub fn to_bool(self) -> bool {
        match self {
            Self::Int(value) => value != 0,
            Self::Double(value) => value != 0.0,
            Self::Bool(value) => value,
        }
    }

    /// What it is, for messages.
    pub const fn kind_name(self) -> &'static str {
        match self {
            Self::Int(_) => "an integer",
            Self::Double(_) => "a double",
            Self::Bool(_) => "a boolean",
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Double(value) => fmt::Debug::fmt(value, f),
            Self::Bool(value) => value.fmt(f),
        }
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
