//! Pixel shuffles: pixels exchanged for channels or tiles.

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, bail, ensure, numel};

use crate::layout::Layout;
use crate::layout::copy::copy;
use crate::layout::dims::size_from;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::pixel_shuffle.out(Tensor self, int upscale_factor, *, Tensor(a!) out) \
         -> Tensor(a!)",
        pixel_shuffle,
    )?);
    registry.add(pure(
        "aten::pixel_unshuffle.out(Tensor self, int downscale_factor, *, Tensor(a!) out) \
         -> Tensor(a!)",
        pixel_unshuffle,
    )?);
    registry.add(pure(
        "preprocess::tile_crop.out(Tensor input, int tile_size, *, Tensor(a!) out) -> Tensor(a!)",
        tile_crop,
    )?);
    Ok(())
}

fn pixel_shuffle(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let (rank, factor) = (input.rank(), size_from(call.int(1)?)?);
    let square = factor.checked_mul(factor).unwrap_or(0);
    ensure!(
        rank >= 3 && square > 0 && input.sizes()[rank - 3] % square == 0,
        InvalidInput,
        "the channels of a tensor of shape {:?} cannot be shuffled by {factor}",
        input.sizes()
    );
    let channels = rank - 3;
    let mut sizes = Dims::from_slice(input.sizes())?;
    sizes[channels] /= square;
    for dim in [rank - 2, rank - 1] {
        sizes[dim] = numel(&[sizes[dim], factor])?;
    }
    let mut out = call.output(2, &sizes)?;
    let (low, high) = (Layout::of(&input), Layout::of_output(&out));
    let (low, high) = shuffled(low, high, channels, factor)?;
    copy(&mut out, &high, &input, &low, call.threads())
}

fn pixel_unshuffle(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let (rank, factor) = (input.rank(), size_from(call.int(1)?)?);
    let divides = |dim: usize| input.sizes()[dim].checked_rem(factor) == Some(0);
    ensure!(
        rank >= 3 && divides(rank - 2) && divides(rank - 1),
        InvalidInput,
        "the pixels of a tensor of shape {:?} cannot be gathered by {factor}",
        input.sizes()
    );
    let channels = rank - 3;
    let mut sizes = Dims::from_slice(input.sizes())?;
    sizes[channels] = numel(&[sizes[channels], factor, factor])?;
    for dim in [rank - 2, rank - 1] {
        sizes[dim] /= factor;
    }
    let mut out = call.output(2, &sizes)?;
    let (low, high) = (Layout::of_output(&out), Layout::of(&input));
    let (low, high) = shuffled(low, high, channels, factor)?;
    copy(&mut out, &low, &input, &high, call.threads())
}

/// Both sides of a pixel shuffle as channels, rows, rows within, columns, columns within.
fn shuffled(low: Layout, high: Layout, channels: usize, factor: usize) -> Result<(Layout, Layout)> {
    let (rows, columns) = (channels + 1, channels + 2);
    let high = high.split(columns, factor)?.split(rows, factor)?;
    let low = low.split(channels, factor)?.split(channels, factor)?;
    // Now channels, rows within, columns within, rows, columns.
    let mut order = Dims::new();
    for dim in 0..channels {
        order.push(dim)?;
    }
    for dim in [0, 3, 1, 4, 2] {
        order.push(channels + dim)?;
    }
    Ok((low.permute(&order), high))
}

/// An image in square tiles, row by row, each an image of all channels.
fn tile_crop(call: &KernelCall<'_>) -> Result<()> {
    let (input, size) = (call.tensor(0)?, size_from(call.int(1)?)?);
    let &[channels, height, width] = input.sizes() else {
        bail!(InvalidInput, "{input:?} is not an image");
    };
    ensure!(
        height.checked_rem(size) == Some(0) && width.checked_rem(size) == Some(0),
        InvalidInput,
        "an image of {height} by {width} pixels does not have tiles of {size} by {size}"
    );
    let (rows, columns) = (height / size, width / size);
    let mut out = call.output(2, &[numel(&[rows, columns])?, channels, size, size])?;
    // Both sides as rows and columns of tiles, channels, rows and columns within.
    let from = Layout::of(&input).split(2, size)?.split(1, size)?;
    let from = from.permute(&[1, 3, 0, 2, 4]);
    let to = Layout::of_output(&out).split(0, columns)?;
    copy(&mut out, &to, &input, &from, call.threads())
}
