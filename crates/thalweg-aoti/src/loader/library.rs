//! A loaded library.
#![allow(
    unsafe_code,
    reason = "loading a library runs its code; the block says why it is right"
)]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_core::{Result, bail};

use super::dynamic::Opened;
use super::image::Image;
use super::imports::{System, is_of_system, resolve};
use super::machine::Machine;
use super::provider::{Provided, emit};

/// A library that is loaded, and what it was given. Dropping it unloads both.
#[derive(Debug)]
pub(crate) struct Library {
    /// Dropped first: it uses the other.
    library: Opened,
    _provider: Opened,
}

impl Library {
    /// Loads a library. `provides` says what it is given for a name that it imports; what has no
    /// answer there comes from the system.
    ///
    /// # Errors
    /// If it is damaged, for another machine, or imports what nobody has: all such names are said.
    ///
    /// # Safety
    /// The library's code runs in this process. And the functions that `provides` gives must be such
    /// as the library takes them for, until it is dropped.
    pub(crate) unsafe fn load(
        bytes: &[u8],
        system: &System,
        provides: impl Fn(&str) -> Option<Provided>,
    ) -> Result<Self> {
        let machine = Machine::here()?;
        let image = Image::parse(bytes, machine)?;
        let exports = resolve(&image.imports()?, &image.needed()?, system, provides)?;
        let name = unique_name();
        let provider = emit(machine, &name, &exports)?;
        let library = image.rewritten(is_of_system, &name)?;
        // SAFETY: the provider has jumps and data, and nothing that runs when it is loaded. The
        // library's code is the caller's to vouch for.
        unsafe {
            let provider = Opened::memory(c"thalweg-provider", &provider)?;
            Ok(Self {
                library: Opened::memory(c"thalweg-library", &library)?,
                _provider: provider,
            })
        }
    }

    /// The address of something that the library exports.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.library.symbol(name, None)
    }

    /// The same, of something that it must have.
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

/// A name that no object of this process has, as long as `libcuda.so.1`, whose place it takes.
///
/// A process may have this code several times, as part of several libraries, so the count alone is
/// not enough: where the count is belongs to the name.
fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Addresses differ in pages.
    let place = (&raw const COUNT).addr() as u64 >> 3;
    digits(place, 5) + &digits(count, 7)
}

/// The last digits of a number, to the base of 36.
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
