//! `enqueueV3`: the checks of what was set, and the launches of the kernels.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::callback;
use super::context::{Context, PROFILE_BYTES, State, Strategy};
use super::error::{ApiError, ApiResult, driver_error, usage};
use super::kernels::{Plan, Step};
use super::method::MethodCall;
use super::shape::{ALIGNMENT, Shapes, elements};
use super::spec::TensorSpec;
use crate::interface::{
    self, Branches, DeviceMemory, DriverResult, Streams, Timestamp, with_streams,
};

/// The first version whose engines say which outputs share the memory of an input.
const KNOWS_ALIASES: (i32, i32) = (10, 15);

/// The launches of one enqueue.
struct Launch<'a> {
    plan: &'a Arc<Plan>,
    stream: u64,
    /// The number of kernels that were launched.
    launched: u32,
    /// The ends of the launched work, unless it was captured.
    last: Vec<Timestamp>,
}

impl Context {
    /// Enqueues the kernels in a stream.
    pub(super) fn enqueue(
        &self,
        call: &mut MethodCall<'_>,
        stream: u64,
        synchronous: bool,
    ) -> ApiResult<bool> {
        let spec = self.engine.spec.clone();
        if let Some(text) = &spec.fails_to_enqueue {
            return Err(ApiError::Internal(text.clone()));
        }
        let state = self.state();
        let shapes = self.shapes(&state);
        if let Some(tensor) = self.insufficient(&shapes).first() {
            let what = if shapes.of(&spec, tensor).contains(&-1) {
                "shape"
            } else {
                "value"
            };
            return usage(format!("the {what} of {} is not set", tensor.name));
        }
        self.check_values(&shapes)?;
        self.check_addresses(&state)?;
        let plan = Arc::new(self.plan(&state, &shapes)?);
        let allocators = state.allocators.clone();
        drop(state);
        for output in spec.tensors.iter().filter(|tensor| !tensor.input) {
            if !plan.depends_on_data(&output.name) {
                let shape = plan.shapes[&output.name].clone();
                self.place(call, &plan, &allocators, output, &shape, stream)?;
            }
        }
        let mut launch = Launch {
            plan: &plan,
            stream,
            launched: 0,
            last: Vec::new(),
        };
        let result = self.launch(call, &mut launch, &allocators, synchronous);
        // What was launched before something failed runs all the same.
        self.remember(call, launch.last);
        result?;
        Ok(true)
    }

    fn launch(
        &self,
        call: &mut MethodCall<'_>,
        launch: &mut Launch<'_>,
        allocators: &BTreeMap<String, usize>,
        synchronous: bool,
    ) -> ApiResult<()> {
        let spec = &self.engine.spec;
        let site = call.site.clone();
        let handle = launch.stream;
        let streams = self.aux_streams(call)?;
        let open: Vec<&TensorSpec> = spec
            .tensors
            .iter()
            .filter(|tensor| launch.plan.depends_on_data(&tensor.name))
            .collect();
        let waits_at_end = synchronous || self.engine.streams_weights();
        let begun = with_streams(&site, |driver| {
            let stream = driver.resolve(handle)?;
            driver.check_device(stream, self.engine.device)?;
            if waits_at_end || !open.is_empty() {
                driver.forbid_capture(stream)?;
            }
            launch.begin(driver, stream, &streams)
        });
        driver_error(begun, LAUNCHING)?;
        let mut generation = u64::from(!streams.is_empty());
        for _ in 2..spec.kernels {
            launch.step(call, Step::Middle(generation, 0, 1))?;
            generation += 1;
        }
        if !open.is_empty() {
            launch.step(call, Step::Count)?;
            launch.wait(call)?;
            for output in open {
                let found = launch
                    .plan
                    .found
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                let shape = found.get(&output.name).cloned();
                drop(found);
                let Some(shape) = shape else {
                    return Err(ApiError::Internal(format!(
                        "{} was not computed",
                        output.name
                    )));
                };
                self.place(call, launch.plan, allocators, output, &shape, launch.stream)?;
            }
        }
        launch.step(call, Step::End(generation))?;
        let event = self.state().consumed_event;
        if event != 0 {
            let recorded = with_streams(&site, |driver| {
                let stream = driver.resolve(handle)?;
                driver.record_event(event, stream)
            });
            driver_error(recorded, LAUNCHING)?;
        }
        if waits_at_end {
            launch.wait(call)?;
        }
        Ok(())
    }

