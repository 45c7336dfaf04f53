//! Programs with real compiled libraries: those of the folder that `THALWEG_TEST_PROGRAMS` names, or else of
//! the repository's `fixtures/cuda.tar.xz`.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A folder with a folder for each program.
pub(crate) fn folder() -> PathBuf {
    static EXTRACTED: OnceLock<tempfile::TempDir> = OnceLock::new();
    if let Some(folder) = std::env::var_os("THALWEG_TEST_PROGRAMS") {
        return folder.into();
    }
    let extracted = EXTRACTED.get_or_init(|| {
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cuda.tar.xz");
        let archive = BufReader::new(File::open(archive).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let mut archive = tar::Archive::new(lzma_rust2::XzReader::new(archive, true));
        archive.unpack(folder.path()).unwrap();
        folder
    });
    extracted.path().into()
}
