//! The calls that TensorRT refuses, and those that are misuse.

use thalweg_simgpu::nvinfer::{TensorRt, Variant};
use thalweg_simgpu::{Config, ReportKind, Sim};

use crate::api::{self, Logger, Recorder};
use crate::driver::*;
use crate::{affine, device, download, setup, upload};

fn kinds(sim: &Sim) -> Vec<ReportKind> {
    sim.finish().iter().map(|report| report.kind).collect()
}

#[test]
fn null_scratch_is_ignored_and_the_old_pointer_stays() {
    let sim = Sim::session(Config::default());
    let setup = setup(
        TensorRt::default(),
        &affine("null", TensorRt::default(), 2.0, 1.0),
    );
    let context = setup.engine.context(2).unwrap();
    let size = setup.engine.profile_memory(0);
    let scratch = device(size as usize);
    let [x, y] = [0; 2].map(|_: u8| device(16));
    upload(x, &[1.0f32; 4]);
    assert!(context.set_shape("x", &[1, 4]));
    assert!(context.set_address("x", x) && context.set_address("y", y));
    assert!(!context.enqueue(PER_THREAD));
    assert!(setup.logger.last_error_has("none was set"));
    context.set_memory(scratch, size);
    context.set_memory(0, size);
    assert!(setup.logger.last_error_has("memory is null"));
    context.set_memory(0, 0);
    assert!(context.enqueue(PER_THREAD), "{:?}", setup.logger.errors());
    assert_eq!(download::<f32>(y, 4), [3.0; 4]);
    // Whoever frees it then is found out.
    assert_eq!(free(scratch), OK);
    assert!(context.enqueue(PER_THREAD));
    synchronize();
    assert!(kinds(&sim).contains(&ReportKind::UseAfterFree));
}

#[test]
fn scratch_that_is_too_small_or_not_aligned_is_refused() {
    let sim = Sim::session(Config::default());
    let setup = setup(
        TensorRt::default(),
        &affine("small", TensorRt::default(), 2.0, 1.0),
    );
    let context = setup.engine.context(2).unwrap();
    let size = setup.engine.profile_memory(0);
    let scratch = device(size as usize + 256);
    context.set_memory(scratch, size - 1);
    assert!(setup.logger.last_error_has("too few"));
    context.set_memory(scratch + 16, size);
    assert!(setup.logger.last_error_has("not a multiple of 256"));
    assert!(context.set_shape("x", &[1, 4]));
    let x = device(16);
    assert!(context.set_address("x", x) && context.set_address("y", x));
    assert!(!context.enqueue(PER_THREAD), "neither was taken");
    context.delete();
    assert_eq!(free(x), OK);
    assert_eq!(free(scratch), OK);
    setup.end();
    sim.assert_clean();
}

#[test]
fn what_does_not_fit_is_refused_with_the_reason() {
    let sim = Sim::session(Config::default());
    let setup = setup(
        TensorRt::default(),
        &affine("unfit", TensorRt::default(), 2.0, 1.0),
    );
    let context = setup.engine.context(0).unwrap();
    let refused = |ok: bool, text: &str| {
        assert!(!ok, "{text}");
        assert!(
            setup.logger.last_error_has(text),
            "{:?}",
            setup.logger.errors()
        );
    };
    refused(context.enqueue(PER_THREAD), "the shape of x is not set");
    refused(
        context.set_shape("x", &[9, 4]),
        "[9, 4] of x is not from [1, 4] to [8, 4]",
    );
    refused(context.set_shape("x", &[1, 5]), "does not fit [-1, 4]");
    refused(context.set_shape("x", &[4]), "does not fit");
    refused(context.set_shape("y", &[1, 4]), "y is no input");
    refused(context.set_shape("q", &[1, 4]), "q is no input or output");
    refused(context.set_profile(1, PER_THREAD), "no profile 1");
    assert!(context.set_shape("x", &[1, 4]));
    refused(context.enqueue(PER_THREAD), "the address of x is not set");
    refused(context.set_address("q", 256), "q is no input or output");
    refused(context.set_address("x", 257), "not a multiple of 256");
    refused(
        setup.engine.context(7).is_some(),
        "no allocation strategy 7",
    );
    refused(
        setup.engine.engine_shape("q").shape().is_some(),
        "q is no input",
    );
    refused(
        setup.engine.profile_shape("x", 3, 0).shape().is_some(),
        "no profile 3",
    );
    refused(
        setup.runtime.deserialize(&[1, 2]).is_some(),
        "16 bytes are needed",
    );
    refused(setup.runtime.deserialize(&[7; 64]).is_some(), "magicTag");
    context.delete();
    setup.end();
    sim.assert_clean();
}

