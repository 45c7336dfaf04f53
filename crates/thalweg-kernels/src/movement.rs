//! Data movement: operators that, for some arguments, only move a range of memory as it is.
//!
//! Where the memory is a device's, such an operator need not run at all: its result is a part of
//! its argument. These functions only tell the cases; on the host, the kernels move the memory.

use thalweg_core::{Movement, StaticArguments, numel};

/// The movement of all of the first argument, in its own shape.
pub(crate) fn same(_: &StaticArguments<'_>) -> Option<Movement> {
    Some(Movement::Same { from: 0 })
}

/// The movement of all of the first argument, to another shape.
pub(crate) fn reshaped(_: &StaticArguments<'_>) -> Option<Movement> {
    Some(Movement::Range { from: 0, offset: 0 })
}

/// The movement of the first argument from a position of a dimension on, if all dimensions outside of that
/// have one position.
pub(crate) fn from_position(
    call: &StaticArguments<'_>,
    dim: i64,
    position: i64,
) -> Option<Movement> {
    let thalweg_core::Shape { dtype, sizes, .. } = call.shape(0)?;
    let dim = outermost(sizes, dim)?;
    let size = *sizes.get(dim)?;
    let from_end = if position < 0 {
        i64::try_from(size).ok()?
    } else {
        0
    };
    let position = usize::try_from(position.checked_add(from_end)?).ok()?;
    let row = numel(&sizes[dim + 1..]).ok()?;
    let offset = position
        .min(size)
        .checked_mul(row)?
        .checked_mul(dtype.size())?;
    Some(Movement::Range { from: 0, offset })
}

/// A dimension of a shape, negative if counted from the end, if all dimensions outside of it have one position.
pub(crate) fn outermost(sizes: &[usize], dim: i64) -> Option<usize> {
    let rank = i64::try_from(sizes.len()).ok()?;
    let dim = usize::try_from(if dim < 0 { dim + rank } else { dim }).ok()?;
    let is_outermost = sizes.get(..dim)?.iter().all(|&outer| outer == 1);
    is_outermost.then_some(dim)
}
