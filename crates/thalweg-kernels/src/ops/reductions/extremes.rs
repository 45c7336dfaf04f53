//! The largest and the smallest element.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, TensorView, ensure};

use super::reduce::{Fold, Reduced, fold_lanes, reduce};
use crate::dtype::compute::dispatch_compute;
use crate::dtype::number::Ordered;
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    macro_rules! extremes {
        ($($name:literal: $largest:literal;)*) => {
            $(
                registry.add(pure(
                    concat!("aten::a", $name, ".out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| {
                        let dims = call.int_list(1)?;
                        let reduced =
                            Reduced::list_or_all(&call.tensor(0)?, Some(dims), call.bool(2)?)?;
                        extreme::<$largest>(call, reduced, 3)
                    },
                )?);
                registry.add(pure(
                    concat!("aten::", $name, ".unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| extreme::<$largest>(call, Reduced::all(&call.tensor(0)?, false), 1),
                )?);
            )*
        };
    }
    extremes! {
        "max": true;
        "min": false;
    }
    Ok(())
}

pub(super) fn extreme<const LARGEST: bool>(
    call: &KernelCall<'_>,
    reduced: Reduced,
    out: usize,
) -> Result<()> {
    let input = call.tensor(0)?;
    check_not_empty(&input, &reduced)?;
    let mut out = call.output(out, &reduced.sizes(&input))?;
    crate::dtype::promotion::check_cast(input.dtype(), out.dtype())?;
    dispatch_compute!(input.dtype(), real => C, {
        reduce::<C, _>(&input, &mut out, &reduced, &Extreme::<LARGEST>)
    })
}

/// An error if there are no elements, of which none is the largest.
pub(super) fn check_not_empty(input: &TensorView<'_>, reduced: &Reduced) -> Result<()> {
    let results_exist = reduced.sizes(input).iter().all(|&size| size != 0);
    ensure!(
        !(results_exist && reduced.count(input) == 0),
        Operator,
        "a tensor of shape {:?} has no elements to choose from",
        input.sizes()
    );
    Ok(())
}

struct Extreme<const LARGEST: bool>;

impl<const LARGEST: bool> Extreme<LARGEST> {
    #[inline]
    fn better<C: Ordered>(a: C, b: C) -> C {
        if LARGEST { a.max_nan(b) } else { a.min_nan(b) }
    }
}

impl<C: Ordered, const LARGEST: bool> Fold<C> for Extreme<LARGEST> {
    type State = C;
    type Result = C;

    fn start(&self) -> C {
        if LARGEST { C::LEAST } else { C::GREATEST }
    }

    #[inline(always)]
    fn fold(&self, state: &mut C, _: usize, elements: &[C]) {
        let start = Fold::<C>::start(self);
        let best = fold_lanes(elements, start, Self::better, Self::better);
        *state = Self::better(*state, best);
    }

    #[inline(always)]
    fn fold_row(&self, states: &mut [C], _: usize, row: &[C]) {
        for (state, &element) in states.iter_mut().zip(row) {
            *state = Self::better(*state, element);
        }
    }

    fn finish(&self, state: C, _: usize) -> C {
        state
    }
}

/// A reduction that gives positions, by the types of its results.
pub(super) fn check_index_type(dtype: DType) -> Result<()> {
    ensure!(
        dtype == DType::I64,
        Operator,
        "positions are of type i64, not {dtype}"
    );
    Ok(())
}
