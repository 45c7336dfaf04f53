//! The unsafe part of the interface: handles and addresses that this crate did not make, and kernels. Each
//! function says what its caller vouches for.
#![allow(unsafe_code, reason = "the driver's functions are called")]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use thalweg_core::{Result, ensure};

use crate::device::Device;
use crate::handle::{LEGACY, Launch, ModuleHandle, PER_THREAD, StreamHandle, StreamId};
use crate::kernel::{Argument, Kernel, MAX_ARGUMENTS, Module};
use crate::order::Access;
use crate::stream::Stream;
use crate::work::Work;

impl Stream {
    /// A stream that somebody else made: a `CUstream` or `cudaStream_t` of the device's primary
    /// context, or of a green context over it. The null stream is the legacy default stream.
    ///
    /// # Safety
    /// The handle is such a stream, and stays one until the result and all its clones are dropped.
    /// It may be destroyed at once after that, also while work is left in flight: nothing in this
    /// crate remembers it.
    pub unsafe fn borrow(device: &Device, raw: *mut c_void) -> Self {
        match raw.addr() {
            0 | LEGACY => return Self::legacy(device),
            PER_THREAD => return Self::per_thread(device),
            _ => {}
        }
        // SAFETY: the caller's.
        let handle = unsafe { StreamHandle::borrowed(device.context(), raw.cast()) };
        Self::of(handle, StreamId::new(device.ordinal(), true), device)
    }
}

impl Module {
    /// Loads code for the device.
    ///
    /// # Errors
    /// If the driver cannot load it, for one because it is for another kind of device.
    ///
    /// # Safety
    /// The image is a whole cubin or fat binary, or PTX that ends with a zero byte. The driver is
    /// not told its length.
    pub unsafe fn load(device: &Device, image: &[u8]) -> Result<Self> {
        // SAFETY: the caller's.
        let handle = unsafe { ModuleHandle::load(device.context(), image) }?;
        Ok(Self::of(handle))
    }
}

impl Work<'_> {
    /// Launches a kernel. Buffers among the arguments are used as they say.
    ///
    /// # Errors
    /// If the driver refuses, or as [`Work::reads`] and [`Work::writes`].
    ///
    /// # Safety
    /// The arguments are of the number and the types that the kernel has, and it only reads and
    /// writes where they let it. What it uses beyond them is there until it has ended.
    pub unsafe fn launch(
        &mut self,
        kernel: &Kernel,
        launch: &Launch,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        ensure!(
            arguments.len() <= MAX_ARGUMENTS,
            InvalidInput,
            "a kernel with {} arguments; at most {MAX_ARGUMENTS} are possible",
            arguments.len()
        );
        let block = kernel.module().block();
        let handle = block.handle();
        ensure!(
            Arc::ptr_eq(handle.context(), self.context()),
            InvalidInput,
            "a kernel of one device is launched on a stream of another"
        );
        let mut values = [0u64; MAX_ARGUMENTS];
        let mut parameters = [ptr::null_mut::<c_void>(); MAX_ARGUMENTS];
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = match *argument {
                Argument::Read(slice) => {
                    self.touch(slice.buffer().block(), Access::Read)?;
                    slice.address()
                }
                Argument::Write(slice) => {
                    self.touch(slice.buffer().block(), Access::Write)?;
                    slice.address()
                }
                Argument::ReadPinned(slice) => {
                    self.touch(slice.buffer().block(), Access::Read)?;
                    slice.buffer().address() + slice.start() as u64
                }
                Argument::WritePinned(slice) => {
                    self.touch(slice.buffer().block(), Access::Write)?;
                    slice.buffer().address() + slice.start() as u64
                }
                // A kernel reads as many bytes as its parameter has; in little-endian order those
                // are the first.
                Argument::U64(value) => value,
                Argument::U32(value) => u64::from(value),
                Argument::I64(value) => value as u64,
                Argument::I32(value) => u64::from(value as u32),
                Argument::F64(value) => value.to_bits(),
                Argument::F32(value) => u64::from(value.to_bits()),
            };
        }
        for (parameter, value) in parameters.iter_mut().zip(&mut values) {
            *parameter = ptr::from_mut(value).cast();
        }
        // The code itself is in use, too.
        self.touch(block, Access::Read)?;
        // SAFETY: the caller's; buffers and code are kept until the work is over.
        unsafe {
            handle.launch(
                kernel.function(),
                launch,
                &mut parameters[..arguments.len()],
                self.stream().handle(),
            )
        }
    }

    /// Copies between any two places that the driver knows: device memory, pinned, managed, or
    /// (with the driver's rules about when it returns) pageable memory.
    ///
    /// # Errors
    /// If the driver refuses.
    ///
    /// # Safety
    /// Both ranges are valid until the copy has been made, and nobody else uses the target, or
    /// writes the source, before.
    pub unsafe fn copy_raw(&mut self, to: u64, from: u64, len: usize) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let stream = self.stream().handle().raw()?;
        let context = self.context();
        // SAFETY: the caller's.
        let status = unsafe { (context.table().cuMemcpyAsync)(to, from, len, stream) };
        context.check("cuMemcpyAsync", status)
    }

    /// Sets every byte of any device, pinned or managed memory.
    ///
    /// # Errors
    /// If the driver refuses.
    ///
    /// # Safety
    /// The range is valid until that has been done, and nobody else uses it before.
    pub unsafe fn fill_raw(&mut self, to: u64, byte: u8, len: usize) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let stream = self.stream().handle().raw()?;
        let context = self.context();
        // SAFETY: the caller's.
        let status = unsafe { (context.table().cuMemsetD8Async)(to, byte, len, stream) };
        context.check("cuMemsetD8Async", status)
    }
}
