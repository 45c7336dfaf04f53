//! What becomes of outputs: a summary, and files.

mod npy;
mod summary;

pub(crate) use npy::write_npy;
pub(crate) use summary::{summary, type_and_shape};
