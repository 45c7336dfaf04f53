//! Outputs of a call, before the engine's work is enqueued.

use thalweg_core::{Call, DeviceAddress, Result};

use super::{Arguments, on_device};
use crate::contexts::ConfiguredContext;
use crate::instance::argument::{self, Argument};
use crate::instance::work::CallStream;
use crate::loaded::LoadedEngine;

impl Arguments {
    /// Resolves an output: its shape and its address on the device. An output whose size depends on data
    /// has no address yet, and one that TensorRT writes on the host has none at all.
    pub(in crate::instance) fn resolve_output(
        &mut self,
        call: &mut Call<'_>,
        index: usize,
        loaded: &LoadedEngine,
        context: &mut ConfiguredContext,
        stream: &mut CallStream<'_>,
    ) -> Result<()> {
        let rank = on_device(call, index, loaded)?.map(|tensor| tensor.sizes().len());
        let shape = *context.output_shape(index);
        let nowhere = Argument {
            shape,
            address: DeviceAddress(0),
            len: 0,
            on_host: rank.is_none(),
        };
        let binding = &loaded.bindings[index];
        self.arguments[index] = if !shape.is_known() {
            if let Some(allocator) = context.allocator(index) {
                allocator.begin(stream.handle);
                stream.work()?;
            }
            nowhere
        } else if binding.on_host {
            nowhere
        } else if let Some(rank) = rank {
            let sizes = argument::output_sizes(binding, &shape, rank)?;
            let tensor = call.device_output(index, &sizes)?;
            argument::check(binding, tensor.dtype(), tensor.sizes(), tensor.dim_order())?;
            let (address, len) = (tensor.address(), tensor.len());
            let address = if len == 0 {
                self.placeholder(stream)?
            } else {
                address
            };
            Argument {
                address,
                len,
                ..nowhere
            }
        } else {
            let len = binding.bytes(&shape)?;
            let address = self.staging[index].output(stream.work()?, len)?;
            Argument {
                address: DeviceAddress(address),
                len,
                ..nowhere
            }
        };
        Ok(())
    }
}
