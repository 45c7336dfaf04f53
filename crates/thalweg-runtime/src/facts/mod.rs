//! Facts of a plan that several passes need.

mod accesses;
mod disjoint;
mod statics;
mod views;
mod written;

pub(crate) use accesses::{TensorAccess, accesses, is_alone, overlap, read_by, unread};
pub(crate) use disjoint::Moving;
pub(crate) use statics::{Statics, static_shapes};
pub(crate) use views::{device_of, views};
pub(crate) use written::{Written, fixed_lists};
