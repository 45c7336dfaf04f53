//! Joining tensors along a dimension, and taking one apart.

use thalweg_core::{
    Dims, KernelCall, KernelRegistry, Movement, Result, StaticArguments, TensorList, TensorView,
    TensorViewMut, ensure, numel,
};

use super::existing_dim;
use crate::dtype::convert::convert;
use crate::layout::Layout;
use crate::layout::copy::{copy, copy_all, copy_bytes};
use crate::layout::dims::{size_from, wrap_dim};
use crate::movement;
use crate::operator::pure;
use crate::parallel::for_each_chunk;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(
        pure(
            "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
            cat,
        )?
        .with_movement(concatenated),
    );
    registry.add(pure(
        "aten::stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
        stack,
    )?);
    registry.add(pure(
        "aten::split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0, *, \
         Tensor(a!)[] out) -> ()",
        split_with_sizes,
    )?);
    registry.add(pure(
        "aten::split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, \
         Tensor(a!)[] out) -> ()",
        split,
    )?);
    registry.add(pure(
        "aten::unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()",
        unbind,
    )?);
    Ok(())
}

/// The tensors that `cat` joins: PyTorch passes over those of shape [0], whatever the others are.
fn joined(list: TensorList<'_>) -> impl Iterator<Item = Result<TensorView<'_>>> {
    list.iter()
        .filter(|tensor| !matches!(tensor, Ok(tensor) if *tensor.sizes() == [0]))
}

/// The data movement of `cat(tensors, dim)`: all tensors, one after another, if no dimension outside of
/// the one that grows has more than one position.
fn concatenated(call: &StaticArguments<'_>) -> Option<Movement> {
    let dim = call.int(1)?;
    for index in 0..call.list_len(0)? {
        let sizes = call.list_shape(0, index)?.sizes;
        movement::outermost(sizes, dim)?;
    }
    Some(Movement::Concatenation { list: 0 })
}

fn cat(call: &KernelCall<'_>) -> Result<()> {
    let list = call.tensor_list(0)?;
    ensure!(
        !list.is_empty(),
        InvalidInput,
        "there are no tensors to join"
    );
    let Some(first) = joined(list).next().transpose()? else {
        call.output(2, &[0])?;
        return Ok(());
    };
    let dim = existing_dim(call.int(1)?, &first)?;
    let mut sizes = Dims::from_slice(first.sizes())?;
    sizes[dim] = 0;
    for tensor in joined(list) {
        let tensor = tensor?;
        let fits = tensor.rank() == sizes.len()
            && (0..sizes.len()).all(|d| d == dim || tensor.sizes()[d] == sizes[d]);
        ensure!(
            fits,
            InvalidInput,
            "shapes {:?} and {:?} cannot be joined along dimension {dim}",
            first.sizes(),
            tensor.sizes()
        );
        sizes[dim] = sizes[dim].saturating_add(tensor.sizes()[dim]);
    }
    let mut out = call.output(2, &sizes)?;
    if join(call, &mut out, joined(list), numel(&sizes[..dim])?)? {
        return Ok(());
    }
    let whole = Layout::of_output(&out);
    let mut start = 0;
    for tensor in joined(list) {
        let tensor = tensor?;
        let from = Layout::of(&tensor);
        let to = whole.slice(dim, start, 1, from.sizes[dim]);
        start += from.sizes[dim];
        place(call, &mut out, &to, &tensor, &from)?;
    }
    Ok(())
}

fn stack(call: &KernelCall<'_>) -> Result<()> {
    let list = call.tensor_list(0)?;
    ensure!(
        !list.is_empty(),
        InvalidInput,
        "there are no tensors to stack"
    );
    let first = list.get(0)?;
    let dim = wrap_dim(call.int(1)?, first.rank() + 1)?;
    let mut sizes = Dims::from_slice(first.sizes())?;
    sizes.insert(dim, list.len())?;
    for tensor in list.iter() {
        let tensor = tensor?;
        ensure!(
            tensor.sizes() == first.sizes(),
            InvalidInput,
            "tensors of shapes {:?} and {:?} cannot be stacked",
            first.sizes(),
            tensor.sizes()
        );
    }
    let mut out = call.output(2, &sizes)?;
    if join(call, &mut out, list.iter(), numel(&sizes[..dim])?)? {
        return Ok(());
    }
    let whole = Layout::of_output(&out);
    for (index, tensor) in list.iter().enumerate() {
        let tensor = tensor?;
        let (to, from) = (whole.select(dim, index), Layout::of(&tensor));
        place(call, &mut out, &to, &tensor, &from)?;
    }
    Ok(())
}

/// Joins tensors of the output's type that lie in logical order, as it does, and says whether it could.
/// There are `outer` rows, in each of which a part of every tensor follows that of the one before: so
/// the output is written from its beginning to its end, rather than with gaps for each tensor.
fn join<'a>(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    tensors: impl Iterator<Item = Result<TensorView<'a>>>,
    outer: usize,
) -> Result<bool> {
    /// The most tensors that need no list in temporary memory.
    const MOST: usize = 8;
    /// The length of parts below which they are copied faster if they all go to one tensor.
    const SHORT: usize = 256;
    /// Bytes that a thread takes at a time.
    const PIECE: usize = 1 << 16;
    if !out.is_row_major() {
        return Ok(false);
    }
    let mut parts: [&[u8]; MOST] = [&[]; MOST];
    let mut count = 0;
    for tensor in tensors {
        let tensor = tensor?;
        let fits = tensor.dtype() == out.dtype() && tensor.is_row_major();
        match parts.get_mut(count) {
            Some(part) if fits => *part = tensor.bytes(),
            _ => return Ok(false),
        }
        count += 1;
    }
    let (parts, bytes) = (&parts[..count], out.bytes_mut());
    if bytes.is_empty() {
        return Ok(true);
    }
    let row = bytes.len() / outer.max(1);
    if outer > 1 && row < SHORT * count {
        return Ok(false);
    }
    if outer == 1 {
        let mut rest = bytes;
        for part in parts {
            let (to, after) = rest.split_at_mut(part.len());
            copy_all(to, part, call.threads())?;
            rest = after;
        }
        return Ok(true);
    }
    let together = (PIECE / row).max(1);
    let work = bytes.len() / 4;
    for_each_chunk(
        call.threads(),
        work,
        bytes,
        row * together,
        |index, bytes| {
            for (at, mut rest) in bytes.chunks_exact_mut(row).enumerate() {
                for part in parts {
                    let width = part.len() / outer;
                    let (to, after) = rest.split_at_mut(width);
                    to.copy_from_slice(&part[(index * together + at) * width..][..width]);
                    rest = after;
                }
            }
            Ok(())
        },
    )?;
    Ok(true)
}

