//! The products of the `gemm` crate over strided slices, behind a safe function.
#![allow(
    unsafe_code,
    reason = "the crate `gemm` takes raw pointers; `Matrix` and `MatrixMut` check what they reach"
)]

use std::ops::Range;

use gemm::Parallelism;
use rayon::prelude::*;
use thalweg_core::{Complex32, Complex64, Element, Result, ensure};

use super::matrix::{Matrix, MatrixMut, Shape};

/// Types that `gemm` multiplies.
pub(crate) trait Native: Element + num_traits::Zero {}

impl Native for f32 {}
impl Native for f64 {}
impl Native for Complex32 {}
impl Native for Complex64 {}

/// The number of multiplications that is worth waking other threads for.
pub(crate) const PARALLEL_WORK: usize = 1 << 18;

/// A product with so few rows is bound by reading `b`, which should happen once.
const FEW_ROWS: usize = 16;

/// `gemm` takes up to this many elements of `out` as dot products, without packing `a` and `b`.
const DOT_PRODUCTS: usize = 256;

/// `out = keep * out + scale * a b`. Where `keep` is zero, `out` is not read.
pub(crate) fn gemm<T: Native>(
    out: &mut MatrixMut<'_, T>,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    keep: T,
    scale: T,
    threads: usize,
) -> Result<()> {
    check_fit(out.shape, a.shape, b.shape)?;
    let (rows, columns, depth) = (out.shape.rows, out.shape.columns, a.shape.columns);
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let (so, sa, sb) = (
        out.shape.for_pointers(),
        a.shape.for_pointers(),
        b.shape.for_pointers(),
    );
    let target = Target(out.data.as_mut_ptr());
    let part = |columns: Range<usize>, parallelism: Parallelism| {
        let target = &target;
        // SAFETY: `T` is one of the types that `gemm` knows: `Native` says so. The shapes fit
        // (`check_fit`), and all elements that they name lie within the slices (`Shape::new`),
        // those of `out` each at a place of its own, so that neither the threads of `gemm` nor
        // calls for other columns write to the same places. `out` is borrowed mutably, hence
        // overlaps neither `a` nor `b`. Strides are those of existing elements or small, so they
        // fit an `isize`.
        unsafe {
            gemm::gemm::<T>(
                rows,
                columns.len(),
                depth,
                target.0.wrapping_add(columns.start * so.column_stride),
                so.column_stride as isize,
                so.row_stride as isize,
                !keep.is_zero(),
                a.data.as_ptr(),
                sa.column_stride as isize,
                sa.row_stride as isize,
                b.data
                    .as_ptr()
                    .wrapping_add(columns.start * sb.column_stride),
                sb.column_stride as isize,
                sb.row_stride as isize,
                keep,
                scale,
                false,
                false,
                false,
                parallelism,
            );
        }
    };
    if rows > FEW_ROWS {
        let parallelism = match threads {
            0 | 1 => Parallelism::None,
            threads => Parallelism::Rayon(threads),
        };
        part(0..columns, parallelism);
        return Ok(());
    }
    let dot_products = rows > 1 && sa.column_stride == 1 && sb.row_stride == 1;
    let width = if dot_products {
        DOT_PRODUCTS / rows
    } else {
        columns
    };
    let work = rows.saturating_mul(columns).saturating_mul(depth);
    let threads = if work >= PARALLEL_WORK { threads } else { 1 };
    let part = |columns: Range<usize>| part(columns, Parallelism::None);
    for_each_range(columns, width, threads, part);
    Ok(())
}

/// Calls `part` for all columns, at most `width` at a time, on some threads.
fn for_each_range(
    columns: usize,
    width: usize,
    threads: usize,
    part: impl Fn(Range<usize>) + Sync,
) {
    let share = |columns: Range<usize>| {
        let end = columns.end;
        for start in columns.step_by(width) {
            part(start..end.min(start + width));
        }
    };
    if threads > 1 {
        // Whole cache lines to each thread.
        let len = columns.div_ceil(threads).next_multiple_of(64);
        (0..threads)
            .into_par_iter()
            .for_each(|index| share((index * len).min(columns)..((index + 1) * len).min(columns)));
    } else {
        share(0..columns);
    }
}

/// The output of a product, for several threads.
struct Target<T>(*mut T);

// SAFETY: the threads write different elements: see `gemm`.
unsafe impl<T: Send> Sync for Target<T> {}

/// An error unless `a b` has the shape of `out`.
fn check_fit(out: Shape, a: Shape, b: Shape) -> Result<()> {
    ensure!(
        a.columns == b.rows && out.rows == a.rows && out.columns == b.columns,
        Internal,
        "a product of [{}, {}] and [{}, {}] is not [{}, {}]",
        a.rows,
        a.columns,
        b.rows,
        b.columns,
        out.rows,
        out.columns
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_shapes_that_do_not_fit_is_refused() {
        let (a, mut out) = ([0f32; 6], [0f32; 4]);
        let a = Matrix::new(&a, [2, 3], [3, 1]).unwrap();
        let mut out = MatrixMut::new(&mut out, [2, 2], [2, 1]).unwrap();
        assert!(gemm(&mut out, a, a, 0.0, 1.0, 1).is_err());
        assert!(gemm(&mut out, a, a.transposed(), 0.0, 1.0, 1).is_ok());
    }
}
