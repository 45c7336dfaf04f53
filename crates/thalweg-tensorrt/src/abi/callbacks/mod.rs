//! Objects that TensorRT calls back: a logger, an output allocator, and a reader of engines.
//!
//! Each has a virtual table as C++ lays it out. Every callback catches panics, because a panic must not
//! unwind through C++. TensorRT destroys none of the objects: its headers say so for each interface.

mod logger;
mod output_allocator;
mod stream_reader;

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(super) use logger::logger;
pub(crate) use output_allocator::OutputAllocator;
pub(super) use stream_reader::StreamReader;

/// A virtual table as C++ lays it out. An object points to the first slot.
#[repr(C)]
struct Table<const N: usize> {
    offset_to_top: isize,
    type_info: *const c_void,
    slots: [Slot; N],
}

/// A slot of a virtual table: a function of any signature.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Slot(*const c_void);

// SAFETY: tables are constant, and functions may be called on any thread.
unsafe impl<const N: usize> Sync for Table<N> {}

impl<const N: usize> Table<N> {
    const fn new(slots: [Slot; N]) -> Self {
        Self {
            offset_to_top: 0,
            type_info: std::ptr::null(),
            slots,
        }
    }

    /// The pointer with which an object begins.
    const fn start(&'static self) -> *const c_void {
        (&raw const self.slots).cast()
    }
}

/// An `InterfaceInfo`, which every versioned interface returns.
#[repr(C)]
struct InterfaceInfo {
    kind: *const c_char,
    major: c_int,
    minor: c_int,
}

/// `IVersionedInterface::getAPILanguage`: C++, which TensorRT does not treat in a special way.
extern "C" fn language(_this: *mut c_void) -> c_int {
    0
}

/// A destructor. Nothing calls it, because the object belongs to Rust.
extern "C" fn destructor(_this: *mut c_void) {}

const LANGUAGE: Slot = Slot(language as *const c_void);
const DESTRUCTOR: Slot = Slot(destructor as *const c_void);

/// Runs a callback. A panic becomes the result that means failure.
fn guarded<T>(failure: T, callback: impl FnOnce() -> T) -> T {
    // Unwind safe, since what the callback leaves behind is looked at no more than its failure.
    catch_unwind(AssertUnwindSafe(callback)).unwrap_or(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_callback_is_its_failure() {
        assert_eq!(guarded(-1, || panic!("no")), -1);
        assert_eq!(guarded(-1, || 3), 3);
    }

    #[test]
    fn tables_are_as_cpp_lays_them_out() {
        static TABLE: Table<2> = Table::new([LANGUAGE, DESTRUCTOR]);
        let start = TABLE.start();
        assert_eq!(start.addr() - (&raw const TABLE).addr(), 16);
        assert_eq!(size_of::<InterfaceInfo>(), 16);
    }
}
