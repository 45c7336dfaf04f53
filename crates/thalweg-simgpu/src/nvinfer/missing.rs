//! The functions of slots that only report: of methods that a version does not have or that the
//! stand-in does not model, and of destroyed objects.

use super::class::SLOTS;
use super::object::{Inner, Outer};
use crate::interface::{ReportKind, report};

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

/// The slots of the inner part of an object, before its methods are put in.
pub(super) fn slots() -> [usize; SLOTS] {
    each_slot!(missing)
}

/// The slots of the outer part of an object, before its two destructors are put in.
pub(super) fn outer_slots() -> [usize; SLOTS] {
    each_slot!(missing_outer)
}

/// The slots of the inner part of a destroyed object.
pub(super) fn dead_slots() -> [usize; SLOTS] {
    each_slot!(dead)
}

/// The slots of the outer part of a destroyed object.
pub(super) fn dead_outer_slots() -> [usize; SLOTS] {
    each_slot!(dead_outer)
}

/// A slot without a method. It returns zero, which is also false and null.
unsafe extern "C" fn missing<const SLOT: usize>(this: *mut Inner) -> usize {
    // SAFETY: the slot is in the table of an object of ours, which is never freed.
    let Some(object) = (unsafe { Inner::find(this) }) else {
        return 0;
    };
    let (class, version) = (object.class, object.version);
    match class.method(version.layout(), SLOT) {
        Some(method) => report(
            ReportKind::Unsupported,
            format!("{}::{} is not in the stand-in", class.name, method.name),
            Vec::new(),
        ),
        None => report(
            ReportKind::Misuse,
            format!(
                "slot {SLOT} of {} does not exist in version {version}",
                class.name
            ),
            Vec::new(),
        ),
    }
    0
}

unsafe extern "C" fn missing_outer<const SLOT: usize>(this: *mut Outer) -> usize {
    // SAFETY: as above.
    if let Some(object) = unsafe { Outer::find(this) } {
        let name = object.class.name;
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
        object.report_destroyed(SLOT);
    }
    0
}

unsafe extern "C" fn dead_outer<const SLOT: usize>(this: *mut Outer) -> usize {
    // SAFETY: as above.
    if let Some(object) = unsafe { Outer::find(this) } {
        object.report_destroyed(SLOT);
    }
    0
}
