//! Dimensions in another order, and repeated ones.

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, TensorView, bail, ensure, numel};

use super::materialize;
use crate::layout::Layout;
use crate::layout::copy::copy;
use crate::layout::dims::{size_from, wrap_dim};
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::permute_copy.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)",
        permute,
    )?);
    registry.add(pure(
        "aten::transpose_copy.int_out(Tensor self, int dim0, int dim1, *, Tensor(a!) out) \
         -> Tensor(a!)",
        transpose,
    )?);
    registry.add(pure(
        "aten::t_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        transpose_matrix,
    )?);
    registry.add(pure(
        "aten::expand_copy.out(Tensor self, SymInt[] size, *, bool implicit=False, \
         Tensor(a!) out) -> Tensor(a!)",
        expand,
    )?);
    registry.add(pure(
        "aten::repeat.out(Tensor self, SymInt[] repeats, *, Tensor(a!) out) -> Tensor(a!)",
        repeat,
    )?);
    Ok(())
}

fn permute(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dims = call.int_list(1)?;
    let mut order = Dims::new();
    for &dim in dims {
        let dim = wrap_dim(dim, input.rank())?;
        ensure!(
            !order.contains(&dim),
            InvalidInput,
            "{dims:?} names dimension {dim} twice"
        );
        order.push(dim)?;
    }
    ensure!(
        order.len() == input.rank(),
        InvalidInput,
        "{dims:?} is not an order of {} dimensions",
        input.rank()
    );
    materialize(call, &input, &Layout::of(&input).permute(&order), 2)
}

fn transpose(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let (a, b) = (call.int(1)?, call.int(2)?);
    let (a, b) = (wrap_dim(a, input.rank())?, wrap_dim(b, input.rank())?);
    materialize(call, &input, &swapped(&input, a, b)?, 3)
}

fn transpose_matrix(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let rank = input.rank();
    ensure!(
        rank <= 2,
        InvalidInput,
        "a tensor of {rank} dimensions is not a matrix"
    );
    let last = rank.saturating_sub(1);
    materialize(call, &input, &swapped(&input, 0, last)?, 1)
}

fn swapped(input: &TensorView<'_>, a: usize, b: usize) -> Result<Layout> {
    let mut layout = Layout::of(input);
    if input.rank() > 0 {
        layout.sizes.swap(a, b);
        layout.strides.swap(a, b);
    }
    Ok(layout)
}

fn expand(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let list = call.int_list(1)?;
    let mut sizes = Dims::new();
    for (dim, &size) in list.iter().enumerate() {
        // Sizes are aligned at the inner end; -1 keeps the size that there is.
        let own = (dim + input.rank()).checked_sub(list.len());
        match (size, own.and_then(|own| input.sizes().get(own))) {
            (-1, Some(&own)) => sizes.push(own)?,
            _ => sizes.push(size_from(size)?)?,
        }
    }
    materialize(call, &input, &Layout::of(&input).broadcast(&sizes)?, 3)
}

fn repeat(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let repeats = call.int_list(1)?;
    let new = repeats.len().checked_sub(input.rank());
    let Some(new) = new else {
        bail!(
            InvalidInput,
            "{repeats:?} has fewer repeats than a tensor of {} dimensions needs",
            input.rank()
        )
    };
    let mut sizes = Dims::new();
    for (dim, &times) in repeats.iter().enumerate() {
        let own = dim.checked_sub(new).map_or(1, |dim| input.sizes()[dim]);
        let times = size_from(times)?;
        sizes.push(numel(&[own, times])?)?;
    }
    let mut out = call.output(2, &sizes)?;
    if out.numel() == 0 {
        return Ok(());
    }
    // Every dimension is two: the repeats, which stay in place on the side of the input, and what
    // is repeated. Most have only one of them.
    let (full, own) = (Layout::of_output(&out), Layout::of(&input));
    let (mut to, mut from) = (Layout::row_major(&[])?, Layout::row_major(&[])?);
    for (dim, &size) in sizes.iter().enumerate() {
        let (size_in, stride_in) = match dim.checked_sub(new) {
            Some(dim) => (own.sizes[dim], own.strides[dim]),
            None => (1, 0),
        };
        let stride = full.strides[dim];
        for (size, step, step_in) in [
            (size / size_in, stride * size_in, 0),
            (size_in, stride, stride_in),
        ] {
            if size != 1 {
                to = to.with(to.sizes.len(), size, step)?;
                from = from.with(from.sizes.len(), size, step_in)?;
            }
        }
    }
    copy(&mut out, &to, &input, &from, call.threads())
}
