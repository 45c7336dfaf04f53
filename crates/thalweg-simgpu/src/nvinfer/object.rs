//! Objects with the memory layout of NVIDIA's: what callers hold has a virtual table with nothing
//! but a destructor, and a pointer to the implementation, whose table has the methods.
//!
//! Objects are never freed. The tables of a destroyed object report every call.

use std::any::Any;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::class::Class;
use crate::config::TensorRt;
use crate::interface::{self, ObjectEntry, ReportKind, Site};

/// The implementation of a class, behind the tables of an object.
pub(super) trait Implementation: Any + Send + Sync {
    /// The class.
    fn class() -> &'static Class
    where
        Self: Sized;

    /// The logger of the runtime that it comes from.
    fn logger(&self) -> usize;

    /// The recorder of errors, or 0.
    fn recorder(&self) -> usize {
        0
    }

    /// Ends it, when its object is destroyed.
    fn destroyed(&self, _site: &Arc<Site>) {}
}

/// The part of an object that callers hold.
#[repr(C)]
pub(super) struct Outer {
    pub(super) table: AtomicUsize,
    pub(super) inner: *const Inner,
}

/// The part of an object with the methods.
#[repr(C)]
pub(super) struct Inner {
    pub(super) table: AtomicUsize,
    tag: u64,
    outer: AtomicUsize,
    pub(super) class: &'static Class,
    pub(super) version: TensorRt,
    pub(super) entry: ObjectEntry,
    implementation: Mutex<Option<Arc<dyn Implementation>>>,
    /// The call that destroyed it.
    destroyed: Mutex<Option<Arc<Site>>>,
    /// The number of the thread that is in a method, or 0.
    pub(super) thread: AtomicU64,
}

/// The mark of objects of ours.
const TAG: u64 = 0x7468_616c_7765_6721;

impl Outer {
    /// The part with the methods.
    ///
    /// # Safety
    /// The pointer must be null or to an object of ours.
    pub(super) unsafe fn find<'a>(this: *const Self) -> Option<&'a Inner> {
        // SAFETY: as promised; objects are never freed.
        let this = unsafe { this.as_ref() }?;
        // SAFETY: as above.
        unsafe { Inner::find(this.inner) }
    }
}

impl Inner {
    /// A new object, which has no outer part yet.
    pub(super) fn new<T: Implementation>(
        implementation: T,
        table: usize,
        version: TensorRt,
        entry: ObjectEntry,
    ) -> Self {
        Self {
            table: AtomicUsize::new(table),
            tag: TAG,
            outer: AtomicUsize::new(0),
            class: T::class(),
            version,
            entry,
            implementation: Mutex::new(Some(Arc::new(implementation))),
            destroyed: Mutex::new(None),
            thread: AtomicU64::new(0),
        }
    }

    /// The object at an address.
    ///
    /// # Safety
    /// The pointer must be null or to the inner part of an object of ours.
    pub(super) unsafe fn find<'a>(this: *const Self) -> Option<&'a Self> {
        // SAFETY: as promised; objects are never freed.
        let this = unsafe { this.as_ref() }?;
        if this.tag == TAG {
            return Some(this);
        }
        let message = format!("a method was called on {this:p}, which is no object of TensorRT's");
        interface::report(ReportKind::Misuse, message, Vec::new());
        None
    }

    /// The address of the outer part, which callers hold.
    pub(super) fn outer(&self) -> usize {
        self.outer.load(Ordering::Relaxed)
    }

    pub(super) fn set_outer(&self, outer: usize) {
        self.outer.store(outer, Ordering::Relaxed);
    }

    /// The implementation, if it is of this class and the object is not destroyed.
    pub(super) fn implementation<T: Implementation>(&self) -> Option<Arc<T>> {
        let implementation = self
            .implementation
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()?;
        let implementation: Arc<dyn Any + Send + Sync> = implementation;
        implementation.downcast().ok()
    }

    /// Marks the object as destroyed by a call, and returns its implementation.
    pub(super) fn mark_destroyed(&self, site: &Arc<Site>) -> Option<Arc<dyn Implementation>> {
        let mut destroyed = self
            .destroyed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *destroyed = Some(site.clone());
        self.implementation
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Reports a call of a slot after the object was destroyed.
    pub(super) fn report_destroyed(&self, slot: usize) {
        let destroyed = self
            .destroyed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let by = destroyed
            .as_ref()
            .map_or_else(String::new, |site| format!(", which {site} destroyed"));
        let method = self.class.method(self.version.layout(), slot);
        let name = method.map_or("its destructor", |method| method.name);
        interface::report(
            ReportKind::UseAfterDestroy,
            format!("{name} was called of {}{by}", self.entry.label),
            destroyed.iter().map(|site| (**site).clone()).collect(),
        );
    }
}
