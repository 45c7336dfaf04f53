//! Where TensorRT is looked for.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_core::{Error, ErrorKind, Result};

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

/// A place where TensorRT is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file that the program asked for.
    Option(PathBuf),
    /// The file that the environment variable `THALWEG_TENSORRT` names.
    Variable(PathBuf),
    /// A library of this name that the process already has.
    Loaded(&'static str),
    /// A library of this name, wherever the system finds it.
    System(&'static str),
    /// A library in a package of the Python environment that is active.
    Python(PathBuf),
    /// Packages of that environment, where there are none.
    NoPython,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(path) => write!(f, "{}", path.display()),
            Self::Variable(path) => write!(f, "{} (from {VARIABLE})", path.display()),
            Self::Loaded(name) => write!(f, "{name}, already in the process"),
            Self::System(name) => write!(f, "{name}, by the system's search path"),
            Self::Python(path) => write!(f, "{} (a Python package)", path.display()),
            Self::NoPython => f.write_str("packages of the active Python environment"),
        }
    }
}

/// What became of looking in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// A library that can be used.
    Opened {
        /// Its version.
        version: Version,
        /// What kind of TensorRT it is.
        flavor: Flavor,
    },
    /// It was not there, or not fit.
    Failed(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened { version, flavor } => write!(f, "{flavor} {version}"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

/// A place that was looked at, and what was found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Where.
    pub place: Place,
    /// What.
    pub outcome: Outcome,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.outcome)
    }
}

/// Looks at every place until a library is found.
pub(crate) fn search(options: &Options) -> (Vec<Attempt>, Option<Arc<Library>>) {
    let mut attempts = Vec::new();
    for place in places(options, &Environment::of_process()) {
        let opened = match &place {
            Place::Option(path) | Place::Variable(path) | Place::Python(path) => {
                Library::open(path)
            }
            Place::Loaded(name) => Library::loaded(Path::new(name)),
            Place::System(name) => Library::open(Path::new(name)),
            Place::NoPython => Err(Error::new(ErrorKind::Missing, "none with TensorRT")),
        };
        match opened {
            Ok(library) => {
                let outcome = Outcome::Opened {
                    version: library.version(),
                    flavor: library.flavor(),
                };
                attempts.push(Attempt { place, outcome });
                return (attempts, Some(Arc::new(library)));
            }
            Err(error) => attempts.push(Attempt {
                place,
                outcome: Outcome::Failed(error.to_string()),
            }),
        }
    }
    (attempts, None)
}

/// Finds a library.
///
/// # Errors
/// If there is none, with where was looked and how to get one.
pub(crate) fn find(options: &Options) -> Result<Arc<Library>> {
    let (attempts, library) = search(options);
    library.ok_or_else(|| {
        let attempts: Vec<_> = attempts.iter().map(ToString::to_string).collect();
        Error::new(
            ErrorKind::Missing,
            format!(
                "TensorRT was not found; looked at {}; {HOW_TO_GET}",
                attempts.join("; ")
            ),
        )
    })
}

/// What of the process's environment says where to look.
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

    /// Folders with a `lib` that has Python's packages.
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

/// Where TensorRT is looked for, in order. A file that is named is the only place.
fn places(options: &Options, environment: &Environment) -> Vec<Place> {
    if let Some(path) = &options.library {
        return vec![Place::Option(path.clone())];
    }
    if let Some(path) = &environment.variable {
        return vec![Place::Variable(path.into())];
    }
    let mut places: Vec<_> = NAMES.map(Place::Loaded).into();
    places.extend(NAMES.map(Place::System));
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
        places.push(Place::NoPython);
    }
    places.extend(found.into_iter().map(Place::Python));
    places
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
    fn a_file_that_is_named_is_the_only_place() {
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
        let places = places(&Options::new(), &environment);
        assert_eq!(places, [Place::Variable("/some/file".into())]);
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
        let places = places(&Options::new(), &environment);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(places[0], Place::Loaded("libnvinfer.so.11"));
        assert_eq!(places[NAMES.len()], Place::System("libnvinfer.so.11"));
        assert_eq!(places.last(), Some(&Place::Python(file)));
        assert!(!places.contains(&Place::NoPython));
    }
}
