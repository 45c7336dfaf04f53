//! A library of one method instance, and its calls.

use std::sync::Arc;

use thalweg_core::{Call, CallEnd, DelegateInstance, Device as _, DeviceId, ErrorKind, Result};
use thalweg_core::{Stamp, State, StreamHandle, bail, ensure};
use thalweg_cuda::Stream;

use crate::abi::{Course, Plan, Ran, Session, Storage, Tensor, Where, borrow, copy};
use crate::compiled::Compiled;
use crate::delegate::{Own, Prepared};
use crate::known::{Layout, Output, Runs, Stamps};
use crate::omit::{Rule, omitted};

/// What a method instance runs a library with.
pub(crate) struct Instance {
    /// There until this is dropped.
    own: Option<Own>,
    runs: Runs,
    stamps: Stamps,
    /// What was prepared last: the number of what is known of such inputs, where inputs and outputs are,
    /// and where the workspace is, or zero.
    prepared: Vec<u64>,
    /// The call whose workspace it has.
    call: Option<u64>,
    /// The last call that had a workspace, and where that was.
    last: Option<(u64, u64)>,
    /// Whether work is left that can never be waited for.
    lost: bool,
    delegate: Arc<Prepared>,
}

impl Instance {
    pub(crate) fn new(delegate: Arc<Prepared>, state: &State) -> Result<Self> {
        Ok(Self {
            own: Some(delegate.own(state)?),
            runs: Runs::default(),
            stamps: Stamps::default(),
            prepared: Vec::new(),
            call: None,
            last: None,
            lost: false,
            delegate,
        })
    }
}

impl DelegateInstance for Instance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let delegate = self.delegate.clone();
        let device = &delegate.compiled.on.device;
        let id = device.id();
        match call.stream(id) {
            Ok(stream) => self.run(call, &delegate, stream, true),
            // All arguments are on the host, and nobody but this knows of work on the device. So it
            // is over when this is, whatever happens.
            Err(error) if error.kind() == ErrorKind::MissingDevice => {
                let stream = call.caller_stream(id);
                let stream = stream.unwrap_or_else(|| device.default_stream());
                let result = self.run(call, &delegate, stream, false);
                let waited = self.drain(&borrow(device, stream));
                result.and(waited)
            }
            Err(error) => Err(error),
        }
    }

    fn prepare(&mut self, call: &mut Call<'_>) -> Result<Option<Stamp>> {
        let delegate = self.delegate.clone();
        let own = self.own()?;
        // The first run of a library is not like the others, and after an upload.
        let is_first = own.folds_nothing || !own.ready.is_empty();
        if is_first || delegate.compiled.unseen.is_some() {
            return Ok(None);
        }
        if !self.find(call, &delegate)? || !self.place(call, &delegate)? {
            return Ok(None);
        }
        let prepared = match (omitted(Rule::StampAddresses), omitted(Rule::StampWorkspace)) {
            (false, false) => &self.prepared[..],
            (true, _) => &self.prepared[..1],
            (false, true) => &self.prepared[..self.prepared.len() - 1],
        };
        Ok(Some(Stamp(self.stamps.of(prepared))))
    }

    fn ask(&mut self, handle: StreamHandle, recording: bool) -> Result<()> {
        let delegate = self.delegate.clone();
        let compiled = &delegate.compiled;
        let stream = stream_for(compiled, handle)?;
        let session = compiled.session(&stream)?;
        let asked = self.ask_in(&session, &delegate, recording);
        let finished = session.finish();
        asked.and(finished)
    }

    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        let Some(call) = self.call.take() else {
            return Ok(());
        };
        let on = &self.delegate.compiled.on;
        let id = on.device.id();
        match end.stream(id) {
            Some(stream) => {
                let borrowed = || borrow(&on.device, stream);
                on.workspaces.end(call, end.is_over(id), borrowed)
            }
            None => Ok(()),
        }
    }
}

