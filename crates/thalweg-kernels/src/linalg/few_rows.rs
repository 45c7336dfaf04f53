//! Products of f32 with few rows. Reading the right side is most of their work, so it is read once,
//! where it lies; packing would read it a second time.

use rayon::prelude::*;
use thalweg_core::{Result, ensure};

use super::gemm::PARALLEL_WORK;
use super::matrix::{Matrix, MatrixMut};
use crate::simd::vectorized;

/// The most rows. Products of more are faster packed.
pub(super) const MAX_ROWS: usize = 3;

/// Columns that are computed together: their sums, and four rows of the right side, stay in the cache.
const WIDTH: usize = 1024;

/// The workspace of [`multiply`] in f32, for a product of `[m, k]` and `[k, n]`.
pub(super) fn workspace([m, k, n]: [usize; 3]) -> usize {
    m.saturating_mul(k.saturating_add(n))
}

/// `out = keep * out + scale * a b`. Where `keep` is zero, `out` is not read.
pub(super) fn multiply(
    mut out: MatrixMut<'_, f32>,
    a: Matrix<'_, f32>,
    b: Matrix<'_, f32>,
    [keep, scale]: [f32; 2],
    space: &mut [f32],
    threads: usize,
) -> Result<()> {
    let [m, k, n] = [a.rows(), a.columns(), b.columns()];
    ensure!(
        b.rows() == k
            && out.rows() == m
            && out.columns() == n
            && space.len() >= workspace([m, k, n]),
        Internal,
        "a product of [{m}, {k}] and [{}, {n}] into [{}, {}], with {} elements of working memory",
        b.rows(),
        out.rows(),
        out.columns(),
        space.len()
    );
    if m == 0 || n == 0 {
        return Ok(());
    }
    let (left, sums) = space.split_at_mut(m * k);
    for (i, row) in left.chunks_exact_mut(k.max(1)).enumerate() {
        for (l, to) in row.iter_mut().enumerate() {
            *to = a.at(i, l);
        }
    }
    let left = Rows {
        data: left,
        depth: k,
    };
    let sums = &mut sums[..m * n];
    let work = m.saturating_mul(k).saturating_mul(n);
    let is_shared = threads > 1 && work >= PARALLEL_WORK;
    let width = if is_shared {
        n.div_ceil(threads).next_multiple_of(16).min(WIDTH)
    } else {
        WIDTH
    };
    // Block by block, and in each the sums of all rows.
    let part =
        |index: usize, sums: &mut [f32]| left.multiply(b, index * width, sums, sums.len() / m);
    if is_shared {
        let blocks = sums.par_chunks_mut(m * width).enumerate();
        blocks.for_each(|(index, sums)| part(index, sums));
    } else {
        let blocks = sums.chunks_mut(m * width).enumerate();
        blocks.for_each(|(index, sums)| part(index, sums));
    }
    let (stride, step) = (out.row_stride(), out.column_stride());
    for (index, sums) in sums.chunks(m * width).enumerate() {
        for (i, sums) in sums.chunks_exact(sums.len() / m).enumerate() {
            let out = &mut out.data()[i * stride + index * width * step..];
            for (out, sum) in out.iter_mut().step_by(step.max(1)).zip(sums) {
                *out = if keep == 0.0 {
                    scale * sum
                } else {
                    keep * *out + scale * sum
                };
            }
        }
    }
    Ok(())
}

/// The left side, row by row.
struct Rows<'a> {
    data: &'a [f32],
    depth: usize,
}

impl Rows<'_> {
    fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.depth..][..self.depth]
    }

    /// Sums for `count` columns from `first` on, those of a row together.
    fn multiply(&self, b: Matrix<'_, f32>, first: usize, sums: &mut [f32], count: usize) {
        if self.depth == 0 {
            // The right side has no elements, so no column begins anywhere in it.
            sums.fill(0.0);
            return;
        }
        let (stride, step) = (b.row_stride(), b.column_stride());
        if stride == 1 && (step != 1 || count == 1) {
            vectorized(
                #[inline(always)]
                || {
                    for j in 0..count {
                        let column = &b.data()[(first + j) * step..];
                        for (i, sums) in sums.chunks_exact_mut(count).enumerate() {
                            sums[j] = dot(self.row(i), column);
                        }
                    }
                },
            );
        } else if step == 1 {
            sums.fill(0.0);
            vectorized(
                #[inline(always)]
                || self.add_rows(&b.data()[first..], stride, sums, count),
            );
        } else {
            for (i, sums) in sums.chunks_exact_mut(count).enumerate() {
                for (j, sum) in sums.iter_mut().enumerate() {
                    let row = self.row(i).iter().enumerate();
                    *sum = row.map(|(l, x)| x * b.at(l, first + j)).sum();
                }
            }
        }
    }

    /// Adds multiples of rows that are `stride` apart, four at a time.
    #[inline(always)]
    fn add_rows(&self, right: &[f32], stride: usize, sums: &mut [f32], count: usize) {
        const TOGETHER: usize = 4;
        let row = |l: usize| &right[l * stride..][..count];
        let whole = self.depth - self.depth % TOGETHER;
        for l in (0..whole).step_by(TOGETHER) {
            let [b0, b1, b2, b3] = std::array::from_fn(|at| row(l + at));
            for (i, sums) in sums.chunks_exact_mut(count).enumerate() {
                let factors = &self.row(i)[l..l + TOGETHER];
                let right = b0.iter().zip(b1).zip(b2.iter().zip(b3));
                for (sum, ((b0, b1), (b2, b3))) in sums.iter_mut().zip(right) {
                    *sum +=
                        (factors[0] * b0 + factors[1] * b1) + (factors[2] * b2 + factors[3] * b3);
                }
            }
        }
        for l in whole..self.depth {
            for (i, sums) in sums.chunks_exact_mut(count).enumerate() {
                let factor = self.row(i)[l];
                for (sum, b) in sums.iter_mut().zip(row(l)) {
                    *sum += factor * b;
                }
            }
        }
    }
}

