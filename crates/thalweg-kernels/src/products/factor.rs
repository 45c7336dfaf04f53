//! Products of matrices of one element type.

use num_traits::{WrappingAdd, WrappingMul, Zero};
use rayon::prelude::*;
use thalweg_core::{Complex32, Complex64, Element, Result, Scalar, bail, bf16, f16};

use super::gemm::{Matrix, MatrixMut, Native, PARALLEL_WORK, gemm};
use super::{packed, rows};
use crate::float::Float;

/// An element type that matrices can have to be multiplied.
///
/// Integers are taken by size alone, as unsigned ones: sums and products wrap to the same bits.
pub(crate) trait Factor: Element {
    /// What products are scaled with.
    type Scale: Copy + Zero + Send + Sync;

    /// The number as a scale.
    fn scaling(value: Scalar) -> Result<Self::Scale>;

    /// How many f32 of working memory a product of `[m, k]` and `[k, n]` needs.
    fn workspace(_shape: [usize; 3], _threads: usize) -> usize {
        0
    }

    /// `out = keep * out + scale * a b`. Where `keep` is zero, `out` is not read. `threads` is
    /// the number that `workspace` was asked for.
    fn multiply(
        out: MatrixMut<'_, Self>,
        a: Matrix<'_, Self>,
        b: Matrix<'_, Self>,
        factors: [Self::Scale; 2],
        workspace: &mut [f32],
        threads: usize,
    ) -> Result<()>;
}

/// As `dispatch!`, with integers by size; `$data` then gives elements of that type.
macro_rules! dispatch_factor {
    ($dtype:expr => $T:ident, $body:block) => {
        $crate::dispatch::dispatch!(@table $dtype, $T, $body,
            [F32: f32] [F64: f64] [F16: ::thalweg_core::f16] [BF16: ::thalweg_core::bf16]
            [ComplexF32: ::thalweg_core::Complex32] [ComplexF64: ::thalweg_core::Complex64]
            [I8 U8: u8] [I16 U16: u16] [I32 U32: u32] [I64 U64: u64])
    };
}

pub(crate) use dispatch_factor;

macro_rules! native {
    ($($T:ty, $scale:expr;)*) => {
        $(impl Factor for $T {
            type Scale = $T;

            fn scaling(value: Scalar) -> Result<$T> {
                Ok($scale(value.to_f64()))
            }

            fn multiply(
                out: MatrixMut<'_, $T>,
                a: Matrix<'_, $T>,
                b: Matrix<'_, $T>,
                factors: [$T; 2],
                _: &mut [f32],
                threads: usize,
            ) -> Result<()> {
                multiply_native(out, a, b, factors, threads)
            }
        })*
    };
}

native! {
    f64, |value| value;
    Complex32, |value| Complex32::new(value as f32, 0.0);
    Complex64, |value| Complex64::new(value, 0.0);
}

impl Factor for f32 {
    type Scale = f32;

    fn scaling(value: Scalar) -> Result<f32> {
        Ok(value.to_f64() as f32)
    }

    fn workspace(shape: [usize; 3], threads: usize) -> usize {
        match few_rows(shape) {
            Some(shape) => rows::workspace(shape),
            None => packed::workspace(shape, threads),
        }
    }

    fn multiply(
        out: MatrixMut<'_, f32>,
        a: Matrix<'_, f32>,
        b: Matrix<'_, f32>,
        factors: [f32; 2],
        workspace: &mut [f32],
        threads: usize,
    ) -> Result<()> {
        let shape = [a.rows(), a.columns(), b.columns()];
        if let Some(shape) = few_rows(shape).filter(|&few| workspace.len() >= rows::workspace(few))
        {
            let (out, a, b) = if shape[0] == a.rows() {
                (out, a, b)
            } else {
                (out.transposed(), b.transposed(), a.transposed())
            };
            return rows::multiply(out, a, b, factors, workspace, threads);
        }
        // What lies the other way round is multiplied so.
        if out.row_stride() == 1 && out.column_stride() > 1 {
            let (a, b) = (b.transposed(), a.transposed());
            return Self::multiply(out.transposed(), a, b, factors, workspace, threads);
        }
        if packed::fits(&out, shape, workspace) {
            packed::multiply(out, a, b, factors, workspace, threads);
            return Ok(());
        }
        multiply_native(out, a, b, factors, threads)
    }
}

/// The shape of a product that has few rows, or few columns, which are its rows when both sides change
/// places.
fn few_rows([m, k, n]: [usize; 3]) -> Option<[usize; 3]> {
    (m.min(n) <= rows::MOST_ROWS).then_some([m.min(n), k, m.max(n)])
}

/// As much working memory as any product of f32 needs that has no more rows, depth and columns than this.
pub(crate) fn workspace_within([m, k, n]: [usize; 3], threads: usize) -> usize {
    let few = rows::workspace([rows::MOST_ROWS, k, m.max(n)]);
    few.max(packed::workspace([m, k, n], threads))
}

fn multiply_native<T: Native>(
    mut out: MatrixMut<'_, T>,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    [keep, scale]: [T; 2],
    threads: usize,
) -> Result<()> {
    // A vector on the right as one on the left: products of few rows have a way of their own.
    if out.rows() > 1 && out.columns() == 1 {
        let (a, b) = (b.transposed(), a.transposed());
        return multiply_native(out.transposed(), a, b, [keep, scale], threads);
    }
    gemm(&mut out, a, b, keep, scale, threads)
}

macro_rules! integer {
    ($($T:ty)*) => {
        $(impl Factor for $T {
            type Scale = $T;

            fn scaling(value: Scalar) -> Result<$T> {
                match value {
                    Scalar::Double(value) => bail!(
                        Operator,
                        "a product of integers cannot be scaled by {value:?}, which is not one"
                    ),
                    other => Ok(other.to_i64() as $T),
                }
            }

            fn multiply(
                out: MatrixMut<'_, $T>,
                a: Matrix<'_, $T>,
                b: Matrix<'_, $T>,
                factors: [$T; 2],
                _: &mut [f32],
                _: usize,
            ) -> Result<()> {
                multiply_integers(out, a, b, factors);
                Ok(())
            }
        })*
    };
}

integer!(u8 u16 u32 u64);

fn multiply_integers<T: Element + WrappingAdd + WrappingMul + Zero>(
    mut out: MatrixMut<'_, T>,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    [keep, scale]: [T; 2],
) {
    let [rows, columns, depth] = [out.rows(), out.columns(), a.columns()];
    if columns == 0 {
        return;
    }
    let (stride, step) = (out.row_stride(), out.column_stride());
    for i in 0..rows {
        let row = &mut out.data()[i * stride..];
        for element in row.iter_mut().step_by(step.max(1)).take(columns) {
            *element = element.wrapping_mul(&keep);
        }
        for l in 0..depth {
            let factor = a.at(i, l).wrapping_mul(&scale);
            let b_row = &b.data()[l * b.row_stride()..];
            if step == 1 && b.column_stride() == 1 {
                for (element, b) in row[..columns].iter_mut().zip(b_row) {
                    *element = element.wrapping_add(&factor.wrapping_mul(b));
                }
            } else {
                for j in 0..columns {
                    let product = factor.wrapping_mul(&b_row[j * b.column_stride()]);
                    row[j * step] = row[j * step].wrapping_add(&product);
                }
            }
        }
    }
}

macro_rules! half {
    ($($T:ty)*) => {
        $(impl Factor for $T {
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

/// How a product of 16-bit types is cut: `b` is converted to f32 block by block, so that a block
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
