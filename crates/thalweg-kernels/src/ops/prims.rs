//! ExecuTorch's own primitives: views, symbolic sizes, arithmetic on numbers.
//!
//! The arithmetic is Python's: division of integers rounds down, and a remainder has the sign of
//! the divisor. Booleans count as 0 and 1.

use thalweg_core::{
    Bool, DType, Dims, KernelCall, KernelRegistry, Result, Scalar, bail, ensure, is_row_major,
};

use crate::layout::Layout;
use crate::layout::copy::copy;
use crate::layout::dims::{size_from, wrap_dim};
use crate::operator::pure;
use crate::ops::shapes::{inferred_shape, reshape};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "executorch_prim::et_view.default(Tensor self, SymInt[] size, *, Tensor(a!) out) \
         -> ()",
        view,
    )?);
    registry.add(pure(
        "executorch_prim::et_copy_index.tensor(Tensor(a!) copy_to, Tensor copy_from, \
         SymInt index) -> ()",
        copy_index,
    )?);
    registry.add(pure(
        "aten::sym_size.int(Tensor self, int dim) -> SymInt",
        |call| {
            let tensor = call.tensor(0)?;
            let dim = wrap_dim(call.int(1)?, tensor.rank())?;
            ensure!(
                tensor.rank() > 0,
                InvalidInput,
                "a tensor without dimensions has no sizes"
            );
            call.set(2, tensor.sizes()[dim] as i64)
        },
    )?);
    registry.add(pure("aten::sym_numel(Tensor self) -> SymInt", |call| {
        call.set(1, call.tensor(0)?.numel() as i64)
    })?);
    registry.add(pure(
        "aten::_local_scalar_dense(Tensor self) -> Scalar",
        first_element,
    )?);
    for (name, result, compute) in BINARY {
        let signature = format!("executorch_prim::{name}(Scalar a, Scalar b) -> {result}");
        registry.add(pure(&signature, move |call| {
            call.set(2, compute(call.scalar(0)?, call.scalar(1)?)?)
        })?);
    }
    for (name, result, compute) in UNARY {
        let signature = format!("executorch_prim::{name}(Scalar a) -> {result}");
        registry.add(pure(&signature, move |call| {
            call.set(1, compute(call.scalar(0)?))
        })?);
    }
    registry.add(pure(
        "executorch_prim::sym_ite.Scalar(bool b, Scalar t, Scalar f) -> Scalar",
        |call| call.set(3, call.scalar(if call.bool(0)? { 1 } else { 2 })?),
    )?);
    Ok(())
}

type Binary = fn(Scalar, Scalar) -> Result<Scalar>;

const BINARY: [(&str, &str, Binary); 15] = [
    ("add.Scalar", "Scalar", |a, b| {
        arithmetic(a, b, i64::wrapping_add, |a, b| a + b)
    }),
    ("sub.Scalar", "Scalar", |a, b| {
        arithmetic(a, b, i64::wrapping_sub, |a, b| a - b)
    }),
    ("mul.Scalar", "Scalar", |a, b| {
        arithmetic(a, b, i64::wrapping_mul, |a, b| a * b)
    }),
    ("floordiv.Scalar", "Scalar", floor_divide),
    ("floordiv.int", "int", floor_divide),
    ("truediv.Scalar", "Scalar", |a, b| {
        Ok((a.to_f64() / b.to_f64()).into())
    }),
    ("mod.Scalar", "Scalar", remainder),
    ("mod.int", "int", remainder),
    ("sym_max.Scalar", "SymInt", |a, b| {
        arithmetic(a, b, i64::max, f64::max)
    }),
    ("sym_min.Scalar", "SymInt", |a, b| {
        arithmetic(a, b, i64::min, f64::min)
    }),
    ("eq.Scalar", "bool", |a, b| {
        compare(a, b, |a, b| a == b, |a, b| a == b)
    }),
    ("gt.Scalar", "bool", |a, b| {
        compare(a, b, |a, b| a > b, |a, b| a > b)
    }),
    ("lt.Scalar", "bool", |a, b| {
        compare(a, b, |a, b| a < b, |a, b| a < b)
    }),
    ("ge.Scalar", "bool", |a, b| {
        compare(a, b, |a, b| a >= b, |a, b| a >= b)
    }),
    ("le.Scalar", "bool", |a, b| {
        compare(a, b, |a, b| a <= b, |a, b| a <= b)
    }),
];

