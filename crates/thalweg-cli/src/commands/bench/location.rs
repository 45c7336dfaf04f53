//! The location of inputs when a call begins, and of outputs when it ends.

use thalweg::info::Schedule;
use thalweg::{Input, Value};

use crate::failure::{Failure, Result};

/// The location of inputs when a call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum InputLocation {
    /// Pageable host memory
    Host,
    /// Pinned (page-locked) host memory
    Pinned,
    /// Device memory, for inputs that the program copies there
    Device,
}

/// The location of outputs when a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OutputLocation {
    /// Host memory
    Host,
    /// Device memory, for outputs that are computed there
    Device,
}

impl InputLocation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Pinned => "pinned",
            Self::Device => "device",
        }
    }
}

impl OutputLocation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
        }
    }
}

/// The inputs of a method, each in its location.
pub(super) struct LocatedInputs(Vec<memory::Memory>);

/// Inputs that calls can borrow. The host cannot write to them while this lives.
pub(super) struct BorrowedInputs<'p>(Vec<memory::Borrowed<'p>>);

impl LocatedInputs {
    /// Copies inputs to a location. Of those that are to be on a device, the ones that the program does
    /// not copy there by its `schedule` stay on the host.
    ///
    /// # Errors
    /// If the method uses no device, and the location needs one; or if memory is out.
    pub(super) fn new(
        location: InputLocation,
        values: &[Value],
        schedule: &Schedule,
    ) -> Result<Self> {
        if location != InputLocation::Host && schedule.device_bytes.is_empty() {
            return Err(Failure::new(
                "the method uses no device, so its inputs can only be on the host",
            )
            .hint("--inputs host"));
        }
        Ok(Self(memory::copy(location, values, schedule)?))
    }

    /// The location of each input, in words.
    pub(super) fn in_words(&self) -> Vec<String> {
        self.0.iter().map(memory::Memory::in_words).collect()
    }

    /// Borrows the inputs for calls.
    pub(super) fn borrow(&self) -> Result<BorrowedInputs<'_>> {
        let borrowed = self.0.iter().map(memory::Memory::borrow);
        Ok(BorrowedInputs(borrowed.collect::<thalweg::Result<_>>()?))
    }
}

impl BorrowedInputs<'_> {
    /// The inputs as a call takes them. `values` are those that they were copied from.
    pub(super) fn inputs<'a>(&'a self, values: &'a [Value]) -> Result<Vec<Input<'a>>> {
        let inputs = self.0.iter().zip(values);
        let inputs = inputs.map(|(memory, value)| memory.input(value));
        Ok(inputs.collect::<thalweg::Result<_>>()?)
    }
}

#[cfg(target_os = "linux")]
mod memory {
    use thalweg::cuda::{Device, DeviceArray, Driver, HostBytes, PinnedBuffer};
    use thalweg::device::DeviceId;
    use thalweg::info::{Schedule, StepExecution};
    use thalweg::{Input, Result, Tensor, TensorView, Value};

    use super::InputLocation;

    /// The memory of an input.
    pub(super) enum Memory {
        /// The original value, on the host.
        Original,
        /// The original value, with the reason that it is not copied to the device.
        NotOnDevice(&'static str),
        Pinned(PinnedBuffer),
        OnDevice(DeviceArray),
    }

    /// The borrowed memory of an input.
    pub(super) enum Borrowed<'p> {
        Original,
        Pinned(HostBytes<'p>),
        OnDevice(&'p DeviceArray),
    }

    /// Copies inputs to a location.
    pub(super) fn copy(
        location: InputLocation,
        values: &[Value],
        schedule: &Schedule,
    ) -> Result<Vec<Memory>> {
        if location == InputLocation::Host {
            return Ok(values.iter().map(|_| Memory::Original).collect());
        }
        copy_with(&Driver::open(None)?, location, values, schedule)
    }

    /// Copies inputs to a location, with a given driver.
    pub(super) fn copy_with(
        driver: &Driver,
        location: InputLocation,
        values: &[Value],
        schedule: &Schedule,
    ) -> Result<Vec<Memory>> {
        let device = |id: DeviceId| driver.device(usize::try_from(id.index).unwrap_or(0));
        let one = |(index, value): (usize, &Value)| match (value, location) {
            (Value::Tensor(tensor), InputLocation::Device) => match target(schedule, index) {
                Some(id) => on_device(&device(id)?, tensor),
                None => Ok(Memory::NotOnDevice("where the program takes it")),
            },
            (Value::Tensor(tensor), InputLocation::Pinned) => {
                // One device's pinned memory is every device's.
                let id = schedule.device_bytes.first().map(|&(id, _)| id);
                pinned(&device(id.unwrap_or_default())?, tensor)
            }
            _ => Ok(Memory::Original),
        };
        values.iter().enumerate().map(one).collect()
    }

    /// The device that the program copies an input to, if there is one.
    fn target(schedule: &Schedule, input: usize) -> Option<DeviceId> {
        schedule.steps.iter().find_map(|step| match step.execution {
            StepExecution::InputToDevice(device, index) if index == input => Some(device),
            _ => None,
        })
    }

    fn on_device(device: &Device, tensor: &Tensor) -> Result<Memory> {
        if !tensor.view().is_row_major() {
            return Ok(Memory::NotOnDevice("since it is not row-major"));
        }
        Ok(Memory::OnDevice(DeviceArray::new(device, tensor.view())?))
    }

    fn pinned(device: &Device, tensor: &Tensor) -> Result<Memory> {
        let bytes = tensor.view().bytes();
        let mut buffer = PinnedBuffer::new(device, bytes.len())?;
        buffer.write()?.copy_from_slice(bytes);
        Ok(Memory::Pinned(buffer))
    }

    impl Memory {
        pub(super) fn in_words(&self) -> String {
            match self {
                Self::Original => "on the host".into(),
                Self::NotOnDevice(why) => format!("on the host, {why}"),
                Self::Pinned(_) => "pinned on the host".into(),
                Self::OnDevice(array) => format!("on cuda:{}", array.device().ordinal()),
            }
        }

        pub(super) fn borrow(&self) -> Result<Borrowed<'_>> {
            Ok(match self {
                Self::Original | Self::NotOnDevice(_) => Borrowed::Original,
                Self::Pinned(buffer) => Borrowed::Pinned(buffer.read()?),
                Self::OnDevice(array) => Borrowed::OnDevice(array),
            })
        }
    }

