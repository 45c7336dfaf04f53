//! Devices, before they have a context.

use std::ffi::{CStr, c_int};

use cudarc::driver::sys::{CUdevice, CUuuid};
use thalweg_core::{Result, ensure};

use crate::result;
use crate::sys::Table;

/// An attribute of a device, by the driver's number.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(crate) enum Attribute {
    Multiprocessors = 16,
    Integrated = 18,
    ComputeMajor = 75,
    ComputeMinor = 76,
    MemoryPools = 115,
}

/// The driver's handle of a device.
#[derive(Clone, Copy)]
pub(crate) struct DeviceHandle {
    pub(super) raw: CUdevice,
    pub(super) ordinal: i32,
}

impl DeviceHandle {
    /// The number of devices that the driver sees.
    pub(crate) fn count(table: &Table) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the driver writes the number.
        let status = unsafe { (table.cuDeviceGetCount)(&raw mut count) };
        result::check(table, "cuDeviceGetCount", status)?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The device with a number.
    pub(crate) fn get(table: &Table, ordinal: usize) -> Result<Self> {
        let count = Self::count(table)?;
        ensure!(
            ordinal < count,
            MissingDevice,
            "there is no device {ordinal}; the driver sees {count}"
        );
        let mut raw = 0;
        let ordinal = ordinal as c_int;
        // SAFETY: the driver writes the device.
        let status = unsafe { (table.cuDeviceGet)(&raw mut raw, ordinal) };
        result::check(table, "cuDeviceGet", status)?;
        Ok(Self { raw, ordinal })
    }

    pub(crate) fn attribute(self, table: &Table, attribute: Attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: the device comes from the driver, which writes the value.
        let status =
            unsafe { (table.cuDeviceGetAttribute)(&raw mut value, attribute as c_int, self.raw) };
        result::check(table, "cuDeviceGetAttribute", status)?;
        Ok(value)
    }

    pub(crate) fn name(self, table: &Table) -> Result<String> {
        let mut name = [0u8; 256];
        // SAFETY: the driver writes at most so many bytes, the last of them zero.
        let status = unsafe {
            (table.cuDeviceGetName)(name.as_mut_ptr().cast(), name.len() as c_int - 1, self.raw)
        };
        result::check(table, "cuDeviceGetName", status)?;
        Ok(CStr::from_bytes_until_nul(&name)
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default())
    }

    pub(crate) fn uuid(self, table: &Table) -> Result<[u8; 16]> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: the driver writes the identifier.
        let status = unsafe { (table.cuDeviceGetUuid_v2)(&raw mut uuid, self.raw) };
        result::check(table, "cuDeviceGetUuid", status)?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    pub(crate) fn total_memory(self, table: &Table) -> Result<usize> {
        let mut bytes = 0;
        // SAFETY: the driver writes the number.
        let status = unsafe { (table.cuDeviceTotalMem_v2)(&raw mut bytes, self.raw) };
        result::check(table, "cuDeviceTotalMem", status)?;
        Ok(bytes)
    }
}
