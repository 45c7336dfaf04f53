//! Copies.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use super::argument::In;
use super::entry;
use crate::memory::pageable;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};
use crate::work::{Body, Copy, Location};

/// The kind of memory at an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Device,
    Pinned,
    Pageable,
}

/// The direction of a copy, as the name of the function says it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    ToDevice,
    ToHost,
    OnDevice,
    /// The direction that the addresses have.
    Any,
}

const SYNC: Rules = Rules::CONTEXT;

impl Call {
    fn side(&self, address: u64) -> Side {
        match self.memory.known_at(address) {
            Some(block) if block.is_host() => Side::Pinned,
            Some(_) => Side::Device,
            None => Side::Pageable,
        }
    }

    /// Checks that a caller may use some memory.
    pub(super) fn check_memory(&mut self, address: u64, len: u64, device: bool) -> CallResult {
        let site = self.site.clone();
        let fits = self
            .memory
            .known_at(address)
            .map(|block| block.end() - address >= len);
        let ours = device || self.memory.is_ours(address);
        match fits {
            Some(true) => Ok(()),
            // All other memory is pageable, and cannot be checked.
            None if !ours && address != 0 => Ok(()),
            Some(false) => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
            None => {
                let driver = &mut **self;
                driver
                    .memory
                    .report_unknown(address, &site, &mut driver.reports);
                fail(CUresult::CUDA_ERROR_INVALID_VALUE)
            }
        }
    }

