//! Devices and contexts.

use std::collections::HashMap;

/// A device.
pub(crate) struct Device {
    /// The primary context, while somebody retains it.
    pub(crate) primary: Option<u64>,
    pub(crate) retained: u32,
    pub(crate) primary_flags: u32,
    pub(crate) default_pool: u64,
    pub(crate) current_pool: u64,
    /// What every call returns from now on, until the context is gone.
    pub(crate) sticky: Option<u32>,
}

/// A context.
pub(crate) struct Context {
    pub(crate) device: usize,
    pub(crate) kind: ContextKind,
    pub(crate) flags: u32,
    /// The legacy default stream, once it was used.
    pub(crate) legacy: Option<u64>,
    /// The default streams of threads.
    pub(crate) per_thread: HashMap<u64, u64>,
    pub(crate) id: u64,
}

/// Where a context comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextKind {
    Primary,
    Created,
    /// Behind a green context, with its multiprocessors.
    Green {
        multiprocessors: u32,
    },
}

impl Context {
    pub(crate) fn new(device: usize, kind: ContextKind, flags: u32, id: u64) -> Self {
        Self {
            device,
            kind,
            flags,
            legacy: None,
            per_thread: HashMap::new(),
            id,
        }
    }
}
