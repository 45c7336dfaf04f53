//! Engines and programs that are refused, and the errors.

use super::*;
use thalweg_core::ErrorKind;
use thalweg_simgpu::nvinfer::TensorRt as Played;

fn refused(model: &Model, parts: &[&str]) {
    on_every_machine(1, |driver| {
        let error = model.method(driver).unwrap_err();
        let text = error.to_string();
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    });
}

#[test]
fn an_engine_of_another_version_is_refused_with_what_tensorrt_says() {
    let mut model = affine();
    model.engine = model.engine.version(10, 9, 0);
    refused(
        &model,
        &[
            "Version tag",
            "this is TensorRT 10.6.0",
            "compute capability 9.0",
        ],
    );
}

#[test]
fn an_engine_for_another_device_is_refused() {
    let mut model = affine();
    model.engine.capability = Some((8, 6));
    refused(
        &model,
        &["deserializeCudaEngine failed", "compute capability 9.0"],
    );
}

#[test]
fn a_device_that_is_not_there_is_named() {
    for device_id in [3, -1] {
        let mut model = affine();
        model.metadata.device_id = device_id;
        let device = format!("device {device_id}");
        refused(&model, &[&device, "the devices here are 0 to 0"]);
    }
}

#[test]
fn an_engine_with_code_for_the_host_runs_only_where_that_is_allowed() {
    let mut model = affine();
    model.engine.host_code = true;
    refused(&model, &["deserializeCudaEngine failed"]);
    on_every_machine(1, |driver| {
        let options = Options::new().library(Sim::path()).host_code(true);
        let tensorrt = TensorRt::find(driver, &options).unwrap();
        let program = load(&tensorrt, driver, model.bytes(), &LoadOptions::new()).unwrap();
        let mut method = program.method("forward").unwrap();
        let x = numbers(0, &[8, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
    });
}

#[test]
fn the_metadata_must_be_about_the_engine() {
    let mut model = affine();
    model.ios[1].name = "z";
    refused(&model, &["no input or output `z`", "it has x, y"]);
    let mut model = affine();
    model.engine = model.engine.input("extra", DType::F32, &[1]);
    refused(&model, &["`extra`, which the metadata does not name"]);
    let mut model = affine();
    model.ios = vec![input("y", &[8, 8]), output("x", &[8, 8])];
    refused(
        &model,
        &["`y` is an output of the engine, but the metadata says"],
    );
}

#[test]
fn what_an_engine_fails_with_is_the_error() {
    let mut model = affine();
    model.engine.fails_to_deserialize = Some("bad weights".into());
    refused(&model, &["bad weights"]);
    let mut model = affine();
    model.engine.fails_to_create_context = Some("no room".into());
    refused(&model, &["createExecutionContext failed", "no room"]);
    let mut model = affine();
    model.engine.fails_to_enqueue = Some("a bad day".into());
    on_every_machine(1, |driver| {
        let mut method = model.method(driver).unwrap();
        let error = run(&mut method, &[&numbers(0, &[8, 8])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Delegate);
        let text = error.to_string();
        assert!(
            text.contains("enqueueV3 failed") && text.contains("a bad day"),
            "{text}"
        );
        assert!(text.contains("instruction 1"), "{text}");
    });
}

#[test]
fn types_must_agree() {
    let mut model = affine();
    model.ios[0].dtype = ScalarType::Int;
    on_every_machine(1, |driver| {
        let mut method = model.method(driver).unwrap();
        let x = Tensor::from_slice(&[0i32; 64], &[8, 8]).unwrap();
        let error = run(&mut method, &[&x]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("of f32 for the engine, but of i32"),
            "{error}"
        );
    });
}

#[test]
fn the_number_of_arguments_must_agree() {
    let mut model = affine();
    model.ios.push(output("y", &[8, 8]));
    // Only the program gets it: the container would refuse the name.
    let payload = affine().payload();
    let mut program = ProgramBuilder::new();
    let payload = program.payload(payload);
    let mut method = MethodBuilder::new("forward");
    let delegate = method.delegate(NAME, payload, &[]);
    let x = method.tensor(ScalarType::Float, &[8, 8]);
    method.input(x);
    method.call_delegate(delegate, &[x]);
    method.output(x);
    program.method(method);
    let bytes = program
        .build()
        .unwrap()
        .to_bytes(&WriteOptions::default())
        .unwrap();
    on_every_machine(1, |driver| {
        let tensorrt = tensorrt(driver).unwrap();
        let program = load(&tensorrt, driver, bytes.clone(), &LoadOptions::new()).unwrap();
        let mut method = program.method("forward").unwrap();
        let error = run(&mut method, &[&numbers(0, &[8, 8])]).unwrap_err();
        assert!(
            error.to_string().contains("called with 1 arguments"),
            "{error}"
        );
    });
}

#[test]
fn a_small_number_instead_of_a_runtime_is_an_error() {
    use thalweg_simgpu::Fault;
    let sim = Sim::session(Config::seeded(0));
    sim.faults(&[Fault::Call {
        function: "nvinfer.createInferRuntime_INTERNAL".into(),
        nth: 1,
        code: 3,
    }]);
    let driver = open();
    let error = affine().method(&driver).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("createInferRuntime") && text.contains("0x3"),
        "{text}"
    );
    // The next one is a runtime.
    let mut method = affine().method(&driver).unwrap();
    run(&mut method, &[&numbers(0, &[8, 8])]).unwrap();
    drop((method, driver));
    sim.assert_clean();
}

#[test]
fn a_version_that_runs_newer_engines_says_which_one_built_them() {
    let sim = Sim::session(Config::seeded(0).with_tensorrt(Played::new(11, 1, 0)));
    // The engine of a real 10.6 begins like this.
    let mut engine = vec![0; 64];
    engine[..4].copy_from_slice(b"ftrt");
    engine[24..28].copy_from_slice(&[10, 6, 0, 26]);
    let metadata = Metadata {
        io_bindings: vec![Binding {
            name: "y".into(),
            ..Binding::default()
        }],
        ..Metadata::default()
    };
    let engine = &engine;
    let payload = Container { metadata, engine }.to_bytes().unwrap();
    let driver = open();
    let error = tensorrt(&driver)
        .unwrap()
        .describe(&payload, None)
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("built by TensorRT 10.6.0, and this is TensorRT 11.1.0"),
        "{text}"
    );
    drop(driver);
    sim.assert_clean();
}
