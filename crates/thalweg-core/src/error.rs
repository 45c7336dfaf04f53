//! The one error type of Thalweg.

use std::error::Error as StdError;
use std::fmt;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where in the program, and why.
///
/// `Display` gives the whole sentence, with the place in front; [`Error::kind`] is what callers
/// match on; [`std::error::Error::source`] leads to the cause, where another library or the
/// system had one.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    place: Place,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What a caller may want to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The program or data file is damaged, or says something that cannot be.
    InvalidProgram,
    /// The program names operators or backends that this runtime does not have.
    Missing,
    /// The program needs data from a `.ptd` file that was not given or found.
    MissingData,
    /// The program needs a device that this machine, or this runtime, does not have.
    MissingDevice,
    /// What the caller passed does not fit the method: count, kind, type, shape or order.
    InvalidInput,
    /// An option has a value that it cannot have, or a name was not found.
    InvalidOption,
    /// A tensor would grow beyond what the program planned for it.
    OutOfBounds,
    /// An operator cannot do what it was asked to.
    Operator,
    /// A delegate failed.
    Delegate,
    /// A GPU or its driver failed; after some failures the device is of no more use to the process.
    Device,
    /// Memory is out, or more was asked for than the options allow.
    OutOfMemory,
    /// A call ran longer than its options allow.
    Limit,
    /// A file could not be read.
    Io,
    /// Something that Thalweg does not do.
    Unsupported,
    /// A mistake in Thalweg, or in a kernel or backend given to it.
    Internal,
}

/// Where in a program something happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The file, as the caller named it.
    pub file: Option<String>,
    /// The method.
    pub method: Option<String>,
    /// Index of the instruction.
    pub instruction: Option<usize>,
    /// The operator, or the delegate's backend with its index.
    pub operator: Option<String>,
}

impl Error {
    /// An error of a kind, with a message that is a sentence without a full stop.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            place: Place::default(),
            source: None,
        }))
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where in the program it happened.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says which file, unless that is known.
    #[must_use]
    pub fn in_file(mut self, file: impl fmt::Display) -> Self {
        self.0.place.file.get_or_insert_with(|| file.to_string());
        self
    }

    /// Says which method, unless that is known.
    #[must_use]
    pub fn in_method(mut self, method: &str) -> Self {
        self.0
            .place
            .method
            .get_or_insert_with(|| method.to_string());
        self
    }

    /// Says which instruction, unless that is known.
    #[must_use]
    pub fn at_instruction(mut self, index: usize, operator: &str) -> Self {
        if self.0.place.instruction.is_none() {
            self.0.place.instruction = Some(index);
            self.0.place.operator = Some(operator.to_string());
        }
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(file) = &self.file {
            write!(f, "{file}")?;
            separator = ": ";
        }
        if let Some(method) = &self.method {
            write!(f, "{separator}method `{method}`")?;
            separator = ", ";
        }
        if let Some(instruction) = self.instruction {
            write!(f, "{separator}instruction {instruction}")?;
            separator = ", ";
        }
        if let Some(operator) = &self.operator {
            write!(f, "{separator}{operator}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.place != Place::default() {
            write!(f, "{}: ", self.0.place)?;
        }
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        if let Some(source) = &self.0.source {
            write!(f, " (caused by: {source})")?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.source {
            Some(source) => Some(&**source),
            None => None,
        }
    }
}

impl From<thalweg_format::Error> for Error {
    fn from(error: thalweg_format::Error) -> Self {
        let kind = match error.kind() {
            thalweg_format::ErrorKind::Unsupported => ErrorKind::Unsupported,
            thalweg_format::ErrorKind::Io => ErrorKind::Io,
            _ => ErrorKind::InvalidProgram,
        };
        Self::new(kind, error.to_string())
    }
}

/// Returns from the function with an [`Error`] of a kind and a formatted message.
#[macro_export]
macro_rules! bail {
    ($kind:ident, $($format:tt)+) => {
        return ::core::result::Result::Err($crate::Error::new(
            $crate::ErrorKind::$kind,
            ::std::format!($($format)+),
        ))
    };
}

/// Returns from the function with an [`Error`] of a kind unless a condition holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $kind:ident, $($format:tt)+) => {
        if !$condition {
            $crate::bail!($kind, $($format)+)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_where_before_it_says_what() {
        let error = Error::new(ErrorKind::Operator, "shapes [2] and [3] do not broadcast")
            .at_instruction(4, "aten::add.out")
            .in_method("forward")
            .in_file("model.pte");
        assert_eq!(
            error.to_string(),
            "model.pte: method `forward`, instruction 4, aten::add.out: \
             shapes [2] and [3] do not broadcast"
        );
    }

    #[test]
    fn the_innermost_place_is_kept() {
        let error = Error::new(ErrorKind::Operator, "x")
            .at_instruction(4, "inner")
            .at_instruction(9, "outer");
        assert_eq!(error.place().instruction, Some(4));
    }
}
