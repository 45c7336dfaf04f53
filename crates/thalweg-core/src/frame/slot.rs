//! Values.

use std::cell::Cell;
use std::sync::Arc;

use super::TensorId;
use crate::{Scalar, ValueId};

/// One value of a frame.
#[derive(Clone, Debug)]
pub enum Slot {
    /// A number, or nothing.
    Scalar(Cell<Option<Scalar>>),
    /// A string.
    String(Arc<str>),
    /// A tensor.
    Tensor(TensorId),
    /// Integers that never change.
    Ints(Arc<[i64]>),
    /// Integers of which some are computed.
    IntList(Arc<[ValueId]>),
    /// Doubles.
    DoubleList(Arc<[f64]>),
    /// Booleans.
    BoolList(Arc<[bool]>),
    /// Tensors, some of which may be absent.
    TensorList(Arc<[Option<ValueId>]>),
}

impl Slot {
    /// A number, or nothing.
    pub fn scalar(value: Option<Scalar>) -> Self {
        Self::Scalar(Cell::new(value))
    }

    /// The number, if this is one.
    #[inline]
    pub fn number(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(cell) => cell.get(),
            _ => None,
        }
    }

    /// True if there is no value.
    #[inline]
    pub fn is_none(&self) -> bool {
        matches!(self, Self::Scalar(cell) if cell.get().is_none())
    }
}
