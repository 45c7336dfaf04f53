//! The calls of engines in the order of the method, and the memory of their inputs and outputs.

use std::sync::Arc;

use thalweg_core::{Result, bail, ensure};
use thalweg_cuda::{Device, DeviceBuffer, PinnedBuffer, Stream};
use thalweg_tensorrt::direct::{DirectEngine, DirectExecution};

use crate::recorded::RecordedCall;

/// Executions of engines, and the inputs and outputs of the method.
///
/// An engine's input that has the bytes of an input of the method, or of an output of an earlier engine,
/// has the same memory. Other inputs have memory of their own.
pub(crate) struct Sequence {
    pub(crate) executions: Vec<DirectExecution>,
    /// By execution.
    pub(crate) engines: Vec<DirectEngine>,
    pub(crate) inputs: Vec<Transfer>,
    pub(crate) outputs: Vec<Transfer>,
}

/// An input or output of the method, on the device and on the host.
pub(crate) struct Transfer {
    pub(crate) buffer: Arc<DeviceBuffer>,
    pub(crate) pinned: PinnedBuffer,
    pub(crate) pageable: Vec<u8>,
}

impl Sequence {
    /// The sequence of recorded calls on a stream. `inputs` and `outputs` are the bytes of the method's
    /// inputs and outputs.
    pub(crate) fn new(
        calls: Vec<RecordedCall>,
        inputs: &[&[u8]],
        outputs: &[&[u8]],
        stream: &Stream,
    ) -> Result<Self> {
        let mut builder = Builder {
            stream,
            contents: Vec::new(),
        };
        let inputs = inputs.iter().filter(|bytes| !bytes.is_empty());
        let inputs = inputs
            .map(|bytes| builder.input(bytes))
            .collect::<Result<_>>()?;
        let mut executions = Vec::with_capacity(calls.len());
        let mut engines = Vec::with_capacity(calls.len());
        for call in calls {
            engines.push(call.engine.clone());
            executions.push(builder.execution(call)?);
        }
        let outputs = outputs.iter().filter(|bytes| !bytes.is_empty());
        let outputs = outputs
            .map(|bytes| builder.output(bytes))
            .collect::<Result<_>>()?;
        builder.add_scratch(&mut executions)?;
        Ok(Self {
            executions,
            engines,
            inputs,
            outputs,
        })
    }
}

/// The device of all calls.
///
/// # Errors
/// If they are on several devices.
pub(crate) fn common_device(calls: &[RecordedCall]) -> Result<Device> {
    let Some(first) = calls.first() else {
        bail!(Internal, "a baseline without engines");
    };
    let device = first.engine.device();
    for other in calls {
        let other = other.engine.device();
        ensure!(
            other.ordinal() == device.ordinal(),
            Unsupported,
            "the engines are on several devices, {} and {} among them",
            device.ordinal(),
            other.ordinal()
        );
    }
    Ok(device.clone())
}

/// The memory of a sequence while it is built.
struct Builder<'s> {
    stream: &'s Stream,
    /// Buffers with the bytes that they have when the method runs.
    contents: Vec<(Vec<u8>, Arc<DeviceBuffer>)>,
}

impl Builder<'_> {
    fn input(&mut self, bytes: &[u8]) -> Result<Transfer> {
        let buffer = self.buffer_with(bytes)?;
        self.contents.push((bytes.to_vec(), buffer.clone()));
        self.transfer(buffer, bytes)
    }

    fn output(&mut self, bytes: &[u8]) -> Result<Transfer> {
        let buffer = match self.find(bytes) {
            Some(buffer) => buffer,
            None => self.buffer_with(bytes)?,
        };
        self.transfer(buffer, bytes)
    }

    fn transfer(&self, buffer: Arc<DeviceBuffer>, bytes: &[u8]) -> Result<Transfer> {
        let mut pinned = PinnedBuffer::new(self.stream.device(), bytes.len())?;
        pinned.write()?.copy_from_slice(bytes);
        Ok(Transfer {
            buffer,
            pinned,
            pageable: bytes.to_vec(),
        })
    }

    /// The execution of a recorded call, with memory for its inputs and outputs.
    fn execution(&mut self, call: RecordedCall) -> Result<DirectExecution> {
        let engine = call.engine;
        let mut execution = DirectExecution::new(&engine, call.profile, call.inputs, self.stream)?;
        let mut memory = Vec::with_capacity(engine.binding_count());
        for index in 0..engine.input_count() {
            let bytes = execution.take_input(index);
            let updated = engine.aliases().iter().any(|&(_, input)| input == index);
            memory.push(match self.find(&bytes) {
                _ if engine.is_on_host(index) => None,
                Some(buffer) if !updated => Some(buffer),
                _ => Some(self.buffer_with(&bytes)?),
            });
        }
        for (position, value) in call.outputs.into_iter().enumerate() {
            let index = engine.input_count() + position;
            let Some(len) = execution.output_len(index)? else {
                memory.push(None);
                continue;
            };
            let alias = engine
                .aliases()
                .iter()
                .find(|&&(output, _)| output == index);
            let buffer = match alias.and_then(|&(_, input)| memory[input].clone()) {
                Some(buffer) => buffer,
                None => self.buffer(len)?,
            };
            memory.push(Some(buffer.clone()));
            if value.bytes.len() == len {
                self.contents.push((value.bytes, buffer));
            }
        }
        for (index, buffer) in memory.iter().enumerate() {
            if let Some(buffer) = buffer {
                execution.bind(index, buffer)?;
            }
        }
        Ok(execution)
    }

    /// Gives all executions the same scratch, which is enough for each.
    fn add_scratch(&self, executions: &mut [DirectExecution]) -> Result<()> {
        let mut most = 0;
        for execution in &mut *executions {
            most = most.max(execution.scratch_len()?);
        }
        if most == 0 {
            return Ok(());
        }
        let scratch = Arc::new(DeviceBuffer::new(self.stream, most)?);
        executions
            .iter_mut()
            .try_for_each(|execution| execution.set_scratch(&scratch))
    }

    /// The latest buffer with these bytes.
    fn find(&self, bytes: &[u8]) -> Option<Arc<DeviceBuffer>> {
        if bytes.is_empty() {
            return None;
        }
        let mut latest = self.contents.iter().rev();
        let (_, buffer) = latest.find(|(contents, _)| contents == bytes)?;
        Some(buffer.clone())
    }

    /// A new buffer with these bytes.
    fn buffer_with(&self, bytes: &[u8]) -> Result<Arc<DeviceBuffer>> {
        let buffer = self.buffer(bytes.len())?;
        let mut work = self.stream.work()?;
        work.upload(buffer.slice(..bytes.len())?, bytes)?;
        work.finish()?;
        Ok(buffer)
    }

    /// A new buffer. It has at least some bytes, since TensorRT wants an address for empty tensors, too.
    fn buffer(&self, len: usize) -> Result<Arc<DeviceBuffer>> {
        let len = if len == 0 { 256 } else { len };
        Ok(Arc::new(DeviceBuffer::new(self.stream, len)?))
    }
}
