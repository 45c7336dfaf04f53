//! Operators on shapes: viewing in another shape, permuting, slicing, joining.
//!
//! None of these operators looks at an element. Each says where the elements of its result lie in
//! its input, as a [`Layout`]; [`copy`](crate::layout::copy) moves them.

mod joining;
mod padding;
mod patching;
mod permuting;
mod pixels;
mod slicing;
#[cfg(test)]
mod tests;
mod viewing;

use thalweg_core::{
    Dims, KernelCall, KernelRegistry, Result, TensorView, bail, ensure, identity_order, numel,
};

use crate::layout::Layout;
use crate::layout::copy::{check_same_type, copy, copy_all};
use crate::layout::dims::wrap_dim;
use crate::layout::order::in_order;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    viewing::register(registry)?;
    permuting::register(registry)?;
    slicing::register(registry)?;
    joining::register(registry)?;
    padding::register(registry)?;
    patching::register(registry)?;
    pixels::register(registry)
}

/// Copies what `from` names of an input to an output of the same shape.
fn materialize(
    call: &KernelCall<'_>,
    input: &TensorView<'_>,
    from: &Layout,
    out: usize,
) -> Result<()> {
    let mut out = call.output(out, &from.sizes)?;
    let size = out.dtype().size();
    if out.bytes_mut().len() == size {
        check_same_type(&out, input)?;
        return one_element(out.bytes_mut(), input.bytes(), from.offset, size);
    }
    let to = Layout::of_output(&out);
    copy(&mut out, &to, input, from, call.threads())
}

/// Copies the element at a place, the only one that there is to copy.
fn one_element(to: &mut [u8], from: &[u8], place: usize, size: usize) -> Result<()> {
    let start = place.saturating_mul(size);
    match from.get(start..start.saturating_add(size)) {
        Some(element) => {
            // Elements are short, and a call to copy them is not.
            for (to, from) in to.iter_mut().zip(element) {
                *to = *from;
            }
            Ok(())
        }
        None => bail!(Internal, "a copy beyond the end of a tensor"),
    }
}

/// Copies an input to an output of another shape with the same elements in logical order.
pub(crate) fn reshape(
    call: &KernelCall<'_>,
    input: &TensorView<'_>,
    sizes: &[usize],
    out: usize,
) -> Result<()> {
    let mut out = call.output(out, sizes)?;
    ensure!(
        out.numel() == input.numel(),
        InvalidInput,
        "a tensor of shape {:?} cannot be viewed as {sizes:?}",
        input.sizes()
    );
    if input.is_row_major() && out.is_row_major() {
        check_same_type(&out, input)?;
        return copy_all(out.bytes_mut(), input.bytes(), call.threads());
    }
    let (from, to) = (Layout::of(input), Layout::of_output(&out));
    let threads = call.threads();
    if input.is_row_major() {
        return copy(&mut out, &to, input, &Layout::row_major(sizes)?, threads);
    }
    let between = Layout::row_major(input.sizes())?;
    if out.is_row_major() || *to.sizes == *from.sizes {
        let to = if out.is_row_major() { between } else { to };
        return copy(&mut out, &to, input, &from, threads);
    }
    let input = in_order(call, *input, identity_order(input.rank())?)?;
    copy(&mut out, &to, &input, &Layout::row_major(sizes)?, threads)
}

/// The shape that a list of sizes means for a number of elements: one of them may be -1, and is
/// what the others leave.
pub(crate) fn inferred_shape(sizes: &[i64], elements: usize) -> Result<Dims> {
    let mut shape = Dims::new();
    let mut inferred = None;
    for (dim, &size) in sizes.iter().enumerate() {
        ensure!(
            size >= 0 || (size == -1 && inferred.is_none()),
            InvalidInput,
            "{sizes:?} is not a shape"
        );
        if size == -1 {
            inferred = Some(dim);
        }
        shape.push(usize::try_from(size).unwrap_or(1))?;
    }
    let others = numel(&shape)?;
    if let Some(dim) = inferred {
        ensure!(
            others != 0 && elements.is_multiple_of(others),
            InvalidInput,
            "{elements} elements do not have a shape of {sizes:?}"
        );
        shape[dim] = elements / others;
    }
    Ok(shape)
}

/// A dimension of a tensor; one without dimensions has none.
fn existing_dim(dim: i64, input: &TensorView<'_>) -> Result<usize> {
    ensure!(
        input.rank() > 0,
        InvalidInput,
        "a tensor without dimensions has no parts"
    );
    wrap_dim(dim, input.rank())
}
