//! Host functions: code of the caller that runs in a stream and must not call the driver.

use std::cell::Cell;
use std::ffi::c_void;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread runs a host function or a kernel.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Runs code of the caller, from which calls of the driver are an error.
pub(crate) fn inside<T>(function: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    let _restore = Restore(INSIDE.replace(true));
    function()
}

/// A host function in a stream.
#[derive(Clone, Copy)]
pub(crate) enum HostFunction {
    /// The function of a `cuLaunchHostFunc`.
    Plain {
        function: unsafe extern "C" fn(*mut c_void),
        data: usize,
    },
    /// The callback of a `cuStreamAddCallback`, which is also given the stream and its status.
    Callback {
        function: unsafe extern "C" fn(usize, u32, *mut c_void),
        stream: u64,
        data: usize,
    },
}

impl HostFunction {
    /// Calls the function. `status` is the error of its device, or 0.
    pub(crate) fn call(self, status: u32) {
        inside(|| match self {
            // Plain functions are not called once the device has failed.
            Self::Plain { .. } if status != 0 => {}
            // SAFETY: the caller of the driver promised that it may be called once with its data.
            Self::Plain { function, data } => unsafe { function(data as *mut c_void) },
            Self::Callback {
                function,
                stream,
                data,
                // SAFETY: as above.
            } => unsafe { function(stream as usize, status, data as *mut c_void) },
        });
    }
}
