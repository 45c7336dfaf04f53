//! Outputs of a call, after the engine's work is enqueued: they are copied to the program's memory.

use thalweg_core::{Call, DeviceAddress, Result, bail, ensure};

use super::Arguments;
use crate::abi::{copy_on_device, synchronize, upload};
use crate::contexts::ConfiguredContext;
use crate::instance::argument::{self, Argument};
use crate::instance::work::CallStream;
use crate::loaded::{EngineBinding, LoadedEngine};

impl Arguments {
    /// Copies outputs to the program's memory, unless the engine writes them there. Waits on the host if
    /// the program has an output on the host.
    pub(in crate::instance) fn finish(
        &mut self,
        call: &mut Call<'_>,
        loaded: &LoadedEngine,
        context: &mut ConfiguredContext,
        mut stream: CallStream<'_>,
    ) -> Result<()> {
        let outputs = loaded.inputs..loaded.bindings.len();
        let any_on_host = loaded.bindings[outputs.clone()].iter().any(|b| b.on_host);
        if !stream.has_work() && !any_on_host {
            // The usual case: the engine writes all outputs where the program has them.
            return Ok(());
        }
        for index in outputs.clone() {
            let argument = self.arguments[index];
            if !argument.shape.is_known() && context.allocator(index).is_some() {
                self.copy_allocated(call, index, loaded, context, &mut stream)?;
            } else if argument.on_host && !loaded.bindings[index].on_host {
                self.staging[index].download(stream.work()?, argument.len)?;
            }
        }
        stream.finish_work()?;
        if any_on_host {
            // TensorRT writes these on the host by itself.
            synchronize(stream.device, stream.handle)?;
        }
        for index in outputs {
            let binding = &loaded.bindings[index];
            let argument = &self.arguments[index];
            let values = binding.on_host.then(|| context.values(index));
            if argument.on_host {
                to_host(call, index, binding, argument, |to| match values {
                    Some(values) => copy_values(to, values),
                    None => self.staging[index].read(to),
                })?;
            } else if let Some(values) = values {
                to_device(call, index, binding, argument, values, &stream)?;
            }
        }
        Ok(())
    }

    /// Enqueues the copy of an output whose size depends on data, from the memory that its allocator has
    /// given TensorRT.
    fn copy_allocated(
        &mut self,
        call: &mut Call<'_>,
        index: usize,
        loaded: &LoadedEngine,
        context: &mut ConfiguredContext,
        stream: &mut CallStream<'_>,
    ) -> Result<()> {
        let binding = &loaded.bindings[index];
        let argument = &mut self.arguments[index];
        let Some(allocator) = context.allocator(index) else {
            return Ok(());
        };
        let work = stream.work()?;
        for buffer in allocator.take_outgrown() {
            work.writes(&buffer)?;
        }
        let Some((buffer, shape)) = allocator.output() else {
            bail!(
                Delegate,
                "TensorRT did not say how large `{}` has become",
                binding.text
            );
        };
        work.writes(buffer)?;
        argument.shape = shape;
        argument.len = binding.bytes(&shape)?;
        ensure!(
            argument.len <= buffer.len(),
            Delegate,
            "TensorRT asked for {} bytes for `{}`, and then gave it the shape {shape:?}",
            buffer.len(),
            binding.text
        );
        if argument.on_host {
            return self.staging[index].download_from(work, buffer, argument.len);
        }
        let rank = call.device_tensor(index)?.sizes().len();
        let sizes = argument::output_sizes(binding, &shape, rank)?;
        let tensor = call.device_output(index, &sizes)?;
        argument::check(binding, tensor.dtype(), tensor.sizes(), tensor.dim_order())?;
        let (to, from) = (tensor.address(), DeviceAddress(buffer.address()));
        copy_on_device(stream.device, to, from, tensor.len(), stream.handle)
    }
}

/// Fills an output that the program has on the host.
fn to_host(
    call: &mut Call<'_>,
    index: usize,
    binding: &EngineBinding,
    argument: &Argument,
    fill: impl FnOnce(&mut [u8]) -> Result<()>,
) -> Result<()> {
    let Ok(position) = u16::try_from(index) else {
        bail!(Unsupported, "output {index} of a delegate");
    };
    let writes = [position];
    let arguments = call.arguments(&writes)?;
    let rank = arguments.output_sizes(index)?.len();
    let sizes = argument::output_sizes(binding, &argument.shape, rank)?;
    let mut output = arguments.output(index, &sizes)?;
    argument::check(binding, output.dtype(), output.sizes(), output.dim_order())?;
    fill(output.bytes_mut())
}

/// Copies values that TensorRT has written on the host to an output that the program has on the device.
fn to_device(
    call: &mut Call<'_>,
    index: usize,
    binding: &EngineBinding,
    argument: &Argument,
    values: &[u64],
    stream: &CallStream<'_>,
) -> Result<()> {
    let rank = call.device_tensor(index)?.sizes().len();
    let sizes = argument::output_sizes(binding, &argument.shape, rank)?;
    let tensor = call.device_output(index, &sizes)?;
    let mut bytes = vec![0; tensor.len()];
    copy_values(&mut bytes, values)?;
    upload(stream.device, tensor.address(), &bytes, stream.handle)
}

/// Copies values that TensorRT has written on the host.
fn copy_values(to: &mut [u8], values: &[u64]) -> Result<()> {
    ensure!(
        to.len() <= values.len() * 8,
        Internal,
        "values of {} bytes for a tensor of {}",
        values.len() * 8,
        to.len()
    );
    for (to, value) in to.chunks_mut(8).zip(values) {
        to.copy_from_slice(&value.to_ne_bytes()[..to.len()]);
    }
    Ok(())
}
