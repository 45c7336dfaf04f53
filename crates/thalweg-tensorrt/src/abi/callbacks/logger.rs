//! The `ILogger` that TensorRT logs to.
//!
//! TensorRT keeps the first logger of a process for messages that belong to no object. So the loggers,
//! one for each form of the table, are static.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::{DESTRUCTOR, InterfaceInfo, LANGUAGE, Slot, Table, guarded};
use crate::abi::layout::LoggerTable;
use crate::log::{self, Severity};

/// The logger with a table of this form.
pub(in crate::abi) fn logger(table: LoggerTable) -> *mut c_void {
    let logger: *const Logger = match table {
        LoggerTable::Plain => &raw const PLAIN,
        LoggerTable::Versioned => &raw const VERSIONED,
    };
    // TensorRT takes it as if to change it, but all there is to change is the pointer to the table.
    logger.cast_mut().cast()
}

#[repr(C)]
struct Logger {
    table: *const c_void,
}

// SAFETY: it is constant.
unsafe impl Sync for Logger {}

static PLAIN: Logger = Logger {
    table: PLAIN_TABLE.start(),
};
static VERSIONED: Logger = Logger {
    table: VERSIONED_TABLE.start(),
};

static PLAIN_TABLE: Table<3> = Table::new([LOG, DESTRUCTOR, DESTRUCTOR]);
static VERSIONED_TABLE: Table<5> = Table::new([LANGUAGE, INFO, DESTRUCTOR, DESTRUCTOR, LOG]);

const LOG: Slot = Slot(write as *const c_void);
const INFO: Slot = Slot(info as *const c_void);

extern "C" fn info(_this: *mut c_void) -> InterfaceInfo {
    InterfaceInfo {
        kind: c"ILogger".as_ptr(),
        major: 1,
        minor: 0,
    }
}

/// `ILogger::log`. TensorRT calls it on any thread.
///
/// # Safety
/// The text is null or ends with a zero.
unsafe extern "C" fn write(_this: *mut c_void, severity: c_int, text: *const c_char) {
    guarded((), || {
        if text.is_null() {
            return;
        }
        // SAFETY: the caller's.
        let text = unsafe { CStr::from_ptr(text) };
        log::note(Severity::of(severity), &text.to_string_lossy());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls a logger as TensorRT does.
    fn call(table: LoggerTable, slot: usize, severity: c_int, text: &CStr) {
        let this = logger(table);
        type Log = unsafe extern "C" fn(*mut c_void, c_int, *const c_char);
        // SAFETY: the object begins with a pointer to its slots, and that one is `log`.
        unsafe {
            let slots = *this.cast::<*const *const c_void>();
            let log: Log = std::mem::transmute(*slots.add(slot));
            log(this, severity, text.as_ptr());
        }
    }

    #[test]
    fn errors_that_are_logged_become_the_text_of_the_error() {
        log::begin();
        call(LoggerTable::Plain, 0, 1, c"it is broken");
        call(LoggerTable::Plain, 0, 2, c"it is old");
        call(LoggerTable::Versioned, 4, 0, c"it is very broken");
        let error = log::failed("enqueueV3");
        assert_eq!(
            error.to_string(),
            "enqueueV3 failed: it is broken; it is very broken"
        );
    }
}
