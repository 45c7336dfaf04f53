//! Objects of a caller's that graphs keep.

use std::ffi::c_void;
use std::sync::Arc;

use crate::callback;

/// The destructor of an object.
pub(crate) type Destroy = unsafe extern "C" fn(*mut c_void);

/// A reference to an object, by a graph, a launchable graph, or the caller.
#[derive(Clone)]
pub(crate) struct UserObjectRef {
    _object: Arc<Object>,
}

struct Object {
    destroy: Destroy,
    data: usize,
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: whoever created the object promised that its destructor may be called once with
        // its data, on any thread.
        callback::inside(|| unsafe { (self.destroy)(self.data as *mut c_void) });
    }
}

/// An object while the caller has references to it.
pub(crate) struct UserObject {
    pub(crate) kept: UserObjectRef,
    /// The caller's references.
    pub(crate) count: u32,
}

impl UserObject {
    pub(crate) fn new(destroy: Destroy, data: usize, count: u32) -> Self {
        let object = Object { destroy, data };
        Self {
            kept: UserObjectRef {
                _object: Arc::new(object),
            },
            count,
        }
    }
}
