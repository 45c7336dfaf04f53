//! Engines, as tests describe them.
//!
//! The bytes of an engine are a magic text, the length of a description in JSON, the description,
//! and as many arbitrary bytes as the description says, which stand for weights.

use serde::{Deserialize, Serialize};

use super::dtype::DType;

const MAGIC: &[u8; 8] = b"SIMTRT1\n";
/// Magic text and length.
pub(super) const HEADER: usize = 16;
/// No description is longer.
const LIMIT: u64 = 16 << 20;

/// An engine: what goes in and out, what it needs, and what it computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EngineSpec {
    /// Its name, which is also that of its kernels.
    pub name: String,
    /// The version of TensorRT that built it.
    pub version: (i32, i32, i32),
    /// Whether later versions of the same major number run it.
    pub version_compatible: bool,
    /// Whether it has code for the host in it, which a runtime must be allowed to run.
    pub host_code: bool,
    /// The compute capability that it was built for; any if it is none.
    pub capability: Option<(i32, i32)>,
    /// Inputs and outputs, in their order.
    pub tensors: Vec<TensorSpec>,
    /// Bounds of the inputs; at least one.
    pub profiles: Vec<ProfileSpec>,
    /// Weights that are always on the device, in bytes.
    pub weights: u64,
    /// Weights that can be streamed, in bytes.
    pub streamable: u64,
    /// What streaming adds to the scratch, in bytes.
    pub streaming_scratch: u64,
    /// How many kernels an enqueue launches at least.
    pub kernels: u32,
    /// How many streams beside the caller's it uses.
    pub aux_streams: u32,
    /// Whether the scratch of a context can be as small as its shapes allow
    /// (`kRUNTIME_ACTIVATION_RESIZE`); otherwise it is always as large as the profile allows.
    pub resize_by_shape: bool,
    /// Whether it answers zero, and logs nothing, when it is asked for the scratch of its shapes, as
    /// engines of 10.6 do that compute elements one by one.
    pub answers_no_scratch: bool,
    /// What it computes, in order.
    pub compute: Vec<Compute>,
    /// Bytes behind the description.
    pub payload: u64,
    /// What `deserializeCudaEngine` fails with.
    pub fails_to_deserialize: Option<String>,
    /// What creating a context fails with.
    pub fails_to_create_context: Option<String>,
    /// What every enqueue fails with.
    pub fails_to_enqueue: Option<String>,
}

/// An input or an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TensorSpec {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its dimensions.
    pub dims: Vec<Dim>,
    /// Whether it is an input.
    pub input: bool,
    /// Whether its values are on the host, and shapes depend on them.
    pub on_host: bool,
    /// The input whose memory an output shares. Libraries since 10.15 insist on it; earlier ones
    /// write the whole output where it is bound.
    pub alias: Option<String>,
}

/// One dimension of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dim {
    /// Always the same.
    Fixed(i64),
    /// Of an input: what the caller sets.
    Any,
    /// Of an output: a dimension of an input.
    Of(String, usize),
    /// Of an output: a value of an input on the host.
    Value(String, usize),
    /// Of an output: known only once it is computed.
    Data,
}

impl From<i64> for Dim {
    /// -1 is any.
    fn from(dim: i64) -> Self {
        match dim {
            -1 => Self::Any,
            dim => Self::Fixed(dim),
        }
    }
}

/// One optimization profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ProfileSpec {
    /// For each input with dimensions that the caller sets: the least, the usual, the greatest.
    pub shapes: Vec<(String, [Vec<i64>; 3])>,
    /// For each input on the host: least, usual and greatest values.
    pub values: Vec<(String, [Vec<i64>; 3])>,
    /// Scratch, in bytes, whatever the shapes.
    pub scratch: u64,
    /// Scratch, in bytes, for each element of an input.
    pub scratch_per_element: Vec<(String, u64)>,
}

impl ProfileSpec {
    /// A profile without bounds and scratch.
    pub fn new() -> Self {
        Self::default()
    }

