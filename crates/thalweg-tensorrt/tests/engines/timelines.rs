//! Traced calls of engines.

use super::read::Read;
use super::*;
use std::collections::BTreeMap;
use thalweg_cuda::Stream;
use thalweg_runtime::{GraphUse, MethodOptions, Trace};

/// An engine for `3 x + 1`, with a profile for one row and one for many.
fn two_profiles() -> Model {
    let mut model = dynamic();
    let profile = |rows: i64, scratch| {
        ProfileSpec::new()
            .shape("x", &[1, 8], &[rows, 8], &[rows, 8])
            .scratch(scratch)
    };
    model.engine = model.engine.name("an engine");
    model.engine.resize_by_shape = false;
    model.engine.profiles = vec![profile(1, 512), profile(64, 4096)];
    model
}

#[test]
fn a_call_says_its_engine_its_profile_and_its_scratch() {
    on_every_machine(20, |driver| {
        let trace = Trace::new();
        let program = two_profiles().load(driver).unwrap();
        let options = MethodOptions::new().trace(&trace);
        let mut method = program.method_with("forward", &options).unwrap();
        let options = RunOptions::new().trace(&trace).graph(GraphUse::Off);
        for rows in [1, 64, 64] {
            let x = numbers(rows as i32, &[rows, 8]);
            let outputs = run_with(&mut method, &[&x], &options).unwrap();
            assert_eq!(outputs[0].1, tripled(&x));
        }
        let read = Read::of(&trace);
        let called: Vec<_> = read
            .all("an engine")
            .into_iter()
            .filter(|event| event["pid"] == 1)
            .collect();
        let noted = |key: &str| -> Vec<_> {
            let calls = called.iter();
            calls
                .map(|call| call["args"][key].as_u64().unwrap())
                .collect()
        };
        assert_eq!(noted("profile"), [0, 1, 1]);
        assert_eq!(noted("scratch needed"), [512, 4096, 4096]);
        let on_device = read.all("an engine").len() - called.len();
        assert_eq!(on_device, 3);
        let profiles = read.all("change the profile");
        assert_eq!(profiles.len(), 2);
        assert_eq!(profiles[1]["args"]["before"], 0);
        assert_eq!(read.all("deserialize the engine").len(), 1);
        assert_eq!(read.all("an engine is told of scratch").len(), 2);
    });
}

#[test]
fn a_trace_changes_neither_answers_nor_the_order_of_work() {
    let sim = Sim::session(Config::seeded(0));
    for graph in [GraphUse::Auto, GraphUse::Off] {
        for seed in 0..100 {
            let [untraced, traced] = [false, true].map(|traced| {
                sim.reset(Config::seeded(seed));
                let trace = Trace::new();
                let driver = open();
                let mut method = two_profiles().method(&driver).unwrap();
                let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
                for (call, rows) in [8, 8, 8, 8, 1, 1, 8].into_iter().enumerate() {
                    let x = numbers(call as i32, &[rows, 8]);
                    let mut options = RunOptions::new().graph(graph);
                    if traced {
                        options = options.trace(&trace);
                    }
                    if call % 2 == 1 {
                        options = options.stream(&stream);
                    }
                    let outputs = run_with(&mut method, &[&x], &options).unwrap();
                    assert_eq!(outputs, [(vec![rows, 8], tripled(&x))]);
                }
                let launches = sim.calls("cuGraphLaunch");
                let engines = sim.calls("nvinfer.IExecutionContext.enqueueV3");
                drop(stream);
                if traced {
                    let read = Read::of(&trace);
                    assert_eq!(trace.missing(), [""; 0]);
                    let tracks = read.tracks();
                    assert_eq!(tracks.len(), 3, "{tracks:?}");
                    assert_eq!(read.all("forward").len(), 7, "{}", read.text);
                    let graphs = read.all("graph").len();
                    assert_eq!(graphs as u64, launches);
                    let called = read.all("an engine");
                    let on_device = called.iter().filter(|event| event["pid"] != 1).count();
                    assert_eq!(on_device + graphs, 7);
                }
                drop((method, trace, driver));
                let reports = sim.finish();
                assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
                (launches, engines)
            });
            assert_eq!(untraced, traced);
            assert_eq!(traced.0 > 0, graph == GraphUse::Auto);
        }
    }
}

