//! Shapes, as C++ lays them out.

/// `nvinfer1::Dims64`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dims {
    count: i32,
    dims: [i64; 8],
}

impl Dims {
    /// No shape: the result of methods that fail.
    pub(super) const NONE: Self = Self {
        count: -1,
        dims: [0; 8],
    };

    pub(super) fn new(shape: &[i64]) -> Self {
        let mut dims = [0; 8];
        let count = shape.len().min(8);
        dims[..count].copy_from_slice(&shape[..count]);
        Self {
            count: count as i32,
            dims,
        }
    }

    /// The dimensions, if their number is valid.
    pub(super) fn get(&self) -> Option<&[i64]> {
        usize::try_from(self.count)
            .ok()
            .and_then(|count| self.dims.get(..count))
    }
}
