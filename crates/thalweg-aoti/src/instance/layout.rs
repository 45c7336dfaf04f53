//! Layouts of a program's tensors.

use std::sync::Arc;

use thalweg_core::{DType, DeviceTensor, strides_of};

use crate::abi::Tensor;

/// The element type, the sizes and the strides of a tensor of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TensorLayout {
    pub(super) dtype: DType,
    sizes: Vec<usize>,
    dim_order: Vec<u8>,
    /// The sizes in the type that libraries use.
    pub(super) signed_sizes: Vec<i64>,
    pub(super) strides: Vec<i64>,
    bytes: u64,
}

impl TensorLayout {
    pub(super) fn new(dtype: DType, sizes: &[usize], dim_order: &[u8]) -> Self {
        let signed = |values: &[usize]| -> Vec<i64> {
            let values = values.iter();
            values
                .map(|&value| i64::try_from(value).unwrap_or(i64::MAX))
                .collect()
        };
        Self {
            dtype,
            sizes: sizes.to_vec(),
            dim_order: dim_order.to_vec(),
            signed_sizes: signed(sizes),
            strides: signed(&strides_of(sizes, dim_order)),
            // There are no gaps between elements.
            bytes: sizes.iter().fold(dtype.size() as u64, |bytes, &size| {
                bytes.saturating_mul(size as u64)
            }),
        }
    }

    /// A layout that is shared with `like` if it is equal.
    pub(super) fn shared(
        dtype: DType,
        sizes: &[usize],
        dim_order: &[u8],
        like: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        match like {
            Some(like) if like.is_of(dtype, sizes, dim_order) => like.clone(),
            _ => Arc::new(Self::new(dtype, sizes, dim_order)),
        }
    }

    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The extent in memory.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(super) fn is_of(&self, dtype: DType, sizes: &[usize], dim_order: &[u8]) -> bool {
        self.dtype == dtype && self.sizes == sizes && self.dim_order == dim_order
    }

    /// True if it is the layout of a tensor of the program.
    #[inline]
    pub(super) fn is_of_tensor(&self, tensor: &DeviceTensor<'_>) -> bool {
        self.is_of(tensor.dtype(), tensor.sizes(), tensor.dim_order())
    }

    /// True if it is the layout of a library's tensor.
    pub(super) fn is_of_result(&self, tensor: &Tensor) -> bool {
        self.dtype == tensor.dtype
            && self.signed_sizes == tensor.sizes
            && tensor.has_strides(&self.strides)
    }
}