    /// With bounds for an input: least, usual, greatest.
    #[must_use]
    pub fn shape(mut self, input: &str, min: &[i64], opt: &[i64], max: &[i64]) -> Self {
        let bounds = [min.to_vec(), opt.to_vec(), max.to_vec()];
        self.shapes.push((input.to_owned(), bounds));
        self
    }

    /// With bounds for the values of an input on the host.
    #[must_use]
    pub fn values(mut self, input: &str, min: &[i64], opt: &[i64], max: &[i64]) -> Self {
        let bounds = [min.to_vec(), opt.to_vec(), max.to_vec()];
        self.values.push((input.to_owned(), bounds));
        self
    }

    /// With scratch of so many bytes.
    #[must_use]
    pub fn scratch(mut self, bytes: u64) -> Self {
        self.scratch = bytes;
        self
    }

    /// With so many bytes more of scratch for each element of an input.
    #[must_use]
    pub fn scratch_per_element(mut self, input: &str, bytes: u64) -> Self {
        self.scratch_per_element.push((input.to_owned(), bytes));
        self
    }
}

/// Something that an engine computes. All of it is exact for small whole numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Compute {
    /// `output[i] = sum over terms (factor * input[i]) + constant`. Inputs with one element count
    /// for all `i`. An output that shares an input's memory accumulates in it.
    Affine {
        /// Factors and inputs.
        terms: Vec<(f64, String)>,
        /// What is added.
        constant: f64,
        /// The result.
        output: String,
    },
    /// `output[.., j] = sum over k (input[.., k] * w(k, j))` with the weights of
    /// [`EngineSpec::weight`].
    Matmul {
        /// Its last dimension is summed over.
        input: String,
        /// Where the weights come from.
        seed: u64,
        /// The result.
        output: String,
    },
    /// `output[i, ..] = input[indices[i], ..]`.
    Gather {
        /// What is gathered from.
        input: String,
        /// Whole numbers.
        indices: String,
        /// The result.
        output: String,
    },
    /// Writes rows into a cache: `output[.., position + i, ..] = update[.., i, ..]` along an axis.
    /// Where the output shares the cache's memory only those rows are touched, otherwise the rest
    /// is copied.
    CacheUpdate {
        /// The cache.
        cache: String,
        /// The rows.
        update: String,
        /// A tensor with one whole number.
        position: String,
        /// The axis.
        axis: usize,
        /// The result.
        output: String,
    },
    /// The indices of what is not zero, as rank rows and one column for each.
    NonZero {
        /// What is looked at.
        input: String,
        /// The result; its last dimension is [`Dim::Data`].
        output: String,
    },
    /// Sums over the last dimension, or over everything if the output has no dimension.
    Sum {
        /// What is summed.
        input: String,
        /// The result.
        output: String,
    },
}

impl Compute {
    /// The tensor that it makes.
    pub fn output(&self) -> &str {
        match self {
            Self::Affine { output, .. }
            | Self::Matmul { output, .. }
            | Self::Gather { output, .. }
            | Self::CacheUpdate { output, .. }
            | Self::NonZero { output, .. }
            | Self::Sum { output, .. } => output,
        }
    }

    /// The tensors that it looks at.
    pub(super) fn inputs(&self) -> Vec<&str> {
        match self {
            Self::Affine { terms, .. } => terms.iter().map(|(_, name)| &**name).collect(),
            Self::Matmul { input, .. } | Self::NonZero { input, .. } | Self::Sum { input, .. } => {
                vec![input]
            }
            Self::Gather { input, indices, .. } => vec![input, indices],
            Self::CacheUpdate {
                cache,
                update,
                position,
                ..
            } => vec![cache, update, position],
        }
    }
}

