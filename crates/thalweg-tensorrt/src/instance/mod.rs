//! An instance of an engine, and its calls.

mod argument;
mod arguments;
mod staging;
mod work;

use std::cell::OnceCell;
use std::sync::Arc;

use thalweg_core::{Call, CallEnd, DelegateInstance, Device as _, ErrorKind, Result};
use thalweg_core::{Stamp, StreamHandle, Tracer, bail, ensure};
use thalweg_cuda::Stream;

use crate::abi::synchronize;
use crate::contexts::{ConfiguredContext, ContextOptions, Contexts};
use crate::loaded::LoadedEngine;
use crate::omit::{Rule, omitted};
use crate::profile::{check_pinned, choose};
use crate::scratch::{Scratch, User, Wish};

pub(crate) use argument::input_shape;
use arguments::{Arguments, on_device};
use work::CallStream;

/// An instance of an engine: its contexts, its scratch, and the arguments of the current call.
///
/// The core calls an instance in two ways. [`execute`](DelegateInstance::execute) enqueues the engine's
/// work at once. [`prepare`](DelegateInstance::prepare) configures the context only; the work is enqueued
/// later, by [`ask`](DelegateInstance::ask) or as a part of a graph.
pub(crate) struct Instance {
    /// Dropped before the memory that they point to.
    contexts: Contexts,
    scratch: Scratch,
    arguments: Arguments,
    /// True if work may run that can never be waited for.
    lost: bool,
    loaded: Arc<LoadedEngine>,
}

impl Instance {
    /// An instance, with the contexts that are created before the first call.
    pub(crate) fn new(
        loaded: Arc<LoadedEngine>,
        scratch: Scratch,
        options: ContextOptions,
    ) -> Result<Self> {
        Ok(Self {
            contexts: Contexts::new(&loaded, options)?,
            scratch,
            arguments: Arguments::new(loaded.bindings.len()),
            lost: false,
            loaded,
        })
    }

    /// The profile of the last call.
    pub(crate) fn last_profile(&self) -> Option<usize> {
        self.contexts.last()
    }
}

impl DelegateInstance for Instance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let loaded = self.loaded.clone();
        let _current = loaded.device().enter()?;
        let id = loaded.device().id();
        self.note_idle(call);
        match call.stream(id) {
            Ok(stream) => self.run(call, stream, true),
            // All arguments are on the host, and only this instance knows of work on the device. So the
            // work must be complete when this returns, even after an error.
            Err(error) if error.kind() == ErrorKind::MissingDevice => {
                let stream = call.caller_stream(id);
                let stream = stream.unwrap_or_else(|| loaded.device().default_stream());
                let result = self.run(call, stream, false);
                let waited = self.drain(stream);
                result.and(waited)
            }
            Err(error) => Err(error),
        }
    }

    fn prepare(&mut self, call: &mut Call<'_>) -> Result<Option<Stamp>> {
        let loaded = self.loaded.clone();
        if !self.can_be_deferred(call, &loaded)? {
            return Ok(None);
        }
        let _current = loaded.device().enter()?;
        self.note_idle(call);
        let handle = call.stream(loaded.device().id())?;
        let borrowed = OnceCell::new();
        let mut stream = CallStream::new(loaded.device(), handle, &borrowed);
        let profile = self.configure(call, &loaded, &mut stream)?;
        let mut outputs = loaded.inputs..loaded.bindings.len();
        if !outputs.all(|index| self.arguments.get(index).shape.is_known()) {
            // The enqueue allocates their memory.
            return Ok(None);
        }
        let user = User::of(call, handle, true);
        if !self.take_scratch(profile, &user, true)? {
            return Ok(None);
        }
        self.trace(profile, call.tracer());
        Ok(Some(self.contexts.get(profile)?.stamp()))
    }

    fn ask(&mut self, stream: StreamHandle, capturing: bool) -> Result<()> {
        let loaded = self.loaded.clone();
        let _current = loaded.device().enter()?;
        self.context()?.enqueue(&loaded, stream, capturing)
    }

    fn asked(&mut self, stream: StreamHandle) -> Result<()> {
        self.context()?.set_running();
        self.scratch.enqueued(stream)
    }

    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        let id = self.loaded.device().id();
        match end.stream(id) {
            Some(stream) => self.scratch.end(end.number(), stream, end.is_over(id)),
            // The work that it has enqueued is complete.
            None => Ok(()),
        }
    }
}

