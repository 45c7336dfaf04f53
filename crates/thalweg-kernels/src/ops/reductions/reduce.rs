//! The loops of all reductions.
//!
//! Dimensions are walked in the order in which they lie in memory, neighbours merged. Either the
//! elements of one result follow each other, and are folded run by run; or neighbouring
//! elements belong to neighbouring results, and whole rows are folded into a row of accumulators.

use thalweg_core::{Dims, Result, TensorView, TensorViewMut, identity_order};

use crate::dtype::compute::{Compute, load, store};
use crate::layout::dims::wrap_dim;
use crate::layout::walk::Walk;
use crate::simd::vectorized;

/// Elements that are folded at once, and accumulators of a row.
pub(super) const CHUNK: usize = 512;

/// Fewer elements than this for each result are not worth a fold of their own.
const FEW: usize = 16;

/// A way to reduce elements of type `C` to a result of type `Result`. What folds is to be
/// `#[inline(always)]`, so that it is compiled for the machine's vectors.
pub(super) trait Fold<C: Compute> {
    /// The accumulator of the elements so far.
    type State: Copy;
    /// The result.
    type Result: Compute;

    /// True if elements must come in logical order, because their numbers matter.
    const IS_ORDERED: bool = false;

    /// The state before the first element.
    fn start(&self) -> Self::State;

    /// Takes in elements of one result; the first of them is number `first` of that result.
    fn fold(&self, state: &mut Self::State, first: usize, elements: &[C]);

    /// Takes in one element of each of a row of results; they are number `index` of theirs.
    fn fold_row(&self, states: &mut [Self::State], index: usize, row: &[C]);

    /// The result of all `count` elements.
    fn finish(&self, state: Self::State, count: usize) -> Self::Result;
}

/// The dimensions that are reduced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduced {
    /// Bit `d` is set if dimension `d` is.
    mask: u32,
    rank: usize,
    keepdim: bool,
}

impl Reduced {
    /// All dimensions.
    pub(super) fn all(input: &TensorView<'_>, keepdim: bool) -> Self {
        Self {
            mask: (1 << input.rank()) - 1,
            rank: input.rank(),
            keepdim,
        }
    }

    /// One dimension.
    pub(super) fn one(input: &TensorView<'_>, dim: i64, keepdim: bool) -> Result<Self> {
        Self::list(input, &[dim], keepdim)
    }

    /// The dimensions of a list.
    pub(super) fn list(input: &TensorView<'_>, dims: &[i64], keepdim: bool) -> Result<Self> {
        let rank = input.rank();
        let mut mask = 0u32;
        for &dim in dims {
            let bit = 1 << wrap_dim(dim, rank)?;
            thalweg_core::ensure!(
                mask & bit == 0,
                Operator,
                "dimension {dim} appears twice in {dims:?}"
            );
            mask |= bit;
        }
        Ok(Self {
            // The dimension that a tensor without dimensions has is none.
            mask: mask & ((1 << rank) - 1),
            rank,
            keepdim,
        })
    }

    /// The dimensions of a list, or all if there is none or it is empty.
    pub(super) fn list_or_all(
        input: &TensorView<'_>,
        dims: Option<&[i64]>,
        keepdim: bool,
    ) -> Result<Self> {
        match dims {
            None | Some([]) => Ok(Self::all(input, keepdim)),
            Some(dims) => Self::list(input, dims, keepdim),
        }
    }

    pub(super) fn contains(&self, dim: usize) -> bool {
        self.mask >> dim & 1 == 1
    }

    /// The number of elements that make one result.
    pub(super) fn count(&self, input: &TensorView<'_>) -> usize {
        (0..self.rank)
            .filter(|&dim| self.contains(dim))
            .map(|dim| input.sizes()[dim])
            .fold(1, usize::saturating_mul)
    }

