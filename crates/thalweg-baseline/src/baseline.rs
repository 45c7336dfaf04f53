//! A baseline, and its measurement.

use std::time::{Duration, Instant};

use thalweg_core::{CallerStream as _, Device as _, Result, StreamHandle, bail};
use thalweg_cuda::{Device, Stream};
use thalweg_tensorrt::TensorRt;
use thalweg_tensorrt::direct::{DirectExecution, time_loading};

use crate::recorded::RecordedCall;
use crate::sequence::{Sequence, Transfer, common_device};
use crate::unchecked::{Source, Target, download, launch, upload};

/// The engines of a method by themselves: contexts, addresses, shapes and scratch are set once, and a call
/// only enqueues the engines and waits.
///
/// Everything else that the method does takes time that is not in a baseline: operators of the host,
/// copies between them and the engines, other delegates.
///
/// # Memory
/// An engine's input that had the bytes of an input of the method, or of an output of an earlier engine,
/// has the same memory. Other inputs have memory of their own, with the bytes that they had. So engines
/// find the outputs of earlier engines as in the method, but what the host has changed between engines
/// stays the same from call to call.
///
/// Dropping a baseline waits until all of its work is complete.
pub struct Baseline {
    sequence: Sequence,
    stream: Stream,
    device: Device,
    tensorrt: TensorRt,
    /// True if work may run that can never be waited for.
    lost: bool,
}

/// A variant of a baseline: the copies that are enqueued around the engines, before the one host wait of a
/// call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Engines alone.
    Nothing,
    /// Copies of the method's inputs from pinned memory, and of its outputs to pinned memory.
    Pinned,
    /// The same copies and the engines as one graph, which is captured once and launched.
    PinnedGraph,
    /// The same copies, from and to pageable memory.
    Pageable,
}

impl Baseline {
    /// The baseline of recorded calls. `inputs` and `outputs` are the bytes of the method's inputs and
    /// outputs.
    pub(crate) fn new(
        tensorrt: &TensorRt,
        calls: Vec<RecordedCall>,
        inputs: &[&[u8]],
        outputs: &[&[u8]],
    ) -> Result<Self> {
        let device = common_device(&calls)?;
        let _current = device.enter()?;
        let stream = Stream::new(&device)?;
        // From here on, dropping it waits for what is enqueued.
        let mut baseline = Self {
            sequence: Sequence::new(calls, inputs, outputs, &stream)?,
            stream,
            device: device.clone(),
            tensorrt: tensorrt.clone(),
            lost: false,
        };
        baseline.prepare()?;
        baseline.stream.synchronize()?;
        Ok(baseline)
    }

    /// The number of calls of engines.
    pub fn engines(&self) -> usize {
        self.sequence.executions.len()
    }

    /// The bytes that are copied to the device, and from it, in variants with copies.
    pub fn copied(&self) -> (usize, usize) {
        let bytes = |all: &[Transfer]| all.iter().map(|transfer| transfer.pageable.len()).sum();
        (bytes(&self.sequence.inputs), bytes(&self.sequence.outputs))
    }

    /// The method's outputs with elements, as the last call with copies to pinned memory has computed
    /// them; before such a call, as the method has. They show that a baseline computes what the method
    /// does, unless that depends on earlier calls.
    ///
    /// # Errors
    /// If pinned memory cannot be read.
    pub fn outputs(&self) -> Result<Vec<Vec<u8>>> {
        let outputs = self.sequence.outputs.iter();
        outputs
            .map(|output| Ok(output.pinned.read()?.to_vec()))
            .collect()
    }

    /// The times of `repeat` calls, after `warmup` others. Each call ends with a host wait.
    ///
    /// # Errors
    /// If TensorRT or the driver refuses something; with [`Variant::PinnedGraph`] also if an engine
    /// cannot be captured. Another measurement can follow.
    pub fn measure(
        &mut self,
        variant: Variant,
        warmup: usize,
        repeat: usize,
    ) -> Result<Vec<Duration>> {
        let device = self.device.clone();
        let _current = device.enter()?;
        let measured = self.prepare().and_then(|()| match variant {
            Variant::Nothing => self.times(warmup, repeat, |it, _| it.enqueue_engines()),
            Variant::Pinned => self.times(warmup, repeat, Self::enqueue_pinned),
            Variant::PinnedGraph => self.graph_times(warmup, repeat),
            Variant::Pageable => self.times(warmup, repeat, Self::enqueue_pageable),
        });
        // Also after an error, so that nothing is left running.
        let waited = self.wait();
        measured.and_then(|times| waited.map(|()| times))
    }

