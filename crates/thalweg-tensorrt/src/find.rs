//! The locations where TensorRT is looked for.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_core::{Error, ErrorKind, Result};
use thalweg_cuda::library::{self, Attempt, Location};

use crate::abi::Library;
use crate::options::Options;
use crate::version::{Flavor, Version};

/// The environment variable that names the library's file.
pub(crate) const VARIABLE: &str = "THALWEG_TENSORRT";

/// The names of libraries that can run engines, the best first.
const NAMES: [&str; 7] = [
    "libnvinfer.so.11",
    "libnvinfer.so.10",
    "libnvinfer_lean.so.11",
    "libnvinfer_lean.so.10",
    "libnvinfer_dispatch.so.11",
    "libnvinfer_dispatch.so.10",
    "libtensorrt_rtx.so.1",
];

/// Packages for Python that bring such libraries.
const PACKAGES: [&str; 4] = [
    "tensorrt_libs",
    "tensorrt_lean_libs",
    "tensorrt_dispatch_libs",
    "tensorrt_rtx_libs",
];

/// How to get TensorRT, for people whose machine lacks it.
pub const HOW_TO_GET: &str = "install TensorRT 10 or 11 (`pip install tensorrt` brings its library), and set \
                   THALWEG_TENSORRT to the file of `libnvinfer.so` if it is not found by itself";

/// A library of TensorRT, as a search finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundLibrary {
    /// Its version.
    pub version: Version,
    /// What kind of TensorRT it is.
    pub flavor: Flavor,
}

impl fmt::Display for FoundLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flavor, self.version)
    }
}

/// Tries every location until one has a library.
pub(crate) fn search(options: &Options) -> (Vec<Attempt<FoundLibrary>>, Option<Arc<Library>>) {
    let locations = locations(options, &Environment::of_process());
    let (attempts, library) = library::search(locations, Library::open, |library| FoundLibrary {
        version: library.version(),
        flavor: library.flavor(),
    });
    (attempts, library.map(Arc::new))
}

/// Finds a library.
///
/// # Errors
/// If there is none, with where was looked and how to get one.
pub(crate) fn find(options: &Options) -> Result<Arc<Library>> {
    let (attempts, library) = search(options);
    library.ok_or_else(|| {
        Error::new(
            ErrorKind::Missing,
            format!(
                "TensorRT was not found; looked at {}; {HOW_TO_GET}",
                library::failures(&attempts)
            ),
        )
    })
}

/// The variables of the process's environment that say where to look.
#[derive(Default)]
struct Environment {
    variable: Option<OsString>,
    /// The Python environment that is active.
    virtual_env: Option<OsString>,
    conda: Option<OsString>,
    path: Option<OsString>,
    home: Option<OsString>,
}

impl Environment {
    fn of_process() -> Self {
        let get = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            variable: get(VARIABLE),
            virtual_env: get("VIRTUAL_ENV"),
            conda: get("CONDA_PREFIX"),
            path: get("PATH"),
            home: get("HOME"),
        }
    }

    /// The folders with a `lib` that has Python's packages.
    fn python_prefixes(&self) -> Vec<PathBuf> {
        if let Some(active) = self.virtual_env.as_ref().or(self.conda.as_ref()) {
            return vec![active.into()];
        }
        // Else the Python that is found first, and the user's own packages.
        let path = self.path.clone().unwrap_or_default();
        let mut folders = std::env::split_paths(&path);
        let python = folders.find(|folder| folder.join("python3").exists());
        let prefix = python.and_then(|folder| folder.parent().map(Path::to_owned));
        let user = self
            .home
            .as_ref()
            .map(|home| Path::new(home).join(".local"));
        user.into_iter().chain(prefix).collect()
    }
}

/// The locations of TensorRT, in order. A file that is named is the only one.
fn locations(options: &Options, environment: &Environment) -> Vec<Location> {
    if let Some(path) = &options.library {
        return vec![Location::File(path.clone())];
    }
    if let Some(path) = &environment.variable {
        return vec![Location::Variable {
            name: VARIABLE,
            path: path.into(),
        }];
    }
    let mut locations: Vec<_> = NAMES.map(Location::Loaded).into();
    locations.extend(NAMES.map(Location::System));
    let mut found = Vec::new();
    for prefix in environment.python_prefixes() {
        let packages = sorted(&prefix.join("lib"))
            .into_iter()
            .filter(|path| name_of(path).starts_with("python3"))
            .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)));
        let mut packages: Vec<_> = packages.collect();
        // Debian keeps them here.
        packages.push(prefix.join("lib/python3/dist-packages"));
        for folder in packages {
            for package in PACKAGES {
                let files = NAMES.map(|name| folder.join(package).join(name));
                found.extend(files.into_iter().filter(|file| file.exists()));
            }
        }
    }
    found.dedup();
    if found.is_empty() {
        locations.push(Location::NoPython);
    }
    locations.extend(found.into_iter().map(Location::Python));
    locations
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// What is in a folder, in an order that does not change.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_named_is_the_only_location() {
        let options = Options::new().library("/nowhere/libnvinfer.so.10");
        let (attempts, library) = search(&options);
        assert!(library.is_none());
        assert_eq!(attempts.len(), 1);
        let error = find(&options).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Missing);
        let text = error.to_string();
        assert!(text.contains("/nowhere/libnvinfer.so.10"), "{text}");
        assert!(text.contains("pip install tensorrt"), "{text}");
        let environment = Environment {
            variable: Some("/some/file".into()),
            ..Environment::default()
        };
        let locations = locations(&Options::new(), &environment);
        let variable = Location::Variable {
            name: VARIABLE,
            path: "/some/file".into(),
        };
        assert_eq!(locations, [variable]);
    }

    #[test]
    fn libraries_of_the_process_come_first_and_packages_of_python_last() {
        let folder = std::env::temp_dir().join(format!("thalweg-find-{}", std::process::id()));
        let package = folder.join("lib/python3.12/site-packages/tensorrt_libs");
        std::fs::create_dir_all(&package).unwrap();
        let file = package.join("libnvinfer.so.10");
        std::fs::write(&file, "").unwrap();
        let environment = Environment {
            virtual_env: Some(folder.clone().into()),
            conda: Some("/not/looked/at".into()),
            ..Environment::default()
        };
        let locations = locations(&Options::new(), &environment);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(locations[0], Location::Loaded("libnvinfer.so.11"));
        assert_eq!(locations[NAMES.len()], Location::System("libnvinfer.so.11"));
        assert_eq!(locations.last(), Some(&Location::Python(file)));
        assert!(!locations.contains(&Location::NoPython));
    }
}
