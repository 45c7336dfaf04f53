//! Finding and opening the driver.

use std::ffi::{c_int, c_uint, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use thalweg_core::{Error, ErrorKind, Result};

use super::{Status, Table};
use crate::result;

/// The environment variable that names the driver's file.
const VARIABLE: &str = "THALWEG_CUDA";

/// The name that the system knows the driver by.
const NAME: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

/// A place where the driver is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file that the program asked for.
    Path(PathBuf),
    /// The file that the environment variable `THALWEG_CUDA` names.
    Variable(PathBuf),
    /// A library of this name that the process already has.
    Loaded(&'static str),
    /// A library of this name, wherever the system finds it.
    System(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Variable(path) => write!(f, "{} (from {VARIABLE})", path.display()),
            Self::Loaded(name) => write!(f, "{name}, already in the process"),
            Self::System(name) => write!(f, "{name}, by the system's search path"),
        }
    }
}

/// What became of looking in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The driver was opened, and this is its version: 1000 times the major and 10 times the minor
    /// version of CUDA.
    Opened(i32),
    /// It was not there, or not fit.
    Failed(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened(version) => {
                write!(
                    f,
                    "a driver of CUDA {}.{}",
                    version / 1000,
                    version % 1000 / 10
                )
            }
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

/// An open library. It is never closed: the driver has threads of its own, and other libraries
/// that were loaded later use it, too.
pub(crate) struct Library {
    library: std::mem::ManuallyDrop<libloading::Library>,
    place: Place,
}

impl Library {
    fn open(place: &Place) -> Result<Self, libloading::Error> {
        let name = match place {
            Place::Path(path) | Place::Variable(path) => path.as_os_str(),
            Place::Loaded(name) | Place::System(name) => name.as_ref(),
        };
        // SAFETY: opening a library runs its initializers. The driver's are fit to be run at any
        // time, and whoever names another file vouches for that one.
        let library = unsafe {
            if matches!(place, Place::Loaded(_)) {
                loaded(name)
            } else {
                local(name)
            }
        }?;
        Ok(Self {
            library: std::mem::ManuallyDrop::new(library),
            place: place.clone(),
        })
    }

    /// The address of a symbol; the name ends with a zero byte.
    pub(super) fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        // SAFETY: nothing is assumed of the symbol here but that it is an address.
        let symbol = unsafe { self.library.get::<*mut c_void>(name) }.ok()?;
        NonNull::new(*symbol)
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// A function of the library that is called before there is a table.
    fn early<F: Copy>(&self, name: &str) -> Result<F> {
        let address = self.symbol(&format!("{name}\0")).ok_or_else(|| {
            Error::new(
                ErrorKind::MissingDevice,
                format!("{self} is no CUDA driver: it has no function `{name}`"),
            )
        })?;
        assert_eq!(size_of::<F>(), size_of::<NonNull<c_void>>());
        // SAFETY: the callers below ask for the signatures that the driver documents, and the
        // sizes agree.
        Ok(unsafe { std::mem::transmute_copy::<NonNull<c_void>, F>(&address) })
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)
    }
}

/// Opens a library such that its symbols stay its own.
///
/// # Safety
/// As said in [`Library::open`].
unsafe fn local(name: &std::ffi::OsStr) -> Result<libloading::Library, libloading::Error> {
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
unsafe fn loaded(name: &std::ffi::OsStr) -> Result<libloading::Library, libloading::Error> {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_NOW};
        /// Its value where there are CUDA drivers, which `libloading` does not name.
        const RTLD_NOLOAD: c_int = if cfg!(target_vendor = "apple") { 16 } else { 4 };
        // SAFETY: the caller's.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_NOLOAD) }.map(Into::into)
    }
    #[cfg(not(unix))]
    libloading::os::windows::Library::open_already_loaded(name).map(Into::into)
}

