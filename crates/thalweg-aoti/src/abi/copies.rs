//! Copies between tensors and between storages.
#![allow(
    unsafe_code,
    reason = "the driver is called by address; each block says why it is right"
)]

use std::ptr;
use std::sync::Arc;

use thalweg_core::{DType, Device as _, DeviceAddress, Result, StreamHandle, ensure};
use thalweg_cuda::{Device, Stream};

use super::session::Session;
use super::tensor::{Location, Storage, Tensor};

/// The most contiguous parts of a strided copy.
const MAX_PARTS: i64 = 1 << 16;

/// Copies the elements of one tensor to another of the same type and sizes.
pub(crate) fn copy(session: &Session<'_>, to: &Tensor, from: &Tensor) -> Result<()> {
    ensure!(
        to.dtype == from.dtype && to.sizes == from.sizes,
        Unsupported,
        "a tensor of {} and sizes {:?} is copied to one of {} and sizes {:?}",
        from.dtype,
        from.sizes,
        to.dtype,
        to.sizes
    );
    if to.count() == 0 {
        return Ok(());
    }
    if to.is_contiguous() && from.is_contiguous() {
        return copy_bytes(session, to.start(), from.start(), to.extent());
    }
    // The innermost dimensions that are contiguous in both tensors are one part.
    let element = to.dtype.size() as i64;
    let mut outer = to.sizes.len();
    let mut part_len = 1;
    while outer > 0 {
        let index = outer - 1;
        let contiguous =
            |tensor: &Tensor| tensor.sizes[index] == 1 || tensor.strides[index] == part_len;
        if !(contiguous(to) && contiguous(from)) {
            break;
        }
        part_len *= to.sizes[index];
        outer = index;
    }
    let parts: i64 = to.sizes[..outer].iter().product();
    ensure!(
        parts <= MAX_PARTS,
        Unsupported,
        "a copy of sizes {:?} from strides {:?} to strides {:?}, which is {parts} parts",
        to.sizes,
        from.strides,
        to.strides
    );
    for part in 0..parts {
        let (mut rest, mut to_offset, mut from_offset) = (part, 0, 0);
        for index in (0..outer).rev() {
            let at = rest % to.sizes[index];
            rest /= to.sizes[index];
            to_offset += at * to.strides[index];
            from_offset += at * from.strides[index];
        }
        let at = |tensor: &Tensor, offset: i64| {
            let (start, location) = tensor.start();
            (start + (offset * element) as u64, location)
        };
        let bytes = (part_len * element) as u64;
        copy_bytes(session, at(to, to_offset), at(from, from_offset), bytes)?;
    }
    Ok(())
}

/// Copies bytes between two addresses, on the stream of the call. A copy to the host is complete on return.
pub(super) fn copy_bytes(
    session: &Session<'_>,
    (to, to_location): (u64, Location),
    (from, from_location): (u64, Location),
    bytes: u64,
) -> Result<()> {
    if bytes == 0 || (to, to_location) == (from, from_location) {
        return Ok(());
    }
    if to_location == Location::Host || from_location == Location::Host {
        session.not_capturable("a copy to or from the host")?;
    }
    session.mark_enqueued();
    let len = bytes as usize;
    let (driver, stream) = (session.driver, session.raw_stream);
    let host = |address: u64| ptr::with_exposed_provenance_mut::<u8>(address as usize);
    // SAFETY: both are memory of tensors, which have so many bytes there; what a library says of its
    // own memory is its to vouch for. Work on the stream is in the library's order.
    unsafe {
        match (to_location, from_location) {
            (Location::Host, Location::Host) => {
                session.wait()?;
                ptr::copy(host(from), host(to), len);
                Ok(())
            }
            (Location::Device(_), Location::Host) => driver
                .check(
                    "cuMemcpyHtoDAsync",
                    (driver.memcpy_from_host)(to, host(from).cast(), len, stream),
                )
                // The library may change host memory after this returns, and pinned memory is still read.
                .and_then(|()| session.wait()),
            (Location::Host, Location::Device(_)) => driver
                .check(
                    "cuMemcpyDtoHAsync",
                    (driver.memcpy_to_host)(host(to).cast(), from, len, stream),
                )
                .and_then(|()| session.wait()),
            (Location::Device(_), Location::Device(_)) => driver.check(
                "cuMemcpyDtoDAsync",
                (driver.memcpy_on_device)(to, from, len, stream),
            ),
        }
    }
}

