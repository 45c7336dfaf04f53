//! Programs with engines, which the core runs with this backend on the stand-ins of TensorRT and of the
//! driver.

mod aliases;
mod calls;
mod faults;
mod graphs;
mod layouts;
mod models;
mod omissions;
mod profiles;
#[path = "../../../thalweg-runtime/tests/traces/read.rs"]
mod read;
mod refusals;
mod scratch;
mod sharing;
mod timelines;
mod traces;
mod weights;

use std::sync::Arc;

use thalweg_core::{Backend, DeviceId, DeviceKind, KernelRegistry, Result, Tensor, bail};
use thalweg_cuda::Driver;
use thalweg_format::{
    MethodBuilder, ProgramBuilder, ScalarType, ShapeDynamism, Value, WriteOptions,
};
use thalweg_runtime::{LoadOptions, Method, Program, RunOptions, Runtime};
use thalweg_simgpu::nvinfer::{DType, EngineSpec, ProfileSpec};
use thalweg_simgpu::{Config, Sim};
use thalweg_tensorrt::{Binding, Container, Metadata, NAME, Options, TensorRt};

use models::*;
