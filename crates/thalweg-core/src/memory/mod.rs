//! Host memory: blocks, files, and the scratch of operators.
#![allow(
    unsafe_code,
    reason = "memory is allocated, mapped and handed out in pieces here"
)]

mod block;
mod file;
mod scratch;

pub use block::Block;
pub use file::{FileBytes, SharedBytes};
pub use scratch::Scratch;
