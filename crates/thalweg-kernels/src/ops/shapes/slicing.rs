//! Parts of a tensor: slices, single positions, diagonals, windows.

use thalweg_core::{KernelCall, KernelRegistry, Movement, Result, StaticArguments, bail, ensure};

use super::{existing_dim, materialize};
use crate::layout::Layout;
use crate::layout::dims::{size_from, wrap_dim, wrap_index};
use crate::movement;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(
        pure(
            "aten::slice_copy.Tensor_out(Tensor self, int dim=0, SymInt? start=None, \
             SymInt? end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)",
            slice,
        )?
        .with_movement(sliced),
    );
    registry.add(pure(
        "aten::narrow_copy.out(Tensor self, int dim, SymInt start, SymInt length, *, \
         Tensor(a!) out) -> Tensor(a!)",
        narrow,
    )?);
    registry.add(
        pure(
            "aten::select_copy.int_out(Tensor self, int dim, SymInt index, *, Tensor(a!) out) \
             -> Tensor(a!)",
            select,
        )?
        .with_movement(selected),
    );
    registry.add(pure(
        "aten::diagonal_copy.out(Tensor self, int offset=0, int dim1=0, int dim2=1, *, \
         Tensor(a!) out) -> Tensor(a!)",
        diagonal,
    )?);
    registry.add(pure(
        "aten::unfold_copy.out(Tensor self, int dimension, int size, int step, *, \
         Tensor(a!) out) -> Tensor(a!)",
        unfold,
    )?);
    registry.add(pure(
        "aten::as_strided_copy.out(Tensor self, SymInt[] size, SymInt[] stride, \
         SymInt? storage_offset=None, *, Tensor(a!) out) -> Tensor(a!)",
        as_strided,
    )?);
    Ok(())
}

fn slice(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = existing_dim(call.int(1)?, &input)?;
    let range = Range::new(
        input.sizes()[dim],
        call.optional_int(2)?,
        call.optional_int(3)?,
        call.int(4)?,
    )?;
    materialize(call, &input, &range.of(Layout::of(&input), dim), 5)
}

/// The data movement of `slice_copy(self, dim, start, end, step)`: one range, if the outermost dimension is cut.
fn sliced(call: &StaticArguments<'_>) -> Option<Movement> {
    // A slice without a start begins at 0; a start that is computed is not known here.
    if call.int(4)? != 1 {
        return None;
    }
    movement::from_position(call, call.int(1)?, call.int(2)?)
}

/// A range of positions of a dimension.
pub(super) struct Range {
    pub(super) start: usize,
    pub(super) step: usize,
    pub(super) len: usize,
}

impl Range {
    /// The positions that Python's `start:end:step` names; what lies outside is left out.
    pub(super) fn new(
        size: usize,
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    ) -> Result<Self> {
        let clamp = |position: i64| match usize::try_from(position.unsigned_abs()) {
            Ok(back) if position < 0 => size.saturating_sub(back),
            Ok(position) => position.min(size),
            Err(_) => size,
        };
        ensure!(step > 0, InvalidInput, "a slice with a step of {step}");
        let (start, end) = (clamp(start.unwrap_or(0)), end.map_or(size, clamp));
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        Ok(Self {
            start,
            step,
            len: end.saturating_sub(start).div_ceil(step),
        })
    }

    pub(super) fn of(&self, layout: Layout, dim: usize) -> Layout {
        layout.slice(dim, self.start, self.step, self.len)
    }
}

fn narrow(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = existing_dim(call.int(1)?, &input)?;
    let size = input.sizes()[dim];
    let (start, len) = (call.int(2)?, call.int(3)?);
    let first = if start >= 0 && start.unsigned_abs() as usize == size {
        Some(size)
    } else {
        wrap_index(start, size)
    };
    let length = size_from(len)?;
    let layout = match first {
        Some(first) if length <= size - first => Layout::of(&input).slice(dim, first, 1, length),
        _ => bail!(
            InvalidInput,
            "{len} positions from {start} on are not within a dimension of size {size}"
        ),
    };
    materialize(call, &input, &layout, 4)
}

