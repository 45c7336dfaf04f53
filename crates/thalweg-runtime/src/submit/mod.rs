//! Submission: the streams of calls, the commands that go to them, at once or in batches, and what
//! calls leave in flight.
#![allow(
    unsafe_code,
    reason = "copies take addresses, which whoever defers or submits one promises"
)]

mod batch;
mod flush;
mod graphs;
mod in_flight;
mod queue;
mod submission;

pub(crate) use batch::DelegateStep;
pub(crate) use queue::DeviceQueue;
