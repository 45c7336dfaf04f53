//! Matrix products.
//!
//! Every operator here is one or many times `out = keep * out + scale * a b` ([`MatmulElement`]), after
//! the addend has been written to `out`.

mod prepack;
#[cfg(test)]
mod tests;

use rayon::prelude::*;
use thalweg_core::{
    DType, Dims, KernelCall, KernelRegistry, Result, Scalar, TensorView, bail, ensure,
    identity_order, numel,
};

use crate::dtype::dispatch::dispatch;
use crate::dtype::elements::{elements, elements_mut};
use crate::layout::Layout;
use crate::layout::copy::{copy, copy_elements};
use crate::layout::order::{fill_in_order, laid_out};
use crate::linalg::{MatmulElement, Matrix, MatrixMut, PARALLEL_WORK, PackedRhs, dispatch_matmul};
use crate::operator::pure;
use num_traits::Zero;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(
        pure(
            "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
            |call| product(call, &call.tensor(0)?, &call.tensor(1)?, 2, None),
        )?
        .with_prepack(|call| prepack::pack(call, 1, false)),
    );
    registry.add(
        pure(
            "aten::bmm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
            |call| product(call, &call.tensor(0)?, &call.tensor(1)?, 2, None),
        )?
        .with_prepack(|call| prepack::pack(call, 1, false)),
    );
    registry.add(pure(
        "aten::mv.out(Tensor self, Tensor vec, *, Tensor(a!) out) -> Tensor(a!)",
        |call| product(call, &call.tensor(0)?, &call.tensor(1)?, 2, None),
    )?);
    registry.add(pure(
        "aten::dot.out(Tensor self, Tensor tensor, *, Tensor(a!) out) -> Tensor(a!)",
        |call| product(call, &call.tensor(0)?, &call.tensor(1)?, 2, None),
    )?);
    registry.add(
        pure(
            "aten::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, \
             Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
            product_and_sum,
        )?
        .with_prepack(|call| prepack::pack(call, 2, false)),
    );
    registry.add(
        pure(
            "aten::baddbmm.out(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, \
             Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
            product_and_sum,
        )?
        .with_prepack(|call| prepack::pack(call, 2, false)),
    );
    registry.add(pure(
        "aten::addmv.out(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, \
         Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        product_and_sum,
    )?);
    registry.add(
        pure(
            "aten::linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) \
             -> Tensor(a!)",
            linear,
        )?
        .with_prepack(|call| prepack::pack(call, 1, true)),
    );
    Ok(())
}

/// The other term of a sum with a product, and the factors of both.
#[derive(Clone, Copy)]
struct Sum<'a> {
    addend: TensorView<'a>,
    beta: Scalar,
    alpha: Scalar,
}

/// `beta * self + alpha * a b`.
fn product_and_sum(call: &KernelCall<'_>) -> Result<()> {
    let sum = Sum {
        addend: call.tensor(0)?,
        beta: call.scalar(3)?,
        alpha: call.scalar(4)?,
    };
    product(call, &call.tensor(1)?, &call.tensor(2)?, 5, Some(&sum))
}

