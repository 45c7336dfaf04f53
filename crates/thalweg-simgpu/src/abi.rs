//! The C types of the functions that the library exports for tests.
//!
//! Tests use [`Sim`](crate::Sim) instead. These are for a stand-in in another library, which looks
//! the functions up and registers kernels of its own.

use std::ffi::c_void;

/// The function of a kernel. Its argument is what it was registered with. It returns 0 on success.
/// It must not unwind and must not call the driver.
pub type KernelEntry = unsafe extern "C" fn(user: *mut c_void, launch: *const LaunchView) -> i32;

/// `simgpu_register_kernel(name, name_len, sizes, count, function, user, release)`: registers the
/// code of all kernels of a name. `sizes` are the sizes of its `count` parameters, in bytes.
/// `release`, if any, is called with `user` when the kernel is replaced and nothing runs it any
/// more.
pub type RegisterKernel = unsafe extern "C" fn(
    name: *const u8,
    name_len: usize,
    sizes: *const usize,
    count: usize,
    function: KernelEntry,
    user: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
);

/// `simgpu_host_access(address, len, write)`: checks an access that the host is about to make.
/// Returns the number of reports that it made.
pub type HostAccess = unsafe extern "C" fn(address: *const c_void, len: usize, write: u32) -> u32;

/// `simgpu_count_call(name, name_len)`: counts a call of a function of another stand-in, so that it
/// takes part in plans of faults. Returns 0, or the code with which the call is to fail.
pub type CountCall = unsafe extern "C" fn(name: *const u8, name_len: usize) -> u32;

/// `simgpu_report(message, len)`: reports an error that another stand-in found.
pub type ReportMisuse = unsafe extern "C" fn(message: *const u8, len: usize);

/// `simgpu_mark(stream)`: records the end of all work in a stream, until the next reset. Returns a
/// number for `simgpu_is_known`, or 0 for a stream that is captured or does not exist. For a
/// default stream, its context must be current.
pub type Mark = unsafe extern "C" fn(stream: u64) -> u64;

/// `simgpu_is_known(mark)`: returns 1 if the host has waited for the end that a mark stands for,
/// and 0 if not, even if the work is complete. The mark 0 is always known.
pub type IsKnown = unsafe extern "C" fn(mark: u64) -> u32;

/// A launch of a kernel, as its function sees it.
#[repr(C)]
pub struct LaunchView {
    /// The name of the kernel: UTF-8, not terminated.
    pub name: *const u8,
    /// The length of the name.
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
    /// The length of `parameters`, in bytes.
    pub parameters_len: usize,
    /// The offset of each parameter in `parameters`.
    pub offsets: *const usize,
    /// The number of parameters.
    pub offsets_len: usize,
    /// The first argument of `access`.
    pub running: *const c_void,
    /// Checks and records an access, and returns the bytes behind an address of the device or of
    /// pinned memory, or null. `write` is 0 or 1. The pointer is valid until the kernel returns.
    pub access: unsafe extern "C" fn(
        running: *const c_void,
        address: u64,
        len: usize,
        write: u32,
    ) -> *mut u8,
}
