//! Filling memory with a pattern.

use std::ffi::{c_uchar, c_uint, c_ushort};

use super::entry;
use crate::simulator::{Call, Rules};
use crate::status::CallResult;
use crate::work::{Body, Fill};

const SYNC: Rules = Rules::CONTEXT;

impl Call {
    fn fill(&mut self, fill: Fill, stream: Option<u64>) -> CallResult {
        let handle = self.stream(stream.unwrap_or(0))?;
        if fill.width == 0 || fill.height == 0 {
            return Ok(());
        }
        let len = (fill.height - 1) * fill.pitch + fill.width;
        self.check_memory(fill.address, len, true)?;
        let host = self
            .memory
            .known_at(fill.address)
            .is_some_and(|block| block.is_host());
        let name = self.site.name.clone();
        let work = self.submit(handle, &name, Body::Fill(fill))?;
        // Without a stream, the host waits where the memory is its own, and only there.
        if let Some(work) = work
            && host
            && stream.is_none()
        {
            self.wait_for(&[work]);
        }
        Ok(())
    }
}

fn row(address: u64, pattern: &[u8], count: usize) -> Fill {
    let width = (count * pattern.len()) as u64;
    rows(address, width as usize, pattern, count, 1)
}

fn rows(address: u64, pitch: usize, pattern: &[u8], count: usize, height: usize) -> Fill {
    Fill {
        address,
        pattern: pattern.to_vec(),
        pitch: pitch as u64,
        width: (count * pattern.len()) as u64,
        height: height as u64,
    }
}

macro_rules! fills {
    ($($sync:ident / $sync_thread:ident, $asynchronous:ident / $async_thread:ident, $type:ty;)*) => {$(
        entry! {
            /// Fills memory.
            fn $sync / $sync_thread (address: u64, value: $type, count: usize), SYNC, |call| {
                call.fill(row(address, &value.to_ne_bytes(), count), None)
            }
        }

        entry! {
            /// Fills memory, in a stream.
            fn $asynchronous / $async_thread (address: u64, value: $type, count: usize, stream: u64), Rules::CONTEXT, |call| {
                call.fill(row(address, &value.to_ne_bytes(), count), Some(stream))
            }
        }
    )*};
}

macro_rules! row_fills {
    ($($sync:ident / $sync_thread:ident, $asynchronous:ident / $async_thread:ident, $type:ty;)*) => {$(
        entry! {
            /// Fills rows of memory.
            fn $sync / $sync_thread (address: u64, pitch: usize, value: $type, width: usize, height: usize), SYNC, |call| {
                call.fill(rows(address, pitch, &value.to_ne_bytes(), width, height), None)
            }
        }

        entry! {
            /// Fills rows of memory, in a stream.
            fn $asynchronous / $async_thread (address: u64, pitch: usize, value: $type, width: usize, height: usize, stream: u64), Rules::CONTEXT, |call| {
                call.fill(rows(address, pitch, &value.to_ne_bytes(), width, height), Some(stream))
            }
        }
    )*};
}

fills! {
    cuMemsetD8_v2 / cuMemsetD8_v2_ptds, cuMemsetD8Async / cuMemsetD8Async_ptsz, c_uchar;
    cuMemsetD16_v2 / cuMemsetD16_v2_ptds, cuMemsetD16Async / cuMemsetD16Async_ptsz, c_ushort;
    cuMemsetD32_v2 / cuMemsetD32_v2_ptds, cuMemsetD32Async / cuMemsetD32Async_ptsz, c_uint;
}

row_fills! {
    cuMemsetD2D8_v2 / cuMemsetD2D8_v2_ptds, cuMemsetD2D8Async / cuMemsetD2D8Async_ptsz, c_uchar;
    cuMemsetD2D16_v2 / cuMemsetD2D16_v2_ptds, cuMemsetD2D16Async / cuMemsetD2D16Async_ptsz, c_ushort;
    cuMemsetD2D32_v2 / cuMemsetD2D32_v2_ptds, cuMemsetD2D32Async / cuMemsetD2D32Async_ptsz, c_uint;
}
