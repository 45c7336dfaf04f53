//! Positions repeated by a list of counts.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, ensure};

use crate::layout::indices::positions;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::repeat_interleave.Tensor_out(Tensor repeats, *, SymInt? output_size=None, \
         Tensor(a!) out) -> Tensor(a!)",
        repeat_interleave,
    )?);
    Ok(())
}

/// Each position of `repeats`, as often as the element there says.
fn repeat_interleave(call: &KernelCall<'_>) -> Result<()> {
    let repeats = call.tensor(0)?;
    ensure!(
        repeats.rank() == 1,
        Operator,
        "{repeats:?} is not a list of counts"
    );
    let counts = positions(call, &repeats)?;
    let mut total = 0usize;
    for &count in counts {
        let sum = usize::try_from(count).ok();
        let sum = sum.and_then(|count| total.checked_add(count));
        ensure!(
            sum.is_some(),
            InvalidInput,
            "a position cannot be repeated {count} times"
        );
        total = sum.unwrap_or(total);
    }
    let promised = call.optional_int(1)?;
    ensure!(
        promised.is_none_or(|promised| usize::try_from(promised) == Ok(total)),
        InvalidInput,
        "counts with a sum of {total} do not make {promised:?} positions"
    );
    let mut out = call.output(2, &[total])?;
    let pieces = counts.iter().enumerate();
    let positions = pieces.flat_map(|(at, &count)| std::iter::repeat_n(at as i64, count as usize));
    match out.dtype() {
        DType::I32 => {
            for (out, at) in out.data_mut::<i32>()?.iter_mut().zip(positions) {
                *out = at as i32;
            }
        }
        _ => {
            for (out, at) in out.data_mut::<i64>()?.iter_mut().zip(positions) {
                *out = at;
            }
        }
    }
    Ok(())
}
