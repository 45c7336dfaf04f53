//! Descriptions of containers and engines, for people.

use std::fmt;

use thalweg_core::{DType, Device as _, Result};

use crate::backend::TensorRt;
use crate::container::{Container, Metadata};
use crate::contexts::ConfiguredContext;
use crate::loaded::{EngineBinding, LoadedEngine};
use crate::profile::Bounds;
use crate::version::Version;
use crate::weights::Budget;

/// The description of a container: what it says without TensorRT.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContainerInfo {
    /// The metadata.
    pub metadata: Metadata,
    /// The size of the engine, in bytes.
    pub engine_bytes: usize,
    /// The version of TensorRT that has built the engine; `None` if its bytes do not say.
    pub built_by: Option<Version>,
}

impl ContainerInfo {
    /// The description of a payload.
    ///
    /// # Errors
    /// If the payload is not a container.
    pub fn of(payload: &[u8]) -> Result<Self> {
        let container = Container::parse(payload)?;
        Ok(Self {
            engine_bytes: container.engine.len(),
            built_by: Version::of_engine(container.engine),
            metadata: container.metadata,
        })
    }
}

/// The description of an engine by TensorRT.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineInfo {
    /// The engine's own name, often empty.
    pub name: String,
    /// Inputs, then outputs, in the order of the delegate's arguments.
    pub tensors: Vec<TensorInfo>,
    /// The optimization profiles.
    pub profiles: Vec<ProfileInfo>,
    /// Outputs that alias an input, with that input: indices of tensors.
    pub aliases: Vec<(usize, usize)>,
    /// The weights that can stay on the host, in bytes.
    pub streamable_weights: i64,
    /// The part of them that is on the device, in bytes; `None` if all are.
    pub weight_budget: Option<i64>,
    /// The device memory through which each context streams the others, in bytes.
    pub weight_scratch: i64,
}

/// The description of an input or output tensor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TensorInfo {
    /// The name.
    pub name: String,
    /// True for an input.
    pub is_input: bool,
    /// The element type.
    pub dtype: DType,
    /// The shape, with -1 for dynamic dimensions.
    pub shape: Vec<i64>,
    /// True if TensorRT expects the tensor on the host, because shapes depend on its values.
    pub on_host: bool,
}

/// The description of an optimization profile.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProfileInfo {
    /// The bounds of each input.
    pub inputs: Vec<InputRange>,
    /// The most scratch that a context needs, in bytes.
    pub scratch: usize,
    /// The scratch for the minimum shapes, in bytes. If it is less than `scratch`, the scratch of a call
    /// depends on its shapes, as in engines that are built with `kRUNTIME_ACTIVATION_RESIZE`. Otherwise
    /// every call needs the most. `None` if the profile has one shape only, or TensorRT does not say.
    pub scratch_at_least: Option<usize>,
}

/// The description of the bounds of an input in a profile.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InputRange {
    /// The minimum shape.
    pub min: Vec<i64>,
    /// The shape that the profile is optimized for.
    pub opt: Vec<i64>,
    /// The maximum shape.
    pub max: Vec<i64>,
    text: String,
}

/// The bounds as `[1 to 64, 8]`.
impl fmt::Display for InputRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl TensorRt {
    /// Loads the engine of a payload, and describes it. `weight_budget` is the value of the program's
    /// compile spec [`WEIGHT_STREAMING_BUDGET`](crate::WEIGHT_STREAMING_BUDGET), if it has one.
    ///
    /// # Errors
    /// If the payload is not a container, TensorRT refuses the engine, or the budget is not a number.
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

/// The scratch for the minimum shapes of a profile.
fn least_scratch(loaded: &LoadedEngine, index: usize) -> Option<usize> {
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
        let mut context = ConfiguredContext::new(loaded, index, stream)?;
        let configured = context.configure(
            loaded,
            profile.scratch,
            |input| &profile.inputs[input].min,
            |input| &values[input],
            stream,
        );
        let needed = context.needed();
        context.close(loaded, stream);
        configured.map(|()| needed)
    };
    asked()
        .inspect_err(|error| tracing::debug!("no scratch for the least shapes: {error}"))
        .ok()
}

/// The bytes of the minimum values of an input in a profile; none for an input on the device.
fn least_values(binding: &EngineBinding, bounds: &Bounds) -> Result<Vec<u8>> {
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
