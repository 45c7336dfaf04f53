//! Views in another shape, and complex numbers as their parts.

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, ensure};

use super::{inferred_shape, reshape};
use crate::layout::Layout;
use crate::layout::broadcast::broadcast_shapes;
use crate::layout::copy::copy_bytes;
use crate::layout::dims::wrap_dim;
use crate::movement;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    for schema in [
        "aten::alias_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::detach_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::lift_fresh_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    ] {
        registry.add(pure(schema, same)?.with_movement(movement::same));
    }
    for schema in [
        "et_copy::_h2d_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "et_copy::_d2h_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "llama::fallback.out(Tensor input, *, Tensor(a!) output) -> Tensor(a!)",
    ] {
        registry.add(pure(schema, same)?);
    }
    registry.add(
        pure(
            "aten::view_copy.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
            view,
        )?
        .with_movement(movement::reshaped),
    );
    registry.add(
        pure(
            "aten::_unsafe_view.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
            view,
        )?
        .with_movement(movement::reshaped),
    );
    registry.add(
        pure(
            "aten::squeeze_copy.dims_out(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)",
            squeeze,
        )?
        .with_movement(movement::reshaped),
    );
    registry.add(
        pure(
            "aten::squeeze_copy.dim_out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
            squeeze,
        )?
        .with_movement(movement::reshaped),
    );
    registry.add(
        pure(
            "aten::unsqueeze_copy.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
            unsqueeze,
        )?
        .with_movement(movement::reshaped),
    );
    registry.add(pure(
        "aten::view_as_real_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        view_as_real,
    )?);
    registry.add(pure(
        "aten::complex.out(Tensor real, Tensor imag, *, Tensor(a!) out) -> Tensor(a!)",
        complex,
    )?);
    Ok(())
}

fn same(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    reshape(call, &input, input.sizes(), 1)
}

fn view(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    reshape(
        call,
        &input,
        &inferred_shape(call.int_list(1)?, input.numel())?,
        2,
    )
}

fn squeeze(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let mut removed = 0u32;
    for &dim in call.int_list(1)? {
        removed |= 1 << wrap_dim(dim, input.rank())?;
    }
    let mut sizes = Dims::new();
    for (dim, &size) in input.sizes().iter().enumerate() {
        if size != 1 || removed & (1 << dim) == 0 {
            sizes.push(size)?;
        }
    }
    reshape(call, &input, &sizes, 2)
}

fn unsqueeze(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let mut sizes = Dims::from_slice(input.sizes())?;
    sizes.insert(wrap_dim(call.int(1)?, input.rank() + 1)?, 1)?;
    reshape(call, &input, &sizes, 2)
}

fn view_as_real(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    ensure!(
        input.dtype().is_complex(),
        InvalidInput,
        "elements of type {} have no imaginary part",
        input.dtype()
    );
    let from = Layout::of(&input).halved()?;
    let mut out = call.output(1, &from.sizes)?;
    let to = Layout::of_output(&out);
    let size = input.dtype().size() / 2;
    ensure!(
        out.dtype().is_float() && out.dtype().size() == size,
        InvalidInput,
        "the parts of {} are not of type {}",
        input.dtype(),
        out.dtype()
    );
    copy_bytes(
        out.bytes_mut(),
        &to,
        input.bytes(),
        &from,
        size,
        call.threads(),
    )
}

/// Makes complex numbers of their parts.
fn complex(call: &KernelCall<'_>) -> Result<()> {
    let parts = [call.tensor(0)?, call.tensor(1)?];
    let sizes = broadcast_shapes(parts[0].sizes(), parts[1].sizes())?;
    let mut out = call.output(2, &sizes)?;
    let dtype = parts[0].dtype();
    ensure!(
        dtype == parts[1].dtype()
            && dtype.is_float()
            && out.dtype().is_complex()
            && out.dtype().size() == 2 * dtype.size(),
        InvalidInput,
        "parts of type {dtype} and {} are not those of {}",
        parts[1].dtype(),
        out.dtype()
    );
    let whole = Layout::of_output(&out).halved()?;
    for (half, part) in parts.iter().enumerate() {
        let to = whole.select(sizes.len(), half);
        let from = Layout::of(part).broadcast(&sizes)?;
        let (target, source) = (out.bytes_mut(), part.bytes());
        copy_bytes(target, &to, source, &from, dtype.size(), call.threads())?;
    }
    Ok(())
}
