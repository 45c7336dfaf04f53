//! The arguments of an instruction as far as they are the same in every call.

use std::sync::Arc;

use crate::{DType, Scalar, TensorView};

/// The arguments of an instruction as far as they are the same in every call: what a kernel can
/// decide by before a method runs.
#[derive(Clone, Debug)]
pub struct StaticArguments<'p> {
    arguments: Vec<StaticArgument<'p>>,
}

/// An argument, as far as it is the same in every call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StaticArgument<'p> {
    /// It can be another one in each call.
    Dynamic,
    /// It is always absent.
    Absent,
    /// A number.
    Scalar(Scalar),
    /// Integers.
    Ints(Arc<[i64]>),
    /// A tensor of a fixed shape.
    Tensor(Shape<'p>),
    /// A constant tensor of a fixed shape; its elements, where they are at hand.
    Constant(Shape<'p>, Option<TensorView<'p>>),
    /// A constant tensor whose shape is not fixed.
    DynamicConstant,
    /// Tensors; `None` for one whose shape is not fixed.
    Tensors(Vec<Option<Shape<'p>>>),
}

/// The element type, shape and dim order of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape<'p> {
    /// The element type.
    pub dtype: DType,
    /// The size of each dimension.
    pub sizes: &'p [usize],
    /// The dimensions from outermost to innermost in memory.
    pub dim_order: &'p [u8],
}

impl<'p> StaticArguments<'p> {
    /// The arguments, by position.
    pub fn new(arguments: Vec<StaticArgument<'p>>) -> Self {
        Self { arguments }
    }

    /// The tensor at a position, if its elements are known.
    pub fn constant(&self, position: usize) -> Option<TensorView<'p>> {
        match self.arguments.get(position)? {
            StaticArgument::Constant(_, view) => *view,
            _ => None,
        }
    }

    /// True if the argument at a position is a constant tensor, or absent.
    pub fn is_constant(&self, position: usize) -> bool {
        matches!(
            self.arguments.get(position),
            Some(
                StaticArgument::Constant(..)
                    | StaticArgument::DynamicConstant
                    | StaticArgument::Absent
            )
        )
    }

    /// The shape of the tensor at a position, if it is fixed.
    pub fn shape(&self, position: usize) -> Option<Shape<'p>> {
        match self.arguments.get(position)? {
            StaticArgument::Tensor(shape) | StaticArgument::Constant(shape, _) => Some(*shape),
            _ => None,
        }
    }

    /// The number of tensors in the list at a position, if all are there.
    pub fn list_len(&self, position: usize) -> Option<usize> {
        match self.arguments.get(position)? {
            StaticArgument::Tensors(list) => Some(list.len()),
            _ => None,
        }
    }

    /// The shape of a tensor in the list at a position, if it is fixed.
    pub fn list_shape(&self, position: usize, index: usize) -> Option<Shape<'p>> {
        match self.arguments.get(position)? {
            StaticArgument::Tensors(list) => *list.get(index)?,
            _ => None,
        }
    }

    /// The integers at a position, if none of them changes.
    pub fn int_list(&self, position: usize) -> Option<&[i64]> {
        match self.arguments.get(position)? {
            StaticArgument::Ints(list) => Some(list),
            _ => None,
        }
    }

    /// The number at a position, if it does not change.
    pub fn scalar(&self, position: usize) -> Option<Scalar> {
        match self.arguments.get(position)? {
            StaticArgument::Scalar(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer at a position, if it does not change.
    pub fn int(&self, position: usize) -> Option<i64> {
        match self.scalar(position)? {
            Scalar::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The boolean at a position, if it does not change.
    pub fn bool(&self, position: usize) -> Option<bool> {
        match self.scalar(position)? {
            Scalar::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// True if the argument at a position is always absent.
    pub fn is_absent(&self, position: usize) -> bool {
        matches!(
            self.arguments.get(position),
            None | Some(StaticArgument::Absent)
        )
    }

    /// A key that is the same for arguments that are the same. Constants are told apart by their
    /// addresses.
    #[doc(hidden)]
    pub fn key(&self) -> Vec<usize> {
        let mut key = Vec::new();
        for argument in &self.arguments {
            argument.add_to_key(&mut key);
        }
        key
    }
}

impl StaticArgument<'_> {
    fn add_to_key(&self, key: &mut Vec<usize>) {
        match self {
            Self::Dynamic => key.push(0),
            Self::Absent => key.push(1),
            Self::Scalar(value) => {
                let (kind, bits) = match *value {
                    Scalar::Int(value) => (2, value as u64),
                    Scalar::Double(value) => (3, value.to_bits()),
                    Scalar::Bool(value) => (4, u64::from(value)),
                };
                key.extend([kind, bits as usize, (bits >> 32) as usize]);
            }
            Self::Ints(list) => {
                key.extend([5, list.len()]);
                key.extend(
                    list.iter()
                        .flat_map(|&x| [x as usize, ((x as u64) >> 32) as usize]),
                );
            }
            Self::Tensor(shape) => {
                key.push(6);
                shape.add_to_key(key);
            }
            Self::Constant(shape, view) => {
                let address = view.map_or(0, |view| view.bytes().as_ptr().addr());
                key.extend([7, address]);
                shape.add_to_key(key);
            }
            Self::DynamicConstant => key.push(8),
            Self::Tensors(list) => {
                key.extend([9, list.len()]);
                for shape in list {
                    match shape {
                        Some(shape) => shape.add_to_key(key),
                        None => key.push(usize::MAX),
                    }
                }
            }
        }
    }
}

impl<'p> Shape<'p> {
    /// The shape of a tensor.
    pub fn of(tensor: &TensorView<'p>) -> Self {
        Self {
            dtype: tensor.dtype(),
            sizes: tensor.sizes(),
            dim_order: tensor.dim_order(),
        }
    }

    fn add_to_key(&self, key: &mut Vec<usize>) {
        key.extend([self.dtype as usize, self.sizes.len()]);
        key.extend(self.sizes);
        key.extend(self.dim_order.iter().map(|&dim| usize::from(dim)));
    }
}
