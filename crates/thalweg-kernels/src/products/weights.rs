//! Products whose right side is a constant, a weight: it is packed when the method is linked.

use thalweg_core::{
    DType, KernelRegistry, Prepacked, Result, StaticArguments, TensorView, TensorViewMut,
};
use thalweg_core::{KernelCall, Scalar};

use super::gemm::Matrix;
use super::packed::PackedRight;
use super::tiles::{Add, Finish};
use super::{Sum, check_types};

/// Tells the registry which operators have weights.
pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.modify("aten::mm.out", |kernel| {
        kernel.with_prepack(|call| pack(call, 1, false))
    })?;
    registry.modify("aten::bmm.out", |kernel| {
        kernel.with_prepack(|call| pack(call, 1, false))
    })?;
    registry.modify("aten::addmm.out", |kernel| {
        kernel.with_prepack(|call| pack(call, 2, false))
    })?;
    registry.modify("aten::baddbmm.out", |kernel| {
        kernel.with_prepack(|call| pack(call, 2, false))
    })?;
    registry.modify("aten::linear.out", |kernel| {
        kernel.with_prepack(|call| pack(call, 1, true))
    })?;
    Ok(())
}

/// The weight at a position, packed, if it is a constant matrix of f32, or a batch of one.
fn pack(
    call: &StaticArguments<'_>,
    position: usize,
    transposed: bool,
) -> Result<Option<Prepacked>> {
    let Some(weight) = call.constant(position) else {
        return Ok(None);
    };
    let strides = weight.strides();
    let (shape, strides) = match (weight.sizes(), &*strides) {
        (&[rows, columns] | &[1, rows, columns], &[.., row, column]) => {
            ([rows, columns], [row, column])
        }
        _ => return Ok(None),
    };
    if weight.dtype() != DType::F32 {
        return Ok(None);
    }
    let matrix = Matrix::new(weight.data::<f32>()?, shape, strides)?;
    let matrix = if transposed {
        matrix.transposed()
    } else {
        matrix
    };
    Ok(Some(Prepacked::new(PackedRight::new(matrix))))
}

/// `a weight`, and what is added, if layouts are such that it can be done at once.
pub(super) fn multiply(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    a: TensorView<'_>,
    weight: &PackedRight,
    sum: Option<Sum<'_>>,
) -> Result<bool> {
    let (shape, strides) = (a.sizes(), a.strides());
    let ([rows, columns] | [1, rows, columns]) = *shape else {
        return Ok(false);
    };
    let [.., row_stride, column_stride] = *strides else {
        return Ok(false);
    };
    if !out.is_row_major() || columns != weight.depth() {
        return Ok(false);
    }
    let n = weight.columns();
    let (mut add, mut scale) = (Add::Nothing, 1.0);
    if let Some(Sum {
        addend,
        beta,
        alpha,
    }) = sum
    {
        check_types(out.dtype(), [addend.dtype(); 2])?;
        scale = factor(alpha);
        let beta = factor(beta);
        if beta != 0.0 {
            // What is not added as it is, the same in every row, takes the other way.
            if beta != 1.0 || *addend.sizes() != [n] {
                return Ok(false);
            }
            add = Add::Columns(addend.data()?);
        }
    }
    let left = Matrix::new(a.data()?, [rows, columns], [row_stride, column_stride])?;
    let finish = Finish::new(scale, add);
    weight.multiply(out.data_mut()?, n, left, finish, call.threads())?;
    Ok(true)
}

/// `input weight + bias` for every row of an input of any rank, if layouts are such.
pub(super) fn multiply_rows(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    input: TensorView<'_>,
    weight: &PackedRight,
    bias: Option<TensorView<'_>>,
) -> Result<bool> {
    let (depth, n) = (weight.depth(), weight.columns());
    let add = match bias {
        Some(bias) if *bias.sizes() == [n] => Add::Columns(bias.data()?),
        Some(_) => return Ok(false),
        None => Add::Nothing,
    };
    if !input.is_row_major() || !out.is_row_major() || n == 0 {
        return Ok(false);
    }
    let rows = out.numel() / n;
    let left = Matrix::new(input.data()?, [rows, depth], [depth, 1])?;
    let finish = Finish::new(1.0, add);
    weight.multiply(out.data_mut()?, n, left, finish, call.threads())?;
    Ok(true)
}

fn factor(value: Scalar) -> f32 {
    value.to_f64() as f32
}
