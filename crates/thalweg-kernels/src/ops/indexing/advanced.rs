//! Indexing by several tensors at once, as `x[i, :, j]` does.

use thalweg_core::{
    DType, Dims, KernelCall, KernelRegistry, MAX_RANK, Result, TensorView, TensorViewMut, ensure,
    numel,
};

use super::blocks::Blocks;
use super::masks::{nonzero_positions, truth};
use super::offsets;
use crate::layout::Layout;
use crate::layout::broadcast::broadcast_shapes;
use crate::layout::copy::{check_same_type, copy, copy_bytes};
use crate::layout::dims::wrap_index;
use crate::layout::indices::{out_of_range, positions};
use crate::layout::walk::Walk;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) \
         -> Tensor(a!)",
        index,
    )?);
    registry.add(pure(
        "aten::index_put.out(Tensor self, Tensor?[] indices, Tensor values, \
         bool accumulate=False, *, Tensor(a!) out) -> Tensor(a!)",
        index_put,
    )?);
    registry.add(pure(
        "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, \
         bool accumulate=False) -> Tensor(a!)",
        |call| {
            let sizes = call.output_sizes(0)?;
            let selection = Selection::new(call, &sizes, 1)?;
            put(call, &mut call.in_place(0)?, &selection)
        },
    )?);
    Ok(())
}

fn index(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    if let Some(index) = row_index(call, &input)? {
        return index_rows(call, &input, &index);
    }
    index_by_all(call, &input)
}

/// Indexes by any tensors and masks. A function of its own, since it needs so much of the stack.
#[inline(never)]
fn index_by_all(call: &KernelCall<'_>, input: &TensorView<'_>) -> Result<()> {
    let selection = Selection::new(call, input.sizes(), 1)?;
    let mut out = call.output(2, &selection.sizes()?)?;
    let (to, from) = (Layout::of_output(&out), Layout::of(input));
    let (to_indexed, to_rest) = selection.parts_of_result(&to)?;
    let rest = selection.rest(&from)?;
    let blocks = Blocks {
        targets: offsets(call, &to_indexed)?,
        sources: selection.offsets(call, &from)?,
        sizes: &rest.sizes,
        target_strides: &to_rest.strides,
        source_strides: &rest.strides,
    };
    blocks.copy(&mut out, input)
}

/// The only index tensor, if it chooses among the rows of a row-major tensor.
#[inline(always)]
fn row_index<'a>(
    call: &'a KernelCall<'_>,
    input: &TensorView<'_>,
) -> Result<Option<TensorView<'a>>> {
    let list = call.tensor_list(1)?;
    if list.is_empty() || input.rank() == 0 || !input.is_row_major() {
        return Ok(None);
    }
    let mut rest = (1..list.len()).map(|entry| list.optional(entry));
    let is_alone = rest.all(|entry| matches!(entry, Ok(None)));
    let index = list.optional(0)?.filter(|index| {
        matches!(index.dtype(), DType::I64 | DType::I32) && list.len() <= input.rank() && is_alone
    });
    Ok(index)
}

/// `input[index]`, row by row.
fn index_rows(call: &KernelCall<'_>, input: &TensorView<'_>, index: &TensorView<'_>) -> Result<()> {
    let mut sizes = Dims::from_slice(index.sizes())?;
    for &size in &input.sizes()[1..] {
        sizes.push(size)?;
    }
    let mut out = call.output(2, &sizes)?;
    check_same_type(&out, input)?;
    let rows = input.sizes()[0];
    let width = input.bytes().len().checked_div(rows).unwrap_or(0);
    let positions = positions(call, index)?;
    let from = |position: i64| match wrap_index(position, rows) {
        Some(row) => Ok(row * width),
        None => out_of_range(position, rows),
    };
    if width == 0 || !out.is_row_major() {
        // Through memory of its own; positions are checked where there is nothing to copy, too.
        let bytes = call.temporary::<u8>(out.bytes_mut().len())?;
        for (at, &position) in positions.iter().enumerate() {
            let from = from(position)?;
            bytes[at * width..][..width].copy_from_slice(&input.bytes()[from..from + width]);
        }
        let (to, rows) = (Layout::of_output(&out), Layout::row_major(&sizes)?);
        let size = out.dtype().size();
        return copy_bytes(out.bytes_mut(), &to, bytes, &rows, size, call.threads());
    }
    for (target, &position) in out.bytes_mut().chunks_exact_mut(width).zip(positions) {
        let from = from(position)?;
        target.copy_from_slice(&input.bytes()[from..from + width]);
    }
    Ok(())
}

fn index_put(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let selection = Selection::new(call, input.sizes(), 1)?;
    let mut out = call.output(4, input.sizes())?;
    let (to, from) = (Layout::of_output(&out), Layout::of(&input));
    copy(&mut out, &to, &input, &from, call.threads())?;
    put(call, &mut out, &selection)
}

/// Writes argument 2 to what is selected of `target`.
fn put(
    call: &KernelCall<'_>,
    target: &mut TensorViewMut<'_>,
    selection: &Selection<'_>,
) -> Result<()> {
    let values = call.tensor(2)?;
    let from = Layout::of(&values).broadcast(&selection.sizes()?)?;
    let (from_indexed, from_rest) = selection.parts_of_result(&from)?;
    let to = Layout::of_output(target);
    let rest = selection.rest(&to)?;
    let blocks = Blocks {
        targets: selection.offsets(call, &to)?,
        sources: offsets(call, &from_indexed)?,
        sizes: &rest.sizes,
        target_strides: &rest.strides,
        source_strides: &from_rest.strides,
    };
    if call.bool(3)? {
        blocks.add(target, &values)
    } else {
        blocks.copy(target, &values)
    }
}