impl Instance {
    /// A whole call, on a stream. `is_told`: there will be a stream at its end, too.
    fn run(
        &mut self,
        call: &mut Call<'_>,
        delegate: &Prepared,
        handle: StreamHandle,
        is_told: bool,
    ) -> Result<()> {
        let compiled = &delegate.compiled;
        let expected = delegate.inputs + delegate.outputs;
        ensure!(
            call.argument_count() == expected,
            InvalidProgram,
            "the delegate is called with {} arguments, and its library has {} inputs and {} outputs",
            call.argument_count(),
            delegate.inputs,
            delegate.outputs
        );
        let stream = stream_for(compiled, handle)?;
        let own = self.own()?;
        if !omitted(Rule::UseAfterUpload) {
            for event in &own.ready {
                stream.wait(event)?;
            }
        }
        let folds_nothing = own.folds_nothing;
        let session = compiled.session(&stream)?;
        if folds_nothing {
            session.nothing_yet(&compiled.on.idle)?;
        }
        let result = self.run_in(&session, call, delegate, is_told.then_some(handle));
        let finished = session.finish();
        call.tracer().bytes(|| compiled.on.temporaries());
        result.and(finished)?;
        // What follows is behind this call.
        let own = self.own()?;
        own.ready.clear();
        own.folds_nothing = false;
        Ok(())
    }

    fn run_in(
        &mut self,
        session: &Session<'_>,
        call: &mut Call<'_>,
        delegate: &Prepared,
        handle: Option<StreamHandle>,
    ) -> Result<()> {
        let mut layouts = Vec::with_capacity(delegate.inputs);
        let mut inputs = Vec::with_capacity(delegate.inputs);
        let last = self.runs.last().map(|known| &known.inputs[..]);
        for index in 0..delegate.inputs {
            let last = last.and_then(|inputs| inputs.get(index));
            let (layout, tensor) = input(session, call, index, last)?;
            layouts.push(layout);
            inputs.push(tensor);
        }
        let known = self.runs.find(|index, layout| layouts[index] == *layout);
        let is_known = known.is_some();
        let course = match known {
            None => Course::unknown(),
            Some(known) => {
                let plan = known.plan.clone();
                let mut places = Vec::with_capacity(delegate.outputs);
                for (output, known) in known.outputs.iter().enumerate() {
                    let index = delegate.inputs + output;
                    places.push(match known.placed {
                        Some(_) => place(call, index, known, &inputs, session.device.id())?,
                        None => None,
                    });
                }
                let workspace = match handle {
                    Some(handle) => self.workspace(call, &plan, handle)?,
                    None => None,
                };
                Course::planned(plan, places, workspace)
            }
        };
        session.begin_run(course, false);
        let functions = &delegate.compiled.functions;
        let container = self.own()?.held.get_mut()?;
        let tensors = container.run(functions, session, inputs, delegate.outputs)?;
        let mut outputs = Vec::with_capacity(tensors.len());
        let mut placed = Vec::new();
        for (output, tensor) in tensors.iter().enumerate() {
            let known = self.runs.last().filter(|_| is_known);
            let last = known.and_then(|known| Some(&known.outputs.get(output)?.layout));
            let index = delegate.inputs + output;
            let (layout, on_device) = give(session, call, index, tensor, last)?;
            let allocation = tensor
                .storage
                .allocation
                .map(|allocation| allocation.number);
            let can_be_placed = on_device
                && tensor.offset == 0
                && tensor.storage.bytes == layout.reach()
                && layout.is_like(tensor);
            let allocation = allocation.filter(|allocation| {
                can_be_placed && !placed.iter().any(|(taken, _)| taken == allocation)
            });
            placed.extend(allocation.map(|allocation| (allocation, output)));
            outputs.push(Output {
                layout,
                placed: allocation.map(|_| tensor.storage.bytes),
            });
        }
        let ran = session.end_run(tensors);
        self.learn(layouts, outputs, &placed, ran, is_known, delegate);
        Ok(())
    }

    /// Learns from a run.
    fn learn(
        &mut self,
        inputs: Vec<Arc<Layout>>,
        outputs: Vec<Output>,
        placed: &[(usize, usize)],
        mut ran: Ran,
        was_known: bool,
        delegate: &Prepared,
    ) {
        if ran.keeps {
            // What it keeps is in memory that is its own as long as it wants.
            if was_known {
                self.runs.forget();
                self.abandon_workspace(delegate);
            }
            return;
        }
        match (ran.acts.take(), self.runs.last()) {
            (None, Some(known)) if was_known && known.outputs == outputs => {
                known.not_in_graphs = ran.not_in_graphs;
            }
            (None, _) if was_known => self.runs.forget(),
            (acts, _) => {
                let plan = Plan::new(acts.unwrap_or_default(), placed);
                let workspace = usize::try_from(plan.workspace()).unwrap_or(usize::MAX);
                delegate.compiled.on.workspaces.needs(workspace);
                self.runs.learn(inputs, outputs, plan, &ran);
            }
        }
    }

