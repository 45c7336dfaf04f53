//! Queries, keys and values: rows by batch, head and position, of any element type.

use thalweg_core::{
    DType, KernelCall, Result, TensorView, bail, bf16, ensure, f16, identity_order,
};

use crate::dtype::float::Float;
use crate::layout::order::in_order;
use crate::linalg::Matrix;

/// The number of rows by batch, head and position, and their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heads {
    pub(super) batch: usize,
    pub(super) heads: usize,
    pub(super) positions: usize,
    pub(super) len: usize,
}

/// The rows of a tensor.
pub(super) struct Rows<'a> {
    pub(super) shape: Heads,
    /// The sizes of the tensor.
    pub(super) sizes: &'a [usize],
    elements: Elements<'a>,
    head_stride: usize,
    position_stride: usize,
}

enum Elements<'a> {
    F32(&'a [f32]),
    F16(&'a [f16]),
    BF16(&'a [bf16]),
    /// Each row has a zero point and a scale.
    I8(&'a [i8], &'a [i8], &'a [f32]),
}

impl<'a> Rows<'a> {
    /// The rows of a tensor of floats, of shape `[batch, positions, heads, len]`, or
    /// `[batch, heads, positions, len]`.
    pub(super) fn of(
        call: &'a KernelCall<'_>,
        tensor: TensorView<'a>,
        heads_first: bool,
    ) -> Result<Self> {
        let sizes = tensor.sizes();
        let &[batch, first, second, len] = sizes else {
            bail!(
                InvalidInput,
                "{tensor:?} does not have batch, positions, heads and elements"
            );
        };
        let tensor = in_order(call, tensor, identity_order(4)?)?;
        let elements = match tensor.dtype() {
            DType::F32 => Elements::F32(tensor.data()?),
            DType::F16 => Elements::F16(tensor.data()?),
            DType::BF16 => Elements::BF16(tensor.data()?),
            DType::I8 => Elements::I8(tensor.data()?, &[], &[]),
            other => bail!(
                Unsupported,
                "attention does not work on elements of type {other}"
            ),
        };
        let inner = second * len;
        let (heads, positions, head_stride, position_stride) = if heads_first {
            (first, second, inner, len)
        } else {
            (second, first, len, inner)
        };
        Ok(Self {
            shape: Heads {
                batch,
                heads,
                positions,
                len,
            },
            sizes,
            elements,
            head_stride,
            position_stride,
        })
    }

    /// The rows of a tensor of integers, with a zero point and a scale for each.
    pub(super) fn quantized(
        call: &'a KernelCall<'_>,
        tensor: TensorView<'a>,
        parameters: [TensorView<'a>; 2],
        heads_first: bool,
    ) -> Result<Self> {
        let rows = Self::of(call, tensor, heads_first)?;
        for parameter in &parameters {
            let sizes = parameter.sizes();
            ensure!(
                sizes.len() == 4 && sizes[..3] == rows.sizes[..3] && sizes[3] == 1,
                InvalidInput,
                "{parameter:?} does not have a number for each row of {tensor:?}"
            );
        }
        let [zero_points, scales] = parameters;
        let order = identity_order(4)?;
        let zero_points = in_order(call, zero_points, order)?.data()?;
        let scales = in_order(call, scales, order)?.data()?;
        match rows.elements {
            Elements::I8(values, ..) => Ok(Self {
                elements: Elements::I8(values, zero_points, scales),
                ..rows
            }),
            _ => bail!(Internal, "{tensor:?} is not quantized"),
        }
    }

    /// The place at which the row of a batch, a head and a position begins.
    pub(super) fn offset(&self, [batch, head, position]: [usize; 3]) -> usize {
        let batch_stride = self.shape.heads * self.shape.positions * self.shape.len;
        batch * batch_stride + head * self.head_stride + position * self.position_stride
    }

    /// Leaves a row in `to`.
    pub(super) fn copy(&self, at: [usize; 3], to: &mut [f32]) -> Result<()> {
        let (start, len) = (self.offset(at), self.shape.len);
        match self.elements {
            Elements::F32(data) => to.copy_from_slice(&data[start..][..len]),
            Elements::F16(data) => f16::widen_all(&data[start..][..len], to),
            Elements::BF16(data) => bf16::widen_all(&data[start..][..len], to),
            Elements::I8(data, zero_points, scales) => {
                let row = start / len.max(1);
                let (Some(&zero), Some(&scale)) = (zero_points.get(row), scales.get(row)) else {
                    bail!(InvalidInput, "a row of integers has no scale");
                };
                for (to, &from) in to.iter_mut().zip(&data[start..][..len]) {
                    *to = (i32::from(from) - i32::from(zero)) as f32 * scale;
                }
            }
        }
        Ok(())
    }

    /// `count` rows of a head from a position on, as a matrix: in the tensor's own memory if that
    /// is possible, else in `buffer`.
    pub(super) fn block<'b>(
        &'b self,
        [batch, head, position]: [usize; 3],
        count: usize,
        buffer: &'b mut [f32],
    ) -> Result<Matrix<'b, f32>> {
        let len = self.shape.len;
        if let Elements::F32(data) = self.elements {
            let data = &data[self.offset([batch, head, position])..];
            return Matrix::new(data, [count, len], [self.position_stride, 1]);
        }
        for (row, to) in buffer.chunks_exact_mut(len).take(count).enumerate() {
            self.copy([batch, head, position + row], to)?;
        }
        Matrix::new(buffer, [count, len], [len, 1])
    }
}
