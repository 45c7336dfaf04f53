//! The runtime of Thalweg.
#![deny(unsafe_code)]

mod dtype;
mod error;
mod invoke;
mod kernel;
mod memory;
mod scalar;
mod signature;
mod tensor;
mod value;

pub use dtype::{Bool, DType, Element};
pub use error::{Error, ErrorKind, Place, Result};
pub use half::{bf16, f16};
pub use invoke::Argument;
pub use kernel::{Kernel, KernelCall, KernelFn, KernelRegistry};
pub use memory::{Arguments, TensorList};
pub use num_complex::{Complex32, Complex64};
pub use scalar::Scalar;
pub use signature::{Parameter, ParameterKind, Signature};
pub use tensor::{
    Dims, MAX_RANK, Tensor, TensorView, TensorViewMut, identity_order, is_row_major, numel,
    strides_of,
};
pub use value::{Input, Output, Value, ValueId};