    /// Finds what is known of runs like this call's, if it is something that can be put off. Begins to
    /// prepare it.
    fn find(&mut self, call: &Call<'_>, delegate: &Prepared) -> Result<bool> {
        let here = delegate.compiled.on.device.id();
        let count = delegate.inputs + delegate.outputs;
        if call.argument_count() != count {
            return Ok(false);
        }
        self.prepared.clear();
        self.prepared.push(0);
        for index in 0..count {
            match call.tensor_on_device(index)? {
                Some(tensor) if tensor.device() == here => {
                    if index < delegate.inputs {
                        self.prepared.push(tensor.address().0);
                    }
                }
                _ => return Ok(false),
            }
        }
        let known = self.runs.find(|index, layout| {
            let tensor = call.device_tensor(index);
            tensor.is_ok_and(|tensor| layout.is_of_tensor(&tensor))
        });
        let Some(known) = known else {
            return Ok(false);
        };
        if let Some(what) = known.not_in_graphs
            && !omitted(Rule::OnlyWhatGraphsHold)
        {
            tracing::trace!("a compiled library is not put off, because of `{what}`");
            return Ok(false);
        }
        self.prepared[0] = known.number;
        Ok(true)
    }

    /// Prepares where outputs and the workspace are; `false` if they cannot be where a graph could have
    /// them.
    fn place(&mut self, call: &mut Call<'_>, delegate: &Prepared) -> Result<bool> {
        let Some(known) = self.runs.last() else {
            return Ok(false);
        };
        for (output, known_output) in known.outputs.iter().enumerate() {
            let index = delegate.inputs + output;
            let layout = &known_output.layout;
            let tensor = call.device_output(index, layout.sizes())?;
            if !layout.is_of_tensor(&tensor) {
                return Ok(false);
            }
            let (address, len) = (tensor.address().0, tensor.len() as u64);
            let inputs = self.prepared[1..=delegate.inputs].iter();
            let mut inputs = inputs.zip(&known.inputs);
            let overlaps =
                inputs.any(|(&start, input)| overlap(start, input.reach(), address, len));
            if overlaps || known_output.placed.is_some_and(|bytes| bytes != len) {
                return Ok(false);
            }
            self.prepared.push(address);
        }
        let plan = known.plan.clone();
        let workspace = match plan.workspace() {
            0 => Some(0),
            _ => {
                let handle = call.stream(delegate.compiled.on.device.id())?;
                self.workspace(call, &plan, handle)?
            }
        };
        self.prepared.extend(workspace);
        Ok(workspace.is_some())
    }

    /// Where the call's workspace is, if the plan wants one and it is large enough.
    fn workspace(
        &mut self,
        call: &Call<'_>,
        plan: &Plan,
        handle: StreamHandle,
    ) -> Result<Option<u64>> {
        if plan.workspace() == 0 {
            return Ok(None);
        }
        let delegate = self.delegate.clone();
        let on = &delegate.compiled.on;
        let borrowed = || borrow(&on.device, handle);
        if let Some(before) = self.call.filter(|before| *before != call.number()) {
            // Nobody has said that this call was over, as happens to an instance that is wrapped by one
            // that does not pass it on. What it has enqueued is before what comes now.
            self.call = None;
            on.workspaces.end(before, false, borrowed)?;
        }
        let bytes = usize::try_from(plan.workspace()).unwrap_or(usize::MAX);
        let address = on
            .workspaces
            .of_call(call.number(), bytes, self.last, borrowed)?;
        if let Some(address) = address {
            self.call = Some(call.number());
            self.last = Some((call.number(), address));
        }
        Ok(address)
    }

