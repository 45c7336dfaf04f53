//! The state of an `nvinfer1::ICudaEngine`.

use std::ffi::{CStr, CString, c_char};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::callback;
use super::error::{ApiResult, usage};
use super::memory;
use super::runtime::Runtime;
use super::shape::{ALIGNMENT, Shapes};
use super::spec::{EngineSpec, TensorSpec};
use crate::interface::{ReportKind, Site, report};

/// An engine.
pub(super) struct Engine {
    pub(super) runtime: Arc<Runtime>,
    pub(super) spec: Arc<EngineSpec>,
    /// The device that was current at its creation.
    pub(super) device: usize,
    /// The address of the object that callers hold.
    pub(super) outer: AtomicUsize,
    pub(super) name: CString,
    pub(super) names: Vec<CString>,
    pub(super) descriptions: Vec<CString>,
    /// The bounds of the values of inputs on the host.
    pub(super) values: Vec<Values>,
    /// The start and the length of the weights on the device.
    pub(super) weights: Mutex<(u64, u64)>,
    pub(super) budget: AtomicI64,
    pub(super) recorder: AtomicUsize,
    /// The number of its contexts.
    pub(super) contexts: AtomicUsize,
}

/// The bounds of the values of an input on the host in a profile, by selector.
pub(super) struct Values {
    profile: usize,
    input: String,
    pub(super) wide: [Vec<i64>; 3],
    pub(super) narrow: [Vec<i32>; 3],
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

/// The text of a name that a caller passes.
///
/// # Safety
/// The pointer must be null or to a terminated string.
pub(super) unsafe fn text(name: *const c_char) -> ApiResult<String> {
    if name.is_null() {
        return usage("there is no name");
    }
    // SAFETY: as promised.
    let name = unsafe { CStr::from_ptr(name) };
    match name.to_str() {
        Ok(name) if name.len() < 4096 => Ok(name.to_owned()),
        _ => usage("the name is too long, or no text"),
    }
}

impl Engine {
    pub(super) fn new(
        runtime: &Arc<Runtime>,
        spec: EngineSpec,
        site: &Arc<Site>,
        recorder: usize,
    ) -> ApiResult<Self> {
        let device = memory::current_device(site)?;
        let resident = spec.weights + spec.streamable;
        let weights = memory::allocate(site, resident)?;
        callback::count_recorder(recorder, true);
        let values = spec
            .profiles
            .iter()
            .enumerate()
            .flat_map(|(profile, bounds)| {
                bounds.values.iter().map(move |(input, values)| Values {
                    profile,
                    input: input.clone(),
                    wide: values.clone(),
                    narrow: values
                        .clone()
                        .map(|v| v.iter().map(|&v| v as i32).collect()),
                })
            });
        let values = values.collect();
        Ok(Self {
            runtime: runtime.clone(),
            device,
            outer: AtomicUsize::new(0),
            name: c_text(&spec.name),
            names: spec.tensors.iter().map(|t| c_text(&t.name)).collect(),
            descriptions: spec
                .tensors
                .iter()
                .map(|t| c_text(t.dtype.description()))
                .collect(),
            values,
            weights: Mutex::new((weights, resident)),
            budget: AtomicI64::new(spec.streamable as i64),
            recorder: AtomicUsize::new(recorder),
            contexts: AtomicUsize::new(0),
            spec: Arc::new(spec),
        })
    }

    /// Ends the engine.
    pub(super) fn end(&self, site: &Arc<Site>) {
        let contexts = self.contexts.load(Ordering::Relaxed);
        if contexts > 0 {
            let name = &self.spec.name;
            let message =
                format!("{site} destroys the engine {name} with {contexts} contexts left");
            report(ReportKind::Misuse, message, vec![(**site).clone()]);
        }
        let (start, _) = *self.weights.lock().unwrap_or_else(PoisonError::into_inner);
        memory::free(site, start);
        self.runtime.engines.fetch_sub(1, Ordering::Relaxed);
        callback::count_recorder(self.recorder.swap(0, Ordering::Relaxed), false);
    }

    /// The start and the length of the weights on the device.
    pub(super) fn weights(&self) -> (u64, u64) {
        *self.weights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if weights are streamed.
    pub(super) fn streams_weights(&self) -> bool {
        self.budget.load(Ordering::Relaxed) < self.spec.streamable as i64
    }

    /// The scratch that weight streaming needs, in bytes.
    pub(super) fn streaming_scratch(&self) -> u64 {
        match self.streams_weights() {
            true => self.spec.streaming_scratch.next_multiple_of(ALIGNMENT),
            false => 0,
        }
    }

    /// The most scratch that a context needs for a profile, in bytes.
    pub(super) fn scratch_of_profile(&self, profile: usize) -> u64 {
        Shapes::greatest(&self.spec, profile).scratch(&self.spec) + self.streaming_scratch()
    }

    /// The most scratch that a context needs, in bytes.
    pub(super) fn scratch(&self) -> u64 {
        let profiles = 0..self.spec.profiles.len();
        profiles
            .map(|profile| self.scratch_of_profile(profile))
            .max()
            .unwrap_or(0)
    }

    /// The tensor of a name.
    ///
    /// # Errors
    /// If there is no such tensor.
    pub(super) fn tensor(&self, name: *const c_char) -> ApiResult<&TensorSpec> {
        Ok(&self.spec.tensors[self.index(name)?])
    }

    pub(super) fn index(&self, name: *const c_char) -> ApiResult<usize> {
        // SAFETY: callers give terminated strings.
        let name = unsafe { text(name) }?;
        let index = self
            .spec
            .tensors
            .iter()
            .position(|tensor| tensor.name == name);
        match index {
            Some(index) => Ok(index),
            None => usage(format!(
                "{name} is no input or output of {}",
                self.spec.name
            )),
        }
    }

    /// The name of a tensor, as a string of C.
    pub(super) fn name_of(&self, tensor: &TensorSpec) -> *const c_char {
        let index = self.spec.tensors.iter().position(|t| t.name == tensor.name);
        index.map_or(std::ptr::null(), |index| self.names[index].as_ptr())
    }

    pub(super) fn profile(&self, index: i32) -> ApiResult<usize> {
        let count = self.spec.profiles.len();
        match usize::try_from(index) {
            Ok(index) if index < count => Ok(index),
            _ => usage(format!("there is no profile {index}, only {count}")),
        }
    }

    pub(super) fn values(
        &self,
        name: *const c_char,
        profile: i32,
        select: i32,
    ) -> ApiResult<Option<(&Values, usize)>> {
        let input = &self.tensor(name)?.name;
        let (profile, select) = (self.profile(profile)?, selector(select)?);
        let mut all = self.values.iter();
        let found = all.find(|values| values.profile == profile && values.input == *input);
        Ok(found.map(|values| (values, select)))
    }
}

/// The index of an `OptProfileSelector`.
pub(super) fn selector(select: i32) -> ApiResult<usize> {
    match usize::try_from(select) {
        Ok(select) if select < 3 => Ok(select),
        _ => usage(format!("there is no selector {select}")),
    }
}
