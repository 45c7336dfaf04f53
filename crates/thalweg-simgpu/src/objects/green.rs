//! Green contexts: contexts with a part of a device's multiprocessors.

/// A green context.
pub(crate) struct GreenContext {
    /// The ordinary context behind it.
    pub(crate) context: u64,
    pub(crate) multiprocessors: u32,
}

/// What a green context is to be made of.
pub(crate) struct ResourceDescription {
    pub(crate) multiprocessors: u32,
}

/// Groups of multiprocessors come in multiples of this.
pub(crate) const GROUP: u32 = 8;
