//! An engine of one method instance, and its calls.

use std::cell::OnceCell;
use std::sync::Arc;

use thalweg_core::{
    Call, CallEnd, DelegateInstance, Device as _, DeviceAddress, DeviceTensor, Result,
};
use thalweg_core::{ErrorKind, Stamp, StreamHandle, Tracer, bail, ensure};
use thalweg_cuda::{DeviceBuffer, Stream, Work};

use crate::abi::{copy_on_device, download, stream, upload, wait};
use crate::argument::{self, Argument};
use crate::contexts::{Contexts, Making};
use crate::loaded::{Binding, Loaded};
use crate::omit::{Rule, omitted};
use crate::prepared::Prepared;
use crate::profile::{Given, check_pinned, choose};
use crate::scratch::{Scratch, User, Wish};
use crate::staging::Staging;

/// What a method instance runs an engine with.
pub(crate) struct Instance {
    /// They go before what they point to.
    contexts: Contexts,
    scratch: Scratch,
    /// What tensors without elements are bound to.
    nothing: Option<DeviceBuffer>,
    /// By binding, for arguments on the host.
    staging: Vec<Staging>,
    /// By binding, the values of inputs that TensorRT wants on the host: bytes, and numbers.
    values: Vec<(Vec<u8>, Vec<i64>)>,
    /// By binding, in this call.
    arguments: Vec<Argument>,
    /// What is copied before the engine's work, in this call: to, from, and how many bytes.
    copies: Vec<(DeviceAddress, DeviceAddress, usize)>,
    /// Whether work is left that can never be waited for.
    lost: bool,
    loaded: Arc<Loaded>,
}

impl Instance {
    /// An instance, with contexts as far as they are made before the first call.
    pub(crate) fn new(loaded: Arc<Loaded>, scratch: Scratch, making: Making) -> Result<Self> {
        let count = loaded.bindings.len();
        Ok(Self {
            contexts: Contexts::new(&loaded, making)?,
            scratch,
            nothing: None,
            staging: (0..count).map(|_| Staging::default()).collect(),
            values: vec![Default::default(); count],
            arguments: vec![Argument::UNKNOWN; count],
            copies: Vec::new(),
            lost: false,
            loaded,
        })
    }
}

impl DelegateInstance for Instance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let loaded = self.loaded.clone();
        let _current = loaded.device().enter()?;
        let id = loaded.device().id();
        self.rest_after(call);
        match call.stream(id) {
            Ok(stream) => self.run(call, stream, true),
            // All arguments are on the host, and nobody but this knows of work on the device. So it
            // is over when this is, whatever happens.
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
        if !self.can_be_put_off(call, &loaded)? {
            return Ok(None);
        }
        let _current = loaded.device().enter()?;
        self.rest_after(call);
        let stream = call.stream(loaded.device().id())?;
        let lent = OnceCell::new();
        let mut work = LateWork {
            stream: &lent,
            loaded: &loaded,
            handle: stream,
            work: None,
        };
        let profile = self.make_ready(call, &mut work)?;
        let outputs = loaded.inputs..loaded.bindings.len();
        let known = |index: usize| self.arguments[index].shape.is_known();
        if !outputs.clone().all(known) {
            // Their memory is asked for by the enqueue.
            return Ok(None);
        }
        let user = User::of(call, stream, true);
        if !self.take_scratch(profile, &user, true)? {
            return Ok(None);
        }
        self.trace(profile, call.tracer());
        Ok(Some(self.contexts.get(profile)?.stamp()))
    }

    fn ask(&mut self, stream: StreamHandle, recording: bool) -> Result<()> {
        let loaded = self.loaded.clone();
        let _current = loaded.device().enter()?;
        self.prepared()?.enqueue(&loaded, stream, recording)
    }

    fn asked(&mut self, stream: StreamHandle) -> Result<()> {
        self.prepared()?.runs();
        self.scratch.enqueued(stream)
    }

    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        let id = self.loaded.device().id();
        match end.stream(id) {
            Some(stream) => self.scratch.end(end.number(), stream, end.is_over(id)),
            // What it has enqueued is over.
            None => Ok(()),
        }
    }
}

