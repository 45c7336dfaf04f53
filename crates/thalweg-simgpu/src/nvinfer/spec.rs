//! The descriptions of engines, which tests write.
//!
//! The bytes of an engine are a magic text, the length of a description in JSON, the description,
//! and as many arbitrary bytes as the description says, which stand for weights.

use serde::{Deserialize, Serialize};

use super::dtype::DType;

const MAGIC: &[u8; 8] = b"SIMTRT1\n";
/// The length of the magic text and of the description's length.
pub(super) const HEADER: usize = 16;
/// The length of the longest description.
const LIMIT: u64 = 16 << 20;

/// The description of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EngineSpec {
    /// The name, which is also that of its kernels.
    pub name: String,
    /// The version of TensorRT that built it.
    pub version: (i32, i32, i32),
    /// True if later versions of the same major number run it.
    pub version_compatible: bool,
    /// True if it has code for the host, which a runtime must be allowed to run.
    pub host_code: bool,
    /// The compute capability that it was built for. `None` is any.
    pub capability: Option<(i32, i32)>,
    /// The inputs and outputs, in their order.
    pub tensors: Vec<TensorSpec>,
    /// The optimization profiles, at least one.
    pub profiles: Vec<ProfileSpec>,
    /// The size of the weights that are always on the device, in bytes.
    pub weights: u64,
    /// The size of the weights that can be streamed, in bytes.
    pub streamable: u64,
    /// The scratch that weight streaming needs, in bytes.
    pub streaming_scratch: u64,
    /// The least number of kernels that an enqueue launches.
    pub kernels: u32,
    /// The number of its auxiliary streams.
    pub aux_streams: u32,
    /// True if the scratch of a context follows its shapes (`kRUNTIME_ACTIVATION_RESIZE`).
    /// Otherwise it follows the profile.
    pub resize_by_shape: bool,
    /// True if `updateDeviceMemorySizeForShapes` returns 0 and logs nothing, as it does for
    /// elementwise engines of 10.6.
    pub answers_no_scratch: bool,
    /// The computations, in order.
    pub compute: Vec<Compute>,
    /// The number of bytes behind the description.
    pub payload: u64,
    /// The error of `deserializeCudaEngine`, if it fails.
    pub fails_to_deserialize: Option<String>,
    /// The error of the creation of a context, if it fails.
    pub fails_to_create_context: Option<String>,
    /// The error of every enqueue, if it fails.
    pub fails_to_enqueue: Option<String>,
}

/// An input or an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TensorSpec {
    /// The name.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The dimensions.
    pub dims: Vec<Dim>,
    /// True for an input.
    pub input: bool,
    /// True if its values are on the host. Shapes may depend on them.
    pub on_host: bool,
    /// The input whose memory an output shares. Libraries since 10.15 require it to be bound there;
    /// earlier ones write the whole output where it is bound.
    pub alias: Option<String>,
}

/// One dimension of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dim {
    /// A fixed dimension.
    Fixed(i64),
    /// A dimension of an input that the caller sets.
    Any,
    /// A dimension of an output that is one of an input: its name, and the axis.
    Of(String, usize),
    /// A dimension of an output that is a value of an input on the host: its name, and the index.
    Value(String, usize),
    /// A dimension of an output that is known only once it is computed.
    Data,
}

impl From<i64> for Dim {
    /// -1 is [`Dim::Any`].
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
    /// The least, the usual and the greatest shape of each input with dimensions that the caller
    /// sets.
    pub shapes: Vec<(String, [Vec<i64>; 3])>,
    /// The least, the usual and the greatest values of each input on the host.
    pub values: Vec<(String, [Vec<i64>; 3])>,
    /// The scratch for any shapes, in bytes.
    pub scratch: u64,
    /// The scratch for each element of an input, in bytes.
    pub scratch_per_element: Vec<(String, u64)>,
}

impl ProfileSpec {
    /// A profile without bounds and scratch.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the least, the usual and the greatest shape of an input.
    #[must_use]
    pub fn shape(mut self, input: &str, min: &[i64], opt: &[i64], max: &[i64]) -> Self {
        let bounds = [min.to_vec(), opt.to_vec(), max.to_vec()];
        self.shapes.push((input.to_owned(), bounds));
        self
    }

