//! The description of a TensorRT engine in a delegate's payload.
#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "there is no TensorRT backend")
)]

use serde::Serialize;
#[cfg(not(target_os = "linux"))]
use thalweg::format::Delegate;

/// An engine, or the reason that the payload has none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Engine {
    Readable(Box<Contained>),
    Broken { error: String },
}

/// The metadata of an engine in its container.
#[derive(Debug, Serialize)]
pub(super) struct Contained {
    pub(super) engine_bytes: usize,
    /// The version of TensorRT that built it, where its bytes say so.
    pub(super) built_by: Option<String>,
    /// The number of the device that it was built for.
    pub(super) device: i64,
    /// The system that it was built for, where the container says so.
    pub(super) platform: Option<String>,
    /// True if it was built for more than one kind of GPU.
    pub(super) hardware_compatible: bool,
    pub(super) bindings: Vec<Binding>,
    pub(super) aliases: Vec<Alias>,
    #[serde(flatten)]
    pub(super) seen: Seen,
}

/// An input or output.
#[derive(Debug, Serialize)]
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) is_input: bool,
    /// The element type, where it is known.
    pub(super) dtype: Option<String>,
    /// The sizes, where they are known; -1 for one that is not fixed.
    pub(super) shape: Option<Vec<i64>>,
    /// True if TensorRT takes it on the host, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) on_host: Option<bool>,
}

/// An output that is an input's memory.
#[derive(Debug, Serialize)]
pub(super) struct Alias {
    pub(super) output: String,
    pub(super) input: String,
    /// The source of this fact: the `engine`, which updates a cache, or the `exporter`.
    pub(super) said_by: &'static str,
}

/// The description by TensorRT on this machine, or the reason that there is none.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Seen {
    #[serde(rename = "tensorrt")]
    TensorRt(Described),
    NotShown(String),
}

/// The description of an engine by TensorRT.
#[derive(Debug, Serialize)]
pub(super) struct Described {
    /// The engine's own name, often empty.
    pub(super) name: String,
    pub(super) bindings: Vec<Binding>,
    pub(super) profiles: Vec<Profile>,
    /// Bytes of weights that can stay on the host.
    pub(super) streamable_weights: i64,
    /// The bytes of these that are on the device by default; absent if all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weight_budget: Option<i64>,
    /// The bytes of device memory through which each context streams the others.
    pub(super) weight_scratch: i64,
}

/// An optimization profile.
#[derive(Debug, Serialize)]
pub(super) struct Profile {
    pub(super) inputs: Vec<Range>,
    /// The scratch of a call with the largest shapes.
    pub(super) scratch_bytes: usize,
    /// The scratch of a call with the smallest shapes; absent if unknown, or if there is one shape only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) least_scratch_bytes: Option<usize>,
}

/// The range of shapes that a profile takes for an input.
#[derive(Debug, Serialize)]
pub(super) struct Range {
    pub(super) input: String,
    pub(super) min: Vec<i64>,
    pub(super) opt: Vec<i64>,
    pub(super) max: Vec<i64>,
    /// The range in words, with bounds of values if shapes depend on them.
    pub(super) text: String,
}

#[cfg(target_os = "linux")]
pub(super) use with_tensorrt::Describer;

#[cfg(target_os = "linux")]
mod with_tensorrt {
    use std::cell::OnceCell;

    use thalweg::cuda::Driver;
    use thalweg::format::Delegate;
    use thalweg::tensorrt::{
        AliasKind, ContainerInfo, EngineInfo, NAME, Options, TensorRt, WEIGHT_STREAMING_BUDGET,
    };

    use super::{Alias, Binding, Contained, Described, Engine, Profile, Range, Seen};
    use crate::failure::with_causes;

    /// Describes engines, with TensorRT if this machine has it.
    #[derive(Default)]
    pub(in super::super) struct Describer(OnceCell<Result<TensorRt, String>>);

