//! Looking for libraries of the system, without opening them.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that loaders look into besides those that are configured, or that a driver is known to
/// be put into.
const FOLDERS: [&str; 13] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/cuda/compat",
    "/usr/local/cuda/lib64",
];

/// The first file of a name where the system's loader would look: `LD_LIBRARY_PATH`, the loader's
/// cache, the usual folders.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let configured = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let in_configured = env::split_paths(&configured)
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join(name));
    let cache = fs::read("/etc/ld.so.cache").unwrap_or_default();
    let usual = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
    in_configured
        .chain(in_cache(&cache, name))
        .chain(usual)
        .find(|path| path.is_file())
}

/// The version that a library's file is called by, where a link leads to it: `10.6.0` for
/// `libnvinfer.so.10 -> libnvinfer.so.10.6.0`.
pub(crate) fn version(path: &Path) -> Option<String> {
    let file = path.canonicalize().ok()?;
    let name = file.file_name()?.to_str()?;
    let version = name.split_once(".so.")?.1;
    Some(version.to_string())
}

/// The paths in the loader's cache that end with a file name. The cache ends with a table of
/// strings, each ended by a zero byte, among them the paths.
fn in_cache(cache: &[u8], name: &str) -> Vec<PathBuf> {
    let paths: BTreeSet<PathBuf> = cache
        .split(|&byte| byte == 0)
        .filter(|string| string.starts_with(b"/"))
        .filter_map(|string| std::str::from_utf8(string).ok())
        .map(PathBuf::from)
        .filter(|path| path.file_name().is_some_and(|file| file == name))
        .collect();
    paths.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_of_the_loader_is_searched_by_file_name() {
        let cache = b"glibc-ld.so.cache1.1\0\x01\x02\0libcuda.so.1\0/opt/lib/libcuda.so.1\0\
                      /opt/lib/libcuda.so.12\0/opt/lib\0";
        assert_eq!(
            in_cache(cache, "libcuda.so.1"),
            [PathBuf::from("/opt/lib/libcuda.so.1")]
        );
        assert!(in_cache(b"", "libcuda.so.1").is_empty());
    }

    #[test]
    fn the_version_is_in_the_name_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libnvinfer.so.10.6.0");
        fs::write(&file, "").unwrap();
        assert_eq!(version(&file).as_deref(), Some("10.6.0"));
        assert_eq!(version(&folder.path().join("libother.so")), None);
    }
}