    /// With the least, the usual and the greatest values of an input on the host.
    #[must_use]
    pub fn values(mut self, input: &str, min: &[i64], opt: &[i64], max: &[i64]) -> Self {
        let bounds = [min.to_vec(), opt.to_vec(), max.to_vec()];
        self.values.push((input.to_owned(), bounds));
        self
    }

    /// With scratch for any shapes, in bytes.
    #[must_use]
    pub fn scratch(mut self, bytes: u64) -> Self {
        self.scratch = bytes;
        self
    }

    /// With scratch for each element of an input, in bytes.
    #[must_use]
    pub fn scratch_per_element(mut self, input: &str, bytes: u64) -> Self {
        self.scratch_per_element.push((input.to_owned(), bytes));
        self
    }
}

/// A computation of an engine. All of them are exact for small integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Compute {
    /// `output[i] = sum over terms (factor * input[i]) + constant`. The element of an input with
    /// one element is used for all `i`. An output in the memory of an input accumulates there.
    Affine {
        /// The factors and the inputs.
        terms: Vec<(f64, String)>,
        /// The constant.
        constant: f64,
        /// The result.
        output: String,
    },
    /// `output[.., j] = sum over k (input[.., k] * w(k, j))` with the weights of
    /// [`EngineSpec::weight`].
    Matmul {
        /// The left side, whose last dimension is summed over.
        input: String,
        /// The seed of the weights.
        seed: u64,
        /// The result.
        output: String,
    },
    /// `output[i, ..] = input[indices[i], ..]`.
    Gather {
        /// The tensor whose rows are gathered.
        input: String,
        /// The numbers of the rows.
        indices: String,
        /// The result.
        output: String,
    },
    /// Writes rows into a cache: `output[.., position + i, ..] = update[.., i, ..]` along an axis.
    /// In the memory of the cache only those rows are written. Elsewhere the rest is copied.
    CacheUpdate {
        /// The cache.
        cache: String,
        /// The rows.
        update: String,
        /// The number of the first row: a tensor with one integer.
        position: String,
        /// The axis of the rows.
        axis: usize,
        /// The result.
        output: String,
    },
    /// The indices of the elements that are not zero: a row for each dimension, and a column for
    /// each element.
    NonZero {
        /// The tensor with the elements.
        input: String,
        /// The result. Its last dimension is [`Dim::Data`].
        output: String,
    },
    /// Sums over the last dimension, or over everything if the output has no dimension.
    Sum {
        /// The tensor that is summed.
        input: String,
        /// The result.
        output: String,
    },
}

impl Compute {
    /// The output.
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

    /// The inputs.
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

    /// With a name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// With an input on the device. -1 is a dimension that the caller sets.
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

    /// With an input on the host. Shapes may depend on its values.
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

    /// With an output of the type and the shape of an input.
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

    /// With a further profile.
    #[must_use]
    pub fn profile(mut self, profile: ProfileSpec) -> Self {
        self.profiles.push(profile);
        self
    }

    /// With a further computation.
    #[must_use]
    pub fn compute(mut self, compute: Compute) -> Self {
        self.compute.push(compute);
        self
    }

    /// With the computation `output = sum of (factor * input) + constant`.
    #[must_use]
    pub fn affine(self, output: &str, terms: &[(f64, &str)], constant: f64) -> Self {
        self.compute(Compute::Affine {
            terms: terms.iter().map(|(a, x)| (*a, (*x).to_owned())).collect(),
            constant,
            output: output.to_owned(),
        })
    }

    /// With the version of TensorRT that built it.
    #[must_use]
    pub fn version(mut self, major: i32, minor: i32, patch: i32) -> Self {
        self.version = (major, minor, patch);
        self
    }

    /// The weight of a matrix product, by the index that is summed over and the column: an integer
    /// from -2 to 2.
    pub fn weight(seed: u64, k: usize, j: usize) -> f64 {
        let mixed = (seed ^ ((k as u64) << 32) ^ j as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed >> 40) % 5) as f64 - 2.0
    }

    /// The bytes for `deserializeCudaEngine`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = MAGIC.to_vec();
        bytes.extend((json.len() as u64).to_le_bytes());
        bytes.extend(json);
        bytes.extend((0..self.payload).map(|index| (index % 251) as u8));
        bytes
    }

    /// The length of the description, from the header.
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

    /// Checks that the description makes sense.
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
