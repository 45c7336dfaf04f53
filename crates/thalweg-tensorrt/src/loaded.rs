//! A loaded engine: the object of TensorRT, and its bindings, aliases and profiles.

use std::ffi::CString;
use std::sync::Arc;

use thalweg_core::{DType, Error, ErrorKind, Result, SharedBytes, bail, ensure};
use thalweg_cuda::Device;

use crate::abi::{Engine, Runtime, Selector, Shape, TensorLocation};
use crate::container::{AliasKind, Container, Metadata};
use crate::profile::{Bounds, OptimizationProfile};
use crate::version::Version;
use crate::weights::{Budget, WeightStreaming};

/// An engine on a device, with its bindings, aliases and profiles. All instances share it, and it does
/// not change.
pub(crate) struct LoadedEngine {
    pub(crate) engine: Arc<Engine>,
    /// The engine's own name. It is often empty, or the same for several engines.
    pub(crate) name: String,
    /// Inputs, then outputs, in the order of the delegate's arguments.
    pub(crate) bindings: Vec<EngineBinding>,
    /// The number of inputs.
    pub(crate) inputs: usize,
    /// Outputs that alias an input, with that input: indices of bindings.
    pub(crate) aliases: Vec<(usize, usize)>,
    pub(crate) profiles: Vec<OptimizationProfile>,
    pub(crate) weights: WeightStreaming,
    /// The container of the engine. While it lives, no other payload has its address.
    pub(crate) payload: Option<SharedBytes>,
}

/// A binding: an input or output tensor, as the engine has it.
#[derive(Clone, Debug)]
pub(crate) struct EngineBinding {
    pub(crate) name: CString,
    /// The name, for messages.
    pub(crate) text: String,
    pub(crate) dtype: DType,
    /// The shape, with -1 for dynamic dimensions.
    pub(crate) shape: Shape,
    /// True if TensorRT expects the tensor on the host.
    pub(crate) on_host: bool,
}

impl EngineBinding {
    /// The size of a tensor of a shape, in bytes.
    pub(crate) fn bytes(&self, shape: &Shape) -> Result<usize> {
        match shape
            .numel()
            .and_then(|numel| numel.checked_mul(self.dtype.size()))
        {
            Some(bytes) => Ok(bytes),
            None => bail!(
                InvalidInput,
                "`{}` of shape {shape:?} is too large, or has no size",
                self.text
            ),
        }
    }
}

impl LoadedEngine {
    /// Loads the engine of a container.
    ///
    /// # Errors
    /// If TensorRT refuses the engine, or the metadata does not fit the engine.
    pub(crate) fn new(
        runtime: &Arc<Runtime>,
        device: &Device,
        container: &Container<'_>,
        budget: Budget,
    ) -> Result<Self> {
        let _current = device.enter()?;
        let explain = |error: Error| explained(&error, runtime, device, container.engine);
        let by_reading = budget != Budget::Automatic;
        let mut engine = if by_reading {
            Engine::deserialize_by_reading(runtime, device, container.engine)
        } else {
            Engine::deserialize(runtime, device, container.engine)
        }
        .map_err(explain)?;
        if !by_reading && engine.streamable_weights()? > 0 {
            // Only the engine says that it has weights to stream.
            drop(engine);
            engine = Engine::deserialize_by_reading(runtime, device, container.engine)
                .map_err(explain)?;
        }
        let weights = budget.apply(&mut engine)?;
        let engine = Arc::new(engine);
        let (bindings, inputs) = bindings(&engine, &container.metadata)?;
        Ok(Self {
            aliases: aliases(&engine, &container.metadata, &bindings)?,
            profiles: profiles(&engine, &bindings, inputs)?,
            name: engine.name()?,
            engine,
            bindings,
            inputs,
            weights,
            payload: None,
        })
    }

    /// The engine's name; `None` if it has none.
    pub(crate) fn own_name(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }

    /// The device of the engine.
    pub(crate) fn device(&self) -> &Device {
        self.engine.device()
    }
}

/// The error of an engine that TensorRT refuses, with the versions of TensorRT that have built and
/// refused it.
#[cold]
fn explained(error: &Error, runtime: &Runtime, device: &Device, engine: &[u8]) -> Error {
    let library = runtime.library();
    let here = format!(
        "{} {} ({})",
        library.flavor(),
        library.version(),
        library.file().display()
    );
    let built = match Version::of_engine(engine) {
        Some(version) => format!("the engine was built by TensorRT {version}, and this is {here}"),
        None => format!("this is {here}"),
    };
    let message = format!("{}; {built}, on {device}", error.message());
    Error::new(ErrorKind::Delegate, message)
}

