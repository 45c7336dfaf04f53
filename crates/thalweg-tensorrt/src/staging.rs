//! Arguments on the host: pinned memory and memory of the device that they pass through.

use thalweg_core::Result;
use thalweg_cuda::{Device, DeviceBuffer, PinnedBuffer, Work};

use crate::omit::{Rule, omitted};

/// What one argument passes through. It is kept from call to call, and grows.
#[derive(Default)]
pub(crate) struct Staging {
    pinned: Option<PinnedBuffer>,
    device: Option<DeviceBuffer>,
}

impl Staging {
    /// Brings an input to the device. Gives its address there.
    pub(crate) fn upload(&mut self, work: &mut Work<'_>, bytes: &[u8]) -> Result<u64> {
        self.reserve(work, bytes.len())?;
        let (Some(pinned), Some(device)) = (&mut self.pinned, &self.device) else {
            return Ok(0);
        };
        // Waits until an earlier copy out of it is over.
        pinned.write()?[..bytes.len()].copy_from_slice(bytes);
        if !omitted(Rule::StageInputs) {
            let pinned = pinned.slice(..bytes.len())?;
            work.copy_to_device(device.slice(..bytes.len())?, pinned)?;
        }
        work.reads(device)?;
        Ok(device.address())
    }

    /// Room for an output on the device. Gives its address there.
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
            && !omitted(Rule::StageOutputs)
        {
            work.copy_to_host(pinned.slice(..len)?, device.slice(..len)?)?;
        }
        Ok(())
    }

    /// As [`Staging::download`], from memory that is not this one's.
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

    /// Takes an output, after the work that brings it: this waits for it.
    pub(crate) fn read(&self, to: &mut [u8]) -> Result<()> {
        if let Some(pinned) = &self.pinned {
            to.copy_from_slice(&pinned.read()?[..to.len()]);
        }
        Ok(())
    }

    fn reserve(&mut self, work: &mut Work<'_>, len: usize) -> Result<()> {
        if self
            .device
            .as_ref()
            .is_some_and(|device| device.len() >= len)
        {
            return Ok(());
        }
        // Never nothing: TensorRT wants an address for tensors without elements, too.
        let len = len.max(256);
        let device: &Device = work.stream().device();
        self.pinned = Some(PinnedBuffer::new(device, len)?);
        self.device = Some(DeviceBuffer::new(work.stream(), len)?);
        Ok(())
    }
}
