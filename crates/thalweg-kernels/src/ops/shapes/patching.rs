//! Scatters into a part of a tensor, and dimensions in reverse.

use bytemuck::Pod;
use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, TensorView, ensure};

use super::existing_dim;
use super::slicing::{Range, diagonal_of, existing_index};
use crate::dtype::dispatch::dispatch_size;
use crate::dtype::elements::{elements, elements_mut};
use crate::layout::Layout;
use crate::layout::copy::{check_same_type, copy};
use crate::layout::dims::wrap_dim;
use crate::layout::walk::Walk;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::slice_scatter.out(Tensor self, Tensor src, int dim=0, SymInt? start=None, \
         SymInt? end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)",
        slice_scatter,
    )?);
    registry.add(pure(
        "aten::select_scatter.out(Tensor self, Tensor src, int dim, SymInt index, *, \
         Tensor(a!) out) -> Tensor(a!)",
        select_scatter,
    )?);
    registry.add(pure(
        "aten::diagonal_scatter.out(Tensor self, Tensor src, int offset=0, int dim1=0, \
         int dim2=1, *, Tensor(a!) out) -> Tensor(a!)",
        diagonal_scatter,
    )?);
    registry.add(pure(
        "aten::flip.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)",
        flip,
    )?);
    registry.add(pure(
        "aten::roll.out(Tensor self, SymInt[1] shifts, int[1] dims=[], *, Tensor(a!) out) \
         -> Tensor(a!)",
        roll,
    )?);
    registry.add(pure(
        "aten::tril.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)",
        |call| triangle(call, |row, diagonal| (i128::MIN, row + diagonal)),
    )?);
    registry.add(pure(
        "aten::triu.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)",
        |call| triangle(call, |row, diagonal| (row + diagonal, i128::MAX)),
    )?);
    Ok(())
}

fn slice_scatter(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = existing_dim(call.int(2)?, &input)?;
    let range = Range::new(
        input.sizes()[dim],
        call.optional_int(3)?,
        call.optional_int(4)?,
        call.int(5)?,
    )?;
    patch(call, &input, 6, |layout| Ok(range.of(layout, dim)))
}

fn select_scatter(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = existing_dim(call.int(2)?, &input)?;
    let index = existing_index(call.int(3)?, input.sizes()[dim])?;
    patch(call, &input, 4, |layout| Ok(layout.select(dim, index)))
}

fn diagonal_scatter(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let (offset, a, b) = (call.int(2)?, call.int(3)?, call.int(4)?);
    patch(call, &input, 5, |layout| diagonal_of(layout, offset, a, b))
}

/// A copy of an input in which argument 1 takes the place of a part.
fn patch(
    call: &KernelCall<'_>,
    input: &TensorView<'_>,
    out: usize,
    part: impl FnOnce(Layout) -> Result<Layout>,
) -> Result<()> {
    let source = call.tensor(1)?;
    let mut out = call.output(out, input.sizes())?;
    let whole = Layout::of_output(&out);
    copy(&mut out, &whole, input, &Layout::of(input), call.threads())?;
    let to = part(whole)?;
    let from = Layout::of(&source).broadcast(&to.sizes)?;
    copy(&mut out, &to, &source, &from, call.threads())
}

fn flip(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let from = Layout::of(&input);
    // A walk only goes forward: what it moves on along a flipped dimension counts backward.
    let (mut forward, mut backward, mut start) = (from.strides, Dims::filled(0, input.rank())?, 0);
    for &dim in call.int_list(1)? {
        let dim = wrap_dim(dim, input.rank())?;
        if input.numel() > 1 {
            std::mem::swap(&mut forward[dim], &mut backward[dim]);
            ensure!(
                forward[dim] == 0,
                InvalidInput,
                "dimension {dim} is flipped twice"
            );
            start += (from.sizes[dim] - 1) * backward[dim];
        }
    }
    let mut out = call.output(2, input.sizes())?;
    check_same_type(&out, &input)?;
    let to = Layout::of_output(&out);
    let walk = Walk::new(&from.sizes, [&to.strides, &forward, &backward])?;
    let (target, source) = (out.bytes_mut(), input.bytes());
    dispatch_size!(input.dtype().size() => T, {
        flip_elements::<T>(elements_mut(target)?, elements(source)?, start, &walk);
    });
    Ok(())
}

