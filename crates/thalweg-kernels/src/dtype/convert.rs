//! Conversion of elements and numbers between types that are known at run time.
//!
//! [`cast`](crate::dtype::cast) has the rules; conversion goes by way of the type in which elements of
//! the source are [computed](crate::dtype::compute), which changes no value.

use thalweg_core::{DType, Element, KernelCall, Result, Scalar, ensure};

use crate::dtype::cast::cast_scalar;
use crate::dtype::compute::{Compute, dispatch_compute, gather, store_bytes};
use crate::dtype::dispatch::dispatch;
use crate::dtype::elements::{elements, elements_mut};

/// Elements converted at a time, where neither type is the one in between.
const CHUNK: usize = 256;

/// Converts elements, in the order in which they lie. Both slices hold equally many.
pub(crate) fn convert(target: &mut [u8], to: DType, source: &[u8], from: DType) -> Result<()> {
    ensure!(
        target.len() / to.size() == source.len() / from.size(),
        Internal,
        "a conversion between different numbers of elements"
    );
    if to == from {
        target.copy_from_slice(source);
        return Ok(());
    }
    dispatch_compute!(from, number => C, { by_way_of::<C>(target, to, source, from) })
}

fn by_way_of<C: Compute>(target: &mut [u8], to: DType, source: &[u8], from: DType) -> Result<()> {
    if from == C::DTYPE {
        return store_bytes(to, target, elements::<C>(source)?);
    }
    dispatch!(from, all => S, {
        let source = elements::<S>(source)?;
        if to == C::DTYPE {
            gather(source, 0, 1, elements_mut::<C>(target)?);
            return Ok(());
        }
        let mut between = [C::default(); CHUNK];
        let targets = target.chunks_mut(CHUNK * to.size());
        for (target, source) in targets.zip(source.chunks(CHUNK)) {
            let between = &mut between[..source.len()];
            gather(source, 0, 1, between);
            store_bytes(to, target, between)?;
        }
    });
    Ok(())
}

/// Elements of a type that is known at run time as those of type `T`: themselves, or a copy in
/// temporary memory.
pub(crate) fn converted<'a, T: Element>(
    call: &'a KernelCall<'_>,
    bytes: &'a [u8],
    from: DType,
) -> Result<&'a [T]> {
    if from == T::DTYPE {
        return elements(bytes);
    }
    let copy = call.temporary::<T>(bytes.len() / from.size())?;
    convert(bytemuck::cast_slice_mut(copy), T::DTYPE, bytes, from)?;
    Ok(copy)
}

/// An element with the value of a number, in its first bytes.
pub(crate) fn encode(value: Scalar, dtype: DType) -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    dispatch!(dtype, all => T, {
        let element = cast_scalar::<T>(value);
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&element));
    });
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use thalweg_core::{Bool, Complex32};

    use super::*;

    fn converted<S: Element, T: Element>(source: &[S]) -> Vec<T> {
        let mut target = vec![T::default(); source.len()];
        let (to, from) = (T::DTYPE, S::DTYPE);
        let bytes = bytemuck::cast_slice_mut(&mut target);
        convert(bytes, to, bytemuck::cast_slice(source), from).unwrap();
        target
    }

    #[test]
    fn integers_wrap_and_floats_lose_their_fraction() {
        assert_eq!(converted::<i64, u8>(&[-1, 256, 3]), [255, 0, 3]);
        assert_eq!(converted::<f32, i32>(&[1.9, -1.9]), [1, -1]);
        assert_eq!(converted::<i64, i64>(&[i64::MAX]), [i64::MAX]);
        assert_eq!(converted::<u64, f32>(&[u64::MAX]), [u64::MAX as f32]);
    }

    #[test]
    fn what_is_not_zero_is_true() {
        let falsy = [0.0, -0.0];
        assert_eq!(converted::<f32, Bool>(&falsy), [false.into(), false.into()]);
        assert_eq!(converted::<f32, Bool>(&[0.5]), [Bool::from(true)]);
        assert_eq!(converted::<f32, Bool>(&[f32::NAN]), [Bool::from(true)]);
        let imaginary = [Complex32::new(0.0, 1.0)];
        assert_eq!(converted::<Complex32, Bool>(&imaginary), [Bool::from(true)]);
    }

    #[test]
    fn long_slices_are_converted_to_their_end() {
        let source: Vec<i32> = (0..1000).collect();
        let expected: Vec<f64> = source.iter().map(|&i| f64::from(i)).collect();
        assert_eq!(converted::<i32, f64>(&source), expected);
    }
}
