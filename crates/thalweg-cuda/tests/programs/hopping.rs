//! Loads and runs the programs of `hops` on devices of this crate.

use std::sync::Arc;

use thalweg_core::{DType, Device as _, DeviceInput, Output, Result, Tensor, TensorView};
use thalweg_cuda::{Device, DeviceBuffer, Stream};
use thalweg_format::WriteOptions;
use thalweg_runtime::{LoadOptions, Method, Optimizations, Outputs, Program, RunOptions};
use thalweg_simgpu::Sim;

use crate::elementwise::Elementwise;
use crate::hops::moving;
use crate::programs::runtime;

/// A program on some devices.
pub(crate) fn load(
    devices: &[Device],
    program: &thalweg_format::Program<'_>,
    every_copy: bool,
) -> Result<Program> {
    let bytes = program.to_bytes(&WriteOptions::default())?;
    let mut builder = runtime()
        .kernels(&moving()?)
        .backend("Increment", Elementwise::new(devices, "increment")?)
        .backend("Update", Elementwise::new(devices, "increment")?.in_place());
    for device in devices {
        builder = builder.device(Arc::new(device.clone()));
    }
    let options = LoadOptions::new().optimizations(Optimizations::all().residency(!every_copy));
    builder.build().load_bytes(bytes, &options)
}

/// Runs a method on rows of numbers.
pub(crate) fn run(
    method: &mut Method,
    x: &[f32],
    options: &RunOptions<'_>,
) -> Result<Vec<Vec<f32>>> {
    let x = Tensor::from_slice(x, &[x.len() / 2, 2])?;
    numbers(method.run_with(&[(&x).into()], options)?)
}

/// What a call gave on the host.
pub(crate) fn numbers(outputs: Outputs<'_>) -> Result<Vec<Vec<f32>>> {
    outputs
        .iter()
        .map(|output| of_view(output?.tensor()?))
        .collect()
}

fn of_view(view: TensorView<'_>) -> Result<Vec<f32>> {
    Ok(view.data::<f32>()?.to_vec())
}

/// The same, with the input on the device and the outputs left there, where the device has them.
/// Also says how many copies between host and device this made beside the method's.
pub(crate) fn run_on_device(
    method: &mut Method,
    device: &Device,
    x: &[f32],
) -> Result<(Vec<Vec<f32>>, u64)> {
    let stream = Stream::new(device)?;
    let input = DeviceBuffer::new(&stream, size_of_val(x))?;
    let mut work = stream.work()?;
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
    work.upload(&input, &bytes)?;
    work.finish()?;
    let sizes = [x.len() / 2, 2];
    let address = thalweg_core::DeviceAddress(input.address());
    // SAFETY: the stream is that of the call, and is waited for below before the memory goes.
    let given = unsafe { DeviceInput::new(device.id(), address, DType::F32, &sizes) }?;
    let options = RunOptions::new().stream(&stream).device_outputs(true);
    let result = method
        .run_with(&[given.into()], &options)
        .and_then(|outputs| fetched(device, &stream, outputs));
    // Whatever has failed, nothing is in flight when the input's memory goes.
    let waited = stream.synchronize();
    if waited.is_err() {
        let _ = stream.synchronize();
    }
    let result = result?;
    waited?;
    Ok(result)
}

/// The outputs of a call, those that are on the device copied from there.
fn fetched(device: &Device, stream: &Stream, outputs: Outputs<'_>) -> Result<(Vec<Vec<f32>>, u64)> {
    let mut all = Vec::new();
    // That of the input.
    let mut copies = 1;
    for output in outputs.iter() {
        all.push(match output? {
            Output::Device(tensor) => {
                let mut numbers = vec![0f32; tensor.len() / 4];
                let handle = thalweg_core::StreamHandle(stream.raw()?.expose_provenance());
                // SAFETY: the numbers are as many bytes, in ordinary memory, which the driver has
                // written when this returns.
                unsafe {
                    let to = numbers.as_mut_ptr().cast();
                    device.download(to, tensor.address(), tensor.len(), handle)?;
                }
                copies += 1;
                numbers
            }
            other => of_view(other.tensor()?)?,
        });
    }
    Ok((all, copies))
}

/// How many copies from and to the host the driver has been asked for.
pub(crate) fn transfers(sim: &Sim) -> [u64; 2] {
    ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"].map(|function| sim.calls(function))
}
