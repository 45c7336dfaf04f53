//! An open library of TensorRT.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};

use thalweg_core::{Error, ErrorKind, Result};
use thalweg_cuda::library::{Location, SharedLibrary};

use super::layout::Api;
use crate::version::{Flavor, Version};

/// A library of TensorRT, of a version that we know how to call. It is never closed: it has threads
/// and a logger of ours, and others may use it.
pub(crate) struct Library {
    pub(super) create_runtime: CreateRuntime,
    pub(super) api: Api,
    /// As the library says it.
    pub(super) number: c_int,
    version: Version,
    flavor: Flavor,
    file: PathBuf,
}

pub(super) type CreateRuntime = unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void;
type GetVersion = unsafe extern "C" fn() -> c_int;

impl Library {
    /// Opens the library at a location.
    ///
    /// # Errors
    /// If there is none, if it is not TensorRT, or a version whose layout is not known.
    pub(crate) fn open(location: &Location) -> Result<Self> {
        // SAFETY: TensorRT's initializers are fit to be run at any time, and whoever names another file
        // vouches for that one.
        let library = unsafe { SharedLibrary::open(location) }?;
        let name = match location {
            Location::File(path) | Location::Variable { path, .. } | Location::Python(path) => path,
            Location::Loaded(name) | Location::System(name) => Path::new(name),
            _ => Path::new(""),
        };
        Self::of(library, name)
    }

    fn of(library: SharedLibrary, name: &Path) -> Result<Self> {
        if cfg!(windows) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "Windows lays virtual tables out in another way, which this does not know",
            ));
        }
        let function = |name: &str| {
            library.symbol(name).ok_or_else(|| {
                Error::new(
                    ErrorKind::Missing,
                    format!("it is not TensorRT: it has no function `{name}`"),
                )
            })
        };
        let get_version = function("getInferLibVersion")?;
        let create_runtime = function("createInferRuntime_INTERNAL")?;
        // SAFETY: the signatures are those of TensorRT's headers since version 7.
        let (get_version, create_runtime) = unsafe {
            (
                std::mem::transmute::<*mut c_void, GetVersion>(get_version.as_ptr()),
                std::mem::transmute::<*mut c_void, CreateRuntime>(create_runtime.as_ptr()),
            )
        };
        // SAFETY: it has no arguments, and answers with a constant.
        let number = unsafe { get_version() };
        let file = name.file_name().unwrap_or_default().to_string_lossy();
        let version = Version::from_number(number);
        let mut flavor = Flavor::of_file(&file);
        if version.is_some_and(|version| version.major == 1) {
            flavor = Flavor::Rtx;
        }
        let Some((version, api)) = version.and_then(|version| {
            let api = Api::of(version, flavor)?;
            Some((version, api))
        }) else {
            let version = version.map_or(format!("number {number}"), |v| v.to_string());
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "it is {flavor} {version}; known are TensorRT 10.x, 11.x, and TensorRT for RTX \
                     1.x"
                ),
            ));
        };
        if flavor == Flavor::Rtx {
            tracing::warn!(
                %version,
                "TensorRT for RTX is called by the layout of TensorRT 10, which has not been checked"
            );
        }
        Ok(Self {
            create_runtime,
            api,
            number,
            version,
            flavor,
            file: name.to_owned(),
        })
    }

    /// The library's version.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// What kind of TensorRT it is.
    pub(crate) fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// The name that it was opened by.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_or_not_tensorrt_is_refused_with_the_reason() {
        let nowhere = Location::File("/nowhere/libnvinfer.so.10".into());
        let error = Library::open(&nowhere).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Missing);
        assert!(error.to_string().contains("/nowhere"), "{error}");
        if cfg!(target_os = "linux") {
            let error = Library::open(&Location::System("libc.so.6")).err().unwrap();
            assert!(error.to_string().contains("getInferLibVersion"), "{error}");
        }
        assert!(Library::open(&Location::Loaded("libnowhere.so.10")).is_err());
    }
}
