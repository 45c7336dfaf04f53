//! A stand-in for the CUDA driver, and one for TensorRT, for tests.
//!
//! The shared library of this package has the functions of `libcuda.so.1`. Work runs on threads of
//! its own, in an adversarial order that follows from a seed. Every access to memory is checked to
//! be ordered after what it needs. Every call can be made to fail. [`Sim`] finds the library and
//! controls it. `docs/simgpu.md` says what it promises.
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
//! The same library is a stand-in for TensorRT. [`nvinfer`] describes engines for it.
//!
//! It is for Linux. Elsewhere this package is empty.
//!
//! # Where things are
//!
//! Each layer uses only those above it in this list.
//!
//! | modules | what they are |
//! |---|---|
//! | `abi`, `config`, `fault`, `report`, `handle`, `status`, `clock`, `schedule` | plain values: C types, settings, errors, vector clocks, scheduling policies |
//! | `memory` | the memory that devices reach, and the checks of accesses to it |
//! | `callback`, `kernel`, `work` | host functions, kernels, and the operations in queues |
//! | `objects` | contexts, streams, events, modules, graphs, as plain data |
//! | `driver` | the state of the driver, and the changes to it: scheduling, allocation, captures, graphs |
//! | `simulator` | the one state of the process, worker threads, calls and waits |
//! | `entry`, `interface` | the exported functions of the driver; what other stand-ins ask of it |
//! | `nvinfer` | the stand-in for TensorRT, which uses only `interface` |
//! | `control`, `sim`, `launch` | the control by tests, and how their kernels see a launch |
#![cfg(target_os = "linux")]

pub mod abi;
mod callback;
#[forbid(unsafe_code)]
mod clock;
#[forbid(unsafe_code)]
mod config;
mod control;
#[forbid(unsafe_code)]
mod driver;
mod entry;
#[forbid(unsafe_code)]
mod fault;
#[forbid(unsafe_code)]
mod handle;
#[forbid(unsafe_code)]
mod interface;
mod kernel;
mod launch;
mod memory;
pub mod nvinfer;
mod objects;
#[forbid(unsafe_code)]
mod report;
#[forbid(unsafe_code)]
mod schedule;
mod sim;
#[forbid(unsafe_code)]
mod simulator;
#[forbid(unsafe_code)]
mod status;
#[forbid(unsafe_code)]
mod work;

pub use config::{Config, Mode};
pub use fault::Fault;
pub use launch::{KernelFault, Launch, Plain};
pub use report::{Report, ReportKind, Site};
pub use sim::{FaultRun, Sim};
pub use work::{Done, WorkKind};
