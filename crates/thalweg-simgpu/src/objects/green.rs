//! Green contexts: contexts with a part of a device's multiprocessors.

/// A green context.
pub(crate) struct GreenContext {
    /// The ordinary context behind it.
    pub(crate) context: u64,
    pub(crate) multiprocessors: u32,
}

/// The resources of a green context that is to be created.
pub(crate) struct ResourceDescription {
    pub(crate) multiprocessors: u32,
}

/// The multiple in which groups of multiprocessors come.
pub(crate) const GROUP: u32 = 8;
