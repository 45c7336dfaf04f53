//! Tensors as libraries see them: handles that nobody but this crate looks into.
#![forbid(unsafe_code)]

use std::sync::Arc;

use thalweg_core::{DType, Result, bail, ensure};
use thalweg_cuda::{DeviceBuffer, PinnedBuffer};
use thalweg_format::ScalarType;

use super::session;

/// A tensor: a view of a storage. Sizes, strides and the offset count elements.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) storage: Arc<Storage>,
    pub(crate) dtype: DType,
    pub(crate) sizes: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) offset: i64,
}

/// Memory that tensors share. The last one that goes frees it, if it is to be freed.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) on: Where,
    /// Which allocation it is of those that a library has made, if it is one.
    pub(crate) allocation: Option<Allocation>,
    owner: Owner,
}

/// An allocation of a library: in which session, and which of that session's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) session: u64,
    pub(crate) number: usize,
}

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    Host,
    /// On the device of this number.
    Device(i32),
}

/// What frees a storage's memory.
enum Owner {
    /// Somebody else.
    Lender,
    Device(Option<DeviceBuffer>),
    Host(#[allow(dead_code, reason = "kept to be dropped")] HostMemory),
    Pinned(#[allow(dead_code, reason = "kept to be dropped")] PinnedBuffer),
}

/// Memory of the host, aligned as PyTorch aligns it.
struct HostMemory(Vec<Line>);

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "bytes are reached by their address")] [u8; 64]);

impl Storage {
    /// Memory that somebody else frees.
    pub(crate) fn lent(address: u64, bytes: u64, on: Where) -> Self {
        Self {
            address,
            bytes,
            on,
            allocation: None,
            owner: Owner::Lender,
        }
    }

    /// Memory of a device.
    pub(crate) fn of_device(buffer: DeviceBuffer, device: i32) -> Self {
        Self {
            address: buffer.address(),
            bytes: buffer.len() as u64,
            on: Where::Device(device),
            allocation: None,
            owner: Owner::Device(Some(buffer)),
        }
    }

    /// Memory of the host, which starts as zeros.
    pub(crate) fn of_host(bytes: u64) -> Result<Self> {
        let mut lines = Vec::new();
        let count = usize::try_from(bytes.div_ceil(64)).unwrap_or(usize::MAX);
        if lines.try_reserve_exact(count).is_err() {
            bail!(OutOfMemory, "no {bytes} bytes for a tensor on the host");
        }
        lines.resize(count, Line([0; 64]));
        let address = lines.as_mut_ptr().expose_provenance() as u64;
        Ok(Self {
            address,
            bytes,
            on: Where::Host,
            allocation: None,
            owner: Owner::Host(HostMemory(lines)),
        })
    }

    /// Memory of the host, with these bytes.
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

    /// The buffer, if it is one of a device.
    pub(super) fn buffer(&self) -> Option<&DeviceBuffer> {
        match &self.owner {
            Owner::Device(buffer) => buffer.as_ref(),
            _ => None,
        }
    }

    /// Memory of the host that devices reach.
    pub(crate) fn of_pinned(buffer: PinnedBuffer) -> Self {
        Self {
            address: buffer.address(),
            bytes: buffer.len() as u64,
            on: Where::Host,
            allocation: None,
            owner: Owner::Pinned(buffer),
        }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some(allocation) = self.allocation {
            session::freed(allocation);
        }
        if let Owner::Device(buffer) = &mut self.owner
            && let Some(buffer) = buffer.take()
        {
            session::release(buffer);
        }
    }
}

