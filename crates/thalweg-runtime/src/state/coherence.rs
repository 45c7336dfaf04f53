//! The coherence of persistent buffers between the host and devices.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_core::{Device, DeviceAddress, DeviceId, DeviceMemory, Result};

/// The coherence state of a persistent buffer: which sides, the host and devices, have its value.
///
/// Only whoever runs a call, or holds the lock of the state that it belongs to, changes it.
pub(crate) struct Coherence(Mutex<Sides>);

struct Sides {
    host: bool,
    devices: Vec<DeviceSide>,
}

struct DeviceSide {
    device: Arc<dyn Device>,
    memory: Arc<dyn DeviceMemory>,
    valid: bool,
}

impl Coherence {
    /// Valid on the host alone.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Sides {
            host: true,
            devices: Vec::new(),
        }))
    }

    /// The buffer's memory on a device, allocated if there is none yet.
    pub(crate) fn memory_on(
        &self,
        device: &Arc<dyn Device>,
        bytes: usize,
    ) -> Result<Arc<dyn DeviceMemory>> {
        let mut sides = self.sides();
        let known = sides
            .devices
            .iter()
            .find(|side| side.device.id() == device.id());
        if let Some(side) = known {
            return Ok(side.memory.clone());
        }
        let memory: Arc<dyn DeviceMemory> = device.allocate(bytes)?.into();
        sides.devices.push(DeviceSide {
            device: device.clone(),
            memory: memory.clone(),
            valid: false,
        });
        Ok(memory)
    }

    /// True if it is valid on the host.
    pub(crate) fn on_host(&self) -> bool {
        self.sides().host
    }

    /// True if it is valid on a device.
    pub(crate) fn on_device(&self, device: DeviceId) -> bool {
        let sides = self.sides();
        sides
            .devices
            .iter()
            .any(|side| side.valid && side.device.id() == device)
    }

    /// A device where it is valid, and the address there.
    pub(crate) fn any_device(&self) -> Option<(Arc<dyn Device>, DeviceAddress)> {
        let sides = self.sides();
        let side = sides.devices.iter().find(|side| side.valid)?;
        Some((side.device.clone(), side.memory.address()))
    }

    /// Makes it valid on the host, too.
    pub(crate) fn add_host(&self) {
        self.sides().host = true;
    }

    /// Makes it valid on a device, too.
    pub(crate) fn add_device(&self, device: DeviceId) {
        for side in &mut self.sides().devices {
            side.valid |= side.device.id() == device;
        }
    }

    /// Makes it valid on the host alone.
    pub(crate) fn host_only(&self) {
        let mut sides = self.sides();
        sides.host = true;
        sides.devices.iter_mut().for_each(|side| side.valid = false);
    }

    /// Makes it valid on a device alone.
    pub(crate) fn device_only(&self, device: DeviceId) {
        let mut sides = self.sides();
        sides.host = false;
        for side in &mut sides.devices {
            side.valid = side.device.id() == device;
        }
    }

    fn sides(&self) -> MutexGuard<'_, Sides> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
