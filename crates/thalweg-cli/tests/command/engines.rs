//! Programs with TensorRT engines, which the stand-ins of the driver and of TensorRT run.

use std::path::Path;

use thalweg::format::{
    ExtraTensorInfo, MethodBuilder, ProgramBuilder, ScalarType, Value, WriteOptions,
};
use thalweg::tensorrt::{Alias, AliasKind, Binding, Container, Metadata, NAME};
use thalweg::{DeviceId, DeviceKind};
use thalweg_simgpu::Sim;
use thalweg_simgpu::nvinfer::{DType, EngineSpec, ProfileSpec};

use super::{Ran, path, thalweg_in};

/// Runs the command where the driver and TensorRT are the stand-ins.
pub(super) fn with_gpu<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Ran {
    let library = Sim::path().as_os_str();
    thalweg_in(
        &[("THALWEG_CUDA", library), ("THALWEG_TENSORRT", library)],
        arguments,
    )
}

/// Runs the command where there are neither a driver nor TensorRT.
pub(super) fn without_gpu<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Ran {
    let nowhere = "/nowhere/lib.so".as_ref();
    thalweg_in(
        &[("THALWEG_CUDA", nowhere), ("THALWEG_TENSORRT", nowhere)],
        arguments,
    )
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
        .affine("y", &[(3.0, "x")], 1.0)
        .to_bytes();
    let binding = |name: &str, is_input| Binding {
        name: name.into(),
        dtype: "float32".into(),
        shape: vec![-1, 8],
        is_input,
    };
    let metadata = Metadata {
        io_bindings: vec![binding("x", true), binding("y", false)],
        target_platform: format!("linux_{}", std::env::consts::ARCH),
        ..Metadata::default()
    };
    let engine = &engine;
    Container { metadata, engine }.to_bytes().unwrap()
}

/// Writes a program that runs the engine twice, by way of the host, as exporters write it: two
/// copies to the device and two to the host, of which one each is needed.
pub(super) fn write_program(path: &Path) {
    write_program_of(path, &[payload(), payload()]);
}

/// Writes a program whose first engine is none.
pub(super) fn write_broken_program(path: &Path) {
    write_program_of(path, &[b"no engine".to_vec(), payload()]);
}

fn write_program_of(path: &Path, payloads: &[Vec<u8>]) {
    let mut program = ProgramBuilder::new();
    let mut method = MethodBuilder::new("forward");
    let arena = method.arena(DeviceId {
        kind: DeviceKind::Cuda,
        index: 0,
    });
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
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_plan_says_which_copies_are_not_made_and_what_a_device_has() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let text = with_gpu(&["inspect", "--plan", path(&program)]).ok();
    assert!(text.contains("method forward: runs here"), "{text}");
    assert!(
        text.contains("plan: 2 of 4 copies between host and devices are not made\n"),
        "{text}"
    );
    assert!(text.contains("delegate 1 (TensorRTBackend)"), "{text}");
    let json = with_gpu(&["inspect", "--plan", "--json", path(&program)]).json();
    let plan = &json["methods"][0]["plan"];
    assert_eq!(plan["copies"], 4);
    assert_eq!(plan["copies_not_made"], 2);
    let runs = plan["instructions"].as_array().unwrap().iter();
    let runs: Vec<_> = runs.map(|it| it["runs"].as_str().unwrap()).collect();
    assert_eq!(
        runs,
        [
            "copied to cuda:0, unless input 0 is there",
            "by its backend",
            "not copied",
            "not copied",
            "by its backend",
            "copied from cuda:0",
        ]
    );
    assert_eq!(plan["device_memory"][0]["device"], "cuda:0");
    assert!(plan["device_memory"][0]["bytes"].as_u64().unwrap() >= 3 * 128);
}