    impl Describer {
        /// Describes the engine in a payload; `None` for other backends.
        pub(in super::super) fn describe(
            &self,
            delegate: &Delegate<'_>,
            payload: &[u8],
        ) -> Option<Engine> {
            if delegate.backend != NAME {
                return None;
            }
            Some(match ContainerInfo::of(payload) {
                Ok(info) => {
                    let mut specs = delegate.compile_specs.iter();
                    let budget = specs.find(|spec| spec.key == WEIGHT_STREAMING_BUDGET);
                    let budget = budget.map(|spec| &*spec.value);
                    Engine::Readable(Box::new(self.contained(info, payload, budget)))
                }
                Err(error) => Engine::Broken {
                    error: with_causes(&error),
                },
            })
        }

        fn contained(
            &self,
            info: ContainerInfo,
            payload: &[u8],
            budget: Option<&[u8]>,
        ) -> Contained {
            let seen = match self.described(payload, budget) {
                Ok(info) => Seen::TensorRt(described(info)),
                Err(reason) => Seen::NotShown(reason),
            };
            let metadata = info.metadata;
            let given = |text: String| (!text.is_empty()).then_some(text);
            Contained {
                engine_bytes: info.engine_bytes,
                built_by: info.built_by.map(|version| version.to_string()),
                device: metadata.device_id,
                platform: given(metadata.target_platform),
                hardware_compatible: metadata.hardware_compatible,
                bindings: metadata
                    .io_bindings
                    .into_iter()
                    .map(|binding| Binding {
                        name: binding.name,
                        is_input: binding.is_input,
                        // Exporters leave both to the engine, or neither.
                        shape: (!binding.dtype.is_empty() || !binding.shape.is_empty())
                            .then_some(binding.shape),
                        dtype: given(binding.dtype),
                        on_host: None,
                    })
                    .collect(),
                aliases: metadata
                    .aliased_io
                    .into_iter()
                    .map(|alias| Alias {
                        output: alias.output,
                        input: alias.input,
                        said_by: match alias.kind {
                            AliasKind::KvCacheUpdate => "engine",
                            AliasKind::User => "exporter",
                        },
                    })
                    .collect(),
                seen,
            }
        }

        fn described(&self, payload: &[u8], budget: Option<&[u8]>) -> Result<EngineInfo, String> {
            let find = || {
                let driver = Driver::open(None).map_err(|error| with_causes(&error))?;
                let found = TensorRt::find(&driver, &Options::new());
                found.map_err(|error| with_causes(&error))
            };
            let tensorrt = self.0.get_or_init(find).as_ref().map_err(Clone::clone)?;
            let info = tensorrt.describe(payload, budget);
            info.map_err(|error| with_causes(&error))
        }
    }

    fn described(info: EngineInfo) -> Described {
        let inputs: Vec<String> = info
            .tensors
            .iter()
            .filter(|tensor| tensor.is_input)
            .map(|tensor| tensor.name.clone())
            .collect();
        let profiles = info.profiles.into_iter().map(|profile| Profile {
            scratch_bytes: profile.scratch,
            least_scratch_bytes: profile.scratch_at_least,
            inputs: inputs
                .iter()
                .zip(profile.inputs)
                .map(|(input, range)| Range {
                    input: input.clone(),
                    text: range.to_string(),
                    min: range.min,
                    opt: range.opt,
                    max: range.max,
                })
                .collect(),
        });
        Described {
            profiles: profiles.collect(),
            name: info.name,
            bindings: info
                .tensors
                .into_iter()
                .map(|tensor| Binding {
                    name: tensor.name,
                    is_input: tensor.is_input,
                    dtype: Some(tensor.dtype.name().into()),
                    shape: Some(tensor.shape),
                    on_host: Some(tensor.on_host),
                })
                .collect(),
            streamable_weights: info.streamable_weights,
            weight_budget: info.weight_budget,
            weight_scratch: info.weight_scratch,
        }
    }
}

/// Other systems have no TensorRT backend, and so no engines to describe.
#[cfg(not(target_os = "linux"))]
#[derive(Default)]
pub(super) struct Describer;

#[cfg(not(target_os = "linux"))]
impl Describer {
    pub(super) fn describe(&self, _delegate: &Delegate<'_>, _payload: &[u8]) -> Option<Engine> {
        None
    }
}
