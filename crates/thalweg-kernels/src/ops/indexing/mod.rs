//! Reading and writing by index.

mod advanced;
mod bags;
mod blocks;
mod masks;
mod repeats;
mod scattering;
#[cfg(test)]
mod tests;

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, ensure};

use self::blocks::Blocks;
use crate::layout::Layout;
use crate::layout::dims::wrap_dim;
use crate::layout::indices::{checked, positions};
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::embedding.out(Tensor weight, Tensor indices, SymInt padding_idx=-1, \
         bool scale_grad_by_freq=False, bool sparse=False, *, Tensor(a!) out) -> Tensor(a!)",
        embedding,
    )?);
    registry.add(pure(
        "aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) \
         -> Tensor(a!)",
        index_select,
    )?);
    advanced::register(registry)?;
    bags::register(registry)?;
    masks::register(registry)?;
    repeats::register(registry)?;
    scattering::register(registry)
}

fn embedding(call: &KernelCall<'_>) -> Result<()> {
    let (weight, indices) = (call.tensor(0)?, call.tensor(1)?);
    ensure!(
        weight.rank() == 2,
        InvalidInput,
        "a table of shape {:?} is not a matrix",
        weight.sizes()
    );
    let mut sizes = Dims::from_slice(indices.sizes())?;
    sizes.push(weight.sizes()[1])?;
    let mut out = call.output(5, &sizes)?;
    let (to, from) = (Layout::of_output(&out), Layout::of(&weight));
    let rank = indices.rank();
    let index = Layout {
        offset: 0,
        sizes: Dims::from_slice(indices.sizes())?,
        strides: Dims::from_slice(&to.strides[..rank])?,
    };
    let targets = offsets(call, &index)?;
    let sources = call.temporary::<u64>(targets.len())?;
    let positions = positions(call, &indices)?;
    rows(sources, positions, from.sizes[0], from.strides[0])?;
    let blocks = Blocks {
        targets,
        sources,
        sizes: &sizes[rank..],
        target_strides: &to.strides[rank..],
        source_strides: &from.strides[1..],
    };
    blocks.copy(&mut out, &weight)
}

fn index_select(call: &KernelCall<'_>) -> Result<()> {
    let (input, index) = (call.tensor(0)?, call.tensor(2)?);
    ensure!(
        index.rank() <= 1,
        InvalidInput,
        "indices of shape {:?} are not a list",
        index.sizes()
    );
    let dim = wrap_dim(call.int(1)?, input.rank())?;
    let mut sizes = Dims::from_slice(input.sizes())?;
    let mut from = Layout::of(&input);
    if input.rank() == 0 {
        from = from.with(0, 1, 1)?;
    } else {
        sizes[dim] = index.numel();
    }
    let mut out = call.output(3, &sizes)?;
    let mut to = Layout::of_output(&out);
    if input.rank() == 0 {
        to = to.with(0, index.numel(), 1)?;
    }
    let (targets, sources) = (
        call.temporary::<u64>(index.numel())?,
        call.temporary::<u64>(index.numel())?,
    );
    for (at, target) in targets.iter_mut().enumerate() {
        *target = (at * to.strides[dim]) as u64;
    }
    rows(
        sources,
        positions(call, &index)?,
        from.sizes[dim],
        from.strides[dim],
    )?;
    let (to, from) = (
        to.slice(dim, 0, 1, 1).without(dim),
        from.slice(dim, 0, 1, 1).without(dim),
    );
    let blocks = Blocks {
        targets,
        sources,
        sizes: &to.sizes,
        target_strides: &to.strides,
        source_strides: &from.strides,
    };
    blocks.copy(&mut out, &input)
}

/// The offset in memory of each position of a layout, in logical order.
fn offsets<'a>(call: &'a KernelCall<'_>, layout: &Layout) -> Result<&'a mut [u64]> {
    let walk = crate::layout::walk::Walk::new(&layout.sizes, [&layout.strides])?;
    let offsets = call.temporary::<u64>(thalweg_core::numel(&layout.sizes)?)?;
    let [step] = walk.steps();
    let runs = offsets.chunks_mut(walk.run_len().max(1));
    for (run, offsets) in walk.runs().zip(runs) {
        for (i, offset) in offsets.iter_mut().enumerate() {
            *offset = (layout.offset + run.offsets[0] + i * step) as u64;
        }
    }
    Ok(offsets)
}

/// Turns positions of a dimension into offsets. Negative positions are errors.
fn rows(offsets: &mut [u64], positions: &[i64], size: usize, stride: usize) -> Result<()> {
    for (offset, &position) in offsets.iter_mut().zip(positions) {
        *offset = checked(position, size)? as u64 * stride as u64;
    }
    Ok(())
}
