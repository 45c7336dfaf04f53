//! The runtime of Thalweg: programs, methods, and their calls.
//!
//! A [`Runtime`] holds operators and backends. It loads a [`Program`], of which
//! [`Program::method`] makes instances, and [`Method::run`] runs them. This crate has no operators
//! and no backends of its own; the crate `thalweg` puts a runtime together with all that a machine
//! offers.
#![deny(unsafe_code)]

mod completion;
mod data;
mod end_event;
mod facts;
mod first_fit;
mod info;
mod link;
mod method;
mod missing;
#[allow(
    unreachable_pub,
    reason = "public for tests, where there is the switch"
)]
mod mutation;
mod optimizations;
mod options;
mod passes;
mod plan;
mod profile;
mod program;
mod runtime;
mod schedule;
mod sources;
mod state;
mod storages;
mod submit;
mod trace;
mod transfer;

pub use completion::Completion;
pub use info::{MethodInfo, ShapeKind, TensorInfo, ValueInfo};
pub use link::{PersistentBufferInfo, Schedule, ScheduledStep, StepExecution, TransferDirection};
pub use method::{Method, Outputs};
pub use missing::Missing;
#[cfg(any(test, feature = "mutations"))]
#[doc(hidden)]
pub use mutation::{Mutation, Rule, disable};
pub use optimizations::Optimizations;
pub use options::{GraphUse, LoadOptions, MethodOptions, RunOptions};
pub use profile::{DelegateKey, Pins, Profile};
pub use program::Program;
pub use runtime::{DeviceSource, Runtime, RuntimeBuilder};
pub use state::State;
pub use trace::Trace;
