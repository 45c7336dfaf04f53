//! Tensors of libraries.
#![forbid(unsafe_code)]

use std::sync::Arc;

use thalweg_core::{DType, Result, bail, ensure};
use thalweg_cuda::{DeviceBuffer, PinnedBuffer};

/// A tensor: a strided view of a storage. Sizes, strides and the offset count elements.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) storage: Arc<Storage>,
    pub(crate) dtype: DType,
    pub(crate) sizes: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) offset: i64,
}

/// Memory that tensors share. It is freed with its last tensor, unless it is borrowed.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) location: Location,
    /// The allocation of a library that this is, if it is one.
    pub(crate) allocation: Option<Allocation>,
    owner: Owner,
}

/// An allocation of a library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    /// The session that the library was called in.
    pub(crate) session: u64,
    /// The number among the session's allocations.
    pub(crate) number: usize,
    /// The function that is called when the storage is dropped.
    pub(crate) freed: fn(Self),
}

/// The location of memory: the host or a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    Host,
    /// The device of this ordinal.
    Device(i32),
}

/// The owner of a storage's memory.
enum Owner {
    /// Somebody else, who frees it.
    Lender,
    Device {
        buffer: Option<DeviceBuffer>,
        /// The function that takes the buffer when the storage is dropped.
        release: fn(DeviceBuffer),
    },
    Host(#[allow(dead_code, reason = "kept to be dropped")] HostMemory),
    Pinned(#[allow(dead_code, reason = "kept to be dropped")] PinnedBuffer),
}

/// Host memory with PyTorch's alignment.
struct HostMemory(Vec<CacheLine>);

#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine(#[allow(dead_code, reason = "bytes are reached by their address")] [u8; 64]);

impl Storage {
    /// Borrowed memory, which somebody else frees.
    pub(crate) fn borrowed(address: u64, bytes: u64, location: Location) -> Self {
        Self {
            address,
            bytes,
            location,
            allocation: None,
            owner: Owner::Lender,
        }
    }

    /// Memory of a device. `release` takes it back when the storage is dropped.
    pub(crate) fn of_device(buffer: DeviceBuffer, device: i32, release: fn(DeviceBuffer)) -> Self {
        Self {
            address: buffer.address(),
            bytes: buffer.len() as u64,
            location: Location::Device(device),
            allocation: None,
            owner: Owner::Device {
                buffer: Some(buffer),
                release,
            },
        }
    }

    /// Host memory, filled with zeros.
    pub(crate) fn of_host(bytes: u64) -> Result<Self> {
        let mut lines = Vec::new();
        let count = usize::try_from(bytes.div_ceil(64)).unwrap_or(usize::MAX);
        if lines.try_reserve_exact(count).is_err() {
            bail!(OutOfMemory, "no {bytes} bytes for a tensor on the host");
        }
        lines.resize(count, CacheLine([0; 64]));
        let address = lines.as_mut_ptr().expose_provenance() as u64;
        Ok(Self {
            address,
            bytes,
            location: Location::Host,
            allocation: None,
            owner: Owner::Host(HostMemory(lines)),
        })
    }

    /// Host memory with these bytes.
    pub(crate) fn copied(bytes: &[u8]) -> Result<Self> {
        let mut storage = Self::of_host(bytes.len() as u64)?;
        if let Owner::Host(memory) = &mut storage.owner {
            for (line, bytes) in memory.0.iter_mut().zip(bytes.chunks(64)) {
                line.0[..bytes.len()].copy_from_slice(bytes);
            }
            // Written by this, and only then reached by its address.
            storage.address = memory.0.as_mut_ptr().expose_provenance() as u64;
        }
        Ok(storage)
    }

    /// The device buffer that the storage owns, if it does.
    pub(super) fn buffer(&self) -> Option<&DeviceBuffer> {
        match &self.owner {
            Owner::Device { buffer, .. } => buffer.as_ref(),
            _ => None,
        }
    }

    /// Pinned host memory.
    pub(crate) fn of_pinned(buffer: PinnedBuffer) -> Self {
        Self {
            address: buffer.address(),
            bytes: buffer.len() as u64,
            location: Location::Host,
            allocation: None,
            owner: Owner::Pinned(buffer),
        }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some(allocation) = self.allocation {
            (allocation.freed)(allocation);
        }
        if let Owner::Device { buffer, release } = &mut self.owner
            && let Some(buffer) = buffer.take()
        {
            release(buffer);
        }
    }
}

impl Tensor {
    /// A view of a storage.
    ///
    /// # Errors
    /// If it extends beyond the storage.
    pub(crate) fn new(
        storage: Arc<Storage>,
        dtype: DType,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<Self> {
        let extent = extent(sizes, strides, dtype)?;
        let start = u64::try_from(offset)
            .ok()
            .and_then(|offset| offset.checked_mul(dtype.size() as u64));
        let end = start.and_then(|start| start.checked_add(extent));
        ensure!(
            end.is_some_and(|end| extent == 0 || end <= storage.bytes),
            Delegate,
            "a tensor of {dtype}, sizes {sizes:?}, strides {strides:?}, from element {offset} on does \
             not lie within {} bytes",
            storage.bytes
        );
        Ok(Self {
            storage,
            dtype,
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            offset,
        })
    }

    /// This view, of another storage of the same size.
    pub(crate) fn in_storage(&self, storage: Arc<Storage>) -> Self {
        Self {
            storage,
            ..self.clone()
        }
    }

    /// The address of the first element.
    pub(crate) fn address(&self) -> u64 {
        let offset = self.offset as u64 * self.dtype.size() as u64;
        self.storage.address.wrapping_add(offset)
    }

    /// The address of the first element, and the location of the memory.
    pub(crate) fn start(&self) -> (u64, Location) {
        (self.address(), self.storage.location)
    }

    /// The number of elements.
    pub(crate) fn count(&self) -> i64 {
        self.sizes.iter().product()
    }

    /// The extent in memory: the number of bytes from the first byte of the first element through the
    /// last byte of the last.
    pub(crate) fn extent(&self) -> u64 {
        extent(&self.sizes, &self.strides, self.dtype).unwrap_or(0)
    }

    /// True if the elements are where these strides would have them. Strides of dimensions of size 1 do
    /// not matter.
    pub(crate) fn has_strides(&self, strides: &[i64]) -> bool {
        let mut dimensions = self.sizes.iter().zip(self.strides.iter().zip(strides));
        self.strides.len() == strides.len()
            && (self.count() == 0
                || dimensions.all(|(&size, (own, other))| size == 1 || own == other))
    }

    /// True if the tensor is contiguous in row-major order.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut next = 1;
        let mut dimensions = self.sizes.iter().zip(&self.strides).rev();
        self.count() == 0
            || dimensions.all(|(&size, &stride)| {
                let fits = size == 1 || stride == next;
                next *= size;
                fits
            })
    }
}

/// The strides of a contiguous tensor.
pub(crate) fn contiguous_strides(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; sizes.len()];
    for index in (1..sizes.len()).rev() {
        strides[index - 1] = strides[index].saturating_mul(sizes[index].max(1));
    }
    strides
}

/// The extent of a tensor in memory, in bytes.
pub(crate) fn extent(sizes: &[i64], strides: &[i64], dtype: DType) -> Result<u64> {
    let elements = || {
        if sizes.len() != strides.len() {
            return None;
        }
        let mut last = 0u64;
        let mut empty = false;
        for (&size, &stride) in sizes.iter().zip(strides) {
            let (size, stride) = (u64::try_from(size).ok()?, u64::try_from(stride).ok()?);
            empty |= size == 0;
            last = last.checked_add(size.saturating_sub(1).checked_mul(stride)?)?;
        }
        let elements = if empty { 0 } else { last.checked_add(1)? };
        let bytes = elements.checked_mul(dtype.size() as u64)?;
        // More than any machine has; sums of a few such sizes do not overflow.
        (bytes <= u64::MAX >> 2).then_some(bytes)
    };
    match elements() {
        Some(bytes) => Ok(bytes),
        None => bail!(
            Delegate,
            "sizes {sizes:?} with strides {strides:?} are no tensor"
        ),
    }
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Lender => "lent",
            Self::Device { .. } => "device memory",
            Self::Host(_) => "host memory",
            Self::Pinned(_) => "pinned memory",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(bytes: u64, sizes: &[i64], strides: &[i64], offset: i64) -> Result<Tensor> {
        let storage = Arc::new(Storage::borrowed(0x1000, bytes, Location::Host));
        Tensor::new(storage, DType::F32, sizes, strides, offset)
    }

    #[test]
    fn a_tensor_lies_within_its_storage() {
        assert_eq!(tensor(24, &[2, 3], &[3, 1], 0).unwrap().extent(), 24);
        assert_eq!(tensor(24, &[2, 2], &[3, 1], 1).unwrap().address(), 0x1004);
        tensor(0, &[0, 3], &[3, 1], 0).unwrap();
        tensor(4, &[], &[], 0).unwrap();
        for (bytes, sizes, strides, offset) in [
            (23, &[2, 3][..], &[3, 1][..], 0),
            (24, &[2, 3], &[3, 1], 1),
            (24, &[2, 3], &[3, 1], -1),
            (24, &[2, -3], &[3, 1], 0),
            (24, &[2, 3], &[-3, 1], 0),
            (24, &[2, 3], &[3], 0),
            (24, &[i64::MAX, i64::MAX], &[i64::MAX, 1], 0),
        ] {
            tensor(bytes, sizes, strides, offset).unwrap_err();
        }
    }

    #[test]
    fn contiguous_tensors_have_no_gaps() {
        assert_eq!(contiguous_strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(contiguous_strides(&[2, 0, 4]), [4, 4, 1]);
        assert!(contiguous_strides(&[]).is_empty());
        assert!(
            tensor(96, &[2, 3, 4], &[12, 4, 1], 0)
                .unwrap()
                .is_contiguous()
        );
        assert!(
            tensor(96, &[1, 3, 4], &[99, 4, 1], 0)
                .unwrap()
                .is_contiguous()
        );
        assert!(!tensor(96, &[3, 2], &[1, 3], 0).unwrap().is_contiguous());
        assert!(!tensor(96, &[2, 2], &[3, 1], 0).unwrap().is_contiguous());
    }

    #[test]
    fn memory_of_the_host_is_aligned_and_zero() {
        let storage = Storage::of_host(100).unwrap();
        assert_eq!(storage.address % 64, 0);
        assert_eq!((storage.bytes, storage.location), (100, Location::Host));
        Storage::of_host(u64::MAX).unwrap_err();
    }
}
