//! The gated linear unit: one half of a tensor as gate of the other.

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, ensure};

use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{compute_into, widened};
use crate::layout::dims::wrap_dim;
use crate::layout::order::{around, laid_out};
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::glu.out(Tensor self, int dim=-1, *, Tensor(a!) out) -> Tensor(a!)",
        glu,
    )?);
    Ok(())
}

/// The first half along a dimension times the sigmoid of the second.
fn glu(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = wrap_dim(call.int(1)?, input.rank())?;
    ensure!(
        input.rank() > 0 && input.sizes()[dim] % 2 == 0,
        InvalidInput,
        "dimension {dim} of shape {:?} does not have two halves",
        input.sizes()
    );
    let mut sizes = Dims::from_slice(input.sizes())?;
    sizes[dim] /= 2;
    let mut out = call.output(2, &sizes)?;
    ensure!(
        out.dtype() == input.dtype(),
        InvalidInput,
        "gates of {} do not give elements of {}",
        input.dtype(),
        out.dtype()
    );
    let order = out.dim_order();
    let [_, len, inner] = around(&sizes, order, dim);
    let half = len.saturating_mul(inner).max(1);
    dispatch!(input.dtype(), float => T, {
        let data = widened(call, laid_out::<T>(call, input, order)?)?;
        compute_into::<T>(call, out.data_mut()?, |out| {
            for (out, both) in out.chunks_exact_mut(half).zip(data.chunks_exact(2 * half)) {
                let (values, gates) = both.split_at(half);
                for (out, (&value, &gate)) in out.iter_mut().zip(values.iter().zip(gates)) {
                    *out = value / (1.0 + (-gate).exp());
                }
            }
            Ok(())
        })
    })
}
