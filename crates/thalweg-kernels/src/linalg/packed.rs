//! Products of f32 matrices by [microkernels](super::microkernel), and packing of their right side: once
//! for a weight, or panel by panel while a product runs.

use rayon::prelude::*;
use thalweg_core::{Result, bail};

use super::gemm::PARALLEL_WORK;
use super::matrix::{Matrix, MatrixMut};
use super::operands::{Addend, Addressing, Epilogue, Lhs};
use crate::simd::Isa;

/// A matrix that is packed as the right side of products, for as long as it lives.
pub(crate) struct PackedRhs {
    isa: Isa,
    /// The panels, on boundaries of cache lines.
    lines: Vec<Line>,
    depth: usize,
    columns: usize,
}

/// A cache line.
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
struct Line([f32; 16]);

impl PackedRhs {
    pub(crate) fn new(matrix: Matrix<'_, f32>) -> Self {
        Self::for_isa(Isa::best(), matrix)
    }

    pub(crate) fn for_isa(isa: Isa, matrix: Matrix<'_, f32>) -> Self {
        let (depth, columns) = (matrix.rows(), matrix.columns());
        let panel = isa.width() * depth;
        let len = columns.div_ceil(isa.width()) * panel;
        let mut lines = vec![Line([0.0; 16]); len.div_ceil(16)];
        let data: &mut [f32] = bytemuck::cast_slice_mut(&mut lines);
        for (index, to) in data[..len].chunks_exact_mut(panel.max(1)).enumerate() {
            pack_panel(isa, matrix, index, to);
        }
        Self {
            isa,
            lines,
            depth,
            columns,
        }
    }

    /// Rows of the matrix.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Columns of the matrix.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// `out = epilogue(left self)`, where rows of `out` are `stride` apart.
    pub(crate) fn multiply(
        &self,
        out: &mut [f32],
        stride: usize,
        left: Matrix<'_, f32>,
        epilogue: Epilogue<'_>,
        threads: usize,
    ) -> Result<()> {
        self.multiply_rows(out, stride, side(left), epilogue, threads)
    }

    /// [`multiply`](Self::multiply) with a left side that need not be a matrix.
    pub(crate) fn multiply_rows(
        &self,
        out: &mut [f32],
        stride: usize,
        left: Lhs<'_>,
        epilogue: Epilogue<'_>,
        threads: usize,
    ) -> Result<()> {
        if left.depth != self.depth {
            bail!(
                Internal,
                "a packed matrix of {} rows is multiplied by one of {} columns",
                self.depth,
                left.depth
            );
        }
        let right = bytemuck::cast_slice(&self.lines);
        let columns = self.columns;
        self.isa
            .multiply(out, stride, left, right, columns, epilogue, threads);
        Ok(())
    }
}

/// The workspace of [`multiply`] in f32: a panel for each thread.
pub(super) fn workspace([_, k, _]: [usize; 3], threads: usize) -> usize {
    let panel = Isa::best().width().saturating_mul(k);
    panel.saturating_mul(threads.max(1))
}

/// The fewest rows for which packing the right side pays.
const FEWEST_ROWS: usize = 4;

/// Returns true if [`multiply`] can compute a product.
pub(super) fn fits(out: &MatrixMut<'_, f32>, shape: [usize; 3], workspace: &[f32]) -> bool {
    let [m, k, _] = shape;
    m >= FEWEST_ROWS
        && k > 0
        && out.column_stride() == 1
        && workspace.len() >= self::workspace(shape, 1)
}

/// `out = keep * out + scale * a b`, for what [`fits`].
pub(super) fn multiply(
    mut out: MatrixMut<'_, f32>,
    a: Matrix<'_, f32>,
    b: Matrix<'_, f32>,
    [keep, scale]: [f32; 2],
    workspace: &mut [f32],
    threads: usize,
) {
    multiply_for(
        Isa::best(),
        &mut out,
        a,
        b,
        [keep, scale],
        workspace,
        threads,
    );
}

pub(super) fn multiply_for(
    isa: Isa,
    out: &mut MatrixMut<'_, f32>,
    a: Matrix<'_, f32>,
    b: Matrix<'_, f32>,
    [keep, scale]: [f32; 2],
    workspace: &mut [f32],
    threads: usize,
) {
    let (m, k, n) = (a.rows(), a.columns(), b.columns());
    let (width, stride) = (isa.width(), out.row_stride());
    let add = if keep == 0.0 {
        Addend::Nothing
    } else {
        Addend::Output(keep)
    };
    let epilogue = Epilogue::new(scale, add);
    let len = width * k;
    let panels = n.div_ceil(width);
    let left = side(a);
    let data = out.data();
    let together = (workspace.len() / len).min(panels).max(1);
    let work = m.saturating_mul(k).saturating_mul(n);
    for first in (0..panels).step_by(together) {
        let count = together.min(panels - first);
        let right = &mut workspace[..count * len];
        if threads > 1 && count > 1 && work >= PARALLEL_WORK {
            let panels = right.par_chunks_mut(len).enumerate();
            panels.for_each(|(index, to)| pack_panel(isa, b, first + index, to));
        } else {
            let panels = right.chunks_mut(len).enumerate();
            panels.for_each(|(index, to)| pack_panel(isa, b, first + index, to));
        }
        let columns = (n - first * width).min(count * width);
        let out = &mut data[first * width..];
        isa.multiply(out, stride, left, right, columns, epilogue, threads);
    }
}

