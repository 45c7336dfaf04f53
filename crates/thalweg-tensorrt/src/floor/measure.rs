//! The engines of a method by themselves, and how long they take.

use std::time::{Duration, Instant};

use thalweg_core::{CallerStream as _, Device as _, DeviceAddress, Result, StreamHandle};
use thalweg_core::{bail, ensure};
use thalweg_cuda::{Device, DeviceBuffer, PinnedBuffer, Stream};

use super::run::{Run, room};
use super::watch::{Seen, Value};
use crate::TensorRt;
use crate::abi::{download_pageable, download_pinned, launch, upload, upload_pinned};
use crate::scratch::Scratch;

/// The engines of a method, ready to be run by themselves: contexts, addresses, shapes and scratch
/// are set once, and a call only enqueues and waits.
///
/// Whatever a method does beside running its engines takes time that is not in here: operators of
/// the host, copies between them and the engines, other delegates.
///
/// # Memory
/// An engine's input that had the bytes of an input of the method, or of an output of an earlier
/// engine, is that one's memory; others have memory of their own, with the bytes that they had. So
/// engines find what they compute on in the same place as in the method, but what was changed on
/// the host between them stays as it was.
///
/// All of it is freed when this is dropped, after everything that was enqueued is over.
pub struct Floor {
    /// They go before what they point to.
    pub(super) runs: Vec<Run>,
    scratch: Scratch,
    buffers: Vec<DeviceBuffer>,
    inputs: Vec<Passage>,
    outputs: Vec<Passage>,
    stream: Stream,
    pub(super) device: Device,
    pub(super) tensorrt: TensorRt,
    /// Whether work is left that can never be waited for.
    lost: bool,
}

/// What is enqueued around the engines, before the one wait of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Around {
    /// Nothing.
    Nothing,
    /// Copies of the method's inputs from pinned memory, and of its outputs to pinned memory.
    Pinned,
    /// The same, all of it with the engines recorded once as a graph, and launched.
    PinnedGraph,
    /// The same copies, from and to memory that is not pinned.
    Pageable,
}

/// An input or output of the method, on its way between host and device.
struct Passage {
    /// Its place on the device, among the buffers.
    buffer: usize,
    pinned: PinnedBuffer,
    pageable: Vec<u8>,
}

impl Floor {
    pub(super) fn new(
        tensorrt: &TensorRt,
        seen: Vec<Seen>,
        inputs: &[&[u8]],
        outputs: &[&[u8]],
    ) -> Result<Self> {
        let Some(first) = seen.first() else {
            bail!(Internal, "a floor without engines");
        };
        let device = first.loaded.device().clone();
        for other in &seen {
            let other = other.loaded.device();
            ensure!(
                other.ordinal() == device.ordinal(),
                Unsupported,
                "the engines are on several devices, {} and {} among them",
                device.ordinal(),
                other.ordinal()
            );
        }
        let _current = device.enter()?;
        // From here on, dropping it waits for what was enqueued.
        let mut floor = Self {
            runs: Vec::with_capacity(seen.len()),
            scratch: Scratch::own(&device),
            buffers: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            stream: Stream::new(&device)?,
            device: device.clone(),
            tensorrt: tensorrt.clone(),
            lost: false,
        };
        floor.build(seen, inputs, outputs)?;
        floor.prepare()?;
        floor.stream.synchronize()?;
        Ok(floor)
    }

    /// How many calls of engines there are.
    pub fn engines(&self) -> usize {
        self.runs.len()
    }

    /// How many bytes are copied to the device, and from it, where copies are measured.
    pub fn copied(&self) -> (usize, usize) {
        let bytes = |passages: &[Passage]| passages.iter().map(|it| it.pageable.len()).sum();
        (bytes(&self.inputs), bytes(&self.outputs))
    }

    /// What the last call that copied to pinned memory has brought there, for each output of the
    /// method that has bytes; before that, what the method gave. So one can see that a floor computes
    /// what the method does, unless that depends on earlier calls.
    ///
    /// # Errors
    /// If memory of the host cannot be looked at.
    pub fn outputs(&self) -> Result<Vec<Vec<u8>>> {
        let outputs = self.outputs.iter();
        outputs
            .map(|output| Ok(output.pinned.read()?.to_vec()))
            .collect()
    }

