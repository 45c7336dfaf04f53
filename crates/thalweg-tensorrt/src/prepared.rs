//! A context and what it has been told, so that it is told only what has changed.

use std::sync::atomic::{AtomicU64, Ordering};

use thalweg_core::{DeviceAddress, Result, Stamp, StreamHandle};

use crate::abi::{Context, OutputAllocator, Shape, copy_on_device, is_over, wait};
use crate::loaded::{Binding, Loaded};
use crate::omit::{Rule, omitted};
use crate::scratch::Room;

/// A context of one profile.
///
/// # Changes
/// TensorRT may look at what a context has been told for as long as something runs that the context
/// enqueued. So before anything is told to a context that has enqueued something, the host waits for
/// the stream of the call, which goes on after all that earlier calls have left.
pub(crate) struct Prepared {
    context: Context,
    /// By binding, memory for outputs whose size depends on data. The context points to them.
    allocators: Vec<Option<OutputAllocator>>,
    /// By binding, whether the context has been told of the allocator.
    allocated: Vec<bool>,
    /// By binding, the values of tensors on the host. The context points to them.
    values: Vec<Vec<u64>>,
    /// By input. Right if `configured` is.
    shapes: Vec<Shape>,
    configured: bool,
    /// By binding. Those of inputs are not used.
    outputs: Vec<Shape>,
    /// By binding, where it was said to be; zero if nowhere.
    bound: Vec<DeviceAddress>,
    /// How many bytes of scratch the shapes need.
    needed: usize,
    room: Option<Room>,
    /// Whether something that it enqueued may still run.
    running: bool,
    /// How often the host has waited for that, since somebody asked.
    waits: usize,
    /// Copies on the device that come before the engine's work: to, from, and how many bytes.
    copies: Vec<(DeviceAddress, DeviceAddress, usize)>,
    /// As long as it is the same, an enqueue is the same work.
    stamp: Stamp,
    /// Whether its profile is known: no switch to another has failed.
    usable: bool,
}

