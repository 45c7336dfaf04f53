//! Copies that may convert the element type and the dim order.

use thalweg_core::{KernelCall, KernelRegistry, Result, TensorView, TensorViewMut, same_dims};

use super::chunks::{Source, map};
use crate::compute::dispatch_compute;
use crate::copying::{copy, copy_all};
use crate::layout::Layout;
use crate::ordering::in_order;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.register(
        "dim_order_ops::_to_dim_order_copy.out(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
        |call| to_copy(call, 3),
    )?;
    registry.register(
        "dim_order_ops::_clone_dim_order.out(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
        |call| to_copy(call, 3),
    )?;
    registry.register(
        "aten::_to_copy.out(Tensor self, *, bool non_blocking=False, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
        |call| to_copy(call, 3),
    )?;
    registry.register(
        "aten::clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
        |call| to_copy(call, 2),
    )?;
    registry.register(
        "aten::copy.out(Tensor self, Tensor src, bool non_blocking=False, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let mut out = call.output(3, call.tensor(0)?.sizes())?;
            copy_converted(call, call.tensor(1)?, &mut out)
        },
    )?;
    registry.register(
        "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
        |call| copy_converted(call, call.tensor(1)?, &mut call.in_place(0)?),
    )
}

/// The type and the dim order are those that the program gave the output.
fn to_copy(call: &KernelCall<'_>, out: usize) -> Result<()> {
    let source = call.tensor(0)?;
    let mut out = call.output(out, source.sizes())?;
    copy_converted(call, source, &mut out)
}

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
