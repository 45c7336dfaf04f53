//! The runtime of Thalweg: programs, methods, tensors, and the registries of kernels and backends.
//!
//! A [`Runtime`] holds operators and backends. It loads a [`Program`], of which
//! [`Program::method`] makes instances, and [`Method::run`] runs them. This crate has no operators
//! and no backends of its own; the crate `thalweg` puts a runtime together with all that a machine
//! offers.
#![deny(unsafe_code)]

mod backend;
mod completion;
mod data;
mod device;
mod dtype;
mod error;
mod info;
mod invoke;
mod kernel;
mod link;
mod memory;
mod method;
#[allow(
    unreachable_pub,
    reason = "public for tests, where there is the switch"
)]
mod omit;
mod options;
mod plan;
mod preparation;
mod profile;
mod program;
mod runtime;
mod scalar;
mod signature;
mod state;
mod tensor;
mod trace;
mod value;

pub use backend::{
    Backend, Call, CallEnd, Delegate, DelegateInstance, DelegateSpec, Payload, Stamp,
};
pub use completion::Completion;
pub use device::{
    CallerStream, Device, DeviceAddress, DeviceGraph, DeviceId, DeviceInput, DeviceKind,
    DeviceMemory, DeviceTensor, DeviceTimer, DeviceTimes, Mark, PinnedMemory, Reference,
    StreamHandle, Use,
};
pub use dtype::{Bool, DType, Element};
pub use error::{Error, ErrorKind, Place, Result};
pub use half::{bf16, f16};
pub use info::{MethodInfo, ShapeKind, TensorInfo, ValueInfo};
pub use invoke::Argument;
pub use kernel::{
    Kernel, KernelCall, KernelFn, KernelRegistry, Moved, MovesFn, Order, OrderFn, StaticCall,
};
pub use link::{BroughtTo, How, KeptInfo, Missing, Schedule, ScheduledStep};
pub use memory::{Arguments, TensorList};
pub use method::{Method, MethodOptions, Outputs};
pub use num_complex::{Complex32, Complex64};
#[cfg(any(test, feature = "omissions"))]
#[doc(hidden)]
pub use omit::{Omission, Rule, omit};
pub use options::{BackendOptions, GraphUse, LoadOptions, OptionValue, RunOptions};
pub use preparation::{AbsorbFn, Preparation, PrepareFn, Prepared, Shape};
pub use profile::{DelegateKey, Pins, Profile};
pub use program::Program;
pub use runtime::{DeviceSource, Runtime, RuntimeBuilder};
pub use scalar::Scalar;
pub use signature::{Parameter, ParameterKind, Signature};
pub use state::{State, StateBuffer};
pub use tensor::{Dims, MAX_RANK, Tensor, TensorView, TensorViewMut};
pub use tensor::{identity_order, is_row_major, numel, same_dims, strides_of};
pub use trace::{Note, Span, Trace, Tracer};
pub use value::{Input, Output, Value, ValueId};
