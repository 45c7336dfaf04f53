//! Engines that are measured by themselves.

#[path = "../../thalweg-tensorrt/tests/engines/models.rs"]
#[allow(dead_code, reason = "the tests of the backend use the rest")]
mod models;

use thalweg_baseline::{Baseline, Recorder, Variant};
use thalweg_core::{ErrorKind, Result, Tensor};
use thalweg_cuda::Driver;
use thalweg_format::ScalarType;
use thalweg_runtime::{LoadOptions, Method};
use thalweg_simgpu::nvinfer::{Compute, DType, Dim, EngineSpec, ProfileSpec};
use thalweg_simgpu::{Config, Sim, WorkKind};

use models::*;

const ALL: [Variant; 4] = [
    Variant::Nothing,
    Variant::Pinned,
    Variant::PinnedGraph,
    Variant::Pageable,
];

/// A program of one engine, whose calls are recorded.
fn record(model: &Model, driver: &Driver) -> Result<(Recorder, Method)> {
    let recorder = Recorder::new(&tensorrt(driver)?);
    let options = LoadOptions::new();
    let program = load_in(recorder.clone(), driver, model.bytes(), &options)?;
    Ok((recorder, program.method("forward")?))
}

/// The bytes of a call's outputs.
fn call(method: &mut Method, inputs: &[&Tensor]) -> Result<Vec<Vec<u8>>> {
    let inputs: Vec<_> = inputs.iter().map(|tensor| (*tensor).into()).collect();
    let outputs = method.run(&inputs)?;
    let outputs = outputs.iter();
    outputs
        .map(|output| Ok(output?.tensor()?.bytes().to_vec()))
        .collect()
}

/// The baseline of one call.
fn baseline(recorder: &Recorder, inputs: &[&Tensor], outputs: &[Vec<u8>]) -> Result<Baseline> {
    let inputs: Vec<_> = inputs.iter().map(|tensor| tensor.view().bytes()).collect();
    let outputs: Vec<_> = outputs.iter().map(|bytes| &**bytes).collect();
    recorder.baseline(&inputs, &outputs)
}

#[test]
fn every_measurement_has_its_calls_and_computes_what_the_method_does() {
    on_every_machine(60, |driver| {
        let (recorder, mut method) = record(&dynamic(), driver).unwrap();
        let x = numbers(3, &[5, 8]);
        // Two calls, one on what the other gave, are as two engines in a row.
        let first = call(&mut method, &[&x]).unwrap();
        let y = Tensor::from_slice(&tripled(&x), &[5, 8]).unwrap();
        assert_eq!(first[0], y.view().bytes());
        let second = call(&mut method, &[&y]).unwrap();
        let mut baseline = baseline(&recorder, &[&x], &second).unwrap();
        assert_eq!(baseline.engines(), 2);
        assert_eq!(baseline.copied(), (160, 160));
        for variant in ALL {
            let times = baseline.measure(variant, 2, 7).unwrap();
            assert_eq!(times.len(), 7, "{variant:?}");
            assert_eq!(baseline.outputs().unwrap(), second, "{variant:?}");
        }
    });
}

#[test]
fn a_call_enqueues_and_waits_once_and_does_nothing_else() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let (recorder, mut method) = record(&affine(), &driver).unwrap();
    let x = numbers(1, &[8, 8]);
    let outputs = call(&mut method, &[&x]).unwrap();
    drop(method);
    let mut baseline = baseline(&recorder, &[&x], &outputs).unwrap();
    let (up, down) = ("cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync");
    let (enqueue, launch) = ("nvinfer.IExecutionContext.enqueueV3", "cuGraphLaunch");
    let wait = "cuStreamSynchronize";
    let allowed = [
        "cuCtxGetCurrent",
        "cuCtxPushCurrent",
        "cuCtxPopCurrent",
        "cuThreadExchangeStreamCaptureMode",
        "cuLaunchKernel",
    ];
    for (variant, expected) in [
        (Variant::Nothing, vec![enqueue, wait]),
        (Variant::Pinned, vec![up, enqueue, down, wait]),
        (Variant::PinnedGraph, vec![launch, wait]),
        (Variant::Pageable, vec![up, enqueue, down, wait]),
    ] {
        let mut counts = |repeat: usize| {
            let before = sim.call_counts();
            baseline.measure(variant, 1, repeat).unwrap();
            let after = sim.call_counts().into_iter();
            let count = |name: &str| before.iter().find(|(n, _)| n == name).map_or(0, |it| it.1);
            after
                .map(|(name, now)| (name.clone(), now - count(&name)))
                .collect::<Vec<_>>()
        };
        let (few, many) = (counts(1), counts(11));
        for name in &expected {
            assert!(many.iter().any(|it| it.0 == *name), "{variant:?}: {name}");
        }
        for (name, many) in many {
            let few = few.iter().find(|it| it.0 == name).map_or(0, |it| it.1);
            let each = (many as f64 - few as f64) / 10.0;
            match expected.contains(&&*name) {
                true => assert_eq!(each, 1.0, "{variant:?}: {name}"),
                false if allowed.contains(&&*name) => {}
                // What comes with a measurement, whatever its length, may differ a little.
                false => assert!(each < 0.5, "{variant:?}: {name} {each}"),
            }
        }
    }
    drop((baseline, recorder, driver));
    sim.assert_clean();
}