const UNARY: [(&str, &str, fn(Scalar) -> Scalar); 9] = [
    ("neg.Scalar", "Scalar", |a| {
        keep_kind(a, i64::wrapping_neg, |a| -a)
    }),
    ("abs.Scalar", "Scalar", |a| {
        keep_kind(a, i64::wrapping_abs, f64::abs)
    }),
    ("ceil.Scalar", "Scalar", |a| to_integer(a, f64::ceil)),
    ("floor.Scalar", "Scalar", |a| to_integer(a, f64::floor)),
    ("round.Scalar", "Scalar", |a| {
        to_integer(a, f64::round_ties_even)
    }),
    ("trunc.Scalar", "Scalar", |a| to_integer(a, f64::trunc)),
    ("sym_int.Scalar", "Scalar", |a| to_integer(a, f64::trunc)),
    ("sym_float.Scalar", "Scalar", |a| a.to_f64().into()),
    ("sym_not.Scalar", "bool", |a| (!a.to_bool()).into()),
];

fn view(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let sizes = inferred_shape(call.int_list(1)?, input.numel())?;
    let order = call.output_dim_order(2)?;
    let as_it_is = input.is_row_major() && is_row_major(&sizes, order);
    if as_it_is || (input.sizes() == &*sizes && input.dim_order() == order) {
        return call.alias(2, 0, &sizes);
    }
    reshape(call, &input, &sizes, 2)
}

/// Writes a row of the results of a loop. The tensor of results grows with it.
fn copy_index(call: &KernelCall<'_>) -> Result<()> {
    let row = call.tensor(1)?;
    let index = size_from(call.int(2)?)?;
    let there = call.output_sizes(0)?;
    let mut sizes = Dims::from_slice(row.sizes())?;
    sizes.insert(0, index.saturating_add(1))?;
    ensure!(
        there.len() == sizes.len() && (index == 0 || there[1..] == sizes[1..]),
        InvalidInput,
        "a row of shape {:?} does not fit into results of shape {there:?}",
        row.sizes()
    );
    let mut results = if there == sizes {
        call.in_place(0)?
    } else {
        call.resize_in_place(0, &sizes)?
    };
    let to = Layout::of_output(&results).select(0, index);
    copy(&mut results, &to, &row, &Layout::of(&row), call.threads())
}

fn first_element(call: &KernelCall<'_>) -> Result<()> {
    let tensor = call.tensor(0)?;
    ensure!(
        tensor.numel() > 0,
        InvalidInput,
        "a tensor of shape {:?} has no element to take",
        tensor.sizes()
    );
    let dtype = tensor.dtype();
    let value = match dtype {
        DType::Bool => Scalar::Bool(tensor.data::<Bool>()?[0].get()),
        _ if dtype.is_integer() => Scalar::Int(number::<i64>(&tensor, DType::I64)?),
        _ if dtype.is_float() => Scalar::Double(number::<f64>(&tensor, DType::F64)?),
        _ => bail!(Unsupported, "an element of type {dtype} is not a number"),
    };
    call.set(1, value)
}

/// The first element as a number of another type.
fn number<T: bytemuck::Pod + Default>(
    tensor: &thalweg_core::TensorView<'_>,
    to: DType,
) -> Result<T> {
    let mut value = T::default();
    let first = &tensor.bytes()[..tensor.dtype().size()];
    let target = bytemuck::bytes_of_mut(&mut value);
    crate::dtype::convert::convert(target, to, first, tensor.dtype())?;
    Ok(value)
}

fn arithmetic(
    a: Scalar,
    b: Scalar,
    integers: fn(i64, i64) -> i64,
    doubles: fn(f64, f64) -> f64,
) -> Result<Scalar> {
    Ok(match (a, b) {
        (Scalar::Double(_), _) | (_, Scalar::Double(_)) => doubles(a.to_f64(), b.to_f64()).into(),
        _ => integers(a.to_i64(), b.to_i64()).into(),
    })
}

fn compare(
    a: Scalar,
    b: Scalar,
    integers: fn(i64, i64) -> bool,
    doubles: fn(f64, f64) -> bool,
) -> Result<Scalar> {
    Ok(match (a, b) {
        (Scalar::Double(_), _) | (_, Scalar::Double(_)) => doubles(a.to_f64(), b.to_f64()).into(),
        _ => integers(a.to_i64(), b.to_i64()).into(),
    })
}

