//! Engines by themselves, without the calls of a program.
//!
//! This is the interface for `thalweg-baseline`, which compares programs with their engines alone. It is
//! public for that crate only, and changes without notice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg_core::{
    Call, CallEnd, CallerStream as _, DelegateInstance, DelegateSpec, DeviceAddress, Result,
    StreamHandle, bail, ensure,
};
use thalweg_cuda::{Device, DeviceBuffer, Stream};

use crate::abi::{Context, Engine, Runtime, Shape, is_idle};
use crate::backend::TensorRt;
use crate::container::Container;
use crate::contexts::{ContextOptions, Contexts};
use crate::instance::{Instance, input_shape};
use crate::loaded::LoadedEngine;
use crate::scratch::{Room, Scratch};

/// A loaded engine. Bindings are its inputs, then its outputs, in the order of the delegate's arguments.
#[derive(Clone)]
pub struct DirectEngine(Arc<LoadedEngine>);

impl DirectEngine {
    /// Loads the engine of a delegate, as the backend does: delegates with the same payload share one.
    ///
    /// # Errors
    /// As for loading the delegate.
    pub fn load(tensorrt: &TensorRt, spec: &DelegateSpec<'_>) -> Result<Self> {
        tensorrt.load_shared(spec).map(Self)
    }

    /// An instance of the engine's delegate, with scratch of its own.
    ///
    /// # Errors
    /// If TensorRT refuses a context.
    pub fn instance(&self) -> Result<DirectInstance> {
        let scratch = Scratch::own(self.0.device());
        let options = ContextOptions::default();
        Instance::new(self.0.clone(), scratch, options).map(DirectInstance)
    }

    /// The device of the engine.
    pub fn device(&self) -> &Device {
        self.0.device()
    }

    /// The engine's name; `None` if it has none.
    pub fn name(&self) -> Option<&str> {
        self.0.own_name()
    }

    /// The number of profiles.
    pub fn profile_count(&self) -> usize {
        self.0.profiles.len()
    }

    /// The number of inputs.
    pub fn input_count(&self) -> usize {
        self.0.inputs
    }

    /// The number of inputs and outputs.
    pub fn binding_count(&self) -> usize {
        self.0.bindings.len()
    }

    /// Returns true if TensorRT expects a binding on the host.
    pub fn is_on_host(&self, index: usize) -> bool {
        self.0.bindings[index].on_host
    }

    /// Outputs that alias an input, with that input: indices of bindings.
    pub fn aliases(&self) -> &[(usize, usize)] {
        &self.0.aliases
    }
}

/// An instance of an engine's delegate that tells the profile of its last call.
pub struct DirectInstance(Instance);

impl DirectInstance {
    /// The profile of the last call; `None` before the first.
    pub fn last_profile(&self) -> Option<usize> {
        self.0.last_profile()
    }
}

impl DelegateInstance for DirectInstance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        self.0.execute(call)
    }

    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        self.0.end(end)
    }
}

/// The value of a tensor: its sizes in the program, and its bytes.
pub struct TensorValue {
    /// The sizes.
    pub sizes: Vec<usize>,
    /// The bytes, in row-major order.
    pub bytes: Vec<u8>,
}

/// One call of an engine that is made again and again on one stream: a context of a profile, with shapes,
/// addresses and scratch that stay the same.
///
/// Dropping it waits until its work is complete.
pub struct DirectExecution {
    /// Dropped before the memory that it points to.
    contexts: Contexts,
    profile: usize,
    inputs: Vec<(Shape, Vec<u8>)>,
    /// By binding; `None` for those on the host, and those whose memory TensorRT allocates.
    memory: Vec<Option<Arc<DeviceBuffer>>>,
    scratch: Option<Arc<DeviceBuffer>>,
    /// True if all of the configuration is set on the context.
    prepared: bool,
    stream: Stream,
    handle: StreamHandle,
    loaded: Arc<LoadedEngine>,
}

