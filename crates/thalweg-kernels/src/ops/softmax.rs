//! Softmax and its logarithm.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, ensure, f16};

use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Real, compute_into, widened};
use crate::layout::dims::wrap_dim;
use crate::layout::order::{around, laid_out};
use crate::operator::pure;
use crate::parallel::for_each_chunk;
use crate::simd::vectorized;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| softmax(call, Kind::Plain),
    )?);
    registry.add(pure(
        "aten::_log_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| softmax(call, Kind::Logarithm),
    )?);
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Logarithm,
}

fn softmax(call: &KernelCall<'_>, kind: Kind) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = wrap_dim(call.int(1)?, input.rank())?;
    let half_to_float = call.bool(2)? && input.dtype() == DType::F16;
    let expected = if half_to_float {
        DType::F32
    } else {
        input.dtype()
    };
    let mut out = call.output(3, input.sizes())?;
    ensure!(
        out.dtype() == expected,
        Operator,
        "the softmax of a tensor of {} is not one of {}",
        input.dtype(),
        out.dtype()
    );
    // The dimension as it lies in the output's memory; the input is brought to that order.
    let order = out.dim_order();
    let shape = around(input.sizes(), order, dim);
    if half_to_float {
        let data = widened(call, laid_out::<f16>(call, input, order)?)?;
        return normalize(kind, call.threads(), data, out.data_mut::<f32>()?, shape);
    }
    dispatch!(input.dtype(), float => T, {
        let data = widened(call, laid_out::<T>(call, input, order)?)?;
        compute_into::<T>(call, out.data_mut()?, |out| {
            normalize(kind, call.threads(), data, out, shape)
        })
    })
}

fn normalize<R: Exp>(
    kind: Kind,
    threads: usize,
    data: &[R],
    out: &mut [R],
    [_, len, inner]: [usize; 3],
) -> Result<()> {
    let slab = len * inner;
    if out.is_empty() || slab == 0 {
        return Ok(());
    }
    // Several short rows to a piece.
    let piece = slab * (4096 / slab).max(1);
    let work = out.len().saturating_mul(16);
    for_each_chunk(threads, work, out, piece, |index, out| {
        let data = &data[index * piece..][..out.len()];
        vectorized(
            #[inline(always)]
            || {
                for (data, out) in data.chunks_exact(slab).zip(out.chunks_exact_mut(slab)) {
                    if inner == 1 {
                        row(kind, data, out);
                        continue;
                    }
                    for first in (0..inner).step_by(LANES) {
                        let width = LANES.min(inner - first);
                        lanes(kind, &data[first..], &mut out[first..], inner, width);
                    }
                }
            },
        );
        Ok(())
    })
}

/// Sums kept side by side, so that they are computed by vectors.
const WIDTH: usize = 16;

/// Computes a row whose elements are neighbours.
#[inline(always)]
fn row<R: Exp>(kind: Kind, data: &[R], out: &mut [R]) {
    let max = maximum(data);
    let (chunks, rest) = data.as_chunks::<WIDTH>();
    let (out_chunks, out_rest) = out.as_chunks_mut::<WIDTH>();
    let mut sum = R::zero();
    for (y, x) in out_rest.iter_mut().zip(rest) {
        *y = (*x - max).exponential();
        sum += *y;
    }
    if !chunks.is_empty() {
        let mut sums = [R::zero(); WIDTH];
        for (x, y) in chunks.iter().zip(out_chunks) {
            for ((y, x), sum) in y.iter_mut().zip(x).zip(&mut sums) {
                *y = (*x - max).exponential();
                *sum += *y;
            }
        }
        sum += sums.into_iter().sum();
    }
    match kind {
        Kind::Plain => out.iter_mut().for_each(|y| *y = *y / sum),
        Kind::Logarithm => {
            let logarithm = sum.ln();
            for (y, x) in out.iter_mut().zip(data) {
                *y = *x - max - logarithm;
            }
        }
    }
}

#[inline(always)]
pub(crate) fn maximum<R: Exp>(data: &[R]) -> R {
    let larger = |a: R, b: R| if b > a { b } else { a };
    let (chunks, rest) = data.as_chunks::<WIDTH>();
    if chunks.is_empty() {
        return rest.iter().fold(R::neg_infinity(), |a, b| larger(a, *b));
    }
    let mut max = [R::neg_infinity(); WIDTH];
    for chunk in chunks {
        for (max, x) in max.iter_mut().zip(chunk) {
            *max = larger(*max, *x);
        }
    }
    // NaN is left out here, and comes back with the difference to the maximum.
    max.iter()
        .chain(rest)
        .fold(R::neg_infinity(), |a, b| larger(a, *b))
}

/// Neighbours computed together where the dimension is not the innermost.
const LANES: usize = 64;

