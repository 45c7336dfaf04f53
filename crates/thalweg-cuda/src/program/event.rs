//! Events of programs, and times on a device.
#![allow(unsafe_code, reason = "the core vouches for handles and addresses")]

use std::sync::Arc;
use std::time::Instant;

use thalweg_core::{ClockReference, DeviceEvent, DeviceTimer, DeviceTimes, Result};

use super::stream::stream;
use crate::device::Device;
use crate::handle::{Context, EventHandle};
use crate::stream::Stream;

/// An event of a program.
pub(super) struct ProgramEvent {
    pub(super) context: Arc<Context>,
    pub(super) event: EventHandle,
}

impl DeviceEvent for ProgramEvent {
    fn record(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        // SAFETY: the core passes on the handle of a stream that its caller has borrowed for the
        // call, or that of a default stream.
        self.event.record(&unsafe { stream(&self.context, handle) })
    }

    fn wait_in(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        // SAFETY: as above.
        self.event
            .wait_on(&unsafe { stream(&self.context, handle) })
    }

    fn synchronize(&self) -> Result<()> {
        self.event.synchronize()
    }
}

/// Timed events of a stream.
pub(super) struct EventTimer {
    pub(super) device: Device,
    pub(super) events: Vec<EventHandle>,
}

impl DeviceTimer for EventTimer {
    fn record(&mut self, handle: thalweg_core::StreamHandle) -> Result<()> {
        let context = self.device.context();
        let event = EventHandle::to_be_recorded(context)?;
        // SAFETY: as for the device's `synchronize`.
        event.record(&unsafe { stream(context, handle) })?;
        self.events.push(event);
        Ok(())
    }

    fn times(&mut self) -> Result<DeviceTimes> {
        let Some(first) = self.events.first() else {
            return Ok(DeviceTimes::default());
        };
        // The driver counts from one event to another, in milliseconds.
        let time = |event: &EventHandle| {
            event.synchronize()?;
            Ok(f64::from(event.milliseconds_since(first)?) * 1e6)
        };
        let reference = || -> Result<ClockReference> {
            let stream = Stream::new(&self.device)?;
            let event = EventHandle::to_be_recorded(self.device.context())?;
            let submitted = Instant::now();
            event.record(stream.handle())?;
            event.synchronize()?;
            let completed = Instant::now();
            Ok(ClockReference {
                time: time(&event)?,
                submitted,
                completed,
            })
        };
        Ok(DeviceTimes {
            events: self.events.iter().map(time).collect(),
            // Without it, the times are still what they are.
            reference: reference().ok(),
        })
    }
}
