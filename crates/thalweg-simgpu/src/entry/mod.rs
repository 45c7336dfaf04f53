//! The functions that the library exports.
//!
//! Handles are numbers here, as wide as the pointers that they are for callers. What a caller's
//! pointers point to is reached only through the types of this module.

mod capture;
mod context;
mod copy;
mod device;
mod event;
mod fill;
mod graph;
mod graph_nodes;
mod green;
mod init;
mod launch;
mod memory;
mod module;
mod pointer;
mod pool;
mod stream;
mod table;
mod unsupported;
mod user_object;

use std::ffi::{CStr, c_char};
use std::slice;

use cudarc::driver::sys::CUresult;

use crate::call::Call;
use crate::memory::Span;
use crate::status::{Answer, fail};

/// Defines a function of the driver, and its variant for the default stream of the thread if it
/// has one.
macro_rules! entry {
    ($(#[$doc:meta])* fn $name:ident / $variant:ident $($rest:tt)*) => {
        $crate::entry::entry! { @one false [$($doc)*] $name $($rest)* }
        $crate::entry::entry! { @one true [$($doc)*] $variant $($rest)* }
    };
    ($(#[$doc:meta])* fn $name:ident $($rest:tt)*) => {
        $crate::entry::entry! { @one false [$($doc)*] $name $($rest)* }
    };
    (
        @one $per_thread:literal [$($doc:meta)*] $name:ident ($($arg:ident: $type:ty),* $(,)?),
        $rules:expr, |$call:ident| $body:expr
    ) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function of the driver: pointers must be null or point to what they say.
        #[allow(non_snake_case, reason = "the name is the driver's")]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> $crate::status::Status {
            $crate::call::enter(stringify!($name), $rules, $per_thread, |$call| $body)
        }
    };
}
pub(crate) use entry;

/// Where a caller wants a result, or null.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Copy for Out<T> {}

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Out<T> {
    fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes a result that must be wanted.
    fn set(self, value: T) -> Answer {
        if self.0.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        self.set_if_wanted(value);
        Ok(())
    }

    /// Writes a result, if it is wanted.
    fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: it comes from a caller of the driver, who promises that it is null or may
            // be written; nothing says that it is aligned.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// The n-th of several results.
    fn nth(self, index: usize) -> Self {
        if self.0.is_null() {
            return self;
        }
        Self(self.0.wrapping_add(index))
    }

    fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

/// What a caller gives to be read, or null.
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T> Copy for In<T> {}

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> In<T> {
    fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl<T: Copy> In<T> {
    fn get(self) -> Answer<T> {
        if self.0.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: it comes from a caller of the driver, who promises that it is null or may be
        // read.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// The n-th of several.
    fn nth(self, index: usize) -> Answer<T> {
        if self.0.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        Self(self.0.wrapping_add(index)).get()
    }
}

impl In<u8> {
    fn bytes(self, len: usize) -> Answer<Vec<u8>> {
        if self.0.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: as above, for as many bytes as the caller says.
        Ok(unsafe { slice::from_raw_parts(self.0, len) }.to_vec())
    }
}

/// A terminated string of a caller.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text(*const c_char);

impl Text {
    fn get(self) -> Answer<String> {
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

/// Memory of the host that is not pinned.
pub(crate) fn pageable(address: u64, len: u64) -> Span {
    // SAFETY: a caller of the driver named it in a copy, and so promised that it is there and
    // stays until the copy is done.
    unsafe { Span::of_caller(address, len as usize) }
}

impl Call {
    /// The stream that a caller means: null, one of the default streams, or a handle.
    pub(crate) fn stream(&mut self, handle: u64) -> Answer<u64> {
        let thread = match handle {
            0 if !self.per_thread => None,
            1 => None,
            0 | 2 => Some(self.thread()),
            _ => {
                let site = self.site.clone();
                self.check_stream(handle, &site)?;
                return Ok(handle);
            }
        };
        let context = self.context()?;
        self.default_stream(context, thread)
    }
}