/// Computes rows that lie side by side, with `stride` between neighbours of a row.
#[inline(always)]
fn lanes<R: Exp>(kind: Kind, data: &[R], out: &mut [R], stride: usize, width: usize) {
    let (mut max, mut sum) = ([R::neg_infinity(); LANES], [R::zero(); LANES]);
    for data in data.chunks(stride) {
        for (max, x) in max.iter_mut().zip(&data[..width]) {
            *max = if *x > *max { *x } else { *max };
        }
    }
    for (data, out) in data.chunks(stride).zip(out.chunks_mut(stride)) {
        let each = out[..width].iter_mut().zip(&data[..width]);
        for ((y, x), (max, sum)) in each.zip(max.iter().zip(&mut sum)) {
            *y = (*x - *max).exponential();
            *sum += *y;
        }
    }
    if kind == Kind::Plain {
        for out in out.chunks_mut(stride) {
            for (y, sum) in out[..width].iter_mut().zip(&sum) {
                *y = *y / *sum;
            }
        }
        return;
    }
    sum.iter_mut().for_each(|sum| *sum = sum.ln());
    for (data, out) in data.chunks(stride).zip(out.chunks_mut(stride)) {
        let each = out[..width].iter_mut().zip(&data[..width]);
        for ((y, x), (max, sum)) in each.zip(max.iter().zip(&sum)) {
            *y = *x - *max - *sum;
        }
    }
}

/// The exponential function where its argument is not positive.
pub(crate) trait Exp: Real {
    fn exponential(self) -> Self;
}

impl Exp for f64 {
    #[inline(always)]
    fn exponential(self) -> Self {
        self.exp()
    }
}

impl Exp for f32 {
    /// Without branches and calls, so that loops over it are vectorized. Good to about one unit
    /// in the last place; what would be denormal is 0.
    #[inline(always)]
    fn exponential(self) -> Self {
        const LOWEST: f32 = -87.3;
        // Adding this rounds to an integer, which then is in the lowest bits.
        const ROUND: f32 = 12_582_912.0;
        let x = if self < LOWEST { LOWEST } else { self };
        let shifted = x * std::f32::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        // ln 2 in two parts, the first of which has few bits: its product with n is exact.
        let r = x - n * 0.693_359_4 - n * -2.121_944_4e-4;
        // A polynomial for the exponential function on [-ln 2 / 2, ln 2 / 2], as in Cephes.
        let mut p = 1.987_569_2e-4;
        p = p * r + 1.398_2e-3;
        p = p * r + 8.333_452e-3;
        p = p * r + 4.166_579_6e-2;
        p = p * r + 1.666_666_5e-1;
        p = p * r + 5e-1;
        let y = p * r * r + r + 1.0;
        let power = shifted
            .to_bits()
            .wrapping_sub(ROUND.to_bits())
            .wrapping_add(127)
            << 23;
        let y = y * f32::from_bits(power);
        if self < LOWEST { 0.0 } else { y }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Tensor, bf16};

    fn run(operator: &str, input: &Tensor, dim: i64, out: Tensor) -> Result<Tensor> {
        let mut registry = KernelRegistry::new();
        register(&mut registry).unwrap();
        let arguments = vec![input.into(), dim.into(), false.into(), out.into()];
        let results = registry.get(operator).unwrap().invoke(arguments)?;
        Ok(results[3].tensor().unwrap().clone())
    }

    fn f32s(operator: &str, data: &[f32], sizes: &[usize], dim: i64) -> Vec<f32> {
        let input = Tensor::from_slice(data, sizes).unwrap();
        let out = Tensor::zeros(DType::F32, sizes).unwrap();
        run(operator, &input, dim, out)
            .unwrap()
            .data::<f32>()
            .unwrap()
            .to_vec()
    }