impl Tensor {
    /// A view of a storage.
    ///
    /// # Errors
    /// If it would reach beyond the storage's bytes.
    pub(crate) fn new(
        storage: Arc<Storage>,
        dtype: DType,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<Self> {
        let reach = reach(sizes, strides, dtype)?;
        let start = u64::try_from(offset)
            .ok()
            .and_then(|offset| offset.checked_mul(dtype.size() as u64));
        let end = start.and_then(|start| start.checked_add(reach));
        ensure!(
            end.is_some_and(|end| reach == 0 || end <= storage.bytes),
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

    /// The same tensor of another storage, which is as large.
    pub(crate) fn in_storage(&self, storage: Arc<Storage>) -> Self {
        Self {
            storage,
            ..self.clone()
        }
    }

    /// Where its first element is.
    pub(crate) fn address(&self) -> u64 {
        let offset = self.offset as u64 * self.dtype.size() as u64;
        self.storage.address.wrapping_add(offset)
    }

    /// How many elements it has.
    pub(crate) fn count(&self) -> i64 {
        self.sizes.iter().product()
    }

    /// How many bytes lie between the first byte of its first element and the last byte of its last,
    /// all included.
    pub(crate) fn reach(&self) -> u64 {
        reach(&self.sizes, &self.strides, self.dtype).unwrap_or(0)
    }

    /// Whether its elements lie as strides say; those of dimensions with one element say nothing.
    pub(crate) fn lies_by(&self, strides: &[i64]) -> bool {
        let mut dimensions = self.sizes.iter().zip(self.strides.iter().zip(strides));
        self.strides.len() == strides.len()
            && (self.count() == 0
                || dimensions.all(|(&size, (own, other))| size == 1 || own == other))
    }

    /// Whether its elements lie one after another, without gaps, in the order of its dimensions.
    pub(crate) fn is_row_major(&self) -> bool {
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

/// The strides of a tensor whose elements lie in the order of its dimensions.
pub(crate) fn row_major_strides(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; sizes.len()];
    for index in (1..sizes.len()).rev() {
        strides[index - 1] = strides[index].saturating_mul(sizes[index].max(1));
    }
    strides
}

/// How many bytes a tensor reaches over.
pub(crate) fn reach(sizes: &[i64], strides: &[i64], dtype: DType) -> Result<u64> {
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
        // More than this no machine has, and sums of such sizes are still sizes.
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

/// The type that PyTorch's number means.
pub(crate) fn dtype(code: i32) -> Result<DType> {
    let scalar_type = i8::try_from(code).ok().and_then(ScalarType::from_code);
    match scalar_type.and_then(DType::from_scalar_type) {
        Some(dtype) => Ok(dtype),
        None => bail!(Unsupported, "the element type {code} is none that is known"),
    }
}

/// PyTorch's number of a type.
pub(crate) fn code(dtype: DType) -> i32 {
    match dtype {
        DType::U8 => 0,
        DType::I8 => 1,
        DType::I16 => 2,
        DType::I32 => 3,
        DType::I64 => 4,
        DType::F16 => 5,
        DType::F32 => 6,
        DType::F64 => 7,
        DType::ComplexF16 => 8,
        DType::ComplexF32 => 9,
        DType::ComplexF64 => 10,
        DType::Bool => 11,
        DType::BF16 => 15,
        DType::F8E5M2 => 23,
        DType::F8E4M3Fn => 24,
        DType::F8E5M2Fnuz => 25,
        DType::F8E4M3Fnuz => 26,
        DType::U16 => 27,
        DType::U32 => 28,
        DType::U64 => 29,
        _ => -1,
    }
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Lender => "lent",
            Self::Device(_) => "device memory",
            Self::Host(_) => "host memory",
            Self::Pinned(_) => "pinned memory",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(bytes: u64, sizes: &[i64], strides: &[i64], offset: i64) -> Result<Tensor> {
        let storage = Arc::new(Storage::lent(0x1000, bytes, Where::Host));
        Tensor::new(storage, DType::F32, sizes, strides, offset)
    }

    #[test]
    fn a_tensor_lies_within_its_storage() {
        assert_eq!(tensor(24, &[2, 3], &[3, 1], 0).unwrap().reach(), 24);
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
    fn row_major_tensors_have_no_gaps() {
        assert_eq!(row_major_strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(row_major_strides(&[2, 0, 4]), [4, 4, 1]);
        assert!(row_major_strides(&[]).is_empty());
        assert!(
            tensor(96, &[2, 3, 4], &[12, 4, 1], 0)
                .unwrap()
                .is_row_major()
        );
        assert!(
            tensor(96, &[1, 3, 4], &[99, 4, 1], 0)
                .unwrap()
                .is_row_major()
        );
        assert!(!tensor(96, &[3, 2], &[1, 3], 0).unwrap().is_row_major());
        assert!(!tensor(96, &[2, 2], &[3, 1], 0).unwrap().is_row_major());
    }

    #[test]
    fn element_types_have_pytorchs_numbers() {
        for scalar_type in (0..=i8::MAX).filter_map(ScalarType::from_code) {
            if let Some(dtype) = DType::from_scalar_type(scalar_type) {
                assert_eq!(code(dtype), scalar_type as i32);
                assert_eq!(super::dtype(scalar_type as i32).unwrap(), dtype);
            }
        }
        dtype(12).unwrap_err();
        dtype(1000).unwrap_err();
    }

    #[test]
    fn memory_of_the_host_is_aligned_and_zero() {
        let storage = Storage::of_host(100).unwrap();
        assert_eq!(storage.address % 64, 0);
        assert_eq!((storage.bytes, storage.on), (100, Where::Host));
        Storage::of_host(u64::MAX).unwrap_err();
    }
}
