//! Devices and contexts.

use std::collections::HashMap;

/// A device.
pub(crate) struct Device {
    /// The primary context, while it is retained.
    pub(crate) primary: Option<u64>,
    pub(crate) retained: u32,
    pub(crate) primary_flags: u32,
    pub(crate) default_pool: u64,
    pub(crate) current_pool: u64,
    /// The sticky error: the result of every call, until the context is gone.
    pub(crate) sticky: Option<u32>,
}

/// A context.
pub(crate) struct Context {
    pub(crate) device: usize,
    pub(crate) kind: ContextKind,
    pub(crate) flags: u32,
    /// The legacy default stream, once it was used.
    pub(crate) legacy: Option<u64>,
    /// The default streams of threads, by number of the thread.
    pub(crate) per_thread: HashMap<u64, u64>,
    pub(crate) id: u64,
}

/// The origin of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextKind {
    Primary,
    Created,
    /// The context behind a green context, with its multiprocessors.
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
