//! An open library of TensorRT.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use thalweg_core::{Error, ErrorKind, Result};

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
    _library: ManuallyDrop<libloading::Library>,
}

pub(super) type CreateRuntime = unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void;
type GetVersion = unsafe extern "C" fn() -> c_int;

impl Library {
    /// Opens a library.
    ///
    /// # Errors
    /// If there is none of that name, if it is not TensorRT, or a version whose layout is not known.
    pub(crate) fn open(name: &Path) -> Result<Self> {
        // SAFETY: opening a library runs its initializers. TensorRT's are fit to be run at any time,
        // and whoever names another file vouches for that one.
        let library = unsafe { local(name) }.map_err(not_opened)?;
        Self::of(library, name)
    }

    /// A library that the process already has, by its name.
    ///
    /// # Errors
    /// As for [`Library::open`], and if the process does not have it.
    pub(crate) fn loaded(name: &Path) -> Result<Self> {
        // SAFETY: none of its initializers runs.
        let library = unsafe { loaded(name) }
            .map_err(|_| Error::new(ErrorKind::Missing, "the process does not have it"))?;
        Self::of(library, name)
    }

    fn of(library: libloading::Library, name: &Path) -> Result<Self> {
        if cfg!(windows) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "Windows lays virtual tables out in another way, which this does not know",
            ));
        }
        let missing = |symbol: &str| {
            Error::new(
                ErrorKind::Missing,
                format!("it is not TensorRT: it has no function `{symbol}`"),
            )
        };
        // SAFETY: the signatures are those of TensorRT's headers since version 7.
        let (get_version, create_runtime) = unsafe {
            let get_version = library.get::<GetVersion>("getInferLibVersion");
            let create = library.get::<CreateRuntime>("createInferRuntime_INTERNAL");
            (
                *get_version.map_err(|_| missing("getInferLibVersion"))?,
                *create.map_err(|_| missing("createInferRuntime_INTERNAL"))?,
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
            _library: ManuallyDrop::new(library),
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

/// The text of the system's error, which the error of `libloading` only leads to.
fn not_opened(error: libloading::Error) -> Error {
    let reason =
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
    Error::new(ErrorKind::Missing, reason).with_source(error)
}

/// Opens a library such that its symbols stay its own.
///
/// # Safety
/// As said in [`Library::open`].
unsafe fn local(name: &Path) -> Result<libloading::Library, libloading::Error> {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        // SAFETY: the caller's.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
    }
    #[cfg(not(unix))]
    // SAFETY: the caller's.
    unsafe {
        libloading::Library::new(name)
    }
}

/// A library that the process already has.
///
/// # Safety
/// None of its initializers runs.
unsafe fn loaded(name: &Path) -> Result<libloading::Library, libloading::Error> {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_NOW};
        /// Its value where there is TensorRT, which `libloading` does not name.
        const RTLD_NOLOAD: c_int = if cfg!(target_vendor = "apple") { 16 } else { 4 };
        // SAFETY: the caller's.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_NOLOAD) }.map(Into::into)
    }
    #[cfg(not(unix))]
    libloading::os::windows::Library::open_already_loaded(name).map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_or_not_tensorrt_is_refused_with_the_reason() {
        let error = Library::open(Path::new("/nowhere/libnvinfer.so.10"))
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::Missing);
        assert!(error.to_string().contains("/nowhere"), "{error}");
        if cfg!(target_os = "linux") {
            let error = Library::open(Path::new("libc.so.6")).err().unwrap();
            assert!(error.to_string().contains("getInferLibVersion"), "{error}");
        }
        assert!(Library::loaded(Path::new("libnowhere.so.10")).is_err());
    }
}
