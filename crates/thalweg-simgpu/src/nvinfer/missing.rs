//! Slots that do nothing but report: those that a version does not have, those that the stand-in
//! does not model, and all slots of objects that were destroyed.

use super::layout::{SLOTS, rows};
use super::object::{Inner, Outer, report};
use crate::report::ReportKind;

macro_rules! each_slot {
    ($function:ident) => {
        each_slot!(@ $function
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60
            61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89
            90 91 92 93 94 95)
    };
    (@ $function:ident $($slot:literal)*) => { [$($function::<$slot> as *const () as usize),*] };
}

/// For an implementation.
pub(super) fn slots() -> [usize; SLOTS] {
    each_slot!(missing)
}

/// For an object as callers hold it; its two destructors are to be put in.
pub(super) fn outer_slots() -> [usize; SLOTS] {
    each_slot!(missing_outer)
}

/// For an implementation that was destroyed.
pub(super) fn dead_slots() -> [usize; SLOTS] {
    each_slot!(dead)
}

/// For an object that was destroyed.
pub(super) fn dead_outer_slots() -> [usize; SLOTS] {
    each_slot!(dead_outer)
}

/// What a caller gets: a zero, whether it is taken for a number, a flag or a pointer.
unsafe extern "C" fn missing<const SLOT: usize>(this: *mut Inner) -> usize {
    // SAFETY: the slot is in the table of an object of ours, which is never freed.
    let Some(object) = (unsafe { Inner::find(this) }) else {
        return 0;
    };
    let (class, version) = (object.class, object.version);
    let known = rows(class, version.layout());
    let known = SLOT.checked_sub(2).and_then(|index| known.get(index));
    match known {
        Some(row) => report(
            ReportKind::Unsupported,
            format!("{}::{} is not in the stand-in", class.name(), row.name),
            Vec::new(),
        ),
        None => report(
            ReportKind::Misuse,
            format!(
                "slot {SLOT} of {} does not exist in version {version}",
                class.name()
            ),
            Vec::new(),
        ),
    }
    0
}

unsafe extern "C" fn missing_outer<const SLOT: usize>(this: *mut Outer) -> usize {
    // SAFETY: as above.
    if let Some(object) = unsafe { Outer::find(this) } {
        let name = object.class.name();
        let message = format!(
            "slot {SLOT} of {name} itself, which has only a destructor: the methods are in the table of its implementation"
        );
        report(ReportKind::Misuse, message, Vec::new());
    }
    0
}

unsafe extern "C" fn dead<const SLOT: usize>(this: *mut Inner) -> usize {
    // SAFETY: as above.
    if let Some(object) = unsafe { Inner::find(this) } {
        object.report_dead(SLOT);
    }
    0
}

unsafe extern "C" fn dead_outer<const SLOT: usize>(this: *mut Outer) -> usize {
    // SAFETY: as above.
    if let Some(object) = unsafe { Outer::find(this) } {
        object.report_dead(SLOT);
    }
    0
}
