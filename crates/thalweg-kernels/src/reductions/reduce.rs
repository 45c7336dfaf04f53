//! The loops of all reductions.
//!
//! Dimensions are walked in the order in which they lie in memory, neighbours merged. Either the
//! elements of one result follow each other, and are folded stretch by stretch; or neighbouring
//! elements belong to neighbouring results, and whole rows are folded into a row of accumulators.

use thalweg_core::{Dims, Result, TensorView, TensorViewMut, identity_order};

use crate::compute::{Compute, load, store};
use crate::dims::wrap_dim;
use crate::strided::Walk;
use crate::vectors::vectorized;

/// Elements that are folded at once, and accumulators of a row.
pub(super) const CHUNK: usize = 512;

/// Fewer elements than this for each result are not worth a fold of their own.
const FEW: usize = 16;

/// A way to reduce elements of type `C` to a result of type `Result`. What folds is to be
/// `#[inline(always)]`, so that it is compiled for the machine's vectors.
pub(super) trait Fold<C: Compute> {
    /// What is known of the elements so far.
    type State: Copy;
    /// The result.
    type Result: Compute;

    /// Whether elements must come in logical order, because their numbers matter.
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

/// Which dimensions are reduced.
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

    /// Those of a list.
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

    /// Those of a list, or all if there is none or it is empty.
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

    /// How many elements make one result.
    pub(super) fn count(&self, input: &TensorView<'_>) -> usize {
        (0..self.rank)
            .filter(|&dim| self.contains(dim))
            .map(|dim| input.sizes()[dim])
            .fold(1, usize::saturating_mul)
    }

    /// The shape of the result.
    pub(super) fn sizes(&self, input: &TensorView<'_>) -> Result<Dims> {
        let mut sizes = Dims::new();
        for (dim, &size) in input.sizes().iter().enumerate() {
            if !self.contains(dim) {
                sizes.push(size)?;
            } else if self.keepdim {
                sizes.push(1)?;
            }
        }
        Ok(sizes)
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
    let loops = Loops::new(input, out, reduced, F::IS_ORDERED)?;
    let [step, out_step] = loops.kept.steps();
    let run = loops.kept.run_len();
    // A run of results whose elements are neighbours, or that have few elements each, goes row
    // by row.
    let by_rows = run > 1 && (step == 1 || loops.count < FEW);
    for kept in loops.kept.runs() {
        let [offset, out_offset] = kept.offsets;
        for start in (0..run).step_by(CHUNK) {
            let len = CHUNK.min(run - start);
            let mut results = [F::Result::default(); CHUNK];
            let results = &mut results[..len];
            let offset = offset + start * step;
            if by_rows {
                loops.rows(input, offset, step, fold, results)?;
            } else {
                let mut buffer = [C::default(); CHUNK];
                for (index, result) in results.iter_mut().enumerate() {
                    *result = loops.one(input, offset + index * step, fold, &mut buffer)?;
                }
            }
            store(out, out_offset + start * out_step, out_step, results)?;
        }
    }
    Ok(())
}

/// How to get through the input: for each of the kept positions, all of the reduced ones.
struct Loops {
    /// Over results: strides of the input and of the output.
    kept: Walk<2>,
    /// Over the elements of one result.
    reduced: Walk<1>,
    count: usize,
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
            count: reduced.count(input),
        })
    }

    /// The result of the elements around `offset`.
    fn one<C: Compute, F: Fold<C>>(
        &self,
        input: &TensorView<'_>,
        offset: usize,
        fold: &F,
        buffer: &mut [C; CHUNK],
    ) -> Result<F::Result> {
        let mut state = fold.start();
        let [step] = self.reduced.steps();
        let run = self.reduced.run_len();
        let mut number = 0;
        for piece in self.reduced.runs() {
            for start in (0..run).step_by(CHUNK) {
                let len = CHUNK.min(run - start);
                let at = offset + piece.offsets[0] + start * step;
                let elements = load(input, at, step, &mut buffer[..len])?;
                vectorized(
                    #[inline(always)]
                    || fold.fold(&mut state, number, elements),
                );
                number += len;
            }
        }
        Ok(fold.finish(state, self.count))
    }

    /// Results whose elements are `step` apart from those of the result before.
    fn rows<C: Compute, F: Fold<C>>(
        &self,
        input: &TensorView<'_>,
        offset: usize,
        step: usize,
        fold: &F,
        results: &mut [F::Result],
    ) -> Result<()> {
        let mut states = [fold.start(); CHUNK];
        let states = &mut states[..results.len()];
        let mut buffer = [C::default(); CHUNK];
        let buffer = &mut buffer[..results.len()];
        let [along] = self.reduced.steps();
        let mut number = 0;
        for piece in self.reduced.runs() {
            for index in 0..self.reduced.run_len() {
                let at = offset + piece.offsets[0] + index * along;
                let row = load(input, at, step, buffer)?;
                vectorized(
                    #[inline(always)]
                    || fold.fold_row(states, number, row),
                );
                number += 1;
            }
        }
        for (result, &state) in results.iter_mut().zip(&*states) {
            *result = fold.finish(state, self.count);
        }
        Ok(())
    }
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
