//! Index tensors: positions along a dimension.

use thalweg_core::{DType, KernelCall, Result, TensorView, bail, ensure, identity_order};

use super::order::in_order;
use crate::dtype::convert::converted;

/// The values of an index tensor, in logical order.
pub(crate) fn positions<'a>(call: &'a KernelCall<'_>, index: &TensorView<'a>) -> Result<&'a [i64]> {
    ensure!(
        matches!(index.dtype(), DType::I64 | DType::I32),
        InvalidInput,
        "elements of type {} are not indices",
        index.dtype()
    );
    let index = in_order(call, *index, identity_order(index.rank())?)?;
    converted(call, index.bytes(), index.dtype())
}

/// A position of a dimension of some size. An error if there is no such position.
#[inline]
pub(crate) fn checked(position: i64, size: usize) -> Result<usize> {
    match usize::try_from(position) {
        Ok(position) if position < size => Ok(position),
        _ => out_of_range(position, size),
    }
}

#[cold]
pub(crate) fn out_of_range(position: i64, size: usize) -> Result<usize> {
    bail!(
        InvalidInput,
        "index {position} is out of range for a dimension of size {size}"
    )
}
