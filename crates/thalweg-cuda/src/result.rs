//! Status codes of the driver as errors.

use thalweg_core::{Error, ErrorKind, Result};

use crate::sys::library::SharedLibrary;
use crate::sys::{self, NotInitialized, Status, Table};

/// The status of a call as a result.
#[inline]
pub(crate) fn check(table: &Table, call: &str, status: Status) -> Result<()> {
    if status.is_success() {
        Ok(())
    } else {
        Err(failed(table, call, status))
    }
}

/// The error of a call that answered with a status.
#[cold]
pub(crate) fn failed(table: &Table, call: &str, status: Status) -> Error {
    let (name, text) = table.describe(status);
    let lost = if status.loses_context() {
        "; the device's context is lost, and everything on it fails from now on"
    } else {
        ""
    };
    Error::new(
        kind(status),
        format!("{call} failed with {name} ({text}){lost}"),
    )
}

/// The table of the driver in a library, which is initialized.
pub(crate) fn initialize(library: SharedLibrary) -> Result<&'static Table> {
    sys::initialize(library).map_err(|reason| match reason {
        NotInitialized::Unusable(error) => error,
        NotInitialized::Failed {
            table,
            call,
            status,
        } => failed(&table, call, status),
    })
}

/// The error of an allocation that failed, with what is known about sizes.
#[cold]
pub(crate) fn out_of_memory(
    error: &Error,
    what: &str,
    asked: usize,
    free: Option<(usize, usize)>,
) -> Error {
    let free = free.map_or(String::new(), |(free, total)| {
        format!(", with {free} of {total} bytes free on the device")
    });
    Error::new(
        error.kind(),
        format!("no {what} of {asked} bytes{free}: {}", error.message()),
    )
}

/// The error of everything that happens on a context after it was lost.
#[cold]
pub(crate) fn lost(table: &Table, device: i32, status: Status) -> Error {
    let (name, text) = table.describe(status);
    Error::new(
        ErrorKind::Device,
        format!(
            "device {device} is out of use in this process: its context was lost before, with \
             {name} ({text})"
        ),
    )
}

/// The error of a function that the driver is too old for.
#[cold]
pub(crate) fn too_old(table: &Table, function: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "the driver ({}, CUDA {}.{}) has no function `{function}`",
            table.location(),
            table.version / 1000,
            table.version % 1000 / 10
        ),
    )
}

fn kind(status: Status) -> ErrorKind {
    match status {
        Status::OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        Status::NO_DEVICE | Status::INVALID_DEVICE => ErrorKind::MissingDevice,
        Status::NOT_SUPPORTED => ErrorKind::Unsupported,
        _ => ErrorKind::Device,
    }
}