    /// The reduced dimensions as one, if they are neighbours in a row-major input with a row-major
    /// result: how many positions there are outside of it, how many it has itself, and how many there
    /// are inside of it.
    fn as_one(&self, input: &TensorView<'_>, out: &TensorViewMut<'_>) -> Option<[usize; 3]> {
        if !input.is_row_major() || !out.is_row_major() {
            return None;
        }
        let mut around = [1usize; 3];
        let mut side = 0;
        for (dim, &size) in input.sizes().iter().enumerate() {
            if size == 1 {
                continue;
            }
            side = match (self.contains(dim), side) {
                (true, 0 | 1) => 1,
                (false, 0) => 0,
                (false, _) => 2,
                (true, _) => return None,
            };
            around[side] = around[side].saturating_mul(size);
        }
        Some(around)
    }

    /// The shape of the result.
    #[inline]
    pub(super) fn sizes(&self, input: &TensorView<'_>) -> Dims {
        let mut sizes = Dims::new();
        for (dim, &size) in input.sizes().iter().enumerate() {
            // A tensor has no more dimensions than there is room for.
            let _ = match self.contains(dim) {
                false => sizes.push(size),
                true if self.keepdim => sizes.push(1),
                true => Ok(()),
            };
        }
        sizes
    }
}

/// Reduces `input` into `out`, which has the shape that [`Reduced::sizes`] says.
pub(super) fn reduce<C: Compute, F: Fold<C>>(
    input: &TensorView<'_>,
    out: &mut TensorViewMut<'_>,
    reduced: &Reduced,
    fold: &F,
) -> Result<()> {
    if out.numel() == 0 {
        return Ok(());
    }
    // Buffers of so few elements are soon cleared.
    if input.numel() <= FEW {
        let mut elements = [C::default(); FEW];
        let mut states = [fold.start(); FEW];
        let mut results = [F::Result::default(); FEW];
        let buffers = Buffers {
            elements: &mut elements,
            states: &mut states,
            results: &mut results,
        };
        return reduce_with(input, out, reduced, fold, buffers);
    }
    let mut elements = [C::default(); CHUNK];
    let mut states = [fold.start(); CHUNK];
    let mut results = [F::Result::default(); CHUNK];
    let buffers = Buffers {
        elements: &mut elements,
        states: &mut states,
        results: &mut results,
    };
    reduce_with(input, out, reduced, fold, buffers)
}

/// Working memory, all equally long: elements as they are computed with, the states of a row of
/// results, and those results.
struct Buffers<'b, C, S, R> {
    elements: &'b mut [C],
    states: &'b mut [S],
    results: &'b mut [R],
}

#[inline(never)]
fn reduce_with<C: Compute, F: Fold<C>>(
    input: &TensorView<'_>,
    out: &mut TensorViewMut<'_>,
    reduced: &Reduced,
    fold: &F,
    mut buffers: Buffers<'_, C, F::State, F::Result>,
) -> Result<()> {
    if let Some([outer, count, inner]) = reduced.as_one(input, out) {
        let elements = Elements {
            walk: None,
            run: count,
            step: inner,
            count,
        };
        let (times, mut run) = if inner == 1 {
            (1, Results::new([0, 0], outer, [count, 1]))
        } else {
            (outer, Results::new([0, 0], inner, [1, 1]))
        };
        for _ in 0..times {
            run.reduce(input, out, &elements, fold, &mut buffers)?;
            run.offset += count.saturating_mul(inner);
            run.out_offset += inner;
        }
        return Ok(());
    }
    let loops = Loops::new(input, out, reduced, F::IS_ORDERED)?;
    let [step] = loops.reduced.steps();
    let elements = Elements {
        walk: Some(&loops.reduced),
        run: loops.reduced.run_len(),
        step,
        count: reduced.count(input),
    };
    let (len, steps) = (loops.kept.run_len(), loops.kept.steps());
    for kept in loops.kept.runs() {
        let run = Results::new(kept.offsets, len, steps);
        run.reduce(input, out, &elements, fold, &mut buffers)?;
    }
    Ok(())
}

