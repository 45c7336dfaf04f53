//! Padding.

use bytemuck::Pod;
use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, Scalar, ensure};

use crate::dtype::convert::encode;
use crate::dtype::dispatch::dispatch_size;
use crate::dtype::elements::{elements, elements_mut};
use crate::layout::Layout;
use crate::layout::copy::{check_same_type, copy, copy_elements};
use crate::layout::walk::Walk;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::constant_pad_nd.out(Tensor self, SymInt[] pad, Scalar value=0, *, \
         Tensor(a!) out) -> Tensor(a!)",
        constant,
    )?);
    for rank in 1..=3 {
        registry.add(pure(
            &format!(
                "aten::reflection_pad{rank}d.out(Tensor self, SymInt[{}] padding, *, \
                 Tensor(a!) out) -> Tensor(a!)",
                2 * rank
            ),
            move |call| from_within(call, rank, true),
        )?);
        registry.add(pure(
            &format!(
                "aten::replication_pad{rank}d.out(Tensor self, SymInt[{}] padding, *, \
                 Tensor(a!) out) -> Tensor(a!)",
                2 * rank
            ),
            move |call| from_within(call, rank, false),
        )?);
    }
    Ok(())
}

/// A size with padding on both sides, which takes away if it is negative.
fn padded(size: usize, before: i64, after: i64) -> Result<usize> {
    let padded = size as i128 + i128::from(before) + i128::from(after);
    match usize::try_from(padded) {
        Ok(padded) => Ok(padded),
        Err(_) => thalweg_core::bail!(
            InvalidInput,
            "a dimension of size {size} cannot be padded by {before} and {after}"
        ),
    }
}

fn constant(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let pad = call.int_list(1)?;
    let rank = input.rank();
    ensure!(
        pad.len() % 2 == 0 && pad.len() / 2 <= rank,
        InvalidInput,
        "{pad:?} is not padding for a tensor of {rank} dimensions"
    );
    let value = call.optional_scalar(2)?.unwrap_or(Scalar::Int(0));
    let mut sizes = Dims::from_slice(input.sizes())?;
    for (index, pair) in pad.chunks_exact(2).enumerate() {
        let dim = rank - 1 - index;
        sizes[dim] = padded(sizes[dim], pair[0], pair[1])?;
    }
    let mut out = call.output(3, &sizes)?;
    let (mut to, mut from) = (Layout::of_output(&out), Layout::of(&input));
    let size = out.dtype().size();
    let value = encode(value, out.dtype())?;
    let mut fill = |part: &Layout| {
        let mut once = *part;
        (once.offset, once.strides) = (0, Dims::filled(0, rank)?);
        dispatch_size!(size => T, {
            let value: T = bytemuck::pod_read_unaligned(&value[..size]);
            let target = elements_mut::<T>(out.bytes_mut())?;
            copy_elements(target, part, &[value], &once, call.threads())
        })
    };
    for dim in 0..rank {
        let pair = pad.chunks_exact(2).nth(rank - 1 - dim).unwrap_or(&[0, 0]);
        let [ahead, cut] = [pair[0], pair[0].saturating_neg()].map(|n| n.max(0) as usize);
        let whole = to.sizes[dim];
        let kept = from.sizes[dim].saturating_sub(cut);
        let kept = kept.min(whole.saturating_sub(ahead));
        // The edges of what is within the dimensions before; nothing is written twice.
        let ahead = ahead.min(whole);
        fill(&to.slice(dim, 0, 1, ahead))?;
        fill(&to.slice(dim, ahead + kept, 1, whole - ahead - kept))?;
        to = to.slice(dim, ahead, 1, kept);
        from = from.slice(dim, cut, 1, kept);
    }
    copy(&mut out, &to, &input, &from, call.threads())
}

/// Fills the padding of the inner `padded_dims` dimensions from what lies within: mirrored at the
/// edge, or the edge repeated.
fn from_within(call: &KernelCall<'_>, padded_dims: usize, mirrored: bool) -> Result<()> {
    let input = call.tensor(0)?;
    let pad = call.int_list(1)?;
    let rank = input.rank();
    ensure!(
        pad.len() == 2 * padded_dims && (rank == padded_dims + 1 || rank == padded_dims + 2),
        InvalidInput,
        "{pad:?} is not padding of {padded_dims} dimensions for a tensor of shape {:?}",
        input.sizes()
    );
    let outer = rank - padded_dims;
    let from = Layout::of(&input);
    let mut sizes = Dims::from_slice(input.sizes())?;
    for (index, pair) in pad.chunks_exact(2).enumerate() {
        let dim = rank - 1 - index;
        let size = sizes[dim];
        let limit =
            |padding: i64| padding >= -(size as i64) && (!mirrored || padding < size as i64);
        ensure!(
            size > 0 && limit(pair[0]) && limit(pair[1]),
            InvalidInput,
            "a dimension of size {size} cannot be padded by {pair:?} from within"
        );
        sizes[dim] = padded(size, pair[0], pair[1])?;
    }
    let mut out = call.output(2, &sizes)?;
    check_same_type(&out, &input)?;
    let to = Layout::of_output(&out);
    // For each position of each padded dimension, where in the input it comes from. Dimensions
    // that are not there have one position.
    let mut tables: [&[u64]; 3] = [&[0]; 3];
    let mut steps = [0; 3];
    for (index, pair) in pad.chunks_exact(2).enumerate() {
        let dim = rank - 1 - index;
        let table = call.temporary::<u64>(sizes[dim])?;
        let last = from.sizes[dim] as i64 - 1;
        for (position, entry) in table.iter_mut().enumerate() {
            let at = position as i64 - pair[0];
            let inside = match mirrored {
                true if at < 0 => -at,
                true if at > last => 2 * last - at,
                _ => at.clamp(0, last),
            };
            *entry = inside as u64 * from.strides[dim] as u64;
        }
        tables[2 - index] = table;
        steps[2 - index] = to.strides[dim];
    }
    let walk = Walk::new(
        &sizes[..outer],
        [&to.strides[..outer], &from.strides[..outer]],
    )?;
    let (target, source) = (out.bytes_mut(), input.bytes());
    dispatch_size!(input.dtype().size() => T, {
        fill::<T>(elements_mut(target)?, elements(source)?, &walk, tables, steps);
    });
    Ok(())
}

fn fill<T: Pod>(
    target: &mut [T],
    source: &[T],
    walk: &Walk<2>,
    tables: [&[u64]; 3],
    steps: [usize; 3],
) {
    let [to_step, from_step] = walk.steps();
    for run in walk.runs() {
        for i in 0..walk.run_len() {
            let (to, from) = (run.offsets[0] + i * to_step, run.offsets[1] + i * from_step);
            for (depth, &plane) in tables[0].iter().enumerate() {
                for (height, &row) in tables[1].iter().enumerate() {
                    let to = to + depth * steps[0] + height * steps[1];
                    let from = from + (plane + row) as usize;
                    for (width, &element) in tables[2].iter().enumerate() {
                        target[to + width * steps[2]] = source[from + element as usize];
                    }
                }
            }
        }
    }
}
