//! Shared objects, opened by name or from memory with the system's dynamic loader.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    allow(
        unsafe_code,
        reason = "the dynamic loader takes and gives pointers; each block says why it is right"
    )
)]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) use gnu::SharedObject;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) use other::SharedObject;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod gnu {
    use std::ffi::{CStr, CString, c_int, c_void};
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::ptr::NonNull;
    use std::sync::atomic::{AtomicU64, Ordering};

    use thalweg_core::{Error, ErrorKind, Result, bail};

    /// An open shared object: a handle of `dlopen`. Dropping it closes it.
    #[derive(Debug)]
    pub(crate) struct SharedObject(NonNull<c_void>);

    // SAFETY: the dynamic loader's functions may be called by any thread.
    unsafe impl Send for SharedObject {}
    // SAFETY: as above.
    unsafe impl Sync for SharedObject {}

    impl SharedObject {
        /// Opens a library of the system. Its symbols stay local.
        pub(crate) fn system(name: &str) -> Result<Self> {
            let Ok(path) = CString::new(name) else {
                bail!(
                    InvalidProgram,
                    "`{}` is no name of a library",
                    name.escape_debug()
                );
            };
            // SAFETY: libraries of the system are the ones that this process has anyway; loading
            // them is as safe as it was for the process.
            unsafe { Self::open(&path, libc::RTLD_LAZY | libc::RTLD_LOCAL) }
        }

        /// Opens a shared object in memory. Its symbols stay local. Its own symbols and those of its needed
        /// libraries have precedence over the process's.
        ///
        /// # Safety
        /// The object's code runs in this process: what runs when it is loaded, and whatever is
        /// called of it.
        pub(crate) unsafe fn memory(name: &CStr, bytes: &[u8]) -> Result<Self> {
            let file = memory_file(name, bytes).map_err(|error| {
                Error::new(
                    ErrorKind::OutOfMemory,
                    format!("no file in memory for a library of {} bytes", bytes.len()),
                )
                .with_source(error)
            })?;
            let path = unique_path(file.as_raw_fd());
            // SAFETY: the caller vouches for the code. The file is closed after this; the loader has
            // mapped it by then.
            unsafe {
                Self::open(
                    &path,
                    libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND,
                )
            }
        }

        /// # Safety
        /// The library's initializers run in this process.
        unsafe fn open(path: &CStr, flags: c_int) -> Result<Self> {
            // SAFETY: the path is a string; what is loaded is the caller's to vouch for.
            let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
            match NonNull::new(handle) {
                Some(handle) => Ok(Self(handle)),
                None => bail!(
                    Delegate,
                    "the system does not load the library: {}",
                    last_error()
                ),
            }
        }

        /// The address of a symbol, of a version if one is given.
        pub(crate) fn symbol(
            &self,
            name: &CStr,
            version: Option<&CStr>,
        ) -> Option<NonNull<c_void>> {
            // SAFETY: the handle is open, and names are strings.
            let address = unsafe {
                match version {
                    Some(version) => libc::dlvsym(self.0.as_ptr(), name.as_ptr(), version.as_ptr()),
                    None => libc::dlsym(self.0.as_ptr(), name.as_ptr()),
                }
            };
            NonNull::new(address)
        }
    }

    impl Drop for SharedObject {
        fn drop(&mut self) {
            // SAFETY: the handle is open, and nobody else closes it. What was found in it is used
            // only by those who keep this.
            unsafe { libc::dlclose(self.0.as_ptr()) };
        }
    }

    /// An anonymous file in memory.
    fn memory_file(name: &CStr, bytes: &[u8]) -> std::io::Result<File> {
        /// `MFD_NOEXEC_SEAL`: the file cannot be executed as a program, but code can be mapped from it. Newer
        /// kernels want it, and older ones do not know it.
        const NOEXEC_SEAL: libc::c_uint = 8;
        let create = |flags| {
            // SAFETY: the name is a string.
            let file = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | flags) };
            match file {
                -1 => Err(std::io::Error::last_os_error()),
                // SAFETY: it was just made, and nobody else has it.
                file => Ok(unsafe { File::from_raw_fd(file) }),
            }
        };
        let mut file = create(NOEXEC_SEAL).or_else(|_| create(0))?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// A new path for an open file of this process. The loader identifies loaded objects by path, while file
    /// descriptors are reused.
    fn unique_path(file: c_int) -> CString {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let bits = (0..u64::BITS - count.leading_zeros()).map(|bit| count >> bit & 1 == 1);
        // All of these mean the same to the system: `/proc/self/fd/./././3`, `/proc/self/fd//./3`.
        let spelled: String = bits.map(|bit| if bit { "./" } else { "/" }).collect();
        CString::new(format!("/proc/self/fd/{spelled}{file}")).unwrap_or_default()
    }

    /// The loader's last error message of this thread.
    fn last_error() -> String {
        // SAFETY: the loader's last message for this thread, which stays until the next call.
        unsafe {
            let message = libc::dlerror();
            if message.is_null() {
                return "it does not say why".into();
            }
            CStr::from_ptr(message).to_string_lossy().into_owned()
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn no_two_paths_are_the_same() {
            let mut paths: Vec<_> = (0..1000).map(|_| unique_path(5)).collect();
            paths.sort();
            paths.dedup();
            assert_eq!(paths.len(), 1000);
            assert!(paths.iter().all(|path| path.as_bytes().len() < 150));
        }

        #[test]
        fn a_file_in_memory_is_read_by_its_path() {
            let file = memory_file(c"test", b"abc").unwrap();
            for _ in 0..20 {
                let path = unique_path(file.as_raw_fd());
                let read = std::fs::read(path.to_str().unwrap()).unwrap();
                assert_eq!(read, b"abc");
            }
        }

        #[test]
        fn symbols_are_found_by_version() {
            let libc = SharedObject::system("libc.so.6").unwrap();
            assert!(libc.symbol(c"memcpy", None).is_some());
            assert!(libc.symbol(c"memcpy", Some(c"GLIBC_1.0")).is_none());
            assert!(libc.symbol(c"no_such_function", None).is_none());
            let error = SharedObject::system("libno_such.so.1")
                .unwrap_err()
                .to_string();
            assert!(error.contains("libno_such.so.1"), "{error}");
        }

        #[test]
        fn what_is_no_library_is_an_error() {
            // SAFETY: nothing is loaded.
            let error = unsafe { SharedObject::memory(c"test", b"not an ELF file") }.unwrap_err();
            assert!(error.to_string().contains("does not load"), "{error}");
        }
    }
}

/// Systems whose loader does not take libraries for Linux.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod other {
    use std::ffi::{CStr, c_void};
    use std::ptr::NonNull;

    use thalweg_core::{Result, bail};

    #[derive(Debug)]
    pub(crate) enum SharedObject {}

    impl SharedObject {
        pub(crate) fn system(_: &str) -> Result<Self> {
            bail!(
                Unsupported,
                "compiled CUDA libraries are for Linux with glibc"
            )
        }

        #[allow(unsafe_code, reason = "as where there is such a loader")]
        pub(crate) unsafe fn memory(_: &CStr, _: &[u8]) -> Result<Self> {
            Self::system("")
        }

        pub(crate) fn symbol(&self, _: &CStr, _: Option<&CStr>) -> Option<NonNull<c_void>> {
            match *self {}
        }
    }
}
