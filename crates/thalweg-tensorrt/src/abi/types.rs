//! Values that pass between TensorRT and us.

use std::fmt;

use thalweg_core::{DType, Result, ensure};

/// So many dimensions a tensor of TensorRT has at most.
pub(crate) const MAX_DIMS: usize = 8;

/// The dimensions of a tensor, as TensorRT passes them; -1 is one that is not known yet.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Shape {
    rank: i32,
    sizes: [i64; MAX_DIMS],
}

impl Shape {
    /// A shape without dimensions.
    pub(crate) const SCALAR: Self = Self {
        rank: 0,
        sizes: [0; MAX_DIMS],
    };

    /// What TensorRT gives where it has no shape to give.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self {
        rank: -1,
        sizes: [0; MAX_DIMS],
    };

    /// The shape of a tensor of ours.
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

    /// The sizes; nothing if TensorRT had no shape to give.
    pub(crate) fn sizes(&self) -> &[i64] {
        let rank = usize::try_from(self.rank).unwrap_or(0);
        &self.sizes[..rank.min(MAX_DIMS)]
    }

    /// Whether this is a shape at all: TensorRT answers with a negative rank if it is not.
    pub(crate) fn is_some(&self) -> bool {
        (0..=MAX_DIMS as i32).contains(&self.rank)
    }

    /// Whether every size is known.
    pub(crate) fn is_known(&self) -> bool {
        self.is_some() && self.sizes().iter().all(|&size| size >= 0)
    }

    /// How many elements, if that is known and a number.
    pub(crate) fn numel(&self) -> Option<usize> {
        let sizes = self.is_known().then_some(self.sizes())?;
        sizes.iter().try_fold(1usize, |numel, &size| {
            numel.checked_mul(usize::try_from(size).ok()?)
        })
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

/// An element type, by TensorRT's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataType(pub(crate) i32);

impl DataType {
    /// The type of ours that has the same elements.
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

/// Where TensorRT wants a tensor to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorLocation {
    Device,
    /// The host: values that shapes depend on.
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
