//! The staging memory of an argument on the host: a pinned buffer and a device buffer.

use thalweg_core::Result;
use thalweg_cuda::{Device, DeviceBuffer, PinnedBuffer, Work};

use crate::mutation::{Rule, disabled};

/// The pinned buffer and the device buffer that one argument is copied through. They live from call to
/// call, and grow.
#[derive(Default)]
pub(crate) struct Staging {
    pinned: Option<PinnedBuffer>,
    device: Option<DeviceBuffer>,
}

impl Staging {
    /// Enqueues the copy of an input to the device. Returns the address there.
    pub(crate) fn upload(&mut self, work: &mut Work<'_>, bytes: &[u8]) -> Result<u64> {
        self.reserve(work, bytes.len())?;
        let (Some(pinned), Some(device)) = (&mut self.pinned, &self.device) else {
            return Ok(0);
        };
        // Waits until an earlier copy from the pinned buffer is complete.
        pinned.write()?[..bytes.len()].copy_from_slice(bytes);
        if !disabled(Rule::StageInputs) {
            let pinned = pinned.slice(..bytes.len())?;
            work.copy_to_device(device.slice(..bytes.len())?, pinned)?;
        }
        work.reads(device)?;
        Ok(device.address())
    }

    /// The address of device memory for an output.
    pub(crate) fn output(&mut self, work: &mut Work<'_>, len: usize) -> Result<u64> {
        self.reserve(work, len)?;
        let Some(device) = &self.device else {
            return Ok(0);
        };
        work.writes(device)?;
        Ok(device.address())
    }

    /// Enqueues the copy of an output to pinned memory.
    pub(crate) fn download(&mut self, work: &mut Work<'_>, len: usize) -> Result<()> {
        if let (Some(pinned), Some(device)) = (&self.pinned, &self.device)
            && !disabled(Rule::StageOutputs)
        {
            work.copy_to_host(pinned.slice(..len)?, device.slice(..len)?)?;
        }
        Ok(())
    }

    /// As [`Staging::download`], from another device buffer.
    pub(crate) fn download_from(
        &mut self,
        work: &mut Work<'_>,
        from: &DeviceBuffer,
        len: usize,
    ) -> Result<()> {
        if self.pinned.as_ref().is_none_or(|pinned| pinned.len() < len) {
            let device = work.stream().device();
            self.pinned = Some(PinnedBuffer::new(device, len.max(1))?);
        }
        if let Some(pinned) = &self.pinned {
            work.copy_to_host(pinned.slice(..len)?, from.slice(..len)?)?;
        }
        Ok(())
    }

    /// Reads an output from pinned memory, once its copy is complete: this waits for it.
    pub(crate) fn read(&self, to: &mut [u8]) -> Result<()> {
        if let Some(pinned) = &self.pinned {
            to.copy_from_slice(&pinned.read()?[..to.len()]);
        }
        Ok(())
    }

    /// Allocates both buffers, unless they have `len` bytes.
    fn reserve(&mut self, work: &mut Work<'_>, len: usize) -> Result<()> {
        if self
            .device
            .as_ref()
            .is_some_and(|device| device.len() >= len)
        {
            return Ok(());
        }
        // At least some bytes: TensorRT wants an address for empty tensors, too.
        let len = len.max(256);
        let device: &Device = work.stream().device();
        self.pinned = Some(PinnedBuffer::new(device, len)?);
        self.device = Some(DeviceBuffer::new(work.stream(), len)?);
        Ok(())
    }
}
