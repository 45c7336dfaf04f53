//! Functions of one operand.

use thalweg_core::{Bool, DType, KernelCall, KernelRegistry, Result, ensure};

use crate::dtype::cast::cast_scalar;
use crate::dtype::compute::dispatch_compute;
use crate::dtype::number::{Number, Ordered};
use crate::dtype::promotion::to_float;
use crate::elementwise::functions::{FastTrigonometry, Functions};
use crate::elementwise::{Elementwise, each, each_with_fast_path, elementwise, tensor};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    register_fractional(registry)?;
    register_angles(registry)?;
    register_of_own_type(registry)?;
    register_others(registry)
}

/// Functions with fractional results.
fn register_fractional(registry: &mut KernelRegistry) -> Result<()> {
    /// Functions whose results are fractions; integers count as f32.
    macro_rules! of_floats {
        ($group:ident: $($name:literal => |$x:ident| $body:expr;)*) => {
            $(registry.add(elementwise(
                concat!("aten::", $name, ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
                |call| {
                    let op = of_float(call)?;
                    dispatch_compute!(op.common, $group => C, {
                        op.run(&each(|$x: C| $body))
                    })
                },
            )?);)*
        };
    }
    of_floats! { float_complex:
        "acos" => |x| x.acos();
        "acosh" => |x| x.acosh();
        "asin" => |x| x.asin();
        "atan" => |x| x.atan();
        "cosh" => |x| x.cosh();
        "log" => |x| x.ln();
        "log10" => |x| x.log10();
        "log2" => |x| x.log2();
        "sinh" => |x| x.sinh();
        "reciprocal" => |x| C::ONE / x;
        "rsqrt" => |x| C::ONE / x.sqrt();
        "sqrt" => |x| x.sqrt();
        "tan" => |x| x.tan();
    }
    of_floats! { float:
        "erf" => |x| x.error_function();
        "expm1" => |x| x.exp_m1();
        "log1p" => |x| x.ln_1p();
    }

    /// Functions that floats have better ways for than complex numbers.
    macro_rules! of_floats_or_complex {
        ($($name:literal => |$x:ident| $float:expr, $complex:expr;)*) => {
            $(registry.add(elementwise(
                concat!("aten::", $name, ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
                |call| {
                    let op = of_float(call)?;
                    if op.common.is_complex() {
                        return dispatch_compute!(op.common, complex => C, {
                            op.run(&each(|$x: C| $complex))
                        });
                    }
                    dispatch_compute!(op.common, float => C, {
                        op.run(&each(|$x: C| $float))
                    })
                },
            )?);)*
        };
    }
    of_floats_or_complex! {
        "exp" => |x| x.exponential(), x.exp();
        "sigmoid" => |x| x.logistic(), C::ONE / (C::ONE + (-x).exp());
        "asinh" => |x| x.inverse_hyperbolic_sine(), x.asinh();
        "atanh" => |x| x.inverse_hyperbolic_tangent(), x.atanh();
        "tanh" => |x| x.hyperbolic_tangent(), x.tanh();
    }
    Ok(())
}

/// Sine and cosine, which have a fast path.
fn register_angles(registry: &mut KernelRegistry) -> Result<()> {
    /// Functions of angles.
    macro_rules! of_angles {
        ($($name:literal => |$x:ident| $short:expr, $long:expr;)*) => {
            $(registry.add(elementwise(
                concat!("aten::", $name, ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
                |call| {
                    let op = of_float(call)?;
                    if op.common.is_complex() {
                        return dispatch_compute!(op.common, complex => C, {
                            op.run(&each(|$x: C| $long))
                        });
                    }
                    dispatch_compute!(op.common, float => C, {
                        if C::HAS_FAST_PATH {
                            return op.run(&each_with_fast_path(
                                |x: C| x.has_fast_angle(),
                                |$x: C| $short,
                                |$x: C| $long,
                            ));
                        }
                        op.run(&each(|$x: C| $long))
                    })
                },
            )?);)*
        };
    }
    of_angles! {
        "cos" => |x| x.fast_cosine(), x.cos();
        "sin" => |x| x.fast_sine(), x.sin();
    }
    Ok(())
}

/// Functions with results of the operand's type, or boolean ones.
fn register_of_own_type(registry: &mut KernelRegistry) -> Result<()> {
    /// Rounding to integers, which changes nothing where the operand has integers.
    macro_rules! rounding {
        ($($name:literal => |$x:ident| $body:expr;)*) => {
            $(registry.add(elementwise(
                concat!("aten::", $name, ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
                |call| {
                    let op = of_own_type(call)?;
                    if !op.common.is_float() {
                        return dispatch_compute!(op.common, integer => C, {
                            op.run(&each(|x: C| x))
                        });
                    }
                    dispatch_compute!(op.common, float => C, {
                        op.run(&each(|$x: C| $body))
                    })
                },
            )?);)*
        };
    }
    rounding! {
        "ceil" => |x| x.ceil();
        "floor" => |x| x.floor();
        "round" => |x| x.round_ties_even();
        "trunc" => |x| x.trunc();
    }

    /// Functions whose results are of the operand's type, or boolean.
    macro_rules! of_own {
        ($group:ident: $($name:literal => |$x:ident| $body:expr;)*) => {
            $(registry.add(elementwise(
                concat!("aten::", $name, ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
                |call| {
                    let op = of_own_type(call)?;
                    dispatch_compute!(op.common, $group => C, {
                        op.run(&each(|$x: C| $body))
                    })
                },
            )?);)*
        };
    }
    of_own! { real:
        "sign" => |x| Ordered::sign(x);
    }
    of_own! { number:
        "isinf" => |x| Bool::from(Number::is_infinite(x));
        "isnan" => |x| Bool::from(Number::is_nan(x));
    }
    Ok(())
}

/// Functions that are more than one expression.
fn register_others(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(elementwise(
        "aten::_conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let op = of_own_type(call)?;
            if !op.common.is_complex() {
                return dispatch_compute!(op.common, real => C, {
                    op.run(&each(|x: C| x))
                });
            }
            dispatch_compute!(op.common, complex => C, {
                op.run(&each(|x: C| x.conj()))
            })
        },
    )?);
    registry.add(elementwise(
        "aten::round.decimals_out(Tensor self, *, int decimals, Tensor(a!) out) -> Tensor(a!)",
        round_to,
    )?);
    registry.add(elementwise(
        "aten::abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        abs,
    )?);

    registry.add(elementwise(
        "aten::neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let op = of_own_type(call)?;
            ensure!(
                op.common != DType::Bool,
                Unsupported,
                "booleans cannot be negated as numbers"
            );
            dispatch_compute!(op.common, number => C, {
                op.run(&each(|x: C| Number::neg(x)))
            })
        },
    )?);
    registry.add(elementwise(
        "aten::gelu.out(Tensor self, *, str approximate=\"none\", Tensor(a!) out) -> Tensor(a!)",
        gelu,
    )?);
    registry.add(elementwise(
        "aten::elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, \
         Tensor(a!) out) -> Tensor(a!)",
        elu,
    )?);
    registry.add(elementwise(
        "aten::leaky_relu.out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) \
         -> Tensor(a!)",
        leaky_relu,
    )?);
    registry.add(elementwise(
        "aten::logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)",
        logit,
    )?);
    Ok(())
}

fn of_own_type<'a>(call: &'a KernelCall<'_>) -> Result<Elementwise<'a, 1>> {
    Elementwise::promoted(call, [tensor(call, 0)?], 1)
}

fn of_float<'a>(call: &'a KernelCall<'_>) -> Result<Elementwise<'a, 1>> {
    let common = to_float(call.tensor(0)?.dtype());
    Elementwise::of_type(call, [tensor(call, 0)?], 1, common)
}

fn abs(call: &KernelCall<'_>) -> Result<()> {
    let op = of_own_type(call)?;
    if op.common.is_complex() {
        return dispatch_compute!(op.common, complex => C, {
            op.run(&each(|x: C| x.norm()))
        });
    }
    dispatch_compute!(op.common, real => C, { op.run(&each(|x: C| Ordered::abs(x))) })
}

/// Rounds to a number of decimals; a negative one rounds to tens, hundreds and so on.
fn round_to(call: &KernelCall<'_>) -> Result<()> {
    let op = Elementwise::promoted(call, [tensor(call, 0)?], 2)?;
    let decimals = call.int(1)?;
    if !op.common.is_float() {
        ensure!(
            decimals == 0,
            Unsupported,
            "integers are not rounded to {decimals} decimals"
        );
        return dispatch_compute!(op.common, integer => C, {
            op.run(&each(|x: C| x))
        });
    }
    let power = decimals.unsigned_abs().min(400) as i32;
    dispatch_compute!(op.common, float => C, {
        let scale = C::powi(10.0, power);
        op.run(&each(move |x: C| match decimals {
            0 => x.round_ties_even(),
            1.. => (x * scale).round_ties_even() / scale,
            _ => (x / scale).round_ties_even() * scale,
        }))
    })
}

fn gelu(call: &KernelCall<'_>) -> Result<()> {
    let is_tanh = match call.optional_string(1)? {
        None | Some("none") => false,
        Some("tanh") => true,
        Some(other) => thalweg_core::bail!(Operator, "there is no approximation `{other}`"),
    };
    let op = Elementwise::promoted(call, [tensor(call, 0)?], 2)?;
    dispatch_compute!(op.common, float => C, {
        if is_tanh {
            op.run(&each(|x: C| x.gelu_tanh()))
        } else {
            op.run(&each(|x: C| x.gelu()))
        }
    })
}

fn elu(call: &KernelCall<'_>) -> Result<()> {
    let op = Elementwise::promoted(call, [tensor(call, 0)?], 4)?;
    let (alpha, scale) = (call.double(1)?, call.double(2)?);
    let (negative, input_scale) = (alpha * scale, call.double(3)?);
    dispatch_compute!(op.common, float => C, {
        let (negative, scale) = (negative as C, scale as C);
        let input_scale = input_scale as C;
        op.run(&each(move |x: C| {
            if x < 0.0 {
                (x * input_scale).exp_m1() * negative
            } else {
                x * scale
            }
        }))
    })
}

fn leaky_relu(call: &KernelCall<'_>) -> Result<()> {
    let op = Elementwise::promoted(call, [tensor(call, 0)?], 2)?;
    let slope = call.scalar(1)?;
    dispatch_compute!(op.common, float => C, {
        let slope = cast_scalar::<C>(slope);
        op.run(&each(move |x: C| if x > 0.0 { x } else { x * slope }))
    })
}

fn logit(call: &KernelCall<'_>) -> Result<()> {
    let eps = call.optional_double(1)?;
    let common = to_float(call.tensor(0)?.dtype());
    let op = Elementwise::of_type(call, [tensor(call, 0)?], 2, common)?;
    dispatch_compute!(common, float => C, {
        let (low, high) = match eps {
            Some(eps) => (eps as C, 1.0 - eps as C),
            None => (C::NEG_INFINITY, C::INFINITY),
        };
        op.run(&each(move |x: C| {
            let x = x.max_nan(low).min_nan(high);
            (x / (1.0 - x)).ln()
        }))
    })
}