#[test]
fn copies_are_as_large_as_what_the_method_took_and_gave() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let (recorder, mut method) = record(&affine(), &driver).unwrap();
    let x = numbers(1, &[8, 8]);
    let outputs = call(&mut method, &[&x]).unwrap();
    // Inputs and outputs that no engine has, too: the host looks at them.
    let (more, none) = (numbers(7, &[3]), numbers(0, &[0]));
    let outputs = [outputs[0].clone(), vec![1, 2, 3]];
    let mut baseline = baseline(&recorder, &[&x, &more, &none], &outputs).unwrap();
    assert_eq!(baseline.copied(), (256 + 12, 256 + 3));
    sim.clear_log();
    baseline.measure(Variant::Pinned, 0, 1).unwrap();
    sim.drain();
    assert_eq!(sim.copies(WorkKind::HostToDevice), 2);
    assert_eq!(sim.copies(WorkKind::DeviceToHost), 2);
    drop((baseline, method, recorder, driver));
    sim.assert_clean();
}

#[test]
fn scratch_is_one_buffer_for_all_engines_and_the_engine_is_the_methods() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let mut model = affine();
    model.engine.profiles = vec![ProfileSpec::new().scratch(1 << 20)];
    let (recorder, mut method) = record(&model, &driver).unwrap();
    let x = numbers(1, &[8, 8]);
    for _ in 0..3 {
        call(&mut method, &[&x]).unwrap();
    }
    let loaded = sim.calls("nvinfer.IRuntime.deserializeCudaEngine");
    let before = sim.used_memory(0);
    let baseline = baseline(&recorder, &[&x], &[]).unwrap();
    assert_eq!(baseline.engines(), 3);
    let taken = sim.used_memory(0) - before;
    assert!((1 << 20..2 << 20).contains(&taken), "{taken}");
    assert_eq!(sim.calls("nvinfer.IRuntime.deserializeCudaEngine"), loaded);
    drop((baseline, method, recorder, driver));
    sim.assert_clean();
}

#[test]
fn loading_is_what_tensorrt_does_for_each_engine_and_each_context() {
    let mut streamed = affine();
    streamed.engine.streamable = 4096;
    for model in [affine(), streamed] {
        let sim = Sim::session(Config::seeded(0));
        let driver = open();
        let (recorder, mut method) = record(&model, &driver).unwrap();
        let x = numbers(1, &[8, 8]);
        for _ in 0..2 {
            call(&mut method, &[&x]).unwrap();
        }
        let baseline = baseline(&recorder, &[&x], &[]).unwrap();
        let counts = || {
            let counts = sim.call_counts();
            [
                "nvinfer.IRuntime.deserialize",
                "nvinfer.ICudaEngine.createExecutionContext",
                "nvinfer.createInferRuntime",
            ]
            .map(|name| -> u64 {
                let named = counts
                    .iter()
                    .filter(|(function, _)| function.starts_with(name));
                named.map(|(_, count)| count).sum()
            })
        };
        let before = counts();
        assert_eq!(baseline.measure_loading(3).unwrap().len(), 3);
        // One engine, which is called twice.
        assert_eq!(counts(), [before[0] + 3, before[1] + 6, before[2]]);
        drop((baseline, method, recorder, driver));
        sim.assert_clean();
    }
}

