//! Accesses to memory.

/// The kind of an access to memory, by the host or by a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes, and may read.
    Write,
}
