//! Creation of tensors: filled ones, and ranges of numbers.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, Scalar, TensorViewMut, ensure};

use crate::dtype::cast::{CastFrom, cast_scalar};
use crate::dtype::dispatch::dispatch;
use crate::elementwise::copy_converted;
use crate::layout::dims::sizes_from;
use crate::operator::pure;
use crate::simd::vectorized;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let sizes = sizes_from(call.int_list(0)?)?;
            fill(&mut call.output(2, &sizes)?, call.scalar(1)?)
        },
    )?);
    registry.add(pure(
        "aten::full_like.out(Tensor self, Scalar fill_value, *, \
         MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let like = call.tensor(0)?;
            fill(&mut call.output(3, like.sizes())?, call.scalar(1)?)
        },
    )?);
    registry.add(pure(
        "aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let sizes = sizes_from(call.int_list(0)?)?;
            fill(&mut call.output(1, &sizes)?, Scalar::Int(0))
        },
    )?);
    registry.add(pure(
        "aten::zeros_like.out(Tensor self, *, MemoryFormat? memory_format=None, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let like = call.tensor(0)?;
            fill(&mut call.output(2, like.sizes())?, Scalar::Int(0))
        },
    )?);
    registry.add(pure(
        "aten::ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let sizes = sizes_from(call.int_list(0)?)?;
            fill(&mut call.output(1, &sizes)?, Scalar::Int(1))
        },
    )?);
    registry.add(pure(
        "aten::fill.Scalar_out(Tensor self, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let like = call.tensor(0)?;
            fill(&mut call.output(2, like.sizes())?, call.scalar(1)?)
        },
    )?);
    registry.add(pure(
        "aten::fill.Tensor_out(Tensor self, Tensor value, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let (like, value) = (call.tensor(0)?, call.tensor(1)?);
            ensure!(
                value.rank() == 0,
                Operator,
                "a tensor is filled with a tensor without dimensions, not with {value:?}"
            );
            copy_converted(call, value, &mut call.output(2, like.sizes())?)
        },
    )?);
    register_unfilled(registry)
}

/// Numbers, and tensors that are not filled or count.
fn register_unfilled(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::scalar_tensor.out(Scalar s, *, Tensor(a!) out) -> Tensor(a!)",
        |call| fill(&mut call.output(1, &[])?, call.scalar(0)?),
    )?);
    registry.add(pure(
        "aten::empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| {
            let sizes = sizes_from(call.int_list(0)?)?;
            call.output(2, &sizes).map(drop)
        },
    )?);
    registry.add(pure(
        "dim_order_ops::_empty_dim_order.out(int[] size, *, int[]? dim_order=None, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let sizes = sizes_from(call.int_list(0)?)?;
            call.output(2, &sizes).map(drop)
        },
    )?);
    registry.add(pure(
        "aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)",
        |call| arange(call, Scalar::Int(0), call.scalar(0)?, Scalar::Int(1), 1),
    )?);
    registry.add(pure(
        "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| arange(call, call.scalar(0)?, call.scalar(1)?, call.scalar(2)?, 3),
    )?);
    Ok(())
}

fn fill(out: &mut TensorViewMut<'_>, value: Scalar) -> Result<()> {
    dispatch!(out.dtype(), all => T, {
        let value: T = cast_scalar(value);
        // Zeros, most often: what has equal bytes is filled by bytes, for which there is no faster way.
        match bytemuck::bytes_of(&value) {
            [first, rest @ ..] if rest.iter().all(|byte| byte == first) => {
                out.bytes_mut().fill(*first);
            }
            _ => {
                let out = out.data_mut::<T>()?;
                vectorized(
                    #[inline(always)]
                    || out.fill(value),
                );
            }
        }
    });
    Ok(())
}

