//! The loop over chunks of elements.
//!
//! The output is written in the order in which it lies in memory, in chunks of [`CHUNK`]
//! elements. For each chunk every operand is brought into the compute type: not at all if its
//! memory already holds it so, else into a buffer on the stack, converted, gathered or repeated.
//! Then the operator's function runs over slices, which the compiler turns into vector
//! instructions, and the result is converted to the output's type where it differs.

use thalweg_core::{DType, Dims, Result, Scalar, TensorView, TensorViewMut, same_dims};

use crate::dtype::cast::cast_scalar;
use crate::dtype::compute::{Compute, constant, gather, load, store_bytes, through, through_all};
use crate::dtype::dispatch::dispatch;
use crate::dtype::elements::elements_mut;
use crate::layout::Layout;
use crate::layout::order::same_places;
use crate::layout::walk::Walk;
use crate::parallel::for_each_chunk;

/// Elements of a chunk: a few buffers of them fit into the first-level cache.
pub(crate) const CHUNK: usize = 512;

/// Simple operations that an element counts as when threads are to share the work.
const WORK: usize = 4;

/// A function of a chunk: as many elements of each operand as of the result.
pub(crate) type ChunkFn<'f, C, P, const N: usize> = dyn Fn([&[C]; N], &mut [P]) + Sync + 'f;

