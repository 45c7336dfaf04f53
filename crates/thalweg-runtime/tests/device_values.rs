//! Inputs that the caller has on a device, and outputs that stay there.

mod late;
mod programs;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use late::{Increment, LATE, LateDevice, Shared};
use programs::{runtime, vector};
use thalweg_core::{
    DType, Device, DeviceInput, DeviceMemory, DeviceTensor, ErrorKind, Input, Output, StreamHandle,
};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Method, RunOptions};

const UPLOAD: &str = "et_copy::_h2d_copy.out";
const DOWNLOAD: &str = "et_copy::_d2h_copy.out";

/// A method of `hops` delegates, after each of which `host` says whether the host doubles the
/// value, and which returns what `also_input` says, too.
fn method(host: &[bool], read_input: bool) -> (Method, Arc<LateDevice>, Arc<Shared>) {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(vec![0]);
    let mut forward = MethodBuilder::new("forward");
    let arena = forward.arena(LATE);
    let delegate = forward.delegate("Increment", payload, &[]);
    let two = forward.double(2.0);
    let input = forward.tensor(ScalarType::Float, &[4]);
    let mut x = input;
    forward.input(x);
    for &double in host {
        let up = forward.tensor_in(arena, ScalarType::Float, &[4]);
        let out = forward.tensor_in(arena, ScalarType::Float, &[4]);
        let down = forward.tensor(ScalarType::Float, &[4]);
        forward.call(UPLOAD, &[x, up, up]);
        forward.call_delegate(delegate, &[up, out]);
        forward.call(DOWNLOAD, &[out, down, down]);
        if double {
            forward.call("t::scale_", &[down, two, down]);
        }
        x = down;
    }
    forward.output(x);
    if read_input {
        let sum = forward.tensor(ScalarType::Float, &[4]);
        forward.call("t::add.out", &[input, input, sum, sum]);
        forward.output(sum);
    }
    program.method(forward);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let (device, shared) = LateDevice::new();
    let mut builder = runtime()
        .backend("Increment", Increment::new(&shared))
        .device(device.clone());
    for copy in [UPLOAD, DOWNLOAD] {
        let signature = format!("{copy}(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
        builder = builder.kernel(&signature, |_| Ok(())).unwrap();
    }
    let program = builder
        .build()
        .load_bytes(bytes, &LoadOptions::new())
        .unwrap();
    (program.method("forward").unwrap(), device, shared)
}

/// Four numbers in the device's memory.
struct OnDevice(Box<dyn DeviceMemory>);

impl OnDevice {
    fn new(device: &LateDevice, value: f32) -> Self {
        let memory = device.allocate(16).unwrap();
        let bytes: Vec<u8> = [value; 4].iter().flat_map(|x| x.to_ne_bytes()).collect();
        // SAFETY: both have 16 bytes, and the copy is done before this returns.
        unsafe { device.upload(memory.address(), bytes.as_ptr(), 16, StreamHandle(99)) }.unwrap();
        device.synchronize(StreamHandle(99)).unwrap();
        Self(memory)
    }

    fn tensor(&self) -> DeviceInput<'_> {
        // SAFETY: the tests keep the memory until nothing uses it any more.
        unsafe { DeviceInput::new(LATE, self.0.address(), DType::F32, &[4]) }.unwrap()
    }
}

/// What a tensor on the device holds, once its stream's work is done.
fn read(device: &LateDevice, tensor: DeviceTensor<'_>) -> Vec<f32> {
    let mut numbers = vec![0f32; tensor.len() / 4];
    let stream = device.default_stream();
    // SAFETY: the numbers are as many, and stay until the copy is done.
    unsafe {
        let to = numbers.as_mut_ptr().cast();
        device
            .download(to, tensor.address(), tensor.len(), stream)
            .unwrap();
    }
    device.synchronize(stream).unwrap();
    numbers
}

fn reset(shared: &Shared) {
    for count in [&shared.uploads, &shared.downloads, &shared.waits] {
        count.store(0, Ordering::Relaxed);
    }
}

fn counts(shared: &Shared) -> [usize; 3] {
    [&shared.uploads, &shared.downloads, &shared.waits].map(|count| count.load(Ordering::Relaxed))
}

#[test]
fn a_call_between_values_on_the_device_copies_nothing_and_waits_for_nothing() {
    let (mut method, device, shared) = method(&[false, false, false], false);
    let x = OnDevice::new(&device, 5.0);
    let options = RunOptions::new().device_outputs(true);
    for _ in 0..3 {
        reset(&shared);
        let outputs = method.run_with(&[x.tensor().into()], &options).unwrap();
        let out = outputs.get(0).unwrap().device_tensor().unwrap();
        assert_eq!(counts(&shared), [0, 0, 0]);
        assert_eq!((out.dtype(), out.sizes()), (DType::F32, &[4][..]));
        assert_eq!(read(&device, out), [8.0; 4]);
    }
}

#[test]
fn an_input_on_the_device_comes_to_the_host_if_the_program_looks_at_it_there() {
    let (mut method, device, shared) = method(&[false], true);
    let x = OnDevice::new(&device, 5.0);
    reset(&shared);
    let outputs = method.run(&[x.tensor().into()]).unwrap();
    assert_eq!(outputs.tensor(0).unwrap().data::<f32>().unwrap(), [6.0; 4]);
    assert_eq!(outputs.tensor(1).unwrap().data::<f32>().unwrap(), [10.0; 4]);
    assert_eq!(counts(&shared)[..2], [0, 2]);
}

#[test]
fn inputs_can_be_on_the_device_in_one_call_and_on_the_host_in_the_next() {
    let (mut method, device, _) = method(&[false, true, false], false);
    let expected = |x: f32| [(x + 2.0) * 2.0 + 1.0; 4];
    for x in 0..6 {
        let x = x as f32;
        let (on_host, on_device) = (vector(&[x; 4]), OnDevice::new(&device, x));
        let input: Input<'_> = match x as usize % 2 {
            0 => (&on_host).into(),
            _ => on_device.tensor().into(),
        };
        let outputs = method.run(&[input]).unwrap();
        assert_eq!(
            outputs.tensor(0).unwrap().data::<f32>().unwrap(),
            expected(x)
        );
    }
}

#[test]
fn an_output_that_the_host_computed_comes_back_on_the_host() {
    let (mut method, _, _) = method(&[true], false);
    let options = RunOptions::new().device_outputs(true);
    let x = vector(&[1.0; 4]);
    let outputs = method.run_with(&[(&x).into()], &options).unwrap();
    assert!(matches!(outputs.get(0).unwrap(), Output::Tensor(_)));
    assert_eq!(outputs.tensor(0).unwrap().data::<f32>().unwrap(), [4.0; 4]);
}

#[test]
fn an_input_on_the_device_is_checked_like_any_other() {
    let (mut method, device, _) = method(&[false], false);
    let x = OnDevice::new(&device, 1.0);
    // SAFETY: it is refused before it is used.
    let wrong = unsafe { DeviceInput::new(LATE, x.0.address(), DType::I32, &[4]) }.unwrap();
    let error = method.run(&[wrong.into()]).unwrap_err();
    assert_eq!(
        error.message(),
        "input 0: the program takes f32, and i32 was given"
    );
    let elsewhere = thalweg_core::DeviceId { index: 3, ..LATE };
    // SAFETY: as above.
    let wrong = unsafe { DeviceInput::new(elsewhere, x.0.address(), DType::F32, &[4]) };
    let error = method.run(&[wrong.unwrap().into()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
