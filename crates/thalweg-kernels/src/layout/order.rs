//! Dim orders: comparing them, and bringing tensors into the one of an operator's loops.
//!
//! Most operators of this crate that look at more than one element at a time are written for one
//! or two orders, which nearly all programs have. Others go through a copy in temporary memory.

use thalweg_core::{Element, KernelCall, Result, TensorView, TensorViewMut, same_dims, strides_of};

use crate::layout::Layout;
use crate::layout::copy::{copy_bytes, copy_elements};

/// Returns true if two dim orders put every element of a shape at the same place.
#[inline]
pub(crate) fn same_places(sizes: &[usize], a: &[u8], b: &[u8]) -> bool {
    same_dims(a, b) || same_places_of_other_order(sizes, a, b)
}

fn same_places_of_other_order(sizes: &[usize], a: &[u8], b: &[u8]) -> bool {
    sizes.contains(&0) || {
        let (a, b) = (strides_of(sizes, a), strides_of(sizes, b));
        (0..sizes.len()).all(|dim| sizes[dim] == 1 || a[dim] == b[dim])
    }
}

/// The memory format of images, or of tensors with another number of spatial dimensions: the place of
/// their channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryFormat {
    /// Batch, channels, positions.
    ChannelsFirst,
    /// Batch, positions, channels.
    ChannelsLast,
}

impl MemoryFormat {
    /// The format of a dim order, if it is one of the two; `preferred` if it is both.
    pub(crate) fn of(
        sizes: &[usize],
        dim_order: &[u8],
        is_batch: bool,
        preferred: Self,
    ) -> Option<Self> {
        let other = match preferred {
            Self::ChannelsFirst => Self::ChannelsLast,
            Self::ChannelsLast => Self::ChannelsFirst,
        };
        let spatial = sizes.len().saturating_sub(1 + usize::from(is_batch));
        [preferred, other]
            .into_iter()
            .find(|order| same_places(sizes, dim_order, order.dim_order(is_batch, spatial)))
    }

    /// The dim order of a batch, or of one element of a batch, with up to three spatial dimensions.
    pub(crate) fn dim_order(self, is_batch: bool, spatial: usize) -> &'static [u8] {
        match (self, is_batch, spatial) {
            (Self::ChannelsLast, true, 1) => &[0, 2, 1],
            (Self::ChannelsLast, true, 2) => &[0, 2, 3, 1],
            (Self::ChannelsLast, true, 3) => &[0, 2, 3, 4, 1],
            (Self::ChannelsLast, false, 1) => &[1, 0],
            (Self::ChannelsLast, false, 2) => &[1, 2, 0],
            (Self::ChannelsLast, false, 3) => &[1, 2, 3, 0],
            _ => &[0, 1, 2, 3, 4][..(1 + usize::from(is_batch) + spatial).min(5)],
        }
    }
}

/// The sizes around a dimension in memory: how many positions the dimensions outside of it have, its
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

/// A tensor in another dim order: with the same memory if its elements lie as they should, else
/// a copy in temporary memory.
#[inline]
pub(crate) fn in_order<'a>(
    call: &'a KernelCall<'_>,
    tensor: TensorView<'a>,
    order: &'a [u8],
) -> Result<TensorView<'a>> {
    if same_dims(tensor.dim_order(), order) {
        return Ok(tensor);
    }
    in_other_order(call, tensor, order)
}

fn in_other_order<'a>(
    call: &'a KernelCall<'_>,
    tensor: TensorView<'a>,
    order: &'a [u8],
) -> Result<TensorView<'a>> {
    let (dtype, sizes) = (tensor.dtype(), tensor.sizes());
    if same_places(sizes, tensor.dim_order(), order) {
        return TensorView::with_dim_order(dtype, sizes, order, tensor.bytes());
    }
    let copy = call.temporary::<u8>(tensor.bytes().len())?;
    let (to, from) = (Layout::dense(sizes, order)?, Layout::of(&tensor));
    copy_bytes(
        copy,
        &to,
        tensor.bytes(),
        &from,
        dtype.size(),
        call.threads(),
    )?;
    TensorView::with_dim_order(dtype, sizes, order, copy)
}

/// The elements of a tensor as they would lie in memory in another dim order.
pub(crate) fn laid_out<'a, T: Element>(
    call: &'a KernelCall<'_>,
    tensor: TensorView<'a>,
    order: &'a [u8],
) -> Result<&'a [T]> {
    in_order(call, tensor, order)?.data()
}

/// Lets `fill` write the elements of `out` as they lie in memory in the dim order `order`, which
/// is in `out` itself or in temporary memory.
pub(crate) fn fill_in_order<T: Element>(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    order: &[u8],
    fill: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    if same_places(out.sizes(), out.dim_order(), order) {
        return fill(out.data_mut::<T>()?);
    }
    let copy = call.temporary::<T>(out.numel())?;
    fill(copy)?;
    let (to, from) = (Layout::of_output(out), Layout::dense(out.sizes(), order)?);
    copy_elements(out.data_mut::<T>()?, &to, copy, &from, call.threads())
}
