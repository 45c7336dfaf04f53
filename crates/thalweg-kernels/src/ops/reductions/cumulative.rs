//! Running sums.

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, TensorView};
use thalweg_core::{TensorViewMut, ensure};

use super::reduce::CHUNK;
use crate::dtype::compute::{dispatch_compute, load, store};
use crate::dtype::number::{Number, Summed};
use crate::layout::dims::wrap_dim;
use crate::layout::walk::Walk;
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) \
         -> Tensor(a!)",
        cumsum,
    )?);
    Ok(())
}

fn cumsum(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = wrap_dim(call.int(1)?, input.rank())?;
    let dtype = match call.optional_dtype(2)? {
        Some(dtype) => dtype,
        None => call.output_dtype(3)?,
    };
    let mut out = call.output(3, input.sizes())?;
    // Fractions may be dropped, imaginary parts may not.
    ensure!(
        dtype.is_complex() || !input.dtype().is_complex(),
        Unsupported,
        "complex numbers cannot be summed as {dtype}"
    );
    dispatch_compute!(dtype, number => C, {
        running_sums::<<C as Summed>::Wide>(&input, &mut out, dim)
    })
}

/// Sums along `dim`, in lines where that is the innermost dimension in memory, else row by row.
fn running_sums<W: Number>(
    input: &TensorView<'_>,
    out: &mut TensorViewMut<'_>,
    dim: usize,
) -> Result<()> {
    if input.numel() == 0 {
        return Ok(());
    }
    let (strides, out_strides) = (input.strides(), out.strides());
    let mut others = [Dims::new(), Dims::new(), Dims::new()];
    for &other in input.dim_order() {
        let other = usize::from(other);
        if other != dim {
            others[0].push(input.sizes()[other])?;
            others[1].push(strides[other])?;
            others[2].push(out_strides[other])?;
        }
    }
    let [sizes, kept, kept_out] = &others;
    let walk = Walk::new(sizes, [kept, kept_out])?;
    // A tensor without dimensions is its own sum.
    let len = input.sizes().get(dim).copied().unwrap_or(1);
    let along = strides.get(dim).copied().unwrap_or(1);
    let out_along = out_strides.get(dim).copied().unwrap_or(1);
    let [step, out_step] = walk.steps();
    let run = walk.run_len();
    let mut buffer = [W::default(); CHUNK];
    let mut sums = [W::default(); CHUNK];
    for piece in walk.runs() {
        let [offset, out_offset] = piece.offsets;
        if run == 1 || along == 1 {
            for line in 0..run {
                let (from, to) = (offset + line * step, out_offset + line * out_step);
                let mut sum = W::default();
                for start in (0..len).step_by(CHUNK) {
                    let count = CHUNK.min(len - start);
                    let from = from + start * along;
                    let elements = load(input, from, along, &mut buffer[..count])?;
                    for (total, &element) in sums.iter_mut().zip(elements) {
                        sum = sum.add(element);
                        *total = sum;
                    }
                    store(out, to + start * out_along, out_along, &sums[..count])?;
                }
            }
            continue;
        }
        for start in (0..run).step_by(CHUNK) {
            let count = CHUNK.min(run - start);
            let (from, to) = (offset + start * step, out_offset + start * out_step);
            let sums = &mut sums[..count];
            sums.fill(W::default());
            for index in 0..len {
                let from = from + index * along;
                let row = load(input, from, step, &mut buffer[..count])?;
                for (sum, &element) in sums.iter_mut().zip(row) {
                    *sum = sum.add(element);
                }
                store(out, to + index * out_along, out_step, sums)?;
            }
        }
    }
    Ok(())
}
