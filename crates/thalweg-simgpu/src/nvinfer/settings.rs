//! The settings of a context: addresses, scratch, profile, shapes.

use std::ffi::c_char;

use super::context::{Context, PROFILE_BYTES, Strategy};
use super::dims::Dims;
use super::error::{ApiError, ApiResult, driver_error, usage};
use super::memory;
use super::method::MethodCall;
use super::shape::{ALIGNMENT, Shapes};
use crate::interface::with_streams;

impl Context {
    pub(super) fn set_address(
        &self,
        name: *const c_char,
        address: u64,
        wanted: Option<bool>,
    ) -> ApiResult<bool> {
        let tensor = self.engine.tensor(name)?;
        if wanted.is_some_and(|input| input != tensor.input) {
            let other = if tensor.input {
                "an input"
            } else {
                "an output"
            };
            return usage(format!("{} is {other}", tensor.name));
        }
        if !tensor.on_host && !address.is_multiple_of(ALIGNMENT) {
            return usage(format!(
                "the address {address:#x} of {} is not a multiple of {ALIGNMENT}",
                tensor.name
            ));
        }
        let mut state = self.state();
        if tensor.on_host {
            state.partition = None;
        }
        state.addresses.insert(tensor.name.clone(), address);
        Ok(true)
    }

    /// Sets the scratch, with the checks of TensorRT.
    pub(super) fn set_memory(
        &self,
        call: &MethodCall<'_>,
        address: u64,
        size: Option<i64>,
    ) -> ApiResult<()> {
        if self.strategy != Strategy::UserManaged {
            return Err(ApiError::State("the context has scratch of its own".into()));
        }
        let mut state = self.state();
        // The old pointer stays in place, and that is all that happens.
        let most = self.engine.scratch_of_profile(state.profile);
        if address == 0 && most > 0 {
            return usage(format!("memory is null, and {most} bytes may be needed"));
        }
        let needed = self.needed(&state);
        if !address.is_multiple_of(ALIGNMENT) {
            return usage(format!("{address:#x} is not a multiple of {ALIGNMENT}"));
        }
        let size = match size {
            Some(size) if size < needed as i64 => {
                return usage(format!("{size} bytes are too few: {needed} are needed"));
            }
            size => size.map(|size| size as u64),
        };
        if state.memory != address {
            state.report_in_flight(&call.site, "changes the scratch");
        }
        state.memory = address;
        state.memory_size = size;
        Ok(())
    }

    pub(super) fn switch_profile(
        &self,
        call: &mut MethodCall<'_>,
        profile: i32,
        stream: u64,
    ) -> ApiResult<bool> {
        let count = self.engine.spec.profiles.len();
        let Some(profile) = usize::try_from(profile).ok().filter(|p| *p < count) else {
            return usage(format!("there is no profile {profile}, only {count}"));
        };
        let state = self.state();
        let (same, memory) = (state.profile == profile, state.memory);
        drop(state);
        if same {
            return Ok(true);
        }
        let what = "changes the profile";
        self.state().report_in_flight(&call.site, what);
        // What was enqueued before something failed runs all the same.
        let mut enqueued = None;
        let copied = with_streams(&call.site, |streams| {
            let stream = streams.resolve(stream)?;
            for part in 0..2 {
                let half = PROFILE_BYTES / 2;
                let copied = streams.upload_byte(
                    stream,
                    "setOptimizationProfileAsync",
                    profile as u8,
                    self.profile_memory + part * half,
                    half,
                )?;
                enqueued = copied.or(enqueued.take());
            }
            Ok(())
        });
        if let Some(enqueued) = enqueued {
            let switch = (enqueued, call.site.clone());
            let mut state = self.state();
            state.switched = true;
            state.switches.push_back(switch);
        }
        driver_error(copied, "copying what belongs to the profile")?;
        if self.strategy == Strategy::OnProfileChange {
            let new = self.engine.scratch_of_profile(profile);
            let new = memory::allocate(&call.site, new)?;
            memory::free(&call.site, memory);
            self.state().memory = new;
        }
        let mut state = self.state();
        state.profile = profile;
        state.inputs.clear();
        state.partition = None;
        Ok(true)
    }

    pub(super) fn set_shape(
        &self,
        call: &MethodCall<'_>,
        name: *const c_char,
        dims: *const Dims,
    ) -> ApiResult<bool> {
        let tensor = self.engine.tensor(name)?;
        let name = &tensor.name;
        if !tensor.input {
            return usage(format!("{name} is no input"));
        }
        // SAFETY: it is a reference of C++.
        let dims = unsafe { dims.as_ref() };
        let Some(shape) = dims.and_then(Dims::get) else {
            return usage(format!("the shape of {name} has no sensible rank"));
        };
        let mut state = self.state();
        let unset = Shapes {
            profile: state.profile,
            ..Shapes::default()
        };
        let open = unset.of(&self.engine.spec, tensor);
        let fits = shape.len() == open.len()
            && shape
                .iter()
                .zip(&open)
                .all(|(dim, open)| *dim >= 0 && (*open == -1 || open == dim));
        if !fits {
            return usage(format!(
                "the shape {shape:?} of {name} does not fit {open:?}"
            ));
        }
        if let Some([min, _, max]) = self.engine.spec.bounds(state.profile, name) {
            let within = |axis: usize| min[axis] <= shape[axis] && shape[axis] <= max[axis];
            if !(0..shape.len()).all(within) {
                return usage(format!(
                    "the shape {shape:?} of {name} is not from {min:?} to {max:?}, as profile {} has it",
                    state.profile
                ));
            }
        }
        if state.inputs.get(name).is_some_and(|before| before == shape) {
            return Ok(true);
        }
        if open.contains(&-1) {
            state.report_in_flight(&call.site, "changes a shape");
            state.partition = None;
        }
        state.inputs.insert(name.clone(), shape.to_vec());
        Ok(true)
    }
}
