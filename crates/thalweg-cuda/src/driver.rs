//! The driver of a process.

use std::ffi::c_void;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use thalweg_core::Result;

use crate::device::{Device, DeviceInner};
use crate::sys::{self, DeviceHandle, Outcome, Place, Table};

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
        Ok(Self {
            table: sys::open(path)?,
            devices: Arc::default(),
        })
    }

    /// Looks for a driver as [`Driver::open`] does, and says what was found in each place, in the
    /// order in which they were looked at.
    pub fn search(path: Option<&Path>) -> Vec<(Place, Outcome)> {
        sys::search(path)
    }

    /// The version of CUDA that the driver supports: major and minor.
    pub fn version(&self) -> (i32, i32) {
        (self.table.version / 1000, self.table.version % 1000 / 10)
    }

    /// Where the driver was found.
    pub fn place(&self) -> &Place {
        self.table.place()
    }

    /// How many devices the driver sees.
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