impl Prepared {
    /// A context for a profile of an engine, whose device is current. Copies for the profile may be
    /// under way on the stream: the context must not go before they are over.
    pub(crate) fn new(loaded: &Loaded, profile: usize, stream: StreamHandle) -> Result<Self> {
        let mut context = loaded.engine.create_context()?;
        if let Err(error) = context.set_profile(profile as i32, stream) {
            // Some of the copies may be there all the same.
            if !omitted(Rule::DropAfterSwitch) && !is_over(loaded.device(), stream) {
                std::mem::forget(context);
            }
            return Err(error);
        }
        let count = loaded.bindings.len();
        Ok(Self {
            context,
            allocators: (0..count).map(|_| None).collect(),
            allocated: vec![false; count],
            values: vec![Vec::new(); count],
            shapes: vec![Shape::SCALAR; loaded.inputs],
            configured: false,
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

    /// Switches the context to another profile, in the order of the stream. It is told everything anew.
    ///
    /// # Errors
    /// If TensorRT refuses. Some of the copies for it may be on the stream then, and the context is of no
    /// more use.
    pub(crate) fn switch(
        &mut self,
        loaded: &Loaded,
        profile: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        if !omitted(Rule::SwitchAfterUse) {
            self.wait(loaded, stream)?;
        }
        self.forget();
        self.allocated.fill(false);
        self.usable = false;
        self.context.set_profile(profile as i32, stream)?;
        self.usable = true;
        Ok(())
    }

    /// Whether its profile is known.
    #[inline]
    pub(crate) fn is_usable(&self) -> bool {
        self.usable
    }

    /// Drops it when all is over that it has enqueued on the stream, copies for its profile too.
    pub(crate) fn close(self, loaded: &Loaded, stream: StreamHandle) {
        if !is_over(loaded.device(), stream) {
            std::mem::forget(self);
        }
    }

    /// Whether the context has these shapes already.
    #[inline]
    pub(crate) fn has_shapes<'s>(&self, mut shapes: impl Iterator<Item = &'s Shape>) -> bool {
        self.configured && self.shapes.iter().all(|shape| shapes.next() == Some(shape))
    }

    /// Whether an input on the host, whose shape is what it was, has these values already.
    pub(crate) fn has_values(&self, index: usize, values: &[u8]) -> bool {
        let words = values.chunks(8).zip(&self.values[index]);
        words
            .into_iter()
            .all(|(bytes, word)| word.to_ne_bytes()[..bytes.len()] == *bytes)
    }

    /// Tells the context the inputs' shapes, and the values of those on the host, and asks what
    /// follows from them. `scratch` is the most scratch that the profile needs.
    pub(crate) fn configure<'s>(
        &mut self,
        loaded: &Loaded,
        scratch: usize,
        shapes: impl Fn(usize) -> &'s Shape,
        values: impl Fn(usize) -> &'s [u8],
        stream: StreamHandle,
    ) -> Result<()> {
        if !omitted(Rule::ReshapeAfterUse) {
            self.wait(loaded, stream)?;
        }
        self.changed();
        let known = std::mem::take(&mut self.configured);
        for (index, binding) in loaded.bindings[..loaded.inputs].iter().enumerate() {
            if !known || self.shapes[index] != *shapes(index) {
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
            } else if !self.outputs[index].is_known() && !self.allocated[index] {
                // Kept whatever the context answers, since it may point to it from then on.
                let allocator = self.allocators[index]
                    .get_or_insert_with(|| OutputAllocator::new(loaded.device()));
                self.context
                    .set_output_allocator(&binding.name, allocator)?;
                self.allocated[index] = true;
            }
        }
        self.room = None;
        self.needed = match scratch {
            0 => 0,
            _ if omitted(Rule::ScratchForShapes) => 256,
            most => self.context.scratch_for_shapes(most)?,
        };
        self.configured = true;
        Ok(())
    }

    fn set_values(&mut self, index: usize, binding: &Binding, values: &[u8]) -> Result<()> {
        let place = &mut self.values[index];
        place.clear();
        place.resize(values.len().div_ceil(8).max(1), 0);
        for (to, from) in place.iter_mut().zip(values.chunks(8)) {
            let mut word = [0; 8];
            word[..from.len()].copy_from_slice(from);
            *to = u64::from_ne_bytes(word);
        }
        self.context.bind_host(&binding.name, place)
    }

    /// How many bytes of scratch the shapes need.
    pub(crate) fn needed(&self) -> usize {
        self.needed
    }

    /// Where the context has its scratch, as far as it has been told.
    pub(crate) fn room(&self) -> Option<Room> {
        self.room
    }

    /// What an enqueue would be now, as a number.
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Says what is copied on the device before the engine's work.
    pub(crate) fn copy_before(&mut self, copies: &[(DeviceAddress, DeviceAddress, usize)]) {
        if self.copies != copies {
            self.changed();
            self.copies.clear();
            self.copies.extend_from_slice(copies);
        }
    }

    /// Tells the context where its scratch is, unless it is there already. It has as many bytes as are
    /// needed, which are not none.
    #[inline]
    pub(crate) fn give_scratch(
        &mut self,
        loaded: &Loaded,
        room: Room,
        stream: StreamHandle,
    ) -> Result<()> {
        if self.room == Some(room) {
            return Ok(());
        }
        let first = self.room.is_none();
        if omitted(Rule::SetScratch) || (!first && omitted(Rule::SetScratchAgain)) {
            return Ok(());
        }
        self.wait(loaded, stream)?;
        self.changed();
        self.room = None;
        self.context.set_scratch(room.address, room.len)?;
        self.room = Some(room);
        Ok(())
    }

    /// The shape of an output, by its position among the bindings; with -1 where that depends on
    /// data.
    pub(crate) fn output_shape(&self, index: usize) -> &Shape {
        &self.outputs[index]
    }

    /// What gives an output its memory, if its size depends on data.
    pub(crate) fn allocator(&mut self, index: usize) -> Option<&mut OutputAllocator> {
        self.allocators[index].as_mut()
    }

    /// The values of an output on the host, after the stream has been waited for.
    pub(crate) fn values(&self, index: usize) -> &[u64] {
        &self.values[index]
    }

    /// Says where a tensor is, unless it is there already.
    #[inline]
    pub(crate) fn bind(
        &mut self,
        loaded: &Loaded,
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

    /// Enqueues the engine's work, and the copies that come before it. If `recording`, nothing of it
    /// runs, and an error does not mean that the context has not taken what it was told.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        loaded: &Loaded,
        stream: StreamHandle,
        recording: bool,
    ) -> Result<()> {
        // Also after an error: something may have been enqueued.
        self.running = true;
        for &(to, from, len) in &self.copies {
            copy_on_device(loaded.device(), to, from, len, stream)?;
        }
        let enqueued = self.context.enqueue(stream);
        if enqueued.is_err() && !recording {
            self.forget();
        }
        enqueued
    }

    /// Takes note that something runs that the context has enqueued, if only once, into a graph.
    pub(crate) fn runs(&mut self) {
        self.running = true;
    }

    /// Takes note that nothing runs any more that the context has enqueued.
    pub(crate) fn rests(&mut self) {
        self.running = false;
    }

    /// Forgets what the context has been told, so that it will be told again: it may not have taken
    /// all of it, since some of TensorRT's methods have no answer.
    #[cold]
    fn forget(&mut self) {
        self.configured = false;
        self.room = None;
        self.bound.fill(DeviceAddress(0));
        self.changed();
    }

    /// What would be enqueued is no longer the same.
    fn changed(&mut self) {
        self.stamp = next_stamp();
    }

    /// How often the host has waited for the context since this was asked last.
    pub(crate) fn take_waits(&mut self) -> usize {
        std::mem::take(&mut self.waits)
    }

    /// Waits until nothing runs that the context has enqueued.
    fn wait(&mut self, loaded: &Loaded, stream: StreamHandle) -> Result<()> {
        if self.running {
            self.waits += 1;
            wait(loaded.device(), stream)?;
            self.running = false;
        }
        Ok(())
    }
}

/// A number that no context has had.
fn next_stamp() -> Stamp {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Stamp(NEXT.fetch_add(1, Ordering::Relaxed))
}
