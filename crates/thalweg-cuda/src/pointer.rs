//! The kind of memory at an address.

use thalweg_core::Result;

use crate::device::Device;
use crate::handle::pointer_facts;

/// The kind of memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// On the device with this number.
    Device {
        /// The number, as the driver counts.
        ordinal: i32,
    },
    /// On the host, page-locked, such that copies run while the host goes on.
    Pinned,
    /// Wherever it is used; the driver moves it.
    Managed,
    /// On the host, unknown to the driver; or no memory at all.
    Pageable,
}

impl Device {
    /// The kind of memory at an address, as the driver of this device knows. The address may be any.
    ///
    /// # Errors
    /// If the driver fails.
    pub fn memory_kind(&self, address: u64) -> Result<MemoryKind> {
        /// The driver's numbers for kinds of memory.
        const HOST: u32 = 1;
        const DEVICE: u32 = 2;
        let facts = pointer_facts(self.context(), address)?;
        Ok(match facts.memory_type {
            _ if facts.managed => MemoryKind::Managed,
            DEVICE => MemoryKind::Device {
                ordinal: facts.ordinal,
            },
            // On some systems the driver reaches pageable memory too, and says that it is the
            // host's; only for memory that was registered it has an address for the device.
            HOST if facts.device_pointer != 0 => MemoryKind::Pinned,
            _ => MemoryKind::Pageable,
        })
    }
}
