//! Copies that convert the element type, the dim order, or both.

use thalweg_core::{KernelCall, Result, TensorView, TensorViewMut, same_dims};

use super::chunks::{Source, map};
use crate::dtype::compute::dispatch_compute;
use crate::layout::Layout;
use crate::layout::copy::{copy, copy_all};
use crate::layout::order::in_order;

/// Copies a tensor into another of any element type and dim order, to whose shape it broadcasts.
pub(crate) fn copy_converted(
    call: &KernelCall<'_>,
    source: TensorView<'_>,
    out: &mut TensorViewMut<'_>,
) -> Result<()> {
    if source.dtype() == out.dtype() {
        if same_dims(source.sizes(), out.sizes()) && same_dims(source.dim_order(), out.dim_order())
        {
            return copy_all(out.bytes_mut(), source.bytes(), call.threads());
        }
        let (to, from) = (Layout::of_output(out), Layout::of(&source));
        return copy(
            out,
            &to,
            &source,
            &from.broadcast(out.sizes())?,
            call.threads(),
        );
    }
    let source = if source.sizes() == out.sizes() {
        in_order(call, source, out.dim_order())?
    } else {
        source
    };
    dispatch_compute!(source.dtype(), number => C, {
        let mut walk = None;
        let operand = Source::<C>::tensor(source, out, source.dtype(), &mut walk)?;
        map::<C, C, 1>(out, call.threads(), [operand], &|[from], to| {
            to.copy_from_slice(from);
        })
    })
}
