//! The loader of compiled libraries, which loads them from memory.
//!
//! A library is never a file on disk, adds no symbols to the process, and is bound to its own imports only.
//! To that end a copy of its bytes is rewritten ([`image`]) so that it needs a provider ([`provider`]): a
//! shared object made for it, with the imports that the system does not have ([`imports`]). Both are opened
//! from memory with the system's dynamic loader ([`shared_object`]), the provider first, so that the library
//! finds it by its name.

mod image;
mod imports;
mod library;
mod machine;
mod provider;
mod shared_object;

pub(crate) use imports::System;
pub(crate) use library::Library;
pub(crate) use provider::Definition;
