//! Bindings of the driver: its functions in a [`Table`] of pointers, and the status codes that they
//! answer with; and loading: finding and opening the library that they are in.
#![allow(unsafe_code, reason = "functions of a library are called")]

mod driver;
pub mod library;
mod status;
mod table;

pub(crate) use driver::{NotInitialized, initialize, locations, open};
pub(crate) use status::Status;
pub(crate) use table::Table;
