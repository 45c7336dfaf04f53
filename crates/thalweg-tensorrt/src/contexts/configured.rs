//! An execution context with a record of its configuration, so that only changes are set.

use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_core::{DeviceAddress, GraphKey, Result, StreamHandle};

use crate::abi::{Context, OutputAllocator, Shape, copy_on_device, is_idle, synchronize};
use crate::loaded::{EngineBinding, LoadedEngine};
use crate::mutation::{Rule, disabled};
use crate::scratch::Room;

/// An execution context of one profile, and the configuration that was set on it: shapes, addresses and
/// scratch.
///
/// # Changes
/// TensorRT may read the configuration of a context for as long as work runs that the context has
/// enqueued. So before a change, the host waits for the stream of the call, on which all earlier work of
/// the context comes first.
pub(crate) struct ConfiguredContext {
    context: Context,
    /// By binding, the allocators of outputs whose size depends on data. The context points to them.
    allocators: Vec<Option<OutputAllocator>>,
    /// By binding, true if the allocator is set on the context.
    has_allocator: Vec<bool>,
    /// By binding, the values of tensors on the host. The context points to them.
    values: Vec<Vec<u64>>,
    /// By input, the shapes that are set; valid if `has_shapes` is true.
    shapes: Vec<Shape>,
    has_shapes: bool,
    /// By binding, the shapes of outputs. Those of inputs are unused.
    outputs: Vec<Shape>,
    /// By binding, the device address that is set; zero if none is.
    bound: Vec<DeviceAddress>,
    /// The scratch that the shapes need, in bytes.
    needed: usize,
    /// The scratch that is set.
    room: Option<Room>,
    /// True if work that the context has enqueued may still run.
    running: bool,
    /// The number of host waits for that work since [`take_waits`](Self::take_waits).
    waits: usize,
    /// Copies on the device that are enqueued before the engine's work.
    copies: Vec<DeviceCopy>,
    /// While it is the same, an enqueue is the same work.
    stamp: GraphKey,
    /// False after a failed switch, when the profile is unknown.
    usable: bool,
}

/// A copy from one address of the device to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceCopy {
    pub(crate) to: DeviceAddress,
    pub(crate) from: DeviceAddress,
    pub(crate) len: usize,
}

impl ConfiguredContext {
    /// Creates a context for a profile of an engine, whose device is current. TensorRT may enqueue copies
    /// for the profile on the stream. They must be complete before the context is dropped.
    pub(crate) fn new(loaded: &LoadedEngine, profile: usize, stream: StreamHandle) -> Result<Self> {
        let mut context = Context::new(&loaded.engine)?;
        if let Err(error) = context.set_profile(profile as i32, stream) {
            // Some of the copies may be enqueued all the same.
            if !disabled(Rule::DropAfterSwitch) && !is_idle(loaded.device(), stream) {
                std::mem::forget(context);
            }
            return Err(error);
        }
        let count = loaded.bindings.len();
        Ok(Self {
            context,
            allocators: (0..count).map(|_| None).collect(),
            has_allocator: vec![false; count],
            values: vec![Vec::new(); count],
            shapes: vec![Shape::SCALAR; loaded.inputs],
            has_shapes: false,
            outputs: vec![Shape::SCALAR; count],
            bound: vec![DeviceAddress(0); count],
            needed: 0,
            room: None,
            running: false,
            waits: 0,
            copies: Vec::new(),
            stamp: next_stamp(),
            usable: true,
        })
    }

    /// Switches the context to another profile, in the order of the stream. All of the configuration has to
    /// be set anew.
    ///
    /// # Errors
    /// If TensorRT refuses. Some of the copies for it may be enqueued then, and the context is not usable
    /// any more.
    pub(crate) fn switch(
        &mut self,
        loaded: &LoadedEngine,
        profile: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        if !disabled(Rule::SwitchAfterUse) {
            self.wait(loaded, stream)?;
        }
        self.forget();
        self.has_allocator.fill(false);
        self.usable = false;
        self.context.set_profile(profile as i32, stream)?;
        self.usable = true;
        Ok(())
    }