    fn check_addresses(&self, state: &State) -> ApiResult<()> {
        let address = |name: &str| state.addresses.get(name).copied().unwrap_or(0);
        for tensor in &self.engine.spec.tensors {
            let name = &tensor.name;
            let allocator = state.allocators.get(name).copied().unwrap_or(0);
            if address(name) == 0 && (tensor.input || allocator == 0) {
                return usage(format!("the address of {name} is not set"));
            }
            // Before, it was up to the caller, and an output elsewhere was written wholly.
            if let Some(alias) = &tensor.alias
                && self.engine.runtime.version.layout() >= KNOWS_ALIASES
                && address(name) != address(alias)
            {
                return usage(format!(
                    "{name} is at {:#x}, and has to share the memory of {alias}, at {:#x}",
                    address(name),
                    address(alias)
                ));
            }
        }
        Ok(())
    }

    fn plan(&self, state: &State, shapes: &Shapes) -> ApiResult<Plan> {
        static TAGS: AtomicU64 = AtomicU64::new(1);
        let spec = &self.engine.spec;
        // Without having been asked about these shapes, it uses what the profile may need.
        let used = self.needed(state);
        if used > 0 && state.memory == 0 {
            return Err(ApiError::State(format!(
                "{used} bytes of device memory are needed, and none was set"
            )));
        }
        // Where the caller did not say how much there is, that only shows on the device.
        let given = state
            .memory_size
            .filter(|_| self.strategy == Strategy::UserManaged);
        if let Some(given) = given
            && given < used
        {
            return Err(ApiError::State(format!(
                "{used} bytes of device memory are needed, and {given} were set"
            )));
        }
        let all = spec.tensors.iter();
        Ok(Plan {
            spec: spec.clone(),
            lifetime: self.lifetime.clone(),
            label: spec.name.clone(),
            shapes: all.map(|t| (t.name.clone(), shapes.of(spec, t))).collect(),
            addresses: Mutex::new(state.addresses.clone()),
            scratch: (state.memory, used),
            weights: self.engine.weights(),
            profile_memory: (self.profile_memory, PROFILE_BYTES),
            profile: state.switched.then_some(state.profile as u8),
            tag: TAGS.fetch_add(1, Ordering::Relaxed),
            found: Mutex::default(),
        })
    }

    /// Asks the allocator of an output for memory, if there is one, and tells it the shape.
    fn place(
        &self,
        call: &mut MethodCall<'_>,
        plan: &Plan,
        allocators: &BTreeMap<String, usize>,
        output: &TensorSpec,
        shape: &[i64],
        stream: u64,
    ) -> ApiResult<()> {
        let name = &output.name;
        let Some(&allocator) = allocators.get(name).filter(|allocator| **allocator != 0) else {
            return Ok(());
        };
        let bytes = (elements(shape) * output.dtype.size() as u64).max(1);
        let addresses = plan
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let current = addresses.get(name).copied().unwrap_or(0);
        drop(addresses);
        call.flush();
        let address = callback::reallocate(allocator, name, current, bytes, stream);
        if address == 0 {
            return Err(ApiError::Memory(format!(
                "the allocator of {name} gave nothing for {bytes} bytes"
            )));
        }
        if !address.is_multiple_of(ALIGNMENT) {
            return usage(format!("the allocator of {name} gave {address:#x}"));
        }
        let mut addresses = plan
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        addresses.insert(name.clone(), address);
        drop(addresses);
        callback::notify_shape(allocator, name, shape);
        Ok(())
    }

    /// Keeps the ends of an enqueue, and reports an earlier one that it is not ordered after.
    fn remember(&self, call: &MethodCall<'_>, last: Vec<Timestamp>) {
        let mut state = self.state();
        state.enqueues += 1;
        state.forget_known();
        for last in last {
            let earlier = state
                .pending
                .iter()
                .find(|(r, _)| !last.clock.knows(r.epoch));
            if let Some((_, other)) = earlier {
                let site = &call.site;
                let message = format!("{site} is not ordered after {other} of the same context");
                call.misuse(message, Some(other));
            }
            state.pending.push_back((last, call.site.clone()));
        }
    }