#[test]
fn the_device_is_called_as_often_but_for_points_and_nothing_is_waited_for() {
    let sim = Sim::session(Config::seeded(0));
    let count = |traced: bool| {
        sim.reset(Config::seeded(1));
        let driver = open();
        let trace = Trace::new();
        let mut method = two_profiles().method(&driver).unwrap();
        let x = numbers(1, &[8, 8]);
        for _ in 0..5 {
            let options = RunOptions::new();
            let options = if traced {
                options.trace(&trace)
            } else {
                options
            };
            run_with(&mut method, &[&x], &options).unwrap();
        }
        let mut counts: BTreeMap<_, _> = sim.call_counts().into_iter().collect();
        drop((method, trace, driver));
        assert!(sim.finish().is_empty());
        let mut take = |function: &str| counts.remove(function).unwrap_or(0);
        // For points; to know that the caller does not record the stream; and what devices are called.
        let extra = [
            "cuEventCreate",
            "cuEventRecord",
            "cuEventDestroy",
            "cuStreamGetCaptureInfo",
            "cuStreamIsCapturing",
            "cuCtxGetCurrent",
            "cuCtxPushCurrent",
            "cuCtxPopCurrent",
            "cuCtxSetCurrent",
            "cuThreadExchangeStreamCaptureMode",
        ];
        let extra = extra.map(&mut take);
        (counts, extra)
    };
    let ((without, few), (with, many)) = (count(false), count(true));
    assert_eq!(without, with);
    assert!(many[1] > few[1]);
}

#[test]
fn whatever_fails_with_a_trace_the_next_call_is_right_and_times_are_no_errors() {
    let sim = Sim::session(Config::seeded(0));
    let bytes = two_profiles().bytes();
    let x = numbers(2, &[8, 8]);
    for graph in [GraphUse::Auto, GraphUse::Off] {
        let mut untold = 0;
        let scenario = |_: &Sim| -> Result<(Vec<String>, Result<()>)> {
            let driver = Driver::open(Some(Sim::path()))?;
            let tensorrt = tensorrt(&driver)?;
            let program = load(&tensorrt, &driver, bytes.clone(), &LoadOptions::new())?;
            let mut method = program.method("forward")?;
            let trace = Trace::new();
            let options = RunOptions::new().trace(&trace).graph(graph);
            let mut failed = Ok(());
            for _ in 0..5 {
                match run_with(&mut method, &[&x], &options) {
                    Ok(outputs) => assert_eq!(outputs[0].1, tripled(&x)),
                    Err(error) => {
                        assert!(failed.is_ok(), "only one call of the driver fails");
                        failed = Err(error);
                    }
                }
            }
            // It can be read, whatever there is.
            let read = Read::of(&trace);
            assert_eq!(read.all("forward").len(), 5);
            Ok((trace.missing(), failed))
        };
        sim.for_each_fault(&Config::seeded(3), scenario, |fault, result, reports| {
            assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
            match (fault, result) {
                (None, result) => {
                    let (missing, failed) = result.unwrap();
                    failed.unwrap();
                    assert_eq!(missing, [""; 0]);
                }
                (Some(fault), result) if fault.function.starts_with("cuEventElapsedTime") => {
                    let (missing, failed) = result.unwrap();
                    failed.unwrap();
                    untold += missing.len();
                }
                _ => {}
            }
        });
        assert!(untold > 5, "{untold}");
    }
}

#[test]
fn threads_share_a_trace_or_have_their_own() {
    on_every_machine(10, |driver| {
        let program = two_profiles().load(driver).unwrap();
        let shared = Trace::new();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (program, shared) = (program.clone(), &shared);
                scope.spawn(move || {
                    let own = Trace::new();
                    let mut method = program.method("forward").unwrap();
                    for call in 0..4 {
                        let x = numbers(thread + call, &[8, 8]);
                        let trace = if call % 2 == 0 { shared } else { &own };
                        let options = RunOptions::new().trace(trace);
                        let outputs = run_with(&mut method, &[&x], &options).unwrap();
                        assert_eq!(outputs[0].1, tripled(&x));
                    }
                    assert_eq!(Read::of(&own).all("forward").len(), 2);
                });
            }
        });
        let read = Read::of(&shared);
        assert_eq!(read.all("forward").len(), 6);
        assert_eq!(read.tracks().len(), 6);
        assert_eq!(shared.missing(), [""; 0]);
    });
}
