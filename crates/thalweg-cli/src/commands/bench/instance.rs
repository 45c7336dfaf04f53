//! An instance of a method that is measured.

use std::sync::Arc;
use std::time::Duration;

use thalweg::extend::Device;
use thalweg::info::Schedule;
use thalweg::{Method, Runtime};

use super::sample::Sample;
use crate::failure::Result;
use crate::program::Chosen;

/// An instance of a method, and the devices that it uses.
pub(super) struct Instance {
    pub(super) method: Method,
    /// The time that it took to make the instance.
    pub(super) load: Duration,
    pub(super) schedule: Schedule,
    pub(super) devices: Vec<Arc<dyn Device>>,
}

impl Instance {
    /// Makes an instance.
    pub(super) fn new(runtime: &Runtime, chosen: &Chosen) -> Result<Self> {
        // Before the schedule, which would load the delegates already.
        let (sample, method) = Sample::synchronous(|| chosen.instance())?;
        let schedule = chosen.program.schedule(&chosen.info.name)?;
        Ok(Self {
            method,
            load: sample.complete,
            devices: devices(runtime, &schedule)?,
            schedule,
        })
    }

    /// The names of the devices.
    pub(super) fn device_names(&self) -> Vec<String> {
        self.devices.iter().map(|device| device.name()).collect()
    }
}

/// The devices that a method uses.
pub(super) fn devices(runtime: &Runtime, schedule: &Schedule) -> Result<Vec<Arc<dyn Device>>> {
    let devices = schedule.device_bytes.iter();
    let devices = devices.map(|&(id, _)| runtime.device(id));
    Ok(devices.collect::<thalweg::Result<_>>()?)
}
