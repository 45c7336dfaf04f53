//! Sorting, and selecting the largest or the middle.
//!
//! NaN counts as larger than every number, as in PyTorch. Sorting keeps the order of equal
//! elements, also where the program does not require a stable sort.

mod median;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use thalweg_core::{
    Bool, DType, Dims, Element, KernelCall, KernelRegistry, Result, TensorView, TensorViewMut,
    bf16, ensure, f16,
};

use crate::dtype::dispatch::dispatch;
use crate::layout::Layout;
use crate::layout::dims::{size_from, wrap_dim};
use crate::layout::walk::Walk;
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, \
         bool sorted=True, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, \
         Tensor(b!) indices)",
        topk,
    )?);
    registry.add(pure(
        "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, \
         Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
        |call| sort(call, call.int(1)?, call.bool(2)?, 3),
    )?);
    registry.add(pure(
        "aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, \
         bool descending=False, Tensor(a!) values, Tensor(b!) indices) \
         -> (Tensor(a!) values, Tensor(b!) indices)",
        |call| sort(call, call.int(2)?, call.bool(3)?, 4),
    )?);
    median::register(registry)
}

fn topk(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let k = size_from(call.int(1)?)?;
    let dim = wrap_dim(call.int(2)?, input.rank())?;
    let size = input.sizes().get(dim).copied().unwrap_or(1);
    ensure!(
        k <= size,
        InvalidInput,
        "a dimension of size {size} does not have {k} largest"
    );
    let mut sizes = Dims::from_slice(input.sizes())?;
    if input.rank() > 0 {
        sizes[dim] = k;
    }
    let mut values = call.output(5, &sizes)?;
    let mut indices = call.output(6, &sizes)?;
    let selected = Selected {
        dim,
        kept: k,
        descending: call.bool(3)?,
    };
    selected.write(call, &input, &mut values, &mut indices)
}

fn sort(call: &KernelCall<'_>, dim: i64, descending: bool, values: usize) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = wrap_dim(dim, input.rank())?;
    let kept = input.sizes().get(dim).copied().unwrap_or(1);
    let mut indices = call.output(values + 1, input.sizes())?;
    let mut values = call.output(values, input.sizes())?;
    let selected = Selected {
        dim,
        kept,
        descending,
    };
    selected.write(call, &input, &mut values, &mut indices)
}

/// So many elements are kept sorted one by one, if a line is `FEW_OF` times as long at least: even
/// where each of them displaces all others, that is not much slower than to select and sort them.
const FEW: usize = 32;
const FEW_OF: usize = 4;

/// The first `kept` elements along a dimension, were it sorted.
struct Selected {
    dim: usize,
    kept: usize,
    descending: bool,
}

impl Selected {
    fn write(
        &self,
        call: &KernelCall<'_>,
        input: &TensorView<'_>,
        values: &mut TensorViewMut<'_>,
        indices: &mut TensorViewMut<'_>,
    ) -> Result<()> {
        ensure!(
            values.dtype() == input.dtype() && indices.dtype() == DType::I64,
            InvalidInput,
            "elements of type {} and their indices cannot be put into tensors of {} and {}",
            input.dtype(),
            values.dtype(),
            indices.dtype()
        );
        let mut layouts = [
            Layout::of(input),
            Layout::of_output(values),
            Layout::of_output(indices),
        ];
        if input.rank() == 0 {
            for layout in &mut layouts {
                *layout = layout.with(0, 1, 1)?;
            }
        }
        if self.kept == 0 {
            return Ok(());
        }
        let order = call.temporary::<u64>(layouts[0].sizes[self.dim])?;
        let lines = Lines::new(&layouts, self.dim)?;
        dispatch!(input.dtype(), real_bool => T, {
            lines.for_each::<T>(call, input, values, indices, |line, result| {
                self.arrange(line, order);
                for (at, &from) in order[..self.kept].iter().enumerate() {
                    result.set(at, line[from as usize], from as usize);
                }
            })
        })
    }

    /// Puts the positions of the elements to keep first in `order`, sorted.
    fn arrange<T: TotalOrder>(&self, line: &[T], order: &mut [u64]) {
        if self.kept <= FEW && self.kept < line.len() / FEW_OF {
            return self.insert(line, &mut order[..self.kept]);
        }
        for (position, entry) in order.iter_mut().enumerate() {
            *entry = position as u64;
        }
        // Equal elements are told apart by their positions, so an unstable sort, which needs no
        // memory, gives a stable order.
        let compare = |a: &u64, b: &u64| {
            let ordering = line[*a as usize].order(line[*b as usize]);
            let ordering = if self.descending {
                ordering.reverse()
            } else {
                ordering
            };
            ordering.then(a.cmp(b))
        };
        if self.kept < order.len() {
            order.select_nth_unstable_by(self.kept - 1, compare);
        }
        order[..self.kept].sort_unstable_by(compare);
    }