#[test]
fn what_is_missing_is_named_with_the_reason_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let json = without_gpu(&["inspect", "--plan", "--json", path(&program)]).json();
    let method = &json["methods"][0];
    assert_eq!(json["runs_here"], false);
    assert_eq!(method["missing"]["backends"][0], NAME);
    assert_eq!(method["missing"]["devices"][0], "cuda:0");
    let reasons = method["missing"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().all(|reason| {
        let reason = reason.as_str().unwrap();
        reason.contains("/nowhere/lib.so (from THALWEG_CUDA)")
    }));
    assert_eq!(reasons.len(), 2);
    assert_eq!(method["delegates"][0]["available"], true);
    assert_eq!(method["delegates"][0]["works_here"], false);
    assert!(method["plan"]["error"].is_string());

    let why = "  cuda:0: no CUDA driver was found; looked at /nowhere/lib.so (from THALWEG_CUDA)";
    let text = without_gpu(&["inspect", "--plan", path(&program)]).ok();
    assert!(text.contains(&format!("\n{why}")), "{text}");
    assert!(text.contains("does not work here"), "{text}");
    // Not once more below.
    assert_eq!(text.matches(why).count(), 1, "{text}");
    let message = without_gpu(&["run", path(&program)]).refused();
    assert!(message.contains(why), "{message}");
}

#[test]
fn an_engine_is_described_by_its_container_alone() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let json = without_gpu(&["inspect", "--json", path(&program)]).json();
    let engine = &json["methods"][0]["delegates"][0]["engine"];
    assert_eq!(engine["device"], 0);
    assert_eq!(
        engine["platform"],
        format!("linux_{}", std::env::consts::ARCH)
    );
    assert_eq!(engine["hardware_compatible"], false);
    assert_eq!(engine["bindings"][0]["name"], "x");
    assert_eq!(engine["bindings"][0]["is_input"], true);
    assert_eq!(engine["bindings"][1]["dtype"], "float32");
    assert_eq!(engine["bindings"][1]["shape"], serde_json::json!([-1, 8]));
    assert!(engine["engine_bytes"].as_u64().unwrap() > 0);
    assert!(engine["tensorrt"].is_null());
    let reason = engine["not_shown"].as_str().unwrap();
    assert!(reason.contains("/nowhere/lib.so"), "{reason}");
    let text = without_gpu(&["inspect", path(&program)]).ok();
    assert!(text.contains("input   x  float32[?, 8]"), "{text}");
    let why = "profiles and weights are not shown: no CUDA driver was found";
    assert_eq!(text.matches(why).count(), 1, "{text}");
    assert!(text.contains("for the same reason"), "{text}");
}

#[test]
fn tensorrt_says_what_an_engine_takes_where_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let json = with_gpu(&["inspect", "--json", path(&program)]).json();
    let engine = &json["methods"][0]["delegates"][1]["engine"];
    assert!(engine["not_shown"].is_null());
    let described = &engine["tensorrt"];
    assert_eq!(described["bindings"][0]["dtype"], "f32");
    assert_eq!(described["bindings"][0]["on_host"], false);
    let profiles = described["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 2);
    assert_eq!(profiles[1]["scratch_bytes"], 4096);
    assert_eq!(profiles[1]["least_scratch_bytes"], 4096);
    let range = &profiles[1]["inputs"][0];
    assert_eq!(range["input"], "x");
    assert_eq!(range["min"], serde_json::json!([1, 8]));
    assert_eq!(range["opt"], serde_json::json!([2, 8]));
    assert_eq!(range["max"], serde_json::json!([64, 8]));
    let text = with_gpu(&["inspect", path(&program)]).ok();
    assert!(
        text.contains("profile 1: up to 4.0 KiB of scratch, whatever the shapes\n"),
        "{text}"
    );
    assert!(text.contains("x  [1 to 64, 8]  best at [2, 8]"), "{text}");
}

#[test]
fn a_broken_engine_has_its_error_and_the_rest_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_broken_program(&program);
    let json = with_gpu(&["inspect", "--json", path(&program)]).json();
    let delegates = &json["methods"][0]["delegates"];
    let error = delegates[0]["engine"]["error"].as_str().unwrap();
    assert!(error.contains("not a TensorRT container"), "{error}");
    assert!(delegates[1]["engine"]["tensorrt"].is_object());
    let text = with_gpu(&["inspect", path(&program)]).ok();
    assert!(
        text.contains("cannot be read: not a TensorRT container"),
        "{text}"
    );
    assert!(text.contains("profile 1"), "{text}");
}