    /// Returns false if a switch has failed, so that the profile is unknown.
    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        self.usable
    }

    /// Drops the context when the work that it has enqueued on the stream is complete.
    pub(crate) fn close(self, loaded: &LoadedEngine, stream: StreamHandle) {
        if !is_idle(loaded.device(), stream) {
            std::mem::forget(self);
        }
    }

    /// Returns true if these shapes of the inputs are set.
    #[inline]
    pub(crate) fn has_shapes<'s>(&self, mut shapes: impl Iterator<Item = &'s Shape>) -> bool {
        self.has_shapes && self.shapes.iter().all(|shape| shapes.next() == Some(shape))
    }

    /// Returns true if these values of an input on the host are set. Its shape must be the one that is set.
    pub(crate) fn has_values(&self, index: usize, values: &[u8]) -> bool {
        let words = values.chunks(8).zip(&self.values[index]);
        words
            .into_iter()
            .all(|(bytes, word)| word.to_ne_bytes()[..bytes.len()] == *bytes)
    }

    /// Sets the shapes of the inputs and the values of inputs on the host, and infers the shapes of
    /// outputs and the scratch. `scratch` is the most scratch that the profile needs.
    pub(crate) fn configure<'s>(
        &mut self,
        loaded: &LoadedEngine,
        scratch: usize,
        shapes: impl Fn(usize) -> &'s Shape,
        values: impl Fn(usize) -> &'s [u8],
        stream: StreamHandle,
    ) -> Result<()> {
        if !disabled(Rule::ReshapeAfterUse) {
            self.wait(loaded, stream)?;
        }
        self.changed();
        let had_shapes = std::mem::take(&mut self.has_shapes);
        for (index, binding) in loaded.bindings[..loaded.inputs].iter().enumerate() {
            if !had_shapes || self.shapes[index] != *shapes(index) {
                self.context.set_input_shape(&binding.name, shapes(index))?;
                self.shapes[index] = *shapes(index);
            }
            if binding.on_host {
                self.set_values(index, binding, values(index))?;
            }
        }
        self.context.infer_shapes()?;
        for (index, binding) in loaded.bindings.iter().enumerate().skip(loaded.inputs) {
            self.outputs[index] = self.context.shape(&binding.name)?;
            if binding.on_host {
                let len = binding.bytes(&self.outputs[index])?;
                self.values[index] = vec![0; len.div_ceil(8).max(1)];
                self.context
                    .bind_host(&binding.name, &mut self.values[index])?;
            } else if !self.outputs[index].is_known() && !self.has_allocator[index] {
                // Kept even if this fails, because the context may point to it from then on.
                let allocator = self.allocators[index]
                    .get_or_insert_with(|| OutputAllocator::new(loaded.device()));
                self.context
                    .set_output_allocator(&binding.name, allocator)?;
                self.has_allocator[index] = true;
            }
        }
        self.room = None;
        self.needed = match scratch {
            0 => 0,
            _ if disabled(Rule::ScratchForShapes) => 256,
            most => self.context.scratch_for_shapes(most)?,
        };
        self.has_shapes = true;
        Ok(())
    }

    /// Sets the values of an input on the host.
    fn set_values(&mut self, index: usize, binding: &EngineBinding, values: &[u8]) -> Result<()> {
        let words = &mut self.values[index];
        words.clear();
        words.resize(values.len().div_ceil(8).max(1), 0);
        for (to, from) in words.iter_mut().zip(values.chunks(8)) {
            let mut word = [0; 8];
            word[..from.len()].copy_from_slice(from);
            *to = u64::from_ne_bytes(word);
        }
        self.context.bind_host(&binding.name, words)
    }

    /// The scratch that the shapes need, in bytes.
    pub(crate) fn needed(&self) -> usize {
        self.needed
    }

    /// The scratch that is set.
    pub(crate) fn room(&self) -> Option<Room> {
        self.room
    }

    /// A number that identifies the work of an enqueue: while it is the same, so is the work.
    pub(crate) fn stamp(&self) -> GraphKey {
        self.stamp
    }

    /// Sets the copies on the device that are enqueued before the engine's work.
    pub(crate) fn copy_before(&mut self, copies: &[DeviceCopy]) {
        if self.copies != copies {
            self.changed();
            self.copies.clear();
            self.copies.extend_from_slice(copies);
        }
    }

    /// Sets the scratch, unless it is set already. It has at least the bytes that are needed, and at least
    /// one.
    #[inline]
    pub(crate) fn set_scratch(
        &mut self,
        loaded: &LoadedEngine,
        room: Room,
        stream: StreamHandle,
    ) -> Result<()> {
        if self.room == Some(room) {
            return Ok(());
        }
        let is_first = self.room.is_none();
        if disabled(Rule::SetScratch) || (!is_first && disabled(Rule::SetScratchAgain)) {
            return Ok(());
        }
        self.wait(loaded, stream)?;
        self.changed();
        self.room = None;
        self.context.set_scratch(room.address, room.len)?;
        self.room = Some(room);
        Ok(())
    }

    /// The shape of an output, by the index of its binding, with -1 for sizes that depend on data.
    pub(crate) fn output_shape(&self, index: usize) -> &Shape {
        &self.outputs[index]
    }

    /// The allocator of an output whose size depends on data.
    pub(crate) fn allocator(&mut self, index: usize) -> Option<&mut OutputAllocator> {
        self.allocators[index].as_mut()
    }

    /// The values of an output on the host, once the work of the enqueue is complete.
    pub(crate) fn values(&self, index: usize) -> &[u64] {
        &self.values[index]
    }

    /// Sets the device address of a tensor, unless it is set already.
    #[inline]
    pub(crate) fn bind(
        &mut self,
        loaded: &LoadedEngine,
        index: usize,
        address: DeviceAddress,
        stream: StreamHandle,
    ) -> Result<()> {
        if self.bound[index] == address {
            return Ok(());
        }
        self.wait(loaded, stream)?;
        self.changed();
        self.bound[index] = DeviceAddress(0);
        self.context.bind(&loaded.bindings[index].name, address)?;
        self.bound[index] = address;
        Ok(())
    }

    /// Enqueues the copies and the engine's work. If the stream is `capturing`, the work does not run, and
    /// an error says nothing about the configuration.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        loaded: &LoadedEngine,
        stream: StreamHandle,
        capturing: bool,
    ) -> Result<()> {
        // Also after an error: a part of the work may be enqueued.
        self.running = true;
        for &DeviceCopy { to, from, len } in &self.copies {
            copy_on_device(loaded.device(), to, from, len, stream)?;
        }
        let enqueued = self.context.enqueue(stream);
        if enqueued.is_err() && !capturing {
            self.forget();
        }
        enqueued
    }

    /// Notes that work of the context runs, which may be in a graph that it was captured into.
    pub(crate) fn set_running(&mut self) {
        self.running = true;
    }

    /// Notes that all work that the context has enqueued is complete.
    pub(crate) fn set_idle(&mut self) {
        self.running = false;
    }

    /// Forgets the configuration, so that it is set again: the context may not have taken all of it, and
    /// some of TensorRT's methods do not say so.
    #[cold]
    fn forget(&mut self) {
        self.has_shapes = false;
        self.room = None;
        self.bound.fill(DeviceAddress(0));
        self.changed();
    }

    /// Notes that an enqueue is other work from now on.
    fn changed(&mut self) {
        self.stamp = next_stamp();
    }

    /// The number of host waits for the context since the last time that this was called.
    pub(crate) fn take_waits(&mut self) -> usize {
        std::mem::take(&mut self.waits)
    }

    /// Waits on the host until the work that the context has enqueued is complete.
    fn wait(&mut self, loaded: &LoadedEngine, stream: StreamHandle) -> Result<()> {
        if self.running {
            self.waits += 1;
            synchronize(loaded.device(), stream)?;
            self.running = false;
        }
        Ok(())
    }
}

/// A number that no context has had before.
fn next_stamp() -> GraphKey {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    GraphKey(NEXT.fetch_add(1, Ordering::Relaxed))
}
