//! Sums, means and products; `any` and `all`.

use std::ops::Div;

use thalweg_core::{Bool, DType, KernelCall, KernelRegistry, Layout, Result};
use thalweg_core::{TensorView, TensorViewMut, ensure};

use super::reduce::{Fold, Reduced, fold_lanes, reduce};
use crate::dtype::compute::dispatch_compute;
use crate::dtype::number::{Number, Summed};
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, \
         ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let (input, dims) = (call.tensor(0)?, call.optional_int_list(1)?);
            sum(call, Reduced::list_or_all(&input, dims, call.bool(2)?)?, 3)
        },
    )?);
    registry.add(
        pure(
            "aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, \
         ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
            |call| {
                let (input, dims) = (call.tensor(0)?, call.optional_int_list(1)?);
                mean(call, Reduced::list_or_all(&input, dims, call.bool(2)?)?, 3)
            },
        )?
        .with_layout(|_| Some(Layout::Any)),
    );
    registry.add(pure(
        "aten::mean.dtype_out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| mean(call, Reduced::all(&call.tensor(0)?, false), 1),
    )?);
    registry.add(pure(
        "aten::prod.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| product(call, Reduced::all(&call.tensor(0)?, false), 1),
    )?);
    registry.add(pure(
        "aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, \
         ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let reduced = Reduced::one(&call.tensor(0)?, call.int(1)?, call.bool(2)?)?;
            product(call, reduced, 3)
        },
    )?);
    macro_rules! truths {
        ($($name:literal: $is_any:literal;)*) => {
            $(
                registry.add(pure(
                    concat!("aten::", $name, ".all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| truth(call, Reduced::all(&call.tensor(0)?, false), 1, $is_any),
                )?);
                registry.add(pure(
                    concat!("aten::", $name, ".out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| {
                        let reduced = Reduced::one(&call.tensor(0)?, call.int(1)?, call.bool(2)?)?;
                        truth(call, reduced, 3, $is_any)
                    },
                )?);
                registry.add(pure(
                    concat!("aten::", $name, ".dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| {
                        let input = call.tensor(0)?;
                        // Unlike for sums, an empty list is no dimensions here.
                        let reduced = match call.optional_int_list(1)? {
                            Some(dims) => Reduced::list(&input, dims, call.bool(2)?)?,
                            None => Reduced::all(&input, call.bool(2)?),
                        };
                        truth(call, reduced, 3, $is_any)
                    },
                )?);
            )*
        };
    }
    truths! {
        "any": true;
        "all": false;
    }
    Ok(())
}

/// The type that elements are converted to and summed in: as asked for, else that of the output.
fn sum_dtype(call: &KernelCall<'_>, position: usize, out: usize) -> Result<DType> {
    let dtype = call.optional_dtype(position)?;
    Ok(dtype.unwrap_or(call.output_dtype(out)?))
}

fn sum(call: &KernelCall<'_>, reduced: Reduced, dtype: usize) -> Result<()> {
    let input = call.tensor(0)?;
    let out = dtype + 1;
    let dtype = sum_dtype(call, dtype, out)?;
    let mut out = call.output(out, &reduced.sizes(&input))?;
    // Fractions may be dropped, imaginary parts may not.
    ensure!(
        dtype.is_complex() || !input.dtype().is_complex(),
        Unsupported,
        "complex numbers cannot be summed as {dtype}"
    );
    dispatch_compute!(dtype, number => C, {
        reduce::<C, _>(&input, &mut out, &reduced, &Sum)
    })
}

fn mean(call: &KernelCall<'_>, reduced: Reduced, dtype: usize) -> Result<()> {
    let input = call.tensor(0)?;
    let out = dtype + 1;
    let dtype = sum_dtype(call, dtype, out)?;
    let mut out = call.output(out, &reduced.sizes(&input))?;
    mean_into(&input, &mut out, &reduced, dtype)
}

/// The mean of elements as numbers of type `dtype`.
pub(super) fn mean_into(
    input: &TensorView<'_>,
    out: &mut TensorViewMut<'_>,
    reduced: &Reduced,
    dtype: DType,
) -> Result<()> {
    dispatch_compute!(dtype, float_complex => C, {
        reduce::<C, _>(input, out, reduced, &Mean)
    })
}