impl DirectExecution {
    /// A context of a profile, configured for the shapes of inputs that fit it.
    ///
    /// # Errors
    /// If TensorRT refuses.
    pub fn new(
        engine: &DirectEngine,
        profile: usize,
        inputs: Vec<TensorValue>,
        stream: &Stream,
    ) -> Result<Self> {
        let loaded = engine.0.clone();
        ensure!(
            inputs.len() == loaded.inputs && profile < loaded.profiles.len(),
            Internal,
            "an execution of {} inputs in profile {profile}",
            inputs.len()
        );
        let inputs = loaded.bindings.iter().zip(inputs);
        let inputs = inputs
            .map(|(binding, value)| Ok((input_shape(binding, &value.sizes)?, value.bytes)))
            .collect::<Result<_>>()?;
        let _current = loaded.device().enter()?;
        let mut execution = Self {
            contexts: Contexts::new(&loaded, ContextOptions::default())?,
            profile,
            inputs,
            memory: vec![None; loaded.bindings.len()],
            scratch: None,
            prepared: false,
            stream: stream.clone(),
            handle: stream.handle(),
            loaded: loaded.clone(),
        };
        execution.configure()?;
        Ok(execution)
    }

    /// Takes the bytes of an input on the device, which the execution does not need.
    pub fn take_input(&mut self, index: usize) -> Vec<u8> {
        match self.loaded.bindings[index].on_host {
            true => Vec::new(),
            false => std::mem::take(&mut self.inputs[index].1),
        }
    }

    /// The size of an output, in bytes; `None` if it is on the host, or depends on data.
    ///
    /// # Errors
    /// If the size is out of range.
    pub fn output_len(&mut self, index: usize) -> Result<Option<usize>> {
        let binding = &self.loaded.bindings[index];
        let shape = self.contexts.get(self.profile)?.output_shape(index);
        if binding.on_host || !shape.is_known() {
            return Ok(None);
        }
        binding.bytes(shape).map(Some)
    }

    /// The scratch that the execution needs, in bytes.
    ///
    /// # Errors
    /// If there is no context.
    pub fn scratch_len(&mut self) -> Result<usize> {
        Ok(self.contexts.get(self.profile)?.needed())
    }

    /// Gives a binding memory on the engine's device, from the next [`prepare`](Self::prepare) on.
    ///
    /// # Errors
    /// If the memory is too small.
    pub fn bind(&mut self, index: usize, memory: &Arc<DeviceBuffer>) -> Result<()> {
        let len = match self.inputs.get(index) {
            Some((shape, _)) => Some(self.loaded.bindings[index].bytes(shape)?),
            None => self.output_len(index)?,
        };
        let (has, needed) = (memory.len(), len.unwrap_or(usize::MAX));
        ensure!(
            has >= needed,
            Internal,
            "{has} bytes for a binding of {needed}"
        );
        self.memory[index] = Some(memory.clone());
        self.prepared = false;
        Ok(())
    }

    /// Gives the execution scratch on the engine's device, from the next [`prepare`](Self::prepare) on.
    ///
    /// # Errors
    /// If the scratch is too small.
    pub fn set_scratch(&mut self, scratch: &Arc<DeviceBuffer>) -> Result<()> {
        let (has, needed) = (scratch.len(), self.scratch_len()?);
        ensure!(
            has >= needed,
            Internal,
            "scratch of {has} bytes where {needed} are needed"
        );
        self.scratch = Some(scratch.clone());
        self.prepared = false;
        Ok(())
    }

    /// Sets what is not set on the context yet: everything at first, nothing later, unless an enqueue has
    /// failed.
    ///
    /// # Errors
    /// If TensorRT refuses.
    pub fn prepare(&mut self) -> Result<()> {
        let loaded = self.loaded.clone();
        let _current = loaded.device().enter()?;
        self.configure()?;
        let context = self.contexts.get(self.profile)?;
        if context.needed() > 0 {
            let Some(scratch) = &self.scratch else {
                bail!(Internal, "an execution without scratch");
            };
            let room = Room {
                address: DeviceAddress(scratch.address()),
                len: scratch.len(),
            };
            context.set_scratch(&loaded, room, self.handle)?;
        }
        for (index, memory) in self.memory.iter().enumerate() {
            if let Some(memory) = memory {
                let address = DeviceAddress(memory.address());
                context.bind(&loaded, index, address, self.handle)?;
            }
        }
        self.prepared = true;
        Ok(())
    }

