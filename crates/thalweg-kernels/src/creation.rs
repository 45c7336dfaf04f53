//! Tensors from nothing: filled, counted.

use thalweg_core::Dims;
use thalweg_core::{DType, KernelCall, KernelRegistry, Result, Scalar, TensorViewMut, ensure};

use crate::convert::CastFrom;
use crate::dispatch::dispatch;
use crate::pointwise::copy_converted;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.register(
        "aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let sizes = sizes(call.int_list(0)?)?;
            fill(&mut call.output(2, &sizes)?, call.scalar(1)?)
        },
    )?;
    registry.register(
        "aten::full_like.out(Tensor self, Scalar fill_value, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let like = call.tensor(0)?;
            fill(&mut call.output(3, like.sizes())?, call.scalar(1)?)
        },
    )?;
    registry.register(
        "aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let sizes = sizes(call.int_list(0)?)?;
            fill(&mut call.output(1, &sizes)?, Scalar::Int(0))
        },
    )?;
    registry.register(
        "aten::ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let sizes = sizes(call.int_list(0)?)?;
            fill(&mut call.output(1, &sizes)?, Scalar::Int(1))
        },
    )?;
    registry.register(
        "aten::fill.Scalar_out(Tensor self, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let like = call.tensor(0)?;
            fill(&mut call.output(2, like.sizes())?, call.scalar(1)?)
        },
    )?;
    registry.register(
        "aten::fill.Tensor_out(Tensor self, Tensor value, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let (like, value) = (call.tensor(0)?, call.tensor(1)?);
            ensure!(
                value.rank() == 0,
                Operator,
                "a tensor is filled with a tensor without dimensions, not with {value:?}"
            );
            copy_converted(value, &mut call.output(2, like.sizes())?, call.threads())
        },
    )?;
    registry.register(
        "aten::scalar_tensor.out(Scalar s, *, Tensor(a!) out) -> Tensor(a!)",
        |call| fill(&mut call.output(1, &[])?, call.scalar(0)?),
    )?;
    registry.register(
        "aten::empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let sizes = sizes(call.int_list(0)?)?;
            call.output(2, &sizes).map(drop)
        },
    )?;
    registry.register(
        "dim_order_ops::_empty_dim_order.out(int[] size, *, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let sizes = sizes(call.int_list(0)?)?;
            call.output(2, &sizes).map(drop)
        },
    )?;
    registry.register(
        "aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)",
        |call| arange(call, Scalar::Int(0), call.scalar(0)?, Scalar::Int(1), 1),
    )?;
    registry.register(
        "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)",
        |call| arange(call, call.scalar(0)?, call.scalar(1)?, call.scalar(2)?, 3),
    )
}

/// A shape that a program gives as integers.
fn sizes(list: &[i64]) -> Result<Dims> {
    let mut sizes = Dims::new();
    for &size in list {
        let Ok(size) = usize::try_from(size) else {
            thalweg_core::bail!(Operator, "{list:?} is not a shape");
        };
        sizes.push(size)?;
    }
    Ok(sizes)
}

fn fill(out: &mut TensorViewMut<'_>, value: Scalar) -> Result<()> {
    dispatch!(out.dtype(), all => T, {
        let value = match value {
            Scalar::Int(value) => T::cast_from(value),
            Scalar::Double(value) => T::cast_from(value),
            Scalar::Bool(value) => T::cast_from(thalweg_core::Bool::from(value)),
        };
        out.data_mut::<T>()?.fill(value);
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
