//! What crosses the border of the shared library: plain C types.
//!
//! Tests use [`Sim`](crate::Sim) instead. Another stand-in that brings kernels of its own looks up
//! `simgpu_register_kernel` in the library and uses these.

use std::ffi::c_void;

/// A kernel's function. It is given what it was registered with, and returns 0 unless it failed.
/// It must not unwind and must not call the driver.
pub type KernelEntry = unsafe extern "C" fn(user: *mut c_void, launch: *const LaunchView) -> i32;

/// `simgpu_register_kernel(name, name_len, sizes, count, function, user, release)`: defines what
/// kernels of a name compute. `sizes` are those of its `count` parameters, in bytes. `release`, if
/// any, is called with `user` when the kernel is replaced and nothing runs it any more.
pub type RegisterKernel = unsafe extern "C" fn(
    name: *const u8,
    name_len: usize,
    sizes: *const usize,
    count: usize,
    function: KernelEntry,
    user: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
);

/// `simgpu_host_access(address, len, write)`: says that the host is about to read or write memory.
/// What is wrong with that is reported; the result is how many reports it made.
pub type HostAccess = unsafe extern "C" fn(address: *const c_void, len: usize, write: u32) -> u32;

/// `simgpu_count_call(name, name_len)`: counts a call of a function of another stand-in, so that
/// plans of faults know it. The result is 0, or the code with which the call is to fail.
pub type CountCall = unsafe extern "C" fn(name: *const u8, name_len: usize) -> u32;

/// `simgpu_report(message, len)`: reports what another stand-in found wrong.
pub type ReportMisuse = unsafe extern "C" fn(message: *const u8, len: usize);

/// `simgpu_mark(stream)`: remembers the end of all work in a stream until the next reset. The
/// result is for `simgpu_is_known`; it is 0 for a stream that is being captured or is none. The
/// context of the stream must be current where it is a default stream.
pub type Mark = unsafe extern "C" fn(stream: u64) -> u64;

/// `simgpu_is_known(mark)`: whether the host has waited for what a mark stands for, whether or not
/// it happens to be done. 0 is always known.
pub type IsKnown = unsafe extern "C" fn(mark: u64) -> u32;

/// One launch of a kernel, while it runs.
#[repr(C)]
pub struct LaunchView {
    /// The kernel's name, UTF-8, not terminated.
    pub name: *const u8,
    /// Its length.
    pub name_len: usize,
    /// The grid.
    pub grid: [u32; 3],
    /// The block.
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared_bytes: u32,
    /// The device.
    pub device: u32,
    /// The values of the parameters.
    pub parameters: *const u8,
    /// How many bytes those are.
    pub parameters_len: usize,
    /// Where each parameter starts in them.
    pub offsets: *const usize,
    /// How many parameters there are.
    pub offsets_len: usize,
    /// For `access`.
    pub running: *const c_void,
    /// Checks and records an access, and gives the bytes behind a device pointer (or a pinned
    /// one), or null. `write` is 0 or 1. The pointer is good until the kernel returns.
    pub access: unsafe extern "C" fn(
        running: *const c_void,
        address: u64,
        len: usize,
        write: u32,
    ) -> *mut u8,
}