impl Default for EngineSpec {
    fn default() -> Self {
        Self {
            name: "engine".into(),
            version: (10, 6, 0),
            version_compatible: false,
            host_code: false,
            capability: None,
            tensors: Vec::new(),
            profiles: Vec::new(),
            weights: 0,
            streamable: 0,
            streaming_scratch: 0,
            kernels: 2,
            aux_streams: 0,
            resize_by_shape: false,
            answers_no_scratch: false,
            compute: Vec::new(),
            payload: 0,
            fails_to_deserialize: None,
            fails_to_create_context: None,
            fails_to_enqueue: None,
        }
    }
}

impl Default for TensorSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            dtype: DType::F32,
            dims: Vec::new(),
            input: true,
            on_host: false,
            alias: None,
        }
    }
}

impl EngineSpec {
    /// An engine without inputs, outputs and profiles, of TensorRT 10.6.
    pub fn new() -> Self {
        Self::default()
    }

    /// With this name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// With an input on the device; -1 is a dimension that the caller sets.
    #[must_use]
    pub fn input(mut self, name: &str, dtype: DType, dims: &[i64]) -> Self {
        self.tensors.push(TensorSpec {
            name: name.to_owned(),
            dtype,
            dims: dims.iter().map(|&dim| dim.into()).collect(),
            ..TensorSpec::default()
        });
        self
    }

    /// With an input on the host, whose values shapes may depend on.
    #[must_use]
    pub fn host_input(mut self, name: &str, dtype: DType, dims: &[i64]) -> Self {
        self = self.input(name, dtype, dims);
        if let Some(tensor) = self.tensors.last_mut() {
            tensor.on_host = true;
        }
        self
    }

    /// With an output.
    #[must_use]
    pub fn output(mut self, name: &str, dtype: DType, dims: &[Dim]) -> Self {
        self.tensors.push(TensorSpec {
            name: name.to_owned(),
            dtype,
            dims: dims.to_vec(),
            input: false,
            ..TensorSpec::default()
        });
        self
    }

    /// With an output that has an input's type and shape.
    #[must_use]
    pub fn output_like(self, name: &str, input: &str) -> Self {
        let (dtype, dims) = self.like(input);
        self.output(name, dtype, &dims)
    }

    /// With an output in the memory of an input.
    #[must_use]
    pub fn output_in_place(self, name: &str, input: &str) -> Self {
        let mut made = self.output_like(name, input);
        if let Some(tensor) = made.tensors.last_mut() {
            tensor.alias = Some(input.to_owned());
        }
        made
    }

    fn like(&self, input: &str) -> (DType, Vec<Dim>) {
        let tensor = self.tensors.iter().find(|tensor| tensor.name == input);
        let Some(tensor) = tensor else {
            return (DType::F32, Vec::new());
        };
        let dims = tensor.dims.iter().enumerate();
        let dims = dims.map(|(axis, dim)| match dim {
            Dim::Any => Dim::Of(input.to_owned(), axis),
            dim => dim.clone(),
        });
        (tensor.dtype, dims.collect())
    }

    /// With one more profile.
    #[must_use]
    pub fn profile(mut self, profile: ProfileSpec) -> Self {
        self.profiles.push(profile);
        self
    }

    /// Which computes this, too.
    #[must_use]
    pub fn compute(mut self, compute: Compute) -> Self {
        self.compute.push(compute);
        self
    }

    /// `output = sum of (factor * input) + constant`.
    #[must_use]
    pub fn affine(self, output: &str, terms: &[(f64, &str)], constant: f64) -> Self {
        self.compute(Compute::Affine {
            terms: terms.iter().map(|(a, x)| (*a, (*x).to_owned())).collect(),
            constant,
            output: output.to_owned(),
        })
    }

    /// Built by this version of TensorRT.
    #[must_use]
    pub fn version(mut self, major: i32, minor: i32, patch: i32) -> Self {
        self.version = (major, minor, patch);
        self
    }