#[test]
fn the_doctor_says_which_devices_there_are_and_that_tensorrt_works_there() {
    let report = with_gpu(&["doctor", "--json"]).json();
    let cuda = &report["cuda"];
    assert_eq!(cuda["search"][0]["found"], true);
    assert_eq!(cuda["version"], "13.0");
    let device = &cuda["devices"][0];
    assert_eq!(device["device"], "cuda:0");
    assert_eq!(device["compute_capability"], "9.0");
    assert_eq!(device["memory_bytes"], 8u64 << 30);
    assert!(device["free_bytes"].as_u64().unwrap() <= 8 << 30);
    assert!(!device["name"].as_str().unwrap().is_empty());
    let tensorrt = &report["tensorrt"];
    assert_eq!(tensorrt["search"][0]["found"], true);
    assert!(tensorrt["version"].as_str().unwrap().starts_with("10."));
    assert_eq!(tensorrt["flavor"], "TensorRT");
    assert_eq!(tensorrt["works_on"], "cuda:0");
    let mut backends = report["backends"].as_array().unwrap().iter();
    let backend = backends.find(|backend| backend["name"] == NAME).unwrap();
    assert_eq!(
        (&backend["name"], &backend["works"]),
        (&NAME.into(), &true.into())
    );
    let text = with_gpu(&["doctor"]).ok();
    assert!(text.contains("CUDA driver: for CUDA 13.0\n"), "{text}");
    assert!(text.contains("  works on cuda:0\n"), "{text}");
    assert!(text.contains("TensorRTBackend: works\n"), "{text}");
}

#[test]
fn the_doctor_names_every_place_and_says_how_to_get_what_is_missing() {
    let report = without_gpu(&["doctor", "--json"]).json();
    for library in ["cuda", "tensorrt"] {
        let attempts = report[library]["search"].as_array().unwrap();
        assert_eq!(attempts.len(), 1, "a file that is named is the only place");
        assert_eq!(attempts[0]["found"], false);
        let place = attempts[0]["place"].as_str().unwrap();
        assert!(place.contains("/nowhere/lib.so"), "{place}");
        let advice = report[library]["advice"].as_str().unwrap();
        assert!(advice.contains("install"), "{advice}");
    }
    let mut backends = report["backends"].as_array().unwrap().iter();
    let backend = backends.find(|backend| backend["name"] == NAME).unwrap();
    assert_eq!(
        (&backend["name"], &backend["works"]),
        (&NAME.into(), &false.into())
    );
    assert!(
        backend["why_not"]
            .as_str()
            .unwrap()
            .contains("/nowhere/lib.so")
    );
    let text = without_gpu(&["doctor"]).ok();
    assert!(
        text.contains("TensorRT: none that can be used\n  failed /nowhere/lib.so"),
        "{text}"
    );
    assert!(text.contains("  try: install TensorRT"), "{text}");
}

#[test]
fn the_doctor_looks_for_tensorrt_also_without_a_device() {
    let nowhere = "/nowhere/lib.so".as_ref();
    let library = Sim::path().as_os_str();
    let environment = [("THALWEG_CUDA", nowhere), ("THALWEG_TENSORRT", library)];
    let report = thalweg_in(&environment, &["doctor", "--json"]).json();
    let tensorrt = &report["tensorrt"];
    assert_eq!(tensorrt["search"][0]["found"], true);
    assert!(tensorrt["works_on"].is_null());
    assert_eq!(tensorrt["why_not"], "there is no device to try it on");
}

/// Makes a program with a recorded answer.
fn write_case(folder: &Path) {
    write_program(&folder.join("model.pte"));
    let record = serde_json::json!({
        "tolerance": 0, "rtol": 0, "stateful": false,
        "methods": {"forward": [{
            "inputs": [{"file": "x.bin", "dtype": "f32", "shape": [4, 8]}],
            "outputs": [{"file": "y.bin", "dtype": "f32", "shape": [4, 8]}],
        }]},
    });
    let bytes = |number: fn(f32) -> f32| -> Vec<u8> {
        let numbers = (0..32u8).map(|x| number(x.into()));
        numbers.flat_map(f32::to_le_bytes).collect()
    };
    std::fs::write(folder.join("case.json"), record.to_string()).unwrap();
    std::fs::write(folder.join("x.bin"), bytes(|x| x)).unwrap();
    std::fs::write(folder.join("y.bin"), bytes(|x| 9.0 * x + 4.0)).unwrap();
}

