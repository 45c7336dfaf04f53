//! A library of one method instance, and its calls.

use std::sync::Arc;

use thalweg_core::{Call, DelegateInstance, Device as _, Result, StreamHandle};
use thalweg_core::{ErrorKind, bail, ensure, strides_of};
use thalweg_cuda::Stream;

use crate::abi::{Place, Session, Storage, Tensor, Where, borrow, copy};
use crate::delegate::{Own, Prepared};
use crate::omit::{Rule, omitted};

/// What a method instance runs a library with.
pub(crate) struct Instance {
    /// There until this is dropped.
    own: Option<Own>,
    /// Of the last call, the sizes of the inputs.
    last_sizes: Vec<Vec<i64>>,
    /// Of the last call, which allocation became each output, and the output's sizes.
    last_outputs: Vec<Option<(usize, Vec<usize>)>>,
    /// Whether work is left that can never be waited for.
    lost: bool,
    prepared: Arc<Prepared>,
}

impl Instance {
    pub(crate) fn new(prepared: Arc<Prepared>) -> Result<Self> {
        Ok(Self {
            own: Some(prepared.own()?),
            last_sizes: Vec::new(),
            last_outputs: Vec::new(),
            lost: false,
            prepared,
        })
    }
}

impl DelegateInstance for Instance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let prepared = self.prepared.clone();
        let device = &prepared.compiled.on.device;
        let id = device.id();
        match call.stream(id) {
            Ok(stream) => self.run(call, &prepared, stream),
            // All arguments are on the host, and nobody but this knows of work on the device. So it
            // is over when this is, whatever happens.
            Err(error) if error.kind() == ErrorKind::MissingDevice => {
                let stream = call.caller_stream(id);
                let stream = stream.unwrap_or_else(|| device.default_stream());
                let result = self.run(call, &prepared, stream);
                let waited = self.drain(&borrow(device, stream));
                result.and(waited)
            }
            Err(error) => Err(error),
        }
    }
}

