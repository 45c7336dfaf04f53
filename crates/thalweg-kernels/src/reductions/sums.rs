//! Sums, means and products; whether any or all elements are true.

use std::marker::PhantomData;

use thalweg_core::{Bool, Complex32, Complex64, DType, KernelCall, KernelRegistry, Result};
use thalweg_core::{TensorView, TensorViewMut, ensure};

use super::reduce::{Fold, Reduced, fold_lanes, reduce};
use crate::cast::CastInto;
use crate::compute::{Compute, dispatch_compute};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.register(
        "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let (input, dims) = (call.tensor(0)?, call.optional_int_list(1)?);
            sum(call, Reduced::list_or_all(&input, dims, call.bool(2)?)?, 3)
        },
    )?;
    registry.register(
        "aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let (input, dims) = (call.tensor(0)?, call.optional_int_list(1)?);
            mean(call, Reduced::list_or_all(&input, dims, call.bool(2)?)?, 3)
        },
    )?;
    registry.register(
        "aten::mean.dtype_out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| mean(call, Reduced::all(&call.tensor(0)?, false), 1),
    )?;
    registry.register(
        "aten::prod.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| product(call, Reduced::all(&call.tensor(0)?, false), 1),
    )?;
    registry.register(
        "aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let reduced = Reduced::one(&call.tensor(0)?, call.int(1)?, call.bool(2)?)?;
            product(call, reduced, 3)
        },
    )?;
    macro_rules! truths {
        ($($name:literal: $is_any:literal;)*) => {
            $(
                registry.register(
                    concat!("aten::", $name, ".all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| truth(call, Reduced::all(&call.tensor(0)?, false), 1, $is_any),
                )?;
                registry.register(
                    concat!("aten::", $name, ".out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| {
                        let reduced = Reduced::one(&call.tensor(0)?, call.int(1)?, call.bool(2)?)?;
                        truth(call, reduced, 3, $is_any)
                    },
                )?;
                registry.register(
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
                )?;
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
    let mut out = call.output(out, &reduced.sizes(&input)?)?;
    // Fractions may be dropped, imaginary parts may not.
    ensure!(
        dtype.is_complex() || !input.dtype().is_complex(),
        Unsupported,
        "complex numbers cannot be summed as {dtype}"
    );
    dispatch_compute!(dtype, number => C, {
        reduce::<C, _>(&input, &mut out, &reduced, &Sum::new(false))
    })
}

fn mean(call: &KernelCall<'_>, reduced: Reduced, dtype: usize) -> Result<()> {
    let input = call.tensor(0)?;
    let out = dtype + 1;
    let dtype = sum_dtype(call, dtype, out)?;
    let mut out = call.output(out, &reduced.sizes(&input)?)?;
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
        reduce::<C, _>(input, out, reduced, &Sum::new(true))
    })
}

fn product(call: &KernelCall<'_>, reduced: Reduced, dtype: usize) -> Result<()> {
    let input = call.tensor(0)?;
    let out = dtype + 1;
    let dtype = sum_dtype(call, dtype, out)?;
    let mut out = call.output(out, &reduced.sizes(&input)?)?;
    dispatch_compute!(dtype, number => C, {
        reduce::<C, _>(&input, &mut out, &reduced, &Product)
    })
}

fn truth(call: &KernelCall<'_>, reduced: Reduced, out: usize, is_any: bool) -> Result<()> {
    let input = call.tensor(0)?;
    let mut out = call.output(out, &reduced.sizes(&input)?)?;
    reduce::<Bool, _>(&input, &mut out, &reduced, &Truth { is_any })
}

/// A type whose sums are taken in a wider one.
trait Summed: Compute {
    type Wide: Compute;

    fn widen(self) -> Self::Wide;
    fn sum(elements: &[Self]) -> Self::Wide;
    fn add(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn multiply(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn one() -> Self::Wide;
    fn divide(a: Self::Wide, count: usize) -> Self::Wide;
}

/// Floats are summed in f64, which costs little more than f32 where memory is the limit.
macro_rules! summed_floats {
    ($($float:ty => $wide:ty, $zero:expr, $one:expr;)*) => {
        $(impl Summed for $float {
            type Wide = $wide;

            #[inline]
            fn widen(self) -> $wide {
                self.cast_into()
            }
            #[inline]
            fn sum(elements: &[Self]) -> $wide {
                fold_lanes(elements, $zero, |a, b| a + b.widen(), |a, b| a + b)
            }
            #[inline]
            fn add(a: $wide, b: $wide) -> $wide {
                a + b
            }
            #[inline]
            fn multiply(a: $wide, b: $wide) -> $wide {
                a * b
            }
            #[inline]
            fn one() -> $wide {
                $one
            }
            #[inline]
            fn divide(a: $wide, count: usize) -> $wide {
                a / count as f64
            }
        })*
    };
}

summed_floats! {
    f32 => f64, 0.0, 1.0;
    f64 => f64, 0.0, 1.0;
    Complex32 => Complex64, Complex64::ZERO, Complex64::ONE;
    Complex64 => Complex64, Complex64::ZERO, Complex64::ONE;
}

/// Integers wrap at 64 bits, and are cut to fewer when they are stored.
macro_rules! summed_integers {
    ($($int:ty => $wide:ty;)*) => {
        $(impl Summed for $int {
            type Wide = $wide;

            #[inline]
            fn widen(self) -> $wide {
                self.cast_into()
            }
            #[inline]
            fn sum(elements: &[Self]) -> $wide {
                fold_lanes(
                    elements,
                    0,
                    |a: $wide, b| a.wrapping_add(<$wide>::from(b)),
                    <$wide>::wrapping_add,
                )
            }
            #[inline]
            fn add(a: $wide, b: $wide) -> $wide {
                a.wrapping_add(b)
            }
            #[inline]
            fn multiply(a: $wide, b: $wide) -> $wide {
                a.wrapping_mul(b)
            }
            #[inline]
            fn one() -> $wide {
                1
            }
            #[inline]
            fn divide(a: $wide, count: usize) -> $wide {
                a.checked_div(count as $wide).unwrap_or(0)
            }
        })*
    };
}

summed_integers! {
    u8 => u64;
    i32 => i64;
    i64 => i64;
    u64 => u64;
}

struct Sum<C> {
    is_mean: bool,
    of: PhantomData<C>,
}

impl<C> Sum<C> {
    fn new(is_mean: bool) -> Self {
        Self {
            is_mean,
            of: PhantomData,
        }
    }
}

impl<C: Summed> Fold<C> for Sum<C> {
    type State = C::Wide;
    type Result = C::Wide;

    fn start(&self) -> C::Wide {
        C::Wide::default()
    }

    fn fold(&self, state: &mut C::Wide, _: usize, elements: &[C]) {
        *state = C::add(*state, C::sum(elements));
    }

    fn fold_row(&self, states: &mut [C::Wide], _: usize, row: &[C]) {
        for (state, &element) in states.iter_mut().zip(row) {
            *state = C::add(*state, element.widen());
        }
    }

    fn finish(&self, state: C::Wide, count: usize) -> C::Wide {
        if self.is_mean {
            C::divide(state, count)
        } else {
            state
        }
    }
}

struct Product;

impl<C: Summed> Fold<C> for Product {
    type State = C::Wide;
    type Result = C::Wide;

    fn start(&self) -> C::Wide {
        C::one()
    }

    fn fold(&self, state: &mut C::Wide, _: usize, elements: &[C]) {
        *state = C::multiply(
            *state,
            fold_lanes(
                elements,
                C::one(),
                |a, b| C::multiply(a, b.widen()),
                C::multiply,
            ),
        );
    }

    fn fold_row(&self, states: &mut [C::Wide], _: usize, row: &[C]) {
        for (state, &element) in states.iter_mut().zip(row) {
            *state = C::multiply(*state, element.widen());
        }
    }

    fn finish(&self, state: C::Wide, _: usize) -> C::Wide {
        state
    }
}

/// Whether any element is true, or all are.
struct Truth {
    is_any: bool,
}

impl Fold<Bool> for Truth {
    type State = bool;
    type Result = Bool;

    fn start(&self) -> bool {
        !self.is_any
    }

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
