//! What the sources of every crate of this workspace keep.

use std::collections::BTreeMap;
use std::path::Path;

use thalweg_tidy::{LIMITS, Oversized, Sources, crates, cycles, oversized};

/// Crates whose modules are known to be in cycles. Nothing is added here.
const IN_CYCLES: &[&str] = &[];

/// Crates that are known to have long files or functions. Nothing is added here.
const TOO_LONG: &[&str] = &[];

/// A file or function that may be of any length.
struct Allowed {
    package: &'static str,
    file: &'static str,
    reason: &'static str,
}

const ALLOWED: &[Allowed] = &[Allowed {
    package: "thalweg-format",
    file: "src/schema.rs",
    reason: "generated from the flatbuffers schema",
}];

impl Allowed {
    fn holds(&self, package: &str, long: &Oversized) -> bool {
        package == self.package && long.file == Path::new(self.file)
    }
}

/// Compares what was found in each crate with the crates in which it is known to be.
fn compare(found: &BTreeMap<String, String>, known: &[&str], what: &str) {
    let mut wrong = String::new();
    for (name, found) in found {
        match (found.is_empty(), known.contains(&name.as_str())) {
            (false, false) => {
                wrong += &format!("{name} has {what}:\n{found}\n");
            }
            (true, true) => {
                wrong += &format!("{name} has no {what} any more: remove it from the list\n");
            }
            _ => {}
        }
    }
    for name in known.iter().filter(|name| !found.contains_key(**name)) {
        wrong += &format!("{name} is no crate of this workspace: remove it from the list\n");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What `check` says of each crate.
fn each_crate(mut check: impl FnMut(&str, &Sources) -> String) -> BTreeMap<String, String> {
    let crates = crates().into_iter();
    crates
        .map(|(name, directory)| {
            let found = check(&name, &Sources::read(&directory).unwrap());
            (name, found)
        })
        .collect()
}

#[test]
fn modules_import_each_other_in_one_direction() {
    let found = each_crate(|_, sources| {
        cycles(sources)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    });
    compare(&found, IN_CYCLES, "import cycles");
}

#[test]
fn files_and_functions_can_be_read_in_one_sitting() {
    let found = each_crate(|name, sources| {
        let found = oversized(sources, LIMITS).unwrap();
        let found = found
            .iter()
            .filter(|long| !ALLOWED.iter().any(|allowed| allowed.holds(name, long)));
        found.map(|long| format!("  {long}\n")).collect()
    });
    compare(&found, TOO_LONG, "files or functions that are too long");
}

#[test]
fn what_may_be_long_is_long() {
    let mut long = Vec::new();
    for (name, directory) in crates() {
        let found = oversized(&Sources::read(&directory).unwrap(), LIMITS).unwrap();
        long.extend(found.into_iter().map(|long| (name.clone(), long)));
    }
    for allowed in ALLOWED {
        let needed = long.iter().any(|(name, long)| allowed.holds(name, long));
        assert!(
            needed,
            "nothing in {} is long any more that may be ({})",
            allowed.package, allowed.reason
        );
    }
}