#[test]
fn recorded_answers_of_engines_are_verified_and_else_skipped_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    write_case(folder.path());
    for more in [
        &["--graph=off"][..],
        &["--own-stream", "--graph=on"],
        &["--at-once=4"],
    ] {
        let arguments = ["verify", path(folder.path()), "--repeat=4"];
        let out = with_gpu(&[&arguments[..], more].concat()).ok();
        assert!(out.contains("1 passed, 0 failed"), "{out}");
    }
    let out = with_gpu(&["verify", path(folder.path()), "--repeat", "4"]).ok();
    assert!(out.contains("1 passed, 0 failed, 0 skipped"), "{out}");
    let out = without_gpu(&["verify", path(folder.path())]).ok();
    assert!(out.contains("TensorRTBackend"), "{out}");
    assert!(out.contains("cuda:0: no CUDA driver was found"), "{out}");
    assert!(out.contains("0 passed, 0 failed, 1 skipped"), "{out}");
}

#[test]
fn inputs_and_outputs_are_measured_where_they_are_asked_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    for (inputs, place) in [
        ("host", "on the host"),
        ("pinned", "pinned on the host"),
        ("device", "on cuda:0"),
    ] {
        for outputs in ["host", "device"] {
            let arguments = [
                "bench",
                path(&program),
                "--inputs",
                inputs,
                "--outputs",
                outputs,
            ];
            let arguments = [&arguments[..], &["--repeat", "3", "--warmup", "1"]].concat();
            let json = with_gpu(&[&arguments[..], &["--json"]].concat()).json();
            assert_eq!(json["options"]["inputs"], inputs);
            assert_eq!(json["options"]["outputs"], outputs);
            let measured = &json["programs"][0];
            assert_eq!(measured["calls"], 3);
            let input = measured["inputs"][0].as_str().unwrap();
            assert!(input.ends_with(&format!(", {place}")), "{input}");
            let device = measured["devices"][0].as_str().unwrap();
            assert!(device.starts_with("device 0: "), "{device}");
            let alone = measured["call_alone_median_us"].as_f64();
            assert_eq!(alone.is_some(), outputs == "device");
            assert!(alone.unwrap_or(0.0) <= measured["p99_us"].as_f64().unwrap());
            let text = with_gpu(&arguments).ok();
            assert!(text.contains(&format!("input 0: {input}\n")), "{text}");
            assert!(text.contains(&format!(" uses {device}")), "{text}");
            let says = text.contains("synchronized once after each call");
            assert_eq!(says, outputs == "device", "{text}");
        }
    }
}

#[test]
fn methods_that_share_scratch_are_measured_beside_those_that_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let bench = |flag: &str| {
        let arguments = [
            "bench",
            path(&program),
            flag,
            "--repeat",
            "7",
            "--warmup",
            "1",
        ];
        let json = with_gpu(&[&arguments[..], &["--json"]].concat()).json();
        let text = with_gpu(&arguments).ok();
        (json["programs"].as_array().unwrap().clone(), text)
    };
    let (both, text) = bench("--shared-scratch=both");
    assert_eq!(both.len(), 2);
    assert_eq!(both[0]["shared_scratch"], false);
    assert!(both[0]["scratch"].is_null());
    assert_eq!(both[1]["shared_scratch"], true);
    // Two engines of 4 KiB.
    assert_eq!(both[1]["scratch"]["bytes"], 4096);
    assert_eq!(both[1]["scratch"]["buffers"], 1);
    assert!(both.iter().all(|measured| measured["calls"] == 7));
    assert!(
        text.contains("shares scratch: 4.0 KiB in 1 buffer"),
        "{text}"
    );
    let (on, _) = bench("--shared-scratch");
    assert_eq!(on.len(), 1);
    assert_eq!(on[0]["shared_scratch"], true);
    let (off, text) = bench("--shared-scratch=off");
    assert!(off[0]["shared_scratch"].is_null());
    assert!(!text.contains("scratch"), "{text}");
}