/// The selection that a list of index tensors makes of a tensor.
struct Selection<'a> {
    /// The sizes of the tensor.
    input: Dims,
    /// For each of its dimensions, the positions, if it is indexed.
    indices: [Option<Index<'a>>; MAX_RANK],
    /// The shape to which all index tensors broadcast.
    shape: Dims,
    /// The position of that shape in the result: in the place of the indexed dimensions if they are
    /// neighbours, otherwise in front.
    place: usize,
}

/// Positions in one dimension, in logical order of some shape.
#[derive(Clone, Copy)]
struct Index<'a> {
    positions: &'a [i64],
    sizes: Dims,
}

impl<'a> Selection<'a> {
    fn new(call: &'a KernelCall<'_>, sizes: &[usize], list: usize) -> Result<Self> {
        let list = call.tensor_list(list)?;
        let input = Dims::from_slice(sizes)?;
        let mut indices = [None; MAX_RANK];
        let mut shape = Dims::new();
        let mut dim = 0;
        for entry in 0..list.len() {
            let Some(index) = list.optional(entry)? else {
                dim += 1;
                continue;
            };
            if !matches!(index.dtype(), DType::Bool | DType::U8) {
                ensure!(
                    dim < input.len(),
                    InvalidInput,
                    "there are too many indices for a tensor of shape {sizes:?}"
                );
                let sizes = Dims::from_slice(index.sizes())?;
                shape = broadcast_shapes(&shape, &sizes)?;
                let positions = positions(call, &index)?;
                indices[dim] = Some(Index { positions, sizes });
                dim += 1;
                continue;
            }
            // A mask is as many indices as it has dimensions.
            ensure!(
                input.get(dim..dim + index.rank()) == Some(index.sizes()),
                InvalidInput,
                "a mask of shape {:?} does not fit dimension {dim} and on of shape {sizes:?}",
                index.sizes()
            );
            ensure!(index.rank() > 0, Unsupported, "a mask needs dimensions");
            let truth = truth(call, &index)?;
            let count = truth.iter().filter(|&&t| t != 0).count();
            let sizes = Dims::from_slice(&[count])?;
            shape = broadcast_shapes(&shape, &sizes)?;
            let all = call.temporary::<i64>(numel(&[count, index.rank()])?)?;
            nonzero_positions(truth, index.sizes(), all, [1, count]);
            for (offset, _) in index.sizes().iter().enumerate() {
                let positions = &all[offset * count..][..count];
                indices[dim + offset] = Some(Index { positions, sizes });
            }
            dim += index.rank();
        }
        ensure!(
            dim <= input.len(),
            InvalidInput,
            "there are too many indices for a tensor of shape {sizes:?}"
        );
        let indexed = |dim: &usize| indices[*dim].is_some();
        let first = (0..input.len()).find(indexed);
        let last = (0..input.len()).rfind(indexed);
        let place = match (first, last) {
            (Some(first), Some(last)) if (first..last).all(|dim| indexed(&dim)) => first,
            _ => 0,
        };
        Ok(Self {
            input,
            indices,
            shape,
            place,
        })
    }

    /// The shape of the result.
    fn sizes(&self) -> Result<Dims> {
        let mut sizes = Dims::new();
        for (dim, &size) in self.input.iter().enumerate() {
            if self.indices[dim].is_none() {
                sizes.push(size)?;
            }
        }
        for (at, &size) in self.shape.iter().enumerate() {
            sizes.insert(self.place + at, size)?;
        }
        Ok(sizes)
    }

    /// A layout of the result as that of the index tensors' shape, and that of the rest.
    fn parts_of_result(&self, result: &Layout) -> Result<(Layout, Layout)> {
        let indexed = self.place..self.place + self.shape.len();
        let (mut inside, mut rest) = (Layout::row_major(&[])?, Layout::row_major(&[])?);
        for (dim, (&size, &stride)) in result.sizes.iter().zip(&*result.strides).enumerate() {
            let part = if indexed.contains(&dim) {
                &mut inside
            } else {
                &mut rest
            };
            *part = part.with(part.sizes.len(), size, stride)?;
        }
        Ok((inside, rest))
    }

    /// The dimensions of the tensor that are not indexed.
    fn rest(&self, tensor: &Layout) -> Result<Layout> {
        let mut rest = Layout::row_major(&[])?;
        for (dim, (&size, &stride)) in tensor.sizes.iter().zip(&*tensor.strides).enumerate() {
            if self.indices[dim].is_none() {
                rest = rest.with(rest.sizes.len(), size, stride)?;
            }
        }
        Ok(rest)
    }

    /// The start in the tensor of each selected block.
    fn offsets(&self, call: &'a KernelCall<'_>, tensor: &Layout) -> Result<&'a [u64]> {
        let offsets = call.temporary::<u64>(numel(&self.shape)?)?;
        offsets.fill(0);
        for (dim, index) in self.indices.iter().enumerate() {
            let Some(index) = index else { continue };
            let (size, stride) = (tensor.sizes[dim], tensor.strides[dim]);
            let layout = Layout::row_major(&index.sizes)?.broadcast(&self.shape)?;
            let walk = Walk::new(&layout.sizes, [&layout.strides])?;
            let [step] = walk.steps();
            for (run, offsets) in walk.runs().zip(offsets.chunks_mut(walk.run_len().max(1))) {
                for (i, offset) in offsets.iter_mut().enumerate() {
                    let position = index.positions[run.offsets[0] + i * step];
                    let position = match wrap_index(position, size) {
                        Some(position) => position,
                        None => out_of_range(position, size)?,
                    };
                    *offset += position as u64 * stride as u64;
                }
            }
        }
        Ok(offsets)
    }
}
