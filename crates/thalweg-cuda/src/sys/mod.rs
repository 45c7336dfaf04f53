//! The driver's functions, and all of this crate's `unsafe` code.
//!
//! [`table`] holds the functions, found at run time in a [`library`]. The other modules wrap their
//! handles and addresses such that the rest of the crate cannot go wrong with them: a handle is
//! owned, keeps its context alive, and is destroyed once; memory is only read or written by the
//! device while a [`Work`](crate::Work) holds it, which keeps it alive, and keeps the host away
//! from it, until an event says that the device has finished.
//!
//! What no type can check (handles and addresses that a caller brings) is an `unsafe fn` of the
//! public interface, and says what the caller vouches for.
#![allow(unsafe_code, reason = "see the module's documentation")]

mod attributes;
mod call_graph;
mod capture;
mod context;
mod copies;
mod device_memory;
mod event;
mod foreign;
mod graph;
mod green;
mod host_function;
mod kernel;
mod library;
mod pinned_memory;
mod pointer;
mod programs;
mod status;
mod stream;
mod table;

pub(crate) use attributes::{Attribute, DeviceHandle};
pub use call_graph::CallGraph;
pub(crate) use capture::{CaptureState, Parts, RelaxedCapture, drop_left_behind};
pub(crate) use context::{Context, Entered};
pub(crate) use device_memory::DeviceMemory;
pub(crate) use event::EventHandle;
pub(crate) use graph::{ExecHandle, GraphHandle, Updated};
pub(crate) use green::GreenContext;
pub(crate) use kernel::{FunctionHandle, ModuleHandle};
pub use library::{Outcome, Place};
pub(crate) use library::{open, search};
pub(crate) use pinned_memory::PinnedMemory;
pub(crate) use pointer::pointer_facts;
pub(crate) use status::Status;
pub(crate) use stream::StreamHandle;
pub(crate) use table::Table;