/// Writes a program whose engine updates a named buffer by way of the host.
fn write_stateful_program(path: &Path) {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(payload());
    let mut method = MethodBuilder::new("forward");
    let arena = method.arena(DeviceId {
        kind: DeviceKind::Cuda,
        index: 0,
    });
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
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_plan_names_what_stays_on_a_device_and_when_it_is_brought_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_stateful_program(&program);
    let json = with_gpu(&["inspect", "--plan", "--json", path(&program)]).json();
    let plan = &json["methods"][0]["plan"];
    let kept = serde_json::json!([{"name": "cache", "bytes": 128, "device": "cuda:0"}]);
    assert_eq!(plan["kept"], kept, "{plan:#}");
    let first = serde_json::json!([{"kept": 0, "to": "cuda:0"}]);
    let brought = plan["instructions"].as_array().unwrap().iter();
    assert_eq!(brought.filter(|it| it["first"] == first).count(), 1);
    let text = with_gpu(&["inspect", "--plan", path(&program)]).ok();
    assert!(text.contains("first: cache to cuda:0\n"), "{text}");
    assert!(
        text.contains("  stays on devices from call to call\n    cache  128 B  on cuda:0\n"),
        "{text}"
    );
}

#[test]
fn a_container_says_who_built_the_engine_and_for_what() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    let binding = |name: &str, is_input| Binding {
        name: name.into(),
        is_input,
        ..Binding::default()
    };
    let mut engine = [0; 40];
    engine[..4].copy_from_slice(b"ftrt");
    engine[24..28].copy_from_slice(&[10, 6, 0, 26]);
    let container = Container {
        metadata: Metadata {
            io_bindings: vec![binding("cache", true), binding("cache_out", false)],
            aliased_io: vec![Alias {
                output: "cache_out".into(),
                input: "cache".into(),
                kind: AliasKind::User,
            }],
            hardware_compatible: true,
            device_id: 3,
            ..Metadata::default()
        },
        engine: &engine,
    };
    write_program_of(&program, &[container.to_bytes().unwrap()]);
    let text = without_gpu(&["inspect", path(&program)]).ok();
    let facts =
        "engine of 40 B, built by TensorRT 10.6.0, for device 3, for more than one kind of GPU";
    assert!(text.contains(facts), "{text}");
    assert!(
        text.contains("cache_out is the memory of cache, says the exporter"),
        "{text}"
    );
    // The stand-in has no such device, and says so.
    let json = with_gpu(&["inspect", "--json", path(&program)]).json();
    let engine = &json["methods"][0]["delegates"][0]["engine"];
    assert_eq!(engine["built_by"], "10.6.0");
    assert_eq!(engine["aliases"][0]["said_by"], "exporter");
    assert!(engine["bindings"][0]["dtype"].is_null());
    let reason = engine["not_shown"].as_str().unwrap();
    assert!(reason.contains("device 3"), "{reason}");
}

/// The payload of an engine that computes `y = 3 x + 1` and cannot be recorded as a graph.
fn payload_with_weights_on_the_host() -> Vec<u8> {
    let mut engine = EngineSpec::new()
        .input("x", DType::F32, &[4, 8])
        .output_like("y", "x")
        .profile(ProfileSpec::new())
        .affine("y", &[(3.0, "x")], 1.0);
    engine.streamable = 4096;
    let engine = &engine.to_bytes();
    let binding = |name: &str, is_input| Binding {
        name: name.into(),
        is_input,
        ..Binding::default()
    };
    let metadata = Metadata {
        io_bindings: vec![binding("x", true), binding("y", false)],
        ..Metadata::default()
    };
    Container { metadata, engine }.to_bytes().unwrap()
}

