//! Objects of TensorRT, and their methods.

use std::ffi::c_void;
use std::ptr::NonNull;

use thalweg_core::{Result, bail, ensure};

use super::layout::{Api, Method, This};
use crate::log;

/// An object that TensorRT has created and that belongs to us: a virtual table with destructors, and a
/// pointer to the inner object, which has the methods.
pub(crate) struct Object {
    outer: NonNull<Outer>,
    inner: NonNull<Table>,
    api: Api,
}

/// The memory layout of TensorRT's public classes.
#[repr(C)]
struct Outer {
    table: Table,
    inner: *mut Table,
}

/// A pointer to a virtual table, with which an object begins.
type Table = *const *const c_void;

/// The slot of the deleting destructor, which also frees the memory.
const DELETE: usize = 1;

/// The lowest plausible address of an object.
const LOWEST: usize = 0x1_0000;

impl Object {
    /// Takes ownership of an object that TensorRT has returned.
    ///
    /// # Errors
    /// If the pointer is null, or cannot be an object: without a device, TensorRT has been seen to
    /// return small numbers. The error has what TensorRT logged.
    ///
    /// # Safety
    /// The pointer comes from a function of a library with this layout, returning an object of a
    /// public class that now belongs to us, or is null or a small number.
    pub(crate) unsafe fn returned(api: Api, pointer: *mut c_void, call: &str) -> Result<Self> {
        let Some(outer) = plausible(pointer) else {
            return Err(match pointer.addr() {
                0 => log::failed(call),
                address => log::failed(&format!(
                    "{call} (it gave {address:#x}, which is no object; TensorRT does so where it \
                     finds no device)"
                )),
            });
        };
        let outer = outer.cast::<Outer>();
        // SAFETY: an object of a public class, by the caller's promise.
        let Some(inner) = plausible(unsafe { outer.as_ref() }.inner.cast()) else {
            bail!(
                Delegate,
                "{call} gave an object of TensorRT that has no methods; its layout is not the one \
                 that its version is known for"
            );
        };
        Ok(Self {
            outer,
            inner: inner.cast(),
            api,
        })
    }

    /// The virtual tables of the object's library.
    pub(crate) fn api(&self) -> &Api {
        &self.api
    }

    /// Returns true if the library has a method.
    pub(crate) fn has<F>(&self, method: &Method<F>) -> bool {
        self.api.slot(method).is_some()
    }

    /// A method, to be called on [`this`](Self::this).
    ///
    /// # Errors
    /// If the library's version does not have it.
    pub(crate) fn method<F: Copy>(&self, method: &Method<F>) -> Result<F> {
        let Some(slot) = self.api.slot(method) else {
            bail!(
                Unsupported,
                "this version of TensorRT has no method `{}`",
                method.name
            );
        };
        const {
            assert!(size_of::<F>() == size_of::<*const c_void>());
        }
        // SAFETY: the object is alive, and its table has at least the slots of its layout.
        let function = unsafe { *self.inner.as_ref().add(slot) };
        ensure!(
            !function.is_null(),
            Delegate,
            "TensorRT's method `{}` has no code",
            method.name
        );
        // SAFETY: layouts name a function pointer for each slot, with the signature of the method
        // there.
        Ok(unsafe { std::mem::transmute_copy(&function) })
    }

    /// The inner object, which methods are called on.
    pub(crate) fn this(&self) -> This {
        self.inner.as_ptr().cast()
    }

    /// Destroys the object.
    ///
    /// # Safety
    /// This is the last use of the object, and of all that it has returned.
    pub(crate) unsafe fn delete(&mut self) {
        let table = {
            // SAFETY: the object is alive.
            unsafe { self.outer.as_ref() }.table
        };
        type Delete = unsafe extern "C" fn(*mut c_void);
        // SAFETY: the second slot of a class with a virtual destructor is the one that frees, and
        // the caller says that it is time.
        unsafe {
            let delete: Delete = std::mem::transmute(*table.add(DELETE));
            delete(self.outer.as_ptr().cast());
        }
    }
}

/// The pointer, if an object may lie there.
fn plausible(pointer: *mut c_void) -> Option<NonNull<c_void>> {
    let aligned = pointer.addr().is_multiple_of(align_of::<Outer>());
    NonNull::new(pointer).filter(|_| pointer.addr() >= LOWEST && aligned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::{Flavor, Version};

    #[test]
    fn what_is_no_object_is_refused_without_touching_it() {
        let api = Api::of(Version::new(10, 6, 0), Flavor::Full).unwrap();
        for (address, why) in [(0, "makes"), (3, "0x3"), (0x1_0001, "0x10001")] {
            let pointer = std::ptr::without_provenance_mut(address);
            // SAFETY: null, or a small number.
            let error = unsafe { Object::returned(api, pointer, "makes") }
                .err()
                .unwrap();
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn an_object_without_methods_is_refused() {
        let api = Api::of(Version::new(10, 6, 0), Flavor::Full).unwrap();
        let mut outer = Outer {
            table: std::ptr::null(),
            inner: std::ptr::null_mut(),
        };
        // SAFETY: it looks like an object.
        let object = unsafe { Object::returned(api, (&raw mut outer).cast(), "makes") };
        assert!(object.err().unwrap().to_string().contains("no methods"));
    }
}
