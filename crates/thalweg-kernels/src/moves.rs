//! Operators that, for some arguments, only move a range of memory as it is.
//!
//! Where the memory is a device's, such an operator need not run at all: its result is a part of
//! what it was given. Only the cases are told here; what they move, the kernels move.

use thalweg_core::{KernelRegistry, Moved, StaticCall};

/// Tells the registry of those of this crate.
pub(crate) fn register(registry: &mut KernelRegistry) {
    for operator in [
        "aten::alias_copy.out",
        "aten::detach_copy.out",
        "aten::lift_fresh_copy.out",
        "aten::clone.out",
        "dim_order_ops::_clone_dim_order.out",
        "dim_order_ops::_to_dim_order_copy.out",
    ] {
        registry.set_moves(operator, same);
    }
    for operator in [
        "aten::view_copy.out",
        "aten::_unsafe_view.out",
        "aten::squeeze_copy.dim_out",
        "aten::squeeze_copy.dims_out",
        "aten::unsqueeze_copy.out",
    ] {
        registry.set_moves(operator, whole);
    }
    registry.set_moves("aten::cat.out", cat);
    registry.set_moves("aten::slice_copy.Tensor_out", slice);
    registry.set_moves("aten::select_copy.int_out", select);
    registry.set_moves("aten::copy_", copy);
}

/// The first argument as it is.
fn same(_: &StaticCall<'_>) -> Option<Moved> {
    Some(Moved::Same { from: 0 })
}

/// All of the first argument, in another shape.
fn whole(_: &StaticCall<'_>) -> Option<Moved> {
    Some(Moved::Range { from: 0, offset: 0 })
}

/// `cat(tensors, dim)`: one after another, if no dimension outside of the one that grows has more
/// than one position.
fn cat(call: &StaticCall<'_>) -> Option<Moved> {
    let dim = call.int(1)?;
    for index in 0..call.list_len(0)? {
        let (_, sizes, _) = call.list_tensor(0, index)?;
        let rank = i64::try_from(sizes.len()).ok()?;
        let dim = usize::try_from(if dim < 0 { dim + rank } else { dim }).ok()?;
        if sizes.get(..dim)?.iter().any(|&outer| outer != 1) {
            return None;
        }
    }
    Some(Moved::Joined { list: 0 })
}

/// `copy_(self, src)`: all of `src`, unless it is repeated.
fn copy(call: &StaticCall<'_>) -> Option<Moved> {
    let ((_, target, _), (_, source, _)) = (call.tensor(0)?, call.tensor(1)?);
    (target == source).then_some(Moved::Range { from: 1, offset: 0 })
}

/// `slice_copy(self, dim, start, end, step)`: one range, if the outermost dimension is cut.
fn slice(call: &StaticCall<'_>) -> Option<Moved> {
    // A slice without a start begins at 0; a start that is computed is not known here.
    if call.int(4)? != 1 {
        return None;
    }
    from_row(call, call.int(1)?, call.int(2)?)
}

/// `select_copy(self, dim, index)`.
fn select(call: &StaticCall<'_>) -> Option<Moved> {
    from_row(call, call.int(1)?, call.int(2)?)
}

/// Everything from a position of a dimension on, where all dimensions outside of it have one.
fn from_row(call: &StaticCall<'_>, dim: i64, position: i64) -> Option<Moved> {
    let (dtype, sizes, _) = call.tensor(0)?;
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
    Some(Moved::Range { from: 0, offset })
}
