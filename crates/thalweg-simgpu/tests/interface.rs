//! The border between the stand-ins.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => files(&path),
            path => vec![path],
        })
        .collect()
}

#[test]
fn the_stand_in_for_tensorrt_reaches_the_driver_only_through_the_interface() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/nvinfer");
    let files = files(&source);
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for rest in text.split("crate::").skip(1) {
            let module: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            let fine = ["config", "interface", "nvinfer"].contains(&&*module);
            assert!(fine, "{} uses crate::{module}", file.display());
        }
    }
}