/// Where the driver is looked for, in order. A file that is named is the only place.
fn places(path: Option<&Path>) -> Vec<Place> {
    if let Some(path) = path {
        return vec![Place::Path(path.to_owned())];
    }
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return vec![Place::Variable(path.into())];
    }
    vec![Place::Loaded(NAME), Place::System(NAME)]
}

/// The tables of the drivers that are open: one for each library, however often it is opened.
static OPEN: Mutex<Vec<(usize, &'static Table)>> = Mutex::new(Vec::new());

/// Opens the driver and initializes it.
pub(crate) fn open(path: Option<&Path>) -> Result<&'static Table> {
    let mut failures = Vec::new();
    for place in places(path) {
        match Library::open(&place) {
            Ok(library) => return initialized(library),
            Err(error) => failures.push(format!("{place}: {}", reason(&error))),
        }
    }
    Err(Error::new(
        ErrorKind::MissingDevice,
        format!(
            "no CUDA driver was found; looked at {}",
            failures.join("; ")
        ),
    ))
}

/// Looks at every place until a driver is found, and says what was found there.
pub(crate) fn search(path: Option<&Path>) -> Vec<(Place, Outcome)> {
    let mut found = Vec::new();
    for place in places(path) {
        let outcome = match Library::open(&place) {
            Ok(library) => match initialized(library) {
                Ok(table) => Outcome::Opened(table.version),
                Err(error) => Outcome::Failed(error.to_string()),
            },
            Err(error) => Outcome::Failed(reason(&error)),
        };
        let opened = matches!(outcome, Outcome::Opened(_));
        found.push((place, outcome));
        if opened {
            break;
        }
    }
    found
}

/// The text of the system's error, which the error of `libloading` only leads to.
fn reason(error: &libloading::Error) -> String {
    if matches!(error, libloading::Error::DlOpenUnknown) {
        // The system has nothing to say of a library that was only looked for in the process.
        return "it is not there".into();
    }
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn initialized(library: Library) -> Result<&'static Table> {
    let init: unsafe extern "C" fn(c_uint) -> Status = library.early("cuInit")?;
    let get_version: unsafe extern "C" fn(*mut c_int) -> Status =
        library.early("cuDriverGetVersion")?;
    let identity = init as usize;
    // Not under the lock: it takes long, the first time.
    // SAFETY: initializing has no conditions, and may happen more than once.
    let status = unsafe { init(0) };
    if status.is_success() {
        let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, table)) = open.iter().find(|(other, _)| *other == identity) {
            return Ok(table);
        }
    }
    let mut version = 0;
    // SAFETY: the driver writes the number.
    let version_status = unsafe { get_version(&raw mut version) };
    let table = match (status.is_success(), version_status.is_success()) {
        (true, true) => Table::of(library, version)?,
        (initialized, _) => {
            let (call, status) = if initialized {
                ("cuDriverGetVersion", version_status)
            } else {
                ("cuInit", status)
            };
            let explained = match Table::of(library, version) {
                Ok(table) => result::failed(&table, call, status),
                // A driver too old to be used cannot be initialized either, at times.
                Err(error) => error,
            };
            return Err(explained);
        }
    };
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, table)) = open.iter().find(|(other, _)| *other == identity) {
        return Ok(table);
    }
    let table: &'static Table = Box::leak(Box::new(table));
    open.push((identity, table));
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_named_is_the_only_place() {
        let missing = Path::new("/nowhere/libcuda.so.1");
        let error = open(Some(missing)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::MissingDevice);
        assert!(
            error.to_string().contains("/nowhere/libcuda.so.1"),
            "{error}"
        );
        let found = search(Some(missing));
        assert_eq!(found.len(), 1);
        assert!(matches!(&found[0].1, Outcome::Failed(reason) if reason.contains("nowhere")));
    }

    #[test]
    fn a_library_that_is_no_driver_is_refused_with_the_missing_name() {
        // Any library that is there on every Linux.
        if let Err(error) = open(Some(Path::new("libc.so.6"))) {
            assert!(
                !cfg!(target_os = "linux") || error.to_string().contains("`cuInit`"),
                "{error}"
            );
        }
    }
}