impl Instance {
    /// The profile of the last call.
    pub(crate) fn last_profile(&self) -> Option<usize> {
        self.contexts.last()
    }

    /// Where the host has waited for the calls before, nobody has to wait for them again: also where the
    /// caller records the stream, so that there can be no wait.
    #[inline]
    fn rest_after(&mut self, call: &Call<'_>) {
        if call.is_over(self.loaded.device().id()) {
            self.contexts.rest();
        }
    }

    /// Notes with which profile and scratch the engine is called.
    #[inline]
    fn trace(&mut self, profile: usize, tracer: Tracer<'_>) {
        if !tracer.is_on() {
            return;
        }
        let name = self.loaded.name.clone();
        if let Ok(prepared) = self.contexts.get(profile) {
            if !name.is_empty() {
                tracer.note("engine", name);
            }
            tracer.note("profile", profile);
            match prepared.take_waits() {
                0 => {}
                waits => tracer.note("waits before it was told something", waits),
            }
            if let Some(room) = prepared.room() {
                tracer.note("scratch bytes", room.len);
                tracer.note("scratch needed", prepared.needed());
                tracer.note("scratch at", format!("{:#x}", room.address.0));
            }
        }
    }

    /// Waits for a stream that nobody else waits for.
    fn drain(&mut self, stream: StreamHandle) -> Result<()> {
        if omitted(Rule::DrainUnknownWork) {
            return Ok(());
        }
        let device = self.loaded.device();
        wait(device, stream).inspect_err(|_| {
            // What fails once may work the second time. Nothing runs on a device that is lost.
            self.lost |= wait(device, stream).is_err() && device.alive().is_ok();
        })
    }

    /// A whole call, on a stream. `is_told`: there will be a stream at its end, too.
    fn run(&mut self, call: &mut Call<'_>, handle: StreamHandle, is_told: bool) -> Result<()> {
        let loaded = self.loaded.clone();
        let apart = match omitted(Rule::OneStream) {
            true => Some(Stream::new(loaded.device())?),
            false => None,
        };
        let handle = match &apart {
            Some(stream) => StreamHandle(stream.raw()?.expose_provenance()),
            None => handle,
        };
        // Where the host has an argument, what is enqueued for it is known to its buffers.
        let lent = OnceCell::new();
        let mut work = LateWork {
            stream: &lent,
            loaded: &loaded,
            handle,
            work: None,
        };
        let profile = self.make_ready(call, &mut work)?;
        let user = User::of(call, handle, is_told);
        // Nothing else is done while scratch is held that others may wait for.
        let enqueued = self
            .take_scratch(profile, &user, false)
            .and_then(|_| self.prepared()?.enqueue(&loaded, handle, false));
        // Whatever became of it, since a part may be there.
        let handed_on = self.scratch.enqueued(handle);
        self.trace(profile, call.tracer());
        enqueued.and(handed_on)?;
        self.finish(call, profile, work)
    }

