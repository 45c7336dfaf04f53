//! The positions of the largest and the smallest element.

use thalweg_core::{KernelCall, KernelRegistry, Result};

use super::extremes::{check_index_type, check_not_empty};
use super::reduce::{Fold, Reduced, fold_lanes, reduce};
use crate::dtype::compute::dispatch_compute;
use crate::dtype::number::Ordered;
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    macro_rules! arguments {
        ($($name:literal, $values:literal, $indices:literal: $largest:literal;)*) => {
            $(
                registry.add(pure(
                    concat!("aten::arg", $name, ".out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| {
                        let input = call.tensor(0)?;
                        let reduced = match call.optional_int(1)? {
                            Some(dim) => Reduced::one(&input, dim, call.bool(2)?)?,
                            None => Reduced::all(&input, call.bool(2)?),
                        };
                        position::<$largest>(call, reduced, 3)
                    },)?);
                registry.add(pure(
                    concat!(
                        "aten::", $name, ".dim_", $name,
                        "(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) ", $values,
                        ", Tensor(b!) ", $indices, ") -> (Tensor(a!) values, Tensor(b!) indices)"
                    ),
                    |call| {
                        let reduced = Reduced::one(&call.tensor(0)?, call.int(1)?, call.bool(2)?)?;
                        value::<$largest>(call, reduced, 3)?;
                        position::<$largest>(call, reduced, 4)
                    },)?);
            )*
        };
    }
    arguments! {
        "max", "max", "max_values": true;
        "min", "min", "min_indices": false;
    }
    Ok(())
}

fn position<const LARGEST: bool>(
    call: &KernelCall<'_>,
    reduced: Reduced,
    out: usize,
) -> Result<()> {
    let input = call.tensor(0)?;
    check_not_empty(&input, &reduced)?;
    let mut out = call.output(out, &reduced.sizes(&input))?;
    check_index_type(out.dtype())?;
    dispatch_compute!(input.dtype(), real => C, {
        reduce::<C, _>(&input, &mut out, &reduced, &Position::<LARGEST>)
    })
}

fn value<const LARGEST: bool>(call: &KernelCall<'_>, reduced: Reduced, out: usize) -> Result<()> {
    super::extremes::extreme::<LARGEST>(call, reduced, out)
}

/// Finds the first of the best elements; NaN is better than any number.
struct Position<const LARGEST: bool>;

impl<const LARGEST: bool> Position<LARGEST> {
    /// Returns true if `a` takes the place of `b`, which comes before it.
    #[inline(always)]
    fn beats<C: Ordered>(a: C, b: C) -> bool {
        // One comparison mostly: what is not a number is not behind anything either.
        let is_behind = if LARGEST { a <= b } else { a >= b };
        !is_behind && !b.is_nan()
    }
}

impl<const LARGEST: bool> Position<LARGEST> {
    /// The better of two; NaN if either is.
    #[inline(always)]
    fn better<C: Ordered>(a: C, b: C) -> C {
        if LARGEST { a.max_nan(b) } else { a.min_nan(b) }
    }
}

impl<C: Ordered, const LARGEST: bool> Fold<C> for Position<LARGEST> {
    type State = (C, i64);
    type Result = i64;
    const IS_ORDERED: bool = true;

    fn start(&self) -> (C, i64) {
        // The first element is the best as long as none beats it, so its value is never asked.
        (C::default(), -1)
    }

    #[inline(always)]
    fn fold(&self, state: &mut (C, i64), first: usize, elements: &[C]) {
        // The best of them is found by vectors. Where it is, is only asked if it matters.
        let (best, at) = *state;
        let Some(&start) = elements.first() else {
            return;
        };
        let top = fold_lanes(elements, start, Self::better, Self::better);
        if at >= 0 && !Self::beats(top, best) {
            return;
        }
        let place = elements.iter().position(|&x| !Self::beats(top, x));
        *state = (top, (first + place.unwrap_or(0)) as i64);
    }

    #[inline(always)]
    fn fold_row(&self, states: &mut [(C, i64)], index: usize, row: &[C]) {
        for (state, &element) in states.iter_mut().zip(row) {
            if index == 0 || Self::beats(element, state.0) {
                *state = (element, index as i64);
            }
        }
    }

    fn finish(&self, (_, at): (C, i64), _: usize) -> i64 {
        at
    }
}