/// `start`, `start + step`, ... up to but without `end`. Integers are counted as integers, and
/// floats as f64, each from the start, so that errors do not add up.
fn arange(
    call: &KernelCall<'_>,
    start: Scalar,
    end: Scalar,
    step: Scalar,
    out: usize,
) -> Result<()> {
    let is_int = |scalar| !matches!(scalar, Scalar::Double(_));
    let fits = match step {
        Scalar::Double(step) => step != 0.0 && !step.is_nan(),
        step => step.to_i64() != 0,
    };
    ensure!(fits, Operator, "a range cannot have the step {step}");
    let in_integers = is_int(start) && is_int(end) && is_int(step);
    let len = if in_integers {
        let span = i128::from(end.to_i64()) - i128::from(start.to_i64());
        let step = i128::from(step.to_i64());
        let len = (span + step - step.signum()) / step;
        usize::try_from(len)
            .ok()
            .filter(|_| span.signum() * step.signum() >= 0)
    } else {
        let len = ((end.to_f64() - start.to_f64()) / step.to_f64()).ceil();
        // Beyond 2^53 there would be no memory either.
        (0.0..9e15).contains(&len).then_some(len as usize)
    };
    let Some(len) = len else {
        thalweg_core::bail!(
            Operator,
            "there is no range from {start} to {end} with step {step}"
        );
    };
    let mut out = call.output(out, &[len])?;
    let counts_integers = out.dtype().is_integer() || out.dtype() == DType::Bool;
    dispatch!(out.dtype(), all => T, {
        let out = out.data_mut::<T>()?;
        if counts_integers {
            let (mut value, step) = (start.to_i64(), step.to_i64());
            for out in out {
                *out = T::cast_from(value);
                value = value.wrapping_add(step);
            }
        } else {
            let (start, step) = (start.to_f64(), step.to_f64());
            for (index, out) in out.iter_mut().enumerate() {
                *out = T::cast_from(start + step * index as f64);
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Argument, Bool, Tensor, f16};

    fn run(operator: &str, arguments: &[Argument], out: DType, rank: usize) -> Result<Tensor> {
        let mut registry = KernelRegistry::new();
        register(&mut registry)?;
        let mut arguments = arguments.to_vec();
        arguments.push(Tensor::zeros(out, &[0; 8][..rank])?.into());
        let position = arguments.len() - 1;
        let results = registry.get(operator).expect(operator).invoke(arguments)?;
        results[position].tensor().cloned()
    }

    fn range(start: Argument, end: Argument, step: Argument, out: DType) -> Result<Tensor> {
        run("aten::arange.start_out", &[start, end, step], out, 1)
    }

    #[test]
    fn a_tensor_is_filled_with_a_number_of_its_type() {
        let sizes: Argument = (&[2i64, 2][..]).into();
        let full =
            |value: Argument, dtype| run("aten::full.out", &[sizes.clone(), value], dtype, 2);
        let out = full(2.7.into(), DType::I64).unwrap();
        assert_eq!(
            (out.sizes(), out.data::<i64>().unwrap()),
            (&[2, 2][..], &[2; 4][..])
        );
        let out = full(f64::NEG_INFINITY.into(), DType::F16).unwrap();
        assert_eq!(out.data::<f16>().unwrap(), [f16::NEG_INFINITY; 4]);
        let out = full(5.into(), DType::Bool).unwrap();
        assert_eq!(out.data::<Bool>().unwrap(), [Bool::from(true); 4]);
        let sizes: Argument = (&[2i64, -1][..]).into();
        let error = run("aten::zeros.out", &[sizes], DType::F32, 2).unwrap_err();
        assert_eq!(error.message(), "[2, -1] is not a shape");
    }

    #[test]
    fn a_number_becomes_a_tensor_without_dimensions() {
        let out = run("aten::scalar_tensor.out", &[0.1.into()], DType::F32, 0).unwrap();
        assert_eq!(
            (out.sizes().len(), out.data::<f32>().unwrap()),
            (0, &[0.1][..])
        );
    }

    #[test]
    fn a_range_ends_before_its_end() {
        let out = range(0.into(), 5.into(), 2.into(), DType::I64).unwrap();
        assert_eq!(out.data::<i64>().unwrap(), [0, 2, 4]);
        let out = range(3.into(), 0.into(), (-1).into(), DType::I32).unwrap();
        assert_eq!(out.data::<i32>().unwrap(), [3, 2, 1]);
        let out = range(0.0.into(), 0.5.into(), 0.1.into(), DType::F32).unwrap();
        assert_eq!(out.data::<f32>().unwrap(), [0.0, 0.1, 0.2, 0.3, 0.4]);
        assert_eq!(
            range(2.into(), 2.into(), 1.into(), DType::F32)
                .unwrap()
                .sizes(),
            [0]
        );
        // Of fractions in integers, PyTorch drops the fraction of the step.
        let out = range(0.into(), 1.into(), 0.3.into(), DType::I64).unwrap();
        assert_eq!(out.data::<i64>().unwrap(), [0; 4]);
    }

    #[test]
    fn a_range_that_never_ends_is_an_error() {
        for (start, end, step) in [(0, 5, 0), (0, 5, -1), (i64::MAX, i64::MIN, 1)] {
            assert!(range(start.into(), end.into(), step.into(), DType::I64).is_err());
        }
        for step in [f64::NAN, 0.0, 1e-300] {
            assert!(range(0.into(), 5.into(), step.into(), DType::F32).is_err());
        }
    }
}