/// `a b` of vectors, matrices or batches of matrices, as their ranks say.
fn product(
    call: &KernelCall<'_>,
    a: &TensorView<'_>,
    b: &TensorView<'_>,
    out: usize,
    sum: Option<&Sum<'_>>,
) -> Result<()> {
    let (left, right) = (a.sizes(), b.sizes());
    // Each as [batch, rows, columns], and the shape of the result.
    let (shape_a, shape_b, sizes) = match (left, right) {
        (&[k], &[k2]) => ([1, 1, k], [1, k2, 1], Dims::new()),
        (&[m, k], &[k2]) => ([1, m, k], [1, k2, 1], Dims::from_slice(&[m])?),
        (&[m, k], &[k2, n]) => ([1, m, k], [1, k2, n], Dims::from_slice(&[m, n])?),
        (&[batch, m, k], &[batch2, k2, n]) if batch == batch2 => (
            [batch, m, k],
            [batch, k2, n],
            Dims::from_slice(&[batch, m, n])?,
        ),
        _ => bail!(
            Operator,
            "shapes {left:?} and {right:?} cannot be multiplied"
        ),
    };
    ensure!(
        shape_a[2] == shape_b[1],
        Operator,
        "shapes {left:?} and {right:?} cannot be multiplied: {} columns do not fit {} rows",
        shape_a[2],
        shape_b[1]
    );
    let mut out = call.output(out, &sizes)?;
    // Strides in the same three dimensions. A vector on the left is a row, others are columns.
    let strides_a = match (a.rank(), strides(a.sizes(), a.dim_order())) {
        (1, [_, step, _]) => [0, 0, step],
        (_, strides) => strides,
    };
    let strides_b = strides(b.sizes(), b.dim_order());
    let strides_out = strides(out.sizes(), out.dim_order());
    let batch = Batch {
        count: shape_a[0],
        shape_a: [shape_a[1], shape_a[2]],
        shape_b: [shape_b[1], shape_b[2]],
        strides_a,
        strides_b,
        strides_out,
    };
    check_types(out.dtype(), [a.dtype(), b.dtype()])?;
    if let Some(weight) = call.prepacked::<PackedRhs>()
        && prepack::multiply(call, &mut out, *a, weight, sum.copied())?
    {
        return Ok(());
    }
    dispatch_matmul!(out.dtype() => T, {
        let mut keep = T::scaling(Scalar::Int(0))?;
        let mut scale = T::scaling(Scalar::Int(1))?;
        if let Some(&Sum { addend, beta, alpha }) = sum {
            check_types(out.dtype(), [addend.dtype(); 2])?;
            (keep, scale) = (T::scaling(beta)?, T::scaling(alpha)?);
            let from = Layout::of(&addend).broadcast(&sizes)?;
            // A factor of zero removes even what is not a number.
            if !keep.is_zero() {
                let to = Layout::of_output(&out);
                copy(&mut out, &to, &addend, &from, call.threads())?;
            }
        }
        let (a, b) = (elements::<T>(a.bytes())?, elements::<T>(b.bytes())?);
        batch.multiply(call, elements_mut::<T>(out.bytes_mut())?, [a, b], [keep, scale])
    })
}

/// `input weightᵀ + bias`, for every row of an input of any rank.
fn linear(call: &KernelCall<'_>) -> Result<()> {
    let (input, weight, bias) = (call.tensor(0)?, call.tensor(1)?, call.optional_tensor(2)?);
    let (Some((&k, rows)), &[n, k2]) = (input.sizes().split_last(), weight.sizes()) else {
        bail!(
            Operator,
            "a linear layer takes an input of at least one dimension and a weight of two, not \
             shapes {:?} and {:?}",
            input.sizes(),
            weight.sizes()
        );
    };
    ensure!(
        k == k2,
        Operator,
        "an input of shape {:?} does not fit a weight of shape {:?}",
        input.sizes(),
        weight.sizes()
    );
    let mut sizes = Dims::from_slice(rows)?;
    let m = numel(rows)?;
    sizes.push(n)?;
    let bias_layout = match &bias {
        Some(bias) => Layout::of(bias).broadcast(&sizes)?,
        None => Layout::row_major(&[])?,
    };
    let mut out = call.output(3, &sizes)?;
    check_types(out.dtype(), [input.dtype(), weight.dtype()])?;
    if let Some(bias) = &bias {
        check_types(out.dtype(), [bias.dtype(); 2])?;
    }
    if let Some(weight) = call.prepacked::<PackedRhs>()
        && prepack::multiply_rows(call, &mut out, input, weight, bias)?
    {
        return Ok(());
    }
    let strides = weight.strides();
    let order = identity_order(sizes.len())?;
    let dtype = out.dtype();
    dispatch!(dtype, float => T, {
        let input = laid_out::<T>(call, input, order)?;
        let (weight, one) = (weight.data::<T>()?, T::scaling(Scalar::Int(1))?);
        fill_in_order::<T>(call, &mut out, order, |out| {
            let mut keep = T::scaling(Scalar::Int(0))?;
            if let Some(bias) = bias {
                let to = Layout::row_major(&sizes)?;
                copy_elements(out, &to, bias.data::<T>()?, &bias_layout, call.threads())?;
                keep = one;
            }
            let workspace = call.temporary(T::workspace([m, k, n], call.threads()))?;
            T::multiply(
                MatrixMut::new(out, [m, n], [n, 1])?,
                Matrix::new(input, [m, k], [k, 1])?,
                Matrix::new(weight, [k, n], [strides[1], strides[0]])?,
                [keep, one],
                workspace,
                call.threads(),
            )
        })
    })
}

