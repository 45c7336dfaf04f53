//! Sums, products, quotients and powers of two operands.

use std::sync::atomic::{AtomicBool, Ordering};

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, Scalar, bail, bf16, ensure, f16};

use crate::dtype::compute::{constant, dispatch_compute};
use crate::dtype::fast::FastArithmetic;
use crate::dtype::number::{Number, Ordered};
use crate::dtype::promotion::to_float;
use crate::elementwise::{
    Elementwise, Operand, elementwise, pairs, pairs_with_fast_path, promote, scalar, tensor,
};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    register_sums(registry)?;
    register_quotients(registry)?;
    register_powers(registry)
}

/// Sums, differences and products.
fn register_sums(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(elementwise(
        "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| add(call, tensor(call, 1)?),
    )?);
    registry.add(elementwise(
        "aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| add(call, scalar(call, 1)?),
    )?);
    registry.add(elementwise(
        "aten::sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| subtract(call, tensor(call, 0)?, tensor(call, 1)?),
    )?);
    registry.add(elementwise(
        "aten::sub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| subtract(call, tensor(call, 0)?, scalar(call, 1)?),
    )?);
    registry.add(elementwise(
        "aten::rsub.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| subtract(call, scalar(call, 1)?, tensor(call, 0)?),
    )?);
    registry.add(elementwise(
        "aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        |call| multiply(call, tensor(call, 1)?),
    )?);
    registry.add(elementwise(
        "aten::mul.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
        |call| multiply(call, scalar(call, 1)?),
    )?);
    Ok(())
}

/// Quotients and remainders.
fn register_quotients(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(elementwise(
        "aten::div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        |call| divide(call, tensor(call, 1)?, 2),
    )?);
    registry.add(elementwise(
        "aten::div.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
        |call| divide(call, scalar(call, 1)?, 2),
    )?);
    registry.add(elementwise(
        "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| divide_and_round(call, tensor(call, 1)?),
    )?);
    registry.add(elementwise(
        "aten::div.Scalar_mode_out(Tensor self, Scalar other, *, str? rounding_mode, \
         Tensor(a!) out) -> Tensor(a!)",
        |call| divide_and_round(call, scalar(call, 1)?),
    )?);
    registry.add(elementwise(
        "aten::floor_divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        |call| divide_floor(call, tensor(call, 1)?, 2),
    )?);
    registry.add(elementwise(
        "aten::fmod.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        |call| fmod(call, tensor(call, 1)?, 2),
    )?);
    registry.add(elementwise(
        "aten::fmod.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
        |call| fmod(call, scalar(call, 1)?, 2),
    )?);
    registry.add(elementwise(
        "aten::remainder.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| remainder(call, tensor(call, 1)?, 2),
    )?);
    registry.add(elementwise(
        "aten::remainder.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| remainder(call, scalar(call, 1)?, 2),
    )?);
    Ok(())
}

/// Powers, angles, and the larger and smaller of two.
fn register_powers(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(elementwise(
        "aten::pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| power(call, tensor(call, 0)?, tensor(call, 1)?),
    )?);
    registry.add(elementwise(
        "aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)",
        |call| power(call, scalar(call, 0)?, tensor(call, 1)?),
    )?);
    registry.add(elementwise(
        "aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| power_of_scalar(call, call.scalar(1)?),
    )?);
    registry.add(elementwise(
        "aten::atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        atan2,
    )?);
    registry.add(elementwise(
        "aten::maximum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        maximum,
    )?);
    registry.add(elementwise(
        "aten::minimum.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        minimum,
    )?);
    Ok(())
}

fn add(call: &KernelCall<'_>, other: Operand<'_>) -> Result<()> {
    let alpha = call.scalar(2)?;
    let op = Elementwise::promoted(call, [tensor(call, 0)?, other], 3)?;
    let common = op.common;
    check_alpha(alpha, common)?;
    dispatch_compute!(common, number => C, {
        if is_one(alpha) {
            return op.run(&pairs(|a: C, b: C| a.add(b)));
        }
        let alpha = constant::<C>(alpha, common)?;
        op.run(&pairs(move |a: C, b: C| a.add(alpha.mul(b))))
    })
}