/// The bindings that the metadata names, inputs first, and the number of inputs.
fn bindings(engine: &Engine, metadata: &Metadata) -> Result<(Vec<EngineBinding>, usize)> {
    let names = engine.tensor_names()?;
    let inputs = metadata.inputs().count();
    let mut bindings = Vec::new();
    for named in metadata.inputs().chain(metadata.outputs()) {
        let text = named.name.clone();
        let Ok(name) = CString::new(text.clone()) else {
            bail!(InvalidProgram, "the name {text:?} has a zero in it");
        };
        let is_input = match names.contains(&text) {
            true => engine.is_input(&name)?,
            false => None,
        };
        let Some(is_input) = is_input else {
            bail!(
                InvalidProgram,
                "the engine has no input or output `{text}`; it has {}",
                names.join(", ")
            );
        };
        ensure!(
            is_input == named.is_input,
            InvalidProgram,
            "`{text}` is an {} of the engine, but the metadata says that it is an {}",
            kind(is_input),
            kind(named.is_input)
        );
        let data_type = engine.data_type(&name)?;
        let Some(dtype) = data_type.dtype() else {
            bail!(
                Unsupported,
                "`{text}` has elements of {data_type}, which programs do not have"
            );
        };
        bindings.push(EngineBinding {
            shape: engine.shape(&name)?,
            on_host: engine.location(&name)? == TensorLocation::Host,
            name,
            text,
            dtype,
        });
    }
    let known = |name: &String| bindings.iter().any(|binding| binding.text == *name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        bail!(
            InvalidProgram,
            "the engine has an input or output `{name}`, which the metadata does not name"
        );
    }
    Ok((bindings, inputs))
}

fn kind(is_input: bool) -> &'static str {
    if is_input { "input" } else { "output" }
}

/// The aliases of the metadata, which must be those of the engine, if TensorRT knows them.
fn aliases(
    engine: &Engine,
    metadata: &Metadata,
    bindings: &[EngineBinding],
) -> Result<Vec<(usize, usize)>> {
    let position = |name: &str| bindings.iter().position(|binding| binding.text == name);
    let mut aliases = Vec::new();
    for alias in &metadata.aliased_io {
        let (Some(output), Some(input)) = (position(&alias.output), position(&alias.input)) else {
            bail!(Internal, "an alias of what is no binding");
        };
        let (to, from) = (&bindings[output], &bindings[input]);
        ensure!(
            to.dtype == from.dtype && to.shape == from.shape && !to.on_host && !from.on_host,
            InvalidProgram,
            "`{}`, {}{:?}, cannot be the memory of `{}`, {}{:?}",
            to.text,
            to.dtype,
            to.shape,
            from.text,
            from.dtype,
            from.shape
        );
        aliases.push((output, input));
    }
    if engine.knows_aliases() {
        for (position, binding) in bindings.iter().enumerate() {
            let said = engine.aliased_input(&binding.name)?;
            let here = metadata
                .aliased_io
                .iter()
                .find(|alias| alias.output == binding.text);
            let agrees = match (&said, here) {
                (None, None) => true,
                (None, Some(alias)) => alias.kind == AliasKind::User,
                (Some(said), Some(alias)) => alias.input == *said,
                (Some(_), None) => false,
            };
            ensure!(
                agrees,
                InvalidProgram,
                "binding {position}, `{}`, is {} for the engine, but {} for the metadata",
                binding.text,
                described(said.as_deref()),
                described(here.map(|alias| &*alias.input))
            );
        }
    }
    Ok(aliases)
}

fn described(input: Option<&str>) -> String {
    input.map_or("no alias".into(), |input| {
        format!("the memory of `{input}`")
    })
}

/// The profiles of an engine, all of whose tensors must have the linear format.
fn profiles(
    engine: &Engine,
    bindings: &[EngineBinding],
    inputs: usize,
) -> Result<Vec<OptimizationProfile>> {
    let mut profiles = Vec::new();
    for index in 0..engine.profile_count()? {
        let number = index as i32;
        for binding in bindings {
            if let Some(format) = engine.nonlinear_format(&binding.name, number)? {
                bail!(
                    Unsupported,
                    "the engine wants the elements of `{}` in an order of its own: {format}",
                    binding.text
                );
            }
        }
        let bounds = bindings[..inputs]
            .iter()
            .map(|input| bounds(engine, input, number));
        profiles.push(OptimizationProfile {
            inputs: bounds.collect::<Result<_>>()?,
            scratch: engine.scratch(number)?,
        });
    }
    Ok(profiles)
}

fn bounds(engine: &Engine, input: &EngineBinding, profile: i32) -> Result<Bounds> {
    let shape = |which| engine.profile_shape(&input.name, profile, which);
    let (min, opt, max) = (
        shape(Selector::Min)?,
        shape(Selector::Opt)?,
        shape(Selector::Max)?,
    );
    let is_values = input.on_host && engine.is_shape_tensor(&input.name)?;
    let values = if let (true, Some(count)) = (is_values, max.numel()) {
        let values = |which| engine.profile_values(&input.name, profile, which, count);
        let (min, max) = (values(Selector::Min)?, values(Selector::Max)?);
        Some((min, max)).filter(|(min, max)| !min.is_empty() && min.len() == max.len())
    } else {
        None
    };
    Ok(Bounds {
        min,
        opt,
        max,
        values,
    })
}
