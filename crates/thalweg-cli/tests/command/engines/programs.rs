//! Programs with TensorRT engines, which the stand-ins of the driver and of TensorRT run.

use std::path::Path;

use thalweg::format::{ExtraTensorInfo, ProgramBuilder, ScalarType, ShapeDynamism, Value};
use thalweg::tensorrt::{Binding, Container, Metadata, NAME};
use thalweg_simgpu::nvinfer::{DType, EngineSpec, ProfileSpec};

use crate::programs::{forward_on_device, save};

/// Writes a program that runs the engine twice, by way of the host, as exporters write it: two
/// copies to the device and two to the host, of which one each is needed.
pub(crate) fn write_program(path: &Path) {
    write_program_of(path, &[payload(), payload()]);
}

/// Writes a program whose first engine is none.
pub(crate) fn write_broken_program(path: &Path) {
    write_program_of(path, &[b"no engine".to_vec(), payload()]);
}

/// Makes a program with a recorded answer.
pub(crate) fn write_case(folder: &Path) {
    write_program(&folder.join("model.pte"));
    let record = serde_json::json!({
        "tolerance": 0, "rtol": 0, "stateful": false,
        "methods": {"forward": [{
            "inputs": [{"file": "x.bin", "dtype": "f32", "shape": [4, 8]}],
            "outputs": [{"file": "y.bin", "dtype": "f32", "shape": [4, 8]}],
        }]},
    });
    std::fs::write(folder.join("case.json"), record.to_string()).unwrap();
    std::fs::write(folder.join("x.bin"), rows(4, |x| x)).unwrap();
    std::fs::write(folder.join("y.bin"), rows(4, |x| 9.0 * x + 4.0)).unwrap();
}

/// A program with an engine with two profiles, and two recorded calls, of 4 rows and of 1.
pub(crate) fn write_two_calls(folder: &Path) {
    let calls = [4, 1].map(|rows| {
        serde_json::json!({
            "inputs": [{"file": format!("x{rows}.bin"), "dtype": "f32", "shape": [rows, 8]}],
            "outputs": [{"file": format!("y{rows}.bin"), "dtype": "f32", "shape": [rows, 8]}],
        })
    });
    let record = serde_json::json!({
        "tolerance": 0, "rtol": 0, "stateful": false, "methods": {"forward": calls},
    });
    std::fs::write(folder.join("case.json"), record.to_string()).unwrap();
    for count in [4, 1] {
        let (x, y) = (format!("x{count}.bin"), format!("y{count}.bin"));
        std::fs::write(folder.join(x), rows(count, |x| x)).unwrap();
        std::fs::write(folder.join(y), rows(count, |x| 3.0 * x + 1.0)).unwrap();
    }
    let mut program = ProgramBuilder::new();
    let (mut method, arena) = forward_on_device();
    let payload = program.payload(payload());
    let delegate = method.delegate(NAME, payload, &[]);
    let mut there = || {
        let tensor = method.tensor_in(arena, ScalarType::Float, &[64, 8]);
        if let Value::Tensor(tensor) = &mut method.edit().values[tensor as usize] {
            tensor.dynamism = ShapeDynamism::DynamicBound;
        }
        tensor
    };
    let (from, to) = (there(), there());
    let x = method.dynamic_tensor(ScalarType::Float, &[64, 8]);
    let y = method.dynamic_tensor(ScalarType::Float, &[64, 8]);
    method.input(x);
    method.call("et_copy::_h2d_copy.out", &[x, from, from]);
    method.call_delegate(delegate, &[from, to]);
    method.call("et_copy::_d2h_copy.out", &[to, y, y]);
    method.output(y);
    save(program, method, &folder.join("model.pte"));
}

/// Writes a program whose engine updates a named buffer by way of the host.
pub(crate) fn write_stateful_program(path: &Path) {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(payload());
    let (mut method, arena) = forward_on_device();
    let sizes = [4, 8];
    let cache = method.tensor(ScalarType::Float, &sizes);
    if let Value::Tensor(tensor) = &mut method.edit().values[cache as usize] {
        tensor.extra = Some(ExtraTensorInfo {
            fully_qualified_name: Some("cache".into()),
            ..ExtraTensorInfo::default()
        });
    }
    let from = method.tensor_in(arena, ScalarType::Float, &sizes);
    let to = method.tensor_in(arena, ScalarType::Float, &sizes);
    let result = method.tensor(ScalarType::Float, &sizes);
    let no = method.bool(false);
    method.call("et_copy::_h2d_copy.out", &[cache, from, from]);
    let delegate = method.delegate(NAME, payload, &[]);
    method.call_delegate(delegate, &[from, to]);
    method.call("et_copy::_d2h_copy.out", &[to, result, result]);
    method.call("aten::copy_", &[cache, result, no, cache]);
    method.output(result);
    save(program, method, path);
}

