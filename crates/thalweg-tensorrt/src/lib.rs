//! TensorRT for ExecuTorch programs: the backend `TensorRTBackend`.
//!
//! A delegate's payload is an engine in a [`Container`]. [`TensorRt`] finds TensorRT when the program
//! runs, without headers and without a C++ compiler, and runs engines with it: on the call's stream,
//! on the call's memory.
//!
//! # What is shared
//! An engine is loaded once, for all methods and instances whose payloads are the same. An instance
//! of a method has contexts of its own, one for each profile that it uses, and one piece of scratch
//! for all of them; or, if that was asked for, all engines of a device share theirs, whatever the
//! instance.
//!
//! # Order
//! All work of an instance is on the streams of its method's calls, and the core lets each call's
//! stream go on after what the call before has left there, and waits for it before it drops the
//! instance. So work is in order by itself. The host waits only where a context that may still be
//! running is to be changed (other shapes, other addresses), where scratch is to be replaced, and
//! where it reads results.
//!
//! Shared scratch is handed on by events: who takes it waits, on the device, for its last use. So
//! calls of different instances may overlap on the host and on the device, and none waits for another
//! to end.
//!
//! # Trust
//! To run an engine is to run code that came with the program.
#![deny(unsafe_code)]

mod abi;
mod argument;
mod backend;
mod container;
mod contexts;
mod delegate;
mod describe;
mod find;
mod floor;
mod instance;
mod loaded;
mod log;
#[allow(
    unreachable_pub,
    reason = "public for tests, where there is the switch"
)]
mod omit;
mod options;
mod prepared;
mod profile;
mod scratch;
mod staging;
mod version;
mod weights;

pub use backend::{NAME, TensorRt};
pub use container::{Alias, AliasKind, Binding, Container, Metadata};
pub use contexts::SINGLE_CONTEXT;
pub use describe::{ContainerInfo, EngineInfo, InputRange, ProfileInfo, TensorInfo};
pub use find::{FoundLibrary, HOW_TO_GET};
pub use floor::{Around, Floor, Watched};
#[cfg(any(test, feature = "omissions"))]
#[doc(hidden)]
pub use omit::{Omission, Rule, omit};
pub use options::Options;
pub use scratch::{SHARED_SCRATCH, SHARED_SCRATCH_LIMIT, ScratchStatistics};
pub use version::{Flavor, Version};
pub use weights::WEIGHT_STREAMING_BUDGET;
