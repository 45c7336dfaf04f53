//! The device of programs: what implements the traits of `thalweg_core` for its runtime.
//!
//! A program plans its own order: everything that a call does goes to one stream, and what it leaves in
//! flight is known by one event.

mod copies;
mod device;
mod event;
mod graph;
mod memory;
mod stream;