#[test]
fn engines_of_other_versions_devices_and_trust_are_refused() {
    let sim = Sim::session(Config::default());
    let version = TensorRt::default();
    let setup = setup(version, &affine("ours", version, 1.0, 0.0));
    let refused = |spec: &thalweg_simgpu::nvinfer::EngineSpec, text: &str| {
        assert!(setup.runtime.deserialize(&spec.to_bytes()).is_none());
        assert!(
            setup.logger.last_error_has(text),
            "{:?}",
            setup.logger.errors()
        );
    };
    let newer = affine("newer", TensorRt::new(10, 7, 0), 1.0, 0.0);
    refused(
        &newer,
        "Current Version: 239, Serialized Engine Version: 240",
    );
    let mut older = affine("older", TensorRt::new(10, 5, 0), 1.0, 0.0);
    refused(&older, "Version tag does not match");
    older.version_compatible = true;
    older.host_code = true;
    refused(&older, "setEngineHostCodeAllowed");
    setup.runtime.allow_host_code(true);
    setup
        .runtime
        .deserialize(&older.to_bytes())
        .unwrap()
        .delete();
    let mut foreign = affine("foreign", version, 1.0, 0.0);
    foreign.capability = Some((8, 6));
    refused(&foreign, "compute capability 8.6, and the device has 9.0");
    let mut broken = affine("broken", version, 1.0, 0.0);
    broken.fails_to_deserialize = Some("the weather".into());
    refused(&broken, "the weather");
    let mut contextless = affine("contextless", version, 1.0, 0.0);
    contextless.fails_to_create_context = Some("no room".into());
    let engine = setup.runtime.deserialize(&contextless.to_bytes()).unwrap();
    assert!(engine.context(0).is_none());
    assert!(setup.logger.last_error_has("no room"));
    engine.delete();
    setup.end();
    sim.assert_clean();
}

#[test]
fn a_runtime_without_a_device_is_a_small_number() {
    let sim = Sim::session(Config::default());
    let lean = TensorRt::default().variant(Variant::Lean);
    for version in [lean, TensorRt::default()] {
        sim.reset(Config::default().with_devices(0).with_tensorrt(version));
        let logger = Logger::new(version);
        assert_eq!(api::create_runtime(&logger, api::lib_version()), 0x200);
        assert!(logger.last_error_has("CUDA initialization failure"));
    }
    sim.assert_clean();
}

#[test]
fn a_caller_of_another_major_version_gets_no_runtime() {
    let sim = Sim::session(Config::default());
    start();
    let logger = Logger::new(TensorRt::default());
    assert_eq!(api::create_runtime(&logger, 110_100), 0);
    assert!(logger.last_error_has("110100"));
    assert_eq!(release(0), OK);
    sim.assert_clean();
}

#[test]
fn objects_that_are_left_are_leaks_and_owners_that_go_first_are_reported() {
    let sim = Sim::session(Config::default());
    let version = TensorRt::default();
    let spec = affine("left", version, 1.0, 0.0);
    let first = setup(version, &spec);
    let context = first.engine.context(0).unwrap();
    let left: Vec<String> = sim
        .finish()
        .into_iter()
        .map(|report| report.message)
        .collect();
    for class in ["IRuntime", "ICudaEngine", "IExecutionContext"] {
        let leak =
            |message: &&String| message.starts_with(class) && message.contains("not destroyed");
        assert_eq!(left.iter().filter(leak).count(), 1, "{class}: {left:?}");
    }
    first.engine.delete();
    assert_eq!(kinds(&sim)[0], ReportKind::Misuse, "the context is left");
    context.delete();
    sim.reset(Config::default());
    let second = setup(version, &spec);
    second.runtime.delete();
    assert_eq!(kinds(&sim)[0], ReportKind::Misuse, "the engine is left");
    // Of destroyed objects nothing answers.
    sim.reset(Config::default());
    let third = setup(version, &spec);
    third.engine.delete();
    assert!(third.engine.context(0).is_none());
    assert_eq!(kinds(&sim)[0], ReportKind::UseAfterDestroy);
    third.engine.delete();
    assert_eq!(kinds(&sim)[0], ReportKind::UseAfterDestroy);
}

