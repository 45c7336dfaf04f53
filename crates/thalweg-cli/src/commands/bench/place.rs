//! Where inputs are when a call begins, and where outputs are when it ends.

use thalweg::{Input, Schedule, Value};

use crate::failure::{Failure, Result};

/// Where inputs are when a call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum InputPlace {
    /// In memory of the host
    Host,
    /// In memory of the host that the device reaches by itself
    Pinned,
    /// In memory of the device, those that the program takes there
    Device,
}

/// Where outputs are when a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OutputPlace {
    /// In memory of the host
    Host,
    /// In memory of the device, those that it has
    Device,
}

impl InputPlace {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Pinned => "pinned",
            Self::Device => "device",
        }
    }
}

impl OutputPlace {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
        }
    }
}

/// The inputs of a method, each in its place.
pub(super) struct Placed(Vec<memory::Memory>);

/// The same, to be given to calls. While this lives, nobody writes to them on the host.
pub(super) struct Lent<'p>(Vec<memory::LentMemory<'p>>);

impl Placed {
    /// Puts inputs where they are to be. `schedule` says which of them the program takes on a
    /// device.
    ///
    /// # Errors
    /// If the method uses no device and is to have inputs there, or memory is out.
    pub(super) fn new(place: InputPlace, values: &[Value], schedule: &Schedule) -> Result<Self> {
        if place != InputPlace::Host && schedule.device_bytes.is_empty() {
            return Err(Failure::new(
                "the method uses no device, so its inputs can only be on the host",
            )
            .hint("--inputs host"));
        }
        Ok(Self(memory::place(place, values, schedule)?))
    }

    /// For each input, where it is, in words.
    pub(super) fn in_words(&self) -> Vec<String> {
        self.0.iter().map(memory::Memory::in_words).collect()
    }

    /// Keeps the host from writing to the inputs.
    pub(super) fn lend(&self) -> Result<Lent<'_>> {
        let lent = self.0.iter().map(memory::Memory::lend);
        Ok(Lent(lent.collect::<thalweg::Result<_>>()?))
    }
}

impl Lent<'_> {
    /// The inputs as a call takes them; `values` are the ones that they were made of.
    pub(super) fn inputs<'a>(&'a self, values: &'a [Value]) -> Result<Vec<Input<'a>>> {
        let inputs = self.0.iter().zip(values);
        let inputs = inputs.map(|(memory, value)| memory.input(value));
        Ok(inputs.collect::<thalweg::Result<_>>()?)
    }
}

#[cfg(target_os = "linux")]
mod memory {
    use thalweg::cuda::{Device, DeviceArray, Driver, HostBytes, PinnedBuffer};
    use thalweg::{DeviceId, How, Input, Result, Schedule, Tensor, TensorView, Value};

    use super::InputPlace;

    /// An input in its place.
    pub(super) enum Memory {
        /// Where it was made, on the host.
        Made,
        /// As before, because the program takes it there, or takes it in another order.
        NotOnDevice(&'static str),
        Pinned(PinnedBuffer),
        OnDevice(DeviceArray),
    }

