//! Failures of the command, as messages for a person.

use std::error::Error as StdError;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;

/// A failure: what failed and where, and a hint if there is something to try.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    reader_is_gone: bool,
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure with a message: a sentence without a full stop.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            reader_is_gone: false,
        }
    }

    /// Adds a hint: what to try.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Puts the subject of the failure in front of the message.
    pub(crate) fn of(mut self, what: impl Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Puts the file in front of the message, unless the message names it already.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        let name = path.display().to_string();
        if self.message.contains(&name) {
            self
        } else {
            self.of(name)
        }
    }

    /// Returns true if the reader of the output has closed it.
    pub(crate) fn reader_is_gone(&self) -> bool {
        self.reader_is_gone
    }

    /// The message without the hint.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  try: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<thalweg::Error> for Failure {
    fn from(error: thalweg::Error) -> Self {
        Self::new(with_causes(&error))
    }
}

/// An error of writing to the standard output. Errors of files are named by [`Failure::of`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let reader_is_gone = error.kind() == io::ErrorKind::BrokenPipe;
        Self {
            reader_is_gone,
            ..Self::new(format!("cannot write the output: {error}"))
        }
    }
}

/// An error and its causes in one sentence. A cause that the text contains already is left out.
pub(crate) fn with_causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

/// Returns from the function with a [`Failure`] of a formatted message.
macro_rules! fail {
    ($($format:tt)+) => {
        return Err($crate::failure::Failure::new(format!($($format)+)))
    };
}
pub(crate) use fail;