    impl Borrowed<'_> {
        pub(super) fn input<'a>(&'a self, value: &'a Value) -> Result<Input<'a>> {
            Ok(match (self, value) {
                (Self::Pinned(bytes), Value::Tensor(tensor)) => {
                    let (sizes, order) = (tensor.sizes(), tensor.dim_order());
                    TensorView::with_dim_order(tensor.dtype(), sizes, order, bytes)?.into()
                }
                (Self::OnDevice(array), _) => array.input()?.into(),
                _ => value.as_input()?,
            })
        }
    }
}

/// Other systems have no devices, so that every input is on the host.
#[cfg(not(target_os = "linux"))]
mod memory {
    use thalweg::info::Schedule;
    use thalweg::{Input, Result, Value};

    use super::InputLocation;

    pub(super) struct Memory;

    pub(super) struct Borrowed<'p>(std::marker::PhantomData<&'p Memory>);

    pub(super) fn copy(_: InputLocation, values: &[Value], _: &Schedule) -> Result<Vec<Memory>> {
        Ok(values.iter().map(|_| Memory).collect())
    }

    impl Memory {
        pub(super) fn in_words(&self) -> String {
            "on the host".into()
        }

        pub(super) fn borrow(&self) -> Result<Borrowed<'_>> {
            Ok(Borrowed(std::marker::PhantomData))
        }
    }

    impl Borrowed<'_> {
        pub(super) fn input<'a>(&'a self, value: &'a Value) -> Result<Input<'a>> {
            value.as_input()
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use thalweg::cuda::Driver;
    use thalweg::device::{DeviceId, DeviceKind};
    use thalweg::format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
    use thalweg::{LoadOptions, Runtime, Tensor};
    use thalweg_simgpu::{Config, Sim};

    /// A program that sends its input to a device and back.
    fn there_and_back() -> Vec<u8> {
        let mut method = MethodBuilder::new("forward");
        let arena = method.arena(DeviceId {
            kind: DeviceKind::Cuda,
            index: 0,
        });
        let sizes = [64, 64];
        let input = method.tensor(ScalarType::Float, &sizes);
        method.input(input);
        let between = method.tensor_in(arena, ScalarType::Float, &sizes);
        method.call("et_copy::_h2d_copy.out", &[input, between, between]);
        let output = method.tensor(ScalarType::Float, &sizes);
        method.call("et_copy::_d2h_copy.out", &[between, output, output]);
        method.output(output);
        let mut program = ProgramBuilder::new();
        program.method(method);
        let program = program.build().unwrap();
        program.to_bytes(&WriteOptions::default()).unwrap()
    }

    #[test]
    fn an_input_on_the_device_is_not_copied_there_and_the_answer_is_the_same() {
        let sim = Sim::session(Config::seeded(0));
        let data: Vec<f32> = (0..64 * 64u16).map(f32::from).collect();
        let values = [Value::Tensor(Tensor::from_slice(&data, &[64, 64]).unwrap())];
        for (location, copies) in [
            (InputLocation::Host, 1),
            (InputLocation::Pinned, 1),
            (InputLocation::Device, 0),
        ] {
            sim.reset(Config::seeded(1));
            measure(&sim, location, &values, copies);
            let reports = sim.finish();
            assert!(reports.is_empty(), "{reports:#?}");
        }
    }

    fn measure(sim: &Sim, location: InputLocation, values: &[Value], copies: u64) {
        let driver = Driver::open(Some(Sim::path())).unwrap();
        let device = Arc::new(driver.device(0).unwrap());
        let runtime: Runtime = Runtime::builder().device(device).build();
        let bytes = there_and_back();
        let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
        let schedule = program.schedule("forward").unwrap();
        let mut method = program.method("forward").unwrap();
        let copied = memory::copy_with(&driver, location, values, &schedule);
        let located = LocatedInputs(copied.unwrap());
        let borrowed = located.borrow().unwrap();
        let inputs = borrowed.inputs(values).unwrap();
        let before = sim.calls("cuMemcpyHtoDAsync");
        let outputs = method.run(&inputs).unwrap();
        let answer = outputs.tensor(0).unwrap();
        let given = values[0].tensor().unwrap();
        assert_eq!(answer.data::<f32>().unwrap(), given.data::<f32>().unwrap());
        let made = sim.calls("cuMemcpyHtoDAsync") - before;
        assert_eq!(made, copies, "{}", located.in_words()[0]);
    }
}
