//! Memory as elements of a Rust type, the same for every owner of bytes.

use bytemuck::Pod;
use thalweg_core::{Result, bail};

/// Bytes as elements. An error if they are not aligned.
#[inline]
pub(crate) fn elements<T: Pod>(bytes: &[u8]) -> Result<&[T]> {
    if bytes.is_empty() {
        return Ok(&[]);
    }
    match bytemuck::try_cast_slice(bytes) {
        Ok(elements) => Ok(elements),
        Err(why) => bail!(Internal, "elements cannot be read: {why}"),
    }
}

/// Bytes as elements to write. An error if they are not aligned.
#[inline]
pub(crate) fn elements_mut<T: Pod>(bytes: &mut [u8]) -> Result<&mut [T]> {
    if bytes.is_empty() {
        return Ok(&mut []);
    }
    match bytemuck::try_cast_slice_mut(bytes) {
        Ok(elements) => Ok(elements),
        Err(why) => bail!(Internal, "elements cannot be written: {why}"),
    }
}