fn subtract(call: &KernelCall<'_>, from: Operand<'_>, other: Operand<'_>) -> Result<()> {
    let alpha = call.scalar(2)?;
    let is_bool = |operand: &Operand<'_>| promote(&[*operand]).ok() == Some(DType::Bool);
    ensure!(
        !(is_bool(&from) && is_bool(&other)),
        Unsupported,
        "booleans cannot be subtracted"
    );
    let op = Elementwise::promoted(call, [from, other], 3)?;
    let common = op.common;
    check_alpha(alpha, common)?;
    dispatch_compute!(common, number => C, {
        if is_one(alpha) {
            return op.run(&pairs(|a: C, b: C| a.sub(b)));
        }
        let alpha = constant::<C>(alpha, common)?;
        op.run(&pairs(move |a: C, b: C| a.sub(alpha.mul(b))))
    })
}

fn is_one(alpha: Scalar) -> bool {
    alpha.to_f64() == 1.0
}

fn check_alpha(alpha: Scalar, common: DType) -> Result<()> {
    let fits = match alpha {
        Scalar::Double(_) => common.is_float() || common.is_complex(),
        Scalar::Bool(_) => common == DType::Bool,
        Scalar::Int(_) => true,
    };
    ensure!(
        fits,
        Operator,
        "alpha is {}, which a sum of {common} cannot be scaled by",
        alpha.kind_name()
    );
    Ok(())
}

fn multiply(call: &KernelCall<'_>, other: Operand<'_>) -> Result<()> {
    let op = Elementwise::promoted(call, [tensor(call, 0)?, other], 2)?.with_precise_scalars();
    dispatch_compute!(op.common, number => C, {
        op.run(&pairs(|a: C, b: C| a.mul(b)))
    })
}

/// Divides operands. Integers are divided as floats.
fn divide(call: &KernelCall<'_>, other: Operand<'_>, out: usize) -> Result<()> {
    let operands = [tensor(call, 0)?, other];
    let common = to_float(promote(&operands)?);
    let op = Elementwise::of_type(call, operands, out, common)?.with_precise_scalars();
    dispatch_compute!(common, float_complex => C, {
        op.run(&pairs(|a: C, b: C| a / b))
    })
}

fn divide_and_round(call: &KernelCall<'_>, other: Operand<'_>) -> Result<()> {
    match call.optional_string(2)? {
        None => divide(call, other, 3),
        Some("floor") => divide_floor(call, other, 3),
        Some("trunc") => divide_trunc(call, other, 3),
        Some(mode) => bail!(Operator, "there is no rounding mode `{mode}`"),
    }
}

/// Operators that divide, and for which integers have no answer if they divide by 0.
macro_rules! division {
    ($($name:ident: $method:ident $(or $short:ident)? $(, $precise:ident)?;)*) => {
        $(fn $name(call: &KernelCall<'_>, other: Operand<'_>, out: usize) -> Result<()> {
            let op =
                Elementwise::promoted(call, [tensor(call, 0)?, other], out)? $(.$precise())?;
            let common = op.common;
            if common.is_float() {
                return dispatch_compute!(common, float => C, {
                    $(if C::HAS_FAST_PATH {
                        return op.run(&pairs_with_fast_path(
                            |a: C, b: C| a.has_fast_quotient(b),
                            |a: C, b: C| a.$short(b),
                            |a: C, b: C| a.$method(b),
                        ));
                    })?
                    op.run(&pairs(|a: C, b: C| a.$method(b)))
                });
            }
            let by_zero = AtomicBool::new(false);
            dispatch_compute!(common, integer => C, {
                op.run(&pairs(|a: C, b: C| {
                    if b == 0 {
                        by_zero.store(true, Ordering::Relaxed);
                    }
                    a.$method(b)
                }))?;
            });
            ensure!(
                !by_zero.into_inner(),
                Operator,
                "division of an integer by zero"
            );
            Ok(())
        })*
    };
}

division! {
    divide_floor: quotient_floor or fast_quotient_floor, with_precise_scalars;
    divide_trunc_wide: quotient_trunc, with_precise_scalars;
    fmod: fmod or fast_fmod;
    remainder: remainder or fast_remainder;
}

