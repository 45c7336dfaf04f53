//! What can be wrong with a file.

use std::fmt::Display;

/// Why a file could not be read or written, and where in it the reason lies.
///
/// The text reads as a sentence: "method `forward`, instruction 12: argument 3 names value 99, but
/// there are 57 values".
#[derive(Debug, thiserror::Error)]
#[error("{place}{}{message}", if .place.is_empty() { "" } else { ": " })]
pub struct Error {
    kind: ErrorKind,
    place: String,
    message: String,
    #[source]
    source: Option<std::io::Error>,
}

/// The kinds of [`Error`], for callers that treat them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not such a file at all.
    NotThisFormat,
    /// The file ends before what it promises.
    Truncated,
    /// The file contradicts itself or breaks a rule of the format.
    Invalid,
    /// The file uses something that this version does not know, such as a new kind of value.
    Unsupported,
    /// The file is built so that reading it would take far more memory than its size, or what is
    /// to be written does not fit into the format.
    TooBig,
    /// Writing failed; the cause is the [source](std::error::Error::source).
    Io,
}

impl Error {
    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where in the file the error lies, such as "method `forward`, instruction 12"; empty if it
    /// concerns the file as a whole.
    pub fn place(&self) -> &str {
        &self.place
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            place: String::new(),
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    fn within(mut self, outer: impl Display) -> Self {
        let outer = outer.to_string();
        if self.place.is_empty() {
            self.place = outer;
        } else if !outer.is_empty() {
            self.place = format!("{outer}, {}", self.place);
        }
        self
    }
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        Self {
            source: Some(source),
            ..Self::new(ErrorKind::Io, "the file could not be written")
        }
    }
}

impl From<planus::Error> for Error {
    fn from(error: planus::Error) -> Self {
        use planus::errors::ErrorKind as Planus;
        let location = error.source_location;
        let field = format!("`{}.{}`", location.type_, location.method);
        let at = if location.byte_offset == usize::MAX {
            String::new()
        } else {
            format!(" (in the table at byte {})", location.byte_offset)
        };
        let (kind, what) = match error.error_kind {
            Planus::UnknownEnumTag { source } => (
                ErrorKind::Unsupported,
                format!(
                    "has the value {}, which is unknown to this version",
                    source.tag
                ),
            ),
            Planus::UnknownUnionTag { tag } => (
                ErrorKind::Unsupported,
                format!("is of kind {tag}, which is unknown to this version"),
            ),
            Planus::InvalidOffset => (
                ErrorKind::Invalid,
                "points outside the flatbuffer".to_owned(),
            ),
            Planus::InvalidLength => (
                ErrorKind::Invalid,
                "is longer than the flatbuffer".to_owned(),
            ),
            Planus::InvalidUtf8 { .. } => (ErrorKind::Invalid, "is not valid UTF-8".to_owned()),
            other => (ErrorKind::Invalid, format!("is broken: {other}")),
        };
        Self::new(kind, format!("{field} {what}{at}"))
    }
}

/// Adds to an error where it happened, from the inside out.
pub(crate) trait At<T> {
    fn at<D: Display>(self, place: impl FnOnce() -> D) -> Result<T, Error>;
}

impl<T, E: Into<Error>> At<T> for Result<T, E> {
    fn at<D: Display>(self, place: impl FnOnce() -> D) -> Result<T, Error> {
        self.map_err(|error| error.into().within(place()))
    }
}

/// A name from a file, fit for a message: quoted, without control characters, and not too long.
pub(crate) fn quoted(name: &str) -> String {
    const LONGEST: usize = 80;
    let mut text: String = name
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if name.chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    format!("`{text}`")
}

/// Names a chain, unless it is the only one, as in all programs that upstream writes.
pub(crate) fn chain_place(i: usize, chains: usize) -> String {
    if chains == 1 {
        String::new()
    } else {
        format!("chain {i}")
    }
}

/// "1 value", "2 values".
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// "there is 1 value", "there are 2 values".
pub(crate) fn there_are(n: usize, noun: &str) -> String {
    format!(
        "there {} {}",
        if n == 1 { "is" } else { "are" },
        count(n, noun)
    )
}
