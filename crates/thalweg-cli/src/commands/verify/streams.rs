//! CUDA streams created for the calls of a case.

use thalweg::Program;
use thalweg::device::CallerStream;

use crate::failure::Result;
use crate::fixture::Case;

/// The streams for a case: one on each device that its methods use.
#[derive(Default)]
pub(super) struct Streams(Vec<made::Stream>);

impl Streams {
    pub(super) fn new(case: &Case, program: &Program) -> Result<Self> {
        let mut devices = Vec::new();
        for method in case.methods() {
            let schedule = program.schedule(method)?;
            devices.extend(schedule.device_bytes.iter().map(|&(device, _)| device));
        }
        devices.sort_by_key(|device| device.index);
        devices.dedup();
        let streams = devices.into_iter().map(made::stream);
        Ok(Self(streams.collect::<thalweg::Result<_>>()?))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &dyn CallerStream> {
        self.0.iter().map(|stream| stream as &dyn CallerStream)
    }
}

#[cfg(target_os = "linux")]
mod made {
    use thalweg::Result;
    pub(super) use thalweg::cuda::Stream;
    use thalweg::device::DeviceId;

    pub(super) fn stream(device: DeviceId) -> Result<Stream> {
        let driver = thalweg::cuda::Driver::open(None)?;
        Stream::new(&driver.device(usize::try_from(device.index).unwrap_or(0))?)
    }
}

/// Other systems have no devices, and so no streams.
#[cfg(not(target_os = "linux"))]
mod made {
    use thalweg::Result;
    use thalweg::device::{CallerStream, DeviceId, StreamHandle};
    use thalweg::extend::bail;

    pub(super) enum Stream {}

    impl CallerStream for Stream {
        fn device(&self) -> DeviceId {
            match *self {}
        }

        fn handle(&self) -> StreamHandle {
            match *self {}
        }
    }

    pub(super) fn stream(device: DeviceId) -> Result<Stream> {
        bail!(MissingDevice, "there are no streams on {device} here")
    }
}