/// The way through an input several of whose dimensions stay apart: for each of the kept positions,
/// all of the reduced ones.
struct Loops {
    /// Over results: strides of the input and of the output.
    kept: Walk<2>,
    /// Over the elements of one result.
    reduced: Walk<1>,
}

impl Loops {
    fn new(
        input: &TensorView<'_>,
        out: &TensorViewMut<'_>,
        reduced: &Reduced,
        is_ordered: bool,
    ) -> Result<Self> {
        let strides = input.strides();
        let out_strides = out.strides();
        let mut kept = [Dims::new(), Dims::new(), Dims::new()];
        for &dim in input.dim_order() {
            let dim = usize::from(dim);
            if !reduced.contains(dim) {
                let gone = (0..dim).filter(|&dim| reduced.contains(dim)).count();
                let out_dim = if reduced.keepdim { dim } else { dim - gone };
                kept[0].push(input.sizes()[dim])?;
                kept[1].push(strides[dim])?;
                kept[2].push(out_strides[out_dim])?;
            }
        }
        let order = if is_ordered {
            identity_order(input.rank())?
        } else {
            input.dim_order()
        };
        let mut sizes = Dims::new();
        let mut steps = Dims::new();
        for dim in order.iter().map(|&dim| usize::from(dim)) {
            if reduced.contains(dim) {
                sizes.push(input.sizes()[dim])?;
                steps.push(strides[dim])?;
            }
        }
        let [kept_sizes, kept_strides, kept_out] = &kept;
        Ok(Self {
            kept: Walk::new(kept_sizes, [kept_strides, kept_out])?,
            reduced: Walk::new(&sizes, [&*steps])?,
        })
    }
}

/// The elements of one result: runs of them.
struct Elements<'w> {
    /// The walk over the starts of runs; `None` if there is one run.
    walk: Option<&'w Walk<1>>,
    /// Length of a run, and how far its elements are apart.
    run: usize,
    step: usize,
    /// The number of elements in all.
    count: usize,
}

impl Elements<'_> {
    /// Calls `visit` with where each run starts, counted from the first element.
    #[inline]
    fn for_each_run(&self, mut visit: impl FnMut(usize) -> Result<()>) -> Result<()> {
        match self.walk {
            None => visit(0),
            Some(walk) => walk.runs().try_for_each(|run| visit(run.offsets[0])),
        }
    }
}

/// A run of results.
#[derive(Clone, Copy)]
struct Results {
    /// The start of the elements of the first result, and the place to write it.
    offset: usize,
    out_offset: usize,
    len: usize,
    /// The distance of the elements of neighbours, and of neighbours themselves.
    step: usize,
    out_step: usize,
}

impl Results {
    fn new([offset, out_offset]: [usize; 2], len: usize, [step, out_step]: [usize; 2]) -> Self {
        Self {
            offset,
            out_offset,
            len,
            step,
            out_step,
        }
    }

    fn reduce<C: Compute, F: Fold<C>>(
        &self,
        input: &TensorView<'_>,
        out: &mut TensorViewMut<'_>,
        elements: &Elements<'_>,
        fold: &F,
        buffers: &mut Buffers<'_, C, F::State, F::Result>,
    ) -> Result<()> {
        // A run of results whose elements are neighbours, or that have few elements each, goes row
        // by row.
        let by_rows = self.len > 1 && (self.step == 1 || elements.count < FEW);
        let room = buffers.results.len();
        for start in (0..self.len).step_by(room) {
            let len = room.min(self.len - start);
            let offset = self.offset + start * self.step;
            if by_rows {
                self.rows(input, offset, elements, fold, len, buffers)?;
            } else if let Some(data) = self.neighbours::<C>(input, offset, elements, len)? {
                let results = &mut buffers.results[..len];
                vectorized(
                    #[inline(always)]
                    || {
                        for (index, result) in results.iter_mut().enumerate() {
                            let row = &data[index * self.step..][..elements.run];
                            let mut state = fold.start();
                            for (piece, chunk) in row.chunks(CHUNK).enumerate() {
                                fold.fold(&mut state, piece * CHUNK, chunk);
                            }
                            *result = fold.finish(state, elements.count);
                        }
                    },
                );
            } else {
                for index in 0..len {
                    let offset = offset + index * self.step;
                    buffers.results[index] = one(input, offset, elements, fold, buffers.elements)?;
                }
            }
            let to = self.out_offset + start * self.out_step;
            store(out, to, self.out_step, &buffers.results[..len])?;
        }
        Ok(())
    }

