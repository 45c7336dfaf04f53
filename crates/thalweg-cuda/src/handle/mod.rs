//! Owned handles of the driver's objects, and the calls about them.
//!
//! A handle is owned, keeps its context alive, makes that current for its calls, and is destroyed once.
//! What no type can check (handles that others made) is an `unsafe fn`.
#![allow(unsafe_code, reason = "the driver's functions are called")]

pub(crate) mod capture;
mod context;
mod device;
mod event;
mod graph;
mod green;
mod module;
mod pointer;
mod stream;

pub(crate) use context::{Context, Entered, RelaxedCapture};
pub(crate) use device::{Attribute, DeviceHandle};
pub(crate) use event::EventHandle;
pub(crate) use graph::{ExecHandle, GraphHandle, Updated};
pub(crate) use green::GreenContext;
pub use module::Launch;
pub(crate) use module::{FunctionHandle, ModuleHandle};
pub(crate) use pointer::pointer_facts;
pub(crate) use stream::{LEGACY, PER_THREAD, StreamHandle, StreamId};
