//! Objects of a caller's that graphs keep.

use std::ffi::c_void;
use std::sync::Arc;

use crate::callback;
use crate::driver::Driver;
use crate::event::Recorded;

/// The destructor of an object.
pub(crate) type Destroy = unsafe extern "C" fn(*mut c_void);

/// A reference to an object, by a graph, a launchable graph, or the caller.
#[derive(Clone)]
pub(crate) struct Kept {
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
    pub(crate) kept: Kept,
    /// The caller's references.
    pub(crate) count: u32,
}

impl UserObject {
    pub(crate) fn new(destroy: Destroy, data: usize, count: u32) -> Self {
        let object = Object { destroy, data };
        Self {
            kept: Kept {
                _object: Arc::new(object),
            },
            count,
        }
    }
}

impl Driver {
    /// Gives references up: at once, or when a launch that is running has ended.
    pub(crate) fn give_up(&mut self, kept: Vec<Kept>, after: Option<Recorded>) {
        if kept.is_empty() {
            return;
        }
        self.given_up.push((after, kept));
        self.drop_given_up();
    }

    /// Drops what was given up and is not in use any more.
    pub(crate) fn drop_given_up(&mut self) {
        if self.given_up.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.given_up);
        for (after, kept) in waiting {
            if after.as_ref().is_none_or(|after| self.is_done(after.point)) {
                drop(kept);
            } else {
                self.given_up.push((after, kept));
            }
        }
    }
}
