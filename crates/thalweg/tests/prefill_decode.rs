//! The example, on the stand-ins of the driver and of TensorRT.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "its `main` is not called here")]
#[path = "../examples/prefill_decode.rs"]
mod prefill_decode;

use std::sync::Arc;

use thalweg::cuda::Driver;
use thalweg::device::{DeviceId, DeviceKind};
use thalweg::format::{
    MethodBuilder, ProgramBuilder, ScalarType, ShapeDynamism, Value, WriteOptions,
};
use thalweg::tensorrt::{Binding, Container, Metadata, NAME, Options, TensorRt};
use thalweg::{Result, Runtime};
use thalweg_simgpu::nvinfer::{DType, EngineSpec, ProfileSpec};
use thalweg_simgpu::{Config, Sim};

/// What there is in a program: methods, with the most rows that they take.
type Methods<'m> = &'m [(&'m str, u32)];

/// A program whose methods run one engine, `y = 2 x + 1` on 1 row of 4 numbers with profile 0, and on 2
/// to 32 rows with profile 1.
fn program(methods: Methods<'_>, dtype: DType, scalar: ScalarType) -> Vec<u8> {
    let profile = |least, most| ProfileSpec::new().shape("x", &[least, 4], &[least, 4], &[most, 4]);
    let engine = EngineSpec::new()
        .name("decoder")
        .input("x", dtype, &[-1, 4])
        .output_like("y", "x")
        .profile(profile(1, 1).scratch(256))
        .profile(profile(2, 32).scratch(8192))
        .affine("y", &[(2.0, "x")], 1.0)
        .to_bytes();
    let binding = |name: &str, is_input| Binding {
        name: name.into(),
        is_input,
        ..Binding::default()
    };
    let metadata = Metadata {
        io_bindings: vec![binding("x", true), binding("y", false)],
        ..Metadata::default()
    };
    let engine = &engine;
    let mut program = ProgramBuilder::new();
    let payload = program.payload(Container { metadata, engine }.to_bytes().unwrap());
    for &(name, rows) in methods {
        let mut method = MethodBuilder::new(name);
        let sizes = [rows, 4];
        let arena = method.arena(DeviceId {
            kind: DeviceKind::Cuda,
            index: 0,
        });
        let delegate = method.delegate(NAME, payload, &[]);
        let mut there = || {
            let tensor = method.tensor_in(arena, scalar, &sizes);
            if let Value::Tensor(tensor) = &mut method.edit().values[tensor as usize] {
                tensor.dynamism = ShapeDynamism::DynamicBound;
            }
            tensor
        };
        let (from, to) = (there(), there());
        let x = method.dynamic_tensor(scalar, &sizes);
        let y = method.dynamic_tensor(scalar, &sizes);
        method.input(x);
        method.call("et_copy::_h2d_copy.out", &[x, from, from]);
        method.call_delegate(delegate, &[from, to]);
        method.call("et_copy::_d2h_copy.out", &[to, y, y]);
        method.output(y);
        program.method(method);
    }
    let program = program.build().unwrap();
    program.to_bytes(&WriteOptions::default()).unwrap()
}

/// Runs the example on a program.
fn run(sim: &Sim, bytes: &[u8]) -> Result<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pte");
    std::fs::write(&path, bytes).unwrap();
    sim.reset(Config::seeded(1));
    let driver = Driver::open(Some(Sim::path()))?;
    let tensorrt = TensorRt::find(&driver, &Options::new().library(Sim::path()))?;
    let runtime = Runtime::builder()
        .backend(NAME, tensorrt)
        .device(Arc::new(driver.device(0)?));
    let runtime: Runtime = runtime.build();
    let report = prefill_decode::run(&runtime, &path);
    drop((runtime, driver));
    sim.assert_clean();
    report
}

#[test]
fn the_example_runs_programs_with_two_methods_and_with_one() {
    let sim = Sim::session(Config::seeded(1));
    for methods in [
        &[("prefill", 32), ("decode", 1)][..],
        &[("prefill", 32), ("decode", 32)],
        &[("forward", 32)],
    ] {
        for (dtype, scalar, name) in [
            (DType::F32, ScalarType::Float, "f32"),
            (DType::F16, ScalarType::Half, "f16"),
            (DType::BF16, ScalarType::BFloat16, "bf16"),
        ] {
            let report = run(&sim, &program(methods, dtype, scalar)).unwrap();
            // The first four inputs are -3, -2, -1 and 0.
            let numbers = "[-5.0, -3.0, -1.0, 1.0]";
            let prefill = format!("prefill: output 0 is {name}[32, 4], {numbers} ...");
            let decode = format!("decode: output 0 is {name}[1, 4], {numbers} ...");
            assert_eq!(report.matches(&prefill).count(), 2, "{report}");
            assert_eq!(report.matches(&decode).count(), 1, "{report}");
            assert!(report.contains("decode: 16 more, "), "{report}");
            // The first of each method, and of each of its other profiles.
            let contexts = 2 * methods.len() as u64;
            let made = sim.calls("nvinfer.ICudaEngine.createExecutionContext");
            assert_eq!(made, contexts);
        }
    }
}

#[test]
fn the_example_refuses_types_that_it_does_not_read() {
    let sim = Sim::session(Config::seeded(1));
    let bytes = program(&[("forward", 32)], DType::I32, ScalarType::Int);
    let error = run(&sim, &bytes).unwrap_err();
    assert!(error.message().contains("an input of i32"), "{error}");
}
