//! Events of programs, and times on a device.
#![allow(unsafe_code, reason = "the core vouches for handles and addresses")]

use std::sync::Arc;
use std::time::Instant;

use thalweg_core::{DeviceTimer, DeviceTimes, Mark, Reference, Result};

use super::stream::stream;
use crate::device::Device;
use crate::handle::{Context, EventHandle};
use crate::stream::Stream;

/// An event of a program.
pub(super) struct EventMark {
    pub(super) context: Arc<Context>,
    pub(super) event: EventHandle,
}

impl Mark for EventMark {
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

    fn wait(&self) -> Result<()> {
        self.event.synchronize()
    }
}

/// Points of streams as events that tell the time.
pub(super) struct EventTimer {
    pub(super) device: Device,
    pub(super) points: Vec<EventHandle>,
}

impl DeviceTimer for EventTimer {
    fn point(&mut self, handle: thalweg_core::StreamHandle) -> Result<()> {
        let context = self.device.context();
        let event = EventHandle::to_be_recorded(context)?;
        // SAFETY: as for the device's `synchronize`.
        event.record(&unsafe { stream(context, handle) })?;
        self.points.push(event);
        Ok(())
    }

    fn times(&mut self) -> Result<DeviceTimes> {
        let Some(first) = self.points.first() else {
            return Ok(DeviceTimes::default());
        };
        // The driver counts from one event to another, in milliseconds.
        let time = |event: &EventHandle| {
            event.synchronize()?;
            Ok(f64::from(event.milliseconds_since(first)?) * 1e6)
        };
        let reference = || -> Result<Reference> {
            let stream = Stream::new(&self.device)?;
            let event = EventHandle::to_be_recorded(self.device.context())?;
            let asked = Instant::now();
            event.record(stream.handle())?;
            event.synchronize()?;
            let passed = Instant::now();
            Ok(Reference {
                time: time(&event)?,
                asked,
                passed,
            })
        };
        Ok(DeviceTimes {
            points: self.points.iter().map(time).collect(),
            // Without it, the times are still what they are.
            reference: reference().ok(),
        })
    }
}
