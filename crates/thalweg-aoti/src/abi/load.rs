//! Loading of libraries with the functions of this crate.
#![allow(
    unsafe_code,
    reason = "loading a library runs its code; the block says why it is right"
)]

use std::cell::RefCell;

use thalweg_core::Result;
use thalweg_cuda::Driver;

use super::imports::{definition, is_unwatched};
use crate::loader::{Library, System};

/// Loads a library. Also returns the name of a function of the driver that it imports and that is not
/// watched for stream capture, if there is one.
///
/// The library's code runs in this process: whoever loads a program with this backend trusts it.
pub(crate) fn load(
    bytes: &[u8],
    system: &System,
    driver: &Driver,
) -> Result<(Library, Option<String>)> {
    let unwatched = RefCell::new(None);
    let define = |name: &str| {
        if is_unwatched(name) {
            unwatched
                .borrow_mut()
                .get_or_insert_with(|| name.to_owned());
        }
        definition(name, driver)
    };
    // SAFETY: that the library's code does what AOTInductor's does is what the caller of the backend
    // answers for; its documentation says so. What it is given are functions with the types that AOTInductor
    // knows them by, which are there as long as the process.
    let library = unsafe { Library::load(bytes, system, define) }?;
    Ok((library, unwatched.take()))
}