    /// Measures `repeat` calls after `warmup` others, each until the host has waited for it.
    ///
    /// # Errors
    /// If TensorRT or the driver refuses something; with [`Around::PinnedGraph`] also if an engine
    /// cannot be recorded. Another measurement can follow.
    pub fn measure(
        &mut self,
        around: Around,
        warmup: usize,
        repeat: usize,
    ) -> Result<Vec<Duration>> {
        let device = self.device.clone();
        let _current = device.enter()?;
        let measured = self.prepare().and_then(|()| match around {
            Around::Nothing => self.times(warmup, repeat, Self::engines_alone),
            Around::Pinned => self.times(warmup, repeat, Self::with_pinned),
            Around::PinnedGraph => self.graph_times(warmup, repeat),
            Around::Pageable => self.times(warmup, repeat, Self::with_pageable),
        });
        // Whatever became of it, nothing is left running.
        let waited = self.wait();
        measured.and_then(|times| waited.map(|()| times))
    }

    fn times(
        &mut self,
        warmup: usize,
        repeat: usize,
        mut call: impl FnMut(&mut Self, StreamHandle) -> Result<()>,
    ) -> Result<Vec<Duration>> {
        let handle = self.stream.handle();
        let mut times = Vec::with_capacity(repeat.min(1 << 20));
        for number in 0..warmup.saturating_add(repeat) {
            let start = Instant::now();
            call(self, handle)?;
            self.stream.synchronize()?;
            let time = start.elapsed();
            if number >= warmup {
                times.push(time);
            }
        }
        Ok(times)
    }

    fn graph_times(&mut self, warmup: usize, repeat: usize) -> Result<Vec<Duration>> {
        let handle = self.stream.handle();
        // TensorRT puts some things off until the first enqueue, which cannot be recorded.
        self.with_pinned(handle)?;
        self.stream.synchronize()?;
        let device = self.device.clone();
        let recorded = device.record(handle, &mut || self.with_pinned(handle))?;
        let Some(graph) = recorded else {
            bail!(Internal, "the floor's stream cannot be recorded");
        };
        let times = self.times(warmup, repeat, |_, handle| launch(&*graph, handle));
        // Before the graph goes.
        let waited = self.wait();
        times.and_then(|times| waited.map(|()| times))
    }

    fn engines_alone(&mut self, handle: StreamHandle) -> Result<()> {
        self.runs.iter_mut().try_for_each(|run| run.enqueue(handle))
    }

    fn with_pinned(&mut self, handle: StreamHandle) -> Result<()> {
        for input in &self.inputs {
            let buffer = &self.buffers[input.buffer];
            upload_pinned(&self.device, buffer, &input.pinned, handle)?;
        }
        self.engines_alone(handle)?;
        for output in &self.outputs {
            let buffer = &self.buffers[output.buffer];
            download_pinned(&self.device, &output.pinned, buffer, handle)?;
        }
        Ok(())
    }

    fn with_pageable(&mut self, handle: StreamHandle) -> Result<()> {
        for input in &self.inputs {
            let to = DeviceAddress(self.buffers[input.buffer].address());
            upload(&self.device, to, &input.pageable, handle)?;
        }
        self.engines_alone(handle)?;
        for output in &mut self.outputs {
            let buffer = &self.buffers[output.buffer];
            download_pageable(&self.device, &mut output.pageable, buffer, handle)?;
        }
        Ok(())
    }

    fn build(&mut self, seen: Vec<Seen>, inputs: &[&[u8]], outputs: &[&[u8]]) -> Result<()> {
        // What there is on the device, with the buffer that has it.
        let mut known: Vec<(Vec<u8>, usize)> = Vec::new();
        for bytes in inputs.iter().filter(|bytes| !bytes.is_empty()) {
            let buffer = self.buffer_with(bytes)?;
            let passage = self.passage(buffer, bytes)?;
            self.inputs.push(passage);
            known.push((bytes.to_vec(), buffer));
        }
        for seen in seen {
            self.add(seen, &mut known)?;
        }
        for bytes in outputs.iter().filter(|bytes| !bytes.is_empty()) {
            let buffer = match position(&known, bytes) {
                Some(buffer) => buffer,
                None => self.buffer_with(bytes)?,
            };
            let passage = self.passage(buffer, bytes)?;
            self.outputs.push(passage);
        }
        let most = self.runs.iter().map(Run::needed).max();
        if let Some(bytes @ 1..) = most {
            // Enough for all, so that it never moves.
            let handle = self.stream.handle();
            room(&mut self.scratch, bytes, handle)?;
        }
        Ok(())
    }

