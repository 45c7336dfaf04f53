//! What the stand-in for TensorRT needs of the driver beside launching kernels.

use std::ffi::c_void;
use std::sync::Arc;

use super::refusal::{Refusal, Refused};
use crate::call::{Rules, within};
use crate::control::simgpu_host_access;
use crate::report::{ReportKind, Site};
use crate::status::Status;
use crate::worker::SHARED;

/// The device of the current context.
pub(super) fn current(site: &Arc<Site>) -> Refused<usize> {
    let result = within(site, Rules::ALWAYS, |call| call.device());
    result.map_err(|Status(code)| {
        // The real one would take the primary context of device 0, which is seldom meant.
        let message = format!("{site} was called without a current context");
        let sites = vec![(**site).clone()];
        SHARED
            .lock()
            .reports
            .add(ReportKind::Misuse, message, sites);
        Refusal::Driver("there is no current context".into(), code)
    })
}

/// Allocates memory of the current device; none if it is of no bytes.
pub(super) fn allocate(site: &Arc<Site>, bytes: u64) -> Refused<u64> {
    if bytes == 0 {
        return Ok(0);
    }
    let result = within(site, Rules::CONTEXT.unsafe_in_capture(), |call| {
        if let Some(code) = call.faults.call("cuMemAlloc") {
            return Err(Status(code));
        }
        let (context, site) = (call.context()?, call.site.clone());
        call.allocate(context, bytes, &site)
    });
    result.map_err(|Status(code)| match code {
        2 => Refusal::Memory(format!("{bytes} bytes of device memory")),
        code => Refusal::Driver(format!("allocating {bytes} bytes"), code),
    })
}

/// Frees memory, after all work of its device.
pub(super) fn free(site: &Arc<Site>, start: u64) {
    if start == 0 {
        return;
    }
    // It is freed whatever happens, as the real one's destructors do.
    let _ = within(site, Rules::ALWAYS, |call| {
        let block = call.memory.starting_at(start);
        let block = block.and_then(|id| call.memory.block(id));
        if let Some(crate::memory::BlockKind::Device { device, .. }) = block.map(|b| &b.kind) {
            let device = *device;
            call.wait_for_device(device);
        }
        let site = call.site.clone();
        call.free_now(start, &site, false)
    });
}

/// Reads memory of the host, and reports if that is not ordered.
///
/// # Safety
/// So many bytes must be there.
pub(super) unsafe fn read_host(address: u64, len: usize) -> Vec<u8> {
    if len == 0 {
        return Vec::new();
    }
    simgpu_host_access(address as *const c_void, len, 0);
    // SAFETY: as promised by the caller.
    unsafe { std::slice::from_raw_parts(address as *const u8, len) }.to_vec()
}
