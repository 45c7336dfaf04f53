//! Scratch of one instance.

use thalweg_core::{Error, Result, StreamHandle};
use thalweg_cuda::{Device, DeviceBuffer};

use super::Room;
use crate::abi::borrow_stream;
use crate::mutation::{Rule, disabled};

/// The scratch of one instance: one buffer, as large as the call that needed most, for all contexts
/// of the instance.
///
/// They may share it, because all calls of an instance come one after the other on the device.
pub(super) struct Own {
    device: Device,
    buffer: Option<DeviceBuffer>,
}

impl Own {
    pub(super) fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            buffer: None,
        }
    }

    /// Room for a call on a stream. If there is not enough, `idle` is called, after which nothing
    /// uses what there was.
    ///
    /// # Errors
    /// If the device's memory is out.
    pub(super) fn room(
        &mut self,
        bytes: usize,
        handle: StreamHandle,
        idle: impl FnOnce() -> Result<()>,
    ) -> Result<Room> {
        if let Some(buffer) = self.buffer.as_ref().filter(|buffer| buffer.len() >= bytes) {
            return Ok(Room::at(buffer.address(), buffer.len()));
        }
        if self.buffer.is_some() && !disabled(Rule::GrowAfterUse) {
            idle()?;
        }
        // Both at once may be more than there is.
        self.buffer = None;
        let stream = borrow_stream(&self.device, handle);
        let buffer = DeviceBuffer::new(&stream, bytes).map_err(|error| {
            let message = format!("scratch for an engine: {}", error.message());
            Error::new(error.kind(), message).with_source(error)
        })?;
        let buffer = self.buffer.insert(buffer);
        Ok(Room::at(buffer.address(), buffer.len()))
    }

    /// Never frees what there is, since it may be in use forever.
    pub(super) fn abandon(&mut self) {
        std::mem::forget(self.buffer.take());
    }
}