/// An operand as the loop sees it.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a, C> {
    /// The same value everywhere.
    Constant(C),
    /// In the compute type, and in the order of the output.
    Direct(&'a [C]),
    /// In the order of the output, but of another type.
    Linear(TensorView<'a>, Option<DType>),
    /// In another order, or repeated.
    Strided(TensorView<'a>, &'a Walk<1>, Option<DType>),
}

impl<'a, C: Compute> Source<'a, C> {
    /// A tensor as operand of an operator that computes in type `common` and fills `out`. `walk` is
    /// where the way through its elements is kept, if it needs one: they are too large to be moved.
    ///
    /// # Errors
    /// If the tensor does not broadcast to the shape of `out`.
    pub(crate) fn tensor(
        tensor: TensorView<'a>,
        out: &TensorViewMut<'_>,
        common: DType,
        walk: &'a mut Option<Walk<1>>,
    ) -> Result<Self> {
        if same_dims(tensor.sizes(), out.sizes())
            && same_places(tensor.sizes(), tensor.dim_order(), out.dim_order())
        {
            return Self::of_aligned(&tensor, common);
        }
        let narrowed = narrowed(tensor.dtype(), common);
        let strides = Layout::of(&tensor).broadcast(out.sizes())?.strides;
        if out.numel() == 0 {
            return Ok(Self::Direct(&[]));
        }
        if tensor.numel() == 1 {
            let mut value = [C::default()];
            let value = load(&tensor, 0, 0, &mut value)?[0];
            return Ok(Self::Constant(through(value, common)?));
        }
        let mut sizes = Dims::new();
        let mut steps = Dims::new();
        for &dim in out.dim_order() {
            sizes.push(out.sizes()[usize::from(dim)])?;
            steps.push(strides[usize::from(dim)])?;
        }
        let walk = walk.insert(Walk::new(&sizes, [&*steps])?);
        Ok(Self::Strided(tensor, walk, narrowed))
    }

    /// A tensor that has as many elements as the output, in the same order.
    #[inline(always)]
    pub(crate) fn of_aligned(tensor: &TensorView<'a>, common: DType) -> Result<Self> {
        let narrowed = narrowed(tensor.dtype(), common);
        if tensor.dtype() == C::DTYPE && narrowed.is_none() {
            return Ok(Self::Direct(tensor.data()?));
        }
        Ok(Self::Linear(*tensor, narrowed))
    }

    /// A number as operand of an operator that computes in type `common`.
    pub(crate) fn scalar(value: Scalar, common: DType) -> Result<Self> {
        Ok(Self::Constant(constant(value, common)?))
    }

    /// A number that keeps its precision next to f16 and bf16, as in products and quotients.
    pub(crate) fn precise_scalar(value: Scalar, common: DType) -> Result<Self> {
        if common.is_float() {
            return Ok(Self::Constant(cast_scalar(value)));
        }
        Self::scalar(value, common)
    }

    /// A tensor without dimensions that keeps its precision, like
    /// [`precise_scalar`](Self::precise_scalar).
    pub(crate) fn precise_tensor(
        tensor: TensorView<'a>,
        out: &TensorViewMut<'_>,
        common: DType,
        walk: &'a mut Option<Walk<1>>,
    ) -> Result<Self> {
        if common.is_float() && tensor.numel() == 1 {
            let mut value = [C::default()];
            return Ok(Self::Constant(load(&tensor, 0, 0, &mut value)?[0]));
        }
        Self::tensor(tensor, out, common, walk)
    }

    /// Fills the buffer of an operand that never changes from chunk to chunk.
    fn prepare(&self, buffer: &mut [C]) {
        if let Self::Constant(value) = self {
            buffer.fill(*value);
        }
    }

    /// The elements for the `buffer.len()` positions of the output from `start` on.
    #[inline]
    fn chunk<'b>(&'b self, start: usize, buffer: &'b mut [C]) -> Result<&'b [C]> {
        let narrowed = match self {
            Self::Constant(_) => return Ok(buffer),
            Self::Direct(values) => {
                return Ok(values.get(start..start + buffer.len()).unwrap_or_default());
            }
            Self::Linear(tensor, narrowed) => {
                dispatch!(tensor.dtype(), all => S, {
                    gather(tensor.data::<S>()?, start, 1, buffer);
                });
                narrowed
            }
            Self::Strided(tensor, walk, narrowed) => {
                let run = walk.run_len();
                let [step] = walk.steps();
                let (first, skipped) = (start / run, start % run);
                if narrowed.is_none() && skipped + buffer.len() <= run {
                    // All within one run, which may need no copy.
                    let [offset] = walk.runs_from(first).next().map_or([0], |run| run.offsets);
                    return load(tensor, offset + skipped * step, step, buffer);
                }
                dispatch!(tensor.dtype(), all => S, {
                    let data = tensor.data::<S>()?;
                    let mut skipped = skipped;
                    let mut rest = &mut *buffer;
                    for piece in walk.runs_from(first) {
                        let len = (run - skipped).min(rest.len());
                        let (part, after) = rest.split_at_mut(len);
                        gather(data, piece.offsets[0] + skipped * step, step, part);
                        rest = after;
                        skipped = 0;
                        if rest.is_empty() {
                            break;
                        }
                    }
                });
                narrowed
            }
        };
        if let Some(dtype) = *narrowed {
            through_all(buffer, dtype)?;
        }
        Ok(buffer)
    }
}

/// The type to which elements of an operand are rounded before they are computed with: an i64 that
/// meets f16 loses bits before the operator sees it.
#[inline(always)]
fn narrowed(dtype: DType, common: DType) -> Option<DType> {
    let narrows =
        matches!(common, DType::F16 | DType::BF16) && dtype != common && dtype != DType::Bool;
    narrows.then_some(common)
}

/// Fills `out` with a function of its operands, element by element.
pub(crate) fn map<C: Compute, P: Compute, const N: usize>(
    out: &mut TensorViewMut<'_>,
    threads: usize,
    sources: [Source<'_, C>; N],
    f: &ChunkFn<'_, C, P, N>,
) -> Result<()> {
    let dtype = out.dtype();
    let numel = out.numel();
    if numel == 0 {
        return Ok(());
    }
    let part = numel.div_ceil(CHUNK).div_ceil(threads.max(1)) * CHUNK;
    let (bytes, len) = (out.bytes_mut(), part * dtype.size());
    for_each_chunk(
        threads,
        numel.saturating_mul(WORK),
        bytes,
        len,
        |index, bytes| map_part(dtype, bytes, index * part, &sources, f),
    )
}

/// An operand for which there is nothing to prepare.
#[derive(Clone, Copy)]
pub(crate) enum Plain<'a, C> {
    /// The same value everywhere.
    All(C),
    /// In the compute type, and in the order of the output.
    Each(&'a [C]),
}

/// As [`map`], for operands and outputs that need no conversion. So small tensors, for which the
/// general way is most of the time, are soon done.
pub(crate) fn map_plain<C: Compute, P: Compute, const N: usize>(
    out: &mut [P],
    threads: usize,
    operands: [Plain<'_, C>; N],
    f: &ChunkFn<'_, C, P, N>,
) -> Result<()> {
    let numel = out.len();
    let part = numel.div_ceil(CHUNK).div_ceil(threads.max(1)) * CHUNK;
    let work = numel.saturating_mul(WORK);
    let has_numbers = operands
        .iter()
        .any(|operand| matches!(operand, Plain::All(_)));
    for_each_chunk(threads, work, out, part, |index, out| {
        let first = index * part;
        if !has_numbers {
            f(plain_slices(&operands, &[&[]; N], first, out.len()), out);
        } else if out.len() <= FEW {
            let mut buffers = [[C::default(); FEW]; N];
            let buffers = buffers.each_mut().map(<[C; FEW]>::as_mut_slice);
            plain_part(&operands, buffers, first, out, f);
        } else {
            let mut buffers = [[C::default(); CHUNK]; N];
            let buffers = buffers.each_mut().map(<[C; CHUNK]>::as_mut_slice);
            plain_part(&operands, buffers, first, out, f);
        }
        Ok(())
    })
}

/// So few elements have small buffers, which are soon cleared.
const FEW: usize = 16;

/// `out` in chunks as large as the buffers.
fn plain_part<C: Compute, P: Compute, const N: usize>(
    operands: &[Plain<'_, C>; N],
    mut buffers: [&mut [C]; N],
    first: usize,
    out: &mut [P],
    f: &ChunkFn<'_, C, P, N>,
) {
    let len = buffers.first().map_or(CHUNK, |buffer| buffer.len());
    for (operand, buffer) in operands.iter().zip(&mut buffers) {
        if let Plain::All(value) = operand {
            buffer.fill(*value);
        }
    }
    let buffers = buffers.each_ref().map(|buffer| &**buffer);
    for (index, out) in out.chunks_mut(len).enumerate() {
        let start = first + index * len;
        f(plain_slices(operands, &buffers, start, out.len()), out);
    }
}

/// The elements for `len` positions from `start` on; buffers have the numbers.
#[inline]
fn plain_slices<'b, C: Copy, const N: usize>(
    operands: &'b [Plain<'_, C>; N],
    buffers: &[&'b [C]; N],
    start: usize,
    len: usize,
) -> [&'b [C]; N] {
    std::array::from_fn(|n| match &operands[n] {
        Plain::All(_) => buffers[n].get(..len).unwrap_or_default(),
        Plain::Each(values) => values.get(start..start + len).unwrap_or_default(),
    })
}

/// The part of the output that starts at position `first`.
fn map_part<C: Compute, P: Compute, const N: usize>(
    dtype: DType,
    bytes: &mut [u8],
    first: usize,
    sources: &[Source<'_, C>; N],
    f: &ChunkFn<'_, C, P, N>,
) -> Result<()> {
    if P::DTYPE != dtype {
        return map_and_convert(dtype, bytes, first, sources, f);
    }
    let out = elements_mut::<P>(bytes)?;
    let is_direct = |source: &Source<'_, C>| matches!(source, Source::Direct(_));
    if sources.iter().all(is_direct) {
        let range = first..first + out.len();
        let operands = std::array::from_fn(|n| match &sources[n] {
            Source::Direct(values) => values.get(range.clone()).unwrap_or_default(),
            _ => &[],
        });
        f(operands, out);
        return Ok(());
    }
    if out.len() <= FEW {
        let mut buffers = [[C::default(); FEW]; N];
        let buffers = buffers.each_mut().map(<[C; FEW]>::as_mut_slice);
        return map_chunks(out, first, sources, buffers, f);
    }
    let mut buffers = [[C::default(); CHUNK]; N];
    let buffers = buffers.each_mut().map(<[C; CHUNK]>::as_mut_slice);
    map_chunks(out, first, sources, buffers, f)
}

/// `out` in chunks as large as the buffers.
#[inline(never)]
fn map_chunks<C: Compute, P: Compute, const N: usize>(
    out: &mut [P],
    first: usize,
    sources: &[Source<'_, C>; N],
    mut buffers: [&mut [C]; N],
    f: &ChunkFn<'_, C, P, N>,
) -> Result<()> {
    let len = buffers.first().map_or(CHUNK, |buffer| buffer.len());
    prepare(sources, &mut buffers, out.len());
    for (index, out) in out.chunks_mut(len).enumerate() {
        let start = first + index * len;
        f(chunks(sources, &mut buffers, start, out.len())?, out);
    }
    Ok(())
}

/// As [`map_part`], where the result must be converted.
fn map_and_convert<C: Compute, P: Compute, const N: usize>(
    dtype: DType,
    bytes: &mut [u8],
    first: usize,
    sources: &[Source<'_, C>; N],
    f: &ChunkFn<'_, C, P, N>,
) -> Result<()> {
    if bytes.len() <= FEW * dtype.size() {
        let (mut buffers, mut results) = ([[C::default(); FEW]; N], [P::default(); FEW]);
        let buffers = buffers.each_mut().map(<[C; FEW]>::as_mut_slice);
        return convert_chunks(dtype, bytes, first, sources, buffers, &mut results, f);
    }
    let (mut buffers, mut results) = ([[C::default(); CHUNK]; N], [P::default(); CHUNK]);
    let buffers = buffers.each_mut().map(<[C; CHUNK]>::as_mut_slice);
    convert_chunks(dtype, bytes, first, sources, buffers, &mut results, f)
}

/// The output in chunks of as many elements as `results` has.
#[inline(never)]
fn convert_chunks<C: Compute, P: Compute, const N: usize>(
    dtype: DType,
    bytes: &mut [u8],
    first: usize,
    sources: &[Source<'_, C>; N],
    mut buffers: [&mut [C]; N],
    results: &mut [P],
    f: &ChunkFn<'_, C, P, N>,
) -> Result<()> {
    let len = results.len();
    prepare(sources, &mut buffers, bytes.len() / dtype.size());
    for (index, bytes) in bytes.chunks_mut(len * dtype.size()).enumerate() {
        let results = &mut results[..bytes.len() / dtype.size()];
        let start = first + index * len;
        f(
            chunks(sources, &mut buffers, start, results.len())?,
            results,
        );
        store_bytes(dtype, bytes, results)?;
    }
    Ok(())
}

/// Fills the buffers of what never changes from chunk to chunk, as far as `len` elements need it.
#[inline]
fn prepare<C: Compute, const N: usize>(
    sources: &[Source<'_, C>; N],
    buffers: &mut [&mut [C]; N],
    len: usize,
) {
    for (source, buffer) in sources.iter().zip(buffers) {
        let len = len.min(buffer.len());
        source.prepare(&mut buffer[..len]);
    }
}

/// A chunk of each operand.
#[inline]
fn chunks<'b, C: Compute, const N: usize>(
    sources: &'b [Source<'_, C>; N],
    buffers: &'b mut [&mut [C]; N],
    start: usize,
    len: usize,
) -> Result<[&'b [C]; N]> {
    let mut operands = [&[][..]; N];
    for ((operand, source), buffer) in operands.iter_mut().zip(sources).zip(buffers) {
        *operand = source.chunk(start, &mut buffer[..len])?;
    }
    Ok(operands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_output() {
        let columns = (1 << 12) + 3;
        let numel = 9 * columns;
        let x: Vec<i64> = (0..numel as i64).collect();
        let y: Vec<i32> = (0..columns as i32).collect();
        let sizes = [9, columns];
        for threads in [1, 2, 7] {
            let mut sums = vec![0i64; numel];
            let mut out = TensorViewMut::from_slice(&mut sums, &sizes).unwrap();
            let x = TensorView::from_slice(&x, &sizes).unwrap();
            let y = TensorView::from_slice(&y, &sizes[1..]).unwrap();
            let mut walks = [None, None];
            let [walk_x, walk_y] = &mut walks;
            let sources = [(x, walk_x), (y, walk_y)]
                .map(|(x, walk)| Source::tensor(x, &out, DType::I64, walk).unwrap());
            map::<i64, i64, 2>(&mut out, threads, sources, &|[a, b], out| {
                for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                    *out = a + b;
                }
            })
            .unwrap();
            for (i, sum) in sums.into_iter().enumerate() {
                assert_eq!(sum as usize, i + i % columns);
            }
        }
    }
}