    fn check_copy(&mut self, copy: &Copy, kind: Kind) -> CallResult<(Side, Side)> {
        let (Location::Address(to), Location::Address(from)) = (&copy.to, &copy.from) else {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        let rows = copy.height - 1;
        let to_device = matches!(kind, Kind::ToDevice | Kind::OnDevice);
        let from_device = matches!(kind, Kind::ToHost | Kind::OnDevice);
        self.check_memory(*to, rows * copy.to_pitch + copy.width, to_device)?;
        self.check_memory(*from, rows * copy.from_pitch + copy.width, from_device)?;
        Ok((self.side(*from), self.side(*to)))
    }

    /// Fills a staging buffer from pageable memory.
    fn stage(&self, copy: &mut Copy) {
        let Location::Address(from) = copy.from else {
            return;
        };
        let mut bytes = Vec::with_capacity(copy.bytes() as usize);
        for row in 0..copy.height {
            bytes.extend(pageable(from + row * copy.from_pitch, copy.width).to_vec());
        }
        copy.from = Location::Staged(Arc::new(bytes));
        copy.from_pitch = copy.width;
    }

    fn copy_async(&mut self, mut copy: Copy, kind: Kind, stream: u64) -> CallResult {
        let stream = self.stream(stream)?;
        if copy.bytes() == 0 {
            return Ok(());
        }
        let (from, to) = self.check_copy(&copy, kind)?;
        let captured = self.streams.get(stream)?.capture.is_some();
        if !captured && from == Side::Pageable && to != Side::Pageable {
            self.stage(&mut copy);
        }
        let name = self.site.name.clone();
        let work = self.submit(stream, &name, Body::Copy(copy))?;
        match work {
            // The driver does not come back before it has written pageable memory.
            Some(work) if to == Side::Pageable => self.wait_for(&[work]),
            _ => {}
        }
        Ok(())
    }

    fn copy_sync(&mut self, mut copy: Copy, kind: Kind) -> CallResult {
        let stream = self.stream(0)?;
        self.must_not_capture(stream)?;
        if copy.bytes() == 0 {
            return Ok(());
        }
        let (from, to) = self.check_copy(&copy, kind)?;
        let name = self.site.name.clone();
        if from == Side::Pageable && to == Side::Device {
            // The call waits for earlier work of the stream, but not for the copy itself.
            let tail = self.stream_tail(self.streams.get(stream)?);
            self.wait_for(&tail);
            self.stage(&mut copy);
            self.enqueue(stream, &name, Body::Copy(copy), &[])?;
            return Ok(());
        }
        let work = self.enqueue(stream, &name, Body::Copy(copy), &[])?;
        if from != Side::Device || to != Side::Device {
            self.wait_for(&[work]);
        }
        Ok(())
    }
}

fn plain(to: u64, from: u64, bytes: usize) -> Copy {
    Copy::plain(to, Location::Address(from), bytes as u64)
}

entry! {
    /// Copies in the direction that the addresses have.
    fn cuMemcpy / cuMemcpy_ptds (to: u64, from: u64, bytes: usize), SYNC, |call| {
        call.copy_sync(plain(to, from, bytes), Kind::Any)
    }
}

entry! {
    /// Copies from the host.
    fn cuMemcpyHtoD_v2 / cuMemcpyHtoD_v2_ptds (to: u64, from: u64, bytes: usize), SYNC, |call| {
        call.copy_sync(plain(to, from, bytes), Kind::ToDevice)
    }
}

entry! {
    /// Copies to the host.
    fn cuMemcpyDtoH_v2 / cuMemcpyDtoH_v2_ptds (to: u64, from: u64, bytes: usize), SYNC, |call| {
        call.copy_sync(plain(to, from, bytes), Kind::ToHost)
    }
}

entry! {
    /// Copies within a device.
    fn cuMemcpyDtoD_v2 / cuMemcpyDtoD_v2_ptds (to: u64, from: u64, bytes: usize), SYNC, |call| {
        call.copy_sync(plain(to, from, bytes), Kind::OnDevice)
    }
}

entry! {
    /// Copies from device to device.
    fn cuMemcpyPeer / cuMemcpyPeer_ptds (to: u64, _to_context: u64, from: u64, _from_context: u64, bytes: usize), SYNC, |call| {
        call.copy_sync(plain(to, from, bytes), Kind::OnDevice)
    }
}

entry! {
    /// Copies in a stream, in the direction that the addresses have.
    fn cuMemcpyAsync / cuMemcpyAsync_ptsz (to: u64, from: u64, bytes: usize, stream: u64), Rules::CONTEXT, |call| {
        call.copy_async(plain(to, from, bytes), Kind::Any, stream)
    }
}

entry! {
    /// Copies from the host, in a stream.
    fn cuMemcpyHtoDAsync_v2 / cuMemcpyHtoDAsync_v2_ptsz (to: u64, from: u64, bytes: usize, stream: u64), Rules::CONTEXT, |call| {
        call.copy_async(plain(to, from, bytes), Kind::ToDevice, stream)
    }
}

entry! {
    /// Copies to the host, in a stream.
    fn cuMemcpyDtoHAsync_v2 / cuMemcpyDtoHAsync_v2_ptsz (to: u64, from: u64, bytes: usize, stream: u64), Rules::CONTEXT, |call| {
        call.copy_async(plain(to, from, bytes), Kind::ToHost, stream)
    }
}

entry! {
    /// Copies within a device, in a stream.
    fn cuMemcpyDtoDAsync_v2 / cuMemcpyDtoDAsync_v2_ptsz (to: u64, from: u64, bytes: usize, stream: u64), Rules::CONTEXT, |call| {
        call.copy_async(plain(to, from, bytes), Kind::OnDevice, stream)
    }
}

entry! {
    /// Copies from device to device, in a stream.
    fn cuMemcpyPeerAsync / cuMemcpyPeerAsync_ptsz (to: u64, _to_context: u64, from: u64, _from_context: u64, bytes: usize, stream: u64), Rules::CONTEXT, |call| {
        call.copy_async(plain(to, from, bytes), Kind::OnDevice, stream)
    }
}

/// `CUDA_MEMCPY2D`, with numbers where the bindings have enumerations and pointers.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    from_x: usize,
    from_y: usize,
    from_kind: u32,
    from_host: u64,
    from_device: u64,
    from_array: u64,
    from_pitch: usize,
    to_x: usize,
    to_y: usize,
    to_kind: u32,
    to_host: u64,
    to_device: u64,
    to_array: u64,
    to_pitch: usize,
    width: usize,
    height: usize,
}

