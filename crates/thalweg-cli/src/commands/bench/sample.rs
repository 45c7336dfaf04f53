//! The time of one call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg::extend::Device;
use thalweg::{Input, Method, RunOptions};

/// The times of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// The time until the call returned.
    pub(super) returned: Duration,
    /// The time until its work on devices was complete.
    pub(super) complete: Duration,
}

impl Sample {
    /// A call that returns when all its work is complete.
    pub(super) fn synchronous<T, E>(call: impl FnOnce() -> Result<T, E>) -> Result<(Self, T), E> {
        let start = Instant::now();
        let result = call()?;
        Ok((start.elapsed().into(), result))
    }

    /// A call that submits work, and a wait until that is complete.
    pub(super) fn submitted<E>(
        call: impl FnOnce() -> Result<(), E>,
        wait: impl FnOnce() -> Result<(), E>,
    ) -> Result<Self, E> {
        let start = Instant::now();
        call()?;
        let returned = start.elapsed();
        wait()?;
        Ok(Self {
            returned,
            complete: start.elapsed(),
        })
    }

    /// A call of a method, which leaves work on `devices`.
    pub(super) fn of_method<'m>(
        method: &'m mut Method,
        inputs: &[Input<'m>],
        options: &RunOptions<'_>,
        devices: &[Arc<dyn Device>],
    ) -> thalweg::Result<Self> {
        let call = || method.run_with(inputs, options).map(drop);
        if devices.is_empty() {
            return Self::synchronous(call).map(|(sample, ())| sample);
        }
        Self::submitted(call, || {
            let mut devices = devices.iter();
            devices.try_for_each(|device| device.synchronize(device.default_stream()))
        })
    }
}

impl From<Duration> for Sample {
    fn from(time: Duration) -> Self {
        Self {
            returned: time,
            complete: time,
        }
    }
}