#[test]
fn two_enqueues_of_a_context_that_nothing_orders_are_reported() {
    let sim = Sim::session(Config::default());
    let mut spec = affine("twice", TensorRt::default(), 2.0, 1.0);
    spec.profiles[0].scratch = 0;
    spec.profiles[0].scratch_per_element.clear();
    let setup = setup(TensorRt::default(), &spec);
    let context = setup.engine.context(0).unwrap();
    let [x, y, z] = [0; 3].map(|_: u8| device(16));
    upload(x, &[1.0f32; 4]);
    assert!(context.set_shape("x", &[1, 4]));
    assert!(context.set_address("x", x) && context.set_address("y", y));
    let stream: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
    assert!(context.enqueue(stream));
    assert!(context.set_address("y", z), "addresses may change at once");
    assert!(context.enqueue(PER_THREAD));
    assert_eq!(synchronize(), OK);
    assert!(kinds(&sim).contains(&ReportKind::Misuse));
}

#[test]
fn what_changes_under_a_running_enqueue_is_reported_with_both_calls() {
    let sim = Sim::session(Config::default());
    type Change = fn(api::Object, u64);
    let changes: [(&str, Change); 4] = [
        ("setInputShape", |context, _| {
            assert!(context.set_shape("x", &[2, 4]));
        }),
        ("setDeviceMemoryV2", |context, scratch| {
            context.set_memory(scratch + 4096, 4096);
        }),
        ("~", |context, _| context.delete()),
        ("", |context, scratch| {
            // The same once more is no change.
            assert!(context.set_shape("x", &[1, 4]));
            context.set_memory(scratch, 4096);
            assert!(context.set_address("y", 4096));
        }),
    ];
    for (method, change) in changes {
        for wait in [false, true] {
            sim.reset(Config::default());
            let setup = setup(
                TensorRt::default(),
                &affine("busy", TensorRt::default(), 1.0, 0.0),
            );
            let context = setup.engine.context(2).unwrap();
            let (x, scratch) = (device(32), device(8192));
            upload(x, &[1.0f32; 8]);
            assert!(context.set_shape("x", &[1, 4]));
            assert!(context.set_address("x", x) && context.set_address("y", x));
            context.set_memory(scratch, 4096);
            assert!(context.enqueue(PER_THREAD), "{:?}", setup.logger.errors());
            if wait {
                assert_eq!(stream_synchronize(PER_THREAD), OK);
            }
            change(context, scratch);
            let reports = sim.reports();
            let expected = !wait && !method.is_empty();
            assert_eq!(
                reports.len(),
                usize::from(expected),
                "{method}: {reports:?}"
            );
            if expected {
                let sites: Vec<&str> = reports[0].sites.iter().map(|site| &*site.name).collect();
                let method = format!("nvinfer.IExecutionContext.{method}");
                assert_eq!(sites, [&*method, "nvinfer.IExecutionContext.enqueueV3"]);
            }
        }
    }
}

#[test]
fn two_threads_in_one_context_are_reported_and_in_two_contexts_are_not() {
    for shared in [false, true] {
        let sim = Sim::session(Config::default());
        let setup = setup(
            TensorRt::default(),
            &affine("threads", TensorRt::default(), 1.0, 0.0),
        );
        let first = setup.engine.context(0).unwrap();
        let second = if shared {
            first
        } else {
            setup.engine.context(0).unwrap()
        };
        // Threads meet when they do.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let rounds = if shared { u32::MAX } else { 20 };
        for _ in (0..rounds).take_while(|_| sim.reports().is_empty()) {
            std::thread::scope(|scope| {
                for context in [first, second] {
                    scope.spawn(move || {
                        for _ in 0..1000 {
                            assert_eq!(context.shape("x").shape().unwrap()[1], 4);
                        }
                    });
                }
            });
            assert!(std::time::Instant::now() < end, "nothing was reported");
        }
        let reports = sim.reports();
        assert_eq!(reports.is_empty(), !shared, "{reports:?}");
    }
}

#[test]
fn a_recorder_hears_of_errors_and_is_counted() {
    let sim = Sim::session(Config::default());
    let recorder = Recorder::new();
    let version = TensorRt::default();
    start();
    let logger = Logger::new(version);
    let runtime = api::runtime(&logger, version).unwrap();
    runtime.set_recorder(&recorder);
    let engine = runtime.deserialize(&affine("recorded", version, 1.0, 0.0).to_bytes());
    let engine = engine.unwrap();
    let context = engine.context(0).unwrap();
    assert_eq!(*recorder.references.lock().unwrap(), 3);
    assert!(!context.set_shape("x", &[9, 4]));
    let errors = recorder.errors.lock().unwrap().clone();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].0, 3);
    assert!(errors[0].1.contains("IExecutionContext::setInputShape"));
    context.delete();
    engine.delete();
    runtime.delete();
    assert_eq!(*recorder.references.lock().unwrap(), 0);
    assert_eq!(release(0), OK);
    sim.assert_clean();
}