    /// The weight of a matrix product for an element of the sum and of the result: a whole number
    /// from -2 to 2.
    pub fn weight(seed: u64, k: usize, j: usize) -> f64 {
        let mixed = (seed ^ ((k as u64) << 32) ^ j as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed >> 40) % 5) as f64 - 2.0
    }

    /// The bytes that `deserializeCudaEngine` takes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = MAGIC.to_vec();
        bytes.extend((json.len() as u64).to_le_bytes());
        bytes.extend(json);
        bytes.extend((0..self.payload).map(|index| (index % 251) as u8));
        bytes
    }

    /// The length of the description, from the bytes ahead of it.
    pub(super) fn description(header: &[u8]) -> Result<usize, String> {
        let magic = header.get(..8);
        let len = header.get(8..HEADER).and_then(|len| len.try_into().ok());
        let (Some(magic), Some(len)) = (magic, len) else {
            return Err(format!("{} bytes are no engine", header.len()));
        };
        if magic != MAGIC {
            return Err("magicTag does not match".into());
        }
        match u64::from_le_bytes(len) {
            len if len <= LIMIT => Ok(len as usize),
            len => Err(format!("a description of {len} bytes is too long")),
        }
    }

    pub(super) fn parse(json: &[u8]) -> Result<Self, String> {
        let spec: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        spec.check()?;
        Ok(spec)
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&TensorSpec> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// What the description itself gets wrong.
    fn check(&self) -> Result<(), String> {
        for tensor in &self.tensors {
            let name = &tensor.name;
            if self.tensors.iter().filter(|t| t.name == *name).count() > 1 {
                return Err(format!("two tensors are named {name}"));
            }
            if tensor.dims.len() > 8 {
                return Err(format!("{name} has more than 8 dimensions"));
            }
            if tensor.on_host && (!tensor.input || !matches!(tensor.dtype, DType::I32 | DType::I64))
            {
                return Err(format!(
                    "{name} is on the host, and no input of whole numbers"
                ));
            }
            let computed = self.compute.iter().filter(|c| c.output() == name).count();
            if computed != usize::from(!tensor.input) {
                return Err(format!("{name} is computed {computed} times"));
            }
            for dim in &tensor.dims {
                let fine = match dim {
                    Dim::Fixed(dim) => *dim >= 0,
                    Dim::Any => tensor.input,
                    Dim::Of(of, axis) => {
                        !tensor.input
                            && self
                                .tensor(of)
                                .is_some_and(|t| t.input && *axis < t.dims.len())
                    }
                    Dim::Value(of, _) => {
                        !tensor.input && self.tensor(of).is_some_and(|t| t.on_host)
                    }
                    Dim::Data => !tensor.input,
                };
                if !fine {
                    return Err(format!("{name} cannot have the dimension {dim:?}"));
                }
            }
            if let Some(alias) = &tensor.alias
                && !self.tensor(alias).is_some_and(|t| t.input && !t.on_host)
            {
                return Err(format!(
                    "{name} shares the memory of {alias}, which is no input"
                ));
            }
        }
        for input in self.compute.iter().flat_map(Compute::inputs) {
            if !self.tensor(input).is_some_and(|t| t.input && !t.on_host) {
                return Err(format!(
                    "{input} is computed with, and no input on the device"
                ));
            }
        }
        if self.profiles.is_empty() {
            return Err("there is no profile".into());
        }
        for profile in &self.profiles {
            for tensor in self.tensors.iter().filter(|t| t.input) {
                let bounds = profile.shapes.iter().find(|(name, _)| *name == tensor.name);
                let dynamic = tensor.dims.contains(&Dim::Any);
                let ranks = bounds.is_none_or(|(_, bounds)| {
                    bounds.iter().all(|shape| shape.len() == tensor.dims.len())
                });
                if (dynamic && bounds.is_none()) || !ranks {
                    return Err(format!("a profile has no bounds for {}", tensor.name));
                }
                let values = profile.values.iter().any(|(name, _)| *name == tensor.name);
                if tensor.on_host && !values {
                    return Err(format!("a profile has no values for {}", tensor.name));
                }
            }
        }
        Ok(())
    }
}
