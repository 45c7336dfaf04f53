//! TensorRT's log: messages go to `tracing`, and errors also into the error of the failing call.
//!
//! TensorRT calls its logger on the thread that calls TensorRT. So each thread collects its own errors:
//! [`begin`] clears them before a call, and [`failed`] makes an error of them.

use std::cell::RefCell;

use thalweg_core::{Error, ErrorKind, Result};

/// An `ILogger::Severity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    InternalError,
    Error,
    Warning,
    Info,
    Verbose,
}

impl Severity {
    /// The severity with TensorRT's number.
    pub(crate) fn of(number: i32) -> Self {
        match number {
            0 => Self::InternalError,
            1 => Self::Error,
            2 => Self::Warning,
            3 => Self::Info,
            _ => Self::Verbose,
        }
    }
}

/// The largest number of errors that are collected in one call.
const KEPT: usize = 16;

thread_local! {
    static ERRORS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Takes a message of TensorRT's log.
pub(crate) fn note(severity: Severity, text: &str) {
    let text = text.trim_end();
    match severity {
        Severity::InternalError | Severity::Error => {
            tracing::error!(target: "tensorrt", "{text}");
            // While a thread ends, there may be nowhere to keep it.
            let _ = ERRORS.try_with(|errors| {
                if let Ok(mut errors) = errors.try_borrow_mut()
                    && errors.len() < KEPT
                {
                    errors.push(text.into());
                }
            });
        }
        Severity::Warning => tracing::warn!(target: "tensorrt", "{text}"),
        Severity::Info => tracing::info!(target: "tensorrt", "{text}"),
        Severity::Verbose => tracing::debug!(target: "tensorrt", "{text}"),
    }
}

/// Clears the errors of the thread, before a call.
#[inline]
pub(crate) fn begin() {
    let _ = ERRORS.try_with(|errors| {
        if let Ok(mut errors) = errors.try_borrow_mut() {
            errors.clear();
        }
    });
}

/// The error of a call that has failed, with the errors that TensorRT logged in it.
#[cold]
pub(crate) fn failed(call: &str) -> Error {
    let said = take();
    let said = if said.is_empty() {
        "TensorRT does not say why".into()
    } else {
        said.join("; ")
    };
    Error::new(ErrorKind::Delegate, format!("{call} failed: {said}"))
}

/// Checks a call that returns nothing.
///
/// # Errors
/// If TensorRT logged an error in it.
pub(crate) fn check(call: &str) -> Result<()> {
    let silent = ERRORS
        .try_with(|errors| errors.try_borrow().is_ok_and(|errors| errors.is_empty()))
        .unwrap_or(true);
    if silent { Ok(()) } else { Err(failed(call)) }
}

/// Checks a call that returns a `bool`, as a byte.
///
/// # Errors
/// If it is false.
#[inline]
pub(crate) fn check_status(status: u8, call: impl FnOnce() -> String) -> Result<()> {
    match status {
        0 => Err(failed(&call())),
        _ => Ok(()),
    }
}

/// Takes the errors of the thread.
fn take() -> Vec<String> {
    ERRORS
        .try_with(|errors| {
            errors
                .try_borrow_mut()
                .map(|mut errors| std::mem::take(&mut *errors))
        })
        .ok()
        .and_then(Result::ok)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_collect_for_themselves() {
        begin();
        note(Severity::Error, "mine\n");
        std::thread::spawn(|| {
            begin();
            note(Severity::Error, "another's");
            assert_eq!(failed("a call").to_string(), "a call failed: another's");
        })
        .join()
        .unwrap();
        assert!(check("a call").is_err());
        note(Severity::Warning, "not an error");
        assert_eq!(
            failed("a call").message(),
            "a call failed: TensorRT does not say why"
        );
    }

    #[test]
    fn a_flood_of_lines_is_not_kept() {
        begin();
        (0..1000).for_each(|line| note(Severity::of(1), &line.to_string()));
        assert_eq!(take().len(), KEPT);
        assert!(check("a call").is_ok());
    }
}
