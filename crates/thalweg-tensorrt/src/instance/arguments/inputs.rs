//! Inputs of a call.

use thalweg_core::{Call, DeviceAddress, Result};

use super::{Arguments, on_device};
use crate::abi::download;
use crate::instance::argument::{self, Argument};
use crate::instance::work::CallStream;
use crate::loaded::LoadedEngine;

impl Arguments {
    /// Resolves an input: its shape, its address on the device, and its values, if TensorRT expects it
    /// on the host. The copy of an input on the host is enqueued.
    pub(in crate::instance) fn resolve_input(
        &mut self,
        call: &mut Call<'_>,
        index: usize,
        loaded: &LoadedEngine,
        stream: &mut CallStream<'_>,
    ) -> Result<()> {
        let argument = match on_device(call, index, loaded)? {
            Some(tensor) => {
                let binding = &loaded.bindings[index];
                argument::check(binding, tensor.dtype(), tensor.sizes(), tensor.dim_order())?;
                let argument = Argument {
                    shape: argument::input_shape(binding, tensor.sizes())?,
                    address: tensor.address(),
                    len: tensor.len(),
                    on_host: false,
                };
                self.device_input(index, loaded, argument, stream)?
            }
            None => self.host_input(call, index, loaded, stream)?,
        };
        self.arguments[index] = argument;
        Ok(())
    }

    /// An input that the program has on the device.
    fn device_input(
        &mut self,
        index: usize,
        loaded: &LoadedEngine,
        argument: Argument,
        stream: &CallStream<'_>,
    ) -> Result<Argument> {
        let binding = &loaded.bindings[index];
        if binding.on_host {
            let values = &mut self.host_values[index];
            values.bytes.resize(argument.len, 0);
            if !values.bytes.is_empty() {
                download(
                    stream.device,
                    &mut values.bytes,
                    argument.address,
                    stream.handle,
                )?;
            }
            argument::numbers(binding, &values.bytes, &mut values.numbers)?;
        } else if argument.len == 0 {
            let address = self.placeholder(stream)?;
            return Ok(Argument {
                address,
                ..argument
            });
        }
        Ok(argument)
    }

    /// An input that the program has on the host.
    fn host_input(
        &mut self,
        call: &mut Call<'_>,
        index: usize,
        loaded: &LoadedEngine,
        stream: &mut CallStream<'_>,
    ) -> Result<Argument> {
        let binding = &loaded.bindings[index];
        let arguments = call.arguments(&[])?;
        let tensor = arguments.tensor(index)?;
        argument::check(binding, tensor.dtype(), tensor.sizes(), tensor.dim_order())?;
        let address = if binding.on_host {
            let values = &mut self.host_values[index];
            values.bytes.clear();
            values.bytes.extend_from_slice(tensor.bytes());
            argument::numbers(binding, &values.bytes, &mut values.numbers)?;
            0
        } else {
            self.staging[index].upload(stream.work()?, tensor.bytes())?
        };
        Ok(Argument {
            shape: argument::input_shape(binding, tensor.sizes())?,
            address: DeviceAddress(address),
            len: tensor.bytes().len(),
            on_host: true,
        })
    }
}