    /// Whether what a call would enqueue can be enqueued later, as a part of other work: nothing is
    /// copied between the host and the device for it, and nothing waits.
    fn can_be_put_off(&self, call: &Call<'_>, loaded: &Loaded) -> Result<bool> {
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

    /// Tells the context of a profile all about the call but where its scratch is. Gives the profile.
    fn make_ready(&mut self, call: &mut Call<'_>, work: &mut LateWork<'_>) -> Result<usize> {
        let (loaded, handle) = (work.loaded, work.handle);
        ensure!(
            call.argument_count() == loaded.bindings.len(),
            InvalidProgram,
            "the delegate is called with {} arguments, and its engine has {} inputs and outputs",
            call.argument_count(),
            loaded.bindings.len()
        );
        for index in 0..loaded.inputs {
            self.arguments[index] = self.input(call, index, work)?;
        }
        let profile = self.profile(loaded, call.profile())?;
        self.configure(loaded, profile, handle, call.tracer())?;
        for index in loaded.inputs..loaded.bindings.len() {
            self.arguments[index] = self.output(call, index, profile, work)?;
        }
        self.alias(loaded)?;
        let prepared = self.contexts.get(profile)?;
        prepared.copy_before(&self.copies);
        for (index, binding) in loaded.bindings.iter().enumerate() {
            let address = self.arguments[index].address;
            if !binding.on_host && address.0 != 0 {
                prepared.bind(loaded, index, address, handle)?;
            }
        }
        Ok(profile)
    }

    /// Takes scratch for what the context of a profile is about to enqueue, and tells it where that is.
    /// `false`, with nothing done, if it would have to move although that may not be.
    #[inline]
    fn take_scratch(&mut self, profile: usize, user: &User<'_>, stays: bool) -> Result<bool> {
        let loaded = &*self.loaded;
        let prepared = self.contexts.get(profile)?;
        if prepared.needed() == 0 && !omitted(Rule::NothingForNothing) {
            return Ok(true);
        }
        let wish = Wish {
            bytes: prepared.needed(),
            address: prepared.room().map(|room| room.address),
            stays,
        };
        let idle = || wait(loaded.device(), user.stream);
        let Some(room) = self.scratch.room(&wish, user, idle)? else {
            return Ok(false);
        };
        if prepared.room() != Some(room) && user.tracer.is_on() {
            let mut notes = vec![
                ("engine", loaded.name.clone().into()),
                ("bytes", room.len.into()),
                ("at", format!("{:#x}", room.address.0).into()),
            ];
            if let Some(before) = prepared.room() {
                notes.push(("bytes before", before.len.into()));
            }
            user.tracer.instant("an engine is told of scratch", &notes);
        }
        prepared.give_scratch(loaded, room, user.stream)?;
        Ok(true)
    }

    /// The context of the last profile.
    fn prepared(&mut self) -> Result<&mut Prepared> {
        match self.contexts.last() {
            Some(profile) => self.contexts.get(profile),
            None => bail!(Internal, "nothing was prepared"),
        }
    }

    /// An input of the call, on the device.
    fn input(
        &mut self,
        call: &mut Call<'_>,
        index: usize,
        work: &mut LateWork<'_>,
    ) -> Result<Argument> {
        let binding = &work.loaded.bindings[index];
        if let Some(tensor) = on_device(call, index, work.loaded)? {
            argument::check(binding, tensor.dtype(), tensor.sizes(), tensor.dim_order())?;
            let argument = Argument {
                shape: argument::input_shape(binding, tensor.sizes())?,
                address: tensor.address(),
                len: tensor.len(),
                on_host: false,
            };
            if binding.on_host {
                let (bytes, numbers) = &mut self.values[index];
                bytes.resize(argument.len, 0);
                if !bytes.is_empty() {
                    download(work.loaded.device(), bytes, argument.address, work.handle)?;
                }
                argument::numbers(binding, bytes, numbers)?;
            } else if argument.len == 0 {
                let address = self.nothing(work)?;
                return Ok(Argument {
                    address,
                    ..argument
                });
            }
            return Ok(argument);
        }
        let arguments = call.arguments(&[])?;
        let tensor = arguments.tensor(index)?;
        argument::check(binding, tensor.dtype(), tensor.sizes(), tensor.dim_order())?;
        let address = if binding.on_host {
            let (bytes, numbers) = &mut self.values[index];
            bytes.clear();
            bytes.extend_from_slice(tensor.bytes());
            argument::numbers(binding, bytes, numbers)?;
            0
        } else {
            self.staging[index].upload(work.begin()?, tensor.bytes())?
        };
        Ok(Argument {
            shape: argument::input_shape(binding, tensor.sizes())?,
            address: DeviceAddress(address),
            len: tensor.bytes().len(),
            on_host: true,
        })
    }

    /// An output of the call, on the device; nowhere, if its size is not known yet.
    fn output(
        &mut self,
        call: &mut Call<'_>,
        index: usize,
        profile: usize,
        work: &mut LateWork<'_>,
    ) -> Result<Argument> {
        let binding = &work.loaded.bindings[index];
        let rank = on_device(call, index, work.loaded)?.map(|tensor| tensor.sizes().len());
        let on_host = rank.is_none();
        let prepared = self.contexts.get(profile)?;
        let shape = *prepared.output_shape(index);
        let nowhere = Argument {
            shape,
            address: DeviceAddress(0),
            len: 0,
            on_host,
        };
        if !shape.is_known() {
            if let Some(allocator) = prepared.allocator(index) {
                allocator.begin(work.handle);
                work.begin()?;
            }
            return Ok(nowhere);
        }
        if binding.on_host {
            return Ok(nowhere);
        }
        let Some(rank) = rank else {
            let len = binding.bytes(&shape)?;
            let address = self.staging[index].output(work.begin()?, len)?;
            return Ok(Argument {
                address: DeviceAddress(address),
                len,
                ..nowhere
            });
        };
        let sizes = argument::output_sizes(binding, &shape, rank)?;
        let tensor = call.device_output(index, &sizes)?;
        argument::check(binding, tensor.dtype(), tensor.sizes(), tensor.dim_order())?;
        let (address, len) = (tensor.address(), tensor.len());
        let address = if len == 0 {
            self.nothing(work)?
        } else {
            address
        };
        Ok(Argument {
            address,
            len,
            ..nowhere
        })
    }

    /// The profile for the call's inputs: the pinned one, if they fit it.
    fn profile(&self, loaded: &Loaded, pinned: Option<usize>) -> Result<usize> {
        let inputs = &self.arguments[..loaded.inputs];
        if let Some(likely) = pinned.or(self.contexts.last())
            && let Some(prepared) = self.contexts.existing(likely)
            && prepared.has_shapes(inputs.iter().map(|input| &input.shape))
            && !loaded.bindings[..loaded.inputs]
                .iter()
                .any(|binding| binding.on_host)
        {
            return Ok(likely);
        }
        let given = |index: usize| Given {
            shape: self.arguments[index].shape,
            values: loaded.bindings[index]
                .on_host
                .then_some(&self.values[index].1),
        };
        let name = |index: usize| &*loaded.bindings[index].text;
        match pinned {
            Some(pinned) => check_pinned(&loaded.profiles, pinned, &given, &name),
            None => choose(&loaded.profiles, self.contexts.last(), &given, &name),
        }
    }

    /// Sees to it that the profile's context has the call's shapes, and that it can have scratch.
    fn configure(
        &mut self,
        loaded: &Loaded,
        profile: usize,
        stream: StreamHandle,
        tracer: Tracer<'_>,
    ) -> Result<()> {
        match self.contexts.last() {
            last if last == Some(profile) || !tracer.is_on() => {
                self.contexts.select(loaded, profile, stream)?;
            }
            last => {
                let span = tracer.span("change the profile");
                span.note("engine", loaded.name.clone());
                span.note("profile", profile);
                if let Some(last) = last {
                    span.note("before", last);
                }
                self.contexts.select(loaded, profile, stream)?;
            }
        }
        let prepared = self.contexts.get(profile)?;
        let arguments = &self.arguments;
        let inputs = &loaded.bindings[..loaded.inputs];
        let same_values =
            inputs
                .iter()
                .zip(&self.values)
                .enumerate()
                .all(|(index, (binding, (bytes, _)))| {
                    !binding.on_host || prepared.has_values(index, bytes)
                });
        let shapes = arguments[..loaded.inputs].iter().map(|input| &input.shape);
        if !same_values || !prepared.has_shapes(shapes) {
            let values = &self.values;
            let _span = tracer.span("tell the engine new shapes");
            prepared.configure(
                loaded,
                loaded.profiles[profile].scratch,
                |index| &arguments[index].shape,
                |index| &values[index].0,
                stream,
            )?;
        }
        self.scratch.check(prepared.needed())
    }

    /// Lets outputs that are an input's memory be that. Where the program has them in two places, the
    /// output's starts as a copy of the input's, so that the input stays what it was.
    fn alias(&mut self, loaded: &Loaded) -> Result<()> {
        self.copies.clear();
        for &(output, input) in &loaded.aliases {
            let (to, from) = (self.arguments[output], self.arguments[input]);
            if to.address == from.address {
                continue;
            }
            let name = &loaded.bindings[output].text;
            ensure!(
                to.len == from.len,
                InvalidProgram,
                "`{name}` has {} bytes, but is the memory of an input of {} bytes",
                to.len,
                from.len
            );
            let distance = to.address.0.abs_diff(from.address.0);
            ensure!(
                distance >= to.len as u64,
                InvalidProgram,
                "`{name}` overlaps the input whose memory it is, but is not at the same place"
            );
            if to.len > 0 && !omitted(Rule::CopyAlias) {
                self.copies.push((to.address, from.address, to.len));
            }
            if !omitted(Rule::BindAlias) {
                self.arguments[input].address = to.address;
            }
        }
        Ok(())
    }

    /// Brings results to where the program has them.
    fn finish(&mut self, call: &mut Call<'_>, profile: usize, work: LateWork<'_>) -> Result<()> {
        let (loaded, handle) = (work.loaded, work.handle);
        let prepared = self.contexts.get(profile)?;
        let outputs = loaded.inputs..loaded.bindings.len();
        if work.work.is_none() && !loaded.bindings[outputs.clone()].iter().any(|b| b.on_host) {
            // The usual case: all of them are there already, or will be.
            return Ok(());
        }
        let mut work = work;
        for index in outputs.clone() {
            let binding = &loaded.bindings[index];
            let argument = &mut self.arguments[index];
            if let Some(allocator) = prepared.allocator(index)
                && !argument.shape.is_known()
            {
                let work = work.begin()?;
                for buffer in allocator.take_outgrown() {
                    work.writes(&buffer)?;
                }
                let Some((buffer, shape)) = allocator.output() else {
                    bail!(
                        Delegate,
                        "TensorRT did not say how large `{}` has become",
                        binding.text
                    );
                };
                work.writes(buffer)?;
                argument.shape = shape;
                argument.len = binding.bytes(&shape)?;
                ensure!(
                    argument.len <= buffer.len(),
                    Delegate,
                    "TensorRT asked for {} bytes for `{}`, and then gave it the shape {shape:?}",
                    buffer.len(),
                    binding.text
                );
                if argument.on_host {
                    self.staging[index].download_from(work, buffer, argument.len)?;
                } else {
                    let rank = call.device_tensor(index)?.sizes().len();
                    let sizes = argument::output_sizes(binding, &shape, rank)?;
                    let tensor = call.device_output(index, &sizes)?;
                    argument::check(binding, tensor.dtype(), tensor.sizes(), tensor.dim_order())?;
                    let (to, from) = (tensor.address(), DeviceAddress(buffer.address()));
                    copy_on_device(loaded.device(), to, from, tensor.len(), handle)?;
                }
            } else if argument.on_host && !binding.on_host {
                self.staging[index].download(work.begin()?, argument.len)?;
            }
        }
        if let Some(work) = work.work.take() {
            work.finish()?;
        }
        if loaded.bindings[outputs.clone()].iter().any(|b| b.on_host) {
            // TensorRT writes these by itself.
            wait(loaded.device(), handle)?;
        }
        for index in outputs {
            let binding = &loaded.bindings[index];
            let argument = self.arguments[index];
            if !argument.on_host && !binding.on_host {
                continue;
            }
            let values = binding.on_host.then(|| prepared.values(index));
            match (argument.on_host, values) {
                (true, values) => to_host(call, index, binding, &argument, |to| match values {
                    Some(values) => copy_values(to, values),
                    None => self.staging[index].read(to),
                })?,
                (false, values) => {
                    let values = values.unwrap_or_default();
                    let rank = call.device_tensor(index)?.sizes().len();
                    let sizes = argument::output_sizes(binding, &argument.shape, rank)?;
                    let tensor = call.device_output(index, &sizes)?;
                    let mut bytes = vec![0; tensor.len()];
                    copy_values(&mut bytes, values)?;
                    upload(loaded.device(), tensor.address(), &bytes, handle)?;
                }
            }
        }
        Ok(())
    }

    /// Where tensors without elements are: TensorRT wants an address for them, too.
    fn nothing(&mut self, work: &LateWork<'_>) -> Result<DeviceAddress> {
        let buffer = match &mut self.nothing {
            Some(buffer) => buffer,
            none => none.insert(DeviceBuffer::new(work.stream(), 256)?),
        };
        Ok(DeviceAddress(buffer.address()))
    }
}

/// Fills an output on the host.
fn to_host(
    call: &mut Call<'_>,
    index: usize,
    binding: &Binding,
    argument: &Argument,
    fill: impl FnOnce(&mut [u8]) -> Result<()>,
) -> Result<()> {
    let Ok(position) = u16::try_from(index) else {
        bail!(Unsupported, "output {index} of a delegate");
    };
    let writes = [position];
    let arguments = call.arguments(&writes)?;
    let rank = arguments.output_sizes(index)?.len();
    let sizes = argument::output_sizes(binding, &argument.shape, rank)?;
    let mut output = arguments.output(index, &sizes)?;
    argument::check(binding, output.dtype(), output.sizes(), output.dim_order())?;
    fill(output.bytes_mut())
}

/// Copies values that TensorRT has left on the host.
fn copy_values(to: &mut [u8], values: &[u64]) -> Result<()> {
    ensure!(
        to.len() <= values.len() * 8,
        Internal,
        "values of {} bytes for a tensor of {}",
        values.len() * 8,
        to.len()
    );
    for (to, value) in to.chunks_mut(8).zip(values) {
        to.copy_from_slice(&value.to_ne_bytes()[..to.len()]);
    }
    Ok(())
}

/// Work of the call that buffers are to know of. Most calls have none.
struct LateWork<'w> {
    stream: &'w OnceCell<Stream>,
    loaded: &'w Loaded,
    handle: StreamHandle,
    work: Option<Work<'w>>,
}

