//! What kernels make of constant arguments once, for all calls.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::{Result, Scalar, TensorView};

/// What a kernel has prepared for an instruction: anything that its calls can look at, such as
/// weights in the order in which a product reads them. All instances of a method share it.
#[derive(Clone)]
pub struct Prepared(Arc<dyn Any + Send + Sync>);

impl Prepared {
    /// Something that was prepared.
    pub fn new<T: Any + Send + Sync>(prepared: T) -> Self {
        Self(Arc::new(prepared))
    }

    /// What was prepared, if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared")
    }
}

/// Looks at the constant arguments of an instruction and may prepare something; see
/// [`Kernel::with_preparation`](crate::Kernel::with_preparation).
pub type PrepareFn = fn(&Preparation<'_>) -> Result<Option<Prepared>>;

/// Decides whether an operator does the work of instructions that follow it, too, given its constant
/// arguments and what those have offered; see [`Kernel::with_absorption`](crate::Kernel::with_absorption).
pub type AbsorbFn = fn(&Preparation<'_>, &[Prepared]) -> Result<Option<Prepared>>;

/// The arguments of an instruction, as far as they are the same in every call.
#[derive(Debug)]
pub struct Preparation<'p> {
    arguments: Vec<Known<'p>>,
}

/// What is known of an argument.
#[derive(Clone, Debug)]
pub(crate) enum Known<'p> {
    /// Nothing: it can be another one in each call.
    Nothing,
    /// It is absent.
    Absent,
    Scalar(Scalar),
    Tensor(TensorView<'p>),
}

impl Known<'_> {
    /// Numbers that are the same for arguments that are the same.
    pub(crate) fn identity(&self) -> Vec<usize> {
        match self {
            Self::Nothing => vec![0],
            Self::Absent => vec![1],
            Self::Scalar(value) => {
                let (kind, bits) = match *value {
                    Scalar::Int(value) => (2, value as u64),
                    Scalar::Double(value) => (3, value.to_bits()),
                    Scalar::Bool(value) => (4, u64::from(value)),
                };
                vec![kind, bits as usize, (bits >> 32) as usize]
            }
            Self::Tensor(tensor) => {
                let place = tensor.bytes().as_ptr().addr();
                let mut identity = vec![5, tensor.dtype() as usize, tensor.rank(), place];
                identity.extend(tensor.sizes());
                identity.extend(tensor.dim_order().iter().map(|&dim| usize::from(dim)));
                identity
            }
        }
    }
}

impl<'p> Preparation<'p> {
    pub(crate) fn new(arguments: Vec<Known<'p>>) -> Self {
        Self { arguments }
    }

    /// The tensor at a position, if it is a constant.
    pub fn tensor(&self, position: usize) -> Option<TensorView<'p>> {
        match self.arguments.get(position)? {
            Known::Tensor(tensor) => Some(*tensor),
            _ => None,
        }
    }

    /// The number at a position, if it does not change.
    pub fn scalar(&self, position: usize) -> Option<Scalar> {
        match self.arguments.get(position)? {
            Known::Scalar(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether the argument at a position is always absent.
    pub fn is_absent(&self, position: usize) -> bool {
        matches!(self.arguments.get(position), None | Some(Known::Absent))
    }
}
