//! Why a method fails, and how TensorRT would say so.

/// The result of a method.
pub(super) type Refused<T> = Result<T, Refusal>;

/// A reason to fail.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The caller did something wrong.
    Usage(String),
    /// Not the right time for it.
    State(String),
    /// Some memory could not be had.
    Memory(String),
    /// The bytes of an engine are not for this library.
    Serialization(String),
    /// The driver failed with a code.
    Driver(String, u32),
    /// A description of an engine said so.
    Internal(String),
    /// A plan of faults said so.
    Injected(u32),
}

impl Refusal {
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

    /// A line for the log.
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

/// Fails because of what the caller did.
pub(super) fn usage<T>(text: impl Into<String>) -> Refused<T> {
    Err(Refusal::Usage(text.into()))
}
