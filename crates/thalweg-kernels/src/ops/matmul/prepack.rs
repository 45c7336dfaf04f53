//! Prepacked weights: constant right sides of products, packed when a method is linked.

use thalweg_core::{DType, Prepacked, Result, StaticArguments, TensorView, TensorViewMut};
use thalweg_core::{KernelCall, Scalar};

use super::{Sum, check_types};
use crate::linalg::{Addend, Epilogue, Matrix, PackedRhs};

/// The weight at a position, packed, if it is a constant matrix of f32, or a batch of one.
pub(super) fn pack(
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
    Ok(Some(Prepacked::new(PackedRhs::new(matrix))))
}

/// Computes `a weight` and its addend at once, if layouts allow it. Returns false otherwise.
pub(super) fn multiply(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    a: TensorView<'_>,
    weight: &PackedRhs,
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
    let (mut add, mut scale) = (Addend::Nothing, 1.0);
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
            // Only a bias, the same in every row and not scaled, is part of the packed product.
            if beta != 1.0 || *addend.sizes() != [n] {
                return Ok(false);
            }
            add = Addend::Columns(addend.data()?);
        }
    }
    let left = Matrix::new(a.data()?, [rows, columns], [row_stride, column_stride])?;
    let epilogue = Epilogue::new(scale, add);
    weight.multiply(out.data_mut()?, n, left, epilogue, call.threads())?;
    Ok(true)
}

/// Computes `input weight + bias` for every row of an input of any rank, if layouts allow it.
pub(super) fn multiply_rows(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    input: TensorView<'_>,
    weight: &PackedRhs,
    bias: Option<TensorView<'_>>,
) -> Result<bool> {
    let (depth, n) = (weight.depth(), weight.columns());
    let add = match bias {
        Some(bias) if *bias.sizes() == [n] => Addend::Columns(bias.data()?),
        Some(_) => return Ok(false),
        None => Addend::Nothing,
    };
    if !input.is_row_major() || !out.is_row_major() || n == 0 {
        return Ok(false);
    }
    let rows = out.numel() / n;
    let left = Matrix::new(input.data()?, [rows, depth], [depth, 1])?;
    let epilogue = Epilogue::new(1.0, add);
    weight.multiply(out.data_mut()?, n, left, epilogue, call.threads())?;
    Ok(true)
}

fn factor(value: Scalar) -> f32 {
    value.to_f64() as f32
}
