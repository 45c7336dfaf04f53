//! Finding and opening a shared library: locations, attempts, and symbols.

use std::ffi::{OsStr, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::ptr::NonNull;

use thalweg_core::{Error, ErrorKind, Result};

/// An open shared library. It is never closed: it may have threads of its own, and libraries that were
/// loaded later may use it.
pub struct SharedLibrary {
    library: ManuallyDrop<libloading::Library>,
    location: Location,
}

/// A location at which a shared library is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// The file that the program names.
    File(PathBuf),
    /// The file that an environment variable names.
    Variable {
        /// The variable.
        name: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A library of this name that the process already has.
    Loaded(&'static str),
    /// A library of this name, by the system's search path.
    System(&'static str),
    /// A file in a package of the active Python environment.
    Python(PathBuf),
    /// The packages of that environment, where none has the library.
    NoPython,
}

/// An attempt to open a library at one location. `V` is the version of what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt<V> {
    /// The location.
    pub location: Location,
    /// The outcome.
    pub outcome: Outcome<V>,
}

/// The outcome of an attempt to open a library.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome<V> {
    /// A library that can be used, of this version.
    Opened(V),
    /// No library, or one that cannot be used, and the reason.
    Failed(String),
}

/// Tries locations in order until `open` succeeds at one. `version` describes what was opened.
pub fn search<T, V>(
    locations: Vec<Location>,
    mut open: impl FnMut(&Location) -> Result<T>,
    version: impl FnOnce(&T) -> V,
) -> (Vec<Attempt<V>>, Option<T>) {
    let mut attempts = Vec::new();
    for location in locations {
        match open(&location) {
            Ok(library) => {
                let outcome = Outcome::Opened(version(&library));
                attempts.push(Attempt { location, outcome });
                return (attempts, Some(library));
            }
            Err(error) => attempts.push(Attempt {
                location,
                outcome: Outcome::Failed(error.to_string()),
            }),
        }
    }
    (attempts, None)
}

/// The failed attempts in one line: each location with its reason.
pub fn failures<V>(attempts: &[Attempt<V>]) -> String {
    let failures = attempts
        .iter()
        .filter_map(|attempt| match &attempt.outcome {
            Outcome::Opened(_) => None,
            Outcome::Failed(reason) => Some(format!("{}: {reason}", attempt.location)),
        });
    failures.collect::<Vec<_>>().join("; ")
}

impl SharedLibrary {
    /// Opens the library at a location, such that its symbols stay its own.
    ///
    /// # Errors
    /// [`ErrorKind::Missing`] if it is not there or cannot be opened, with the system's reason.
    ///
    /// # Safety
    /// The library's initializers, which run if the process does not have it yet, may be run at any time.
    pub unsafe fn open(location: &Location) -> Result<Self> {
        let (name, is_loaded): (&OsStr, bool) = match location {
            Location::File(path) | Location::Variable { path, .. } | Location::Python(path) => {
                (path.as_os_str(), false)
            }
            Location::System(name) => (name.as_ref(), false),
            Location::Loaded(name) => (name.as_ref(), true),
            Location::NoPython => {
                return Err(Error::new(ErrorKind::Missing, "none has it"));
            }
        };
        let opened = if is_loaded {
            // SAFETY: none of its initializers runs, since the process has the library.
            unsafe { loaded(name) }
                .map_err(|_| Error::new(ErrorKind::Missing, "the process does not have it"))
        } else {
            // SAFETY: the caller's.
            unsafe { local(name) }.map_err(not_opened)
        };
        Ok(Self {
            library: ManuallyDrop::new(opened?),
            location: location.clone(),
        })
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        // SAFETY: nothing is assumed of the symbol here but that it is an address.
        let symbol = unsafe { self.library.get::<*mut c_void>(name) }.ok()?;
        NonNull::new(*symbol)
    }

    /// The location at which it was found.
    pub fn location(&self) -> &Location {
        &self.location
    }
}

/// The text of the system's error, which the error of `libloading` only leads to.
fn not_opened(error: libloading::Error) -> Error {
    let reason =
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
    Error::new(ErrorKind::Missing, reason).with_source(error)
}

/// Opens a library such that its symbols stay its own.
///
/// # Safety
/// As said in [`SharedLibrary::open`].
unsafe fn local(name: &OsStr) -> Result<libloading::Library, libloading::Error> {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        // SAFETY: the caller's.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
    }
    #[cfg(not(unix))]
    // SAFETY: the caller's.
    unsafe {
        libloading::Library::new(name)
    }
}

/// A library that the process already has.
///
/// # Safety
/// None of its initializers runs.
unsafe fn loaded(name: &OsStr) -> Result<libloading::Library, libloading::Error> {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_NOW};
        /// The system's value, which `libloading` does not name.
        const RTLD_NOLOAD: std::ffi::c_int = if cfg!(target_vendor = "apple") { 16 } else { 4 };
        // SAFETY: the caller's.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_NOLOAD) }.map(Into::into)
    }
    #[cfg(not(unix))]
    libloading::os::windows::Library::open_already_loaded(name).map(Into::into)
}

impl fmt::Display for SharedLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.location.fmt(f)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable { name, path } => write!(f, "{} (from {name})", path.display()),
            Self::Loaded(name) => write!(f, "{name}, already in the process"),
            Self::System(name) => write!(f, "{name}, by the system's search path"),
            Self::Python(path) => write!(f, "{} (a Python package)", path.display()),
            Self::NoPython => f.write_str("packages of the active Python environment"),
        }
    }
}

impl<V: fmt::Display> fmt::Display for Attempt<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.outcome)
    }
}

impl<V: fmt::Display> fmt::Display for Outcome<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened(version) => version.fmt(f),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_tried_in_order_until_one_has_the_library() {
        let locations = vec![
            Location::File("/nowhere/libone.so".into()),
            Location::Loaded("libnowhere.so.1"),
            Location::System("libtwo.so"),
            Location::System("libthree.so"),
        ];
        let open = |location: &Location| match location {
            Location::System(name) => Ok(*name),
            // SAFETY: there is no such library.
            _ => unsafe { SharedLibrary::open(location) }.map(|_| "nothing"),
        };
        let (attempts, found) = search(locations, open, |name| name.len());
        assert_eq!(found, Some("libtwo.so"));
        assert_eq!(attempts.len(), 3);
        assert_eq!(attempts[2].outcome, Outcome::Opened(9));
        let text = failures(&attempts);
        assert!(text.contains("/nowhere/libone.so"), "{text}");
        assert!(
            text.ends_with("already in the process: the process does not have it"),
            "{text}"
        );
    }
}
