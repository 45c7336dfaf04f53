//! The arguments of a call as the bindings of an engine.
//!
//! Arguments that the program has on the device are used where they are. Arguments on the host are
//! copied through staging memory.

mod inputs;
mod outputs;
mod results;

use thalweg_core::{Call, Device as _, DeviceAddress, DeviceTensor, Result, ensure};
use thalweg_cuda::DeviceBuffer;

use super::argument::Argument;
use super::staging::Staging;
use super::work::CallStream;
use crate::contexts::DeviceCopy;
use crate::loaded::LoadedEngine;
use crate::mutation::{Rule, disabled};
use crate::profile::CallInput;

/// The arguments of the current call, and the memory that is needed for them beside the program's.
pub(super) struct Arguments {
    /// The memory of empty tensors.
    placeholder: Option<DeviceBuffer>,
    /// By binding, for arguments on the host.
    staging: Vec<Staging>,
    /// By binding, for inputs that TensorRT expects on the host.
    host_values: Vec<HostValues>,
    /// By binding.
    arguments: Vec<Argument>,
    /// The copies of aliased inputs to outputs with memory of their own.
    copies: Vec<DeviceCopy>,
}

/// The values of an input that TensorRT expects on the host.
#[derive(Clone, Default)]
pub(super) struct HostValues {
    pub(super) bytes: Vec<u8>,
    /// The elements, for a type of integers.
    numbers: Vec<i64>,
}

impl Arguments {
    /// The arguments of an engine with `count` bindings.
    pub(super) fn new(count: usize) -> Self {
        Self {
            placeholder: None,
            staging: (0..count).map(|_| Staging::default()).collect(),
            host_values: vec![HostValues::default(); count],
            arguments: vec![Argument::UNKNOWN; count],
            copies: Vec::new(),
        }
    }

    /// An argument, by the index of its binding.
    pub(super) fn get(&self, index: usize) -> &Argument {
        &self.arguments[index]
    }

    /// The values of inputs on the host, by binding.
    pub(super) fn host_values(&self) -> &[HostValues] {
        &self.host_values
    }

    /// The copies on the device that must come before the engine's work.
    pub(super) fn copies(&self) -> &[DeviceCopy] {
        &self.copies
    }

    /// An input, as profiles bound it.
    pub(super) fn call_input(&self, loaded: &LoadedEngine, index: usize) -> CallInput<'_> {
        CallInput {
            shape: self.arguments[index].shape,
            values: loaded.bindings[index]
                .on_host
                .then_some(&self.host_values[index].numbers),
        }
    }

    /// Gives an output that aliases an input the memory of that input. If the program has the two in
    /// different memory, the output starts as a copy of the input, so that the input does not change.
    pub(super) fn resolve_aliases(&mut self, loaded: &LoadedEngine) -> Result<()> {
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
            if to.len > 0 && !disabled(Rule::CopyAlias) {
                self.copies.push(DeviceCopy {
                    to: to.address,
                    from: from.address,
                    len: to.len,
                });
            }
            if !disabled(Rule::BindAlias) {
                self.arguments[input].address = to.address;
            }
        }
        Ok(())
    }

    /// The address of empty tensors, since TensorRT wants an address for them, too.
    fn placeholder(&mut self, stream: &CallStream<'_>) -> Result<DeviceAddress> {
        let buffer = match &mut self.placeholder {
            Some(buffer) => buffer,
            none => none.insert(DeviceBuffer::new(stream.stream(), 256)?),
        };
        Ok(DeviceAddress(buffer.address()))
    }

    /// Leaks all memory, because work may use it forever.
    pub(super) fn abandon(&mut self) {
        std::mem::forget(std::mem::take(&mut self.staging));
        std::mem::forget(self.placeholder.take());
    }
}

/// An argument that the program has on the engine's device; `None` if it is on the host.
///
/// # Errors
/// If it is on another device, or is on the host, but updated in place on the device.
pub(super) fn on_device<'a>(
    call: &'a Call<'_>,
    index: usize,
    loaded: &LoadedEngine,
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
