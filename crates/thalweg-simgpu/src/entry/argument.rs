//! The pointers that callers pass: to results, to input, and to text.

use std::ffi::{CStr, c_char};
use std::slice;

use cudarc::driver::sys::CUresult;

use crate::status::{CallResult, fail};

/// A pointer to where a result goes, or null.
#[repr(transparent)]
pub(crate) struct Out<T>(pub(super) *mut T);

impl<T> Copy for Out<T> {}

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Out<T> {
    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes a result. Null is an error.
    pub(super) fn set(self, value: T) -> CallResult {
        if self.0.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        self.set_if_wanted(value);
        Ok(())
    }

    /// Writes a result, unless the pointer is null.
    pub(super) fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: it comes from a caller of the driver, who promises that it is null or may
            // be written; nothing says that it is aligned.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// The pointer to the n-th of several results.
    pub(super) fn nth(self, index: usize) -> Self {
        if self.0.is_null() {
            return self;
        }
        Self(self.0.wrapping_add(index))
    }

    pub(super) fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

/// A pointer to input, or null.
#[repr(transparent)]
pub(crate) struct In<T>(pub(super) *const T);

impl<T> Copy for In<T> {}

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> In<T> {
    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl<T: Copy> In<T> {
    pub(super) fn get(self) -> CallResult<T> {
        if self.0.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: it comes from a caller of the driver, who promises that it is null or may be
        // read.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Reads the n-th of several.
    pub(super) fn nth(self, index: usize) -> CallResult<T> {
        if self.0.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        Self(self.0.wrapping_add(index)).get()
    }
}

impl In<u8> {
    pub(super) fn bytes(self, len: usize) -> CallResult<Vec<u8>> {
        if self.0.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: as above, for as many bytes as the caller says.
        Ok(unsafe { slice::from_raw_parts(self.0, len) }.to_vec())
    }
}

/// A pointer to a terminated string, or null.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text(pub(super) *const c_char);

impl Text {
    pub(super) fn get(self) -> CallResult<String> {
        if self.0.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: it comes from a caller of the driver, who promises a terminated string.
        let text = unsafe { CStr::from_ptr(self.0) };
        match text.to_str() {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }
}