impl<'w> LateWork<'w> {
    fn stream(&self) -> &'w Stream {
        self.stream
            .get_or_init(|| stream(self.loaded.device(), self.handle))
    }

    fn begin(&mut self) -> Result<&mut Work<'w>> {
        let stream = self.stream();
        match &mut self.work {
            Some(work) => Ok(work),
            none => Ok(none.insert(stream.work()?)),
        }
    }
}

/// An argument that the program has on the engine's device; `None` if it has it on the host.
fn on_device<'a>(
    call: &'a Call<'_>,
    index: usize,
    loaded: &Loaded,
) -> Result<Option<DeviceTensor<'a>>> {
    let binding = &loaded.bindings[index];
    let Some(tensor) = call.tensor_on_device(index)? else {
        let part = |&(output, input): &(usize, usize)| output == index || input == index;
        ensure!(
            !loaded.aliases.iter().any(part),
            Unsupported,
            "`{}` is updated in place on the device, but the program has it on the host; it \
             would be lost there",
            binding.text
        );
        return Ok(None);
    };
    let (device, here) = (tensor.device(), loaded.device().id());
    ensure!(
        device == here,
        InvalidProgram,
        "`{}` lies on {device}, and the engine is on {here}",
        binding.text
    );
    Ok(Some(tensor))
}

impl Drop for Instance {
    /// The core has waited for all that calls have left.
    fn drop(&mut self) {
        if self.lost {
            tracing::warn!("contexts of TensorRT that may still be running are never freed");
            self.contexts.abandon();
            std::mem::forget(std::mem::take(&mut self.staging));
            std::mem::forget(self.nothing.take());
            self.scratch.abandon();
        }
    }
}
