//! A call of a method as one graph, copies of its inputs and outputs included.
#![allow(unsafe_code, reason = "memory is copied by its address")]

use thalweg_core::{Device as _, Input, Output, Result, StreamHandle, Value, bail, ensure};
use thalweg_cuda::{Capture, Device, DeviceArray, GraphExec, PinnedBuffer, Stream};
use thalweg_runtime::{Method, Program, RunOptions, Schedule, StepExecution};

/// A call of a method, captured once with the inputs that it is given: from memory of the host that is
/// pinned, to the device, all that the method does there, and back. To launch it costs what the driver and
/// the device need for that and nothing else, so it is what calls of the method can be compared with.
///
/// It owns the method, so that nobody calls it at the same time, and all memory that the graph uses.
pub struct CallGraph {
    // First, so that nothing runs when the rest goes.
    graph: GraphExec,
    stream: Stream,
    outputs: Vec<(PinnedBuffer, usize)>,
    inputs: Vec<(DeviceArray, PinnedBuffer)>,
    _method: Method,
}

/// An input that goes to the device: which one, where it is there, and where it comes from.
type Kept = (usize, DeviceArray, PinnedBuffer);

/// The inputs of a method that go to the device.
fn inputs_on_device(device: &Device, schedule: &Schedule, values: &[Value]) -> Result<Vec<Kept>> {
    let goes_to_device = |index: usize| {
        let mut steps = schedule.steps.iter();
        steps.any(|step| matches!(step.execution, StepExecution::InputToDevice(_, input) if input == index))
    };
    let mut kept: Vec<Kept> = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let Value::Tensor(tensor) = value else {
            continue;
        };
        if goes_to_device(index) {
            let array = DeviceArray::new(device, tensor.view())?;
            let mut pinned = PinnedBuffer::new(device, tensor.view().bytes().len())?;
            pinned.write()?.copy_from_slice(tensor.view().bytes());
            kept.push((index, array, pinned));
        }
    }
    Ok(kept)
}

/// The inputs of a call.
fn given<'a>(values: &'a [Value], kept: &'a [Kept]) -> Result<Vec<Input<'a>>> {
    let values = values.iter().enumerate();
    values
        .map(|(index, value)| {
            let on_device = kept.iter().find(|(input, _, _)| *input == index);
            match on_device {
                Some((_, array, _)) => Ok(array.input()?.into()),
                None => value.as_input(),
            }
        })
        .collect()
}

impl CallGraph {
    /// Captures a call, after some that are not captured.
    ///
    /// # Errors
    /// If the call is not one that a graph can have all of
    /// ([`RunOptions::stream`](thalweg_runtime::RunOptions::stream)), or fails.
    pub fn record(
        device: &Device,
        program: &Program,
        method: &str,
        values: &[Value],
    ) -> Result<Self> {
        let schedule = program.schedule(method)?;
        let mut method = program.method(method)?;
        let stream = Stream::new(device)?;
        let kept = inputs_on_device(device, &schedule, values)?;
        let options = RunOptions::new().stream(&stream).device_outputs(true);
        let mut outputs = Vec::new();
        /// The first runs load code and learn what later ones will do.
        const BEFORE: usize = 3;
        for _ in 0..BEFORE {
            let given = given(values, &kept)?;
            let results = method.run_with(&given, &options)?;
            stream.synchronize()?;
            outputs.clear();
            for output in results.iter() {
                if let Output::Device(tensor) = output? {
                    outputs.push((PinnedBuffer::new(device, tensor.len())?, tensor.len()));
                }
            }
        }
        let handle = StreamHandle(stream.raw()?.expose_provenance());
        let capture = Capture::begin(&stream)?;
        for (_, array, pinned) in &kept {
            let mut work = stream.work()?;
            work.copy_to_device(array.buffer()?, pinned)?;
            work.finish()?;
        }
        {
            let given = given(values, &kept)?;
            let results = method.run_with(&given, &options)?;
            let mut places = outputs.iter();
            for output in results.iter() {
                let Output::Device(tensor) = output? else {
                    continue;
                };
                let Some((pinned, len)) = places.next() else {
                    bail!(Internal, "a call has more outputs than the one before");
                };
                ensure!(
                    *len == tensor.len(),
                    Unsupported,
                    "outputs whose size changes from call to call"
                );
                // SAFETY: both have so many bytes; the graph is launched only while this has the method,
                // whose memory the tensor is, and the buffer, and the host reads it when it has waited.
                unsafe {
                    let to = pinned.data().as_ptr();
                    device.download(to, tensor.address(), *len, handle)?;
                }
            }
        }
        let graph = capture.end()?.instantiate()?;
        let kept = kept.into_iter().map(|(_, array, pinned)| (array, pinned));
        Ok(Self {
            graph,
            outputs,
            inputs: kept.collect(),
            _method: method,
            stream,
        })
    }

    /// Makes the call, and waits until it is complete.
    ///
    /// # Errors
    /// If the device failed.
    pub fn launch(&self) -> Result<()> {
        let mut work = self.stream.work()?;
        self.graph.launch(&mut work)?;
        work.finish()?;
        self.stream.synchronize()
    }

    /// The bytes of the outputs that were on the device, after the last launch.
    ///
    /// # Errors
    /// If the device failed.
    pub fn outputs(&self) -> Result<Vec<Vec<u8>>> {
        let outputs = self.outputs.iter();
        outputs
            .map(|(pinned, len)| Ok(pinned.read()?[..*len].to_vec()))
            .collect()
    }

    /// The bytes that it copies to the device, and from there.
    pub fn copied(&self) -> (usize, usize) {
        let inputs = self.inputs.iter().map(|(_, pinned)| pinned.len());
        let outputs = self.outputs.iter().map(|(_, len)| len);
        (inputs.sum(), outputs.sum())
    }
}
