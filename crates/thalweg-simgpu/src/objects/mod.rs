//! The objects of the driver, as plain data.

#[forbid(unsafe_code)]
mod capture;
#[forbid(unsafe_code)]
mod context;
#[forbid(unsafe_code)]
mod event;
#[forbid(unsafe_code)]
mod foreign;
#[forbid(unsafe_code)]
mod graph;
#[forbid(unsafe_code)]
mod green;
#[forbid(unsafe_code)]
mod module;
#[forbid(unsafe_code)]
mod stream;
mod user_object;

pub(crate) use capture::{Capture, GLOBAL, RELAXED};
pub(crate) use context::{Context, ContextKind, Device};
pub(crate) use event::{Captured, Event};
pub(crate) use foreign::ForeignObjects;
pub(crate) use graph::{Exec, Graph, NODES, Node, node_handle};
pub(crate) use green::{GROUP, GreenContext, ResourceDescription};
pub(crate) use module::{Function, MAX_SHARED, Module, parse_image, parse_ptx};
pub(crate) use stream::{Stream, StreamKind};
pub(crate) use user_object::{Destroy, UserObject, UserObjectRef};
