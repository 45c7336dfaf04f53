//! `ICudaEngine`: what contexts are made of, and what is known of its tensors.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use thalweg_core::{Result, bail, ensure};
use thalweg_cuda::Device;

use super::context::Context;
use super::layout::{EngineMethods, This};
use super::object::Object;
use super::runtime::Runtime;
use super::types::{DataType, Shape, TensorLocation};
use crate::log;

/// An engine, on one device.
pub(crate) struct Engine {
    pub(super) object: Object,
    /// Destroyed after its engines.
    _runtime: Arc<Runtime>,
    device: Device,
    /// Held while contexts come and go.
    contexts: Mutex<()>,
}

// SAFETY: TensorRT lets threads share an engine. Its methods but two only read; contexts are made
// under a lock, and the weight budget is set while we are its only owner.
unsafe impl Send for Engine {}
// SAFETY: as above.
unsafe impl Sync for Engine {}

/// Which shape of a profile is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Selector {
    Min = 0,
    Opt = 1,
    Max = 2,
}

impl Engine {
    /// Takes over what TensorRT has returned.
    ///
    /// # Safety
    /// It is an `ICudaEngine` of the runtime's library that is ours, or nothing.
    pub(super) unsafe fn returned(
        runtime: &Arc<Runtime>,
        device: &Device,
        pointer: *mut c_void,
    ) -> Result<Self> {
        let api = runtime.library().api;
        Ok(Self {
            // SAFETY: the caller's.
            object: unsafe { Object::returned(api, pointer, "deserializeCudaEngine") }?,
            _runtime: runtime.clone(),
            device: device.clone(),
            contexts: Mutex::new(()),
        })
    }