    /// The elements of `len` results from `offset` on, if those of each are neighbours and of the type that
    /// is computed in: then all results are one loop.
    fn neighbours<'t, C: Compute>(
        &self,
        input: &TensorView<'t>,
        offset: usize,
        elements: &Elements<'_>,
        len: usize,
    ) -> Result<Option<&'t [C]>> {
        if elements.walk.is_some() || elements.step != 1 || input.dtype() != C::DTYPE {
            return Ok(None);
        }
        let span = len.saturating_sub(1).saturating_mul(self.step);
        let end = offset.saturating_add(span).saturating_add(elements.run);
        Ok(input.data::<C>()?.get(offset..end))
    }

    /// The results of `len` rows of elements, the first of which starts at `offset`.
    fn rows<C: Compute, F: Fold<C>>(
        &self,
        input: &TensorView<'_>,
        offset: usize,
        elements: &Elements<'_>,
        fold: &F,
        len: usize,
        buffers: &mut Buffers<'_, C, F::State, F::Result>,
    ) -> Result<()> {
        let states = &mut buffers.states[..len];
        states.fill(fold.start());
        let buffer = &mut buffers.elements[..len];
        let mut number = 0;
        elements.for_each_run(|run| {
            for index in 0..elements.run {
                let at = offset + run + index * elements.step;
                let row = load(input, at, self.step, buffer)?;
                vectorized(
                    #[inline(always)]
                    || fold.fold_row(states, number, row),
                );
                number += 1;
            }
            Ok(())
        })?;
        for (result, &state) in buffers.results.iter_mut().zip(&*states) {
            *result = fold.finish(state, elements.count);
        }
        Ok(())
    }
}

/// The result of the elements around `offset`.
fn one<C: Compute, F: Fold<C>>(
    input: &TensorView<'_>,
    offset: usize,
    elements: &Elements<'_>,
    fold: &F,
    buffer: &mut [C],
) -> Result<F::Result> {
    let mut state = fold.start();
    let mut number = 0;
    elements.for_each_run(|run| {
        for start in (0..elements.run).step_by(buffer.len()) {
            let len = buffer.len().min(elements.run - start);
            let at = offset + run + start * elements.step;
            let elements = load(input, at, elements.step, &mut buffer[..len])?;
            vectorized(
                #[inline(always)]
                || fold.fold(&mut state, number, elements),
            );
            number += len;
        }
        Ok(())
    })?;
    Ok(fold.finish(state, elements.count))
}

/// Folds with several accumulators, which the compiler keeps in the lanes of vector registers.
#[inline(always)]
pub(super) fn fold_lanes<C: Copy, A: Copy>(
    elements: &[C],
    start: A,
    take: impl Fn(A, C) -> A,
    merge: impl Fn(A, A) -> A,
) -> A {
    const LANES: usize = 16;
    let mut lanes = [start; LANES];
    let (groups, rest) = elements.as_chunks::<LANES>();
    for group in groups {
        for (lane, &element) in lanes.iter_mut().zip(group) {
            *lane = take(*lane, element);
        }
    }
    for (lane, &element) in lanes.iter_mut().zip(rest) {
        *lane = take(*lane, element);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = merge(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}