fn floor_divide(a: Scalar, b: Scalar) -> Result<Scalar> {
    check_divisor(a, b)?;
    arithmetic(
        a,
        b,
        |a, b| {
            let inexact = a.wrapping_rem(b) != 0;
            a.wrapping_div(b) - i64::from(inexact && (a < 0) != (b < 0))
        },
        |a, b| {
            if b == 0.0 {
                // Upstream's answer; in Python this is an error.
                return f64::INFINITY.copysign(a);
            }
            // By way of the remainder, so that rounding does not part the two.
            let remainder = a % b;
            let quotient = (a - remainder) / b;
            if remainder != 0.0 && (b < 0.0) != (remainder < 0.0) {
                quotient - 1.0
            } else {
                quotient
            }
        },
    )
}

fn remainder(a: Scalar, b: Scalar) -> Result<Scalar> {
    check_divisor(a, b)?;
    arithmetic(
        a,
        b,
        |a, b| {
            let remainder = a.wrapping_rem(b);
            if remainder != 0 && (remainder < 0) != (b < 0) {
                remainder + b
            } else {
                remainder
            }
        },
        |a, b| {
            let remainder = a % b;
            if remainder != 0.0 && (remainder < 0.0) != (b < 0.0) {
                remainder + b
            } else {
                remainder
            }
        },
    )
}

fn check_divisor(a: Scalar, b: Scalar) -> Result<()> {
    let integers = !matches!((a, b), (Scalar::Double(_), _) | (_, Scalar::Double(_)));
    ensure!(
        !(integers && b.to_i64() == 0),
        InvalidInput,
        "{a} is divided by 0"
    );
    Ok(())
}

fn keep_kind(a: Scalar, integer: fn(i64) -> i64, double: fn(f64) -> f64) -> Scalar {
    match a {
        Scalar::Double(a) => double(a).into(),
        other => integer(other.to_i64()).into(),
    }
}

fn to_integer(a: Scalar, round: fn(f64) -> f64) -> Scalar {
    match a {
        Scalar::Double(a) => (round(a) as i64).into(),
        other => other.to_i64().into(),
    }
}

#[cfg(test)]
mod tests {
    use thalweg_core::{Argument, ErrorKind, Tensor};

    use super::*;

    fn run(operator: &str, arguments: Vec<Argument>) -> Result<Vec<Argument>> {
        let mut registry = KernelRegistry::new();
        register(&mut registry).unwrap();
        registry.get(operator).unwrap().invoke(arguments)
    }

    fn compute(operator: &str, numbers: &[Scalar]) -> Result<Scalar> {
        let arguments = numbers.iter().map(|&n| Argument::Scalar(n)).collect();
        match run(operator, arguments)?.last() {
            Some(Argument::Scalar(value)) => Ok(*value),
            other => panic!("{other:?} is no number"),
        }
    }

    fn binary(operator: &str, a: impl Into<Scalar>, b: impl Into<Scalar>) -> Scalar {
        let operator = format!("executorch_prim::{operator}.Scalar");
        compute(&operator, &[a.into(), b.into()]).unwrap()
    }

    #[test]
    fn integers_stay_integers_and_a_double_makes_doubles() {
        assert_eq!(binary("add", 2, 3), 5.into());
        assert_eq!(binary("add", 2, 0.5), 2.5.into());
        assert_eq!(binary("sub", 2.0, 0.5), 1.5.into());
        assert_eq!(binary("mul", i64::MAX, 2), (-2).into());
        assert_eq!(binary("truediv", 1, 2), 0.5.into());
        assert_eq!(binary("sym_max", 4, 7), 7.into());
    }