    /// Sorts where few are kept: most elements are compared with the last of those alone.
    fn insert<T: TotalOrder>(&self, line: &[T], kept: &mut [u64]) {
        let Some(last) = kept.len().checked_sub(1) else {
            return;
        };
        let before = if self.descending {
            Ordering::Greater
        } else {
            Ordering::Less
        };
        let mut bar = line[0];
        for (position, &element) in line.iter().enumerate() {
            // An equal element stays behind, since it comes later.
            if position > last && element.order(bar) != before {
                continue;
            }
            let mut at = position.min(last);
            while at > 0 && element.order(line[kept[at - 1] as usize]) == before {
                kept[at] = kept[at - 1];
                at -= 1;
            }
            kept[at] = position as u64;
            bar = line[kept[position.min(last)] as usize];
        }
    }
}

/// The lines of a tensor along a dimension, and the lines of the results that belong to them.
struct Lines {
    walk: Walk<3>,
    /// Elements of a line of the input.
    size: usize,
    steps: [usize; 3],
}

/// The outputs of one line: elements, and their positions in the line.
struct LineResult<'a, T> {
    values: &'a mut [T],
    indices: &'a mut [i64],
    starts: [usize; 3],
    steps: [usize; 3],
}

impl Lines {
    /// Lines along a dimension of input, values and indices, which differ in its size alone.
    fn new(layouts: &[Layout; 3], dim: usize) -> Result<Self> {
        let lines = layouts.map(|layout| layout.slice(dim, 0, 1, 1).without(dim));
        Ok(Self {
            walk: Walk::new(
                &lines[0].sizes,
                [&lines[0].strides, &lines[1].strides, &lines[2].strides],
            )?,
            size: layouts[0].sizes[dim],
            steps: layouts.map(|layout| layout.strides[dim]),
        })
    }

    fn for_each<T: Element>(
        &self,
        call: &KernelCall<'_>,
        input: &TensorView<'_>,
        values: &mut TensorViewMut<'_>,
        indices: &mut TensorViewMut<'_>,
        mut each: impl FnMut(&[T], &mut LineResult<'_, T>),
    ) -> Result<()> {
        let line = call.temporary::<T>(self.size)?;
        let input = input.data::<T>()?;
        let (values, indices) = (values.data_mut::<T>()?, indices.data_mut::<i64>()?);
        let between = self.walk.steps();
        for run in self.walk.runs() {
            for i in 0..self.walk.run_len() {
                let starts: [usize; 3] = std::array::from_fn(|t| run.offsets[t] + i * between[t]);
                for (at, element) in line.iter_mut().enumerate() {
                    *element = input[starts[0] + at * self.steps[0]];
                }
                let mut result = LineResult {
                    values,
                    indices,
                    starts,
                    steps: self.steps,
                };
                each(line, &mut result);
            }
        }
        Ok(())
    }
}

impl<T> LineResult<'_, T> {
    #[inline]
    fn set(&mut self, at: usize, value: T, from: usize) {
        self.values[self.starts[1] + at * self.steps[1]] = value;
        self.indices[self.starts[2] + at * self.steps[2]] = from as i64;
    }
}

/// Elements with a total order, in which NaN is the largest.
trait TotalOrder: Element {
    /// The median of nothing.
    fn unknown() -> Self;

    fn is_nan(self) -> bool;
    fn order(self, other: Self) -> Ordering;
}

macro_rules! ordered {
    (integers: $($integer:ty),*; floats: $($float:ty),*) => {
        $(impl TotalOrder for $integer {
            #[inline]
            fn unknown() -> Self {
                <$integer>::MIN
            }

            #[inline]
            fn is_nan(self) -> bool {
                false
            }
            #[inline]
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
        })*
        $(impl TotalOrder for $float {
            #[inline]
            fn unknown() -> Self {
                <$float>::NAN
            }

            #[inline]
            fn is_nan(self) -> bool {
                <$float>::is_nan(self)
            }
            #[inline]
            fn order(self, other: Self) -> Ordering {
                self.partial_cmp(&other)
                    .unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
            }
        })*
    };
}

ordered!(integers: u8, u16, u32, u64, i8, i16, i32, i64; floats: f16, bf16, f32, f64);

impl TotalOrder for Bool {
    #[inline]
    fn unknown() -> Self {
        true.into()
    }

    #[inline]
    fn is_nan(self) -> bool {
        false
    }
    #[inline]
    fn order(self, other: Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}