    /// Enqueues the engine's work. The engine's device must be current.
    ///
    /// # Errors
    /// If TensorRT refuses; then the execution has to be prepared again, as it has to be at first.
    pub fn enqueue(&mut self) -> Result<()> {
        ensure!(self.prepared, Internal, "an execution that is not prepared");
        let context = self.contexts.get(self.profile)?;
        for index in self.loaded.inputs..self.loaded.bindings.len() {
            if let Some(allocator) = context.allocator(index) {
                allocator.begin(self.handle);
            }
        }
        let enqueued = context.enqueue(&self.loaded, self.handle, false);
        self.prepared = enqueued.is_ok();
        enqueued
    }

    /// Sets the shapes, from which the shapes of outputs and the scratch follow.
    fn configure(&mut self) -> Result<()> {
        let inputs = &self.inputs;
        self.contexts
            .select(&self.loaded, self.profile, self.handle)?;
        let context = self.contexts.get(self.profile)?;
        if context.has_shapes(inputs.iter().map(|(shape, _)| shape)) {
            return Ok(());
        }
        context.configure(
            &self.loaded,
            self.loaded.profiles[self.profile].scratch,
            |index| &inputs[index].0,
            |index| &inputs[index].1,
            self.handle,
        )
    }
}

impl Drop for DirectExecution {
    fn drop(&mut self) {
        if !is_idle(self.stream.device(), self.handle) {
            tracing::warn!("a context of TensorRT that may still be running is never freed");
            self.contexts.abandon();
            std::mem::forget(std::mem::take(&mut self.memory));
            std::mem::forget(self.scratch.take());
        }
    }
}

/// The time of TensorRT's own calls for loading: deserializing each engine once, and creating a context
/// for each call of an engine. All of it is dropped, which takes no part in the time.
///
/// # Errors
/// If TensorRT refuses.
pub fn time_loading(tensorrt: &TensorRt, calls: &[DirectEngine]) -> Result<Duration> {
    let Some(DirectEngine(first)) = calls.first() else {
        return Ok(Duration::ZERO);
    };
    let _current = first.device().enter()?;
    tensorrt.with_runtime(first.device(), |runtime| {
        let mut engines: Vec<(&Arc<LoadedEngine>, Arc<Engine>)> = Vec::new();
        let mut contexts = Vec::with_capacity(calls.len());
        let mut total = Duration::ZERO;
        for DirectEngine(loaded) in calls {
            let same = engines.iter().find(|(other, _)| Arc::ptr_eq(other, loaded));
            let engine = match same {
                Some((_, engine)) => engine.clone(),
                None => {
                    let (engine, time) = deserialize(runtime, loaded)?;
                    total += time;
                    let engine = Arc::new(engine);
                    engines.push((loaded, engine.clone()));
                    engine
                }
            };
            let start = Instant::now();
            let context = Context::new(&engine)?;
            total += start.elapsed();
            contexts.push(context);
        }
        Ok(total)
    })
}

/// Deserializes an engine anew, in the way that it was loaded.
fn deserialize(runtime: &Arc<Runtime>, loaded: &LoadedEngine) -> Result<(Engine, Duration)> {
    let Some(payload) = &loaded.payload else {
        bail!(Internal, "an engine whose bytes are gone");
    };
    let (container, device) = (Container::parse(payload)?, loaded.device());
    let start = Instant::now();
    let engine = match loaded.weights.streamable {
        0 => Engine::deserialize(runtime, device, container.engine),
        _ => Engine::deserialize_by_reading(runtime, device, container.engine),
    };
    Ok((engine?, start.elapsed()))
}
