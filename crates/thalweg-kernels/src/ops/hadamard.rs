//! The Hadamard transform of rows, of which the length is a power of two, or 28 times one.

use thalweg_core::{KernelCall, KernelRegistry, Result, ensure, identity_order};

use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Float, Real, compute_into};
use crate::layout::order::{fill_in_order, laid_out};
use crate::operator::pure;
use crate::parallel::for_each_chunk;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "llama::fast_hadamard_transform.out(Tensor mat, *, Tensor(a!) out) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { transform::<T>(call) }),
    )?);
    Ok(())
}

fn transform<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let order = identity_order(input.rank())?;
    let data = laid_out::<T>(call, input, order)?;
    let mut out = call.output(1, input.sizes())?;
    // A number without dimensions is a row of one.
    let len = input.sizes().last().copied().unwrap_or(1);
    let (rows, power) = if len % ORDER == 0 {
        (ORDER, len / ORDER)
    } else {
        (1, len)
    };
    ensure!(
        power.is_power_of_two() || len == 0,
        Operator,
        "rows of {len} elements have no fast Hadamard transform"
    );
    let work = data
        .len()
        .saturating_mul(power.max(2).ilog2() as usize + rows);
    fill_in_order::<T>(call, &mut out, order, |out| {
        compute_into(call, out, |out| {
            T::widen_all(data, out);
            for_each_chunk(call.threads(), work, out, len, |_, row| {
                let scale = T::Compute::of((power as f64).sqrt().recip());
                for part in row.chunks_exact_mut(power) {
                    powers_of_two(part);
                    part.iter_mut().for_each(|x| *x *= scale);
                }
                if rows == ORDER {
                    of_order_28(row, power);
                }
                Ok(())
            })
        })
    })
}

/// The transform of a row whose length is a power of two, not scaled.
fn powers_of_two<R: Real>(row: &mut [R]) {
    let mut step = 1;
    while step < row.len() {
        for pair in row.chunks_exact_mut(2 * step) {
            let (first, second) = pair.split_at_mut(step);
            for (a, b) in first.iter_mut().zip(second) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        step *= 2;
    }
}

/// The order of upstream's other Hadamard matrix.
const ORDER: usize = 28;

/// The first rows of the circulant matrices that it is made of: bit `i` is set where element `i` is
/// 1, not -1.
const CIRCULANTS: [u8; 4] = [0b000_0001, 0b100_0011, 0b010_0101, 0b001_1001];

/// Williamson's array of them: which, and with which sign.
const BLOCKS: [[(usize, bool); 4]; 4] = [
    [(0, true), (1, true), (2, true), (3, true)],
    [(1, false), (0, true), (3, false), (2, true)],
    [(2, false), (3, true), (0, true), (1, false)],
    [(3, false), (2, false), (1, true), (0, true)],
];

/// Multiplies the matrix of order 28, not scaled, with columns of as many elements, `stride` apart.
fn of_order_28<R: Real>(data: &mut [R], stride: usize) {
    const LEN: usize = ORDER / 4;
    for column in 0..stride {
        let mut product: [R; ORDER] = [num_traits::Zero::zero(); ORDER];
        for (row, sum) in product.iter_mut().enumerate() {
            for at in 0..ORDER {
                let (circulant, sign) = BLOCKS[row / LEN][at / LEN];
                let bit = (at % LEN + LEN - row % LEN) % LEN;
                let is_one = CIRCULANTS[circulant] >> bit & 1 == 1;
                let value = data[at * stride + column];
                *sum += if is_one == sign { value } else { -value };
            }
        }
        for (at, value) in product.into_iter().enumerate() {
            data[at * stride + column] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use thalweg_core::Tensor;

    use super::*;

    fn transformed(data: &[f32], sizes: &[usize]) -> Result<Vec<f32>> {
        let mut registry = KernelRegistry::new();
        register(&mut registry).unwrap();
        let kernel = registry.get("llama::fast_hadamard_transform.out").unwrap();
        let x = Tensor::from_slice(data, sizes).unwrap();
        let out = Tensor::zeros(x.dtype(), &vec![0; sizes.len()]).unwrap();
        let results = kernel.invoke(vec![x.into(), out.into()])?;
        Ok(results[1].tensor()?.data()?.to_vec())
    }

    #[test]
    fn each_row_is_transformed_and_keeps_its_length() {
        let rows = [1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 1.0, 0.0];
        let expected = [5.0, -1.0, -2.0, 0.0, 0.5, 0.5, -0.5, -0.5];
        assert_eq!(transformed(&rows, &[2, 4]).unwrap(), expected);
        assert_eq!(transformed(&[3.0], &[1]).unwrap(), [3.0]);
    }

    #[test]
    fn rows_of_28_elements_are_multiplied_with_upstreams_matrix() {
        let row: Vec<f32> = (0..28u8).map(f32::from).collect();
        let expected = [
            -84.0, -78.0, -72.0, -66.0, -60.0, -54.0, -48.0, -56.0, -46.0, -64.0, -54.0, -44.0,
            -62.0, -52.0, -70.0, -60.0, -50.0, -68.0, -86.0, -76.0, -66.0, -126.0, -144.0, -134.0,
            -124.0, -114.0, -104.0, -122.0,
        ];
        assert_eq!(transformed(&row, &[28]).unwrap(), expected);
    }

    #[test]
    fn the_matrix_of_order_28_is_a_hadamard_matrix() {
        let identity: Vec<f32> = (0..ORDER * ORDER)
            .map(|at| f32::from(at / ORDER == at % ORDER))
            .collect();
        let matrix = transformed(&identity, &[ORDER, ORDER]).unwrap();
        let columns: Vec<_> = matrix.chunks_exact(ORDER).collect();
        for (i, a) in columns.iter().enumerate() {
            for (j, b) in columns.iter().enumerate() {
                let product: f32 = a.iter().zip(*b).map(|(a, b)| a * b).sum();
                assert_eq!(product, if i == j { 28.0 } else { 0.0 });
            }
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        let message = transformed(&[0.0; 12], &[12]).unwrap_err().to_string();
        assert!(message.contains("rows of 12 elements"), "{message}");
        assert_eq!(transformed(&[], &[3, 0]).unwrap(), [0f32; 0]);
    }
}
