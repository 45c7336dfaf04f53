//! Libraries are loaded with what this crate provides.
#![allow(
    unsafe_code,
    reason = "loading a library runs its code; the block says why it is right"
)]

use thalweg_core::Result;
use thalweg_cuda::Driver;

use super::provided;
use crate::loader::{Library, System};

/// Loads a library. To load one is to run code that came with the program: whoever loads a program
/// with this backend trusts it.
pub(crate) fn load(bytes: &[u8], system: &System, driver: &Driver) -> Result<Library> {
    // SAFETY: that the library's code does what AOTInductor's does is what the caller of the backend
    // answers for; the book says so. What it is given are functions with the types that AOTInductor
    // knows them by, which are there as long as the process.
    unsafe { Library::load(bytes, system, |name| provided(name, driver)) }
}