/// The sum of products of `a` and as many elements of `b`.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 32;
    let b = &b[..a.len()];
    let ((groups_a, rest_a), (groups_b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let rest = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    if groups_a.is_empty() {
        return rest;
    }
    let mut sums = [0.0; LANES];
    for (a, b) in groups_a.iter().zip(groups_b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0] + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::random_cases;

    fn numbers(len: usize, seed: usize) -> Vec<f32> {
        (0..len)
            .map(|i| ((i * 7919 + seed * 104_729) % 1999) as f32 / 1000.0 - 1.0)
            .collect()
    }

    proptest! {
        #![proptest_config(random_cases(200))]

        #[test]
        fn products_of_few_rows_are_those_of_the_definition(
            m in 1usize..=MAX_ROWS,
            k in prop_oneof![0usize..40, Just(700)],
            n in prop_oneof![1usize..40, Just(WIDTH + 5)],
            order in [0usize..3, 0..3, 0..2],
            keep in prop::sample::select(vec![0f32, 1.0, -0.5]),
            scale in prop::sample::select(vec![1f32, 2.0]),
            threads in 1usize..4,
        ) {
            // Row by row, column by column, or with gaps between all elements.
            let strides = |order: usize, [rows, columns]: [usize; 2]| {
                [[columns, 1], [1, rows], [2 * columns, 2]][order]
            };
            let (a, b) = (numbers(2 * m * k, 1), numbers(2 * k * n, 2));
            let a = Matrix::new(&a, [m, k], strides(order[0], [m, k])).unwrap();
            let b = Matrix::new(&b, [k, n], strides(order[1], [k, n])).unwrap();
            let before = numbers(m * n, 3);
            let mut data = before.clone();
            if keep == 0.0 {
                data.fill(f32::NAN);
            }
            let [stride, step] = strides(order[2], [m, n]);
            let out = MatrixMut::new(&mut data, [m, n], [stride, step]).unwrap();
            let mut space = vec![f32::NAN; workspace([m, k, n])];
            multiply(out, a, b, [keep, scale], &mut space, threads).unwrap();
            for i in 0..m {
                for j in 0..n {
                    let at = i * stride + j * step;
                    let terms = (0..k).map(|l| f64::from(a.at(i, l)) * f64::from(b.at(l, j)));
                    let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
                    let expected = f64::from(keep) * f64::from(before[at]) + f64::from(scale) * sum;
                    let error = (f64::from(data[at]) - expected).abs();
                    let bound = (2.0 * size + 2.0) * (k as f64 + 4.0) * f64::from(f32::EPSILON);
                    prop_assert!(error <= bound, "[{i}, {j}]: {error}");
                }
            }
        }
    }

    #[test]
    fn a_product_without_inner_elements_is_what_is_kept() {
        // More columns than are computed together: the later ones begin behind an empty right side.
        for n in [1, WIDTH, WIDTH + 5, 3 * WIDTH + 1] {
            for (m, strides, threads) in [
                (1, [n, 1], 1),
                (3, [n, 1], 2),
                (2, [1, 0], 1),
                (2, [1, 1], 3),
            ] {
                let a = Matrix::new(&[], [m, 0], [0, 1]).unwrap();
                let b = Matrix::new(&[], [0, n], strides).unwrap();
                let mut data = numbers(m * n, 1);
                let expected: Vec<f32> = data.iter().map(|x| -0.5 * x).collect();
                let out = MatrixMut::new(&mut data, [m, n], [n, 1]).unwrap();
                let mut space = vec![f32::NAN; workspace([m, 0, n])];
                multiply(out, a, b, [-0.5, 2.0], &mut space, threads).unwrap();
                assert_eq!(data, expected);
            }
        }
    }

    #[test]
    fn what_is_not_a_number_stays_in_its_row_and_column() {
        let (mut a, mut b) = (numbers(3 * 70, 1), numbers(70 * 40, 2));
        a[70 + 5] = f32::NAN;
        b[7 * 40 + 33] = f32::INFINITY;
        let a = Matrix::new(&a, [3, 70], [70, 1]).unwrap();
        // The same right side by rows and by columns.
        let turned: Vec<f32> = (0..70 * 40).map(|at| b[at % 70 * 40 + at / 70]).collect();
        for (b, strides) in [(&b, [40, 1]), (&turned, [1, 70])] {
            let b = Matrix::new(b, [70, 40], strides).unwrap();
            let mut data = vec![f32::NAN; 3 * 40];
            let out = MatrixMut::new(&mut data, [3, 40], [40, 1]).unwrap();
            let mut space = vec![0.0; workspace([3, 70, 40])];
            multiply(out, a, b, [0.0, 1.0], &mut space, 1).unwrap();
            for (at, sum) in data.iter().enumerate() {
                assert_eq!(sum.is_nan(), at / 40 == 1);
                assert_eq!(sum.is_infinite(), at / 40 != 1 && at % 40 == 33);
            }
        }
    }

    #[test]
    fn too_little_working_memory_is_refused() {
        let (a, b, mut out) = ([1f32; 2], [1f32; 4], [0f32; 2]);
        let a = Matrix::new(&a, [1, 2], [2, 1]).unwrap();
        let b = Matrix::new(&b, [2, 2], [2, 1]).unwrap();
        let out = MatrixMut::new(&mut out, [1, 2], [2, 1]).unwrap();
        assert!(multiply(out, a, b, [0.0, 1.0], &mut [0.0; 3], 1).is_err());
    }
}
