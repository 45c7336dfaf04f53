//! Loads compiled libraries from memory.
//!
//! A library is never a file on disk, adds nothing to the process's symbols, and is bound to what it
//! is given and to nothing else: a copy of its bytes is changed ([`image`]) so that it needs a shared
//! object that is made for it ([`provider`]), which has all that it imports and the system does not
//! have ([`imports`]). Both are opened from memory by the system's own loader ([`dynamic`]), the
//! object first, so that the library finds it by its name.

mod dynamic;
mod image;
mod imports;
mod library;
mod machine;
mod provider;

pub(crate) use imports::System;
pub(crate) use library::Library;
pub(crate) use provider::Provided;
