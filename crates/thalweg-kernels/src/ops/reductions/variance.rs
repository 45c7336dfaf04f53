//! Variances.

use thalweg_core::{KernelCall, KernelRegistry, Result, ensure};

use super::reduce::{Fold, Reduced, fold_lanes, reduce};
use super::sums::mean_into;
use crate::dtype::cast::CastInto;
use crate::dtype::compute::{Compute, dispatch_compute};
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::var.out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let (input, dims) = (call.tensor(0)?, call.optional_int_list(1)?);
            let reduced = Reduced::list_or_all(&input, dims, call.bool(3)?)?;
            variance(call, reduced, f64::from(u8::from(call.bool(2)?)), 4)
        },
    )?);
    registry.add(pure(
        "aten::var.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, \
         bool keepdim=False, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let (input, dims) = (call.tensor(0)?, call.optional_int_list(1)?);
            let reduced = Reduced::list_or_all(&input, dims, call.bool(3)?)?;
            variance(call, reduced, call.optional_double(2)?.unwrap_or(1.0), 4)
        },
    )?);
    registry.add(pure(
        "aten::var_mean.correction_out(Tensor self, int[1]? dim=None, *, \
         Scalar? correction=None, bool keepdim=False, Tensor(a!) out0, Tensor(b!) out1) \
         -> (Tensor(a!), Tensor(b!))",
        |call| {
            let (input, dims) = (call.tensor(0)?, call.optional_int_list(1)?);
            let reduced = Reduced::list_or_all(&input, dims, call.bool(3)?)?;
            variance(call, reduced, call.optional_double(2)?.unwrap_or(1.0), 4)?;
            mean_into(
                &input,
                &mut call.output(5, &reduced.sizes(&input))?,
                &reduced,
                input.dtype(),
            )
        },
    )?);
    Ok(())
}

fn variance(call: &KernelCall<'_>, reduced: Reduced, correction: f64, out: usize) -> Result<()> {
    let input = call.tensor(0)?;
    let mut out = call.output(out, &reduced.sizes(&input))?;
    ensure!(
        out.dtype().is_float(),
        Operator,
        "a variance cannot be stored as {}",
        out.dtype()
    );
    dispatch_compute!(input.dtype(), float => C, {
        reduce::<C, _>(&input, &mut out, &reduced, &Variance { correction })
    })
}

/// The sum of the squared distances from the mean, in f64, chunk by chunk, so that nothing large
/// cancels.
struct Variance {
    correction: f64,
}

#[derive(Clone, Copy)]
struct Spread {
    count: f64,
    mean: f64,
    squares: f64,
}

impl<C: Compute + CastInto<f64>> Fold<C> for Variance {
    type State = Spread;
    type Result = f64;

    fn start(&self) -> Spread {
        Spread {
            count: 0.0,
            mean: 0.0,
            squares: 0.0,
        }
    }

    #[inline(always)]
    fn fold(&self, state: &mut Spread, _: usize, elements: &[C]) {
        let count = elements.len() as f64;
        if elements.is_empty() {
            return;
        }
        let add = |a: f64, b: f64| a + b;
        let mean = fold_lanes(elements, 0.0, |a, b| a + CastInto::<f64>::cast_into(b), add) / count;
        let squares = fold_lanes(
            elements,
            0.0,
            |a, b| {
                let distance = CastInto::<f64>::cast_into(b) - mean;
                a + distance * distance
            },
            add,
        );
        let total = state.count + count;
        let shift = mean - state.mean;
        *state = Spread {
            count: total,
            mean: state.mean + shift * (count / total),
            squares: state.squares + squares + shift * shift * (state.count * count / total),
        };
    }

    #[inline(always)]
    fn fold_row(&self, states: &mut [Spread], index: usize, row: &[C]) {
        let total = index as f64 + 1.0;
        for (state, &element) in states.iter_mut().zip(row) {
            let element: f64 = element.cast_into();
            let shift = element - state.mean;
            state.mean += shift / total;
            state.squares += shift * (element - state.mean);
        }
    }

    fn finish(&self, state: Spread, count: usize) -> f64 {
        // Of fewer elements than the correction takes away, PyTorch's answer is not a number or
        // infinite.
        state.squares / (count as f64 - self.correction).max(0.0)
    }
}