    /// The auxiliary streams, as many as the engine uses.
    fn aux_streams(&self, call: &MethodCall<'_>) -> ApiResult<Vec<u64>> {
        let wanted = self.engine.spec.aux_streams as usize;
        let mut state = self.state();
        let mut streams = state.aux_given.clone();
        let missing = wanted - streams.len().min(wanted);
        while state.aux_made.len() < missing {
            let made = interface::create_stream(&call.site);
            state.aux_made.push(driver_error(made, LAUNCHING)?);
        }
        streams.extend(state.aux_made.iter().take(missing));
        Ok(streams)
    }

    /// The most bytes that an output takes.
    pub(super) fn most_bytes(&self, shapes: &Shapes, output: &TensorSpec) -> u64 {
        let spec = &self.engine.spec;
        let mut shape = shapes.of(spec, output);
        if shape.contains(&-1) {
            // As many as its input has elements.
            let compute = spec.compute.iter().find(|c| c.output() == output.name);
            let inputs = compute.map(|compute| compute.inputs()).unwrap_or_default();
            let input = inputs.first().and_then(|input| spec.tensor(input));
            let most = input.map_or(0, |input| elements(&shapes.of(spec, input)));
            for dim in shape.iter_mut().filter(|dim| **dim == -1) {
                *dim = most as i64;
            }
        }
        elements(&shape) * output.dtype.size() as u64
    }
}

/// The operation that fails with an error of the driver.
const LAUNCHING: &str = "launching kernels";

impl Launch<'_> {
    /// Launches one kernel in the caller's stream.
    fn step(&mut self, call: &MethodCall<'_>, step: Step) -> ApiResult<()> {
        let handle = self.stream;
        let launched = with_streams(&call.site, |driver| {
            let stream = driver.resolve(handle)?;
            self.submit(driver, stream, step)
        });
        driver_error(launched, LAUNCHING)
    }

    fn submit(&mut self, driver: &mut Streams<'_>, stream: u64, step: Step) -> DriverResult {
        let (name, plan) = (self.name(), self.plan.clone());
        let kernel = move |device: &DeviceMemory<'_>| plan.run_kernel(step, device);
        let end = driver.launch(stream, &name, kernel)?;
        self.launched += 1;
        if let Some(end) = end {
            self.last = vec![end];
        }
        Ok(())
    }

    /// Launches the first kernel, and one in each auxiliary stream, which the caller's stream joins.
    fn begin(&mut self, driver: &mut Streams<'_>, stream: u64, aux: &[u64]) -> DriverResult {
        self.submit(driver, stream, Step::Begin)?;
        if aux.is_empty() {
            return Ok(());
        }
        let (parts, begun) = (aux.len() as u64 + 1, self.last.clone());
        let mut branches = Branches::default();
        let mut result = Ok(());
        for (index, &other) in aux.iter().enumerate() {
            let step = Step::Middle(0, index as u64 + 1, parts);
            let (name, plan) = (self.name(), self.plan.clone());
            let kernel = move |device: &DeviceMemory<'_>| plan.run_kernel(step, device);
            result = driver.branch(stream, other, &begun, &name, kernel, &mut branches);
            if result.is_err() {
                break;
            }
            self.launched += 1;
        }
        if result.is_ok() {
            result = self.submit(driver, stream, Step::Middle(0, 0, parts));
        }
        // The caller knows of its own stream only, so that has to wait whatever happened.
        if let Some(end) = driver.join(stream, branches)? {
            self.last = vec![end];
        }
        result
    }

    fn name(&self) -> String {
        format!("{} kernel {}", self.plan.label, self.launched)
    }

    /// Has the host wait for the launched work.
    fn wait(&self, call: &MethodCall<'_>) -> ApiResult<()> {
        let waited = with_streams(&call.site, |driver| driver.wait_for(&self.last));
        driver_error(waited, "waiting for the stream")
    }
}
