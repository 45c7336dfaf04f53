//! The errors of TensorRT's methods.

use crate::interface::DriverResult;

/// The result of a method.
pub(super) type ApiResult<T> = Result<T, ApiError>;

/// The error of a method, by its `nvinfer1::ErrorCode`.
#[derive(Debug)]
pub(super) enum ApiError {
    /// A misuse by the caller.
    Usage(String),
    /// A call at the wrong time.
    State(String),
    /// An allocation that failed.
    Memory(String),
    /// The bytes of an engine that are not for this library.
    Serialization(String),
    /// An error of the driver, with its code.
    Driver(String, u32),
    /// An error that the description of an engine asks for.
    Internal(String),
    /// An error of a plan of faults.
    Injected(u32),
}

impl ApiError {
    /// The `nvinfer1::ErrorCode`.
    pub(super) fn code(&self) -> i32 {
        match self {
            Self::Serialization(_) | Self::Driver(..) => 1,
            Self::Internal(_) | Self::Injected(_) => 2,
            Self::Usage(_) => 3,
            Self::Memory(_) => 5,
            Self::State(_) => 9,
        }
    }

    /// The line for the log.
    pub(super) fn line(&self, class: &str, method: &str) -> String {
        let code = self.code();
        let text = match self {
            Self::Usage(text) => format!("API Usage Error ({text})"),
            Self::State(text) => format!("Invalid State ({text})"),
            Self::Memory(text) => format!("OutOfMemory ({text})"),
            Self::Serialization(text) => format!("Serialization ({text})"),
            Self::Driver(text, code) => format!("Cuda Runtime ({text}: error {code})"),
            Self::Internal(text) => format!("Internal Error ({text})"),
            Self::Injected(code) => format!("Internal Error (a plan of faults: code {code})"),
        };
        format!("{class}::{method}: Error Code {code}: {text}")
    }
}

/// Fails with a misuse by the caller.
pub(super) fn usage<T>(text: impl Into<String>) -> ApiResult<T> {
    Err(ApiError::Usage(text.into()))
}

/// Turns an error of the driver into one of TensorRT, which says what was being done.
pub(super) fn driver_error<T>(result: DriverResult<T>, what: &str) -> ApiResult<T> {
    result.map_err(|code| ApiError::Driver(what.into(), code))
}
