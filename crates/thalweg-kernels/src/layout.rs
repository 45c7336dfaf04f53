//! Bringing tensors into the dim order that an operator's loops want.
//!
//! Most operators of this crate that look at more than one element at a time are written for one
//! or two orders, which nearly all programs have. Others go through a copy in temporary memory.

use thalweg_core::{
    Dims, Element, KernelCall, Result, TensorView, TensorViewMut, ensure, strides_of,
};

use crate::strided::Walk;

/// Whether two dim orders put every element of a shape at the same place.
pub(crate) fn same_places(sizes: &[usize], a: &[u8], b: &[u8]) -> bool {
    a == b || sizes.contains(&0) || {
        let (a, b) = (strides_of(sizes, a), strides_of(sizes, b));
        (0..sizes.len()).all(|dim| sizes[dim] == 1 || a[dim] == b[dim])
    }
}

/// What surrounds a dimension in memory: how many positions the dimensions outside of it have, its
/// own size, and how many positions those inside of it have. A scalar has one dimension of size 1.
pub(crate) fn around(sizes: &[usize], order: &[u8], dim: usize) -> [usize; 3] {
    let mut around = [1, sizes.get(dim).copied().unwrap_or(1), 1];
    let mut side = 0;
    for &other in order {
        if usize::from(other) == dim {
            side = 2;
        } else {
            let size = sizes.get(usize::from(other)).copied().unwrap_or(1);
            around[side] = around[side].saturating_mul(size);
        }
    }
    around
}

/// A dimension that may be counted from the end. A scalar counts as having one.
pub(crate) fn dimension(sizes: &[usize], dim: i64) -> Result<usize> {
    let rank = sizes.len().max(1) as i64;
    ensure!(
        (-rank..rank).contains(&dim),
        Operator,
        "there is no dimension {dim} in shape {sizes:?}"
    );
    Ok(dim.rem_euclid(rank) as usize)
}

/// The elements of `view` as they would lie in memory in the dim order `order`: themselves, or a
/// copy in temporary memory.
pub(crate) fn laid_out<'a, T: Element>(
    call: &'a KernelCall<'_>,
    view: TensorView<'a>,
    order: &[u8],
) -> Result<&'a [T]> {
    let data = view.data::<T>()?;
    let sizes = view.sizes();
    if same_places(sizes, view.dim_order(), order) {
        return Ok(data);
    }
    let copy = call.temporary::<T>(data.len())?;
    let strides = strides_of(sizes, order);
    copy_strided(sizes, data, &view.strides(), copy, &strides)?;
    Ok(copy)
}

/// Lets `fill` write the elements of `out` as they lie in memory in the dim order `order`, which
/// is in `out` itself or in temporary memory.
pub(crate) fn fill_in_order<T: Element>(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    order: &[u8],
    fill: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    let sizes = Dims::from_slice(out.sizes())?;
    if same_places(&sizes, out.dim_order(), order) {
        return fill(out.data_mut::<T>()?);
    }
    let copy = call.temporary::<T>(out.numel())?;
    fill(copy)?;
    let (from, to) = (strides_of(&sizes, order), out.strides());
    copy_strided(&sizes, copy, &from, out.data_mut::<T>()?, &to)
}

/// Copies a tensor between two arrangements of its elements in memory. A stride of 0 in `from`
/// repeats elements.
pub(crate) fn copy_strided<T: Copy>(
    sizes: &[usize],
    from: &[T],
    from_strides: &[usize],
    to: &mut [T],
    to_strides: &[usize],
) -> Result<()> {
    let walk = Walk::new(sizes, [from_strides, to_strides])?;
    let len = walk.run_len();
    for run in walk.runs() {
        let [source, target] = run.offsets;
        match walk.steps() {
            [1, 1] => to[target..][..len].copy_from_slice(&from[source..][..len]),
            [0, 1] => to[target..][..len].fill(from[source]),
            [step, stride] => {
                let source = from[source..].iter().step_by(step.max(1));
                let target = to[target..].iter_mut().step_by(stride.max(1)).take(len);
                if step == 0 {
                    let value = from[run.offsets[0]];
                    target.for_each(|target| *target = value);
                } else {
                    target
                        .zip(source)
                        .for_each(|(target, source)| *target = *source);
                }
            }
        }
    }
    Ok(())
}
