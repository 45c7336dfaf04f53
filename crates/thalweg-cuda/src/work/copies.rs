//! Copies, on the stream of the work that they belong to.
#![allow(unsafe_code, reason = "the driver's functions are called")]

use std::sync::Arc;

use thalweg_core::{Error, Result, bail, ensure};

use super::Work;
use crate::buffer::{DeviceSlice, PinnedBuffer, PinnedSlice};
use crate::device::Device;
use crate::handle::Context;
use crate::memory::{DeviceBlock, DeviceMemory, LARGE};
use crate::order::Access;
use crate::pointer::MemoryKind;

impl Work<'_> {
    /// Copies pinned host memory to the device.
    ///
    /// # Errors
    /// If the lengths differ, or as [`Work::writes`].
    pub fn copy_to_device<'a, 'b>(
        &mut self,
        to: impl Into<DeviceSlice<'a>>,
        from: impl Into<PinnedSlice<'b>>,
    ) -> Result<()> {
        let (to, from) = (to.into(), from.into());
        same_length(to.len(), from.len())?;
        if to.is_empty() {
            return Ok(());
        }
        self.same_driver(context_of(to.buffer().block()))?;
        self.same_driver(Some(from.buffer().block().memory().context()))?;
        self.touch(to.buffer().block(), Access::Write)?;
        self.touch(from.buffer().block(), Access::Read)?;
        let source = from.buffer().data().as_ptr().wrapping_add(from.start());
        let stream = self.stream().handle().raw()?;
        let context = self.context();
        // SAFETY: both ranges lie within their buffers, which this work keeps alive, and the
        // source from being written, until the device has finished.
        let status = unsafe {
            (context.table().cuMemcpyHtoDAsync_v2)(
                to.address(),
                source.cast_const().cast(),
                to.len(),
                stream,
            )
        };
        context.check("cuMemcpyHtoDAsync", status)
    }

    /// Copies device memory to pinned host memory.
    ///
    /// # Errors
    /// If the lengths differ, or as [`Work::writes_pinned`].
    pub fn copy_to_host<'a, 'b>(
        &mut self,
        to: impl Into<PinnedSlice<'a>>,
        from: impl Into<DeviceSlice<'b>>,
    ) -> Result<()> {
        let (to, from) = (to.into(), from.into());
        same_length(to.len(), from.len())?;
        if to.is_empty() {
            return Ok(());
        }
        self.same_driver(Some(to.buffer().block().memory().context()))?;
        self.same_driver(context_of(from.buffer().block()))?;
        self.touch(to.buffer().block(), Access::Write)?;
        self.touch(from.buffer().block(), Access::Read)?;
        let target = to.buffer().data().as_ptr().wrapping_add(to.start());
        let stream = self.stream().handle().raw()?;
        let context = self.context();
        // SAFETY: both ranges lie within their buffers, which this work keeps alive, and the host
        // away from the target, until the device has finished.
        let status = unsafe {
            (context.table().cuMemcpyDtoHAsync_v2)(target.cast(), from.address(), to.len(), stream)
        };
        context.check("cuMemcpyDtoHAsync", status)
    }

    /// Copies device memory to device memory, of the same device or another.
    ///
    /// # Errors
    /// If the lengths differ, if the two are parts of one buffer and overlap, or as
    /// [`Work::writes`].
    pub fn copy<'a, 'b>(
        &mut self,
        to: impl Into<DeviceSlice<'a>>,
        from: impl Into<DeviceSlice<'b>>,
    ) -> Result<()> {
        let (to, from) = (to.into(), from.into());
        same_length(to.len(), from.len())?;
        if to.is_empty() {
            return Ok(());
        }
        let (target, source) = (to.buffer().block(), from.buffer().block());
        let (Some(target_memory), Some(source_memory)) = (target.memory(), source.memory()) else {
            bail!(Internal, "a buffer without memory");
        };
        if Arc::ptr_eq(target, source) {
            let apart =
                to.start() + to.len() <= from.start() || from.start() + from.len() <= to.start();
            ensure!(apart, InvalidInput, "a copy within a buffer onto itself");
        }
        self.same_driver(Some(target_memory.context()))?;
        self.same_driver(Some(source_memory.context()))?;
        self.touch(source, Access::Read)?;
        self.touch(target, Access::Write)?;
        let stream = self.stream().handle().raw()?;
        let context = self.context();
        let (target, source) = (target_memory.context(), source_memory.context());
        if Arc::ptr_eq(target, source) {
            // SAFETY: both ranges lie within their buffers, which this work keeps alive.
            let status = unsafe {
                (context.table().cuMemcpyDtoDAsync_v2)(
                    to.address(),
                    from.address(),
                    to.len(),
                    stream,
                )
            };
            return context.check("cuMemcpyDtoDAsync", status);
        }
        // SAFETY: as above, and both contexts are retained.
        let status = unsafe {
            (context.table().cuMemcpyPeerAsync)(
                to.address(),
                target.raw(),
                from.address(),
                source.raw(),
                to.len(),
                stream,
            )
        };
        context.check("cuMemcpyPeerAsync", status)
    }

    /// Sets every byte.
    ///
    /// # Errors
    /// As [`Work::writes`].
    pub fn fill<'a>(&mut self, to: impl Into<DeviceSlice<'a>>, byte: u8) -> Result<()> {
        let to = to.into();
        if to.is_empty() {
            return Ok(());
        }
        self.same_driver(context_of(to.buffer().block()))?;
        self.touch(to.buffer().block(), Access::Write)?;
        let stream = self.stream().handle().raw()?;
        let context = self.context();
        // SAFETY: the range lies within the buffer, which this work keeps alive.
        let status =
            unsafe { (context.table().cuMemsetD8Async)(to.address(), byte, to.len(), stream) };
        context.check("cuMemsetD8Async", status)
    }

    /// Copies any host memory to the device, through pinned memory that is kept. The bytes may be
    /// changed as soon as this returns. It goes piece by piece: while the device copies one, the
    /// host fills the next.
    ///
    /// # Errors
    /// If the lengths differ, if the work is captured (a graph has no use for bytes of the
    /// moment), or as [`Work::writes`]. Some of the bytes may have been copied then.
    pub fn upload<'a>(&mut self, to: impl Into<DeviceSlice<'a>>, from: &[u8]) -> Result<()> {
        let to = to.into();
        same_length(to.len(), from.len())?;
        self.not_captured("uploaded from")?;
        let device = self.stream().device().clone();
        for (index, bytes) in from.chunks(LARGE).enumerate() {
            let mut piece =
                PinnedBuffer::of_block(device.staging().take(device.context(), bytes.len())?);
            let copied = (|| {
                piece.write()?[..bytes.len()].copy_from_slice(bytes);
                let start = index * LARGE;
                self.copy_to_device(
                    to.slice(start..start + bytes.len())?,
                    piece.slice(..bytes.len())?,
                )?;
                self.settle_one(piece.block())
            })();
            match copied {
                Ok(()) => device.staging().put(piece.into_block()),
                // It goes with the work.
                Err(error) => {
                    device.staging().lose(piece.len());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// As [`upload`](Self::upload), for bytes that are copied once, as weights are: the driver itself copies
    /// them through memory that it has for that, so that none has to be pinned first, which takes longer than
    /// to copy a few megabytes. More than that goes the other way, where host and device overlap.
    ///
    /// # Errors
    /// As for [`upload`](Self::upload).
    pub fn upload_once<'a>(&mut self, to: impl Into<DeviceSlice<'a>>, from: &[u8]) -> Result<()> {
        let to = to.into();
        same_length(to.len(), from.len())?;
        self.not_captured("uploaded from")?;
        let address = from.as_ptr().expose_provenance() as u64;
        // Of memory that the device reaches, the driver would read when the copy runs.
        let pageable = || {
            let device = self.stream().device();
            Ok::<_, Error>(device.memory_kind(address)? == MemoryKind::Pageable)
        };
        if from.is_empty() || from.len() > LARGE || !pageable()? {
            return self.upload(to, from);
        }
        self.same_driver(context_of(to.buffer().block()))?;
        self.touch(to.buffer().block(), Access::Write)?;
        let stream = self.stream().handle().raw()?;
        let context = self.context();
        // SAFETY: the target lies within its buffer, which this work keeps alive; and the driver has read
        // pageable memory when this returns.
        let status = unsafe {
            (context.table().cuMemcpyHtoDAsync_v2)(
                to.address(),
                from.as_ptr().cast(),
                from.len(),
                stream,
            )
        };
        context.check("cuMemcpyHtoDAsync", status)
    }

    /// Copies device memory to any host memory, through pinned memory that is kept, and waits
    /// until it is there. It goes piece by piece: while the device copies one, the host empties
    /// the one before.
    ///
    /// # Errors
    /// If the lengths differ, if the work is captured, if work before it has failed, or as
    /// [`Work::reads`]. Some of the bytes may have been copied then.
    pub fn download<'a>(&mut self, to: &mut [u8], from: impl Into<DeviceSlice<'a>>) -> Result<()> {
        let from = from.into();
        same_length(to.len(), from.len())?;
        self.not_captured("downloaded to")?;
        let device = self.stream().device().clone();
        let mut pending = None;
        let mut start = 0;
        for bytes in to.chunks_mut(LARGE) {
            let piece =
                PinnedBuffer::of_block(device.staging().take(device.context(), bytes.len())?);
            let copied = (|| {
                self.copy_to_host(
                    piece.slice(..bytes.len())?,
                    from.slice(start..start + bytes.len())?,
                )?;
                self.settle_one(piece.block())
            })();
            start += bytes.len();
            let before = pending.replace((piece, bytes));
            let emptied = before.map_or(Ok(()), |(piece, bytes)| empty(&device, piece, bytes));
            if let Err(error) = copied.and(emptied) {
                if let Some((piece, _)) = pending {
                    device.staging().lose(piece.len());
                }
                return Err(error);
            }
        }
        pending.map_or(Ok(()), |(piece, bytes)| empty(&device, piece, bytes))
    }

    fn not_captured(&self, verb: &str) -> Result<()> {
        ensure!(
            !self.is_captured(),
            Unsupported,
            "pageable host memory cannot be {verb} within a capture; use a pinned buffer"
        );
        Ok(())
    }

    /// Refuses memory of another driver, which would not know the address.
    fn same_driver(&self, context: Option<&Arc<Context>>) -> Result<()> {
        let same =
            context.is_none_or(|context| std::ptr::eq(context.table(), self.context().table()));
        ensure!(
            same,
            InvalidInput,
            "a buffer of one driver is used on a stream of another"
        );
        Ok(())
    }
}

/// Copies bytes out of a piece of staging memory when they are there, and gives it back.
fn empty(device: &Device, piece: PinnedBuffer, to: &mut [u8]) -> Result<()> {
    match piece.read() {
        Ok(bytes) => to.copy_from_slice(&bytes[..to.len()]),
        Err(error) => {
            device.staging().lose(piece.len());
            return Err(error);
        }
    }
    device.staging().put(piece.into_block());
    Ok(())
}

fn context_of(block: &Arc<DeviceBlock>) -> Option<&Arc<Context>> {
    block.memory().map(DeviceMemory::context)
}

fn same_length(to: usize, from: usize) -> Result<()> {
    ensure!(
        to == from,
        InvalidInput,
        "{from} bytes are copied to a place for {to}"
    );
    Ok(())
}
