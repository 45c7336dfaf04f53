//! User objects.

use std::ffi::{c_uint, c_void};

use cudarc::driver::sys::CUresult;

use super::argument::Out;
use super::entry;
use crate::objects::{Destroy, UserObject};
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

/// The flag that creation requires, and the flag that moves references to a graph.
const ONE: c_uint = 1;

impl Call {
    fn give_back(&mut self, object: u64, count: c_uint) -> CallResult {
        let known = self.user_objects.get_mut(object)?;
        if count == 0 || known.count < count {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        known.count -= count;
        if known.count == 0 {
            let object = self.user_objects.remove(object)?;
            self.release_references(vec![object.reference], None);
        }
        Ok(())
    }
}

entry! {
    /// Creates a user object of a pointer and its destructor.
    fn cuUserObjectCreate(
        object: Out<u64>,
        data: Out<c_void>,
        destroy: Option<Destroy>,
        count: c_uint,
        flags: c_uint,
    ), Rules::DRIVER, |call| {
        let Some(destroy) = destroy.filter(|_| !object.is_null() && count > 0 && flags == ONE)
        else {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        let made = UserObject::new(destroy, data.0 as usize, count);
        let handle = call.user_objects.insert(made);
        object.set(handle)
    }
}

entry! {
    /// Adds references of the caller.
    fn cuUserObjectRetain(object: u64, count: c_uint), Rules::DRIVER, |call| {
        let known = call.user_objects.get_mut(object)?;
        known.count += count;
        Ok(())
    }
}

entry! {
    /// Releases references of the caller.
    fn cuUserObjectRelease(object: u64, count: c_uint), Rules::DRIVER.releases(), |call| {
        call.give_back(object, count)
    }
}

entry! {
    /// Adds references of a graph, or moves those of the caller to it.
    fn cuGraphRetainUserObject(graph: u64, object: u64, count: c_uint, flags: c_uint),
    Rules::DRIVER, |call| {
        if count == 0 || flags > ONE {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let reference = call.user_objects.get(object)?.reference.clone();
        let graph = call.graphs.get_mut(graph)?;
        graph.user_objects.extend(vec![reference; count as usize]);
        if flags == ONE {
            call.give_back(object, count)?;
        }
        Ok(())
    }
}