    fn ask_in(
        &mut self,
        session: &Session<'_>,
        delegate: &Prepared,
        recording: bool,
    ) -> Result<()> {
        let count = 1 + delegate.inputs + delegate.outputs;
        let known = self.runs.last();
        let Some(known) = known
            .filter(|known| self.prepared.len() == count + 1 && self.prepared[0] == known.number)
        else {
            bail!(
                Internal,
                "a compiled library is asked for what was not prepared"
            );
        };
        let (inputs, outputs) = self.prepared[1..count].split_at(delegate.inputs);
        let tensors = inputs.iter().zip(&known.inputs);
        let tensors = tensors
            .map(|(address, layout)| lent(session, *address, layout))
            .collect::<Result<Vec<_>>>()?;
        let places = known.outputs.iter().zip(outputs);
        let places = places.map(|(output, address)| output.placed.map(|_| *address));
        let workspace = self.prepared[count];
        let workspace = (workspace != 0).then_some(workspace);
        let course = Course::planned(known.plan.clone(), places.collect(), workspace);
        session.begin_run(course, recording);
        let functions = &delegate.compiled.functions;
        let container = match &mut self.own {
            Some(own) => own.held.get_mut()?,
            None => bail!(Internal, "an instance is used after it was dropped"),
        };
        let results = container.run(functions, session, tensors, delegate.outputs)?;
        for (index, result) in results.iter().enumerate() {
            let layout = &known.outputs[index].layout;
            ensure!(
                result.sizes == layout.signed_sizes && result.dtype == layout.dtype,
                Delegate,
                "output {} is of {} and sizes {:?}, and was of {} and sizes {:?} in the run before with \
                 such inputs",
                delegate.inputs + index,
                result.dtype,
                result.sizes,
                layout.dtype,
                layout.signed_sizes
            );
            bring(session, &lent(session, outputs[index], layout)?, result)?;
        }
        let ran = session.end_run(results);
        if recording {
            return ran.check_recorded();
        }
        known.not_in_graphs = ran.not_in_graphs;
        if ran.keeps {
            self.abandon_workspace(delegate);
        }
        if ran.keeps || ran.acts.is_some() {
            // The next run is like a first one.
            self.runs.forget();
        }
        Ok(())
    }

    /// Leaves the workspace of the call to the library, which has not freed what it has there.
    fn abandon_workspace(&mut self, delegate: &Prepared) {
        if let Some(call) = self.call.take() {
            delegate.compiled.on.workspaces.abandon(call);
        }
    }

    fn own(&mut self) -> Result<&mut Own> {
        match &mut self.own {
            Some(own) => Ok(own),
            None => bail!(Internal, "an instance is used after it was dropped"),
        }
    }

    /// Waits for a stream that nobody else waits for.
    fn drain(&mut self, stream: &Stream) -> Result<()> {
        if omitted(Rule::DrainUnknownWork) {
            return Ok(());
        }
        stream.synchronize().inspect_err(|_| {
            let device = stream.device();
            // What fails once may work the second time. Nothing runs on a device that is lost.
            self.lost |= stream.synchronize().is_err() && device.alive().is_ok();
        })
    }
}

/// The stream that a library enqueues on.
fn stream_for(compiled: &Compiled, handle: StreamHandle) -> Result<Stream> {
    match omitted(Rule::OneStream) {
        false => Ok(borrow(&compiled.on.device, handle)),
        true => Stream::new(&compiled.on.device),
    }
}

/// An input of the call, on the device, and how the program has it. `last`: how it had it in the call
/// before.
fn input(
    session: &Session<'_>,
    call: &mut Call<'_>,
    index: usize,
    last: Option<&Arc<Layout>>,
) -> Result<(Arc<Layout>, Tensor)> {
    let here = session.device.id();
    match call.tensor_on_device(index)? {
        Some(tensor) => {
            ensure!(
                tensor.device() == here,
                InvalidProgram,
                "input {index} lies on {}, and the library is on {here}",
                tensor.device()
            );
            let layout = Layout::of(tensor.dtype(), tensor.sizes(), tensor.dim_order(), last);
            let tensor = lent(session, tensor.address().0, &layout)?;
            Ok((layout, tensor))
        }
        None => {
            let arguments = call.arguments(&[])?;
            let tensor = arguments.tensor(index)?;
            let layout = Layout::of(tensor.dtype(), tensor.sizes(), tensor.dim_order(), last);
            let (sizes, strides) = (&layout.signed_sizes, &layout.strides);
            let tensor = session.upload(tensor.bytes(), layout.dtype, sizes, strides)?;
            Ok((layout, tensor))
        }
    }
}

