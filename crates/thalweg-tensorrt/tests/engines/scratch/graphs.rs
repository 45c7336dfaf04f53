//! Graphs, and the scratch that they refer to.

use super::*;
use thalweg_cuda::Stream;
use thalweg_runtime::GraphUse;

const ENQUEUE: &str = "nvinfer.IExecutionContext.enqueueV3";
const LAUNCH: &str = "cuGraphLaunch";

fn as_graph<'s>() -> RunOptions<'s> {
    RunOptions::new().graph(GraphUse::On)
}

#[test]
fn launches_take_their_turns_like_calls() {
    for options in [shared(), limited("1 buffer"), limited("8192")] {
        on_every_machine(60, |driver| {
            let machine = Machine::new(driver);
            let device = driver.device(0).unwrap();
            let program = machine.load(&[doubles(4 << 10), doubles(8 << 10)], &options);
            let mut methods = [(); 2].map(|()| program.method("forward").unwrap());
            let streams = [Stream::new(&device).unwrap(), Stream::new(&device).unwrap()];
            for call in 0..6 {
                for (method, stream) in methods.iter_mut().zip(&streams) {
                    let x = numbers(1, &[8, 8]);
                    let options = as_graph().device_outputs(true).stream(stream);
                    method.run_with(&[(&x).into()], &options).unwrap();
                    if call > 3 {
                        check_with(method, 8, 2, &as_graph().stream(stream));
                    }
                }
            }
        });
    }
}

#[test]
fn a_graph_is_launched_only_where_the_call_has_the_memory_that_it_refers_to() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let machine = Machine::new(&driver);
    let mut method = machine.method(&[doubles(4 << 10)], &shared());
    let counts = || (sim.calls(ENQUEUE), sim.calls(LAUNCH));
    (0..4).for_each(|_| check_with(&mut method, 8, 1, &as_graph()));
    assert_eq!(counts(), (3, 2));
    // The graph keeps nothing from being freed.
    assert_eq!(machine.tensorrt.trim_scratch(), 4 << 10);
    // Something else is there now.
    let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
    let other = thalweg_cuda::DeviceBuffer::new(&stream, 4 << 10).unwrap();
    let mut another = machine.method(&[doubles(4 << 10)], &shared());
    check(&mut another, 8, 1);
    let launched = counts().1;
    check_with(&mut method, 8, 1, &as_graph());
    assert_eq!(counts().1, launched);
    (0..3).for_each(|_| check_with(&mut method, 8, 1, &as_graph()));
    assert!(counts().1 > launched);
    drop((method, another, other, stream, machine, driver));
    sim.assert_clean();
}

#[test]
fn a_launch_takes_the_piece_that_the_graph_refers_to() {
    let sim = Sim::session(Config::seeded(0).with_eagerness(0.0));
    let driver = open();
    let device = driver.device(0).unwrap();
    let machine = Machine::new(&driver);
    let program = machine.load(&[doubles(4 << 10)], &shared());
    let streams = [Stream::new(&device).unwrap(), Stream::new(&device).unwrap()];
    let mut methods = [(); 2].map(|()| program.method("forward").unwrap());
    let run = |method: &mut Method, stream: &Stream| {
        let x = numbers(1, &[8, 8]);
        let options = as_graph().device_outputs(true).stream(stream);
        method.run_with(&[(&x).into()], &options).unwrap();
    };
    for _ in 0..3 {
        for (method, stream) in methods.iter_mut().zip(&streams) {
            run(method, stream);
        }
    }
    let enqueued = sim.calls(ENQUEUE);
    assert_eq!(machine.statistics().buffers, 2);
    // On each other's streams, where the other piece would be the better one.
    for _ in 0..3 {
        for (method, stream) in methods.iter_mut().zip(streams.iter().rev()) {
            run(method, stream);
        }
    }
    assert_eq!(sim.calls(ENQUEUE), enqueued);
    for method in &mut methods {
        check(method, 8, 1);
    }
    drop((methods, streams, program, machine, device, driver));
    sim.assert_clean();
}

#[test]
fn a_larger_engine_gets_its_scratch_although_a_graph_has_what_there_is() {
    for options in [shared(), limited("1 buffer"), limited("8192")] {
        on_every_machine(20, |driver| {
            let machine = Machine::new(driver);
            let mut small = machine.method(&[doubles(4 << 10)], &options);
            let mut large = machine.method(&[doubles(2 << 10), doubles(8 << 10)], &options);
            for _ in 0..3 {
                (0..3).for_each(|_| check_with(&mut small, 8, 1, &as_graph()));
                (0..3).for_each(|_| check_with(&mut large, 8, 2, &as_graph()));
            }
            let statistics = machine.statistics();
            assert!(statistics.buffers <= 2, "{statistics:?}");
            assert_eq!(statistics.idle, statistics.bytes);
        });
    }
}

#[test]
fn threads_that_launch_graphs_at_a_limit_are_right_and_end() {
    for options in [
        limited("1 buffer"),
        limited("2 buffers"),
        limited("6144"),
        shared(),
    ] {
        ends(|| {
            on_every_machine(10, |driver| {
                let machine = Machine::new(driver);
                let programs =
                    [1 << 10, 4 << 10].map(|bytes| machine.load(&[doubles(bytes)], &options));
                std::thread::scope(|scope| {
                    for thread in 0..6 {
                        let program = &programs[thread % 2];
                        scope.spawn(move || {
                            let mut method = program.method("forward").unwrap();
                            (0..6).for_each(|_| check_with(&mut method, 8, 1, &as_graph()));
                        });
                    }
                });
            });
        });
    }
}

#[test]
fn a_call_within_a_callers_capture_is_refused_and_does_no_harm() {
    on_every_machine(20, |driver| {
        let machine = Machine::new(driver);
        let device = driver.device(0).unwrap();
        let links = [doubles(4 << 10)];
        let captured = |options: &LoadOptions| {
            let mut method = machine.method(&links, options);
            let stream = Stream::new(&device).unwrap();
            let x = numbers(1, &[8, 8]);
            let x = thalweg_cuda::DeviceArray::new(&device, x.view()).unwrap();
            let capture = thalweg_cuda::Capture::begin(&stream).unwrap();
            let run = RunOptions::new().device_outputs(true).stream(&stream);
            let input = x.input().unwrap();
            let result = method.run_with(&[input.into()], &run).map(drop);
            drop(capture);
            (result, method)
        };
        // It is the scratch that makes the difference, whether there is some already or not.
        let (result, _method) = captured(&LoadOptions::new());
        result.unwrap();
        let mut kept = Vec::new();
        for buffers in 0..2 {
            let (result, method) = captured(&shared());
            let text = result.unwrap_err().to_string();
            assert!(
                text.contains("captured") && text.contains("shared"),
                "{text}"
            );
            assert_eq!(machine.statistics().buffers, buffers);
            let mut another = machine.method(&links, &shared());
            check(&mut another, 8, 1);
            assert_eq!(machine.statistics().idle, 4 << 10);
            // So that the pool stays.
            kept.push((method, another));
        }
    });
}
