//! Gather and scatter along one dimension, with an index for each element.

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, TensorView, TensorViewMut, ensure};

use super::blocks::Plus;
use crate::dtype::convert::encode;
use crate::dtype::dispatch::{dispatch, dispatch_size};
use crate::dtype::elements::{elements, elements_mut};
use crate::layout::Layout;
use crate::layout::copy::{check_same_type, copy};
use crate::layout::dims::wrap_dim;
use crate::layout::indices::{checked, positions};
use crate::layout::walk::Walk;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, \
         Tensor(a!) out) -> Tensor(a!)",
        gather,
    )?);
    registry.add(pure(
        "aten::scatter.src_out(Tensor self, int dim, Tensor index, Tensor src, *, \
         Tensor(a!) out) -> Tensor(a!)",
        scatter,
    )?);
    registry.add(pure(
        "aten::scatter.value_out(Tensor self, int dim, Tensor index, Scalar value, *, \
         Tensor(a!) out) -> Tensor(a!)",
        scatter_value,
    )?);
    registry.add(pure(
        "aten::scatter_add.out(Tensor self, int dim, Tensor index, Tensor src, *, \
         Tensor(a!) out) -> Tensor(a!)",
        scatter_add,
    )?);
    Ok(())
}

fn gather(call: &KernelCall<'_>) -> Result<()> {
    let (input, index) = (call.tensor(0)?, call.tensor(2)?);
    let mut out = call.output(4, index.sizes())?;
    check_same_type(&out, &input)?;
    let to = Layout::of_output(&out);
    let along = Along::new(call, &Layout::of(&input), &index, &to)?;
    let (target, source) = (out.bytes_mut(), input.bytes());
    dispatch_size!(input.dtype().size() => T, {
        let (target, source) = (elements_mut::<T>(target)?, elements::<T>(source)?);
        along.for_each(|input, out| target[out] = source[input])?;
    });
    Ok(())
}

fn scatter(call: &KernelCall<'_>) -> Result<()> {
    let (index, source) = (call.tensor(2)?, call.tensor(3)?);
    let mut out = copied(call, 4)?;
    check_same_type(&out, &source)?;
    let along = Along::new(call, &Layout::of_output(&out), &index, &Layout::of(&source))?;
    let (target, bytes) = (out.bytes_mut(), source.bytes());
    dispatch_size!(source.dtype().size() => T, {
        let (target, source) = (elements_mut::<T>(target)?, elements::<T>(bytes)?);
        along.for_each(|out, from| target[out] = source[from])?;
    });
    Ok(())
}

fn scatter_value(call: &KernelCall<'_>) -> Result<()> {
    let index = call.tensor(2)?;
    let mut out = copied(call, 4)?;
    let size = out.dtype().size();
    let value = encode(call.scalar(3)?, out.dtype())?;
    let everywhere = Layout {
        offset: 0,
        sizes: Dims::from_slice(index.sizes())?,
        strides: Dims::filled(0, index.rank())?,
    };
    let along = Along::new(call, &Layout::of_output(&out), &index, &everywhere)?;
    let target = out.bytes_mut();
    dispatch_size!(size => T, {
        let target = elements_mut::<T>(target)?;
        let value: T = bytemuck::pod_read_unaligned(&value[..size]);
        along.for_each(|out, _| target[out] = value)?;
    });
    Ok(())
}

fn scatter_add(call: &KernelCall<'_>) -> Result<()> {
    let (index, source) = (call.tensor(2)?, call.tensor(3)?);
    let mut out = copied(call, 4)?;
    check_same_type(&out, &source)?;
    let along = Along::new(call, &Layout::of_output(&out), &index, &Layout::of(&source))?;
    dispatch!(source.dtype(), all => T, {
        let (target, source) = (out.data_mut::<T>()?, source.data::<T>()?);
        along.for_each(|out, from| target[out] = target[out].plus(source[from]))?;
    });
    Ok(())
}

/// The output, with the content of argument 0.
fn copied<'a>(call: &'a KernelCall<'_>, out: usize) -> Result<TensorViewMut<'a>> {
    let input = call.tensor(0)?;
    let mut out = call.output(out, input.sizes())?;
    let (to, from) = (Layout::of_output(&out), Layout::of(&input));
    copy(&mut out, &to, &input, &from, call.threads())?;
    Ok(out)
}

/// A tensor that is read or written where an index says, along one dimension, together with
/// another one that has the shape of the index at least.
struct Along<'a> {
    index: &'a [i64],
    size: usize,
    stride: usize,
    /// Over the index, the indexed tensor at position 0 of the dimension, and the other tensor.
    walk: Walk<3>,
}

impl<'a> Along<'a> {
    fn new(
        call: &'a KernelCall<'_>,
        indexed: &Layout,
        index: &TensorView<'a>,
        other: &Layout,
    ) -> Result<Self> {
        let rank = indexed.sizes.len();
        let dim = wrap_dim(call.int(1)?, rank)?;
        let sizes = index.sizes();
        // Tensors without dimensions count as those of one element.
        let alike = sizes.len() == rank && other.sizes.len() == rank;
        let nothing = index.numel() == 0;
        let fits = (0..rank).all(|d| {
            alike && sizes[d] <= other.sizes[d] && (d == dim || sizes[d] <= indexed.sizes[d])
        });
        let scalars = [rank, sizes.len(), other.sizes.len()]
            .iter()
            .all(|&rank| rank <= 1);
        ensure!(
            (alike && fits) || nothing || scalars,
            InvalidInput,
            "an index of shape {sizes:?} does not fit shapes {:?} and {:?}",
            indexed.sizes,
            other.sizes
        );
        let data = positions(call, index)?;
        let line = Layout::row_major(sizes)?;
        let (size, stride) = match rank {
            0 => (1, 1),
            _ => (indexed.sizes[dim], indexed.strides[dim]),
        };
        let walk = if alike {
            let mut strides = indexed.strides;
            if rank > 0 {
                strides[dim] = 0;
            }
            Walk::new(sizes, [&line.strides, &strides, &other.strides])?
        } else if nothing {
            Walk::new(&[0], [&[1], &[0], &[1]])?
        } else {
            let (count, there) = (index.numel(), other.sizes.first().copied().unwrap_or(1));
            ensure!(
                count <= there,
                InvalidInput,
                "{count} indices for {there} elements"
            );
            Walk::new(&[count], [&[1], &[0], &[1]])?
        };
        Ok(Self {
            index: data,
            size,
            stride,
            walk,
        })
    }

    /// Calls `visit` with offsets in the indexed and in the other tensor.
    #[inline]
    fn for_each(&self, mut visit: impl FnMut(usize, usize)) -> Result<()> {
        let steps = self.walk.steps();
        for run in self.walk.runs() {
            for i in 0..self.walk.run_len() {
                let [index, indexed, other] =
                    std::array::from_fn(|t| run.offsets[t] + i * steps[t]);
                let position = checked(self.index[index], self.size)?;
                visit(indexed + position * self.stride, other);
            }
        }
        Ok(())
    }
}
