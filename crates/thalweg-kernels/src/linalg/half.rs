//! Products of f16 and bf16, summed in f32.

use num_traits::Zero;
use rayon::prelude::*;
use thalweg_core::{Result, Scalar, bail, bf16, f16};

use super::gemm::PARALLEL_WORK;
use super::matrix::{Matrix, MatrixMut};
use super::multiply::{MatmulElement, workspace_within};
use crate::dtype::float::Float;

macro_rules! half {
    ($($T:ty)*) => {
        $(impl MatmulElement for $T {
            type Scale = f32;

            fn scaling(value: Scalar) -> Result<f32> {
                Ok(value.to_f64() as f32)
            }

            fn workspace(shape: [usize; 3], threads: usize) -> usize {
                Panels::of(shape, threads).workspace()
            }

            fn multiply(
                out: MatrixMut<'_, $T>,
                a: Matrix<'_, $T>,
                b: Matrix<'_, $T>,
                factors: [f32; 2],
                workspace: &mut [f32],
                threads: usize,
            ) -> Result<()> {
                multiply_halves(out, a, b, factors, workspace, threads)
            }
        })*
    };
}

half!(f16 bf16);

/// The blocks of a product of 16-bit types: `b` is converted to f32 block by block, so that a block
/// is still in the cache when it is multiplied, and sums are kept in f32 for a panel of columns
/// until they are done.
#[derive(Clone, Copy)]
struct Panels {
    shape: [usize; 3],
    /// Columns of a panel.
    width: usize,
    /// Rows of a block of `b`.
    depth: usize,
    /// Parts of the columns for different threads.
    parts: usize,
    threads: usize,
}

impl Panels {
    fn of(shape: [usize; 3], threads: usize) -> Self {
        let [m, k, n] = shape;
        let alone = m != 1 || k.saturating_mul(n) < PARALLEL_WORK;
        Self {
            shape,
            width: n.min(256),
            depth: k.min(256),
            parts: if alone { 1 } else { threads.max(1) },
            threads,
        }
    }

    /// f32 for `a`.
    fn shared(&self) -> usize {
        self.shape[0].saturating_mul(self.shape[1])
    }

    /// f32 for the sums and the block of one part, and for their product.
    fn own(&self) -> usize {
        self.sums()
            .saturating_add(self.width * self.depth)
            .saturating_add(self.product())
    }

    /// f32 for the product of a block, also of one with fewer columns.
    fn product(&self) -> usize {
        workspace_within([self.shape[0], self.depth, self.width], self.threads)
    }

    fn sums(&self) -> usize {
        self.shape[0].saturating_mul(self.width)
    }

    fn workspace(&self) -> usize {
        let own = self.own().saturating_mul(self.parts);
        self.shared().saturating_add(own)
    }
}

fn multiply_halves<T: Float<Compute = f32>>(
    mut out: MatrixMut<'_, T>,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    factors: [f32; 2],
    workspace: &mut [f32],
    threads: usize,
) -> Result<()> {
    let [m, k, n] = [a.rows(), a.columns(), b.columns()];
    if m == 0 || n == 0 {
        return Ok(());
    }
    let panels = Panels::of([m, k, n], threads);
    if workspace.len() < panels.workspace() {
        bail!(Internal, "a product has too little working memory");
    }
    let (wide, own) = workspace.split_at_mut(panels.shared());
    widen_matrix(a, wide);
    let wide = Matrix::new(wide, [m, k], [k, 1])?;
    let strides = [out.row_stride(), out.column_stride()];
    if panels.parts == 1 || strides[1] != 1 {
        let data = out.data();
        return multiply_panels(data, strides, wide, b, factors, own, panels, threads);
    }
    let share = n.div_ceil(panels.parts).next_multiple_of(64);
    out.data()[..n]
        .par_chunks_mut(share)
        .zip(own.par_chunks_mut(panels.own()))
        .enumerate()
        .try_for_each(|(index, (out, own))| {
            let b = b.columns_from(index * share, out.len())?;
            multiply_panels(out, strides, wide, b, factors, own, panels, 1)
        })
}

/// The product of `a`, in f32, and `b`, panel by panel.
fn multiply_panels<T: Float<Compute = f32>>(
    out: &mut [T],
    [stride, step]: [usize; 2],
    a: Matrix<'_, f32>,
    b: Matrix<'_, T>,
    [keep, scale]: [f32; 2],
    workspace: &mut [f32],
    panels: Panels,
    threads: usize,
) -> Result<()> {
    let [m, k, n] = [a.rows(), a.columns(), b.columns()];
    let (sums, rest) = workspace.split_at_mut(panels.sums());
    let (block, product) = rest.split_at_mut(panels.width * panels.depth);
    for first in (0..n).step_by(panels.width) {
        let width = panels.width.min(n - first);
        let row = |i: usize| i * stride + first * step;
        if !keep.is_zero() {
            for (i, sums) in sums.chunks_mut(width).take(m).enumerate() {
                if step == 1 {
                    T::widen_all(&out[row(i)..][..width], sums);
                } else {
                    let elements = out[row(i)..].iter().step_by(step.max(1));
                    sums.iter_mut()
                        .zip(elements)
                        .for_each(|(sum, x)| *sum = x.widen());
                }
            }
        }
        let mut keep = keep;
        // Once even if there is nothing to add: the sums are to be scaled.
        for top in (0..k.max(1)).step_by(panels.depth.max(1)) {
            let depth = panels.depth.min(k - top);
            let part = b.block([top, first], [depth, width])?;
            // The block lies in memory as the matrix does.
            let transposed = part.row_stride() < part.column_stride();
            let strides = if transposed {
                widen_matrix(part.transposed(), block);
                [1, depth]
            } else {
                widen_matrix(part, block);
                [width, 1]
            };
            let block = Matrix::new(block, [depth, width], strides)?;
            let part = a.block([0, top], [m, depth])?;
            let sums = MatrixMut::new(sums, [m, width], [width, 1])?;
            f32::multiply(sums, part, block, [keep, scale], product, threads)?;
            keep = 1.0;
        }
        for (i, sums) in sums.chunks(width).take(m).enumerate() {
            if step == 1 {
                T::narrow_all(sums, &mut out[row(i)..][..width]);
            } else {
                let elements = out[row(i)..].iter_mut().step_by(step.max(1));
                elements.zip(sums).for_each(|(x, sum)| *x = T::narrow(*sum));
            }
        }
    }
    Ok(())
}

/// The elements in f32, row by row.
fn widen_matrix<T: Float<Compute = f32>>(matrix: Matrix<'_, T>, to: &mut [f32]) {
    let columns = matrix.columns();
    if columns == 0 {
        return;
    }
    let step = matrix.column_stride();
    for (i, to) in to.chunks_mut(columns).take(matrix.rows()).enumerate() {
        let row = &matrix.data()[i * matrix.row_stride()..];
        if step == 1 {
            T::widen_all(&row[..columns], to);
        } else {
            for (j, to) in to.iter_mut().enumerate() {
                *to = row[j * step].widen();
            }
        }
    }
}
