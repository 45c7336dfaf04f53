//! A request for memory of a pool.

use crate::order::Tenant;

/// A request for a lease.
#[derive(Clone, Copy)]
pub struct Request<'r> {
    /// The number of bytes.
    pub(super) len: usize,
    /// The call that asks, if it is for a lease.
    pub(super) tenant: Option<&'r Tenant>,
    /// True if the lease may last until the call ends, since its end will be known.
    pub(super) may_last: bool,
    pub(super) observer: &'r dyn PoolObserver,
}

/// An observer of what a pool does for a request, as it happens.
pub trait PoolObserver {
    /// A stream waits for the last use of a block of so many bytes.
    fn stream_waits(&self, bytes: usize) {
        let _ = bytes;
    }

    /// A block is replaced by a larger one.
    fn grows(&self, from: usize, to: usize) {
        let _ = (from, to);
    }

    /// The driver has given so many bytes.
    fn allocated(&self, bytes: usize) {
        let _ = bytes;
    }

    /// Memory is out, and so many blocks are freed that nobody has, of so many bytes in all.
    fn trimmed(&self, blocks: usize, bytes: usize) {
        let _ = (blocks, bytes);
    }

    /// The host waits for its turn while `wait` runs.
    fn host_waits(&self, wait: &mut dyn FnMut()) {
        wait();
    }
}

/// Observes nothing.
impl PoolObserver for () {}

impl<'r> Request<'r> {
    /// A request of a call for `len` bytes until it ends.
    pub fn new(len: usize, tenant: &'r Tenant) -> Self {
        Self {
            len,
            tenant: Some(tenant),
            may_last: true,
            observer: &(),
        }
    }

    /// A request for a buffer.
    pub(super) fn for_buffer(len: usize) -> Self {
        Self {
            len,
            tenant: None,
            may_last: false,
            observer: &(),
        }
    }

    /// Sets whether the lease may last until the call ends. One that may not is ended right after what
    /// uses it was enqueued.
    #[must_use]
    pub fn may_last(self, may_last: bool) -> Self {
        Self { may_last, ..self }
    }

    /// Sets the observer.
    #[must_use]
    pub fn observer(self, observer: &'r dyn PoolObserver) -> Self {
        Self { observer, ..self }
    }
}