fn side(matrix: Matrix<'_, f32>) -> Lhs<'_> {
    Lhs {
        data: matrix.data(),
        rows: matrix.rows(),
        depth: matrix.columns(),
        addressing: Addressing::Strided([matrix.row_stride(), matrix.column_stride()]),
    }
}

/// The panel with this number, filled up with zeros.
fn pack_panel(isa: Isa, matrix: Matrix<'_, f32>, index: usize, to: &mut [f32]) {
    let width = isa.width();
    let first = index * width;
    let columns = matrix.columns().saturating_sub(first).min(width);
    let depth = matrix.rows();
    if columns == 0 || depth == 0 {
        return;
    }
    let (row_stride, column_stride) = (matrix.row_stride(), matrix.column_stride());
    let from = &matrix.data()[first * column_stride..];
    if columns < width {
        to.fill(0.0);
    }
    if column_stride == 1 {
        for (row, to) in to.chunks_exact_mut(width).enumerate() {
            to[..columns].copy_from_slice(&from[row * row_stride..][..columns]);
        }
        return;
    }
    if row_stride != 1 {
        for (row, to) in to.chunks_exact_mut(width).enumerate() {
            for (column, to) in to[..columns].iter_mut().enumerate() {
                *to = from[row * row_stride + column * column_stride];
            }
        }
        return;
    }
    // Columns are contiguous: squares of them are turned, so that both sides are in the cache.
    const SQUARE: usize = 8;
    let whole = depth - depth % SQUARE;
    let mut column = 0;
    while column < columns {
        let side = SQUARE.min(columns - column);
        for row in (0..whole).step_by(SQUARE) {
            if side == SQUARE {
                let mut square = [[0f32; SQUARE]; SQUARE];
                for (j, line) in square.iter_mut().enumerate() {
                    line.copy_from_slice(&from[(column + j) * column_stride + row..][..SQUARE]);
                }
                for i in 0..SQUARE {
                    let to = &mut to[(row + i) * width + column..][..SQUARE];
                    to.copy_from_slice(&std::array::from_fn::<f32, SQUARE, _>(|j| square[j][i]));
                }
            } else {
                for j in 0..side {
                    let from = &from[(column + j) * column_stride + row..][..SQUARE];
                    for (i, from) in from.iter().enumerate() {
                        to[(row + i) * width + column + j] = *from;
                    }
                }
            }
        }
        for row in whole..depth {
            for j in 0..side {
                to[row * width + column + j] = from[(column + j) * column_stride + row];
            }
        }
        column += side;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::operands::Scale;
    use super::*;
    use crate::testing::random_cases;

    /// In f64, element by element.
    fn reference(a: Matrix<'_, f32>, b: Matrix<'_, f32>, i: usize, j: usize) -> [f64; 2] {
        let products = (0..a.columns()).map(|l| f64::from(a.at(i, l)) * f64::from(b.at(l, j)));
        products.fold([0.0; 2], |[sum, size], product| {
            [sum + product, size + product.abs()]
        })
    }

    fn numbers(len: usize, seed: usize) -> Vec<f32> {
        (0..len)
            .map(|i| ((i * 7919 + seed * 104_729) % 1999) as f32 / 1000.0 - 1.0)
            .collect()
    }

    proptest! {
        #![proptest_config(random_cases(64))]

        #[test]
        fn packed_products_are_those_of_the_definition_on_every_machine(
            m in 1usize..20,
            k in 0usize..40,
            n in 1usize..80,
            deep in prop::bool::weighted(0.2),
            turned in any::<[bool; 2]>(),
            add in 0usize..4,
            threads in 1usize..3,
            scale in prop::sample::select(vec![1f32, -0.5]),
        ) {
            let k = if deep { k * 40 } else { k };
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let strides = |turned: bool, [rows, columns]: [usize; 2]| if turned { [1, rows] } else { [columns, 1] };
            let a = Matrix::new(&a, [m, k], strides(turned[0], [m, k])).unwrap();
            let b = Matrix::new(&b, [k, n], strides(turned[1], [k, n])).unwrap();
            let (stride, added) = (n + 3, numbers(m.max(n), 3));
            let before = numbers(m * stride, 4);
            for isa in Isa::all() {
                let packed = PackedRhs::for_isa(isa, b);
                let mut out = before.clone();
                let add_to = [Addend::Nothing, Addend::Columns(&added), Addend::Rows(&added), Addend::Output(0.5)][add];
                let epilogue = Epilogue::new(scale, add_to);
                packed.multiply(&mut out, stride, a, epilogue, threads).unwrap();
                for i in 0..m {
                    for j in 0..stride {
                        let there = before[i * stride + j];
                        if j >= n {
                            prop_assert_eq!(out[i * stride + j], there);
                            continue;
                        }
                        let [sum, size] = reference(a, b, i, j);
                        let more = [0.0, added[j], added[i], 0.5 * there][add];
                        let expected = f64::from(scale) * sum + f64::from(more);
                        let error = (f64::from(out[i * stride + j]) - expected).abs();
                        let bound = (size + 2.0) * (k as f64 + 4.0) * f64::from(f32::EPSILON);
                        prop_assert!(error <= bound, "{isa:?} [{i}, {j}]: {error}");
                    }
                }
                // The same bits, whether it was packed before or while the product runs.
                if k > 0 && matches!(epilogue.add, Addend::Nothing) {
                    let mut other = before.clone();
                    let mut out_matrix = MatrixMut::new(&mut other, [m, n], [stride, 1]).unwrap();
                    let mut panels = vec![f32::NAN; isa.width() * k * threads];
                    multiply_for(isa, &mut out_matrix, a, b, [0.0, scale], &mut panels, threads);
                    prop_assert_eq!(&out, &other);
                }
            }
        }
    }

    #[test]
    fn rows_have_scales_and_all_have_limits_which_hold_for_whole_sums() {
        // Two blocks of depth, and more rows and columns than a tile has.
        let (m, k, n) = (13, 700, 77);
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        let (scales, added) = (numbers(m, 3), numbers(m, 4));
        let a = Matrix::new(&a, [m, k], [k, 1]).unwrap();
        let b = Matrix::new(&b, [k, n], [n, 1]).unwrap();
        for isa in Isa::all() {
            let packed = PackedRhs::for_isa(isa, b);
            let mut out = vec![f32::NAN; m * n];
            let epilogue = Epilogue {
                scale: Scale::Rows(&scales),
                add: Addend::Rows(&added),
                limits: Some([-0.5, 1.5]),
            };
            packed.multiply(&mut out, n, a, epilogue, 2).unwrap();
            let mut within = 0;
            for (index, &found) in out.iter().enumerate() {
                let (row, column) = (index / n, index % n);
                let [sum, size] = reference(a, b, row, column);
                let sum = f64::from(scales[row]) * sum + f64::from(added[row]);
                let expected = sum.clamp(-0.5, 1.5);
                within += usize::from(sum == expected);
                let bound = (size + 2.0) * (k as f64 + 4.0) * f64::from(f32::EPSILON);
                assert!((f64::from(found) - expected).abs() <= bound, "{isa:?}");
            }
            assert!(within > 0 && within < m * n, "limits matter for some alone");
        }
    }

    #[test]
    fn what_is_not_a_number_has_no_limits() {
        let b = numbers(40, 2);
        let b = Matrix::new(&b, [1, 40], [40, 1]).unwrap();
        let a = Matrix::new(&[f32::NAN, 1e9], [2, 1], [1, 1]).unwrap();
        for isa in Isa::all() {
            let mut out = vec![0.0; 2 * 40];
            let epilogue = Epilogue {
                limits: Some([0.0, 6.0]),
                ..Epilogue::new(1.0, Addend::Nothing)
            };
            let packed = PackedRhs::for_isa(isa, b);
            packed.multiply(&mut out, 40, a, epilogue, 1).unwrap();
            assert!(out[..40].iter().all(|x| x.is_nan()), "{isa:?}");
            assert!(out[40..].iter().all(|&x| x == 0.0 || x == 6.0), "{isa:?}");
        }
    }

    #[test]
    fn what_is_not_a_number_stays_in_its_row_and_column() {
        let mut a = numbers(9 * 20, 1);
        a[3 * 20 + 5] = f32::NAN;
        let mut b = numbers(20 * 40, 2);
        b[7 * 40 + 33] = f32::INFINITY;
        let a = Matrix::new(&a, [9, 20], [20, 1]).unwrap();
        let b = Matrix::new(&b, [20, 40], [40, 1]).unwrap();
        for isa in Isa::all() {
            let mut out = vec![f32::NAN; 9 * 40];
            let epilogue = Epilogue::new(1.0, Addend::Nothing);
            let packed = PackedRhs::for_isa(isa, b);
            packed.multiply(&mut out, 40, a, epilogue, 1).unwrap();
            for (index, sum) in out.iter().enumerate() {
                let (row, column) = (index / 40, index % 40);
                assert_eq!(sum.is_nan(), row == 3, "{isa:?}");
                assert_eq!(sum.is_infinite(), row != 3 && column == 33, "{isa:?}");
            }
        }
    }
}