/// Writes a program of one engine, before which the host computes `relu`, and whose weights are on
/// the host.
fn write_mixed_program(path: &Path) {
    let mut program = ProgramBuilder::new();
    let mut method = MethodBuilder::new("forward");
    let arena = method.arena(DeviceId {
        kind: DeviceKind::Cuda,
        index: 0,
    });
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
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn engines_are_measured_by_themselves_beside_the_method() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let arguments = ["bench", "--floor", path(&program), "--repeat", "12"];
    let report = with_gpu(&[&arguments[..], &["--json"]].concat()).json();
    assert_eq!(report["options"]["rounds"], 5);
    assert_eq!(report["options"]["warmup"], 10);
    let measured = &report["programs"][0];
    assert_eq!(measured["engine_calls"], 2);
    assert_eq!(measured["bytes_to_device"], 128);
    assert_eq!(measured["bytes_to_host"], 128);
    assert_eq!(measured["same_outputs"], true);
    assert_eq!(measured["not_in_floor"], serde_json::json!([]));
    let (loading, kinds) = measured["kinds"].as_array().unwrap().split_last().unwrap();
    assert_eq!(loading["memory"], "load");
    for what in ["method", "floor"] {
        assert_eq!(loading[what]["calls"], 12);
    }
    let names: Vec<_> = kinds
        .iter()
        .map(|it| it["memory"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["pinned", "pinned, graph", "device", "pageable"]);
    for kind in kinds {
        let median = |what: &str| {
            // Twelve calls in five turns are three a turn.
            assert_eq!(kind[what]["calls"], 15, "{kind}");
            kind[what]["median_us"].as_f64().unwrap()
        };
        let (method, floor) = (median("method"), median("floor"));
        let number = |name: &str| kind[name].as_f64().unwrap();
        assert!((number("ratio") - method / floor).abs() < 1e-6, "{kind}");
        assert!(
            (number("over_us") - (method - floor)).abs() < 1e-6,
            "{kind}"
        );
        assert!(floor > 0.0);
    }
    let text = with_gpu(&arguments).ok();
    assert!(text.contains("15 calls of each, in turns of 3"), "{text}");
    assert!(text.contains("2 calls of engines"), "{text}");
    for absent in ["the floor is that of the engines alone", "other outputs"] {
        assert!(!text.contains(absent), "{text}");
    }
}

#[test]
fn what_is_not_in_a_floor_and_what_cannot_be_measured_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_mixed_program(&program);
    let arguments = ["bench", "--floor", path(&program), "--repeat", "2"];
    let report = with_gpu(&[&arguments[..], &["--json"]].concat()).json();
    let measured = &report["programs"][0];
    assert_eq!(
        measured["not_in_floor"],
        serde_json::json!(["1 operator on the host"])
    );
    assert_eq!(measured["same_outputs"], true);
    let graph = &measured["kinds"][1];
    for what in ["method", "floor"] {
        assert!(graph[what]["not_measured"].is_string(), "{graph}");
    }
    assert!(graph["ratio"].is_null());
    assert_eq!(measured["kinds"][3]["floor"]["calls"], 2);
    let text = with_gpu(&arguments).ok();
    assert!(
        text.contains("the method also runs 1 operator on the host"),
        "{text}"
    );
    assert!(text.contains("no floor for `pinned, graph`: "), "{text}");
}