    #[test]
    fn division_rounds_down_and_the_remainder_follows_the_divisor() {
        for (a, b, quotient, rest) in [
            (7, 2, 3, 1),
            (-7, 2, -4, 1),
            (7, -2, -4, -1),
            (-7, -2, 3, -1),
        ] {
            assert_eq!(binary("floordiv", a, b), quotient.into());
            assert_eq!(binary("mod", a, b), rest.into());
        }
        assert_eq!(binary("floordiv", -7.5, 2), (-4.0).into());
        assert_eq!(binary("floordiv", i64::MIN, -1), i64::MIN.into());
        let error = compute("executorch_prim::mod.Scalar", &[1.into(), 0.into()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn comparisons_give_booleans() {
        assert_eq!(binary("eq", 2, 2.0), true.into());
        assert_eq!(binary("lt", 2, 2), false.into());
        assert_eq!(binary("ge", 2, 2), true.into());
        assert_eq!(binary("eq", true, true), true.into());
    }

    #[test]
    fn rounding_gives_integers_and_halves_go_to_the_even_one() {
        for (operator, number, expected) in [
            ("round", 2.5, 2),
            ("round", 3.5, 4),
            ("round", -0.5, 0),
            ("ceil", 1.1, 2),
            ("floor", -1.1, -2),
            ("trunc", -1.9, -1),
        ] {
            let operator = format!("executorch_prim::{operator}.Scalar");
            assert_eq!(
                compute(&operator, &[number.into()]).unwrap(),
                expected.into()
            );
        }
        assert_eq!(
            compute("executorch_prim::sym_float.Scalar", &[3.into()]).unwrap(),
            3.0.into()
        );
        assert_eq!(
            compute("executorch_prim::neg.Scalar", &[3.into()]).unwrap(),
            (-3).into()
        );
    }

    #[test]
    fn a_choice_keeps_the_kind_of_what_is_chosen() {
        let chosen = |b: bool| {
            compute(
                "executorch_prim::sym_ite.Scalar",
                &[b.into(), 1.into(), 2.5.into()],
            )
            .unwrap()
        };
        assert_eq!((chosen(true), chosen(false)), (1.into(), 2.5.into()));
    }

    #[test]
    fn sizes_and_elements_of_tensors_become_numbers() {
        let tensor = Tensor::from_slice(&[1.5f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let number = |operator, arguments| match run(operator, arguments).unwrap().pop() {
            Some(Argument::Scalar(value)) => value,
            other => panic!("{other:?} is no number"),
        };
        let size = number("aten::sym_size.int", vec![(&tensor).into(), (-1).into()]);
        assert_eq!(size, 3.into());
        assert_eq!(number("aten::sym_numel", vec![(&tensor).into()]), 6.into());
        let first = number("aten::_local_scalar_dense", vec![(&tensor).into()]);
        assert_eq!(first, 1.5.into());
        let truth = Tensor::from_slice(&[Bool::from(true)], &[]).unwrap();
        let first = number("aten::_local_scalar_dense", vec![truth.into()]);
        assert_eq!(first, true.into());
        let wrong = run("aten::sym_size.int", vec![tensor.into(), 2.into()]);
        assert!(wrong.is_err());
    }

    #[test]
    fn a_view_has_the_elements_in_logical_order() {
        let size: &[i64] = &[-1];
        let out = || Tensor::zeros(DType::U8, &[0]).unwrap().into();
        let view = |tensor: Tensor| {
            let arguments = vec![tensor.into(), size.into(), out()];
            let results = run("executorch_prim::et_view.default", arguments).unwrap();
            results[2].tensor().unwrap().data::<u8>().unwrap().to_vec()
        };
        let rows = Tensor::from_slice(&[0u8, 1, 2, 3, 4, 5], &[2, 3]).unwrap();
        assert_eq!(view(rows), [0, 1, 2, 3, 4, 5]);
        let bytes = [0, 3, 1, 4, 2, 5];
        let columns = Tensor::from_bytes(DType::U8, &[2, 3], &[1, 0], &bytes).unwrap();
        assert_eq!(view(columns), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_row_of_results_is_written_at_its_index() {
        let results = Tensor::from_slice(&[1f32, 2.0, 0.0, 0.0], &[2, 2]).unwrap();
        let row = Tensor::from_slice(&[3f32, 4.0], &[2]).unwrap();
        let name = "executorch_prim::et_copy_index.tensor";
        let done = run(name, vec![(&results).into(), row.into(), 1.into()]).unwrap();
        let done = done[0].tensor().unwrap();
        assert_eq!(done.data::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        let wide = Tensor::zeros(DType::F32, &[3]).unwrap();
        assert!(run(name, vec![results.into(), wide.into(), 1.into()]).is_err());
    }
}