    /// Adds a call of an engine, with memory for all that it reads and writes.
    fn add(&mut self, seen: Seen, known: &mut Vec<(Vec<u8>, usize)>) -> Result<()> {
        let (loaded, handle) = (seen.loaded, self.stream.handle());
        let at = self.runs.len();
        // At once, so that it is waited for whatever fails.
        self.runs
            .push(Run::new(loaded.clone(), seen.profile, seen.inputs, handle)?);
        self.runs[at].configure(handle)?;
        let mut places = Vec::with_capacity(loaded.bindings.len());
        for (index, binding) in loaded.bindings[..loaded.inputs].iter().enumerate() {
            let bytes = self.runs[at].take_bytes(index);
            let updated = loaded.aliases.iter().any(|&(_, input)| input == index);
            let buffer = match position(known, &bytes) {
                _ if binding.on_host => None,
                Some(buffer) if !updated => Some(buffer),
                _ => Some(self.buffer_with(&bytes)?),
            };
            places.push(buffer);
        }
        for (position, Value { bytes, .. }) in seen.outputs.into_iter().enumerate() {
            let index = loaded.inputs + position;
            let binding = &loaded.bindings[index];
            let shape = self.runs[at].output_shape(index);
            if binding.on_host || !shape.is_known() {
                places.push(None);
                continue;
            }
            let len = binding.bytes(shape)?;
            let alias = loaded.aliases.iter().find(|&&(output, _)| output == index);
            let buffer = match alias.and_then(|&(_, input)| places[input]) {
                Some(buffer) => buffer,
                None => self.buffer(len)?,
            };
            places.push(Some(buffer));
            if bytes.len() == len {
                known.push((bytes, buffer));
            }
        }
        for (index, place) in places.into_iter().enumerate() {
            if let Some(buffer) = place {
                let address = DeviceAddress(self.buffers[buffer].address());
                self.runs[at].place(index, address);
            }
        }
        Ok(())
    }

    fn passage(&self, buffer: usize, bytes: &[u8]) -> Result<Passage> {
        let mut pinned = PinnedBuffer::new(&self.device, bytes.len())?;
        pinned.write()?.copy_from_slice(bytes);
        Ok(Passage {
            buffer,
            pinned,
            pageable: bytes.to_vec(),
        })
    }

    /// A buffer that has some bytes.
    fn buffer_with(&mut self, bytes: &[u8]) -> Result<usize> {
        let index = self.buffer(bytes.len())?;
        let mut work = self.stream.work()?;
        work.upload(self.buffers[index].slice(..bytes.len())?, bytes)?;
        work.finish()?;
        Ok(index)
    }

    /// A buffer. It is never nothing: TensorRT wants an address for tensors without elements, too.
    fn buffer(&mut self, len: usize) -> Result<usize> {
        let len = if len == 0 { 256 } else { len };
        self.buffers.push(DeviceBuffer::new(&self.stream, len)?);
        Ok(self.buffers.len() - 1)
    }

    fn prepare(&mut self) -> Result<()> {
        let handle = self.stream.handle();
        let scratch = &mut self.scratch;
        let mut runs = self.runs.iter_mut();
        runs.try_for_each(|run| run.prepare(scratch, handle))
    }

    fn wait(&mut self) -> Result<()> {
        self.stream.synchronize().inspect_err(|_| {
            // What fails once may work the second time. Nothing runs on a device that is lost.
            self.lost |= self.stream.synchronize().is_err() && self.device.alive().is_ok();
        })
    }
}

/// Where the same bytes are, latest first.
fn position(known: &[(Vec<u8>, usize)], bytes: &[u8]) -> Option<usize> {
    if bytes.is_empty() {
        return None;
    }
    let mut latest = known.iter().rev();
    let (_, buffer) = latest.find(|(known, _)| known == bytes)?;
    Some(*buffer)
}

impl Drop for Floor {
    fn drop(&mut self) {
        let _ = self.wait();
        if self.lost {
            tracing::warn!("contexts of TensorRT that may still be running are never freed");
            std::mem::forget(std::mem::take(&mut self.runs));
            std::mem::forget(std::mem::take(&mut self.buffers));
            std::mem::forget(std::mem::take(&mut self.inputs));
            std::mem::forget(std::mem::take(&mut self.outputs));
            self.scratch.abandon();
        }
    }
}
