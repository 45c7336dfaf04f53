//! Memory that lasts from call to call, and that devices have beside the host.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Result;
use crate::device::{Device, DeviceAddress, DeviceId, DeviceMemory};

/// Who has the value of something that lasts: the host, devices, or both.
///
/// Only whoever runs a call, or holds the lock of the state that it belongs to, changes it.
pub(crate) struct Sides(Mutex<Inner>);

struct Inner {
    host: bool,
    devices: Vec<DeviceSide>,
}

struct DeviceSide {
    device: Arc<dyn Device>,
    memory: Arc<dyn DeviceMemory>,
    valid: bool,
}

impl Sides {
    /// The host has it, and no device.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Inner {
            host: true,
            devices: Vec::new(),
        }))
    }

    /// The memory for it on a device, made if there is none yet.
    pub(crate) fn memory_on(
        &self,
        device: &Arc<dyn Device>,
        bytes: usize,
    ) -> Result<Arc<dyn DeviceMemory>> {
        let mut inner = self.inner();
        let known = inner
            .devices
            .iter()
            .find(|side| side.device.id() == device.id());
        if let Some(side) = known {
            return Ok(side.memory.clone());
        }
        let memory: Arc<dyn DeviceMemory> = device.allocate(bytes)?.into();
        inner.devices.push(DeviceSide {
            device: device.clone(),
            memory: memory.clone(),
            valid: false,
        });
        Ok(memory)
    }

    pub(crate) fn on_host(&self) -> bool {
        self.inner().host
    }

    pub(crate) fn on_device(&self, device: DeviceId) -> bool {
        let inner = self.inner();
        inner
            .devices
            .iter()
            .any(|side| side.valid && side.device.id() == device)
    }

    /// A device that has it, and where.
    pub(crate) fn any_device(&self) -> Option<(Arc<dyn Device>, DeviceAddress)> {
        let inner = self.inner();
        let side = inner.devices.iter().find(|side| side.valid)?;
        Some((side.device.clone(), side.memory.address()))
    }

    /// The host has it now, too.
    pub(crate) fn add_host(&self) {
        self.inner().host = true;
    }

    /// A device has it now, too.
    pub(crate) fn add_device(&self, device: DeviceId) {
        for side in &mut self.inner().devices {
            side.valid |= side.device.id() == device;
        }
    }

    /// Only the host has it from now on.
    pub(crate) fn host_only(&self) {
        let mut inner = self.inner();
        inner.host = true;
        inner.devices.iter_mut().for_each(|side| side.valid = false);
    }

    /// Only this device has it from now on.
    pub(crate) fn device_only(&self, device: DeviceId) {
        let mut inner = self.inner();
        inner.host = false;
        for side in &mut inner.devices {
            side.valid = side.device.id() == device;
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
