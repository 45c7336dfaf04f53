//! Comparisons, and logic on booleans and bits.

use thalweg_core::{Bool, DType, KernelCall, KernelRegistry, Result};

use crate::dtype::compute::dispatch_compute;
use crate::dtype::number::Integer;
use crate::elementwise::{Elementwise, Operand, each, elementwise, pairs, scalar, tensor};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    /// Registers an operator of two tensors, and of a tensor and a number.
    macro_rules! operators {
        ($scalar:literal: $($name:literal => $run:path;)*) => {
            $(
                registry.add(elementwise(
                    concat!("aten::", $name, ".Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| $run(call, tensor(call, 1)?),
                )?);
                registry.add(elementwise(
                    concat!("aten::", $name, ".", $scalar, "(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)"),
                    |call| $run(call, scalar(call, 1)?),
                )?);
            )*
        };
    }
    operators! { "Scalar_out":
        "eq" => eq;
        "ne" => ne;
        "lt" => lt;
        "le" => le;
        "gt" => gt;
        "ge" => ge;
        "bitwise_and" => bitwise_and;
        "bitwise_or" => bitwise_or;
        "bitwise_xor" => bitwise_xor;
    }
    operators! { "Tensor_Scalar_out":
        "bitwise_left_shift" => bitwise_left_shift;
        "bitwise_right_shift" => bitwise_right_shift;
    }
    macro_rules! logical {
        ($($name:literal => $f:expr;)*) => {
            $(registry.add(elementwise(
                concat!("aten::", $name, ".out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"),
                |call| logical(call, $f),
            )?);)*
        };
    }
    logical! {
        "logical_and" => |a, b| a & b;
        "logical_or" => |a, b| a | b;
        "logical_xor" => |a, b| a ^ b;
    }
    registry.add(elementwise(
        "aten::logical_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            Elementwise::of_type(call, [tensor(call, 0)?], 1, DType::Bool)?
                .run(&each(|a: Bool| Bool::from(!a.get())))
        },
    )?);
    registry.add(elementwise(
        "aten::bitwise_not.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        bitwise_not,
    )?);
    Ok(())
}

/// Operators compare in the type that their operands promote to.
macro_rules! comparison {
    ($($name:ident: $group:ident, $operator:tt;)*) => {
        $(fn $name(call: &KernelCall<'_>, other: Operand<'_>) -> Result<()> {
            let op = Elementwise::promoted(call, [tensor(call, 0)?, other], 2)?;
            dispatch_compute!(op.common, $group => C, {
                op.run(&pairs(|a: C, b: C| Bool::from(a $operator b)))
            })
        })*
    };
}

comparison! {
    eq: number, ==;
    ne: number, !=;
    lt: real, <;
    le: real, <=;
    gt: real, >;
    ge: real, >=;
}

macro_rules! bitwise {
    ($($name:ident: $method:ident;)*) => {
        $(fn $name(call: &KernelCall<'_>, other: Operand<'_>) -> Result<()> {
            let op = Elementwise::promoted(call, [tensor(call, 0)?, other], 2)?;
            dispatch_compute!(op.common, integer => C, {
                op.run(&pairs(|a: C, b: C| a.$method(b)))
            })
        })*
    };
}

bitwise! {
    bitwise_and: bit_and;
    bitwise_or: bit_or;
    bitwise_xor: bit_xor;
    bitwise_left_shift: shift_left;
    bitwise_right_shift: shift_right;
}

fn bitwise_not(call: &KernelCall<'_>) -> Result<()> {
    let op = Elementwise::promoted(call, [tensor(call, 0)?], 1)?;
    if op.common == DType::Bool {
        return op.run(&each(|a: u8| a ^ 1));
    }
    dispatch_compute!(op.common, integer => C, { op.run(&each(|a: C| a.bit_not())) })
}

/// Each operand counts as true where it is not zero, whatever its type.
fn logical(call: &KernelCall<'_>, f: impl Fn(bool, bool) -> bool + Sync) -> Result<()> {
    let operands = [tensor(call, 0)?, tensor(call, 1)?];
    Elementwise::of_type(call, operands, 2, DType::Bool)?
        .run(&pairs(|a: Bool, b: Bool| Bool::from(f(a.get(), b.get()))))
}
