//! Checked access to values in the bytes of a file.

use object::pod::{self, Pod};
use thalweg_core::{Result, bail};

/// A value at a file offset. `what` is its name in messages.
pub(super) fn at<'b, T: Pod>(bytes: &'b [u8], offset: usize, what: &str) -> Result<&'b T> {
    let rest = bytes.get(offset..).unwrap_or_default();
    match pod::from_bytes(rest) {
        Ok((value, _)) => Ok(value),
        Err(()) => bail!(
            InvalidProgram,
            "the library has {} bytes, and {what} would be {} from {offset} on",
            bytes.len(),
            size_of::<T>()
        ),
    }
}

/// A table at a file offset.
pub(super) fn slice_at<'b, T: Pod>(
    bytes: &'b [u8],
    offset: usize,
    count: usize,
    what: &str,
) -> Result<&'b [T]> {
    let rest = bytes.get(offset..).unwrap_or_default();
    match pod::slice_from_bytes(rest, count) {
        Ok((values, _)) => Ok(values),
        Err(()) => bail!(
            InvalidProgram,
            "the library has {} bytes, and {what} would be {count} times {} from {offset} on",
            bytes.len(),
            size_of::<T>()
        ),
    }
}

/// A value at a file offset, for a change. It was read there before.
pub(super) fn at_mut<T: Pod>(bytes: &mut [u8], offset: usize) -> Result<&mut T> {
    let rest = bytes.get_mut(offset..).unwrap_or_default();
    match pod::from_bytes_mut(rest) {
        Ok((value, _)) => Ok(value),
        Err(()) => bail!(Internal, "nothing is at {offset} any more"),
    }
}

/// An offset plus another, saturated: then nothing is there.
pub(super) fn forward(offset: usize, by: u32) -> usize {
    offset.saturating_add(by as usize)
}

/// A number of the file as a size.
pub(super) fn usize_of(value: u64, what: &str) -> Result<usize> {
    match usize::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => bail!(InvalidProgram, "the library says that {what} is {value}"),
    }
}