    /// The times of `repeat` loads. A load is two calls of TensorRT that the method cannot do without:
    /// deserializing each engine, and creating a context for each call of an engine, one after the other.
    /// All of it is dropped each time, which takes no part in the time.
    ///
    /// # Errors
    /// If TensorRT refuses what it did not refuse before, for example because memory is out.
    pub fn measure_loading(&self, repeat: usize) -> Result<Vec<Duration>> {
        let engines = &self.sequence.engines;
        (0..repeat)
            .map(|_| time_loading(&self.tensorrt, engines))
            .collect()
    }

    fn times(
        &mut self,
        warmup: usize,
        repeat: usize,
        mut enqueue: impl FnMut(&mut Self, StreamHandle) -> Result<()>,
    ) -> Result<Vec<Duration>> {
        let handle = self.stream.handle();
        let mut times = Vec::with_capacity(repeat.min(1 << 20));
        for number in 0..warmup.saturating_add(repeat) {
            let start = Instant::now();
            enqueue(self, handle)?;
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
        // TensorRT defers some work to the first enqueue, and that work cannot be captured.
        self.enqueue_pinned(handle)?;
        self.stream.synchronize()?;
        let device = self.device.clone();
        let captured = device.capture(handle, &mut || self.enqueue_pinned(handle))?;
        let Some(graph) = captured else {
            bail!(Internal, "the baseline's stream cannot be captured");
        };
        let times = self.times(warmup, repeat, |_, handle| launch(&*graph, handle));
        // Before the graph is dropped.
        let waited = self.wait();
        times.and_then(|times| waited.map(|()| times))
    }

    fn enqueue_engines(&mut self) -> Result<()> {
        let mut executions = self.sequence.executions.iter_mut();
        executions.try_for_each(DirectExecution::enqueue)
    }

    fn enqueue_pinned(&mut self, handle: StreamHandle) -> Result<()> {
        for input in &self.sequence.inputs {
            let from = Source::Pinned(&input.pinned);
            upload(&self.device, &input.buffer, from, handle)?;
        }
        self.enqueue_engines()?;
        for output in &self.sequence.outputs {
            let to = Target::Pinned(&output.pinned);
            download(&self.device, to, &output.buffer, handle)?;
        }
        Ok(())
    }

    fn enqueue_pageable(&mut self, handle: StreamHandle) -> Result<()> {
        for input in &self.sequence.inputs {
            let from = Source::Pageable(&input.pageable);
            upload(&self.device, &input.buffer, from, handle)?;
        }
        self.enqueue_engines()?;
        for output in &mut self.sequence.outputs {
            let to = Target::Pageable(&mut output.pageable);
            download(&self.device, to, &output.buffer, handle)?;
        }
        Ok(())
    }

    /// Sets what is not set on the contexts yet, or not any more after an error.
    fn prepare(&mut self) -> Result<()> {
        let mut executions = self.sequence.executions.iter_mut();
        executions.try_for_each(DirectExecution::prepare)
    }

    fn wait(&mut self) -> Result<()> {
        self.stream.synchronize().inspect_err(|_| {
            // A second attempt may succeed. Nothing runs on a device that is lost.
            self.lost |= self.stream.synchronize().is_err() && self.device.alive().is_ok();
        })
    }
}

impl Drop for Baseline {
    fn drop(&mut self) {
        let _ = self.wait();
        if self.lost {
            tracing::warn!("memory that may still be copied from or to is never freed");
            let sequence = &mut self.sequence;
            std::mem::forget(std::mem::take(&mut sequence.executions));
            std::mem::forget(std::mem::take(&mut sequence.inputs));
            std::mem::forget(std::mem::take(&mut sequence.outputs));
        }
    }
}
