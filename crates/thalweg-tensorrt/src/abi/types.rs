//! Shapes, element types and locations, as TensorRT represents them.

use std::fmt;

use thalweg_core::{DType, Result, ensure};

use crate::log;

/// The largest number of dimensions of a tensor in TensorRT.
pub(crate) const MAX_DIMS: usize = 8;

/// A `Dims64`: the sizes of a tensor, -1 for a dynamic one.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Shape {
    rank: i32,
    sizes: [i64; MAX_DIMS],
}

impl Shape {
    /// The shape of a scalar: no dimensions.
    pub(crate) const SCALAR: Self = Self {
        rank: 0,
        sizes: [0; MAX_DIMS],
    };

    /// The value that TensorRT returns for an unknown shape.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self {
        rank: -1,
        sizes: [0; MAX_DIMS],
    };

    /// A shape with these sizes.
    pub(crate) fn of(sizes: &[usize]) -> Result<Self> {
        ensure!(
            sizes.len() <= MAX_DIMS,
            Unsupported,
            "a tensor of shape {sizes:?} has more than the {MAX_DIMS} dimensions that TensorRT knows"
        );
        let mut shape = Self::SCALAR;
        shape.rank = sizes.len() as i32;
        for (to, &size) in shape.sizes.iter_mut().zip(sizes) {
            *to = i64::try_from(size).unwrap_or(i64::MAX);
        }
        Ok(shape)
    }

    /// The sizes; empty for an unknown shape.
    pub(crate) fn sizes(&self) -> &[i64] {
        let rank = usize::try_from(self.rank).unwrap_or(0);
        &self.sizes[..rank.min(MAX_DIMS)]
    }

    /// Returns true for a shape, and false for the value that TensorRT returns instead of one, which
    /// has a negative rank.
    pub(crate) fn is_some(&self) -> bool {
        (0..=MAX_DIMS as i32).contains(&self.rank)
    }

    /// Returns true if every size is known.
    pub(crate) fn is_known(&self) -> bool {
        self.is_some() && self.sizes().iter().all(|&size| size >= 0)
    }

    /// The number of elements; `None` if a size is unknown, or the number overflows.
    pub(crate) fn numel(&self) -> Option<usize> {
        let sizes = self.is_known().then_some(self.sizes())?;
        sizes.iter().try_fold(1usize, |numel, &size| {
            numel.checked_mul(usize::try_from(size).ok()?)
        })
    }
}

impl Shape {
    /// The shape that a method of TensorRT has returned.
    ///
    /// # Errors
    /// If it is no shape: the method has failed.
    pub(super) fn checked(self, call: impl FnOnce() -> String) -> Result<Self> {
        match self.is_some() {
            true => Ok(self),
            false => Err(log::failed(&call())),
        }
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_some() {
            self.sizes().fmt(f)
        } else {
            f.write_str("unknown")
        }
    }
}

/// A `DataType`: an element type, by TensorRT's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataType(pub(crate) i32);

impl DataType {
    /// The same type of programs; `None` if programs have no such type.
    pub(crate) fn dtype(self) -> Option<DType> {
        Some(match self.0 {
            0 => DType::F32,
            1 => DType::F16,
            2 => DType::I8,
            3 => DType::I32,
            4 => DType::Bool,
            5 => DType::U8,
            6 => DType::F8E4M3Fn,
            7 => DType::BF16,
            8 => DType::I64,
            _ => return None,
        })
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            9 => "int4",
            10 => "fp4",
            11 => "e8m0",
            number => {
                return match self.dtype() {
                    Some(dtype) => dtype.fmt(f),
                    None => write!(f, "type {number}"),
                };
            }
        };
        f.write_str(name)
    }
}

/// A `TensorLocation`: the memory in which TensorRT expects a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorLocation {
    Device,
    /// The host, for tensors whose values shapes depend on.
    Host,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_the_size_that_headers_give_them() {
        assert_eq!(size_of::<Shape>(), 72);
        assert_eq!(std::mem::offset_of!(Shape, sizes), 8);
    }

    #[test]
    fn shapes_say_what_is_known() {
        let shape = Shape::of(&[2, 3]).unwrap();
        assert_eq!(shape.numel(), Some(6));
        assert_eq!(format!("{shape:?}"), "[2, 3]");
        let mut open = shape;
        open.sizes[1] = -1;
        assert!(open.is_some() && !open.is_known());
        assert_eq!(open.numel(), None);
        assert!(!Shape::NONE.is_some());
        assert_eq!(Shape::SCALAR.numel(), Some(1));
        assert!(Shape::of(&[1; 9]).is_err());
    }
}
