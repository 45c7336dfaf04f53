//! Choices for TensorRT as a whole.

use std::path::PathBuf;

/// Choices for finding TensorRT and for what its engines may do.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Options {
    pub(crate) library: Option<PathBuf>,
    pub(crate) host_code: bool,
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The file of the library. Nowhere else is looked then.
    pub fn library(mut self, path: impl Into<PathBuf>) -> Self {
        self.library = Some(path.into());
        self
    }

    /// Lets engines run code on the host that they bring themselves, as those do that were built to
    /// be version compatible and carry a runtime of their own. TensorRT refuses them otherwise.
    pub fn host_code(mut self, allowed: bool) -> Self {
        self.host_code = allowed;
        self
    }
}
