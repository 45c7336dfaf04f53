//! Copies that may convert the element type and the dim order.

use thalweg_core::{DType, Dims, KernelCall, KernelRegistry, MAX_RANK, Result, TensorView};
use thalweg_core::{TensorViewMut, ensure};

use super::chunks::{Source, map};
use crate::compute::{Compute, dispatch_compute};

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
        "aten::copy.out(Tensor self, Tensor src, bool non_blocking=False, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let mut out = call.output(3, call.tensor(0)?.sizes())?;
            copy_converted(call.tensor(1)?, &mut out, call.threads())
        },
    )?;
    registry.register(
        "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
        |call| copy_converted(call.tensor(1)?, &mut call.in_place(0)?, call.threads()),
    )
}

/// The type and the dim order are those that the program gave the output.
fn to_copy(call: &KernelCall<'_>, out: usize) -> Result<()> {
    let source = call.tensor(0)?;
    let mut out = call.output(out, source.sizes())?;
    copy_converted(source, &mut out, call.threads())
}

/// Copies a tensor into another of any element type and dim order, to whose shape it broadcasts.
pub(crate) fn copy_converted(
    source: TensorView<'_>,
    out: &mut TensorViewMut<'_>,
    threads: usize,
) -> Result<()> {
    if source.dtype() == out.dtype() {
        return copy_same(source, out, threads);
    }
    dispatch_compute!(source.dtype(), number => C, { copy_as::<C>(source, out, threads) })
}

/// Copies elements without looking at them.
fn copy_same(source: TensorView<'_>, out: &mut TensorViewMut<'_>, threads: usize) -> Result<()> {
    if source.sizes() == out.sizes()
        && (source.dim_order() == out.dim_order() || (source.is_row_major() && out.is_row_major()))
    {
        out.bytes_mut().copy_from_slice(source.bytes());
        return Ok(());
    }
    let integer = match source.dtype().size() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::I32,
        8 => DType::I64,
        _ => DType::ComplexF64,
    };
    let rank = out.rank();
    let sizes = Dims::from_slice(out.sizes())?;
    ensure!(rank <= MAX_RANK, Internal, "a tensor of rank {rank}");
    let mut dim_order = [0; MAX_RANK];
    dim_order[..rank].copy_from_slice(out.dim_order());
    let source =
        TensorView::with_dim_order(integer, source.sizes(), source.dim_order(), source.bytes())?;
    let mut out =
        TensorViewMut::with_dim_order(integer, &sizes, &dim_order[..rank], out.bytes_mut())?;
    dispatch_compute!(integer, number => C, { copy_as::<C>(source, &mut out, threads) })
}

fn copy_as<C: Compute>(
    source: TensorView<'_>,
    out: &mut TensorViewMut<'_>,
    threads: usize,
) -> Result<()> {
    let operand = Source::<C>::tensor(source, out, source.dtype())?;
    map::<C, C, 1>(out, threads, [operand], &|[from], to| {
        to.copy_from_slice(from);
    })
}
