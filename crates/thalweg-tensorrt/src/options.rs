//! The options of TensorRT as a whole.

use std::path::PathBuf;

/// Options for finding TensorRT, and for what its engines may do.
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

    /// The file of the library. No other location is searched then.
    pub fn library(mut self, path: impl Into<PathBuf>) -> Self {
        self.library = Some(path.into());
        self
    }

    /// Lets engines run code on the host that they contain. Version-compatible engines that contain a
    /// runtime do so. By default, TensorRT refuses them.
    pub fn host_code(mut self, allowed: bool) -> Self {
        self.host_code = allowed;
        self
    }
}
