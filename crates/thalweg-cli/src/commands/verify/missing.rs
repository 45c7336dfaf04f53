//! Backends and devices that a case needs and this machine lacks.

use thalweg::info::Missing;

use crate::text;

/// The reason to skip a case: the backends and devices that are missing. Missing operators are a
/// failure instead, since no other machine has them either.
pub(super) fn reason_to_skip(missing: &[Missing]) -> Option<String> {
    let backends = names(missing, |missing| &missing.backends);
    let devices = names(missing, |missing| &missing.devices);
    let mut needs = Vec::new();
    for (missing, noun) in [(&backends, "the backend"), (&devices, "the device")] {
        if !missing.is_empty() {
            needs.push(text::named(noun, missing));
        }
    }
    if needs.is_empty() {
        return None;
    }
    let verb = if backends.len() + devices.len() == 1 {
        "is"
    } else {
        "are"
    };
    let mut reason = format!("{} {verb} not available here", needs.join(" and "));
    let why = names(missing, |missing| &missing.reasons);
    if !why.is_empty() {
        reason += &format!(" ({})", why.join("; "));
    }
    Some(reason)
}

/// The names of one kind that any of the methods lacks.
pub(super) fn names(missing: &[Missing], kind: fn(&Missing) -> &Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = missing.iter().flat_map(kind).cloned().collect();
    all.sort();
    all.dedup();
    all
}
