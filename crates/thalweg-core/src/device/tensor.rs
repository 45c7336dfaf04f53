//! Tensors in the memory of a device.

use super::{DeviceAddress, DeviceId};
use crate::tensor::{self, identity_order};
use crate::{DType, Result, bail, ensure};

/// A tensor in the memory of a device: an argument of a delegate, or an output that stays there.
///
/// Whatever is done with its memory goes to a stream of the device, in an order that keeps readers
/// after writers: a delegate uses the stream of its call, and a caller the stream that the call was
/// given, or one that waits for it.
#[derive(Clone, Copy, Debug)]
pub struct DeviceTensor<'a> {
    device: DeviceId,
    address: DeviceAddress,
    len: usize,
    dtype: DType,
    sizes: &'a [usize],
    dim_order: &'a [u8],
}

/// An input that a caller has in the memory of a device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceInput<'a>(DeviceTensor<'a>);

impl<'a> DeviceInput<'a> {
    /// A row-major tensor in memory of the caller.
    ///
    /// # Safety
    /// The memory is the device's, holds the elements of the shape in what the call's stream sees,
    /// and stays so until the work is done that the call leaves on that stream.
    ///
    /// # Errors
    /// If the shape is too large, or the address is not aligned for the element type.
    pub unsafe fn new(
        device: DeviceId,
        address: DeviceAddress,
        dtype: DType,
        sizes: &'a [usize],
    ) -> Result<Self> {
        let Some(len) = tensor::numel(sizes)?.checked_mul(dtype.size()) else {
            bail!(InvalidInput, "a tensor of shape {sizes:?} is too large");
        };
        ensure!(
            address.0.is_multiple_of(dtype.align() as u64),
            InvalidInput,
            "memory at {:#x} is not aligned for {dtype}",
            address.0
        );
        Ok(Self(DeviceTensor {
            device,
            address,
            len,
            dtype,
            sizes,
            dim_order: identity_order(sizes.len())?,
        }))
    }

    /// An output of one call, as an input of another.
    ///
    /// # Safety
    /// The call goes to the stream of the call that the output is of, or to one that waits for it;
    /// and the method whose output it is neither runs again nor is dropped before the work is done
    /// that the call leaves, unless that is ordered after it.
    pub unsafe fn of_output(output: DeviceTensor<'a>) -> Self {
        Self(output)
    }

    /// The tensor.
    pub fn tensor(&self) -> DeviceTensor<'a> {
        self.0
    }
}

impl<'a> DeviceTensor<'a> {
    /// A tensor of `len` bytes at an address.
    ///
    /// # Safety
    /// The memory is the device's, and holds the elements for as long as whoever is given the tensor
    /// may use it.
    pub unsafe fn from_parts(
        device: DeviceId,
        address: DeviceAddress,
        len: usize,
        (dtype, sizes, dim_order): (DType, &'a [usize], &'a [u8]),
    ) -> Self {
        Self {
            device,
            address,
            len,
            dtype,
            sizes,
            dim_order,
        }
    }

    /// The device.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// Where its elements start.
    pub fn address(&self) -> DeviceAddress {
        self.address
    }

    /// How many bytes they take.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of each dimension.
    pub fn sizes(&self) -> &'a [usize] {
        self.sizes
    }

    /// The dimensions from outermost to innermost in memory.
    pub fn dim_order(&self) -> &'a [u8] {
        self.dim_order
    }
}
