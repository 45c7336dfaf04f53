//! User objects: objects of the caller that graphs keep alive.

use std::ffi::c_void;
use std::sync::Arc;

use crate::callback;

/// The destructor of a user object.
pub(crate) type Destroy = unsafe extern "C" fn(*mut c_void);

/// A reference to a user object, by a graph, an executable graph, or the caller.
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

/// A user object to which the caller has references.
pub(crate) struct UserObject {
    pub(crate) reference: UserObjectRef,
    /// The number of the caller's references.
    pub(crate) count: u32,
}

impl UserObject {
    pub(crate) fn new(destroy: Destroy, data: usize, count: u32) -> Self {
        let object = Object { destroy, data };
        Self {
            reference: UserObjectRef {
                _object: Arc::new(object),
            },
            count,
        }
    }
}