/// Copies one storage on a device to another of the same size, without a session.
pub(crate) fn copy_storage(
    device: &Device,
    to: &Storage,
    from: &Storage,
    stream: &Stream,
) -> Result<()> {
    ensure!(
        to.bytes == from.bytes,
        Internal,
        "{} bytes are copied to a place for {}",
        from.bytes,
        to.bytes
    );
    let len = from.bytes as usize;
    let raw = StreamHandle(stream.raw()?.expose_provenance());
    let (to, from) = (DeviceAddress(to.address), DeviceAddress(from.address));
    // SAFETY: both have so many bytes, and whoever calls this keeps them, and the order of streams.
    unsafe { device.copy(to, from, len, raw) }
}

/// The bytes of a storage on the host, without a session.
pub(crate) fn read_on_host(storage: &Storage) -> Result<Vec<u8>> {
    ensure!(
        storage.location == Location::Host,
        Internal,
        "the host reads memory of a device"
    );
    let from = ptr::with_exposed_provenance::<u8>(storage.address as usize);
    // SAFETY: there are so many bytes, and no library runs that would change them.
    let bytes = unsafe { std::slice::from_raw_parts(from, storage.bytes as usize) };
    Ok(bytes.to_vec())
}

/// Writes all bytes of a storage on the host, without a session.
pub(crate) fn write_on_host(storage: &Storage, bytes: &[u8]) -> Result<()> {
    ensure!(
        storage.location == Location::Host && storage.bytes == bytes.len() as u64,
        Internal,
        "{} bytes are written to {} on {:?}",
        bytes.len(),
        storage.bytes,
        storage.location
    );
    let to = ptr::with_exposed_provenance_mut::<u8>(storage.address as usize);
    // SAFETY: there are so many bytes, and no library runs that would use them.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    Ok(())
}

/// Fills a contiguous tensor with zeros.
pub(super) fn zero(session: &Session<'_>, tensor: &Tensor) -> Result<()> {
    let len = tensor.extent() as usize;
    let address = tensor.address();
    if len == 0 {
        return Ok(());
    }
    match tensor.storage.location {
        Location::Host => {
            session.wait()?;
            let memory = ptr::with_exposed_provenance_mut::<u8>(address as usize);
            // SAFETY: the tensor has so many bytes there.
            unsafe { memory.write_bytes(0, len) };
            Ok(())
        }
        Location::Device(_) => {
            session.mark_enqueued();
            let driver = session.driver;
            // SAFETY: the tensor has so many bytes there; the stream is in the library's order.
            let code = unsafe { (driver.memset_async)(address, 0, len, session.raw_stream) };
            driver.check("cuMemsetD8Async", code)
        }
    }
}

impl Session<'_> {
    /// Copies a contiguous tensor from host memory to new device memory.
    pub(crate) fn upload(
        &self,
        bytes: &[u8],
        dtype: DType,
        sizes: &[i64],
        strides: &[i64],
    ) -> Result<Tensor> {
        let storage = self.allocate_from_pool(bytes.len() as u64)?;
        if let Some(buffer) = storage.buffer()
            && !bytes.is_empty()
        {
            self.with_work(|work| work.upload(buffer.slice(..bytes.len())?, bytes))?;
        }
        Tensor::new(Arc::new(storage), dtype, sizes, strides, 0)
    }

    /// Copies a tensor to host memory, and waits for the copy.
    pub(crate) fn download(&self, to: &mut [u8], tensor: &Tensor, strides: &[i64]) -> Result<()> {
        let address = to.as_mut_ptr().expose_provenance() as u64;
        let storage = Storage::borrowed(address, to.len() as u64, Location::Host);
        let output = Tensor::new(Arc::new(storage), tensor.dtype, &tensor.sizes, strides, 0)?;
        copy(self, &output, tensor)
    }
}

/// The bytes of a tensor's only element.
pub(super) fn element(session: &Session<'_>, tensor: &Tensor) -> Result<[u8; 8]> {
    let mut bytes = [0; 8];
    ensure!(
        tensor.dtype.size() <= bytes.len(),
        Unsupported,
        "an element of {}",
        tensor.dtype
    );
    let place = bytes.as_mut_ptr().expose_provenance() as u64;
    let len = tensor.dtype.size() as u64;
    copy_bytes(session, (place, Location::Host), tensor.start(), len)?;
    Ok(bytes)
}
