//! The backend `TensorRTBackend`: TensorRT engines in ExecuTorch programs.
//!
//! The payload of a delegate is an engine in a [`Container`]. [`TensorRt`] finds TensorRT at run time,
//! without headers and without a C++ compiler. It runs engines on the stream and on the memory of the
//! call.
//!
//! # What is shared
//! All methods and instances whose payloads are the same share one engine. An instance of a method has its
//! own contexts, one for each profile that it uses, and one scratch buffer for all of them. If a caller
//! asks for it, all engines of a device share their scratch.
//!
//! # Order
//! An instance enqueues all its work on the streams of its method's calls. The core makes the stream of a
//! call wait for the work of the call before, and waits for it on the host before it drops the instance.
//! So the work of an instance is in order. The host waits only before it changes a context that may still
//! be running (shapes, addresses), before it replaces scratch, and before it reads results.
//!
//! Shared scratch passes from call to call by events: the stream of a call waits, on the device, for the
//! last use of the scratch. So calls of different instances may overlap on the host and on the device, and
//! none waits for another to end.
//!
//! # Trust
//! An engine is code that came with the program. To run an engine is to run that code.
#![deny(unsafe_code)]

mod abi;
mod backend;
mod cache;
mod container;
mod contexts;
mod delegate;
mod describe;
#[doc(hidden)]
pub mod direct;
mod find;
mod instance;
mod loaded;
mod log;
#[allow(
    unreachable_pub,
    reason = "public for tests, where there is the switch"
)]
mod mutation;
mod options;
mod profile;
mod scratch;
mod version;
mod weights;

pub use backend::{NAME, TensorRt};
pub use container::{Alias, AliasKind, Binding, Container, Metadata};
pub use contexts::SINGLE_CONTEXT;
pub use describe::{ContainerInfo, EngineInfo, InputRange, ProfileInfo, TensorInfo};
pub use find::{FoundLibrary, HOW_TO_GET};
#[cfg(any(test, feature = "mutations"))]
#[doc(hidden)]
pub use mutation::{Mutation, Rule, disable};
pub use options::Options;
pub use scratch::{SHARED_SCRATCH, SHARED_SCRATCH_LIMIT, ScratchStatistics};
pub use version::{Flavor, Version};
pub use weights::WEIGHT_STREAMING_BUDGET;