/// A tensor of the program on the device.
fn lent(session: &Session<'_>, address: u64, layout: &Layout) -> Result<Tensor> {
    let place = Where::Device(session.device.ordinal());
    let storage = Storage::lent(address, layout.reach(), place);
    let (sizes, strides) = (&layout.signed_sizes, &layout.strides);
    Tensor::new(Arc::new(storage), layout.dtype, sizes, strides, 0)
}

/// Where an output is wanted, if the library can be given that memory.
fn place(
    call: &mut Call<'_>,
    index: usize,
    known: &Output,
    inputs: &[Tensor],
    here: DeviceId,
) -> Result<Option<u64>> {
    if call.device_of(index)? != Some(here) {
        return Ok(None);
    }
    let layout = &known.layout;
    let tensor = call.device_output(index, layout.sizes())?;
    let (address, len) = (tensor.address().0, tensor.len() as u64);
    let same = layout.is_of_tensor(&tensor);
    // Where an input is, nothing may be written before the library has read it.
    let is_input = inputs.iter().any(|input| {
        let storage = &input.storage;
        overlap(storage.address, storage.bytes, address, len)
    });
    Ok((same && !is_input && known.placed == Some(len)).then_some(address))
}

/// Whether two pieces of memory have something in common.
fn overlap(start: u64, len: u64, other: u64, other_len: u64) -> bool {
    start < other.saturating_add(other_len) && other < start.saturating_add(len)
}

/// Brings an output to where the program wants it. Gives how the program has it, and whether that is on the
/// device. `last`: how it had it in the call before.
fn give(
    session: &Session<'_>,
    call: &mut Call<'_>,
    index: usize,
    tensor: &Tensor,
    last: Option<&Arc<Layout>>,
) -> Result<(Arc<Layout>, bool)> {
    let new;
    let sizes = match last {
        Some(last) if last.signed_sizes == tensor.sizes => last.sizes(),
        _ => {
            new = unsigned(&tensor.sizes)?;
            &new
        }
    };
    if call.tensor_on_device(index)?.is_some() {
        let output = call.device_output(index, sizes)?;
        let layout = Layout::of(output.dtype(), output.sizes(), output.dim_order(), last);
        let address = output.address().0;
        check_type(index, tensor, layout.dtype)?;
        bring(session, &lent(session, address, &layout)?, tensor)?;
        return Ok((layout, true));
    }
    let Ok(position) = u16::try_from(index) else {
        bail!(Unsupported, "output {index} of a delegate");
    };
    let writes = [position];
    let arguments = call.arguments(&writes)?;
    let mut output = arguments.output(index, sizes)?;
    check_type(index, tensor, output.dtype())?;
    let layout = Layout::of(output.dtype(), output.sizes(), output.dim_order(), last);
    session.download(output.bytes_mut(), tensor, &layout.strides)?;
    Ok((layout, false))
}

/// Copies an output to where the program wants it, unless it is there.
fn bring(session: &Session<'_>, output: &Tensor, tensor: &Tensor) -> Result<()> {
    let same_place = output.address() == tensor.address() && output.storage.on == tensor.storage.on;
    if (same_place && tensor.lies_by(&output.strides)) || omitted(Rule::GiveOutputs) {
        return Ok(());
    }
    copy(session, output, tensor)
}

fn check_type(index: usize, tensor: &Tensor, dtype: thalweg_core::DType) -> Result<()> {
    ensure!(
        dtype == tensor.dtype,
        InvalidProgram,
        "output {index} is of {} for the compiled library, but of {dtype} for the program",
        tensor.dtype
    );
    Ok(())
}

fn unsigned(values: &[i64]) -> Result<Vec<usize>> {
    values
        .iter()
        .map(|&value| match usize::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => bail!(
                Delegate,
                "the compiled library gives a tensor of sizes {values:?}"
            ),
        })
        .collect()
}

impl Drop for Instance {
    /// The core has waited for all that calls have left.
    fn drop(&mut self) {
        if self.lost {
            tracing::warn!("a compiled library that may still be running is never unloaded");
            std::mem::forget(self.own.take());
            std::mem::forget(self.delegate.clone());
        }
        if let Some(call) = self.call.take() {
            let on = &self.delegate.compiled.on;
            let stream = || Stream::per_thread(&on.device);
            // Nothing of the call runs any more, unless nobody will ever know.
            match self.lost {
                true => on.workspaces.abandon(call),
                false => {
                    let _ = on.workspaces.end(call, true, stream);
                }
            }
        }
    }
}