#[test]
fn what_an_engine_gives_is_where_the_next_one_takes_it() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let sizes = [64, 1024];
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[64, 1024])
        .output_like("y", "x")
        .profile(ProfileSpec::new())
        .affine("y", &[(3.0, "x")], 1.0);
    let model = Model::new(engine, &[input("x", &sizes), output("y", &sizes)]);
    let (recorder, mut method) = record(&model, &driver).unwrap();
    let x = numbers(1, &[64, 1024]);
    call(&mut method, &[&x]).unwrap();
    let y = Tensor::from_slice(&tripled(&x), &[64, 1024]).unwrap();
    let outputs = call(&mut method, &[&y]).unwrap();
    let before = sim.used_memory(0);
    let baseline = baseline(&recorder, &[&x], &outputs).unwrap();
    // The input, what is between the two, and the output.
    let taken = sim.used_memory(0) - before;
    assert!((3 << 18..4 << 18).contains(&taken), "{taken}");
    drop((baseline, method, recorder, driver));
    sim.assert_clean();
}

#[test]
fn the_profile_is_the_one_that_the_method_has_used() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let mut model = dynamic();
    let profile = |max, scratch| {
        let profile = ProfileSpec::new().shape("x", &[1, 8], &[1, 8], &[max, 8]);
        profile.scratch(scratch)
    };
    model.engine.profiles = vec![profile(4, 1 << 12), profile(64, 1 << 22)];
    let (recorder, mut method) = record(&model, &driver).unwrap();
    // The last time, both would do, and the method stays with the one that it has.
    for (rows, scratch) in [(4, 1u64 << 12), (5, 1 << 22), (4, 1 << 22)] {
        let x = numbers(1, &[rows, 8]);
        let outputs = call(&mut method, &[&x]).unwrap();
        let before = sim.used_memory(0);
        let mut baseline = baseline(&recorder, &[&x], &outputs).unwrap();
        let taken = sim.used_memory(0) - before;
        assert!((scratch..scratch + (1 << 12)).contains(&taken), "{taken}");
        baseline.measure(Variant::Pinned, 0, 2).unwrap();
        assert_eq!(baseline.outputs().unwrap(), outputs);
    }
    drop((method, recorder, driver));
    sim.assert_clean();
}

#[test]
fn updates_in_place_go_on_from_call_to_call_and_leave_the_methods_input() {
    on_every_machine(20, |driver| {
        let (model, x, total) = in_place();
        let (recorder, mut method) = record(&model, driver).unwrap();
        let outputs = call(&mut method, &[&x, &total]).unwrap();
        let mut baseline = baseline(&recorder, &[&x, &total], &outputs).unwrap();
        baseline.measure(Variant::Pinned, 0, 3).unwrap();
        let expected: Vec<u8> = (0..64)
            .flat_map(|i| (10.0f32 + 4.0 * i as f32).to_ne_bytes())
            .collect();
        assert_eq!(baseline.outputs().unwrap(), [expected]);
        for variant in ALL {
            baseline.measure(variant, 1, 2).unwrap();
        }
    });
}

/// `new = x + total`, which is in the memory of `total`.
fn in_place() -> (Model, Tensor, Tensor) {
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[64])
        .input("total", DType::F32, &[64])
        .output_in_place("new", "total")
        .profile(ProfileSpec::new().scratch(512))
        .affine("new", &[(1.0, "x"), (1.0, "total")], 0.0);
    let ios = [
        input("x", &[64]),
        input("total", &[64]),
        output("new", &[64]),
    ];
    let model = Model::new(engine, &ios).alias("new", "total");
    (model, numbers(0, &[64]), numbers(10, &[64]))
}

