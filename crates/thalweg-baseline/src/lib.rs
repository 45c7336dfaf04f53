//! Baselines: the TensorRT engines of a method by themselves, to compare the method with.
//!
//! A [`Recorder`] is the TensorRT backend, but it records the calls of engines, with their inputs and
//! outputs. From one call of a method it makes a [`Baseline`]: the same engines on the same shapes, with as
//! little around them as possible. A baseline knows nothing of the program. What the host computes
//! between engines is not in it.
#![deny(unsafe_code)]

mod baseline;
mod call_graph;
mod recorded;
mod recorder;
mod sequence;
mod unchecked;

pub use baseline::{Baseline, Variant};
pub use call_graph::CallGraph;
pub use recorder::Recorder;
