//! A recorded call of an engine.

use thalweg_tensorrt::direct::{DirectEngine, TensorValue};

/// A call of an engine: the profile, and the values of the inputs and outputs.
pub(crate) struct RecordedCall {
    pub(crate) engine: DirectEngine,
    pub(crate) profile: usize,
    pub(crate) inputs: Vec<TensorValue>,
    pub(crate) outputs: Vec<TensorValue>,
}