/// A batch of products of pairs of matrices.
struct Batch {
    count: usize,
    shape_a: [usize; 2],
    shape_b: [usize; 2],
    /// Batch, row and column stride.
    strides_a: [usize; 3],
    strides_b: [usize; 3],
    strides_out: [usize; 3],
}

impl Batch {
    fn multiply<T: MatmulElement>(
        &self,
        call: &KernelCall<'_>,
        out: &mut [T],
        [a, b]: [&[T]; 2],
        factors: [T::Scale; 2],
    ) -> Result<()> {
        let [m, k] = self.shape_a;
        let n = self.shape_b[1];
        let len = m.saturating_mul(n);
        if len == 0 || self.count == 0 {
            return Ok(());
        }
        let one = |index: usize, out: &mut [T], workspace: &mut [f32], threads: usize| {
            T::multiply(
                MatrixMut::new(out, [m, n], [self.strides_out[1], self.strides_out[2]])?,
                nth_matrix(a, index, self.strides_a, self.shape_a)?,
                nth_matrix(b, index, self.strides_b, self.shape_b)?,
                factors,
                workspace,
                threads,
            )
        };
        let parts = call.threads().min(self.count);
        let work = len.saturating_mul(k).saturating_mul(self.count);
        if parts > 1 && self.strides_out[0] == len && work >= PARALLEL_WORK {
            // Threads that have whole matrices need not meet in between.
            let share = self.count.div_ceil(parts);
            let size = T::workspace([m, k, n], 1).max(1);
            let workspace = call.temporary::<f32>(size.saturating_mul(parts))?;
            return out
                .par_chunks_mut(share.saturating_mul(len))
                .zip(workspace.par_chunks_mut(size))
                .enumerate()
                .try_for_each(|(part, (out, workspace))| {
                    for (index, out) in out.chunks_mut(len).enumerate() {
                        one(part * share + index, out, workspace, 1)?;
                    }
                    Ok(())
                });
        }
        let workspace = call.temporary(T::workspace([m, k, n], call.threads()))?;
        for index in 0..self.count {
            let out = out.get_mut(index.saturating_mul(self.strides_out[0])..);
            one(index, out.unwrap_or(&mut []), workspace, call.threads())?;
        }
        Ok(())
    }
}

/// The strides of a batch of matrices, a matrix or a column, in three dimensions: batch, row, column.
fn strides(sizes: &[usize], dim_order: &[u8]) -> [usize; 3] {
    let mut strides = [0; 3];
    let first = match sizes.len() {
        1 => 1,
        rank => 3usize.saturating_sub(rank),
    };
    let mut stride = 1usize;
    for &dim in dim_order.iter().rev() {
        let dim = usize::from(dim);
        if let Some(at) = strides.get_mut(first + dim) {
            *at = stride;
        }
        stride = stride.saturating_mul(sizes[dim].max(1));
    }
    strides
}

#[inline(always)]
fn nth_matrix<T>(
    data: &[T],
    index: usize,
    strides: [usize; 3],
    shape: [usize; 2],
) -> Result<Matrix<'_, T>> {
    let start = index.saturating_mul(strides[0]);
    let data = data.get(start..).unwrap_or(&[]);
    Matrix::new(data, shape, [strides[1], strides[2]])
}

fn check_types(out: DType, others: [DType; 2]) -> Result<()> {
    for other in others {
        ensure!(
            other == out,
            Operator,
            "elements of types {other} and {out} cannot be in one product"
        );
    }
    Ok(())
}