#[test]
fn values_on_the_host_and_sizes_that_depend_on_data_are_measured_too() {
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[64])
        .input("one", DType::F32, &[1])
        .host_input("n", DType::I64, &[1])
        .output("y", DType::F32, &[Dim::Value("n".into(), 0)])
        .output("at", DType::I64, &[Dim::Fixed(1), Dim::Data])
        .profile(
            ProfileSpec::new()
                .values("n", &[1], &[8], &[16])
                .scratch(1024),
        )
        .affine("y", &[(3.0, "one")], 1.0)
        .compute(Compute::NonZero {
            input: "x".into(),
            output: "at".into(),
        });
    let mut n = input("n", &[1]).of(ScalarType::Long);
    n.on_host = true;
    let ios = [
        input("x", &[64]),
        input("one", &[1]),
        n,
        output("y", &[16]).dynamic(),
        output("at", &[1, 64]).of(ScalarType::Long).dynamic(),
    ];
    let model = Model::new(engine, &ios);
    on_every_machine(20, |driver| {
        let (recorder, mut method) = record(&model, driver).unwrap();
        let (x, one) = (numbers(-2, &[64]), numbers(1, &[1]));
        let n = Tensor::from_slice(&[5i64], &[1]).unwrap();
        let outputs = call(&mut method, &[&x, &one, &n]).unwrap();
        assert_eq!(outputs[0].len(), 20);
        let mut baseline = baseline(&recorder, &[&x, &one, &n], &outputs).unwrap();
        for variant in [Variant::Nothing, Variant::Pinned, Variant::Pageable] {
            assert_eq!(baseline.measure(variant, 1, 3).unwrap().len(), 3);
            assert_eq!(baseline.outputs().unwrap(), outputs);
        }
    });
}

#[test]
fn an_engine_that_cannot_be_captured_says_so_and_is_measured_without_a_graph() {
    on_every_machine(5, |driver| {
        let mut model = affine();
        model.engine.streamable = 4096;
        model.compile_specs = vec![("weight_streaming_budget", b"0".to_vec())];
        let (recorder, mut method) = record(&model, driver).unwrap();
        let x = numbers(1, &[8, 8]);
        let outputs = call(&mut method, &[&x]).unwrap();
        let mut baseline = baseline(&recorder, &[&x], &outputs).unwrap();
        for _ in 0..2 {
            assert!(baseline.measure(Variant::PinnedGraph, 1, 2).is_err());
            assert_eq!(baseline.measure(Variant::Pinned, 1, 2).unwrap().len(), 2);
            assert_eq!(baseline.outputs().unwrap(), outputs);
        }
    });
}

#[test]
fn without_engines_there_is_no_baseline_and_a_wrong_payload_is_refused() {
    on_every_machine(1, |driver| {
        let (recorder, mut method) = record(&affine(), driver).unwrap();
        let refused = || recorder.baseline(&[], &[]).err().unwrap();
        assert_eq!(refused().kind(), ErrorKind::InvalidInput);
        assert!(refused().to_string().contains("no engine of TensorRT"));
        // The recorded calls are taken.
        let x = numbers(1, &[8, 8]);
        call(&mut method, &[&x]).unwrap();
        drop(baseline(&recorder, &[&x], &[]).unwrap());
        refused();

        let mut model = affine();
        model.engine = model.engine.output_like("z", "x");
        let error = record(&model, driver).err().unwrap();
        assert!(error.to_string().contains('z'), "{error}");
    });
}

#[test]
fn whatever_call_fails_the_baseline_goes_in_order_and_measures_again() {
    let (in_place, x, total) = in_place();
    let y = numbers(2, &[5, 8]);
    // What TensorRT copies for a profile that is not the first is on the stream.
    let mut second_profile = dynamic();
    let first = ProfileSpec::new().shape("x", &[1, 8], &[1, 8], &[4, 8]);
    second_profile.engine.profiles.insert(0, first);
    for (model, inputs) in [
        (dynamic(), vec![&y]),
        (second_profile, vec![&y]),
        (in_place, vec![&x, &total]),
    ] {
        let sim = Sim::session(Config::seeded(0));
        let scenario = |_: &Sim| -> Result<()> {
            let driver = Driver::open(Some(Sim::path()))?;
            let (recorder, mut method) = record(&model, &driver)?;
            let outputs = call(&mut method, &inputs)?;
            drop(method);
            let mut baseline = baseline(&recorder, &inputs, &outputs)?;
            let mut failed = baseline.measure_loading(1).map(drop);
            for variant in ALL {
                match baseline.measure(variant, 1, 2) {
                    Ok(times) => assert_eq!(times.len(), 2),
                    Err(error) => {
                        // Nothing of it still writes there.
                        baseline.outputs()?;
                        // One call fails, at most.
                        let times = baseline.measure(variant, 1, 2);
                        assert!(times.is_ok(), "{error}, and then {times:?}");
                        failed = Err(error);
                    }
                }
            }
            failed
        };
        for seed in [3, 4] {
            sim.for_each_fault(&Config::seeded(seed), scenario, |fault, result, reports| {
                assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
                assert!(fault.is_some() || result.is_ok(), "{result:?}");
            });
        }
    }
}
