//! The small programs that are kept in the repository.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::PathBuf;

/// The folder of one of them.
pub(crate) fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures", name]
        .iter()
        .collect()
}

/// A file of one of them.
pub(crate) fn file(name: &str, file: &str) -> Vec<u8> {
    let path = folder(name).join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The program of one of them.
pub(crate) fn program(name: &str) -> Vec<u8> {
    file(name, "model.pte")
}

/// Those that the tests here read, as upstream's exporter wrote them.
pub(crate) const PROGRAMS: [&str; 8] = [
    "add",
    "cond",
    "counter_initial_state",
    "external_some",
    "lists",
    "map",
    "optional_none",
    "xnnpack_inline_delegate",
];
