//! The locations of the CUDA driver, and its initialization.

use std::ffi::{c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use thalweg_core::{Error, ErrorKind, Result};

use super::library::{Location, SharedLibrary};
use super::status::Status;
use super::table::Table;

/// The environment variable that names the driver's file.
const VARIABLE: &str = "THALWEG_CUDA";

/// The name that the system knows the driver by.
const NAME: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

/// The locations of the driver, in order. A file that is named is the only one.
pub(crate) fn locations(path: Option<&Path>) -> Vec<Location> {
    if let Some(path) = path {
        return vec![Location::File(path.to_owned())];
    }
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return vec![Location::Variable {
            name: VARIABLE,
            path: path.into(),
        }];
    }
    vec![Location::Loaded(NAME), Location::System(NAME)]
}

/// Opens the library at a location, which is taken for a driver.
pub(crate) fn open(location: &Location) -> Result<SharedLibrary> {
    // SAFETY: the driver's initializers are fit to be run at any time, and whoever names another file
    // vouches for that one.
    unsafe { SharedLibrary::open(location) }
}

/// The tables of the drivers that are open: one for each library, however often it is opened.
static OPEN: Mutex<Vec<(usize, &'static Table)>> = Mutex::new(Vec::new());

/// The reason why a driver is not initialized.
pub(crate) enum NotInitialized {
    /// It is no driver, or one that is too old.
    Unusable(Error),
    /// It answered a call with a status.
    Failed {
        table: Box<Table>,
        call: &'static str,
        status: Status,
    },
}

/// Initializes the driver in a library, and looks its functions up.
pub(crate) fn initialize(library: SharedLibrary) -> Result<&'static Table, NotInitialized> {
    let early = |name| early(&library, name).map_err(NotInitialized::Unusable);
    let (init, get_version) = (early("cuInit")?, early("cuDriverGetVersion")?);
    let identity = init.as_ptr().addr();
    // SAFETY: the symbols are the driver's functions of those names, and have the signatures that its
    // documentation gives them.
    let (init, get_version) = unsafe {
        (
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_uint) -> Status>(
                init.as_ptr(),
            ),
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> Status>(
                get_version.as_ptr(),
            ),
        )
    };
    // Not under the lock: it takes long, the first time.
    // SAFETY: initializing has no conditions, and may happen more than once.
    let status = unsafe { init(0) };
    if status.is_success()
        && let Some(table) = known(identity, &open_tables())
    {
        return Ok(table);
    }
    let mut version = 0;
    // SAFETY: the driver writes the number.
    let version_status = unsafe { get_version(&raw mut version) };
    // A driver too old to be used cannot be initialized either, at times.
    let table = Table::of(library, version).map_err(NotInitialized::Unusable)?;
    for (call, status) in [("cuInit", status), ("cuDriverGetVersion", version_status)] {
        if !status.is_success() {
            return Err(NotInitialized::Failed {
                table: Box::new(table),
                call,
                status,
            });
        }
    }
    let mut open = open_tables();
    if let Some(table) = known(identity, &open) {
        return Ok(table);
    }
    let table: &'static Table = Box::leak(Box::new(table));
    open.push((identity, table));
    Ok(table)
}

fn open_tables() -> std::sync::MutexGuard<'static, Vec<(usize, &'static Table)>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known(identity: usize, open: &[(usize, &'static Table)]) -> Option<&'static Table> {
    let same = open.iter().find(|(other, _)| *other == identity);
    same.map(|(_, table)| *table)
}

/// The address of a function that is called before there is a table.
fn early(library: &SharedLibrary, name: &str) -> Result<NonNull<c_void>> {
    library.symbol(&format!("{name}\0")).ok_or_else(|| {
        Error::new(
            ErrorKind::MissingDevice,
            format!("{library} is no CUDA driver: it has no function `{name}`"),
        )
    })
}
