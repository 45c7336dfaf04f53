//! The CUDA driver made safe, for Thalweg's backends for NVIDIA GPUs.
//!
//! Layers, as in `cudarc`, each on the one before:
//!
//! | modules | what they are |
//! |---|---|
//! | `sys` | bindings and loading: the driver's functions in a library that is found at run time, and their status codes |
//! | `result` | status codes as errors |
//! | `handle` | owned handles of the driver's objects |
//! | `order`, `memory` | uses of memory, and which events the next use waits for; allocations with their uses |
//! | `driver`, `device`, `stream`, `event`, `buffer`, `work`, `capture`, `graph`, `kernel`, `pool`, ... | the safe types: everything public |
//! | `program` | the traits of `thalweg_core`, for the memory and the calls of programs |
//!
//! | to | use |
//! |---|---|
//! | find the driver and its devices | [`Driver`], [`Device`] |
//! | enqueue copies, kernels, graphs and work of other libraries | [`Stream`], [`Work`] |
//! | have memory | [`DeviceBuffer`], [`PinnedBuffer`], [`Pool`] |
//! | keep inputs of programs on a device | [`DeviceArray`] |
//! | know when work is complete, and keep things until then | [`InFlight`], [`Event`] |
//! | repeat work at little cost | [`Capture`], [`Graph`], [`GraphExec`] |
//! | run kernels of one's own | [`Module`], [`Kernel`] |
//! | use a part of a device | [`Partition`] |
//!
//! # Order
//! Buffers know who uses them. All work on a stream is enqueued through a [`Work`], which makes the
//! stream wait, on the device, for what other streams do with a buffer before its first use, and
//! leaves one event when it ends, which the buffers remember. So any use of these types is in a
//! right order, whatever streams and threads it is on; what cannot be ordered is an error, and
//! nothing waits on the host but where bytes are read or written there, or something is dropped
//! that cannot go before the device has finished.
//!
//! # Failure
//! Every answer of the driver is looked at. What fails before anything was enqueued changes
//! nothing; what fails later leaves the rest of the work known and ordered. After an error that
//! costs the device's context, everything on that device fails with it; see [`Device`].
#![deny(unsafe_code)]

mod array;
mod buffer;
mod capture;
mod captured;
mod device;
mod driver;
mod event;
mod foreign;
mod graph;
mod handle;
mod in_flight;
mod kernel;
mod memory;
#[allow(
    unreachable_pub,
    reason = "public for tests, where there is the switch"
)]
mod mutation;
mod order;
mod partition;
mod pointer;
mod pool;
mod program;
mod result;
mod stream;
mod sys;
mod work;

pub use array::DeviceArray;
pub use buffer::{DeviceBuffer, DeviceSlice, HostBytes, HostBytesMut, PinnedBuffer, PinnedSlice};
pub use capture::Capture;
pub use device::{CurrentDevice, Device};
pub use driver::{Driver, DriverVersion};
pub use event::Event;
pub use graph::{Graph, GraphExec};
pub use handle::Launch;
pub use in_flight::InFlight;
pub use kernel::{Argument, Kernel, Module};
#[cfg(any(test, feature = "mutations"))]
#[doc(hidden)]
pub use mutation::{Mutation, Rule, disable};
pub use order::Tenant;
pub use partition::Partition;
pub use pointer::MemoryKind;
pub use pool::{CallLeases, Lease, Limit, Pool, PoolObserver, PoolStatistics, Request};
pub use stream::{CaptureStatus, Stream};
#[doc(hidden)]
pub use sys::library;
pub use sys::library::{Attempt, Location, Outcome};
pub use work::Work;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_may_share_they_can() {
        fn shared<T: Send + Sync>() {}
        shared::<Driver>();
        shared::<Device>();
        shared::<Stream>();
        shared::<Event>();
        shared::<DeviceBuffer>();
        shared::<DeviceArray>();
        shared::<PinnedBuffer>();
        shared::<Pool>();
        shared::<Kernel>();
        shared::<Graph>();
        shared::<GraphExec>();
        shared::<Partition>();
        fn sent<T: Send>() {}
        sent::<InFlight<Vec<u8>>>();
        sent::<Lease>();
    }
}
