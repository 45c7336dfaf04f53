//! Sorting and selecting the largest.
//!
//! NaN counts as larger than every number, as in PyTorch. Sorting keeps the order of equal
//! elements, whether that is asked for or not.

use std::cmp::Ordering;

use thalweg_core::{
    Bool, DType, Dims, Element, KernelCall, KernelRegistry, Result, TensorView, TensorViewMut,
    bf16, ensure, f16,
};

use crate::dims::{size_from, wrap_dim};
use crate::dispatch::dispatch;
use crate::layout::Layout;
use crate::strided::Walk;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.register(
        "aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, \
         bool sorted=True, *, Tensor(a!) values, Tensor(b!) indices) \
         -> (Tensor(a!) values, Tensor(b!) indices)",
        topk,
    )?;
    registry.register(
        "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, \
         Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
        |call| sort(call, call.int(1)?, call.bool(2)?, 3),
    )?;
    registry.register(
        "aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, \
         bool descending=False, Tensor(a!) values, Tensor(b!) indices) \
         -> (Tensor(a!) values, Tensor(b!) indices)",
        |call| sort(call, call.int(2)?, call.bool(3)?, 4),
    )
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
            Layout::of(input)?,
            Layout::of_output(values)?,
            Layout::of_output(indices)?,
        ];
        if input.rank() == 0 {
            for layout in &mut layouts {
                *layout = layout.with(0, 1, 1)?;
            }
        }
        let dim = self.dim;
        let size = layouts[0].sizes[dim];
        let steps = layouts.map(|layout| layout.strides[dim]);
        let lines = layouts.map(|layout| layout.slice(dim, 0, 1, 1).without(dim));
        let walk = Walk::new(
            &lines[0].sizes,
            [&lines[0].strides, &lines[1].strides, &lines[2].strides],
        )?;
        if self.kept == 0 {
            return Ok(());
        }
        let order = call.temporary::<u64>(size)?;
        let indices = indices.data_mut::<i64>()?;
        dispatch!(input.dtype(), real_bool => T, {
            let line = call.temporary::<T>(size)?;
            let (input, values) = (input.data::<T>()?, values.data_mut::<T>()?);
            let between = walk.steps();
            for run in walk.runs() {
                for i in 0..walk.run_len() {
                    let starts: [usize; 3] =
                        std::array::from_fn(|t| run.offsets[t] + i * between[t]);
                    for (at, element) in line.iter_mut().enumerate() {
                        *element = input[starts[0] + at * steps[0]];
                    }
                    self.arrange(line, order);
                    for (at, &from) in order[..self.kept].iter().enumerate() {
                        values[starts[1] + at * steps[1]] = line[from as usize];
                        indices[starts[2] + at * steps[2]] = from as i64;
                    }
                }
            }
        });
        Ok(())
    }

    /// Puts the positions of the elements to keep first in `order`, sorted.
    fn arrange<T: TotalOrder>(&self, line: &[T], order: &mut [u64]) {
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
}

/// Elements with a total order, in which NaN is the largest.
trait TotalOrder: Element {
    fn order(self, other: Self) -> Ordering;
}

macro_rules! ordered {
    (integers: $($integer:ty),*; floats: $($float:ty),*) => {
        $(impl TotalOrder for $integer {
            #[inline]
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
        })*
        $(impl TotalOrder for $float {
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
    fn order(self, other: Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}

#[cfg(test)]
mod tests {
    use thalweg_core::{Argument, Tensor};

    use super::*;

    fn run(operator: &str, arguments: Vec<Argument>) -> Result<(Vec<f32>, Vec<i64>)> {
        let mut registry = KernelRegistry::new();
        register(&mut registry).unwrap();
        let kernel = registry.get(operator).unwrap();
        let last = kernel.signature().parameters().len();
        let results = kernel.invoke(arguments)?;
        let values = results[last - 2].tensor()?.to_row_major()?;
        let indices = results[last - 1].tensor()?.to_row_major()?;
        Ok((values.data()?.to_vec(), indices.data()?.to_vec()))
    }

    fn outputs(rank: usize) -> [Argument; 2] {
        let sizes = vec![0; rank];
        [DType::F32, DType::I64].map(|dtype| Tensor::zeros(dtype, &sizes).unwrap().into())
    }

    fn sorted(x: &Tensor, dim: i64, descending: bool) -> (Vec<f32>, Vec<i64>) {
        let [values, indices] = outputs(x.sizes().len());
        let arguments = vec![x.into(), dim.into(), descending.into(), values, indices];
        run("aten::sort.values", arguments).unwrap()
    }

    #[test]
    fn equal_elements_keep_their_order() {
        let x = Tensor::from_slice(&[2f32, 1.0, 2.0, 1.0], &[4]).unwrap();
        assert_eq!(
            sorted(&x, 0, false),
            (vec![1.0, 1.0, 2.0, 2.0], vec![1, 3, 0, 2])
        );
        assert_eq!(
            sorted(&x, -1, true),
            (vec![2.0, 2.0, 1.0, 1.0], vec![0, 2, 1, 3])
        );
    }

    #[test]
    fn nan_is_the_largest() {
        let x = Tensor::from_slice(&[f32::NAN, f32::INFINITY, -1.0], &[3]).unwrap();
        assert_eq!(sorted(&x, 0, false).1, [2, 1, 0]);
        assert_eq!(sorted(&x, 0, true).1, [0, 1, 2]);
    }

    #[test]
    fn columns_are_sorted_along_the_first_dimension() {
        let x = Tensor::from_slice(&[3f32, 1.0, 2.0, 2.0, 1.0, 3.0], &[3, 2]).unwrap();
        let expected = (vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0], vec![2, 0, 1, 1, 0, 2]);
        assert_eq!(sorted(&x, 0, false), expected);
    }

    #[test]
    fn the_largest_and_the_smallest_come_sorted() {
        let x = Tensor::from_slice(&[3f32, 9.0, -1.0, 4.0, 1.0, 7.0, 8.0, 0.0], &[2, 4]).unwrap();
        let top = |k: i64, largest: bool| {
            let [values, indices] = outputs(2);
            let flags = [largest.into(), true.into()];
            let [largest, sorted] = flags;
            let x = (&x).into();
            run(
                "aten::topk.values",
                vec![x, k.into(), (-1).into(), largest, sorted, values, indices],
            )
        };
        assert_eq!(
            top(2, true).unwrap(),
            (vec![9.0, 4.0, 8.0, 7.0], vec![1, 3, 2, 1])
        );
        assert_eq!(top(1, false).unwrap(), (vec![-1.0, 0.0], vec![2, 3]));
        assert_eq!(top(0, true).unwrap(), (vec![], vec![]));
        let message = top(5, true).unwrap_err().to_string();
        assert!(message.contains("a dimension of size 4"), "{message}");
    }

    #[test]
    fn a_tensor_without_dimensions_is_its_own_order() {
        let x = Tensor::from_slice(&[5f32], &[]).unwrap();
        assert_eq!(sorted(&x, 0, false), (vec![5.0], vec![0]));
    }
}
