//! Products of matrices of one element type.

use num_traits::{WrappingAdd, WrappingMul, Zero};
use thalweg_core::{Complex32, Complex64, Element, Result, Scalar, bail};

use super::gemm::{Native, gemm};
use super::matrix::{Matrix, MatrixMut};
use super::{few_rows, packed};

/// An element type of products of matrices.
///
/// Integers are taken by size alone, as unsigned ones: sums and products wrap to the same bits.
pub(crate) trait MatmulElement: Element {
    /// The type of the factors of products.
    type Scale: Copy + Zero + Send + Sync;

    /// The number as a scale.
    fn scaling(value: Scalar) -> Result<Self::Scale>;

    /// The workspace of a product of `[m, k]` and `[k, n]`, in f32.
    fn workspace(_shape: [usize; 3], _threads: usize) -> usize {
        0
    }

    /// `out = keep * out + scale * a b`. Where `keep` is zero, `out` is not read. `threads` is
    /// the number that `workspace` was called with.
    fn multiply(
        out: MatrixMut<'_, Self>,
        a: Matrix<'_, Self>,
        b: Matrix<'_, Self>,
        factors: [Self::Scale; 2],
        workspace: &mut [f32],
        threads: usize,
    ) -> Result<()>;
}

/// `dispatch!` for products, with integers by size.
macro_rules! dispatch_matmul {
    ($dtype:expr => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@table $dtype, $T, $body,
            [F32: f32] [F64: f64] [F16: ::thalweg_core::f16] [BF16: ::thalweg_core::bf16]
            [ComplexF32: ::thalweg_core::Complex32] [ComplexF64: ::thalweg_core::Complex64]
            [I8 U8: u8] [I16 U16: u16] [I32 U32: u32] [I64 U64: u64])
    };
}

pub(crate) use dispatch_matmul;

macro_rules! native {
    ($($T:ty, $scale:expr;)*) => {
        $(impl MatmulElement for $T {
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

impl MatmulElement for f32 {
    type Scale = f32;

    fn scaling(value: Scalar) -> Result<f32> {
        Ok(value.to_f64() as f32)
    }

    fn workspace(shape: [usize; 3], threads: usize) -> usize {
        match with_few_rows(shape) {
            Some(shape) => few_rows::workspace(shape),
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
        if let Some(shape) =
            with_few_rows(shape).filter(|&few| workspace.len() >= few_rows::workspace(few))
        {
            let (out, a, b) = if shape[0] == a.rows() {
                (out, a, b)
            } else {
                (out.transposed(), b.transposed(), a.transposed())
            };
            return few_rows::multiply(out, a, b, factors, workspace, threads);
        }
        // A column-major result is the transposed product.
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
fn with_few_rows([m, k, n]: [usize; 3]) -> Option<[usize; 3]> {
    (m.min(n) <= few_rows::MAX_ROWS).then_some([m.min(n), k, m.max(n)])
}

/// The workspace of any product of f32 that has no more rows, depth and columns than this.
pub(crate) fn workspace_within([m, k, n]: [usize; 3], threads: usize) -> usize {
    let few = few_rows::workspace([few_rows::MAX_ROWS, k, m.max(n)]);
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
        $(impl MatmulElement for $T {
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
