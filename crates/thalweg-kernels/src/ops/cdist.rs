//! Distances between the rows of matrices.

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, bail, ensure, identity_order};

use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Float, Real, compute_into, widened};
use crate::layout::Layout;
use crate::layout::broadcast::broadcast_shapes;
use crate::layout::order::{fill_in_order, laid_out};
use crate::layout::walk::Walk;
use crate::operator::pure;
use crate::parallel::for_each_chunk;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::_cdist_forward.out(Tensor x1, Tensor x2, float p, int? compute_mode, *, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { between_two::<T>(call) }),
    )?);
    registry.add(pure(
        "aten::_pdist_forward.out(Tensor self, float p=2., *, Tensor(a!) out) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { within_one::<T>(call) }),
    )?);
    Ok(())
}

/// The distances from each row of the matrices of one batch to each row of those of another. The mode, which
/// allows PyTorch to go through a matrix product at the price of precision, changes nothing here.
fn between_two<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let norm = Norm::of(call.double(2)?)?;
    let ([outer_a @ .., rows_a, len], [outer_b @ .., rows_b, len_b]) = (a.sizes(), b.sizes())
    else {
        bail!(Operator, "{a:?} and {b:?} do not both have rows");
    };
    ensure!(
        len == len_b && a.dtype() == b.dtype(),
        Operator,
        "rows of {a:?} cannot be compared with rows of {b:?}"
    );
    let batch = broadcast_shapes(outer_a, outer_b)?;
    let mut sizes = batch;
    sizes.push(*rows_a)?;
    sizes.push(*rows_b)?;
    let mut out = call.output(4, &sizes)?;
    // Which matrices meet, by their numbers within each batch.
    let matrices = [outer_a, outer_b].map(|outer| Layout::row_major(outer)?.broadcast(&batch));
    let [matrices_a, matrices_b] = matrices;
    let walk = Walk::new(&batch, [&matrices_a?.strides, &matrices_b?.strides])?;
    let a = widened(call, laid_out::<T>(call, a, identity_order(a.rank())?)?)?;
    let b = widened(call, laid_out::<T>(call, b, identity_order(b.rank())?)?)?;
    let (len, rows_a, rows_b) = (*len, *rows_a, *rows_b);
    let work = out.numel().saturating_mul(len);
    let [step_a, step_b] = walk.steps();
    let size = rows_a.saturating_mul(rows_b).max(1);
    fill_in_order::<T>(call, &mut out, identity_order(sizes.len())?, |out| {
        compute_into(call, out, |out| {
            let mut matrices = out.chunks_exact_mut(size);
            for run in walk.runs() {
                for i in 0..walk.run_len() {
                    let Some(out) = matrices.next() else { break };
                    let a = &a[(run.offsets[0] + i * step_a) * rows_a * len..];
                    let b = &b[(run.offsets[1] + i * step_b) * rows_b * len..];
                    for_each_chunk(call.threads(), work, out, rows_b, |row, out| {
                        let a = &a[row * len..][..len];
                        for (other, out) in out.iter_mut().enumerate() {
                            *out = norm.distance(a, &b[other * len..][..len]);
                        }
                        Ok(())
                    })?;
                }
            }
            Ok(())
        })
    })
}

/// The distances from each row of a matrix to each one below it.
fn within_one<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let norm = Norm::of(call.double(1)?)?;
    let &[rows, len] = input.sizes() else {
        bail!(Operator, "{input:?} is not a matrix");
    };
    let pairs = rows.saturating_mul(rows.saturating_sub(1)) / 2;
    let mut out = call.output(2, &Dims::from_slice(&[pairs])?)?;
    let data = widened(call, laid_out::<T>(call, input, identity_order(2)?)?)?;
    compute_into(call, out.data_mut::<T>()?, |out| {
        let row = |row: usize| &data[row * len..][..len];
        let pairs = (0..rows).flat_map(|a| (a + 1..rows).map(move |b| [a, b]));
        for (out, [a, b]) in out.iter_mut().zip(pairs) {
            *out = norm.distance(row(a), row(b));
        }
        Ok(())
    })
}

/// The norm that makes one number of the differences along a row.
#[derive(Clone, Copy)]
enum Norm {
    /// The number of those that are not 0.
    Count,
    Sum,
    Euclid,
    Largest,
    Power(f64),
}

impl Norm {
    fn of(p: f64) -> Result<Self> {
        ensure!(p >= 0.0, Operator, "there is no norm of order {p}");
        Ok(match p {
            0.0 => Self::Count,
            1.0 => Self::Sum,
            2.0 => Self::Euclid,
            f64::INFINITY => Self::Largest,
            p => Self::Power(p),
        })
    }

    fn distance<R: Real>(self, a: &[R], b: &[R]) -> R {
        let (zero, one): (R, R) = (num_traits::Zero::zero(), num_traits::One::one());
        let add = |a: R, b: R| a + b;
        match self {
            Self::Count => {
                // NaN stays NaN.
                let count = |x: R| if x > zero { one } else { x };
                differences(a, b, count, add)
            }
            Self::Sum => differences(a, b, |x| x, add),
            Self::Euclid => differences(a, b, |x| x * x, add).sqrt(),
            Self::Largest => {
                let larger = |a: R, b: R| if a > b || a.is_nan() { a } else { b };
                differences(a, b, |x| x, larger)
            }
            Self::Power(p) => {
                let p = R::of(p);
                differences(a, b, |x| x.powf(p), add).powf(p.recip())
            }
        }
    }
}

