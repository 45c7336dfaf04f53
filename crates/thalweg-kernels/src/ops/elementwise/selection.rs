//! Selection between operands: by a condition, or by limits.

use thalweg_core::{
    DType, Epilogue, KernelCall, KernelRegistry, Result, Scalar, StaticArguments, ensure,
};

use crate::dtype::compute::{constant, dispatch_compute};
use crate::dtype::number::Ordered;
use crate::elementwise::{
    Elementwise, Operand, each, elementwise, pairs, promote, scalar, tensor, triples,
};
use crate::epilogue::EpilogueOp;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(elementwise(
        "aten::where.self_out(Tensor condition, Tensor self, Tensor other, *, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let (yes, no) = (tensor(call, 1)?, tensor(call, 2)?);
            select(call, 0, yes, no, 3, promote(&[yes, no])?)
        },
    )?);
    registry.add(elementwise(
        "aten::masked_fill.Scalar_out(Tensor self, Tensor mask, Scalar value, *, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let rest = call.tensor(0)?;
            select(
                call,
                1,
                scalar(call, 2)?,
                Operand::Tensor(rest),
                3,
                rest.dtype(),
            )
        },
    )?);
    registry.add(
        elementwise(
            "aten::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) \
             -> Tensor(a!)",
            |call| {
                let min = call.optional_scalar(1)?.map(Operand::Scalar);
                let max = call.optional_scalar(2)?.map(Operand::Scalar);
                clamp(call, min, max)
            },
        )?
        .with_epilogue(clamp_limits),
    );
    registry.add(elementwise(
        "aten::clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let min = call.optional_tensor(1)?.map(Operand::Tensor);
            let max = call.optional_tensor(2)?.map(Operand::Tensor);
            clamp(call, min, max)
        },
    )?);
    registry.add(
        elementwise(
            "aten::hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, \
         Tensor(a!) out) -> Tensor(a!)",
            |call| {
                let operand = call.tensor(0)?;
                let (min, max) = (call.scalar(1)?, call.scalar(2)?);
                limit(call, Operand::Tensor(operand), min, max, operand.dtype())
            },
        )?
        .with_epilogue(hardtanh_limits),
    );
    registry.add(
        elementwise(
            "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
            relu,
        )?
        .with_epilogue(relu_limits),
    );
    Ok(())
}

/// The epilogue that `clamp` with two numbers is, or with one.
fn clamp_limits(call: &StaticArguments<'_>) -> Result<Option<Epilogue>> {
    let bound = |position: usize, without: f32| match call.scalar(position) {
        Some(bound) => Some(bound.to_f64() as f32),
        None => call.is_absent(position).then_some(without),
    };
    Ok(limits(bound(1, f32::NEG_INFINITY), bound(2, f32::INFINITY)))
}

/// The epilogue that `hardtanh` is.
fn hardtanh_limits(call: &StaticArguments<'_>) -> Result<Option<Epilogue>> {
    let bound = |position: usize| call.scalar(position).map(|bound| bound.to_f64() as f32);
    Ok(limits(bound(1), bound(2)))
}

/// The epilogue that `relu` is.
fn relu_limits(_: &StaticArguments<'_>) -> Result<Option<Epilogue>> {
    Ok(limits(Some(0.0), Some(f32::INFINITY)))
}

/// The epilogue of limits, if they are constant. NaN as a limit
/// makes every element NaN, and is left alone.
fn limits(min: Option<f32>, max: Option<f32>) -> Option<Epilogue> {
    let limits = [min?, max?];
    let known = limits.iter().all(|limit| !limit.is_nan());
    known.then(|| EpilogueOp::Clamp(limits).epilogue())
}

/// Selects elements of `yes` where the condition holds, of `no` where it does not.
///
/// The condition is brought into the type of the others, which costs little and saves an own
/// loop.
fn select(
    call: &KernelCall<'_>,
    condition: usize,
    yes: Operand<'_>,
    no: Operand<'_>,
    out: usize,
    common: DType,
) -> Result<()> {
    let condition = call.tensor(condition)?;
    ensure!(
        matches!(condition.dtype(), DType::Bool | DType::U8),
        Operator,
        "a condition must be boolean, not of type {}",
        condition.dtype()
    );
    let operands = [Operand::Tensor(condition), yes, no];
    let op = Elementwise::of_type(call, operands, out, common)?;
    dispatch_compute!(common, number => C, {
        op.run(&triples(|condition: C, yes: C, no: C| {
            if condition == C::default() { no } else { yes }
        }))
    })
}

/// Limits an operand. If the limits cross, the upper one holds.
fn clamp(call: &KernelCall<'_>, min: Option<Operand<'_>>, max: Option<Operand<'_>>) -> Result<()> {
    let operand = tensor(call, 0)?;
    match (min, max) {
        (Some(min @ Operand::Scalar(low)), Some(max @ Operand::Scalar(high))) => {
            let common = promote(&[operand, min, max])?;
            limit(call, operand, low, high, common)
        }
        (Some(min), Some(max)) => {
            let op = Elementwise::promoted(call, [operand, min, max], 3)?;
            dispatch_compute!(op.common, real => C, {
                op.run(&triples(|a: C, min: C, max: C| a.max_nan(min).min_nan(max)))
            })
        }
        (Some(min), None) => {
            let op = Elementwise::promoted(call, [operand, min], 3)?;
            dispatch_compute!(op.common, real => C, {
                op.run(&pairs(|a: C, min: C| a.max_nan(min)))
            })
        }
        (None, Some(max)) => {
            let op = Elementwise::promoted(call, [operand, max], 3)?;
            dispatch_compute!(op.common, real => C, {
                op.run(&pairs(|a: C, max: C| a.min_nan(max)))
            })
        }
        (None, None) => thalweg_core::bail!(Operator, "clamp needs a limit"),
    }
}

/// Limits an operand by two numbers.
fn limit(
    call: &KernelCall<'_>,
    operand: Operand<'_>,
    min: Scalar,
    max: Scalar,
    common: DType,
) -> Result<()> {
    let op = Elementwise::of_type(call, [operand], 3, common)?;
    dispatch_compute!(common, real => C, {
        let (min, max) = (constant::<C>(min, common)?, constant::<C>(max, common)?);
        op.run(&each(move |a: C| a.max_nan(min).min_nan(max)))
    })
}

fn relu(call: &KernelCall<'_>) -> Result<()> {
    let op = Elementwise::promoted(call, [tensor(call, 0)?], 1)?;
    ensure!(
        op.common != DType::Bool,
        Unsupported,
        "booleans have no positive part"
    );
    dispatch_compute!(op.common, real => C, {
        op.run(&each(|a: C| a.max_nan(C::default())))
    })
}