    fn methods(&self) -> &'static EngineMethods {
        &self.object.api().layout.engine
    }

    /// The device that it is on.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Asks something whose answer may also mean that asking has failed: then TensorRT says so.
    fn ask<T>(&self, call: &str, ask: impl FnOnce(This) -> T) -> Result<T> {
        log::begin();
        let answer = ask(self.object.this());
        log::check(call)?;
        Ok(answer)
    }

    /// A context without scratch memory of its own. The device must be current.
    pub(crate) fn create_context(self: &Arc<Self>) -> Result<Context> {
        const USER_MANAGED: c_int = 2;
        let create = self.object.method(&self.methods().create_context)?;
        let _alone = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        log::begin();
        // SAFETY: the engine is alive, and no other context is being made.
        let pointer = unsafe { create(self.object.this(), USER_MANAGED) };
        // SAFETY: the method returns an `IExecutionContext` that is ours, or nothing.
        unsafe { Context::returned(self, pointer) }
    }

    /// Runs something while no context is made.
    pub(super) fn alone<T>(&self, run: impl FnOnce() -> T) -> T {
        let _alone = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        run()
    }

    /// The engine's own name, often empty.
    pub(crate) fn name(&self) -> Result<String> {
        let name = self.object.method(&self.methods().name)?;
        // SAFETY: it takes nothing; a text of TensorRT's lives as long as the engine.
        Ok(unsafe { text(name(self.object.this())) }
            .map_or(String::new(), |name| name.to_string_lossy().into_owned()))
    }

    /// The names of all inputs and outputs.
    pub(crate) fn tensor_names(&self) -> Result<Vec<String>> {
        let methods = self.methods();
        let count = self.object.method(&methods.tensor_count)?;
        let name = self.object.method(&methods.tensor_name)?;
        log::begin();
        // SAFETY: it takes nothing.
        let count = unsafe { count(self.object.this()) };
        ensure!(
            (0..=MAX_TENSORS).contains(&count),
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

    /// Whether a tensor is an input; `None` if there is no such tensor.
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

    /// The shape of a tensor, as far as it is known without a context.
    pub(crate) fn shape(&self, name: &CStr) -> Result<Shape> {
        let shape = self.object.method(&self.methods().shape)?;
        log::begin();
        // SAFETY: the name ends with a zero.
        let shape = unsafe { shape(self.object.this(), name.as_ptr()) };
        if !shape.is_some() {
            return Err(log::failed(&format!(
                "getTensorShape({})",
                name.to_string_lossy()
            )));
        }
        Ok(shape)
    }

    /// The type of a tensor's elements.
    pub(crate) fn data_type(&self, name: &CStr) -> Result<DataType> {
        let data_type = self.object.method(&self.methods().data_type)?;
        // SAFETY: the name ends with a zero.
        self.ask("getTensorDataType", |this| unsafe {
            DataType(data_type(this, name.as_ptr()))
        })
    }

    /// Where a tensor must be.
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
                "TensorRT wants `{}` in place {other}, which is neither the device nor the host",
                name.to_string_lossy()
            ),
        }
    }

    /// Whether shapes depend on the tensor's values.
    pub(crate) fn is_shape_tensor(&self, name: &CStr) -> Result<bool> {
        let is = self.object.method(&self.methods().is_shape_tensor)?;
        // SAFETY: the name ends with a zero.
        self.ask(
            "isShapeInferenceIO",
            |this| unsafe { is(this, name.as_ptr()) } != 0,
        )
    }

    /// What is unusual about the order of a tensor's elements; `None` if they are in row-major order.
    pub(crate) fn unusual_format(&self, name: &CStr, profile: i32) -> Result<Option<String>> {
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

    /// How many profiles there are.
    pub(crate) fn profile_count(&self) -> Result<usize> {
        let count = self.object.method(&self.methods().profile_count)?;
        log::begin();
        // SAFETY: it takes nothing.
        match unsafe { count(self.object.this()) } {
            count @ 1..=MAX_TENSORS => Ok(count as usize),
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
        if !shape.is_some() {
            return Err(log::failed(&format!(
                "getProfileShape({}, {profile}, {which:?})",
                name.to_string_lossy()
            )));
        }
        Ok(shape)
    }

    /// The values that a profile allows a shape tensor; nothing if it says none.
    ///
    /// `count` is how many the tensor has.
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
                many(values(this, name.as_ptr(), profile, which as c_int), count)
            });
        }
        let values = self.object.method(&methods.profile_values)?;
        // SAFETY: as above.
        let values = self.ask("getProfileTensorValues", |this| unsafe {
            many(values(this, name.as_ptr(), profile, which as c_int), count)
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

    /// How many bytes of weights can stay on the host.
    pub(crate) fn streamable_weights(&self) -> Result<i64> {
        let size = self.object.method(&self.methods().streamable_weights)?;
        let call = "getStreamableWeightsSize";
        // SAFETY: it takes nothing.
        match self.ask(call, |this| unsafe { size(this) })? {
            size @ 0.. => Ok(size),
            _ => Err(log::failed(call)),
        }
    }

    /// Whether this version of TensorRT lets the budget for weights be set.
    pub(crate) fn has_weight_budget(&self) -> bool {
        self.object.has(&self.methods().set_weight_budget)
    }

    /// How many bytes TensorRT would give weights on the device.
    pub(crate) fn automatic_weight_budget(&self) -> Result<i64> {
        let budget = self
            .object
            .method(&self.methods().automatic_weight_budget)?;
        // SAFETY: it takes nothing.
        self.ask("getWeightStreamingAutomaticBudget", |this| unsafe {
            budget(this)
        })
    }

    /// How many bytes weights have on the device.
    pub(crate) fn weight_budget(&self) -> Result<i64> {
        let budget = self.object.method(&self.methods().weight_budget)?;
        // SAFETY: it takes nothing.
        self.ask("getWeightStreamingBudgetV2", |this| unsafe { budget(this) })
    }

    /// How many bytes a context needs to stream weights.
    pub(crate) fn weight_scratch(&self) -> Result<i64> {
        let scratch = self.object.method(&self.methods().weight_scratch)?;
        // SAFETY: it takes nothing.
        self.ask("getWeightStreamingScratchMemorySize", |this| unsafe {
            scratch(this)
        })
    }

    /// Says how many bytes weights have on the device. There must be no context.
    pub(crate) fn set_weight_budget(&mut self, bytes: i64) -> Result<()> {
        let set = self.object.method(&self.methods().set_weight_budget)?;
        log::begin();
        // SAFETY: contexts hold the engine, so that whoever has it alone has none.
        match unsafe { set(self.object.this(), bytes) } {
            0 => Err(log::failed(&format!("setWeightStreamingBudgetV2({bytes})"))),
            _ => Ok(()),
        }
    }

    /// The input whose memory an output must have; `None` if there is none. An older TensorRT does
    /// not say, which is an error.
    pub(crate) fn aliased_input(&self, output: &CStr) -> Result<Option<String>> {
        let aliased = self.object.method(&self.methods().aliased_input)?;
        self.ask("getAliasedInputTensor", |this| {
            // SAFETY: the name ends with a zero; the answer lives as long as the engine.
            let name = unsafe { text(aliased(this, output.as_ptr())) };
            name.map(|name| name.to_string_lossy().into_owned())
        })
    }

    /// Whether this version of TensorRT says which outputs are inputs.
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

/// More inputs and outputs, or profiles, no engine has.
const MAX_TENSORS: i32 = 1 << 16;

/// A text of TensorRT's.
///
/// # Safety
/// It is null, or ends with a zero and lives for `'a`.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// Values of TensorRT's.
///
/// # Safety
/// The pointer is null, or there are so many values.
unsafe fn many<T: Copy>(values: *const T, count: usize) -> Vec<T> {
    if values.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(values, count) }.to_vec()
}
