//! Buffers: memory that knows the work which uses it.

mod device;
mod pinned;
mod range;

pub(crate) use device::allocate;
pub use device::{DeviceBuffer, DeviceSlice};
pub use pinned::{HostBytes, HostBytesMut, PinnedBuffer, PinnedSlice};
