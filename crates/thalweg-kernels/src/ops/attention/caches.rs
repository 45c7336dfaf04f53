//! Updates of key-value caches.

use thalweg_core::{
    KernelCall, KernelRegistry, Result, TensorView, TensorViewMut, bail, ensure, identity_order,
};

use crate::layout::dims::wrap_index;
use crate::layout::indices::positions;
use crate::layout::order::in_order;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    // The outputs beside the caches are placeholders, which nothing is written to.
    registry.add(pure(
        "llama::update_cache.out(Tensor value, Tensor(a!) cache, SymInt start_pos, *, \
         Tensor(b!) out) -> Tensor(b!)",
        |call| {
            let value = call.tensor(0)?;
            let value = in_order(call, value, identity_order(value.rank())?)?;
            update(&mut call.in_place(1)?, &value, call.int(2)?)
        },
    )?);
    registry.add(pure(
        "llama::update_cache_with_indices.out(Tensor value, Tensor(a!) cache, \
         SymInt start_pos, Tensor indices, *, Tensor(b!) out) -> Tensor(b!)",
        update_with_indices,
    )?);
    Ok(())
}

/// Writes the positions of `value` over those of a cache from `start` on. Both are
/// `[batch, positions, heads, len]`.
pub(super) fn update(
    cache: &mut TensorViewMut<'_>,
    value: &TensorView<'_>,
    start: i64,
) -> Result<()> {
    let positions = value.sizes().get(1).copied().unwrap_or(0);
    let room = cache.sizes().get(1).copied().unwrap_or(0);
    let start = match usize::try_from(start) {
        Ok(start) if start.checked_add(positions).is_some_and(|end| end <= room) => start,
        _ => bail!(
            OutOfBounds,
            "a cache of {room} positions does not have {positions} from {start} on"
        ),
    };
    write(cache, value, |_, position| Ok(start + position))
}

fn update_with_indices(call: &KernelCall<'_>) -> Result<()> {
    let (value, indices) = (call.tensor(0)?, call.tensor(3)?);
    ensure!(
        value.rank() == 4 && indices.sizes() == &value.sizes()[..2],
        InvalidInput,
        "{indices:?} does not say where in a cache {value:?} goes"
    );
    let value = in_order(call, value, identity_order(4)?)?;
    let mut cache = call.in_place(1)?;
    let room = cache.sizes().get(1).copied().unwrap_or(0);
    let (indices, positions) = (positions(call, &indices)?, value.sizes()[1]);
    write(&mut cache, &value, |batch, position| {
        let index = indices[batch * positions + position];
        match wrap_index(index, room) {
            Some(at) if index >= 0 => Ok(at),
            _ => bail!(
                OutOfBounds,
                "a cache of {room} positions does not have position {index}"
            ),
        }
    })
}

/// Writes each position of `value` over the position of the cache that `target` gives for a batch
/// and a position.
fn write(
    cache: &mut TensorViewMut<'_>,
    value: &TensorView<'_>,
    target: impl Fn(usize, usize) -> Result<usize>,
) -> Result<()> {
    let (&[batch, room, heads, len], &[batch2, positions, heads2, len2]) =
        (cache.sizes(), value.sizes())
    else {
        bail!(
            InvalidInput,
            "{value:?} and {cache:?} do not have batch, positions, heads and elements"
        );
    };
    ensure!(
        [batch, heads, len] == [batch2, heads2, len2] && cache.dtype() == value.dtype(),
        InvalidInput,
        "{value:?} does not go into a cache of {cache:?}"
    );
    ensure!(
        cache.is_row_major() && value.is_row_major(),
        Unsupported,
        "{value:?} or {cache:?} is not row-major"
    );
    let row = heads * len * cache.dtype().size();
    if row == 0 {
        return Ok(());
    }
    let bytes = cache.bytes_mut();
    let rows = value.bytes().chunks_exact(row).enumerate();
    for (index, from) in rows {
        let (batch, position) = (index / positions, index % positions);
        let at = (batch * room + target(batch, position)?) * row;
        bytes[at..][..row].copy_from_slice(from);
    }
    Ok(())
}
