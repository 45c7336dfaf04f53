//! Copies between tensors, on the stream of the call.
#![allow(
    unsafe_code,
    reason = "the driver is called by address; each block says why it is right"
)]

use std::ptr;
use std::sync::Arc;

use thalweg_core::{DType, Device as _, DeviceAddress, Result, StreamHandle, ensure};
use thalweg_cuda::{Device, Stream};

use super::session::Session;
use super::tensor::{Storage, Tensor, Where};

/// A tensor that is copied part by part has at most so many.
const MOST_PARTS: i64 = 1 << 16;

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
    let place = |tensor: &Tensor| (tensor.address(), tensor.storage.on);
    if to.is_row_major() && from.is_row_major() {
        return copy_bytes(session, place(to), place(from), to.reach());
    }
    // Dimensions from the innermost on that lie one after another in both are one part.
    let element = to.dtype.size() as i64;
    let mut inner = to.sizes.len();
    let mut together = 1;
    while inner > 0 {
        let index = inner - 1;
        let dense = |tensor: &Tensor| tensor.sizes[index] == 1 || tensor.strides[index] == together;
        if !(dense(to) && dense(from)) {
            break;
        }
        together *= to.sizes[index];
        inner = index;
    }
    let parts: i64 = to.sizes[..inner].iter().product();
    ensure!(
        parts <= MOST_PARTS,
        Unsupported,
        "a copy of sizes {:?} from strides {:?} to strides {:?}, which is {parts} parts",
        to.sizes,
        from.strides,
        to.strides
    );
    for part in 0..parts {
        let (mut rest, mut start_to, mut start_from) = (part, 0, 0);
        for index in (0..inner).rev() {
            let at = rest % to.sizes[index];
            rest /= to.sizes[index];
            start_to += at * to.strides[index];
            start_from += at * from.strides[index];
        }
        let at = |tensor: &Tensor, start: i64| {
            (
                tensor.address() + (start * element) as u64,
                tensor.storage.on,
            )
        };
        let bytes = (together * element) as u64;
        copy_bytes(session, at(to, start_to), at(from, start_from), bytes)?;
    }
    Ok(())
}

/// Copies bytes from one place to another. What goes to the host is there when this returns.
pub(super) fn copy_bytes(
    session: &Session<'_>,
    (to, on): (u64, Where),
    (from, off): (u64, Where),
    bytes: u64,
) -> Result<()> {
    if bytes == 0 || (to, on) == (from, off) {
        return Ok(());
    }
    if on == Where::Host || off == Where::Host {
        session.not_in_graphs("a copy to or from the host")?;
    }
    session.enqueues();
    let len = bytes as usize;
    let (driver, stream) = (session.driver, session.raw_stream);
    let host = |address: u64| ptr::with_exposed_provenance_mut::<u8>(address as usize);
    // SAFETY: both are memory of tensors, which have so many bytes there; what a library says of its
    // own memory is its to vouch for. Work on the stream is in the library's order.
    unsafe {
        match (on, off) {
            (Where::Host, Where::Host) => {
                session.wait()?;
                ptr::copy(host(from), host(to), len);
                Ok(())
            }
            (Where::Device(_), Where::Host) => driver
                .check(
                    "cuMemcpyHtoDAsync",
                    (driver.memcpy_from_host)(to, host(from).cast(), len, stream),
                )
                // Memory of the host may change as soon as this returns; pinned memory is still read.
                .and_then(|()| session.wait()),
            (Where::Host, Where::Device(_)) => driver
                .check(
                    "cuMemcpyDtoHAsync",
                    (driver.memcpy_to_host)(host(to).cast(), from, len, stream),
                )
                .and_then(|()| session.wait()),
            (Where::Device(_), Where::Device(_)) => driver.check(
                "cuMemcpyDtoDAsync",
                (driver.memcpy_on_device)(to, from, len, stream),
            ),
        }
    }
}

/// Copies one storage of a device to another that is as large, outside of a call.
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

/// A copy of memory on the host, outside of a call.
pub(crate) fn read_on_host(storage: &Storage) -> Result<Vec<u8>> {
    ensure!(
        storage.on == Where::Host,
        Internal,
        "the host reads memory of a device"
    );
    let from = ptr::with_exposed_provenance::<u8>(storage.address as usize);
    // SAFETY: there are so many bytes, and no library runs that would change them.
    let bytes = unsafe { std::slice::from_raw_parts(from, storage.bytes as usize) };
    Ok(bytes.to_vec())
}

/// Replaces memory on the host, outside of a call.
pub(crate) fn write_on_host(storage: &Storage, bytes: &[u8]) -> Result<()> {
    ensure!(
        storage.on == Where::Host && storage.bytes == bytes.len() as u64,
        Internal,
        "{} bytes are written to {} on {:?}",
        bytes.len(),
        storage.bytes,
        storage.on
    );
    let to = ptr::with_exposed_provenance_mut::<u8>(storage.address as usize);
    // SAFETY: there are so many bytes, and no library runs that would use them.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    Ok(())
}

/// Sets all elements to zero.
pub(super) fn zero(session: &Session<'_>, tensor: &Tensor) -> Result<()> {
    let len = tensor.reach() as usize;
    let address = tensor.address();
    if len == 0 {
        return Ok(());
    }
    match tensor.storage.on {
        Where::Host => {
            session.wait()?;
            let memory = ptr::with_exposed_provenance_mut::<u8>(address as usize);
            // SAFETY: the tensor has so many bytes there.
            unsafe { memory.write_bytes(0, len) };
            Ok(())
        }
        Where::Device(_) => {
            session.enqueues();
            let driver = session.driver;
            // SAFETY: the tensor has so many bytes there; the stream is in the library's order.
            let code = unsafe { (driver.memset_async)(address, 0, len, session.raw_stream) };
            driver.check("cuMemsetD8Async", code)
        }
    }
}

impl Session<'_> {
    /// An input that the program has on the host, brought to the device.
    pub(crate) fn upload(
        &self,
        bytes: &[u8],
        dtype: DType,
        sizes: &[i64],
        strides: &[i64],
    ) -> Result<Tensor> {
        let storage = self.allocate_plain(bytes.len() as u64)?;
        if let Some(buffer) = storage.buffer()
            && !bytes.is_empty()
        {
            self.with_work(|work| work.upload(buffer.slice(..bytes.len())?, bytes))?;
        }
        Tensor::new(Arc::new(storage), dtype, sizes, strides, 0)
    }

    /// Brings an output to the host, and waits for it.
    pub(crate) fn download(&self, to: &mut [u8], tensor: &Tensor, strides: &[i64]) -> Result<()> {
        let address = to.as_mut_ptr().expose_provenance() as u64;
        let storage = Storage::lent(address, to.len() as u64, Where::Host);
        let output = Tensor::new(Arc::new(storage), tensor.dtype, &tensor.sizes, strides, 0)?;
        copy(self, &output, tensor)
    }
}

/// The bytes of a tensor's only element.
pub(super) fn value(session: &Session<'_>, tensor: &Tensor) -> Result<[u8; 8]> {
    let mut bytes = [0; 8];
    ensure!(
        tensor.dtype.size() <= bytes.len(),
        Unsupported,
        "an element of {}",
        tensor.dtype
    );
    let place = bytes.as_mut_ptr().expose_provenance() as u64;
    let from = (tensor.address(), tensor.storage.on);
    copy_bytes(
        session,
        (place, Where::Host),
        from,
        tensor.dtype.size() as u64,
    )?;
    Ok(bytes)
}