fn flip_elements<T: Pod>(target: &mut [T], source: &[T], start: usize, walk: &Walk<3>) {
    let [step, forward, backward] = walk.steps();
    for run in walk.runs() {
        let [to, ahead, back] = run.offsets;
        let from = start + ahead - back;
        for i in 0..walk.run_len() {
            target[to + i * step] = source[from + i * forward - i * backward];
        }
    }
}

fn roll(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let (shifts, dims) = (call.int_list(1)?, call.int_list(2)?);
    let flat = dims.is_empty() && shifts.len() == 1;
    ensure!(
        flat || dims.len() == shifts.len(),
        InvalidInput,
        "{} shifts for {} dimensions",
        shifts.len(),
        dims.len()
    );
    let mut out = call.output(3, input.sizes())?;
    let (mut to, mut from) = (Layout::of_output(&out), Layout::of(&input));
    if flat {
        ensure!(
            out.is_row_major() && input.is_row_major(),
            Unsupported,
            "only row-major tensors are rolled as a whole"
        );
        to = Layout::row_major(&[input.numel()])?;
        from = to;
    }
    let mut by = Dims::filled(0, from.sizes.len())?;
    for (index, &shift) in shifts.iter().enumerate() {
        let dim = if flat {
            0
        } else {
            wrap_dim(dims[index], input.rank())?
        };
        if let Some(&size) = from.sizes.get(dim).filter(|&&size| size > 0) {
            let shift = i128::from(shift).rem_euclid(size as i128) as usize;
            by[dim] = (by[dim] + shift) % size;
        }
    }
    roll_from(0, &by, to, from, &mut |to, from| {
        copy(&mut out, to, &input, from, call.threads())
    })
}

/// Rolls dimensions: each is two parts that change places.
fn roll_from(
    dim: usize,
    by: &[usize],
    to: Layout,
    from: Layout,
    copy: &mut impl FnMut(&Layout, &Layout) -> Result<()>,
) -> Result<()> {
    let Some(&shift) = by.get(dim) else {
        return copy(&to, &from);
    };
    let size = from.sizes[dim];
    let stay = size - shift;
    for (target, source, len) in [(shift, 0, stay), (0, stay, shift)] {
        if len > 0 || size == 0 {
            let to = to.slice(dim, target, 1, len);
            roll_from(dim + 1, by, to, from.slice(dim, source, 1, len), copy)?;
        }
    }
    Ok(())
}

/// Keeps those columns of each row that `kept` says, and clears the others.
fn triangle(call: &KernelCall<'_>, kept: fn(i128, i128) -> (i128, i128)) -> Result<()> {
    let input = call.tensor(0)?;
    let diagonal = i128::from(call.int(1)?);
    let rank = input.rank();
    ensure!(
        rank >= 2,
        InvalidInput,
        "a tensor of {rank} dimensions has no triangle"
    );
    let mut out = call.output(2, input.sizes())?;
    let (whole, from) = (Layout::of_output(&out), Layout::of(&input));
    let (rows, columns) = (from.sizes[rank - 2], from.sizes[rank - 1]);
    let range = |row: usize| {
        let (first, last) = kept(row as i128, diagonal);
        let first = first.clamp(0, columns as i128) as usize;
        let end = last.saturating_add(1).clamp(first as i128, columns as i128) as usize;
        (first, end)
    };
    check_same_type(&out, &input)?;
    if out.is_row_major() && input.is_row_major() && out.numel() > 0 {
        let width = columns * input.dtype().size();
        let lines = out.bytes_mut().chunks_exact_mut(width);
        for (line, (target, source)) in lines.zip(input.bytes().chunks_exact(width)).enumerate() {
            let (first, end) = range(line % rows);
            let [first, end] = [first, end].map(|column| column * input.dtype().size());
            target[..first].fill(0);
            target[first..end].copy_from_slice(&source[first..end]);
            target[end..].fill(0);
        }
        return Ok(());
    }
    out.bytes_mut().fill(0);
    for row in 0..rows {
        let (first, end) = range(row);
        let part = |layout: &Layout| {
            let row = layout.select(rank - 2, row);
            row.slice(rank - 2, first, 1, end - first)
        };
        copy(
            &mut out,
            &part(&whole),
            &input,
            &part(&from),
            call.threads(),
        )?;
    }
    Ok(())
}