/// Copies a whole tensor to a part of another one, whose type its elements take on.
fn place(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    to: &Layout,
    tensor: &TensorView<'_>,
    from: &Layout,
) -> Result<()> {
    let dtype = out.dtype();
    if tensor.dtype() == dtype {
        return copy(out, to, tensor, from, call.threads());
    }
    let elements = call.temporary::<u8>(numel(&[tensor.numel(), dtype.size()])?)?;
    convert(elements, dtype, tensor.bytes(), tensor.dtype())?;
    let size = dtype.size();
    copy_bytes(out.bytes_mut(), to, elements, from, size, call.threads())
}

fn split_with_sizes(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let sizes = call.int_list(1)?;
    let dim = existing_dim(call.int(2)?, &input)?;
    let mut start = 0usize;
    for (index, &size) in sizes.iter().enumerate() {
        start = part(call, &input, dim, index, start, size_from(size)?)?;
    }
    ensure!(
        start == input.sizes()[dim] && sizes.len() == call.output_list_len(3)?,
        InvalidInput,
        "a dimension of size {} cannot be split into {sizes:?}",
        input.sizes()[dim]
    );
    Ok(())
}

fn split(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let each = size_from(call.int(1)?)?;
    let dim = existing_dim(call.int(2)?, &input)?;
    let size = input.sizes()[dim];
    let parts = call.output_list_len(3)?;
    let expected = size
        .checked_div(each)
        .map_or(1, |_| size.div_ceil(each))
        .max(1);
    ensure!(
        parts == expected && (each > 0 || size == 0),
        InvalidInput,
        "a dimension of size {size} cannot be split into {parts} parts of {each}"
    );
    let mut start = 0;
    for index in 0..parts {
        start = part(call, &input, dim, index, start, each.min(size - start))?;
    }
    Ok(())
}

/// Copies some positions of a dimension to one of a list of outputs. Returns where they end.
fn part(
    call: &KernelCall<'_>,
    input: &TensorView<'_>,
    dim: usize,
    index: usize,
    start: usize,
    len: usize,
) -> Result<usize> {
    let size = input.sizes()[dim];
    ensure!(
        len <= size - start,
        InvalidInput,
        "{len} positions from {start} on are not within a dimension of size {size}"
    );
    let from = Layout::of(input).slice(dim, start, 1, len);
    let mut out = call.output_in_list(3, index, &from.sizes)?;
    let to = Layout::of_output(&out);
    copy(&mut out, &to, input, &from, call.threads())?;
    Ok(start + len)
}

fn unbind(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = existing_dim(call.int(1)?, &input)?;
    let parts = call.output_list_len(2)?;
    ensure!(
        parts == input.sizes()[dim],
        InvalidInput,
        "a dimension of size {} does not have {parts} positions",
        input.sizes()[dim]
    );
    for index in 0..parts {
        let from = Layout::of(&input).select(dim, index);
        let mut out = call.output_in_list(2, index, &from.sizes)?;
        let to = Layout::of_output(&out);
        copy(&mut out, &to, &input, &from, call.threads())?;
    }
    Ok(())
}
