//! `ICudaEngine`: the input and output tensors of an engine, its profiles, and its weights.

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Arc, Mutex, PoisonError};

use thalweg_core::{Result, bail, ensure};
use thalweg_cuda::Device;

use super::layout::{EngineMethods, This};
use super::object::Object;
use super::runtime::Runtime;
use super::types::{DataType, Shape, TensorLocation};
use crate::log;

/// An `ICudaEngine` on one device.
pub(crate) struct Engine {
    object: Object,
    /// Destroyed after its engines.
    _runtime: Arc<Runtime>,
    device: Device,
    /// Held while a context is created or destroyed.
    contexts: Mutex<()>,
}

// SAFETY: TensorRT lets threads share an engine. Its methods but two only read; contexts are made
// under a lock, and the weight budget is set while we are its only owner.
unsafe impl Send for Engine {}
// SAFETY: as above.
unsafe impl Sync for Engine {}

/// `OptProfileSelector`: one of the three shapes that a profile has for each input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Selector {
    Min = 0,
    Opt = 1,
    Max = 2,
}

impl Engine {
    /// Deserializes an engine. TensorRT copies what it needs of the bytes. The device must be current.
    ///
    /// # Errors
    /// If TensorRT refuses the engine, with what it logs.
    pub(crate) fn deserialize(
        runtime: &Arc<Runtime>,
        device: &Device,
        bytes: &[u8],
    ) -> Result<Self> {
        Ok(Self::new(runtime, device, runtime.deserialize(bytes)?))
    }

    /// Deserializes an engine that TensorRT reads piece by piece. TensorRT then makes no second copy of
    /// weights that stay on the host.
    ///
    /// # Errors
    /// As for [`Engine::deserialize`].
    pub(crate) fn deserialize_by_reading(
        runtime: &Arc<Runtime>,
        device: &Device,
        bytes: &[u8],
    ) -> Result<Self> {
        let object = runtime.deserialize_by_reading(device, bytes)?;
        Ok(Self::new(runtime, device, object))
    }

    fn new(runtime: &Arc<Runtime>, device: &Device, object: Object) -> Self {
        Self {
            object,
            _runtime: runtime.clone(),
            device: device.clone(),
            contexts: Mutex::new(()),
        }
    }

