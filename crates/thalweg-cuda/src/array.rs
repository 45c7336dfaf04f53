//! Tensors that a caller keeps on a device, to give them to programs.

use thalweg_core::{DType, Result, Tensor, TensorView, bail, ensure};

use crate::buffer::DeviceBuffer;
use crate::device::Device;
use crate::mutation::{Rule, disabled};
use crate::stream::Stream;

/// A tensor in the memory of a device, as an input of programs
/// ([`DeviceArray::input`]).
///
/// # Order
/// Calls that are given one use its memory on whatever stream they have, and may leave work in
/// flight there that nobody but their method knows. So the content is on the device before anybody
/// gets at it, no safe code writes to it later, and dropping this waits for everything on the
/// device; if the driver does not even let it wait, the memory is never freed. It is for inputs that
/// are kept from call to call, not for ones that come and go.
///
/// A program that updates an input in place updates this. Calls that do so at the same time, on
/// different streams, are in no order, and what they leave there is of no use.
pub struct DeviceArray {
    /// There, until it is dropped.
    buffer: Option<DeviceBuffer>,
    device: Device,
    dtype: DType,
    sizes: Vec<usize>,
}

impl DeviceArray {
    /// Copies a tensor to a device, and waits until it is there.
    ///
    /// # Errors
    /// If it is not row-major, or memory is out.
    pub fn new(device: &Device, tensor: TensorView<'_>) -> Result<Self> {
        ensure!(
            tensor.is_row_major(),
            Unsupported,
            "a tensor in dim order {:?}; only row-major ones are kept on devices",
            tensor.dim_order()
        );
        let stream = Stream::per_thread(device);
        let bytes = tensor.bytes();
        let buffer = DeviceBuffer::new(&stream, bytes.len())?;
        let mut work = stream.work()?;
        work.upload(&buffer, bytes)?;
        work.finish()?.synchronize()?;
        Ok(Self {
            buffer: Some(buffer),
            device: device.clone(),
            dtype: tensor.dtype(),
            sizes: tensor.sizes().to_vec(),
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of each dimension.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The content, after everything on the device is done.
    ///
    /// # Errors
    /// If work on the device has failed, or memory is out.
    pub fn to_tensor(&self) -> Result<Tensor> {
        let mut tensor = Tensor::zeros(self.dtype, &self.sizes)?;
        self.device.synchronize()?;
        let stream = Stream::per_thread(&self.device);
        let mut work = stream.work()?;
        work.download(tensor.view_mut().bytes_mut(), self.buffer()?)?;
        work.finish()?.synchronize()?;
        Ok(tensor)
    }

    /// The memory.
    ///
    /// # Errors
    /// None that a caller can cause.
    pub fn buffer(&self) -> Result<&DeviceBuffer> {
        match &self.buffer {
            Some(buffer) => Ok(buffer),
            None => bail!(Internal, "an array without memory"),
        }
    }
}

impl Drop for DeviceArray {
    fn drop(&mut self) {
        let over = disabled(Rule::FreeArrayAfterUse)
            || self.device.synchronize().is_ok()
            // What fails once may work the second time. Nothing runs in a lost context.
            || self.device.synchronize().is_ok()
            || self.device.alive().is_err();
        if !over && let Some(buffer) = self.buffer.take() {
            tracing::warn!(
                bytes = buffer.len(),
                "device memory that may be in use is never freed"
            );
            std::mem::forget(buffer);
        }
    }
}
