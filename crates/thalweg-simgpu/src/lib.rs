//! A stand-in for the CUDA driver.
//!
//! The shared library of this package has the functions of `libcuda.so.1`. Work runs on threads of
//! its own, in an order that follows from a seed and prefers the surprising; every access to
//! memory is checked to be ordered after what it needs; every call can be made to fail. [`Sim`]
//! finds the library and controls it. What it promises and what not is in `docs/simgpu.md`.
//!
//! A test that uses it looks like this:
//! ```no_run
//! use thalweg_simgpu::{Config, Sim};
//!
//! let sim = Sim::session(Config::seeded(7));
//! sim.register_kernel("double", &[8, 4], |launch| {
//!     let n = launch.argument::<u32>(1)? as usize;
//!     for value in launch.update::<f32>(launch.argument(0)?, n)? {
//!         *value *= 2.0;
//!     }
//!     Ok(())
//! });
//! // Open `sim.path()` as the driver, load the image "simgpu\ndouble\0", launch, wait.
//! sim.assert_clean();
//! ```
//!
//! The same library is a stand-in for TensorRT; [`nvinfer`] describes engines for it.
//!
//! It is for Linux, as is what it is a stand-in for here; elsewhere this package is empty.
#![cfg(target_os = "linux")]

pub mod abi;
#[forbid(unsafe_code)]
mod allocation;
#[forbid(unsafe_code)]
mod call;
mod callback;
#[forbid(unsafe_code)]
mod capture;
#[forbid(unsafe_code)]
mod clock;
#[forbid(unsafe_code)]
mod config;
#[forbid(unsafe_code)]
mod context;
mod control;
#[forbid(unsafe_code)]
mod driver;
mod entry;
#[forbid(unsafe_code)]
mod event;
#[forbid(unsafe_code)]
mod fault;
#[forbid(unsafe_code)]
mod graph;
#[forbid(unsafe_code)]
mod green;
#[forbid(unsafe_code)]
mod handle;
mod launch;
mod memory;
#[forbid(unsafe_code)]
mod module;
pub mod nvinfer;
#[forbid(unsafe_code)]
mod objects;
#[forbid(unsafe_code)]
mod report;
#[forbid(unsafe_code)]
mod schedule;
mod sim;
#[forbid(unsafe_code)]
mod status;
#[forbid(unsafe_code)]
mod stream;
mod user_object;
#[forbid(unsafe_code)]
mod work;
#[forbid(unsafe_code)]
mod worker;

pub use config::Config;
pub use fault::Fault;
pub use launch::{KernelFault, Launch, Plain};
pub use report::{Report, ReportKind, Site};
pub use schedule::Mode;
pub use sim::{FaultRun, Sim};
pub use work::{Done, WorkKind};
