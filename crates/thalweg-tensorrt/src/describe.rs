//! What there is to know of an engine, for people.

use std::fmt;

use thalweg_core::{DType, Device as _, Result};

use crate::backend::TensorRt;
use crate::container::{Container, Metadata};
use crate::loaded::{Binding, Loaded};
use crate::prepared::Prepared;
use crate::profile::Bounds;
use crate::version::Version;
use crate::weights::Budget;

/// What a payload says by itself, without TensorRT.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContainerInfo {
    /// What the container says of its engine.
    pub metadata: Metadata,
    /// Size of the engine in bytes.
    pub engine_bytes: usize,
    /// The version that built the engine, where its bytes say so.
    pub built_by: Option<Version>,
}

impl ContainerInfo {
    /// Looks at a payload.
    ///
    /// # Errors
    /// If it is no container.
    pub fn of(payload: &[u8]) -> Result<Self> {
        let container = Container::parse(payload)?;
        Ok(Self {
            engine_bytes: container.engine.len(),
            built_by: Version::of_engine(container.engine),
            metadata: container.metadata,
        })
    }
}

/// What TensorRT says of an engine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineInfo {
    /// The engine's own name, often empty.
    pub name: String,
    /// Inputs, then outputs, in the order of the delegate's arguments.
    pub tensors: Vec<TensorInfo>,
    /// The profiles.
    pub profiles: Vec<ProfileInfo>,
    /// Outputs that are an input's memory: the positions of both among the tensors.
    pub aliases: Vec<(usize, usize)>,
    /// Bytes of weights that can stay on the host.
    pub streamable_weights: i64,
    /// Bytes of these that are on the device; `None` if they all are.
    pub weight_budget: Option<i64>,
    /// Bytes on the device through which each context streams the others.
    pub weight_scratch: i64,
}

/// An input or output of an engine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Whether it is an input.
    pub is_input: bool,
    /// Its element type.
    pub dtype: DType,
    /// Its shape, with -1 for sizes that are not fixed.
    pub shape: Vec<i64>,
    /// Whether TensorRT wants it on the host, as values that shapes depend on.
    pub on_host: bool,
}

/// A profile of an engine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProfileInfo {
    /// For each input, what it takes.
    pub inputs: Vec<InputRange>,
    /// The most scratch that a context needs, in bytes.
    pub scratch: usize,
    /// What it needs for the least shapes. If that is less, scratch follows the shapes of a call, as it
    /// does in engines that were built for that (`kRUNTIME_ACTIVATION_RESIZE`); else a call takes the
    /// most, whatever its shapes. `None` if there is one shape only, or TensorRT does not say.
    pub scratch_at_least: Option<usize>,
}

/// What a profile takes as an input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InputRange {
    /// The least sizes.
    pub min: Vec<i64>,
    /// The sizes that it was optimized for.
    pub opt: Vec<i64>,
    /// The greatest sizes.
    pub max: Vec<i64>,
    text: String,
}

/// As `[1 to 64, 8]`.
impl fmt::Display for InputRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl TensorRt {
    /// Loads the engine of a payload, and says what TensorRT says of it. `weight_budget` is the value
    /// of the program's compile spec [`WEIGHT_STREAMING_BUDGET`](crate::WEIGHT_STREAMING_BUDGET), if
    /// it has one.
    ///
    /// # Errors
    /// If it is no container, TensorRT refuses the engine, or the budget is no number.
    pub fn describe(&self, payload: &[u8], weight_budget: Option<&[u8]>) -> Result<EngineInfo> {
        let loaded = self.load_alone(payload, Budget::of_program(weight_budget)?)?;
        let tensors = loaded.bindings.iter().enumerate();
        let profiles = loaded.profiles.iter().enumerate();
        let profiles = profiles.map(|(index, profile)| ProfileInfo {
            scratch: profile.scratch,
            scratch_at_least: least_scratch(&loaded, index),
            inputs: profile
                .inputs
                .iter()
                .map(|bounds| InputRange {
                    min: bounds.min.sizes().to_vec(),
                    opt: bounds.opt.sizes().to_vec(),
                    max: bounds.max.sizes().to_vec(),
                    text: bounds.describe(),
                })
                .collect(),
        });
        Ok(EngineInfo {
            name: loaded.name.clone(),
            tensors: tensors
                .map(|(position, binding)| TensorInfo {
                    name: binding.text.clone(),
                    is_input: position < loaded.inputs,
                    dtype: binding.dtype,
                    shape: binding.shape.sizes().to_vec(),
                    on_host: binding.on_host,
                })
                .collect(),
            profiles: profiles.collect(),
            aliases: loaded.aliases.clone(),
            streamable_weights: loaded.weights.streamable,
            weight_budget: loaded.weights.budget,
            weight_scratch: loaded.weights.scratch,
        })
    }
}

/// What a profile needs for its least shapes.
fn least_scratch(loaded: &Loaded, index: usize) -> Option<usize> {
    let profile = &loaded.profiles[index];
    let same = |bounds: &Bounds| {
        let values = bounds.values.as_ref();
        bounds.min == bounds.max && values.is_none_or(|(min, max)| min == max)
    };
    if profile.scratch == 0 || profile.inputs.iter().all(same) {
        return None;
    }
    let asked = || -> Result<usize> {
        let device = loaded.device();
        let _current = device.enter()?;
        let stream = device.default_stream();
        let values = loaded.bindings.iter().zip(&profile.inputs);
        let values: Vec<_> = values
            .map(|(binding, bounds)| least_values(binding, bounds))
            .collect::<Result<_>>()?;
        let mut prepared = Prepared::new(loaded, index, stream)?;
        let configured = prepared.configure(
            loaded,
            profile.scratch,
            |input| &profile.inputs[input].min,
            |input| &values[input],
            stream,
        );
        let needed = prepared.needed();
        prepared.close(loaded, stream);
        configured.map(|()| needed)
    };
    asked()
        .inspect_err(|error| tracing::debug!("no scratch for the least shapes: {error}"))
        .ok()
}

/// The bytes of the least input that a profile takes; none of one on the device.
fn least_values(binding: &Binding, bounds: &Bounds) -> Result<Vec<u8>> {
    if !binding.on_host {
        return Ok(Vec::new());
    }
    let mut bytes = vec![0; binding.bytes(&bounds.min)?];
    let least = bounds.values.as_ref().map_or(&[][..], |(min, _)| min);
    for (to, value) in bytes.chunks_mut(binding.dtype.size()).zip(least) {
        to.copy_from_slice(&value.to_le_bytes()[..to.len()]);
    }
    Ok(bytes)
}