fn product(call: &KernelCall<'_>, reduced: Reduced, dtype: usize) -> Result<()> {
    let input = call.tensor(0)?;
    let out = dtype + 1;
    let dtype = sum_dtype(call, dtype, out)?;
    let mut out = call.output(out, &reduced.sizes(&input))?;
    dispatch_compute!(dtype, number => C, {
        reduce::<C, _>(&input, &mut out, &reduced, &Product)
    })
}

fn truth(call: &KernelCall<'_>, reduced: Reduced, out: usize, is_any: bool) -> Result<()> {
    let input = call.tensor(0)?;
    let mut out = call.output(out, &reduced.sizes(&input))?;
    reduce::<Bool, _>(&input, &mut out, &reduced, &Truth { is_any })
}

struct Sum;

impl<C: Summed> Fold<C> for Sum {
    type State = C::Wide;
    type Result = C::Wide;

    fn start(&self) -> C::Wide {
        C::Wide::default()
    }

    #[inline(always)]
    fn fold(&self, state: &mut C::Wide, _: usize, elements: &[C]) {
        let start = C::Wide::default();
        let sum = fold_lanes(elements, start, |a, b| a.add(b.widen()), C::Wide::add);
        *state = state.add(sum);
    }

    #[inline(always)]
    fn fold_row(&self, states: &mut [C::Wide], _: usize, row: &[C]) {
        for (state, &element) in states.iter_mut().zip(row) {
            *state = state.add(element.widen());
        }
    }

    fn finish(&self, state: C::Wide, _: usize) -> C::Wide {
        state
    }
}

/// A sum divided by how many there are.
struct Mean;

impl<C: Summed<Wide: Div<f64, Output = C::Wide>>> Fold<C> for Mean {
    type State = C::Wide;
    type Result = C::Wide;

    fn start(&self) -> C::Wide {
        Fold::<C>::start(&Sum)
    }

    #[inline(always)]
    fn fold(&self, state: &mut C::Wide, first: usize, elements: &[C]) {
        Sum.fold(state, first, elements);
    }

    #[inline(always)]
    fn fold_row(&self, states: &mut [C::Wide], index: usize, row: &[C]) {
        Sum.fold_row(states, index, row);
    }

    fn finish(&self, state: C::Wide, count: usize) -> C::Wide {
        state / count as f64
    }
}

struct Product;

impl<C: Summed> Fold<C> for Product {
    type State = C::Wide;
    type Result = C::Wide;

    fn start(&self) -> C::Wide {
        C::Wide::ONE
    }

    #[inline(always)]
    fn fold(&self, state: &mut C::Wide, _: usize, elements: &[C]) {
        let one = C::Wide::ONE;
        let product = fold_lanes(elements, one, |a, b| a.mul(b.widen()), C::Wide::mul);
        *state = state.mul(product);
    }

    #[inline(always)]
    fn fold_row(&self, states: &mut [C::Wide], _: usize, row: &[C]) {
        for (state, &element) in states.iter_mut().zip(row) {
            *state = state.mul(element.widen());
        }
    }

    fn finish(&self, state: C::Wide, _: usize) -> C::Wide {
        state
    }
}

/// The reduction of `any` and `all`.
struct Truth {
    is_any: bool,
}

impl Fold<Bool> for Truth {
    type State = bool;
    type Result = Bool;

    fn start(&self) -> bool {
        !self.is_any
    }

    #[inline(always)]
    fn fold(&self, state: &mut bool, _: usize, elements: &[Bool]) {
        if *state == self.is_any {
            return;
        }
        *state = if self.is_any {
            fold_lanes(elements, false, |a, b| a | b.get(), |a, b| a | b)
        } else {
            fold_lanes(elements, true, |a, b| a & b.get(), |a, b| a & b)
        };
    }

    #[inline(always)]
    fn fold_row(&self, states: &mut [bool], _: usize, row: &[Bool]) {
        for (state, &element) in states.iter_mut().zip(row) {
            *state = if self.is_any {
                *state | element.get()
            } else {
                *state & element.get()
            };
        }
    }

    fn finish(&self, state: bool, _: usize) -> Bool {
        state.into()
    }
}
