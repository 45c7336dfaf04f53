//! The CUDA driver made safe: what Thalweg's backends for NVIDIA GPUs are built on.
//!
//! Three layers, as in `cudarc`: the driver's functions, found at run time (`sys`); their answers
//! as errors (`result`); and types that own what they stand for and know what must come before
//! what (everything public).
//!
//! | to | use |
//! |---|---|
//! | find the driver and its devices | [`Driver`], [`Device`] |
//! | enqueue copies, kernels, graphs and work of other libraries | [`Stream`], [`Work`] |
//! | have memory | [`DeviceBuffer`], [`PinnedBuffer`], [`Pool`] |
//! | keep inputs of programs on a device | [`DeviceArray`] |
//! | know when something is over, and keep things until then | [`InFlight`], [`Event`] |
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
//! costs the device's context, everything on that device says so; see [`Device`].
#![deny(unsafe_code)]

mod array;
mod buffer;
mod capture;
mod device;
mod driver;
mod event;
mod graph;
mod green;
mod in_flight;
mod kept_pinned;
mod kernel;
mod lease;
#[allow(
    unreachable_pub,
    reason = "public for tests, where there is the switch"
)]
mod omit;
mod order;
mod pinned;
mod pointer;
mod pool;
mod result;
mod staging;
mod stream;
mod sys;
mod work;

pub use array::DeviceArray;
pub use buffer::{DeviceBuffer, DeviceSlice};
pub use capture::{Capture, CaptureStatus};
pub use device::{CurrentDevice, Device};
pub use driver::Driver;
pub use event::Event;
pub use graph::{Graph, GraphExec};
pub use green::Partition;
pub use in_flight::InFlight;
pub use kernel::{Argument, Kernel, Launch, Module};
pub use lease::{Lease, Tenant};
#[cfg(any(test, feature = "omissions"))]
#[doc(hidden)]
pub use omit::{Omission, Rule, omit};
pub use pinned::{HostBytes, HostBytesMut, PinnedBuffer, PinnedSlice};
pub use pointer::MemoryKind;
pub use pool::{Pool, PoolStatistics};
pub use stream::Stream;
pub use sys::{CallGraph, Outcome, Place};
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
