//! Reads and writes ExecuTorch programs (`.pte`) and the data files beside them (`.ptd`).
#![deny(unsafe_code)]

pub mod program;
pub use program::*;