impl Instance {
    /// A whole call on a stream. `is_told`: the core will pass the stream to `end`, too.
    fn run(&mut self, call: &mut Call<'_>, handle: StreamHandle, is_told: bool) -> Result<()> {
        let loaded = self.loaded.clone();
        let separate = match omitted(Rule::OneStream) {
            true => Some(Stream::new(loaded.device())?),
            false => None,
        };
        let handle = match &separate {
            Some(stream) => StreamHandle(stream.raw()?.expose_provenance()),
            None => handle,
        };
        let borrowed = OnceCell::new();
        let mut stream = CallStream::new(loaded.device(), handle, &borrowed);
        let profile = self.configure(call, &loaded, &mut stream)?;
        let user = User::of(call, handle, is_told);
        // Other calls may wait for the scratch, so nothing else is done while it is held.
        let enqueued = self
            .take_scratch(profile, &user, false)
            .and_then(|_| self.context()?.enqueue(&loaded, handle, false));
        // Also after an error, since a part of the work may be enqueued.
        let handed_on = self.scratch.enqueued(handle);
        self.trace(profile, call.tracer());
        enqueued.and(handed_on)?;
        let context = self.contexts.get(profile)?;
        self.arguments.finish(call, &loaded, context, stream)
    }

    /// Returns true if the engine's work can be enqueued later, as a part of other work: the call copies
    /// nothing between host and device, and waits for nothing.
    fn can_be_deferred(&self, call: &Call<'_>, loaded: &LoadedEngine) -> Result<bool> {
        let count = loaded.bindings.len();
        let elsewhere = omitted(Rule::OneStream);
        if call.argument_count() != count || !self.scratch.lasts() || elsewhere {
            return Ok(false);
        }
        for index in 0..count {
            if loaded.bindings[index].on_host || on_device(call, index, loaded)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Resolves the arguments, and configures the context of a profile for them, except for scratch.
    /// Returns the profile.
    fn configure(
        &mut self,
        call: &mut Call<'_>,
        loaded: &LoadedEngine,
        stream: &mut CallStream<'_>,
    ) -> Result<usize> {
        ensure!(
            call.argument_count() == loaded.bindings.len(),
            InvalidProgram,
            "the delegate is called with {} arguments, and its engine has {} inputs and outputs",
            call.argument_count(),
            loaded.bindings.len()
        );
        for index in 0..loaded.inputs {
            self.arguments.resolve_input(call, index, loaded, stream)?;
        }
        let profile = self.choose_profile(loaded, call.profile())?;
        self.select_profile(loaded, profile, stream.handle, call.tracer())?;
        self.set_shapes(loaded, profile, stream.handle, call.tracer())?;
        for index in loaded.inputs..loaded.bindings.len() {
            let context = self.contexts.get(profile)?;
            self.arguments
                .resolve_output(call, index, loaded, context, stream)?;
        }
        self.arguments.resolve_aliases(loaded)?;
        let context = self.contexts.get(profile)?;
        context.copy_before(self.arguments.copies());
        for (index, binding) in loaded.bindings.iter().enumerate() {
            let address = self.arguments.get(index).address;
            if !binding.on_host && address.0 != 0 {
                context.bind(loaded, index, address, stream.handle)?;
            }
        }
        Ok(profile)
    }

    /// The profile for the call's inputs: the pinned one, if they fit it.
    fn choose_profile(&self, loaded: &LoadedEngine, pinned: Option<usize>) -> Result<usize> {
        let arguments = &self.arguments;
        let inputs = 0..loaded.inputs;
        if let Some(likely) = pinned.or(self.contexts.last())
            && let Some(context) = self.contexts.existing(likely)
            && context.has_shapes(inputs.map(|index| &arguments.get(index).shape))
            && !loaded.bindings[..loaded.inputs]
                .iter()
                .any(|binding| binding.on_host)
        {
            return Ok(likely);
        }
        let given = |index: usize| arguments.call_input(loaded, index);
        let name = |index: usize| &*loaded.bindings[index].text;
        match pinned {
            Some(pinned) => check_pinned(&loaded.profiles, pinned, &given, &name),
            None => choose(&loaded.profiles, self.contexts.last(), &given, &name),
        }
    }

    /// Makes the context of a profile the current one.
    fn select_profile(
        &mut self,
        loaded: &LoadedEngine,
        profile: usize,
        stream: StreamHandle,
        tracer: Tracer<'_>,
    ) -> Result<()> {
        let last = self.contexts.last();
        if last == Some(profile) || !tracer.is_on() {
            return self.contexts.select(loaded, profile, stream);
        }
        let span = tracer.span("change the profile");
        span.note("engine", loaded.name.clone());
        span.note("profile", profile);
        if let Some(last) = last {
            span.note("before", last);
        }
        self.contexts.select(loaded, profile, stream)
    }

    /// Sets the shapes of the call's inputs on the profile's context, and checks that it can have the
    /// scratch that they need.
    fn set_shapes(
        &mut self,
        loaded: &LoadedEngine,
        profile: usize,
        stream: StreamHandle,
        tracer: Tracer<'_>,
    ) -> Result<()> {
        let context = self.contexts.get(profile)?;
        let arguments = &self.arguments;
        let values = arguments.host_values();
        let inputs = loaded.bindings[..loaded.inputs].iter().zip(values);
        let mut inputs = inputs.enumerate();
        let has_values = inputs.all(|(index, (binding, values))| {
            !binding.on_host || context.has_values(index, &values.bytes)
        });
        let mut shapes = (0..loaded.inputs).map(|index| &arguments.get(index).shape);
        if !has_values || !context.has_shapes(&mut shapes) {
            let _span = tracer.span("tell the engine new shapes");
            context.configure(
                loaded,
                loaded.profiles[profile].scratch,
                |index| &arguments.get(index).shape,
                |index| &values[index].bytes,
                stream,
            )?;
        }
        self.scratch.check(context.needed())
    }

    /// Takes scratch for what the context of a profile is about to enqueue, and sets it. Returns false,
    /// with nothing done, if the scratch must stay where it is (`stays`) and cannot.
    #[inline]
    fn take_scratch(&mut self, profile: usize, user: &User<'_>, stays: bool) -> Result<bool> {
        let loaded = &*self.loaded;
        let context = self.contexts.get(profile)?;
        if context.needed() == 0 && !omitted(Rule::NothingForNothing) {
            return Ok(true);
        }
        let wish = Wish {
            bytes: context.needed(),
            address: context.room().map(|room| room.address),
            stays,
        };
        let idle = || synchronize(loaded.device(), user.stream);
        let Some(room) = self.scratch.room(&wish, user, idle)? else {
            return Ok(false);
        };
        if context.room() != Some(room) && user.tracer.is_on() {
            let mut notes = vec![
                ("engine", loaded.name.clone().into()),
                ("bytes", room.len.into()),
                ("at", format!("{:#x}", room.address.0).into()),
            ];
            if let Some(before) = context.room() {
                notes.push(("bytes before", before.len.into()));
            }
            user.tracer.instant("an engine is told of scratch", &notes);
        }
        context.set_scratch(loaded, room, user.stream)?;
        Ok(true)
    }

    /// The context of the current profile.
    fn context(&mut self) -> Result<&mut ConfiguredContext> {
        match self.contexts.last() {
            Some(profile) => self.contexts.get(profile),
            None => bail!(Internal, "no context was configured"),
        }
    }

    /// Notes that the contexts are idle, if the host has waited for the calls before. A capture needs
    /// this, because nothing can wait while a stream is captured.
    #[inline]
    fn note_idle(&mut self, call: &Call<'_>) {
        if call.is_over(self.loaded.device().id()) {
            self.contexts.set_idle();
        }
    }

    /// Writes the profile and the scratch of a call to the trace.
    #[inline]
    fn trace(&mut self, profile: usize, tracer: Tracer<'_>) {
        if !tracer.is_on() {
            return;
        }
        let name = self.loaded.name.clone();
        if let Ok(context) = self.contexts.get(profile) {
            if !name.is_empty() {
                tracer.note("engine", name);
            }
            tracer.note("profile", profile);
            match context.take_waits() {
                0 => {}
                waits => tracer.note("waits before it was told something", waits),
            }
            if let Some(room) = context.room() {
                tracer.note("scratch bytes", room.len);
                tracer.note("scratch needed", context.needed());
                tracer.note("scratch at", format!("{:#x}", room.address.0));
            }
        }
    }

    /// Waits on the host for a stream that nobody else waits for.
    fn drain(&mut self, stream: StreamHandle) -> Result<()> {
        if omitted(Rule::DrainUnknownWork) {
            return Ok(());
        }
        let device = self.loaded.device();
        synchronize(device, stream).inspect_err(|_| {
            // A second attempt may succeed. Nothing runs on a device that is lost.
            self.lost |= synchronize(device, stream).is_err() && device.alive().is_ok();
        })
    }
}

impl Drop for Instance {
    /// The core has waited for the work of all calls.
    fn drop(&mut self) {
        if self.lost {
            tracing::warn!("contexts of TensorRT that may still be running are never freed");
            self.contexts.abandon();
            self.arguments.abandon();
            self.scratch.abandon();
        }
    }
}