fn select(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = existing_dim(call.int(1)?, &input)?;
    let index = existing_index(call.int(2)?, input.sizes()[dim])?;
    materialize(call, &input, &Layout::of(&input).select(dim, index), 3)
}

/// The data movement of `select_copy(self, dim, index)`: one position of the outermost dimension.
fn selected(call: &StaticArguments<'_>) -> Option<Movement> {
    movement::from_position(call, call.int(1)?, call.int(2)?)
}

/// A position of a dimension.
pub(super) fn existing_index(index: i64, size: usize) -> Result<usize> {
    match wrap_index(index, size) {
        Some(index) => Ok(index),
        None => bail!(
            InvalidInput,
            "there is no position {index} in a dimension of size {size}"
        ),
    }
}

fn diagonal(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let layout = diagonal_of(Layout::of(&input), call.int(1)?, call.int(2)?, call.int(3)?)?;
    materialize(call, &input, &layout, 4)
}

/// The diagonal of two dimensions, as a new innermost one.
pub(super) fn diagonal_of(layout: Layout, offset: i64, a: i64, b: i64) -> Result<Layout> {
    let rank = layout.sizes.len();
    let (row, column) = (wrap_dim(a, rank)?, wrap_dim(b, rank)?);
    ensure!(
        row != column && rank > 1,
        InvalidInput,
        "dimensions {a} and {b} of {rank} do not make a matrix"
    );
    let distance = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let (down, right) = if offset < 0 {
        (distance, 0)
    } else {
        (0, distance)
    };
    let rows = layout.sizes[row].saturating_sub(down);
    let len = rows.min(layout.sizes[column].saturating_sub(right));
    let stride = layout.strides[row].saturating_add(layout.strides[column]);
    let (first, second) = (row.max(column), row.min(column));
    let start = layout.slice(row, down, 1, 1).slice(column, right, 1, 1);
    let start = start.without(first).without(second);
    start.with(rank - 2, len, stride)
}

fn unfold(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = wrap_dim(call.int(1)?, input.rank())?;
    let (window, step) = (size_from(call.int(2)?)?, size_from(call.int(3)?)?);
    let mut layout = Layout::of(&input);
    // A tensor without dimensions counts as one with one element.
    if input.rank() == 0 {
        ensure!(
            window <= 1 && step > 0,
            InvalidInput,
            "there is one element to unfold, not {window}"
        );
        return materialize(call, &input, &layout.with(0, window, 1)?, 4);
    }
    let (size, stride) = (layout.sizes[dim], layout.strides[dim]);
    ensure!(
        window <= size && step > 0,
        InvalidInput,
        "a dimension of size {size} has no windows of {window}, {step} apart"
    );
    layout = layout.slice(dim, 0, step, (size - window) / step + 1);
    let layout = layout.with(input.rank(), window, stride)?;
    materialize(call, &input, &layout, 4)
}

fn as_strided(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let (sizes, strides) = (call.int_list(1)?, call.int_list(2)?);
    ensure!(
        sizes.len() == strides.len(),
        InvalidInput,
        "{sizes:?} and {strides:?} are not sizes and strides of one tensor"
    );
    let mut layout = Layout::row_major(&[])?;
    layout.offset = size_from(call.optional_int(3)?.unwrap_or(0))?;
    for (dim, (&size, &stride)) in sizes.iter().zip(strides).enumerate() {
        layout = layout.with(dim, size_from(size)?, size_from(stride)?)?;
    }
    ensure!(
        layout.end() <= input.numel(),
        InvalidInput,
        "sizes {sizes:?} with strides {strides:?} reach beyond the {} elements that there are",
        input.numel()
    );
    materialize(call, &input, &layout, 4)
}