    fn methods(&self) -> &'static EngineMethods {
        &self.object.api().layout.engine
    }

    /// The device of the engine.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The result of a method for which every value may be right. If TensorRT logs an error meanwhile,
    /// the method has failed.
    fn ask<T>(&self, call: &str, ask: impl FnOnce(This) -> T) -> Result<T> {
        log::begin();
        let answer = ask(self.object.this());
        log::check(call)?;
        Ok(answer)
    }

    /// Creates an `IExecutionContext` without scratch memory of its own. The device must be current.
    pub(super) fn create_context(&self) -> Result<Object> {
        const USER_MANAGED: c_int = 2;
        let create = self.object.method(&self.methods().create_context)?;
        self.exclusively(|| {
            log::begin();
            // SAFETY: the engine is alive, and no other context is being made.
            let pointer = unsafe { create(self.object.this(), USER_MANAGED) };
            // SAFETY: the method returns an `IExecutionContext` that is ours, or nothing.
            unsafe { Object::returned(*self.object.api(), pointer, "createExecutionContext") }
        })
    }

    /// Runs a function while no other context is created or destroyed.
    pub(super) fn exclusively<T>(&self, run: impl FnOnce() -> T) -> T {
        let _contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        run()
    }

    /// The name of the engine, often empty.
    pub(crate) fn name(&self) -> Result<String> {
        let name = self.object.method(&self.methods().name)?;
        // SAFETY: it takes nothing; a text of TensorRT's lives as long as the engine.
        Ok(unsafe { text(name(self.object.this())) }
            .map_or(String::new(), |name| name.to_string_lossy().into_owned()))
    }

    /// The names of all input and output tensors.
    pub(crate) fn tensor_names(&self) -> Result<Vec<String>> {
        let methods = self.methods();
        let count = self.object.method(&methods.tensor_count)?;
        let name = self.object.method(&methods.tensor_name)?;
        log::begin();
        // SAFETY: it takes nothing.
        let count = unsafe { count(self.object.this()) };
        ensure!(
            (0..=MAX_COUNT).contains(&count),
            Delegate,
            "an engine with {count} inputs and outputs"
        );
        let mut names = Vec::new();
        for index in 0..count {
            // SAFETY: the index is in range; a text of TensorRT's lives as long as the engine.
            match unsafe { text(name(self.object.this(), index)) } {
                Some(name) => names.push(name.to_string_lossy().into_owned()),
                None => return Err(log::failed(&format!("getIOTensorName({index})"))),
            }
        }
        Ok(names)
    }

    /// True for an input, false for an output, `None` if there is no tensor of the name.
    pub(crate) fn is_input(&self, name: &CStr) -> Result<Option<bool>> {
        let mode = self.object.method(&self.methods().mode)?;
        // SAFETY: the name ends with a zero.
        let mode = self.ask("getTensorIOMode", |this| unsafe {
            mode(this, name.as_ptr())
        })?;
        Ok(match mode {
            1 => Some(true),
            2 => Some(false),
            _ => None,
        })
    }

    /// The shape of a tensor, with -1 for dynamic dimensions.
    pub(crate) fn shape(&self, name: &CStr) -> Result<Shape> {
        let shape = self.object.method(&self.methods().shape)?;
        log::begin();
        // SAFETY: the name ends with a zero.
        let shape = unsafe { shape(self.object.this(), name.as_ptr()) };
        shape.checked(|| format!("getTensorShape({})", name.to_string_lossy()))
    }

    /// The element type of a tensor.
    pub(crate) fn data_type(&self, name: &CStr) -> Result<DataType> {
        let data_type = self.object.method(&self.methods().data_type)?;
        // SAFETY: the name ends with a zero.
        self.ask("getTensorDataType", |this| unsafe {
            DataType(data_type(this, name.as_ptr()))
        })
    }

    /// The location of a tensor: device or host.
    pub(crate) fn location(&self, name: &CStr) -> Result<TensorLocation> {
        let location = self.object.method(&self.methods().location)?;
        // SAFETY: the name ends with a zero.
        let location = self.ask("getTensorLocation", |this| unsafe {
            location(this, name.as_ptr())
        })?;
        match location {
            0 => Ok(TensorLocation::Device),
            1 => Ok(TensorLocation::Host),
            other => bail!(
                Delegate,
                "TensorRT wants `{}` in location {other}, which is neither the device nor the host",
                name.to_string_lossy()
            ),
        }
    }

    /// Returns true if shapes depend on the values of the tensor.
    pub(crate) fn is_shape_tensor(&self, name: &CStr) -> Result<bool> {
        let is = self.object.method(&self.methods().is_shape_tensor)?;
        // SAFETY: the name ends with a zero.
        self.ask(
            "isShapeInferenceIO",
            |this| unsafe { is(this, name.as_ptr()) } != 0,
        )
    }

    /// The description of a tensor's format in a profile; `None` for the linear format, in which
    /// elements are in row-major order.
    pub(crate) fn nonlinear_format(&self, name: &CStr, profile: i32) -> Result<Option<String>> {
        const LINEAR: i32 = 0;
        let methods = self.methods();
        let format = self.object.method(&methods.format)?;
        let describe = self.object.method(&methods.format_text)?;
        // SAFETY: the name ends with a zero.
        let format = self.ask("getTensorFormat", |this| unsafe {
            format(this, name.as_ptr(), profile)
        })?;
        if format == LINEAR {
            return Ok(None);
        }
        // SAFETY: as above; the text lives as long as the engine.
        let text = unsafe { text(describe(self.object.this(), name.as_ptr(), profile)) };
        Ok(Some(text.map_or_else(
            || "unknown".into(),
            |text| text.to_string_lossy().into_owned(),
        )))
    }

    /// The number of optimization profiles.
    pub(crate) fn profile_count(&self) -> Result<usize> {
        let count = self.object.method(&self.methods().profile_count)?;
        log::begin();
        // SAFETY: it takes nothing.
        match unsafe { count(self.object.this()) } {
            count @ 1..=MAX_COUNT => Ok(count as usize),
            0 => Err(log::failed("getNbOptimizationProfiles")),
            other => bail!(Delegate, "an engine with {other} profiles"),
        }
    }

    /// A shape of an input in a profile.
    pub(crate) fn profile_shape(
        &self,
        name: &CStr,
        profile: i32,
        which: Selector,
    ) -> Result<Shape> {
        let shape = self.object.method(&self.methods().profile_shape)?;
        log::begin();
        // SAFETY: the name ends with a zero.
        let shape = unsafe { shape(self.object.this(), name.as_ptr(), profile, which as c_int) };
        shape.checked(|| {
            format!(
                "getProfileShape({}, {profile}, {which:?})",
                name.to_string_lossy()
            )
        })
    }

    /// The values of a shape tensor in a profile; empty if the profile has none. `count` is the
    /// tensor's number of elements.
    pub(crate) fn profile_values(
        &self,
        name: &CStr,
        profile: i32,
        which: Selector,
        count: usize,
    ) -> Result<Vec<i64>> {
        let methods = self.methods();
        if self.object.has(&methods.profile_values_v2) {
            let values = self.object.method(&methods.profile_values_v2)?;
            // SAFETY: the name ends with a zero; the values, if there are any, are as many as the
            // tensor has, and live as long as the engine.
            return self.ask("getProfileTensorValuesV2", |this| unsafe {
                array(values(this, name.as_ptr(), profile, which as c_int), count)
            });
        }
        let values = self.object.method(&methods.profile_values)?;
        // SAFETY: as above.
        let values = self.ask("getProfileTensorValues", |this| unsafe {
            array(values(this, name.as_ptr(), profile, which as c_int), count)
        })?;
        Ok(values.into_iter().map(i64::from).collect())
    }

    /// The most scratch that a context needs in a profile, in bytes.
    pub(crate) fn scratch(&self, profile: i32) -> Result<usize> {
        let methods = self.methods();
        if !self.object.has(&methods.scratch_v2) {
            let scratch = self.object.method(&methods.scratch)?;
            // SAFETY: it takes the number of a profile.
            return self.ask("getDeviceMemorySizeForProfile", |this| unsafe {
                scratch(this, profile)
            });
        }
        let scratch = self.object.method(&methods.scratch_v2)?;
        let call = "getDeviceMemorySizeForProfileV2";
        // SAFETY: as above.
        let bytes = self.ask(call, |this| unsafe { scratch(this, profile) })?;
        usize::try_from(bytes).map_err(|_| log::failed(call))
    }

    /// The size of the streamable weights, which can stay on the host, in bytes.
    pub(crate) fn streamable_weights(&self) -> Result<i64> {
        let size = self.object.method(&self.methods().streamable_weights)?;
        let call = "getStreamableWeightsSize";
        // SAFETY: it takes nothing.
        match self.ask(call, |this| unsafe { size(this) })? {
            size @ 0.. => Ok(size),
            _ => Err(log::failed(call)),
        }
    }

    /// Returns true if this version of TensorRT has a weight streaming budget.
    pub(crate) fn has_weight_budget(&self) -> bool {
        self.object.has(&self.methods().set_weight_budget)
    }

    /// The weight streaming budget that TensorRT recommends, in bytes.
    pub(crate) fn automatic_weight_budget(&self) -> Result<i64> {
        let budget = self
            .object
            .method(&self.methods().automatic_weight_budget)?;
        // SAFETY: it takes nothing.
        self.ask("getWeightStreamingAutomaticBudget", |this| unsafe {
            budget(this)
        })
    }

    /// The weight streaming budget, in bytes.
    pub(crate) fn weight_budget(&self) -> Result<i64> {
        let budget = self.object.method(&self.methods().weight_budget)?;
        // SAFETY: it takes nothing.
        self.ask("getWeightStreamingBudgetV2", |this| unsafe { budget(this) })
    }

    /// The scratch that a context needs to stream weights, in bytes.
    pub(crate) fn weight_scratch(&self) -> Result<i64> {
        let scratch = self.object.method(&self.methods().weight_scratch)?;
        // SAFETY: it takes nothing.
        self.ask("getWeightStreamingScratchMemorySize", |this| unsafe {
            scratch(this)
        })
    }

    /// Sets the weight streaming budget. There must be no context.
    pub(crate) fn set_weight_budget(&mut self, bytes: i64) -> Result<()> {
        let set = self.object.method(&self.methods().set_weight_budget)?;
        log::begin();
        // SAFETY: contexts hold the engine, so that whoever has it alone has none.
        let set = unsafe { set(self.object.this(), bytes) };
        log::check_status(set, || format!("setWeightStreamingBudgetV2({bytes})"))
    }

    /// The input that an output aliases; `None` for an output with memory of its own.
    ///
    /// # Errors
    /// Also if this version of TensorRT does not [know aliases](Self::knows_aliases).
    pub(crate) fn aliased_input(&self, output: &CStr) -> Result<Option<String>> {
        let aliased = self.object.method(&self.methods().aliased_input)?;
        self.ask("getAliasedInputTensor", |this| {
            // SAFETY: the name ends with a zero; the answer lives as long as the engine.
            let name = unsafe { text(aliased(this, output.as_ptr())) };
            name.map(|name| name.to_string_lossy().into_owned())
        })
    }

    /// Returns true if this version of TensorRT says which outputs alias inputs.
    pub(crate) fn knows_aliases(&self) -> bool {
        self.object.has(&self.methods().aliased_input)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // In a context that is lost it is destroyed all the same.
        let _current = self.device.enter();
        // SAFETY: contexts hold the engine, so that none is left.
        unsafe { self.object.delete() };
    }
}

/// The largest plausible number of input and output tensors, and of profiles.
const MAX_COUNT: i32 = 1 << 16;

/// A string that TensorRT has returned.
///
/// # Safety
/// It is null, or ends with a zero and lives for `'a`.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// An array that TensorRT has returned; empty for a null pointer.
///
/// # Safety
/// The pointer is null, or there are so many values.
unsafe fn array<T: Copy>(values: *const T, count: usize) -> Vec<T> {
    if values.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(values, count) }.to_vec()
}
