//! Memory: allocations of the driver, alone and with the uses that order them, and pinned memory that is
//! kept for later.

mod block;
mod device;
mod kept_pinned;
mod pinned;
mod staging;

pub(crate) use block::{DeviceBlock, Home, PinnedBlock};
pub(crate) use device::DeviceMemory;
pub(crate) use kept_pinned::KeptPinned;
pub(crate) use pinned::PinnedMemory;
pub(crate) use staging::{LARGE, Staging};