impl Instance {
    /// A whole call, on a stream.
    fn run(
        &mut self,
        call: &mut Call<'_>,
        prepared: &Prepared,
        handle: StreamHandle,
    ) -> Result<()> {
        let compiled = &prepared.compiled;
        let expected = prepared.inputs + prepared.outputs;
        ensure!(
            call.argument_count() == expected,
            InvalidProgram,
            "the delegate is called with {} arguments, and its library has {} inputs and {} outputs",
            call.argument_count(),
            prepared.inputs,
            prepared.outputs
        );
        let stream = match omitted(Rule::OneStream) {
            false => borrow(&compiled.on.device, handle),
            true => Stream::new(&compiled.on.device)?,
        };
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
        let result = self.run_in(&session, call, prepared);
        let finished = session.finish();
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
        prepared: &Prepared,
    ) -> Result<()> {
        let mut inputs = Vec::with_capacity(prepared.inputs);
        for index in 0..prepared.inputs {
            inputs.push(input(session, call, index)?);
        }
        let same_sizes = inputs.iter().map(|input| &input.sizes).eq(&self.last_sizes);
        if !same_sizes {
            self.last_sizes = inputs.iter().map(|input| input.sizes.clone()).collect();
            self.last_outputs.clear();
        }
        let mut places = Vec::new();
        for (output, last) in self.last_outputs.iter().enumerate() {
            if let Some((allocation, sizes)) = last {
                let index = prepared.inputs + output;
                places.extend(place(call, index, *allocation, sizes, &inputs)?);
            }
        }
        session.expect(places.into_iter());
        let functions = &prepared.compiled.functions;
        let container = self.own()?.held.get_mut()?;
        let outputs = container.run(functions, session, inputs, prepared.outputs)?;
        self.last_outputs.clear();
        for (output, tensor) in outputs.iter().enumerate() {
            let index = prepared.inputs + output;
            let sizes = give(session, call, index, tensor)?;
            let whole = tensor.offset == 0 && tensor.is_row_major();
            let allocation = tensor.storage.allocation.filter(|_| whole);
            self.last_outputs
                .push(allocation.map(|allocation| (allocation, sizes)));
        }
        Ok(())
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

/// An input of the call, on the device.
fn input(session: &Session<'_>, call: &mut Call<'_>, index: usize) -> Result<Tensor> {
    let here = session.device.id();
    match call.device_of(index)? {
        Some(device) => {
            ensure!(
                device == here,
                InvalidProgram,
                "input {index} lies on {device}, and the library is on {here}"
            );
            argument(session, call, index)
        }
        None => {
            let arguments = call.arguments(&[])?;
            let tensor = arguments.tensor(index)?;
            let strides = strides_of(tensor.sizes(), tensor.dim_order());
            session.upload(
                tensor.bytes(),
                tensor.dtype(),
                &signed(tensor.sizes()),
                &signed(&strides),
            )
        }
    }
}

/// An argument that lies on the device, as a tensor.
fn argument(session: &Session<'_>, call: &Call<'_>, index: usize) -> Result<Tensor> {
    let tensor = call.device_tensor(index)?;
    let strides = strides_of(tensor.sizes(), tensor.dim_order());
    let place = Where::Device(session.device.ordinal());
    let storage = Storage::lent(tensor.address().0, tensor.len() as u64, place);
    let (sizes, strides) = (signed(tensor.sizes()), signed(&strides));
    Tensor::new(Arc::new(storage), tensor.dtype(), &sizes, &strides, 0)
}

/// Where an output is wanted, if the library can be given that memory.
fn place(
    call: &mut Call<'_>,
    index: usize,
    allocation: usize,
    sizes: &[usize],
    inputs: &[Tensor],
) -> Result<Option<Place>> {
    if call.device_of(index)?.is_none() {
        return Ok(None);
    }
    let tensor = call.device_output(index, sizes)?;
    let (address, bytes) = (tensor.address().0, tensor.len() as u64);
    let row_major = (0..tensor.dim_order().len()).map(|dim| dim as u8);
    let in_order = row_major.eq(tensor.dim_order().iter().copied());
    let end = address.saturating_add(bytes);
    // Where an input is, nothing may be written before the library has read it.
    let is_input = inputs.iter().any(|input| {
        let start = input.storage.address;
        start < end && address < start.saturating_add(input.storage.bytes)
    });
    Ok((bytes > 0 && in_order && !is_input).then_some(Place {
        allocation,
        address,
        bytes,
    }))
}

/// Brings an output to where the program wants it. Gives its sizes.
fn give(
    session: &Session<'_>,
    call: &mut Call<'_>,
    index: usize,
    tensor: &Tensor,
) -> Result<Vec<usize>> {
    let sizes = unsigned(&tensor.sizes)?;
    if call.device_of(index)?.is_some() {
        let dtype = call.device_output(index, &sizes)?.dtype();
        check_type(index, tensor, dtype)?;
        let output = argument(session, call, index)?;
        let is_there =
            output.address() == tensor.address() && output.storage.on == tensor.storage.on;
        if !is_there && !omitted(Rule::GiveOutputs) {
            copy(session, &output, tensor)?;
        }
        return Ok(sizes);
    }
    let Ok(position) = u16::try_from(index) else {
        bail!(Unsupported, "output {index} of a delegate");
    };
    let writes = [position];
    let arguments = call.arguments(&writes)?;
    let mut output = arguments.output(index, &sizes)?;
    check_type(index, tensor, output.dtype())?;
    let strides = strides_of(output.sizes(), output.dim_order());
    session.download(output.bytes_mut(), tensor, &signed(&strides))?;
    Ok(sizes)
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

fn signed(values: &[usize]) -> Vec<i64> {
    values
        .iter()
        .map(|&value| i64::try_from(value).unwrap_or(i64::MAX))
        .collect()
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
            std::mem::forget(self.prepared.clone());
        }
    }
}