    fn assert_close(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
        }
    }

    #[test]
    fn the_exponential_function_is_good_to_a_unit_in_the_last_place() {
        for i in 0..87_000 {
            let x = i as f32 * -1e-3;
            let exact = f64::from(x).exp();
            let error = (f64::from(x.exponential()) - exact).abs() / exact;
            assert!(error < 1.5e-7, "{x}: {error}");
        }
        assert_eq!(0f32.exponential(), 1.0);
        assert_eq!(f32::NEG_INFINITY.exponential(), 0.0);
        assert_eq!((-100f32).exponential(), 0.0);
        assert!(f32::NAN.exponential().is_nan());
    }

    #[test]
    fn rows_sum_to_one() {
        let found = f32s(
            "aten::_softmax.out",
            &[1.0, 2.0, 3.0, 1000.0, 1000.0, -1000.0],
            &[2, 3],
            -1,
        );
        assert_close(
            &found,
            &[0.090_030_57, 0.244_728_48, 0.665_240_94, 0.5, 0.5, 0.0],
        );
    }

    #[test]
    fn a_dimension_that_is_not_the_innermost_is_normalized_by_columns() {
        let found = f32s(
            "aten::_softmax.out",
            &[1.0, 5.0, 2.0, 5.0, 3.0, 5.0],
            &[3, 2],
            0,
        );
        let third = 1.0 / 3.0;
        let expected = [
            0.090_030_57,
            third,
            0.244_728_48,
            third,
            0.665_240_94,
            third,
        ];
        assert_close(&found, &expected);
        let found = f32s(
            "aten::_log_softmax.out",
            &[1.0, 5.0, 2.0, 5.0, 3.0, 5.0],
            &[3, 2],
            -2,
        );
        let expected = [
            -2.407_606,
            -1.098_612_3,
            -1.407_606,
            -1.098_612_3,
            -0.407_605_95,
            -1.098_612_3,
        ];
        assert_close(&found, &expected);
    }

    #[test]
    fn long_rows_are_normalized_as_short_ones() {
        let data: Vec<f32> = (0..75).map(|i| (i % 7) as f32).collect();
        let total: f64 = data.iter().map(|&x| f64::from(x).exp()).sum();
        let expected: Vec<_> = data
            .iter()
            .map(|&x| (f64::from(x).exp() / total) as f32)
            .collect();
        assert_close(&f32s("aten::_softmax.out", &data, &[75], 0), &expected);
        let expected: Vec<_> = data
            .iter()
            .map(|&x| (f64::from(x) - total.ln()) as f32)
            .collect();
        assert_close(
            &f32s("aten::_log_softmax.out", &data, &[1, 75], 1),
            &expected,
        );
    }

    #[test]
    fn minus_infinity_has_no_share_and_a_row_of_it_is_not_a_number() {
        let masked = f32::NEG_INFINITY;
        let found = f32s(
            "aten::_softmax.out",
            &[masked, 0.0, masked, masked],
            &[2, 2],
            1,
        );
        assert_eq!(found[..2], [0.0, 1.0]);
        assert!(found[2].is_nan() && found[3].is_nan());
        let found = f32s("aten::_log_softmax.out", &[masked, 0.0], &[2], 0);
        assert_eq!(found, [masked, 0.0]);
    }

    #[test]
    fn what_is_not_a_number_spreads_over_its_row_only() {
        let found = f32s("aten::_softmax.out", &[f32::NAN, 0.0, 0.0, 0.0], &[2, 2], 1);
        assert!(found[0].is_nan() && found[1].is_nan());
        assert_eq!(found[2..], [0.5, 0.5]);
    }

    #[test]
    fn a_scalar_is_a_row_of_one_and_nothing_stays_nothing() {
        assert_eq!(f32s("aten::_softmax.out", &[7.0], &[], -1), [1.0]);
        assert_eq!(f32s("aten::_softmax.out", &[], &[0, 3], 0), [0f32; 0]);
        assert_eq!(f32s("aten::_softmax.out", &[], &[3, 0], 1), [0f32; 0]);
    }

    #[test]
    fn inputs_and_outputs_may_lie_in_other_dim_orders() {
        // Shape [1, 2, 1, 2]: channels (0, 1) at the first pixel, (0, 3) at the second.
        let bytes: Vec<u8> = [0f32, 1.0, 0.0, 3.0]
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect();
        let input = Tensor::from_bytes(DType::F32, &[1, 2, 1, 2], &[0, 2, 3, 1], &bytes).unwrap();
        let expected = [0.268_941_43, 0.731_058_6, 0.047_425_87, 0.952_574_1];
        let out = Tensor::zeros_in_order(DType::F32, &[1, 2, 1, 2], &[0, 2, 3, 1]).unwrap();
        let found = run("aten::_softmax.out", &input, 1, out).unwrap();
        assert_close(found.data().unwrap(), &expected);
        let out = Tensor::zeros(DType::F32, &[1, 2, 1, 2]).unwrap();
        let found = run("aten::_softmax.out", &input, 1, out).unwrap();
        let [a, b, c, d] = expected;
        assert_close(found.data().unwrap(), &[a, c, b, d]);
    }

    #[test]
    fn half_types_are_rounded_once_at_the_end() {
        let data = [1.0, 2.0, 3.0].map(bf16::from_f32);
        let input = Tensor::from_slice(&data, &[3]).unwrap();
        let out = Tensor::zeros(DType::BF16, &[3]).unwrap();
        let found = run("aten::_softmax.out", &input, 0, out).unwrap();
        let expected = [0.090_030_57, 0.244_728_48, 0.665_240_94].map(bf16::from_f32);
        assert_eq!(found.data::<bf16>().unwrap(), expected);
    }

    #[test]
    fn a_dimension_that_is_not_there_is_named() {
        let input = Tensor::zeros(DType::F32, &[2, 3]).unwrap();
        let error = run("aten::_softmax.out", &input, 2, input.clone()).unwrap_err();
        assert_eq!(
            error.message(),
            "dimension 2 is out of range for a tensor of 2 dimensions"
        );
        let out = Tensor::zeros(DType::F64, &[2, 3]).unwrap();
        assert!(run("aten::_softmax.out", &input, 1, out).is_err());
    }
}
