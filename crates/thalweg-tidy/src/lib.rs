//! Checks of the sources of Thalweg's crates, for its tests: [import cycles](cycles) among the modules
//! of a crate, and [lengths](oversized) of files and functions.
//!
//! All of it is computed from the syntax trees of files: nothing is compiled, so a check of a
//! crate takes a moment. `cargo run -p thalweg-tidy -- thalweg-core` prints what it finds in one crate;
//! `tests/workspace.rs` is the check of all crates.

#![forbid(unsafe_code)]

mod cfg;
mod cycles;
mod imports;
mod lengths;
mod names;
mod sources;
mod tokens;
mod tree;
mod workspace;

pub use cycles::{Cycle, Knot, cycles};
pub use imports::Import;
pub use lengths::{Limits, Oversized, oversized};
pub use sources::{Error, Sources};
pub use workspace::{LIMITS, crates};