/// Writes a program of one engine, before which the host computes `relu`, and whose weights are on
/// the host.
pub(crate) fn write_mixed_program(path: &Path) {
    let mut program = ProgramBuilder::new();
    let (mut method, arena) = forward_on_device();
    let payload = program.payload(payload_with_weights_on_the_host());
    let delegate = method.delegate(NAME, payload, &[("weight_streaming_budget", b"0")]);
    let tensors = [(); 3].map(|()| method.tensor(ScalarType::Float, &[4, 8]));
    let [x, positive, y] = tensors;
    let [from, to] = [(); 2].map(|()| method.tensor_in(arena, ScalarType::Float, &[4, 8]));
    method.input(x);
    method.call("aten::relu.out", &[x, positive, positive]);
    method.call("et_copy::_h2d_copy.out", &[positive, from, from]);
    method.call_delegate(delegate, &[from, to]);
    method.call("et_copy::_d2h_copy.out", &[to, y, y]);
    method.output(y);
    save(program, method, path);
}

pub(crate) fn write_program_of(path: &Path, payloads: &[Vec<u8>]) {
    let mut program = ProgramBuilder::new();
    let (mut method, arena) = forward_on_device();
    let sizes = [4, 8];
    let mut host = method.tensor(ScalarType::Float, &sizes);
    method.input(host);
    for payload in payloads {
        let payload = program.payload(payload.clone());
        let delegate = method.delegate(NAME, payload, &[]);
        let from = method.tensor_in(arena, ScalarType::Float, &sizes);
        method.call("et_copy::_h2d_copy.out", &[host, from, from]);
        let to = method.tensor_in(arena, ScalarType::Float, &sizes);
        method.call_delegate(delegate, &[from, to]);
        host = method.tensor(ScalarType::Float, &sizes);
        method.call("et_copy::_d2h_copy.out", &[to, host, host]);
    }
    method.output(host);
    save(program, method, path);
}

/// The bytes of rows of 8 floats: a number for each index.
fn rows(count: u8, number: fn(f32) -> f32) -> Vec<u8> {
    let numbers = (0..count * 8).map(|x| number(x.into()));
    numbers.flat_map(f32::to_le_bytes).collect()
}

/// The payload of an engine that computes `y = 3 x + 1`, with two profiles.
fn payload() -> Vec<u8> {
    let profile = |largest| {
        ProfileSpec::new()
            .shape("x", &[1, 8], &[2, 8], &[largest, 8])
            .scratch(4096)
    };
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[-1, 8])
        .output_like("y", "x")
        .profile(profile(4))
        .profile(profile(64))
        .affine("y", &[(3.0, "x")], 1.0);
    let binding = |name, is_input| Binding {
        dtype: "float32".into(),
        shape: vec![-1, 8],
        ..binding(name, is_input)
    };
    container(&engine, vec![binding("x", true), binding("y", false)])
}

/// The payload of an engine that computes `y = 3 x + 1` and cannot be captured as a graph.
fn payload_with_weights_on_the_host() -> Vec<u8> {
    let mut engine = EngineSpec::new()
        .input("x", DType::F32, &[4, 8])
        .output_like("y", "x")
        .profile(ProfileSpec::new())
        .affine("y", &[(3.0, "x")], 1.0);
    engine.streamable = 4096;
    container(&engine, vec![binding("x", true), binding("y", false)])
}

/// A binding of an engine, without type and shape.
pub(crate) fn binding(name: &str, is_input: bool) -> Binding {
    Binding {
        name: name.into(),
        is_input,
        ..Binding::default()
    }
}

/// An engine for this machine in its container.
fn container(engine: &EngineSpec, io_bindings: Vec<Binding>) -> Vec<u8> {
    let metadata = Metadata {
        io_bindings,
        target_platform: format!("linux_{}", std::env::consts::ARCH),
        ..Metadata::default()
    };
    let engine = &engine.to_bytes();
    Container { metadata, engine }.to_bytes().unwrap()
}
