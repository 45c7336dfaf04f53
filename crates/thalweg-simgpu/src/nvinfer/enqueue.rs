//! `enqueueV3`: checking what was set, and launching the kernels.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUresult;

use super::callback;
use super::context::{Context, OWN, State, Strategy};
use super::execute::{Plan, Step, kernel};
use super::object::Scope;
use super::refusal::{Refusal, Refused, usage};
use super::shape::{ALIGNMENT, Shapes, elements};
use super::spec::TensorSpec;
use crate::call::{Call, Rules, within};
use crate::event::Recorded;
use crate::status::{Answer, Status, fail};
use crate::stream::StreamKind;
use crate::work::{Body, KernelCall};

/// Since when engines say which outputs share the memory of an input.
const KNOWS_ALIASES: (i32, i32) = (10, 15);

/// What the driver does for an enqueue, piece by piece.
struct Launch<'a> {
    plan: &'a Arc<Plan>,
    stream: u64,
    /// How many kernels were launched.
    launched: u32,
    /// The ends of what was launched, unless it was captured.
    last: Vec<Recorded>,
}

impl Context {
    /// Launches the kernels in a stream.
    pub(super) fn enqueue(
        &self,
        scope: &mut Scope<'_>,
        stream: u64,
        synchronous: bool,
    ) -> Refused<bool> {
        let spec = self.engine.spec.clone();
        if let Some(text) = &spec.fails_to_enqueue {
            return Err(Refusal::Internal(text.clone()));
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
                self.place(scope, &plan, &allocators, output, &shape, stream)?;
            }
        }
        let mut launch = Launch {
            plan: &plan,
            stream,
            launched: 0,
            last: Vec::new(),
        };
        let result = self.launch(scope, &mut launch, &allocators, synchronous);
        // What was launched before something failed runs all the same.
        self.remember(scope, launch.last);
        result?;
        Ok(true)
    }

    fn launch(
        &self,
        scope: &mut Scope<'_>,
        launch: &mut Launch<'_>,
        allocators: &BTreeMap<String, usize>,
        synchronous: bool,
    ) -> Refused<()> {
        let spec = &self.engine.spec;
        let site = scope.site.clone();
        let handle = launch.stream;
        let streams = self.aux_streams(scope)?;
        let open: Vec<&TensorSpec> = spec
            .tensors
            .iter()
            .filter(|tensor| launch.plan.depends_on_data(&tensor.name))
            .collect();
        let waits_at_end = synchronous || self.engine.streams_weights();
        within(&site, Rules::CONTEXT, |call| {
            let stream = call.stream(handle)?;
            if call.streams.get(stream)?.device != self.engine.device {
                return fail(CUresult::CUDA_ERROR_INVALID_HANDLE);
            }
            if waits_at_end || !open.is_empty() {
                launch.forbid_capture(call, stream)?;
            }
            launch.begin(call, stream, &streams)
        })
        .map_err(refuse)?;
        let mut generation = u64::from(!streams.is_empty());
        for _ in 2..spec.kernels {
            launch.step(scope, Step::Middle(generation, 0, 1))?;
            generation += 1;
        }
        if !open.is_empty() {
            launch.step(scope, Step::Count)?;
            launch.wait(scope)?;
            for output in open {
                let found = launch
                    .plan
                    .found
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                let shape = found.get(&output.name).cloned();
                drop(found);
                let Some(shape) = shape else {
                    return Err(Refusal::Internal(format!(
                        "{} was not computed",
                        output.name
                    )));
                };
                self.place(
                    scope,
                    launch.plan,
                    allocators,
                    output,
                    &shape,
                    launch.stream,
                )?;
            }
        }
        launch.step(scope, Step::End(generation))?;
        let event = self.state().consumed_event;
        if event != 0 {
            within(&site, Rules::CONTEXT, |call| {
                let (stream, site) = (call.stream(handle)?, call.site.clone());
                call.check_event(event, &site)?;
                call.record_event(event, stream, false)
            })
            .map_err(refuse)?;
        }
        if waits_at_end {
            launch.wait(scope)?;
        }
        Ok(())
    }

    fn check_addresses(&self, state: &State) -> Refused<()> {
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

    fn plan(&self, state: &State, shapes: &Shapes) -> Refused<Plan> {
        static TAGS: AtomicU64 = AtomicU64::new(1);
        let spec = &self.engine.spec;
        // Without having been asked about these shapes, it uses what the profile may need.
        let used = self.needed(state);
        if used > 0 && state.memory == 0 {
            return Err(Refusal::State(format!(
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
            return Err(Refusal::State(format!(
                "{used} bytes of device memory are needed, and {given} were set"
            )));
        }
        let all = spec.tensors.iter();
        Ok(Plan {
            spec: spec.clone(),
            life: self.life.clone(),
            label: spec.name.clone(),
            shapes: all.map(|t| (t.name.clone(), shapes.of(spec, t))).collect(),
            addresses: Mutex::new(state.addresses.clone()),
            scratch: (state.memory, used),
            weights: self.engine.weights(),
            own: (self.own, OWN),
            profile: state.switched.then_some(state.profile as u8),
            tag: TAGS.fetch_add(1, Ordering::Relaxed),
            found: Mutex::default(),
        })
    }

    /// Asks an output's allocator for memory, if it has one, and tells it the shape.
    fn place(
        &self,
        scope: &mut Scope<'_>,
        plan: &Plan,
        allocators: &BTreeMap<String, usize>,
        output: &TensorSpec,
        shape: &[i64],
        stream: u64,
    ) -> Refused<()> {
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
        scope.flush();
        let address = callback::reallocate(allocator, name, current, bytes, stream);
        if address == 0 {
            return Err(Refusal::Memory(format!(
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

    /// Keeps the end of what was launched, and reports what it is not ordered after.
    fn remember(&self, scope: &Scope<'_>, last: Vec<Recorded>) {
        let mut state = self.state();
        state.enqueues += 1;
        state.forget_known();
        for last in last {
            let earlier = state
                .pending
                .iter()
                .find(|(r, _)| !last.clock.knows(r.point));
            if let Some((_, other)) = earlier {
                let site = &scope.site;
                let message = format!("{site} is not ordered after {other} of the same context");
                scope.misuse(message, Some(other));
            }
            state.pending.push_back((last, scope.site.clone()));
        }
    }

    /// Streams beside the caller's, as many as the engine wants.
    fn aux_streams(&self, scope: &Scope<'_>) -> Refused<Vec<u64>> {
        let wanted = self.engine.spec.aux_streams as usize;
        let mut state = self.state();
        let mut streams = state.aux_given.clone();
        let missing = wanted - streams.len().min(wanted);
        while state.aux_made.len() < missing {
            let made = within(&scope.site, Rules::CONTEXT, |call| {
                let context = call.context()?;
                call.create_stream(context, StreamKind::Created, 1, 0)
            });
            state.aux_made.push(made.map_err(refuse)?);
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

fn refuse(Status(code): Status) -> Refusal {
    Refusal::Driver("launching kernels".into(), code)
}

impl Launch<'_> {
    /// Launches one kernel in the caller's stream.
    fn step(&mut self, scope: &Scope<'_>, step: Step) -> Refused<()> {
        let handle = self.stream;
        within(&scope.site, Rules::CONTEXT, |call| {
            let stream = call.stream(handle)?;
            self.submit(call, stream, step)
        })
        .map_err(refuse)
    }

    fn submit(&mut self, call: &mut Call, stream: u64, step: Step) -> Answer {
        let name = self.name();
        let body = self.body(call, step)?;
        if let Some(recorded) = call.submit(stream, &name, body)? {
            self.last = vec![recorded];
        }
        Ok(())
    }

    /// The first kernel, and one in each stream beside the caller's, which is joined again.
    fn begin(&mut self, call: &mut Call, stream: u64, aux: &[u64]) -> Answer {
        self.submit(call, stream, Step::Begin)?;
        if aux.is_empty() {
            return Ok(());
        }
        let (parts, begun) = (aux.len() as u64 + 1, self.last.clone());
        let (mut ends, mut nodes) = (Vec::new(), Vec::new());
        let mut result = Ok(());
        for (index, &handle) in aux.iter().enumerate() {
            let step = Step::Middle(0, index as u64 + 1, parts);
            result = self.fork(call, stream, handle, step, &begun, &mut ends, &mut nodes);
            if result.is_err() {
                break;
            }
        }
        if result.is_ok() {
            result = self.submit(call, stream, Step::Middle(0, 0, parts));
        }
        // The caller knows of its own stream only, so that has to wait whatever happened.
        if let Some(capture) = call.valid_capture(stream)? {
            nodes.extend(call.frontier(capture, stream));
            call.set_frontier(capture, stream, nodes);
        } else {
            self.last = vec![call.push(stream, "join", Body::Marker, &ends)?];
        }
        result
    }

    /// Launches one kernel in another stream, after what is in the caller's.
    fn fork(
        &mut self,
        call: &mut Call,
        stream: u64,
        handle: u64,
        step: Step,
        begun: &[Recorded],
        ends: &mut Vec<Recorded>,
        nodes: &mut Vec<usize>,
    ) -> Answer {
        let other = call.stream(handle)?;
        let name = self.name();
        let body = self.body(call, step)?;
        match call.valid_capture(stream)? {
            Some(capture) => {
                let before = call.frontier(capture, stream);
                call.set_frontier(capture, other, before);
                call.capture_node(capture, other, &name, body)?;
                nodes.extend(call.frontier(capture, other));
            }
            None => ends.push(call.push(other, &name, body, begun)?),
        }
        Ok(())
    }

    fn name(&self) -> String {
        format!("{} kernel {}", self.plan.label, self.launched)
    }

    /// A kernel, unless launching it is to fail.
    fn body(&mut self, call: &mut Call, step: Step) -> Answer<Body> {
        if let Some(code) = call.faults.call("cuLaunchKernel") {
            return Err(Status(code));
        }
        self.launched += 1;
        Ok(Body::Kernel(Arc::new(KernelCall {
            name: self.name().into(),
            function: Some(kernel(self.plan, step)),
            grid: [1; 3],
            block: [32, 1, 1],
            shared_bytes: 0,
            parameters: Vec::new(),
            offsets: Vec::new(),
        })))
    }

    /// Fails where the stream is captured, and breaks the capture: waiting for it would.
    fn forbid_capture(&self, call: &mut Call, stream: u64) -> Answer {
        let Some(capture) = call.valid_capture(stream)? else {
            return Ok(());
        };
        call.captures[capture].invalid = true;
        fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Waits for what was launched.
    fn wait(&self, scope: &Scope<'_>) -> Refused<()> {
        within(&scope.site, Rules::CONTEXT, |call| {
            if let Some(code) = call.faults.call("cuStreamSynchronize") {
                return Err(Status(code));
            }
            call.wait_for(&self.last);
            Ok(())
        })
        .map_err(|Status(code)| Refusal::Driver("waiting for the stream".into(), code))
    }
}
