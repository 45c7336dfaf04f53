//! What comes out of a call.

use std::fmt;

use thalweg_core::engine::{Block, Slot, TensorId};
use thalweg_core::{
    Access, DeviceId, DeviceTensor, Output, Result, Scalar, TensorView, Value, bail,
};

use super::instance::Instance;
use crate::completion::Completion;
use crate::mutation::{Rule, disabled};
use crate::transfer::wait_for_value;

/// The outputs of a call, borrowed from the method that computed them.
///
/// They are what the program wrote, where it wrote it; nothing is copied. To keep one beyond the
/// next call, [`to_values`](Outputs::to_values), or [`Output::to_value`] for one of them.
#[derive(Clone, Copy)]
pub struct Outputs<'m> {
    method: &'m Instance,
}

impl<'m> Outputs<'m> {
    pub(super) fn new(method: &'m Instance) -> Self {
        Self { method }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.method.plan().outputs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An output.
    ///
    /// # Errors
    /// If there is no such output, or the program ended before it wrote it.
    pub fn get(&self, index: usize) -> Result<Output<'m>> {
        let method = self.method;
        let Some(&value) = method.plan().outputs.get(index) else {
            bail!(
                InvalidOption,
                "there is no output {index}: the method has {}",
                self.len()
            );
        };
        Ok(match method.frame.slot(value)? {
            Slot::Scalar(cell) => match cell.get() {
                None => Output::None,
                Some(Scalar::Int(value)) => Output::Int(value),
                Some(Scalar::Double(value)) => Output::Double(value),
                Some(Scalar::Bool(value)) => Output::Bool(value),
            },
            Slot::String(value) => Output::String(value),
            Slot::Tensor(id) => {
                if let Some(tensor) = method.device_output(index, *id)? {
                    return Ok(Output::Device(tensor));
                }
                let view = match &method.output_copies[index] {
                    Some(copy) => method.frame.view_of_copy(*id, copy)?,
                    None => method.frame.view(*id)?,
                };
                Output::Tensor(view)
            }
            Slot::Ints(list) => Output::IntList(list),
            Slot::DoubleList(list) => Output::DoubleList(list),
            Slot::BoolList(list) => Output::BoolList(list),
            Slot::IntList(_) | Slot::TensorList(_) => bail!(
                Unsupported,
                "output {index} is a list of values; programs return its elements one by one"
            ),
        })
    }

    /// An output that is a tensor.
    ///
    /// # Errors
    /// If there is no such output, or it is not a tensor.
    pub fn tensor(&self, index: usize) -> Result<TensorView<'m>> {
        self.get(index)?.tensor()
    }

    /// The outputs, in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Output<'m>>> + use<'m> {
        let outputs = *self;
        (0..outputs.len()).map(move |index| outputs.get(index))
    }

    /// When a device is done with the call: what goes on after that may use the outputs that are there.
    ///
    /// # Errors
    /// If the method has no memory on that device, or the caller has captured the call's stream there.
    pub fn completion(&self, device: DeviceId) -> Result<Completion> {
        let mut devices = self.method.devices.iter();
        match devices.find(|state| state.id() == device) {
            Some(state) => state.completion(),
            None => bail!(MissingDevice, "the method has no memory on {device}"),
        }
    }

    /// Copies that own what they hold.
    ///
    /// # Errors
    /// If memory is out.
    pub fn to_values(&self) -> Result<Vec<Value>> {
        self.iter().map(|output| output?.to_value()).collect()
    }
}

impl fmt::Debug for Outputs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().flatten()).finish()
    }
}

impl Instance {
    /// An output that this call leaves on a device.
    fn device_output(&self, index: usize, id: TensorId) -> Result<Option<DeviceTensor<'_>>> {
        let Some(place) = self
            .linked
            .places
            .output(index)
            .filter(|_| self.device_outputs)
        else {
            return Ok(None);
        };
        let Some(queue) = self.devices.get(place.device) else {
            bail!(Internal, "there is no device {}", place.device);
        };
        let len = self.frame.len(id);
        let address = self
            .frame
            .device_address(place.storage, place.offset, len)?;
        let layout = self.frame.layout(id);
        // SAFETY: the frame has the memory. It is written on the call's stream; whoever uses it is
        // told to be ordered after that.
        #[allow(unsafe_code, reason = "the frame says what is on the device")]
        let tensor = unsafe { DeviceTensor::from_parts(queue.id(), address, len, layout) };
        Ok(Some(tensor))
    }

    /// Makes outputs readable on the host: waits for copies from devices that still write them,
    /// and copies those that lie in state, which another method may write as soon as this call is
    /// over.
    pub(super) fn finish_outputs(&mut self) -> Result<()> {
        for (index, &value) in self.linked.plan.outputs.iter().enumerate() {
            if disabled(Rule::OutputsAfterCopies) {
                break;
            }
            if self.device_outputs && self.linked.places.output(index).is_some() {
                continue;
            }
            wait_for_value(&self.frame, &mut self.devices, value, Access::Read)?;
        }
        for (&value, copy) in self.linked.plan.outputs.iter().zip(&mut self.output_copies) {
            let Slot::Tensor(id) = self.frame.slot(value)? else {
                continue;
            };
            if self.named[self.frame.storage_of(*id).0 as usize].is_none() {
                *copy = None;
                continue;
            }
            let bytes = self.frame.view(*id)?.bytes();
            match copy {
                Some(block) if block.len() == bytes.len() => {
                    block.bytes_mut().copy_from_slice(bytes);
                }
                _ => *copy = Some(Block::copy_of(bytes)?),
            }
        }
        Ok(())
    }
}
