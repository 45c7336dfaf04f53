//! The source files of a crate.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The Rust files of a crate, by their paths in it (`src/lib.rs`).
#[derive(Debug, Clone, Default)]
pub struct Sources(BTreeMap<PathBuf, String>);

impl Sources {
    /// Reads all Rust files in `directory`, except those of a `target` folder.
    ///
    /// # Errors
    ///
    /// A folder or file that cannot be read.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let mut sources = Self::default();
        let mut folders = vec![directory.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let failed = |error| Error::read(&folder, &error);
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if path.is_dir() {
                    if path.file_name().is_some_and(|name| name != "target") {
                        folders.push(path);
                    }
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text =
                        fs::read_to_string(&path).map_err(|error| Error::read(&path, &error))?;
                    let inside = path.strip_prefix(directory).unwrap_or(&path);
                    sources.0.insert(inside.to_path_buf(), text);
                }
            }
        }
        Ok(sources)
    }

    /// All files, in the order of their paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.0
            .iter()
            .map(|(path, text)| (path.as_path(), text.as_str()))
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &Path) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The files at which the compiler starts to read the package's library and programs.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path).filter(|path| {
            let in_src = path.strip_prefix("src").ok();
            in_src.is_some_and(|path| {
                path == Path::new("lib.rs")
                    || path == Path::new("main.rs")
                    || path.parent() == Some(Path::new("bin"))
            })
        })
    }
}

impl<P: Into<PathBuf>, T: Into<String>> FromIterator<(P, T)> for Sources {
    fn from_iter<I: IntoIterator<Item = (P, T)>>(files: I) -> Self {
        Self(
            files
                .into_iter()
                .map(|(path, text)| (path.into(), text.into()))
                .collect(),
        )
    }
}

/// A source file that cannot be read.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    fn read(path: &Path, error: &io::Error) -> Self {
        Self(format!("{}: {error}", path.display()))
    }

    /// A file that is not Rust.
    pub(crate) fn syntax(path: &Path, error: &syn::Error) -> Self {
        Self(format!(
            "{}:{}: {error}",
            path.display(),
            error.span().start().line
        ))
    }

    /// The declaration of a module that has no file.
    pub(crate) fn missing(path: &Path, line: usize, module: &str) -> Self {
        Self(format!(
            "{}:{line}: module `{module}` has no file",
            path.display()
        ))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
