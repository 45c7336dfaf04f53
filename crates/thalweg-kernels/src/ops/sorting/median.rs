//! The median: of an even number of elements the lower of the two in the middle, as in PyTorch. It
//! is NaN if an element is; `nanmedian` leaves these out.

use thalweg_core::{DType, Dims, KernelCall, KernelRegistry, Result, ensure};

use super::{Lines, TotalOrder};
use crate::dtype::dispatch::dispatch;
use crate::layout::Layout;
use crate::layout::dims::wrap_dim;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::median.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), real => T, { of_all::<T>(call, Missing::Decides) }),
    )?);
    registry.add(pure(
        "aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, \
         Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
        |call| {
            dispatch!(call.tensor(0)?.dtype(), real => T, {
                along_dim::<T>(call, Missing::Decides)
            })
        },
    )?);
    registry.add(pure(
        "aten::nanmedian.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), real => T, { of_all::<T>(call, Missing::LeftOut) }),
    )?);
    registry.add(pure(
        "aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, \
         Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
        |call| {
            dispatch!(call.tensor(0)?.dtype(), real => T, {
                along_dim::<T>(call, Missing::LeftOut)
            })
        },
    )?);
    Ok(())
}

/// The effect of NaN on a median.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Decides,
    LeftOut,
}

fn of_all<T: TotalOrder>(call: &KernelCall<'_>, missing: Missing) -> Result<()> {
    let input = call.tensor(0)?;
    let data = input.data::<T>()?;
    let order = call.temporary::<u64>(data.len())?;
    let mut out = call.output(1, &[])?;
    out.data_mut::<T>()?[0] = match position(data, order, missing) {
        Some(at) => data[at],
        None => T::unknown(),
    };
    Ok(())
}

fn along_dim<T: TotalOrder>(call: &KernelCall<'_>, missing: Missing) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = wrap_dim(call.int(1)?, input.rank())?;
    let mut sizes = Dims::from_slice(input.sizes())?;
    let mut size = 1;
    let (mut with_dim, has_dim) = (true, input.rank() > 0);
    if has_dim {
        size = std::mem::replace(&mut sizes[dim], 1);
        if !call.bool(2)? {
            sizes.remove(dim);
            with_dim = false;
        }
    }
    ensure!(
        size > 0,
        InvalidInput,
        "a dimension of size 0 has no median"
    );
    let mut values = call.output(3, &sizes)?;
    let mut indices = call.output(4, &sizes)?;
    ensure!(
        values.dtype() == input.dtype() && indices.dtype() == DType::I64,
        InvalidInput,
        "a median of elements of type {} cannot be put into tensors of {} and {}",
        input.dtype(),
        values.dtype(),
        indices.dtype()
    );
    let mut layouts = [
        Layout::of(&input),
        Layout::of_output(&values),
        Layout::of_output(&indices),
    ];
    for (tensor, layout) in layouts.iter_mut().enumerate() {
        if !has_dim || (tensor > 0 && !with_dim) {
            *layout = layout.with(dim, 1, 1)?;
        }
    }
    let order = call.temporary::<u64>(size)?;
    let lines = Lines::new(&layouts, dim)?;
    lines.for_each::<T>(call, &input, &mut values, &mut indices, |line, result| {
        let at = position(line, order, missing).unwrap_or(0);
        result.set(0, line[at], at);
    })
}

/// The position of the median of a line; of equal elements in the middle, the one that a sort that keeps
/// their order would put there.
fn position<T: TotalOrder>(line: &[T], order: &mut [u64], missing: Missing) -> Option<usize> {
    if missing == Missing::Decides
        && let Some(at) = line.iter().position(|x| x.is_nan())
    {
        return Some(at);
    }
    let mut count = 0;
    for (at, x) in line.iter().enumerate() {
        if !x.is_nan() {
            order[count] = at as u64;
            count += 1;
        }
    }
    let middle = count.checked_sub(1)? / 2;
    let compare = |a: &u64, b: &u64| {
        let ordering = line[*a as usize].order(line[*b as usize]);
        ordering.then(a.cmp(b))
    };
    let (_, at, _) = order[..count].select_nth_unstable_by(middle, compare);
    Some(*at as usize)
}
