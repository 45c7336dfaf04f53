//! Copies that may convert the element type and the dim order.

use thalweg_core::{KernelCall, KernelRegistry, Movement, Result, StaticArguments};

use crate::elementwise::copy_converted;
use crate::movement;
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(
        pure(
            "dim_order_ops::_to_dim_order_copy.out(Tensor self, *, bool non_blocking=False, \
             int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
            |call| to_copy(call, 3),
        )?
        .with_movement(movement::same),
    );
    registry.add(
        pure(
            "dim_order_ops::_clone_dim_order.out(Tensor self, *, bool non_blocking=False, \
             int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
            |call| to_copy(call, 3),
        )?
        .with_movement(movement::same),
    );
    registry.add(pure(
        "aten::_to_copy.out(Tensor self, *, bool non_blocking=False, \
         MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
        |call| to_copy(call, 3),
    )?);
    registry.add(
        pure(
            "aten::clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) \
             -> Tensor(a!)",
            |call| to_copy(call, 2),
        )?
        .with_movement(movement::same),
    );
    registry.add(pure(
        "aten::copy.out(Tensor self, Tensor src, bool non_blocking=False, *, Tensor(a!) out) \
         -> Tensor(a!)",
        |call| {
            let mut out = call.output(3, call.tensor(0)?.sizes())?;
            copy_converted(call, call.tensor(1)?, &mut out)
        },
    )?);
    registry.add(
        pure(
            "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
            |call| copy_converted(call, call.tensor(1)?, &mut call.in_place(0)?),
        )?
        .with_movement(whole_source),
    );
    Ok(())
}

/// The data movement of `copy_`: all of its source, unless that is repeated.
fn whole_source(call: &StaticArguments<'_>) -> Option<Movement> {
    let (target, source) = (call.shape(0)?, call.shape(1)?);
    (target.sizes == source.sizes).then_some(Movement::Range { from: 1, offset: 0 })
}

/// Copies to the type and dim order of the output.
fn to_copy(call: &KernelCall<'_>, out: usize) -> Result<()> {
    let source = call.tensor(0)?;
    let mut out = call.output(out, source.sizes())?;
    copy_converted(call, source, &mut out)
}
