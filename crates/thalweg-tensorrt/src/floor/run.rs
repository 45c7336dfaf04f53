//! One call of an engine, to be made again and again.

use std::sync::Arc;

use thalweg_core::{DeviceAddress, Result, StreamHandle, Tracer, bail};

use super::watch::Value;
use crate::abi::Shape;
use crate::loaded::Loaded;
use crate::prepared::Prepared;
use crate::scratch::{Room, Scratch, User, Wish};

/// A context that has been told everything that a call needs.
pub(super) struct Run {
    prepared: Prepared,
    pub(super) loaded: Arc<Loaded>,
    profile: usize,
    inputs: Vec<Value>,
    /// By binding; zero where it is on the host, or where TensorRT asks for memory as it computes.
    addresses: Vec<DeviceAddress>,
}

impl Run {
    /// A context of a profile, for inputs that it takes.
    pub(super) fn new(
        loaded: Arc<Loaded>,
        profile: usize,
        inputs: Vec<Value>,
        stream: StreamHandle,
    ) -> Result<Self> {
        let prepared = Prepared::new(&loaded, profile, stream)?;
        let addresses = vec![DeviceAddress(0); loaded.bindings.len()];
        Ok(Self {
            prepared,
            profile,
            inputs,
            addresses,
            loaded,
        })
    }

    /// The bytes that an input had, which are not needed any more where it is on the device.
    pub(super) fn take_bytes(&mut self, index: usize) -> Vec<u8> {
        match self.loaded.bindings[index].on_host {
            true => Vec::new(),
            false => std::mem::take(&mut self.inputs[index].bytes),
        }
    }

    /// How many bytes of scratch it needs.
    pub(super) fn needed(&self) -> usize {
        self.prepared.needed()
    }

    /// The shape of an output.
    pub(super) fn output_shape(&self, index: usize) -> &Shape {
        self.prepared.output_shape(index)
    }

    /// Says where a tensor is to be.
    pub(super) fn place(&mut self, index: usize, address: DeviceAddress) {
        self.addresses[index] = address;
    }

    /// Tells the context what it does not know yet: everything at first, nothing later, unless an
    /// enqueue has failed.
    pub(super) fn prepare(&mut self, scratch: &mut Scratch, stream: StreamHandle) -> Result<()> {
        self.configure(stream)?;
        if self.needed() > 0 {
            let room = room(scratch, self.needed(), stream)?;
            self.prepared.give_scratch(&self.loaded, room, stream)?;
        }
        for (index, &address) in self.addresses.iter().enumerate() {
            if address.0 != 0 {
                self.prepared.bind(&self.loaded, index, address, stream)?;
            }
        }
        Ok(())
    }

    /// Enqueues the engine's work.
    pub(super) fn enqueue(&mut self, stream: StreamHandle) -> Result<()> {
        for index in self.loaded.inputs..self.loaded.bindings.len() {
            if let Some(allocator) = self.prepared.allocator(index) {
                allocator.begin(stream);
            }
        }
        self.prepared.enqueue(&self.loaded, stream, false)
    }

    /// Tells the context the shapes, from which output shapes and scratch follow.
    pub(super) fn configure(&mut self, stream: StreamHandle) -> Result<()> {
        let inputs = &self.inputs;
        if self
            .prepared
            .has_shapes(inputs.iter().map(|input| &input.shape))
        {
            return Ok(());
        }
        self.prepared.configure(
            &self.loaded,
            self.loaded.profiles[self.profile].scratch,
            |index| &inputs[index].shape,
            |index| &inputs[index].bytes,
            stream,
        )
    }
}

/// Room in the scratch of a floor, which is as large as all need before anything runs.
pub(super) fn room(scratch: &mut Scratch, bytes: usize, stream: StreamHandle) -> Result<Room> {
    let wish = Wish {
        bytes,
        address: None,
        stays: false,
    };
    let user = User {
        call: 0,
        stream,
        is_told: false,
        tracer: Tracer::default(),
    };
    match scratch.room(&wish, &user, || Ok(()))? {
        Some(room) => Ok(room),
        None => bail!(Internal, "a floor's scratch would move"),
    }
}