/// Divides without the fraction. PyTorch rounds a quotient of halves before, unless it divides by a number.
fn divide_trunc(call: &KernelCall<'_>, other: Operand<'_>, out: usize) -> Result<()> {
    let operands = [tensor(call, 0)?, other];
    let is_number = !matches!(other, Operand::Tensor(tensor) if tensor.rank() > 0);
    let round: fn(f32) -> f32 = match promote(&operands)? {
        DType::F16 if !is_number => |quotient| f16::from_f32(quotient).to_f32(),
        DType::BF16 if !is_number => |quotient| bf16::from_f32(quotient).to_f32(),
        _ => return divide_trunc_wide(call, other, out),
    };
    Elementwise::promoted(call, operands, out)?
        .with_precise_scalars()
        .run(&pairs(|a: f32, b: f32| round(a / b).trunc()))
}

fn power(call: &KernelCall<'_>, base: Operand<'_>, exponent: Operand<'_>) -> Result<()> {
    let op = Elementwise::promoted(call, [base, exponent], 2)?;
    if op.common.is_float() {
        return power_of_floats(op);
    }
    dispatch_compute!(op.common, integer => C, {
        op.run(&pairs(|a: C, b: C| a.power(b)))
    })
}

fn power_of_floats(op: Elementwise<'_, 2>) -> Result<()> {
    dispatch_compute!(op.common, float => C, {
        if C::HAS_FAST_PATH {
            return op.run(&pairs_with_fast_path(
                |a: C, b: C| a.has_fast_power(b),
                |a: C, b: C| a.fast_power(b),
                |a: C, b: C| a.power(b),
            ));
        }
        op.run(&pairs(|a: C, b: C| a.power(b)))
    })
}

/// Raises all elements to one exponent, often one for which there is a better way than a power.
fn power_of_scalar(call: &KernelCall<'_>, exponent: Scalar) -> Result<()> {
    let op = Elementwise::promoted(call, [tensor(call, 0)?, Operand::Scalar(exponent)], 2)?;
    let common = op.common;
    if !common.is_float() {
        ensure!(
            exponent.to_i64() >= 0,
            Operator,
            "an integer cannot be raised to the power of {exponent}"
        );
        return dispatch_compute!(common, integer => C, {
            op.run(&pairs(|a: C, b: C| a.power(b)))
        });
    }
    dispatch_compute!(common, float => C, {
        let exponent = exponent.to_f64();
        if exponent == 2.0 {
            op.run(&pairs(|a: C, _: C| a * a))
        } else if exponent == 3.0 {
            op.run(&pairs(|a: C, _: C| a * a * a))
        } else if exponent == 0.5 {
            op.run(&pairs(|a: C, _: C| a.sqrt()))
        } else if exponent == -0.5 {
            op.run(&pairs(|a: C, _: C| 1.0 / a.sqrt()))
        } else if exponent == -1.0 {
            op.run(&pairs(|a: C, _: C| 1.0 / a))
        } else if exponent == -2.0 {
            op.run(&pairs(|a: C, _: C| 1.0 / (a * a)))
        } else {
            power_of_floats(op)
        }
    })
}

fn atan2(call: &KernelCall<'_>) -> Result<()> {
    let operands = [tensor(call, 0)?, tensor(call, 1)?];
    let common = to_float(promote(&operands)?);
    let op = Elementwise::of_type(call, operands, 2, common)?;
    dispatch_compute!(common, float => C, {
        op.run(&pairs(|a: C, b: C| a.atan2(b)))
    })
}

fn maximum(call: &KernelCall<'_>) -> Result<()> {
    let op = Elementwise::promoted(call, [tensor(call, 0)?, tensor(call, 1)?], 2)?;
    dispatch_compute!(op.common, real => C, {
        op.run(&pairs(|a: C, b: C| a.max_nan(b)))
    })
}

fn minimum(call: &KernelCall<'_>) -> Result<()> {
    let op = Elementwise::promoted(call, [tensor(call, 0)?, tensor(call, 1)?], 2)?;
    dispatch_compute!(op.common, real => C, {
        op.run(&pairs(|a: C, b: C| a.min_nan(b)))
    })
}
