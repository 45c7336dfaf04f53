//! Allocation: device memory, pinned memory, stream-ordered memory.

use std::ffi::{c_int, c_uint};

use cudarc::driver::sys::CUresult;

use super::argument::Out;
use super::entry;
use crate::memory::BlockKind;
use crate::report::ReportKind;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};
use crate::work::{Body, Location};

const UNSAFE: Rules = Rules::CONTEXT.unsafe_in_capture();

entry! {
    /// The free and the total memory of the current device.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>), Rules::CONTEXT, |call| {
        let arena = &call.memory.arenas[call.device()?];
        free.set((arena.len() - arena.used()) as usize)?;
        total.set(arena.len() as usize)
    }
}

entry! {
    /// Allocates device memory.
    fn cuMemAlloc_v2(pointer: Out<u64>, bytes: usize), UNSAFE, |call| {
        if pointer.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let (context, site) = (call.context()?, call.site.clone());
        let start = call.allocate(context, bytes as u64, &site)?;
        pointer.set(start)
    }
}

entry! {
    /// Allocates rows of device memory. Each row starts aligned.
    fn cuMemAllocPitch_v2(pointer: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: c_uint), UNSAFE, |call| {
        if pointer.is_null() || pitch.is_null() || !matches!(element, 4 | 8 | 16) {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let (context, site) = (call.context()?, call.site.clone());
        let row = width.next_multiple_of(512);
        let Some(bytes) = row.checked_mul(height) else {
            return fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        };
        let start = call.allocate(context, bytes as u64, &site)?;
        pitch.set(row)?;
        pointer.set(start)
    }
}

entry! {
    /// Frees device memory, after all work of its device.
    fn cuMemFree_v2(pointer: u64), UNSAFE.releases(), |call| {
        if pointer == 0 {
            return Ok(());
        }
        let known = call.memory.starting_at(pointer).and_then(|id| call.memory.block(id));
        match known.map(|block| &block.kind) {
            Some(BlockKind::Device { device, .. }) => {
                let device = *device;
                call.wait_for_device(device);
            }
            Some(_) => return fail(CUresult::CUDA_ERROR_INVALID_VALUE),
            None => {}
        }
        let (site, injected) = (call.site.clone(), call.injected);
        call.free_now(pointer, &site, injected)
    }
}

fn allocate_pinned(call: &mut Call, pointer: Out<u64>, bytes: usize, flags: u32) -> CallResult {
    if pointer.is_null() {
        return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let (context, site) = (call.context()?, call.site.clone());
    if bytes == 0 {
        return pointer.set(0);
    }
    let start = call.allocate_host(context, bytes as u64, flags, &site)?;
    pointer.set(start)
}

entry! {
    /// Allocates page-locked memory of the host.
    fn cuMemAllocHost_v2(pointer: Out<u64>, bytes: usize), UNSAFE, |call| {
        allocate_pinned(call, pointer, bytes, 0)
    }
}

entry! {
    /// Allocates page-locked memory of the host.
    fn cuMemHostAlloc(pointer: Out<u64>, bytes: usize, flags: c_uint), UNSAFE, |call| {
        if flags > 7 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        allocate_pinned(call, pointer, bytes, flags)
    }
}

impl Call {
    /// Reports work that uses host memory that is about to be freed, if the host does not know it
    /// to be complete.
    fn report_busy_host_memory(&mut self, pointer: u64) {
        let Some(id) = self.memory.starting_at(pointer) else {
            return;
        };
        let range = self
            .memory
            .block(id)
            .map_or(0..0, |block| block.start..block.end());
        let touches = |place: &Location| match place {
            Location::Address(address) => range.contains(address),
            Location::Staged(_) => false,
        };
        let pending = self
            .queues
            .iter()
            .flat_map(|queue| &queue.pending)
            .find(|op| match &op.body {
                Body::Copy(copy) => touches(&copy.from) || touches(&copy.to),
                Body::Fill(fill) => range.contains(&fill.address),
                _ => false,
            })
            .map(|op| op.site.clone());
        let by = pending.or_else(|| Some(self.memory.in_use(id, &self.host)?.site));
        if let Some(by) = by {
            let site = self.site.clone();
            self.reports.add(
                ReportKind::FreeWhileInUse,
                format!("{site} frees host memory that {by} may still use"),
                vec![(*site).clone(), (*by).clone()],
            );
        }
    }
}

entry! {
    /// Frees page-locked memory.
    fn cuMemFreeHost(pointer: u64), UNSAFE.releases(), |call| {
        if pointer == 0 {
            return Ok(());
        }
        let known = call.memory.starting_at(pointer).and_then(|id| call.memory.block(id));
        if known.is_some_and(|block| !matches!(block.kind, BlockKind::Pinned { .. })) {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        call.report_busy_host_memory(pointer);
        let (site, injected) = (call.site.clone(), call.injected);
        call.free_now(pointer, &site, injected)
    }
}

entry! {
    /// Page-locks memory of the caller.
    fn cuMemHostRegister_v2(pointer: u64, bytes: usize, flags: c_uint), UNSAFE, |call| {
        if pointer == 0 || bytes == 0 || flags > 15 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let end = pointer + bytes as u64;
        let overlaps = call
            .memory
            .known_blocks()
            .any(|(_, block)| block.start < end && pointer < block.end());
        if overlaps {
            return fail(CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        }
        let (context, site) = (call.context()?, call.site.clone());
        let kind = BlockKind::Registered { flags };
        call.add_block(pointer, bytes as u64, kind, context, &site);
        Ok(())
    }
}

entry! {
    /// Ends the page lock of memory of the caller.
    fn cuMemHostUnregister(pointer: u64), UNSAFE.releases(), |call| {
        let known = call.memory.starting_at(pointer).and_then(|id| call.memory.block(id));
        if !known.is_some_and(|block| matches!(block.kind, BlockKind::Registered { .. })) {
            return fail(CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        }
        call.report_busy_host_memory(pointer);
        let site = call.site.clone();
        call.free_now(pointer, &site, false)
    }
}

entry! {
    /// The device pointer of pinned memory: the same pointer.
    fn cuMemHostGetDevicePointer_v2(pointer: Out<u64>, host: u64, flags: c_uint), Rules::CONTEXT, |call| {
        let pinned = call.memory.known_at(host).is_some_and(|block| block.is_host());
        if flags != 0 || !pinned {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        pointer.set(host)
    }
}

entry! {
    /// The flags of pinned memory.
    fn cuMemHostGetFlags(flags: Out<c_uint>, host: u64), Rules::CONTEXT, |call| {
        match call.memory.known_at(host).map(|block| &block.kind) {
            Some(BlockKind::Pinned { flags: value, .. } | BlockKind::Registered { flags: value }) => {
                flags.set(*value)
            }
            _ => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }
}

entry! {
    /// Allocates memory in the order of a stream, from the current pool of its device.
    fn cuMemAllocAsync / cuMemAllocAsync_ptsz (pointer: Out<u64>, bytes: usize, stream: u64), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        let device = call.streams.get(stream)?.device;
        let pool = call.devices[device].current_pool;
        allocate_in_order(call, pointer, bytes, pool, stream)
    }
}

entry! {
    /// Allocates memory of a pool in the order of a stream.
    fn cuMemAllocFromPoolAsync / cuMemAllocFromPoolAsync_ptsz (pointer: Out<u64>, bytes: usize, pool: u64, stream: u64), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        call.pools.get(pool)?;
        allocate_in_order(call, pointer, bytes, pool, stream)
    }
}

fn allocate_in_order(
    call: &mut Call,
    pointer: Out<u64>,
    bytes: usize,
    pool: u64,
    stream: u64,
) -> CallResult {
    if pointer.is_null() {
        return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    if !call.config.pools {
        return fail(CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
    call.forbid_implicit(stream, true)?;
    call.no_memory_nodes(stream)?;
    if bytes == 0 {
        return pointer.set(0);
    }
    let site = call.site.clone();
    let start = call.allocate_in_order(pool, stream, bytes as u64, &site)?;
    pointer.set(start)
}

impl Call {
    /// Fails in a capture, since graphs here have no allocation nodes, and where a capture forbids
    /// unsafe calls.
    fn no_memory_nodes(&mut self, stream: u64) -> CallResult {
        let Some(capture) = self.valid_capture(stream)? else {
            return self.forbid_unsafe();
        };
        self.captures[capture].invalid = true;
        let site = self.site.clone();
        let message = format!("{site} in a capture: the stand-in has no graphs that allocate");
        self.report(ReportKind::Unsupported, message, &site);
        fail(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }
}

entry! {
    /// Frees memory in the order of a stream.
    fn cuMemFreeAsync / cuMemFreeAsync_ptsz (pointer: u64, stream: u64), Rules::CONTEXT.releases(), |call| {
        let stream = call.stream(stream)?;
        call.forbid_implicit(stream, true)?;
        if pointer == 0 {
            return Ok(());
        }
        call.no_memory_nodes(stream)?;
        let (site, injected) = (call.site.clone(), call.injected);
        call.free_in_order(pointer, stream, &site, injected)
    }
}

entry! {
    /// The start and the length of the allocation around an address.
    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, pointer: u64), Rules::CONTEXT, |call| {
        let Some(block) = call.memory.known_at(pointer) else {
            return fail(CUresult::CUDA_ERROR_NOT_FOUND);
        };
        base.set_if_wanted(block.start);
        bytes.set_if_wanted(block.len as usize);
        Ok(())
    }
}

entry! {
    /// Advises about managed memory. It has no effect.
    fn cuMemAdvise(_pointer: u64, _bytes: usize, _advice: c_uint, _device: c_int), Rules::CONTEXT, |_call| Ok(())
}
