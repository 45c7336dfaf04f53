//! What kernels make of constant arguments once, for all calls.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::{DType, Result, Scalar, TensorView};

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
    Ints(Arc<[i64]>),
    /// A tensor whose elements are not known.
    Shape(Shape<'p>),
    Tensor(TensorView<'p>),
}

/// What is known of a tensor whose shape does not change, but its elements do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape<'p> {
    /// The element type.
    pub dtype: DType,
    /// How large each dimension is.
    pub sizes: &'p [usize],
    /// The dimensions as they lie in memory, the outermost first.
    pub dim_order: &'p [u8],
}

impl Shape<'_> {
    fn identity(&self) -> impl Iterator<Item = usize> {
        let start = [self.dtype as usize, self.sizes.len()].into_iter();
        let sizes = self.sizes.iter().copied();
        start
            .chain(sizes)
            .chain(self.dim_order.iter().map(|&dim| usize::from(dim)))
    }
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
            Self::Ints(list) => {
                let parts = list
                    .iter()
                    .flat_map(|&x| [x as usize, ((x as u64) >> 32) as usize]);
                [5, list.len()].into_iter().chain(parts).collect()
            }
            Self::Shape(shape) => std::iter::once(6).chain(shape.identity()).collect(),
            Self::Tensor(tensor) => {
                let place = tensor.bytes().as_ptr().addr();
                let shape = Shape::of(tensor);
                [7, place].into_iter().chain(shape.identity()).collect()
            }
        }
    }
}

impl<'p> Shape<'p> {
    fn of(tensor: &TensorView<'p>) -> Self {
        Self {
            dtype: tensor.dtype(),
            sizes: tensor.sizes(),
            dim_order: tensor.dim_order(),
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

    /// The type, shape and order of the tensor at a position, if they do not change.
    pub fn shape(&self, position: usize) -> Option<Shape<'p>> {
        match self.arguments.get(position)? {
            Known::Tensor(tensor) => Some(Shape::of(tensor)),
            Known::Shape(shape) => Some(*shape),
            _ => None,
        }
    }

    /// The list of integers at a position, if none of them changes.
    pub fn int_list(&self, position: usize) -> Option<&[i64]> {
        match self.arguments.get(position)? {
            Known::Ints(list) => Some(list),
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
