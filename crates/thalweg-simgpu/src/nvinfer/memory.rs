//! The memory that engines and contexts use.

use std::sync::Arc;

use super::error::{ApiError, ApiResult};
use crate::interface::{self, ReportKind, Site};

/// The device of the current context.
pub(super) fn current_device(site: &Arc<Site>) -> ApiResult<usize> {
    interface::current_device(site).map_err(|code| {
        // The real one would take the primary context of device 0, which is seldom meant.
        let message = format!("{site} was called without a current context");
        interface::report(ReportKind::Misuse, message, vec![(**site).clone()]);
        ApiError::Driver("there is no current context".into(), code)
    })
}

/// Allocates memory of the current device, or nothing for 0 bytes.
pub(super) fn allocate(site: &Arc<Site>, bytes: u64) -> ApiResult<u64> {
    if bytes == 0 {
        return Ok(0);
    }
    interface::allocate(site, bytes).map_err(|code| match code {
        2 => ApiError::Memory(format!("{bytes} bytes of device memory")),
        code => ApiError::Driver(format!("allocating {bytes} bytes"), code),
    })
}

/// Frees memory, after all work of its device.
pub(super) fn free(site: &Arc<Site>, address: u64) {
    if address != 0 {
        interface::free(site, address);
    }
}

/// Reads memory of the host, and reports a race.
///
/// # Safety
/// The memory must be readable.
pub(super) unsafe fn read_host(address: u64, len: usize) -> Vec<u8> {
    if len == 0 {
        return Vec::new();
    }
    interface::host_read(address, len);
    // SAFETY: as promised by the caller.
    unsafe { std::slice::from_raw_parts(address as *const u8, len) }.to_vec()
}
