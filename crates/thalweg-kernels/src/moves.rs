//! Operators that, for some arguments, only move a range of memory as it is.
//!
//! Where the memory is a device's, such an operator need not run at all: its result is a part of
//! what it was given. Only the cases are told here; what they move, the kernels move.

use thalweg_core::{KernelRegistry, Movement, Result, StaticArguments};

/// Tells the registry of those of this crate.
pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    for operator in [
        "aten::alias_copy.out",
        "aten::detach_copy.out",
        "aten::lift_fresh_copy.out",
        "aten::clone.out",
        "dim_order_ops::_clone_dim_order.out",
        "dim_order_ops::_to_dim_order_copy.out",
    ] {
        registry.modify(operator, |kernel| kernel.with_movement(same))?;
    }
    for operator in [
        "aten::view_copy.out",
        "aten::_unsafe_view.out",
        "aten::squeeze_copy.dim_out",
        "aten::squeeze_copy.dims_out",
        "aten::unsqueeze_copy.out",
    ] {
        registry.modify(operator, |kernel| kernel.with_movement(whole))?;
    }
    registry.modify("aten::cat.out", |kernel| kernel.with_movement(cat))?;
    registry.modify("aten::slice_copy.Tensor_out", |kernel| {
        kernel.with_movement(slice)
    })?;
    registry.modify("aten::select_copy.int_out", |kernel| {
        kernel.with_movement(select)
    })?;
    registry.modify("aten::copy_", |kernel| kernel.with_movement(copy))?;
    Ok(())
}

/// The first argument as it is.
fn same(_: &StaticArguments<'_>) -> Option<Movement> {
    Some(Movement::Same { from: 0 })
}

/// All of the first argument, in another shape.
fn whole(_: &StaticArguments<'_>) -> Option<Movement> {
    Some(Movement::Range { from: 0, offset: 0 })
}

/// `cat(tensors, dim)`: one after another, if no dimension outside of the one that grows has more
/// than one position.
fn cat(call: &StaticArguments<'_>) -> Option<Movement> {
    let dim = call.int(1)?;
    for index in 0..call.list_len(0)? {
        let sizes = call.list_shape(0, index)?.sizes;
        let rank = i64::try_from(sizes.len()).ok()?;
        let dim = usize::try_from(if dim < 0 { dim + rank } else { dim }).ok()?;
        if sizes.get(..dim)?.iter().any(|&outer| outer != 1) {
            return None;
        }
    }
    Some(Movement::Concatenation { list: 0 })
}

/// `copy_(self, src)`: all of `src`, unless it is repeated.
fn copy(call: &StaticArguments<'_>) -> Option<Movement> {
    let (target, source) = (call.shape(0)?, call.shape(1)?);
    (target.sizes == source.sizes).then_some(Movement::Range { from: 1, offset: 0 })
}

/// `slice_copy(self, dim, start, end, step)`: one range, if the outermost dimension is cut.
fn slice(call: &StaticArguments<'_>) -> Option<Movement> {
    // A slice without a start begins at 0; a start that is computed is not known here.
    if call.int(4)? != 1 {
        return None;
    }
    from_row(call, call.int(1)?, call.int(2)?)
}

/// `select_copy(self, dim, index)`.
fn select(call: &StaticArguments<'_>) -> Option<Movement> {
    from_row(call, call.int(1)?, call.int(2)?)
}

/// Everything from a position of a dimension on, where all dimensions outside of it have one.
fn from_row(call: &StaticArguments<'_>, dim: i64, position: i64) -> Option<Movement> {
    let thalweg_core::Shape { dtype, sizes, .. } = call.shape(0)?;
    let rank = i64::try_from(sizes.len()).ok()?;
    let dim = usize::try_from(if dim < 0 { dim + rank } else { dim }).ok()?;
    let size = *sizes.get(dim)?;
    if sizes[..dim].iter().any(|&outer| outer != 1) {
        return None;
    }
    let from_end = if position < 0 {
        i64::try_from(size).ok()?
    } else {
        0
    };
    let position = usize::try_from(position.checked_add(from_end)?).ok()?;
    let row = thalweg_core::numel(&sizes[dim + 1..]).ok()?;
    let offset = position
        .min(size)
        .checked_mul(row)?
        .checked_mul(dtype.size())?;
    Some(Movement::Range { from: 0, offset })
}
