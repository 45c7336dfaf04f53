//! The driver of a process.

use std::ffi::c_void;
use std::fmt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use thalweg_core::{Error, ErrorKind, Result};

use crate::device::{Device, DeviceInner};
use crate::handle::DeviceHandle;
use crate::result;
use crate::sys::library::{Attempt, Location, failures, search};
use crate::sys::{self, Table};

/// An open CUDA driver.
///
/// It is found when the program runs: a machine without a driver gets an error from
/// [`Driver::open`], and nothing else. Several drivers may be open at once, each with devices of
/// its own. A driver is never closed, since others in the process may use it.
#[derive(Clone)]
pub struct Driver {
    table: &'static Table,
    devices: Arc<Mutex<Vec<(usize, Weak<DeviceInner>)>>>,
}

impl Driver {
    /// Opens the driver: the file at `path`; else the file that the environment variable
    /// `THALWEG_CUDA` names; else a `libcuda.so.1` that the process already has; else the one that
    /// the system finds.
    ///
    /// # Errors
    /// [`ErrorKind::MissingDevice`](thalweg_core::ErrorKind::MissingDevice) if there is none, if
    /// it is older than CUDA 12.0, or if it finds no device. The message says where it was looked
    /// for, and which function was missing.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let (attempts, library) = search(sys::locations(path), sys::open, |_| ());
        let library = library.ok_or_else(|| {
            Error::new(
                ErrorKind::MissingDevice,
                format!(
                    "no CUDA driver was found; looked at {}",
                    failures(&attempts)
                ),
            )
        })?;
        Ok(Self {
            table: result::initialize(library)?,
            devices: Arc::default(),
        })
    }

    /// The attempts of a search for a driver, in order, at the locations where [`Driver::open`] looks.
    /// It ends with the first driver that can be used.
    pub fn search(path: Option<&Path>) -> Vec<Attempt<DriverVersion>> {
        let open = |location: &_| sys::open(location).and_then(result::initialize);
        search(sys::locations(path), open, |table| DriverVersion::of(table)).0
    }

    /// The version of CUDA that the driver supports: major and minor.
    pub fn version(&self) -> (i32, i32) {
        DriverVersion::of(self.table).cuda()
    }

    /// The location at which the driver was found.
    pub fn location(&self) -> &Location {
        self.table.location()
    }

    /// The number of devices that the driver sees.
    ///
    /// # Errors
    /// If the driver does not say.
    pub fn device_count(&self) -> Result<usize> {
        DeviceHandle::count(self.table)
    }

    /// A device. While one of its values lives, the same device is given again.
    ///
    /// # Errors
    /// If there is no such device, or the driver cannot give its context.
    pub fn device(&self, ordinal: usize) -> Result<Device> {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        devices.retain(|(_, device)| device.strong_count() > 0);
        let known = devices.iter().find(|(known, _)| *known == ordinal);
        if let Some(device) = known.and_then(|(_, device)| device.upgrade()) {
            return Ok(Device::of(device));
        }
        drop(devices);
        // Not under the lock: making a context takes long. Two threads may both make one; the
        // driver has one context for both, and the second finds the first's here.
        let made = Arc::new(DeviceInner::new(self.table, ordinal)?);
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let known = devices.iter().find(|(known, _)| *known == ordinal);
        if let Some(device) = known.and_then(|(_, device)| device.upgrade()) {
            drop(devices);
            return Ok(Device::of(device));
        }
        devices.push((ordinal, Arc::downgrade(&made)));
        Ok(Device::of(made))
    }

    /// The address of a function that the driver exports, by the name that its library gives it
    /// (`cuMemAlloc_v2`). For those who provide the driver to code that they load.
    pub fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        if name.contains('\0') {
            return None;
        }
        self.table.symbol(name)
    }
}

/// The version of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverVersion {
    /// 1000 times the major version and 10 times the minor.
    number: i32,
}

impl DriverVersion {
    fn of(table: &Table) -> Self {
        Self {
            number: table.version,
        }
    }

    /// The version of CUDA that the driver supports: major and minor.
    pub fn cuda(self) -> (i32, i32) {
        (self.number / 1000, self.number % 1000 / 10)
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.cuda();
        write!(f, "a driver of CUDA {major}.{minor}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::library::Outcome;

    #[test]
    fn a_file_that_is_named_is_the_only_location() {
        let missing = Path::new("/nowhere/libcuda.so.1");
        let error = Driver::open(Some(missing)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::MissingDevice);
        assert!(
            error.to_string().contains("/nowhere/libcuda.so.1"),
            "{error}"
        );
        let found = Driver::search(Some(missing));
        assert_eq!(found.len(), 1);
        assert!(matches!(&found[0].outcome, Outcome::Failed(reason) if reason.contains("nowhere")));
    }

    #[test]
    fn a_library_that_is_no_driver_is_refused_with_the_missing_name() {
        // Any library that is there on every Linux.
        if let Err(error) = Driver::open(Some(Path::new("libc.so.6"))) {
            assert!(
                !cfg!(target_os = "linux") || error.to_string().contains("`cuInit`"),
                "{error}"
            );
        }
    }
}
