//! The interface of Thalweg for whoever implements kernels, backends and devices.
//!
//! | to implement | read |
//! |---|---|
//! | an operator | [`Kernel`], [`KernelCall`], [`Signature`] |
//! | a backend, which runs delegates | [`Backend`], [`Delegate`], [`DelegateInstance`], [`Call`] |
//! | a backend whose delegates are graphs of operators | [`Backend`], [`Subgraph`] |
//! | a device | [`Device`] |
//!
//! What loads and runs programs is the crate `thalweg-runtime`; users of it import `thalweg`.
#![deny(unsafe_code)]

mod arguments;
mod backend;
mod device;
mod dtype;
mod error;
#[allow(unsafe_code, reason = "see the module's documentation")]
mod frame;
mod kernel;
mod memory;
mod mutation;
mod options;
mod scalar;
mod signature;
mod tensor;
mod trace;
mod value;

pub use arguments::{Arguments, TensorList};
pub use backend::{
    Backend, Call, CallEnd, Delegate, DelegateBuffer, DelegateInstance, DelegateSpec, GraphKey,
    LoadedDelegate, Node, NodeValue, NodeValueId, StateBuffers, Subgraph,
};
pub use device::{
    Access, CallerStream, ClockReference, Device, DeviceAddress, DeviceEvent, DeviceGraph,
    DeviceId, DeviceInput, DeviceKind, DeviceMemory, DeviceTensor, DeviceTimer, DeviceTimes,
    PinnedMemory, StreamHandle,
};
pub use dtype::{Bool, DType, Element};
pub use error::{Error, ErrorKind, Place, Result};
pub use frame::TensorSpec;
pub use half::{bf16, f16};
pub use kernel::{
    Argument, Epilogue, EpilogueFn, FuseFn, Kernel, KernelCall, KernelFn, KernelRegistry, Layout,
    LayoutFn, Movement, MovementFn, PrepackFn, Prepacked, Shape, StaticArguments,
};
pub use memory::SharedBytes;
pub use num_complex::{Complex32, Complex64};
pub use options::{BackendOptions, OptionValue};
pub use scalar::Scalar;
pub use signature::{Parameter, ParameterKind, Signature};
pub use tensor::{Dims, MAX_RANK, Tensor, TensorView, TensorViewMut};
pub use tensor::{identity_order, is_row_major, numel, same_dims, strides_of};
pub use trace::{Note, Span, Tracer};
pub use value::{Input, Output, Value, ValueId};

/// The engine's side of the interface, for `thalweg-runtime`. No promise is made of it.
#[doc(hidden)]
pub mod engine {
    pub use crate::arguments::{ArgumentAccess, Disjoint, Overlap};
    pub use crate::backend::{CallContext, CallDevices, NamedData};
    pub use crate::frame::{
        DeviceLocation, Frame, HostLocation, Location, Slot, Storage, StorageId, TensorId,
        TensorSlot,
    };
    pub use crate::kernel::{KernelContext, StaticArgument};
    pub use crate::memory::{Block, FileBytes, Scratch};
    pub use crate::trace::{Category, Recorder};
}