#[test]
fn there_is_no_floor_without_engines_that_run() {
    let message = with_gpu(&["bench", "--floor", "fixtures/add"]).refused();
    assert!(message.contains("has no delegates"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let message = without_gpu(&["bench", "--floor", path(&program)]).refused();
    assert!(message.contains("/nowhere/lib.so"), "{message}");
    let message = with_gpu(&["bench", "--floor", path(&program), "--inputs", "pinned"]).err;
    assert!(message.contains("cannot be used with"), "{message}");
    write_broken_program(&program);
    let message = with_gpu(&["bench", "--floor", path(&program)]).refused();
    assert!(message.contains("not a TensorRT container"), "{message}");
}

/// A program with an engine with two profiles, and two recorded calls, of 4 rows and of 1.
fn write_two_calls(folder: &Path) {
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
    for rows in [4, 1] {
        let bytes = |number: fn(f32) -> f32| -> Vec<u8> {
            let numbers = (0..rows * 8u8).map(|x| number(x.into()));
            numbers.flat_map(f32::to_le_bytes).collect()
        };
        std::fs::write(folder.join(format!("x{rows}.bin")), bytes(|x| x)).unwrap();
        std::fs::write(
            folder.join(format!("y{rows}.bin")),
            bytes(|x| 3.0 * x + 1.0),
        )
        .unwrap();
    }
    let mut program = ProgramBuilder::new();
    let mut method = MethodBuilder::new("forward");
    let arena = method.arena(DeviceId {
        kind: DeviceKind::Cuda,
        index: 0,
    });
    let payload = program.payload(payload());
    let delegate = method.delegate(NAME, payload, &[]);
    let mut there = || {
        let tensor = method.tensor_in(arena, ScalarType::Float, &[64, 8]);
        if let Value::Tensor(tensor) = &mut method.edit().values[tensor as usize] {
            tensor.dynamism = thalweg::format::ShapeDynamism::DynamicBound;
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
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    std::fs::write(folder.join("model.pte"), bytes).unwrap();
}

#[test]
fn profiles_are_pinned_for_every_command_that_runs_and_what_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_two_calls(folder.path());
    let case = path(folder.path());
    for spec in ["0", "1", "forward=1", "forward:0=0", ":0=1", ":engine=1"] {
        with_gpu(&["verify", "--profile", spec, case]).ok();
        with_gpu(&["run", "--profile", spec, case]).ok();
        with_gpu(&["bench", "--profile", spec, "--repeat", "2", case]).ok();
    }
    let floor = ["bench", "--floor", "--profile=1", "--repeat=5", case];
    with_gpu(&floor).ok();
    for (spec, text) in [
        (
            "2",
            "delegate 0 (TensorRTBackend, `engine`) has profiles 0 to 1",
        ),
        ("decode=1", "method `decode`, which is not there"),
        (":1=1", "delegate 1, which is not there"),
        ("forward:layers=1", "delegate `layers` of method `forward`"),
    ] {
        let message = with_gpu(&["run", "--profile", spec, case]).refused();
        assert!(message.contains(text), "{message}");
    }
    // Profile 0 takes 1 to 4 rows.
    let wide = ["run", "--profile=0", "--input=zeros[5,8]", case];
    let message = with_gpu(&wide).refused();
    assert!(message.contains("profile 0 is pinned"), "{message}");
    assert_eq!(with_gpu(&["run", "--profile", "x", case]).code, 2);
}

#[test]
fn recorded_calls_take_turns_and_the_first_round_is_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    write_two_calls(folder.path());
    let case = path(folder.path());
    let json = with_gpu(&[
        "bench",
        "--alternate=0@1,1@0",
        "--repeat=10",
        "--warmup=1",
        "--rounds=3",
        "--json",
        case,
    ])
    .json();
    assert_eq!(json["options"]["rounds_not_counted"], 1);
    let turns = json["programs"][0]["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["call"], "call 0: forward f32[4, 8], profile 1");
    assert_eq!(turns[1]["call"], "call 1: forward f32[1, 8], profile 0");
    for turn in turns {
        let modes = turn["modes"].as_array().unwrap();
        let names: Vec<_> = modes.iter().map(|mode| mode["mode"].clone()).collect();
        assert_eq!(names, ["staying", "alternating", "one context"]);
        for mode in modes {
            assert_eq!(mode["calls"], 10);
            let number = |name: &str| mode[name].as_f64().unwrap();
            assert!(number("best_us") <= number("median_us"));
            assert!(number("median_us") <= number("p90_us"));
            assert!(number("p90_us") <= number("p99_us"));
        }
        assert_eq!(modes[0]["more_us"], 0.0);
    }
    let text = with_gpu(&[
        "bench",
        "--alternate",
        "--repeat=2",
        "--inputs=device",
        "--outputs=device",
        case,
    ])
    .ok();
    assert!(text.contains("the first is not counted"), "{text}");
    assert!(text.contains("call 1: forward f32[1, 8]"), "{text}");
}

#[test]
fn turns_that_would_leave_nothing_to_measure_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_two_calls(folder.path());
    let case = path(folder.path());
    for (arguments, text) in [
        (
            &["--alternate", "--rounds=1"][..],
            "one round leaves nothing to measure",
        ),
        (&["--alternate=0@1"], "nothing to alternate with"),
        (
            &["--alternate=0,2"],
            "there is no call 2; the record has 2 calls",
        ),
        (&["--alternate=0@7,1@0"], "has profiles 0 to 1"),
    ] {
        let arguments: Vec<_> = ["bench"].iter().chain(arguments).copied().collect();
        let message = with_gpu(&[&arguments[..], &[case]].concat()).refused();
        assert!(message.contains(text), "{message}");
    }
    let program = folder.path().join("model.pte");
    let message = with_gpu(&["bench", "--alternate", path(&program)]).refused();
    assert!(message.contains("no recorded calls"), "{message}");
    for conflict in ["--floor", "--method=forward", "--repeat=0"] {
        let ran = with_gpu(&["bench", "--alternate", conflict, case]);
        assert_eq!(ran.code, 2, "{}", ran.err);
    }
}
