//! Libraries are loaded with what this crate provides.
#![allow(
    unsafe_code,
    reason = "loading a library runs its code; the block says why it is right"
)]

use std::cell::RefCell;

use thalweg_core::Result;
use thalweg_cuda::Driver;

use super::provided;
use super::provided::is_unseen;
use crate::loader::{Library, System};

/// Loads a library, and says what of the driver it calls by itself that may matter for graphs. To load
/// one is to run code that came with the program: whoever loads a program with this backend trusts it.
pub(crate) fn load(
    bytes: &[u8],
    system: &System,
    driver: &Driver,
) -> Result<(Library, Option<String>)> {
    let unseen = RefCell::new(None);
    let provide = |name: &str| {
        if is_unseen(name) {
            unseen.borrow_mut().get_or_insert_with(|| name.to_owned());
        }
        provided(name, driver)
    };
    // SAFETY: that the library's code does what AOTInductor's does is what the caller of the backend
    // answers for; the book says so. What it is given are functions with the types that AOTInductor
    // knows them by, which are there as long as the process.
    let library = unsafe { Library::load(bytes, system, provide) }?;
    Ok((library, unseen.take()))
}