    pub(super) enum LentMemory<'p> {
        Made,
        Pinned(HostBytes<'p>),
        OnDevice(&'p DeviceArray),
    }

    pub(super) fn place(
        place: InputPlace,
        values: &[Value],
        schedule: &Schedule,
    ) -> Result<Vec<Memory>> {
        if place == InputPlace::Host {
            return Ok(values.iter().map(|_| Memory::Made).collect());
        }
        place_with(&Driver::open(None)?, place, values, schedule)
    }

    pub(super) fn place_with(
        driver: &Driver,
        place: InputPlace,
        values: &[Value],
        schedule: &Schedule,
    ) -> Result<Vec<Memory>> {
        let device = |id: DeviceId| driver.device(usize::try_from(id.index).unwrap_or(0));
        let one = |(index, value): (usize, &Value)| match (value, place) {
            (Value::Tensor(tensor), InputPlace::Device) => match taken_on(schedule, index) {
                Some(id) => on_device(&device(id)?, tensor),
                None => Ok(Memory::NotOnDevice("where the program takes it")),
            },
            (Value::Tensor(tensor), InputPlace::Pinned) => {
                // One device's pinned memory is every device's.
                let id = schedule.device_bytes.first().map(|&(id, _)| id);
                pinned(&device(id.unwrap_or_default())?, tensor)
            }
            _ => Ok(Memory::Made),
        };
        values.iter().enumerate().map(one).collect()
    }

    /// The device on which the program takes an input, if it is not the host.
    fn taken_on(schedule: &Schedule, input: usize) -> Option<DeviceId> {
        schedule.steps.iter().find_map(|step| match step.how {
            How::InputToDevice(device, index) if index == input => Some(device),
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
                Self::Made => "on the host".into(),
                Self::NotOnDevice(why) => format!("on the host, {why}"),
                Self::Pinned(_) => "pinned on the host".into(),
                Self::OnDevice(array) => format!("on cuda:{}", array.device().ordinal()),
            }
        }

        pub(super) fn lend(&self) -> Result<LentMemory<'_>> {
            Ok(match self {
                Self::Made | Self::NotOnDevice(_) => LentMemory::Made,
                Self::Pinned(buffer) => LentMemory::Pinned(buffer.read()?),
                Self::OnDevice(array) => LentMemory::OnDevice(array),
            })
        }
    }

    impl LentMemory<'_> {
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

/// Elsewhere no method uses a device, so that every input is on the host.
#[cfg(not(target_os = "linux"))]
mod memory {
    use thalweg::{Input, Result, Schedule, Value};

    use super::InputPlace;

    pub(super) struct Memory;

    pub(super) struct LentMemory<'p>(std::marker::PhantomData<&'p Memory>);

    pub(super) fn place(_: InputPlace, values: &[Value], _: &Schedule) -> Result<Vec<Memory>> {
        Ok(values.iter().map(|_| Memory).collect())
    }

    impl Memory {
        pub(super) fn in_words(&self) -> String {
            "on the host".into()
        }

        pub(super) fn lend(&self) -> Result<LentMemory<'_>> {
            Ok(LentMemory(std::marker::PhantomData))
        }
    }

    impl LentMemory<'_> {
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
    use thalweg::format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
    use thalweg::{DeviceId, DeviceKind, LoadOptions, Runtime, Tensor};
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
        for (place, copies) in [
            (InputPlace::Host, 1),
            (InputPlace::Pinned, 1),
            (InputPlace::Device, 0),
        ] {
            sim.reset(Config::seeded(1));
            measure(&sim, place, &values, copies);
            let reports = sim.finish();
            assert!(reports.is_empty(), "{reports:#?}");
        }
    }

    fn measure(sim: &Sim, place: InputPlace, values: &[Value], copies: u64) {
        let driver = Driver::open(Some(Sim::path())).unwrap();
        let device = Arc::new(driver.device(0).unwrap());
        let runtime: Runtime = Runtime::builder().device(device).build().into();
        let bytes = there_and_back();
        let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
        let schedule = program.schedule("forward").unwrap();
        let mut method = program.method("forward").unwrap();
        let placed = memory::place_with(&driver, place, values, &schedule);
        let placed = Placed(placed.unwrap());
        let lent = placed.lend().unwrap();
        let inputs = lent.inputs(values).unwrap();
        let before = sim.calls("cuMemcpyHtoDAsync");
        let outputs = method.run(&inputs).unwrap();
        let answer = outputs.tensor(0).unwrap();
        let given = values[0].tensor().unwrap();
        assert_eq!(answer.data::<f32>().unwrap(), given.data::<f32>().unwrap());
        let made = sim.calls("cuMemcpyHtoDAsync") - before;
        assert_eq!(made, copies, "{}", placed.in_words()[0]);
    }
}
