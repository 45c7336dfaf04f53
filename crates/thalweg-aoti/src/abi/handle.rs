//! Handles of tensors, and other arguments that libraries pass by pointer.
#![allow(
    unsafe_code,
    reason = "libraries pass handles and pointers; each block says why it is right"
)]

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use thalweg_core::{Result, bail, ensure};

use super::tensor::{Tensor, contiguous_strides};

/// A handle of a tensor: what PyTorch's C interface calls `AtenTensorHandle`.
pub(crate) type TensorHandle = *mut Tensor;

/// The most dimensions of a tensor of PyTorch.
const MAX_DIMENSIONS: i64 = 64;

/// Gives ownership of a tensor to a library. It comes back by [`take`], or is deleted by the library.
pub(crate) fn hand_over(tensor: Tensor) -> TensorHandle {
    Box::into_raw(Box::new(tensor))
}

/// Takes ownership of a tensor from a library.
///
/// # Safety
/// The handle is null, or came from [`hand_over`] and belongs to the caller.
pub(crate) unsafe fn take(handle: TensorHandle) -> Option<Tensor> {
    // SAFETY: the caller's.
    (!handle.is_null()).then(|| *unsafe { Box::from_raw(handle) })
}

/// The tensor of a handle.
///
/// # Safety
/// The handle is null, or came from [`hand_over`] and stays while the result is used.
pub(super) unsafe fn tensor_of<'t>(handle: TensorHandle) -> Result<&'t Tensor> {
    // SAFETY: the caller's.
    match unsafe { handle.as_ref() } {
        Some(tensor) => Ok(tensor),
        None => bail!(Delegate, "there is no tensor"),
    }
}

/// Checks an out-parameter before its value is computed. `value` is what messages call it.
pub(super) fn check_out<T>(out: *mut T, value: &str) -> Result<()> {
    ensure!(
        !out.is_null(),
        Delegate,
        "there is no place for the {value}"
    );
    Ok(())
}

/// Writes an out-parameter.
///
/// # Safety
/// The pointer is null, or valid for a write of such a value.
pub(super) unsafe fn write_out<T>(out: *mut T, value: T) -> Result<()> {
    check_out(out, "answer")?;
    // SAFETY: the caller's.
    unsafe { out.write(value) };
    Ok(())
}

/// Writes a new tensor to an out-parameter.
///
/// # Safety
/// That of [`write_out`].
pub(super) unsafe fn write_tensor(out: *mut TensorHandle, tensor: Tensor) -> Result<()> {
    check_out(out, "tensor")?;
    // SAFETY: the caller's.
    unsafe { out.write(hand_over(tensor)) };
    Ok(())
}

/// An array of sizes or strides.
///
/// # Safety
/// The pointer is null, or one to so many numbers, which stay while the result is used.
pub(super) unsafe fn array<'n>(pointer: *const i64, count: i64) -> Result<&'n [i64]> {
    ensure!(
        (0..=MAX_DIMENSIONS).contains(&count) && (count == 0 || !pointer.is_null()),
        Delegate,
        "a tensor of {count} dimensions"
    );
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: the caller's.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count as usize) })
}

/// The strides of a tensor of these sizes; a null pointer stands for those of a contiguous one.
///
/// # Safety
/// That of [`array`].
pub(super) unsafe fn strides_or_contiguous<'n>(
    pointer: *const i64,
    sizes: &[i64],
) -> Result<Cow<'n, [i64]>> {
    if pointer.is_null() {
        return Ok(contiguous_strides(sizes).into());
    }
    // SAFETY: the caller's.
    unsafe { array(pointer, sizes.len() as i64) }.map(Cow::Borrowed)
}

/// A string, for a message.
///
/// # Safety
/// The pointer is null, or one to a string that stays while this runs.
pub(super) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return "?".into();
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}
