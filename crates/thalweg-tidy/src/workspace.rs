//! The crates of this workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::lengths::Limits;

/// What a file and a function of this workspace may have.
pub const LIMITS: Limits = Limits {
    file: 600,
    function: 80,
};

/// The folders of all crates, by their names.
///
/// # Panics
///
/// If the folder that they are in cannot be read.
pub fn crates() -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = fs::read_dir(&folder).expect("the workspace has a folder of crates");
    entries
        .map(|entry| entry.expect("entries can be read").path())
        .filter(|path| path.join("Cargo.toml").is_file())
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            (name.into_owned(), path)
        })
        .collect()
}
