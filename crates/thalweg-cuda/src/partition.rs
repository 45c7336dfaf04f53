//! Parts of a device.

use std::sync::Arc;

use thalweg_core::Result;

use crate::device::Device;
use crate::handle::{GreenContext, StreamHandle, StreamId};
use crate::stream::Stream;

/// Some multiprocessors of a device. Work on its [streams](Partition::stream) runs on these alone;
/// memory and code are those of the whole device.
#[derive(Clone)]
pub struct Partition {
    device: Device,
    green: Arc<GreenContext>,
}

impl Partition {
    /// Takes at least so many multiprocessors, rounded up to what the device can divide.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](thalweg_core::ErrorKind::Unsupported) if the driver is older
    /// than CUDA 12.5; others if the device has not as many.
    pub fn new(device: &Device, multiprocessors: u32) -> Result<Self> {
        Ok(Self {
            green: Arc::new(GreenContext::new(device.context(), multiprocessors)?),
            device: device.clone(),
        })
    }

    /// The number of its multiprocessors.
    pub fn multiprocessors(&self) -> u32 {
        self.green.multiprocessors()
    }

    /// A new stream that only uses this part. It keeps the part.
    ///
    /// # Errors
    /// If the driver cannot make one.
    pub fn stream(&self) -> Result<Stream> {
        let handle = StreamHandle::of_green(&self.green)?;
        let id = StreamId::new(self.device.ordinal(), false);
        Ok(Stream::of(handle, id, &self.device))
    }
}