/// The reduction of the absolute differences of two rows, each mapped. Eight at a time, so that the
/// compiler can work on them at once.
#[inline(always)]
fn differences<R: Real>(a: &[R], b: &[R], map: impl Fn(R) -> R, join: impl Fn(R, R) -> R) -> R {
    const LANES: usize = 8;
    let mut lanes: [R; LANES] = [num_traits::Zero::zero(); LANES];
    let ((eights_a, rest_a), (eights_b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in eights_a.iter().zip(eights_b) {
        for lane in 0..LANES {
            lanes[lane] = join(lanes[lane], map((a[lane] - b[lane]).abs()));
        }
    }
    for ((lane, a), b) in lanes.iter_mut().zip(rest_a).zip(rest_b) {
        *lane = join(*lane, map((*a - *b).abs()));
    }
    lanes.into_iter().fold(num_traits::Zero::zero(), join)
}

#[cfg(test)]
mod tests {
    use thalweg_core::{Argument, Tensor};

    use super::*;
    use crate::testing::{assert_close, invoke, numbers, out};

    fn between(a: &Tensor, b: &Tensor, p: f64, rank: usize) -> Result<Argument> {
        let arguments = vec![
            a.into(),
            b.into(),
            p.into(),
            Argument::None,
            out(a.dtype(), rank),
        ];
        let results = invoke(register, "aten::_cdist_forward.out", arguments)?;
        Ok(results[4].clone())
    }

    fn within(a: &Tensor, p: f64) -> Result<Argument> {
        let arguments = vec![a.into(), p.into(), out(a.dtype(), 1)];
        let results = invoke(register, "aten::_pdist_forward.out", arguments)?;
        Ok(results[2].clone())
    }

    /// Results of PyTorch.
    #[test]
    fn every_norm_measures_between_rows_and_within_a_matrix() {
        let a = numbers(&[3, 4]);
        let b = numbers(&[2, 4]);
        let b: Vec<f32> = b.data::<f32>().unwrap().iter().map(|x| x + 1.0).collect();
        let b = Tensor::from_slice(&b, &[2, 4]).unwrap();
        let expected: [(f64, [f32; 6], [f32; 3]); 5] = [
            (0.0, [4.0, 4.0, 4.0, 4.0, 1.0, 4.0], [4.0, 4.0, 4.0]),
            (1.0, [4.0, 22.0, 22.0, 4.0, 11.0, 23.0], [22.0, 13.0, 21.0]),
            (
                2.0,
                [2.0, 11.401_754, 11.045_361, 2.0, 11.0, 11.532_563],
                [11.045_361, 10.148_891, 10.535_654],
            ),
            (
                3.0,
                [1.587_401, 9.337_017, 8.802_272, 1.587_401, 11.0, 9.177_545],
                [8.802_272, 10.009_99, 8.391_942],
            ),
            (
                f64::INFINITY,
                [1.0, 7.0, 6.0, 1.0, 11.0, 6.0],
                [6.0, 10.0, 6.0],
            ),
        ];
        for (p, between_rows, within_matrix) in expected {
            assert_close(&between(&a, &b, p, 2).unwrap(), &between_rows);
            assert_close(&within(&a, p).unwrap(), &within_matrix);
        }
    }

    /// Results of PyTorch.
    #[test]
    fn batches_of_matrices_broadcast() {
        let result = between(&numbers(&[2, 1, 1, 2]), &numbers(&[3, 2, 2]), 1.0, 4).unwrap();
        let expected = [
            0.0, 6.0, 11.0, 11.0, 2.0, 11.0, 6.0, 0.0, 11.0, 11.0, 4.0, 11.0,
        ];
        assert_eq!(result.tensor().unwrap().sizes(), [2, 3, 1, 2]);
        assert_close(&result, &expected);
    }

    #[test]
    fn what_is_not_a_number_is_at_no_distance() {
        let mut row = [0.0; 9];
        row[3] = f32::NAN;
        let a = Tensor::from_slice(&row, &[1, 9]).unwrap();
        let b = Tensor::from_slice(&[1f32; 9], &[1, 9]).unwrap();
        for p in [0.0, 1.0, 2.0, 3.0, f64::INFINITY] {
            let result = between(&a, &b, p, 2).unwrap();
            let distance = result.tensor().unwrap().data::<f32>().unwrap()[0];
            assert!(distance.is_nan(), "{p}: {distance}");
        }
    }

    #[test]
    fn empty_matrices_have_empty_or_no_distances() {
        let none = Tensor::from_slice::<f32>(&[], &[0, 4]).unwrap();
        let a = numbers(&[2, 4]);
        let result = between(&none, &a, 2.0, 2).unwrap();
        assert_eq!(result.tensor().unwrap().sizes(), [0, 2]);
        let flat = Tensor::from_slice::<f32>(&[], &[2, 0]).unwrap();
        assert_close(&between(&flat, &flat, 2.0, 2).unwrap(), &[0.0; 4]);
        assert_eq!(
            within(&numbers(&[1, 4]), 2.0)
                .unwrap()
                .tensor()
                .unwrap()
                .sizes(),
            [0]
        );
    }

    #[test]
    fn rows_of_other_lengths_and_negative_orders_are_refused() {
        let message = |result: Result<Argument>| result.unwrap_err().to_string();
        let (a, b) = (numbers(&[2, 4]), numbers(&[2, 3]));
        assert!(message(between(&a, &b, 2.0, 2)).contains("cannot be compared"));
        assert!(message(within(&a, -1.0)).contains("no norm of order -1"));
    }
}
