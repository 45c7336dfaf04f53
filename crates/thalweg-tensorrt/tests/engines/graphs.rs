//! Enqueues that are captured as graphs.

use super::*;
use thalweg_core::{Device as _, Output, StreamHandle};
use thalweg_cuda::{Capture, DeviceArray, Stream};
use thalweg_runtime::GraphUse;

fn as_graph<'s>() -> RunOptions<'s> {
    RunOptions::new().graph(GraphUse::On)
}

#[test]
fn what_is_launched_as_a_graph_is_right_under_every_schedule() {
    on_every_machine(200, |driver| {
        let mut method = dynamic().method(driver).unwrap();
        let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
        for (call, rows) in [8, 8, 8, 64, 64, 1, 8, 8].into_iter().enumerate() {
            let x = numbers(call as i32, &[rows, 8]);
            let options = match call % 3 {
                0 => as_graph(),
                1 => as_graph().stream(&stream),
                _ => RunOptions::new(),
            };
            let outputs = run_with(&mut method, &[&x], &options).unwrap();
            assert_eq!(outputs, [(vec![rows, 8], tripled(&x))]);
        }
    });
}

#[test]
fn the_third_call_of_a_kind_is_recorded_and_launched_from_then_on() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let mut model = dynamic();
    // So that nothing but the shapes changes.
    let profile = ProfileSpec::new().shape("x", &[1, 8], &[8, 8], &[64, 8]);
    model.engine.profiles = vec![profile];
    let mut method = model.method(&driver).unwrap();
    let counts = || {
        (
            sim.calls("nvinfer.IExecutionContext.enqueueV3"),
            sim.calls("cuGraphLaunch"),
        )
    };
    let mut call = |rows: usize| {
        let x = numbers(1, &[rows, 8]);
        let outputs = run_with(&mut method, &[&x], &as_graph()).unwrap();
        assert_eq!(outputs[0].1, tripled(&x));
        counts()
    };
    assert_eq!(call(8), (1, 0));
    assert_eq!(call(8), (2, 0));
    assert_eq!(call(8), (3, 1));
    assert_eq!(call(8), (3, 2));
    // Other shapes are other work.
    assert_eq!(call(9), (4, 2));
    assert_eq!(call(9), (5, 2));
    assert_eq!(call(9), (6, 3));
    assert_eq!(call(9), (6, 4));
    drop((method, driver));
    sim.assert_clean();
}

#[test]
fn an_engine_that_cannot_be_recorded_says_so_and_runs_without() {
    on_every_machine(5, |driver| {
        let mut model = affine();
        model.engine.streamable = 4096;
        model.compile_specs = vec![("weight_streaming_budget", b"0".to_vec())];
        let mut method = model.method(driver).unwrap();
        let x = numbers(1, &[8, 8]);
        for _ in 0..2 {
            run_with(&mut method, &[&x], &as_graph()).unwrap();
        }
        let error = run_with(&mut method, &[&x], &as_graph()).unwrap_err();
        assert!(
            error.to_string().contains("no graph of the call's work"),
            "{error}"
        );
        for graph in [GraphUse::Auto, GraphUse::Off] {
            let options = RunOptions::new().graph(graph);
            for _ in 0..4 {
                let outputs = run_with(&mut method, &[&x], &options).unwrap();
                assert_eq!(outputs[0].1, tripled(&x));
            }
        }
    });
}

#[test]
fn whatever_call_fails_while_graphs_are_used_the_next_is_right() {
    let sim = Sim::session(Config::seeded(0));
    let bytes = affine().bytes();
    let x = numbers(3, &[8, 8]);
    let scenario = |_: &Sim| -> Result<()> {
        let driver = Driver::open(Some(Sim::path()))?;
        let program = load(
            &tensorrt(&driver)?,
            &driver,
            bytes.clone(),
            &LoadOptions::new(),
        )?;
        let mut method = program.method("forward")?;
        let mut failed = None;
        for _ in 0..5 {
            match run_with(&mut method, &[&x], &as_graph()) {
                Ok(outputs) => assert_eq!(outputs[0].1, tripled(&x)),
                Err(error) => {
                    let before = failed.replace(error);
                    assert!(before.is_none(), "{before:?}, and then {failed:?}");
                }
            }
        }
        failed.map_or(Ok(()), Err)
    };
    sim.for_each_fault(&Config::seeded(6), scenario, |fault, result, reports| {
        assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
        assert!(fault.is_some() || result.is_ok(), "{result:?}");
    });
}

#[test]
fn an_engine_is_a_part_of_a_graph_that_the_caller_records() {
    on_every_machine(50, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let mut method = affine().method(driver).unwrap();
        let x = numbers(1, &[8, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
        let array = DeviceArray::new(&device, x.view()).unwrap();
        let options = RunOptions::new().device_outputs(true).stream(&stream);
        let capture = Capture::begin(&stream).unwrap();
        let input = array.input().unwrap();
        let outputs = method.run_with(&[input.into()], &options).unwrap();
        let Output::Device(output) = outputs.get(0).unwrap() else {
            panic!("it is on the host");
        };
        let (address, len) = (output.address(), output.len());
        let graph = capture.end().unwrap().instantiate().unwrap();
        for _ in 0..3 {
            let mut work = stream.work().unwrap();
            graph.launch(&mut work).unwrap();
            work.finish().unwrap().synchronize().unwrap();
            let mut numbers = vec![0f32; len / 4];
            let handle = StreamHandle(stream.raw().unwrap().expose_provenance());
            // SAFETY: there is room for as many bytes in ordinary memory, which the driver has written
            // when this returns.
            unsafe {
                let to = numbers.as_mut_ptr().cast();
                device.download(to, address, len, handle).unwrap();
            }
            assert_eq!(numbers, tripled(&x));
            // Calls with the same shapes go on as ever.
            assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
        }
    });
}
