//! The semantics of the driver's functions, and their results.
#![cfg(target_os = "linux")]

mod copies;
#[path = "../driver/mod.rs"]
mod driver;
mod memory;
mod objects;
mod order;

use driver::*;
use thalweg_simgpu::{Config, ReportKind, Sim};

/// Nothing runs before somebody waits for it.
fn lazy() -> Config {
    Config::seeded(3).with_eagerness(0.0)
}

fn kinds(sim: &Sim) -> Vec<ReportKind> {
    sim.reports().iter().map(|report| report.kind).collect()
}

fn buffer(bytes: usize) -> u64 {
    get(|pointer| alloc(pointer, bytes))
}

fn stream(flags: u32) -> u64 {
    get(|stream| stream_create(stream, flags))
}

fn event() -> u64 {
    get(|event| event_create(event, 0))
}
