//! All of the core's `unsafe` code: blocks of memory, mapped files, and the lending of tensors to
//! kernels.
//!
//! A program decides at will which tensors share memory, and a program is untrusted. What keeps
//! this sound is one rule, enforced at every call by [`Arguments`]: while a mutable view of some
//! memory is lent out, no other view of any part of it is.
#![allow(unsafe_code, reason = "see the module's documentation")]

mod apart;
mod arguments;
mod block;
mod copies;
mod file;
mod kept;
mod scratch;
mod shared;
mod storage;

pub(crate) use apart::Moving;
pub use arguments::{Arguments, TensorList};
pub(crate) use arguments::{Lending, Overlap, mask};
pub(crate) use block::Block;
pub(crate) use file::FileBytes;
pub(crate) use kept::Sides;
pub(crate) use scratch::Scratch;
pub(crate) use shared::SharedBlock;
pub(crate) use storage::{Place, Slot, Storage, StorageId, TensorId, TensorSlot, Values};
