//! The creation and the destruction of objects, and their virtual tables.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::class::{Class, SLOTS, Version};
use super::missing;
use super::object::{Implementation, Inner, Outer};
use crate::config::TensorRt;
use crate::interface::{self, Site};

/// Creates an object. Returns the address that callers hold.
pub(super) fn create<T: Implementation>(
    implementation: T,
    version: TensorRt,
    site: &Arc<Site>,
) -> usize {
    let class = T::class();
    let entry = interface::add_object(class.name, site);
    let table = method_table(class, version.layout());
    let inner = Inner::new(implementation, table, version, entry);
    let inner: &'static Inner = Box::leak(Box::new(inner));
    let outer = Box::leak(Box::new(Outer {
        table: AtomicUsize::new(*OUTER),
        inner,
    }));
    let outer = std::ptr::from_mut(outer) as usize;
    inner.set_outer(outer);
    outer
}

/// Destroys an object.
unsafe extern "C" fn destroy(this: *mut Outer) {
    // SAFETY: the slot is in the table of an object of ours.
    let Some(object) = (unsafe { Outer::find(this) }) else {
        return;
    };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let name = format!("nvinfer.{}.~", object.class.name);
        let site = interface::count_call(&name).site;
        let current = interface::remove_object(&object.entry);
        let implementation = object.mark_destroyed(&site);
        let (outer_table, table) = *DESTROYED;
        object.table.store(table, Ordering::Release);
        // SAFETY: it is an object of ours, which is never freed.
        unsafe { &*this }
            .table
            .store(outer_table, Ordering::Release);
        // The memory of an object of an earlier session is gone already.
        if let Some(implementation) = implementation.filter(|_| current) {
            implementation.destroyed(&site);
        }
    }));
}

/// The table of the outer part of each object.
static OUTER: LazyLock<usize> = LazyLock::new(|| {
    let mut slots = missing::outer_slots();
    // The destructor of an object in place, and the one that frees its memory, too.
    slots[0] = destroy as *const () as usize;
    slots[1] = destroy as *const () as usize;
    leak_table(&slots)
});

/// The tables of the outer and the inner part of destroyed objects.
static DESTROYED: LazyLock<(usize, usize)> = LazyLock::new(|| {
    let outer = leak_table(&missing::dead_outer_slots());
    (outer, leak_table(&missing::dead_slots()))
});

/// The table of the inner part of a class's objects in a version. Each is made once.
fn method_table(class: &'static Class, version: Version) -> usize {
    static TABLES: LazyLock<Mutex<HashMap<(&str, Version), usize>>> = LazyLock::new(Mutex::default);
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    *tables.entry((class.name, version)).or_insert_with(|| {
        let mut slots = missing::slots();
        for (slot, method) in class.methods(version).iter().enumerate() {
            if let Some(function) = method.function {
                slots[slot + 2] = function;
            }
        }
        leak_table(&slots)
    })
}

/// The length of what is ahead of the slots of a table: the offset to the top, and no type
/// information.
const AHEAD: usize = 2;

/// Allocates a table that stays, and returns the address of its first slot.
fn leak_table(slots: &[usize; SLOTS]) -> usize {
    let mut table = vec![0; AHEAD];
    table.extend(slots);
    let table: &'static [usize] = Vec::leak(table);
    table[AHEAD..].as_ptr() as usize
}
