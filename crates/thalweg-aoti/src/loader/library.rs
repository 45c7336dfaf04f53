//! Loaded libraries.
#![allow(
    unsafe_code,
    reason = "loading a library runs its code; the block says why it is right"
)]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_core::{Result, bail};

use super::image::ElfImage;
use super::imports::{System, is_of_system, resolve};
use super::machine::Machine;
use super::provider::{Definition, write_provider};
use super::shared_object::SharedObject;

/// A loaded library, with its provider. Dropping it unloads both.
#[derive(Debug)]
pub(crate) struct Library {
    /// Dropped first: it uses the provider.
    library: SharedObject,
    _provider: SharedObject,
}

impl Library {
    /// Loads a library. `define` returns the definition of an imported name; the others are the system's.
    ///
    /// # Errors
    /// If it is damaged, for another machine, or imports missing symbols, all of which the error names.
    ///
    /// # Safety
    /// The library's code runs in this process. The functions that `define` returns must have the types
    /// that the library declares them with, until it is dropped.
    pub(crate) unsafe fn load(
        bytes: &[u8],
        system: &System,
        define: impl Fn(&str) -> Option<Definition>,
    ) -> Result<Self> {
        let machine = Machine::here()?;
        let image = ElfImage::parse(bytes, machine)?;
        let exports = resolve(&image.imports()?, &image.needed()?, system, define)?;
        let name = unique_name();
        let provider = write_provider(machine, &name, &exports)?;
        let library = image.rewritten(is_of_system, &name)?;
        // SAFETY: the provider has jumps and data, and nothing that runs when it is loaded. The
        // library's code is the caller's to vouch for.
        unsafe {
            let provider = SharedObject::memory(c"thalweg-provider", &provider)?;
            Ok(Self {
                library: SharedObject::memory(c"thalweg-library", &library)?,
                _provider: provider,
            })
        }
    }

    /// The address of an exported symbol.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.library.symbol(name, None)
    }

    /// The address of an exported symbol that must be there.
    pub(crate) fn required(&self, name: &CStr) -> Result<NonNull<c_void>> {
        match self.symbol(name) {
            Some(address) => Ok(address),
            None => bail!(
                InvalidProgram,
                "the library has no function `{}`",
                name.to_string_lossy()
            ),
        }
    }
}

/// A unique name of a shared object in this process, as long as `libcuda.so.1`, which it overwrites.
///
/// A process may have this code several times, as part of several libraries, so the count alone is not
/// unique: the address of the count is a part of the name.
fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Addresses differ in pages.
    let address = (&raw const COUNT).addr() as u64 >> 3;
    digits(address, 5) + &digits(count, 7)
}

/// The last digits of a number in base 36.
fn digits(mut number: u64, count: usize) -> String {
    let mut digits = vec!['0'; count];
    for digit in digits.iter_mut().rev() {
        *digit = char::from_digit((number % 36) as u32, 36).unwrap_or('0');
        number /= 36;
    }
    digits.into_iter().collect()
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests;
