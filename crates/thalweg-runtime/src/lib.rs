//! The runtime of Thalweg: programs, methods, and their calls.
//!
//! A [`Runtime`] holds operators and backends. It loads a [`Program`], of which
//! [`Program::method`] makes instances, and [`Method::run`] runs them. This crate has no operators
//! and no backends of its own; the crate `thalweg` puts a runtime together with all that a machine
//! offers.
//!
//! # Modules, from the bottom up
//!
//! | module | concept |
//! |---|---|
//! | `plan` | a method, resolved from the file |
//! | `facts` | what the passes know of a plan, found once for each version of it |
//! | `schedule` | how instructions run, where device tensors lie, what is copied when |
//! | `passes` | the list of passes, one file or folder each |
//! | `link` | a plan with its kernels, delegates and passes, shared by all instances |
//! | `end_event`, `completion`, `state` | what outlives a call |
//! | `submit` | the queue of a device: stream, batches, graphs, work in flight |
//! | `transfer` | copies between the host and devices |
//! | `method` | instances and their calls |
//! | `program` | loaded files, and the functions of [`Runtime`] that load |
//!
//! # Memory
//! Arenas are as large as the tensors in them need. A view (`executorch_prim::et_view`) takes over the
//! location of its source, so that a view of a tensor that grows is never a dangling pointer: at worst its
//! storage is too small, which is an error. A named mutable buffer has memory of its own, although the
//! program plans a place in an arena for it; a tensor that is planned inside of that place is a view of
//! the buffer. An output that lies in a state is copied, so that another method does not change it. A
//! `Free` instruction releases nothing: memory that grew stays with its tensor, for the next call.
//! [`LoadOptions::memory_limit`] bounds what a plan asks for on the host, since a file of a few bytes can
//! ask for any amount.
//!
//! # Work on devices
//! Copies and delegates use the call's stream in the program's order, so that the device needs no other
//! order. The call's stream waits for the end event of the call before, and for calls of others that use
//! the same state. The queue of a device knows which host memory copies in flight use, and waits once
//! before an operator, an output or the next call's input accesses it. An instance waits before it goes.
//!
//! The residency analysis runs before a method is instantiated, rather than in calls: a call then does
//! nothing for it, and the schedule can be shown. Only for persistent buffers the coherence state is known
//! when the call runs. The price is that a decision holds for all calls, so that a state that host and
//! device write in turn may be copied once more than it has to be. Two buffers of a device share memory
//! only if the program planned that: what it keeps apart may have to live from call to call. Between jumps
//! nothing is known of what another path has done; there the host has everything.
//!
//! If the caller captures the call's stream, all of the call is deferred, and then submitted into the
//! capture. What cannot be deferred is refused. The end of such a call is not recorded: the caller knows
//! when the graph runs.
//!
//! # Traces
//! A trace is lent to what it should see, as all options are. It does not go through `tracing`, which is
//! for logs: a collector there would be global, every span would ask whether somebody listens, and the
//! times of devices are known only later. Instructions run in one of two loops, so that one that is not
//! traced has nothing to ask.
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