const _: () = assert!(size_of::<Rows>() == size_of::<cudarc::driver::sys::CUDA_MEMCPY2D>());

impl Rows {
    fn copy(&self) -> CallResult<Copy> {
        let side = |kind: u32, host: u64, device: u64, pitch: usize, x: usize, y: usize| {
            let pitch = if pitch == 0 { self.width } else { pitch };
            let base = match kind {
                1 => host,
                2 | 4 => device,
                _ => return fail(CUresult::CUDA_ERROR_NOT_SUPPORTED),
            };
            if self.width + x > pitch {
                return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
            }
            Ok((base + (y * pitch + x) as u64, pitch as u64))
        };
        let (from, from_pitch) = side(
            self.from_kind,
            self.from_host,
            self.from_device,
            self.from_pitch,
            self.from_x,
            self.from_y,
        )?;
        let (to, to_pitch) = side(
            self.to_kind,
            self.to_host,
            self.to_device,
            self.to_pitch,
            self.to_x,
            self.to_y,
        )?;
        Ok(Copy {
            to: Location::Address(to),
            to_pitch,
            from: Location::Address(from),
            from_pitch,
            width: self.width as u64,
            height: self.height as u64,
        })
    }
}

entry! {
    /// Copies rows.
    fn cuMemcpy2D_v2 / cuMemcpy2D_v2_ptds (rows: In<Rows>), SYNC, |call| {
        let copy = rows.get()?.copy()?;
        call.copy_sync(copy, Kind::Any)
    }
}

entry! {
    /// Copies rows without any alignment.
    fn cuMemcpy2DUnaligned_v2 / cuMemcpy2DUnaligned_v2_ptds (rows: In<Rows>), SYNC, |call| {
        let copy = rows.get()?.copy()?;
        call.copy_sync(copy, Kind::Any)
    }
}

entry! {
    /// Copies rows, in a stream.
    fn cuMemcpy2DAsync_v2 / cuMemcpy2DAsync_v2_ptsz (rows: In<Rows>, stream: u64), Rules::CONTEXT, |call| {
        let copy = rows.get()?.copy()?;
        call.copy_async(copy, Kind::Any, stream)
    }
}

entry! {
    /// Prefetches managed memory. It has no effect.
    fn cuMemPrefetchAsync / cuMemPrefetchAsync_ptsz (_pointer: u64, _bytes: usize, _device: i32, stream: u64), Rules::CONTEXT, |call| {
        call.stream(stream)?;
        Ok(())
    }
}

/// Reads the parameters of a copy in a graph: `CUDA_MEMCPY3D`. Only one plane is supported.
pub(super) fn row_of_volume(parameters: In<c_void>) -> CallResult<Copy> {
    let volume = In::<cudarc::driver::sys::CUDA_MEMCPY3D>(parameters.0.cast()).get()?;
    let flat = Rows {
        from_x: volume.srcXInBytes,
        from_y: volume.srcY,
        from_kind: volume.srcMemoryType as u32,
        from_host: volume.srcHost as u64,
        from_device: volume.srcDevice,
        from_array: 0,
        from_pitch: volume.srcPitch,
        to_x: volume.dstXInBytes,
        to_y: volume.dstY,
        to_kind: volume.dstMemoryType as u32,
        to_host: volume.dstHost as u64,
        to_device: volume.dstDevice,
        to_array: 0,
        to_pitch: volume.dstPitch,
        width: volume.WidthInBytes,
        height: volume.Height,
    };
    if volume.Depth != 1 || volume.srcZ != 0 || volume.dstZ != 0 {
        return fail(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    flat.copy()
}
