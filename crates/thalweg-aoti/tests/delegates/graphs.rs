//! Delegates in graphs.

use thalweg_core::{Device as _, Output, StreamHandle};
use thalweg_cuda::{Capture, DeviceArray, Stream};
use thalweg_runtime::GraphUse;

use super::*;

fn as_graph<'s>() -> RunOptions<'s> {
    RunOptions::new().graph(GraphUse::On)
}

/// One delegate with a weight, whose output is not its last allocation.
fn one() -> Model {
    let recipe = Recipe {
        parts: WEIGHT | TWICE,
        weight_len: 4,
        ..affine(3.0, 1.0)
    };
    Model::new(recipe, Form::Named)
}

/// Delegates one after the other, without operators of the CPU.
fn chain(len: usize) -> Model {
    let mut model = one();
    model.recipes.push(Recipe {
        parts: TWICE,
        ..affine(-1.0, 2.0)
    });
    model.steps = (0..len)
        .map(|step| Step::Delegate(step % 2, vec![step]))
        .collect();
    // Each step is a delegate of its own, as in exported programs.
    model.recipes = (0..len).map(|step| model.recipes[step % 2]).collect();
    for (step, what) in model.steps.iter_mut().enumerate() {
        *what = Step::Delegate(step, vec![step]);
    }
    model
}

#[test]
fn what_is_launched_as_a_graph_is_right_under_every_schedule() {
    let counting = Recipe {
        parts: WEIGHT | COUNT | TWICE,
        weight_len: 4,
        ..affine(2.0, 1.0)
    };
    for model in [
        one(),
        chain(5),
        Model::mixed(Form::Named),
        Model::mixed(Form::Blob),
        Model::new(counting, Form::Named),
    ] {
        on_every_machine(100, |driver| {
            let mut method = model.method(driver).unwrap();
            let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
            for call in 0..10 {
                let x = numbers(call, &[8, 4]);
                let options = match call % 5 {
                    0..3 => as_graph(),
                    3 => as_graph().stream(&stream),
                    _ => RunOptions::new().graph(GraphUse::Off),
                };
                let output = run_with(&mut method, &[&x], &options).unwrap();
                assert_eq!(
                    output,
                    model.expected(&[&x], call as u32 + 1),
                    "call {call}"
                );
            }
        });
    }
}

#[test]
fn the_third_equal_batch_is_captured_and_its_graph_is_launched_from_then_on() {
    let sim = session();
    let driver = open();
    let model = chain(3);
    let mut method = model.method(&driver).unwrap();
    let mut call = || {
        let x = numbers(1, &[8, 4]);
        let output = run_with(&mut method, &[&x], &as_graph()).unwrap();
        assert_eq!(output, model.expected(&[&x], 1));
        (sim.calls("cuLaunchKernel"), sim.calls("cuGraphLaunch"))
    };
    let launches = call().0;
    // The first run waits, and so is no example of the others; the second is.
    for calls in 2..5 {
        assert_eq!(call(), (calls * launches, 0));
    }
    assert_eq!(call(), (5 * launches, 1));
    for graphs in 2..5 {
        assert_eq!(call(), (5 * launches, graphs));
    }
    drop((method, driver));
    sim.assert_clean();
}

#[test]
fn of_shapes_that_change() {
    let mut model = chain(3);
    model.sizes = vec![64, 4];
    model.dynamic = true;
    on_every_machine(50, |driver| {
        let mut method = model.method(driver).unwrap();
        for rows in [3, 64, 3, 64, 3, 64, 3, 64, 3, 64, 1, 3, 64, 3, 64, 17, 3] {
            let x = numbers(rows, &[rows as usize, 4]);
            let output = run_with(&mut method, &[&x], &as_graph()).unwrap();
            assert_eq!(output, model.expected(&[&x], 0));
        }
    });
}

#[test]
fn whatever_call_fails_while_graphs_are_used_the_next_is_right() {
    let sim = session();
    for model in [chain(2), Model::mixed(Form::Named)] {
        let bytes = model.bytes();
        let x = numbers(3, &[8, 4]);
        let expected = model.expected(&[&x], 0);
        for graph in [GraphUse::On, GraphUse::Auto] {
            let scenario = |_: &Sim| -> Result<()> {
                let driver = Driver::open(Some(Sim::path()))?;
                let backend = CudaBackend::new(&driver)?;
                let program = load(&backend, &driver, bytes.clone())?;
                let mut method = program.method("forward")?;
                let mut failed = None;
                for _ in 0..7 {
                    let options = RunOptions::new().graph(graph);
                    match run_with(&mut method, &[&x], &options) {
                        Ok(output) => assert_eq!(output, expected),
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
    }
}

fn special(part: u32) -> Model {
    let recipe = Recipe {
        parts: part,
        ..affine(3.0, 1.0)
    };
    Model::new(recipe, Form::Named)
}

#[test]
fn a_library_that_waits_in_each_run_runs_without() {
    let sim = session();
    for graph in [GraphUse::On, GraphUse::Auto] {
        sim.reset(Config::seeded(1));
        let driver = open();
        let model = special(WAITS);
        let mut method = model.method(&driver).unwrap();
        for call in 0..8 {
            let x = numbers(call, &[8, 4]);
            let options = RunOptions::new().graph(graph);
            let output = run_with(&mut method, &[&x], &options).unwrap();
            assert_eq!(output, model.expected(&[&x], 0));
        }
        assert_eq!(sim.calls("cuStreamBeginCapture_v2"), 0);
        drop((method, driver));
        sim.assert_clean();
    }
}

#[test]
fn a_library_that_allocates_otherwise_than_before_is_not_captured_and_uses_no_memory_twice() {
    let model = special(VARIES);
    on_every_machine(50, |driver| {
        for graph in [GraphUse::Auto, GraphUse::On] {
            let mut method = model.method(driver).unwrap();
            let mut errors = Vec::new();
            for call in 1..12 {
                let x = numbers(call, &[8, 4]);
                let options = RunOptions::new().graph(graph);
                match run_with(&mut method, &[&x], &options) {
                    Ok(output) => assert_eq!(output, model.expected(&[&x], 0), "call {call}"),
                    Err(error) => errors.push((call, error.to_string())),
                }
            }
            match (graph, &errors[..]) {
                (GraphUse::Auto, []) => {}
                (GraphUse::On, [(8, error)]) => {
                    assert!(error.contains("no graph of the call's work"), "{error}");
                    assert!(error.contains("the run before"), "{error}");
                }
                _ => panic!("{graph:?}: {errors:?}"),
            }
        }
    });
}

#[test]
fn what_a_library_keeps_is_its_own() {
    let model = special(KEEPS);
    on_every_machine(50, |driver| {
        let program = model.load(driver).unwrap();
        let mut methods = [0; 2].map(|_| program.method("forward").unwrap());
        for call in 0..8 {
            let x = numbers(call, &[8, 4]);
            for method in &mut methods {
                let output = run_with(method, &[&x], &as_graph()).unwrap();
                assert_eq!(output, model.expected(&[&x], 0));
            }
        }
    });
}

#[test]
fn threads_capture_at_once_while_others_allocate() {
    let mut model = chain(3);
    model.sizes = vec![64, 4];
    model.dynamic = true;
    on_every_machine(30, |driver| {
        let program = model.load(driver).unwrap();
        let device = driver.device(0).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (program, model, device) = (&program, &model, &device);
                scope.spawn(move || {
                    let stream = Stream::new(device).unwrap();
                    for round in 0..3 {
                        // Each is an instance of its own, whose first calls allocate.
                        let mut method = program.method("forward").unwrap();
                        for call in 0..6 {
                            let rows = 1 + 7 * ((thread + round) % 3) as usize;
                            let x = numbers(thread + call, &[rows, 4]);
                            let options = match thread % 3 {
                                0 => as_graph(),
                                1 => as_graph().stream(&stream),
                                _ => RunOptions::new().graph(GraphUse::Off),
                            };
                            let output = run_with(&mut method, &[&x], &options).unwrap();
                            assert_eq!(output, model.expected(&[&x], 0));
                        }
                    }
                });
            }
        });
    });
}

#[test]
fn a_call_in_the_steady_state_allocates_nothing_and_records_one_event_for_all_its_libraries() {
    let sim = session();
    for graph in [GraphUse::On, GraphUse::Off] {
        for device_outputs in [false, true] {
            sim.reset(Config::seeded(2));
            let driver = open();
            let model = chain(6);
            let mut method = model.method(&driver).unwrap();
            let x = numbers(1, &[8, 4]);
            let mut call = || {
                let options = RunOptions::new().graph(graph);
                let options = options.device_outputs(device_outputs);
                method.run_with(&[(&x).into()], &options).unwrap();
            };
            for _ in 0..8 {
                call();
            }
            let before = sim.call_counts();
            for _ in 0..5 {
                call();
            }
            let count = |name: &str| {
                let of = |counts: &[(String, u64)]| {
                    let counts = counts.iter().filter(|(other, _)| other.starts_with(name));
                    counts.map(|(_, count)| count).sum::<u64>()
                };
                of(&sim.call_counts()) - of(&before)
            };
            let what = format!("{graph:?}, device outputs: {device_outputs}");
            for nothing in ["cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuEventCreate"] {
                assert_eq!(count(nothing), 0, "{what}: {nothing}");
            }
            // The core's, if the host does not wait, and then one for the workspace.
            let events = if device_outputs { 10 } else { 0 };
            assert_eq!(count("cuEventRecord"), events, "{what}");
            drop((method, driver));
            sim.assert_clean();
        }
    }
}

#[test]
fn a_caller_captures_calls_with_memory_that_belongs_to_the_graph() {
    on_every_machine(20, |driver| {
        let device = driver.device(0).unwrap();
        let model = chain(3);
        let program = model.load(driver).unwrap();
        let mut method = program.method("forward").unwrap();
        let mut other = program.method("forward").unwrap();
        let x = numbers(1, &[8, 4]);
        for _ in 0..3 {
            run(&mut method, &[&x]).unwrap();
        }
        let input = thalweg_cuda::DeviceArray::new(&device, x.view()).unwrap();
        let stream = Stream::new(&device).unwrap();
        let capture = thalweg_cuda::Capture::begin(&stream).unwrap();
        let options = RunOptions::new().stream(&stream).device_outputs(true);
        let inputs = [input.input().unwrap().into()];
        method.run_with(&inputs, &options).unwrap();
        let graph = capture.end().unwrap().instantiate().unwrap();
        for _ in 0..3 {
            let mut work = stream.work().unwrap();
            graph.launch(&mut work).unwrap();
            work.finish().unwrap();
            // Others do not have the workspace meanwhile.
            assert_eq!(run(&mut other, &[&x]).unwrap(), model.expected(&[&x], 0));
        }
        stream.synchronize().unwrap();
    });
}

#[test]
fn nothing_is_left_of_what_first_runs_have_allocated_but_one_workspace() {
    let sim = session();
    let driver = open();
    let mut model = chain(4);
    model.sizes = vec![1000, 64];
    let mut method = model.method(&driver).unwrap();
    sim.drain();
    let before = sim.used_memory(0);
    let x = numbers(1, &[1000, 64]);
    for _ in 0..8 {
        run_with(&mut method, &[&x], &as_graph()).unwrap();
    }
    sim.drain();
    // Two temporaries at a time, of which each delegate has as many.
    let bytes = 2 * 4 * 64_000;
    let held = sim.used_memory(0) - before;
    assert!((bytes..bytes * 9 / 8).contains(&held), "{held}");
    drop((method, driver));
    sim.assert_clean();
}

/// Captures a call while another instance's call is in flight, and launches the graph.
pub(super) fn is_captured_by_the_caller(driver: &Driver) {
    let model = chain(3);
    let program = model.load(driver).unwrap();
    let device = driver.device(0).unwrap();
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let x = numbers(1, &[8, 4]);
    let array = DeviceArray::new(&device, x.view()).unwrap();
    let expected = model.expected(&[&x], 0);
    let here = RunOptions::new().device_outputs(true);
    let mut methods = [(); 2].map(|()| program.method("forward").unwrap());
    for method in &mut methods {
        // Before a library has run, nobody knows what it does.
        let capture = Capture::begin(&stream).unwrap();
        let input = array.input().unwrap();
        let options = here.clone().stream(&stream);
        let error = method.run_with(&[input.into()], &options).unwrap_err();
        assert!(
            error.to_string().contains("no call like this one"),
            "{error}"
        );
        drop(capture);
        for _ in 0..2 {
            assert_eq!(run(method, &[&x]).unwrap(), expected);
        }
    }
    let [method, another] = &mut methods;
    let input = array.input().unwrap();
    let options = here.clone().stream(&other);
    another.run_with(&[input.into()], &options).unwrap();
    let capture = Capture::begin(&stream).unwrap();
    let input = array.input().unwrap();
    let options = here.stream(&stream);
    let outputs = method.run_with(&[input.into()], &options).unwrap();
    let Output::Device(output) = outputs.get(0).unwrap() else {
        panic!("it is on the host");
    };
    let (address, len) = (output.address(), output.len());
    let graph = capture.end().unwrap().instantiate().unwrap();
    for _ in 0..3 {
        let mut work = stream.work().unwrap();
        graph.launch(&mut work).unwrap();
        // It has memory of its own for temporaries, so that other calls can be in flight.
        let input = array.input().unwrap();
        let options = RunOptions::new().device_outputs(true).stream(&other);
        another.run_with(&[input.into()], &options).unwrap();
        work.finish().unwrap().synchronize().unwrap();
        let mut numbers = vec![0f32; len / 4];
        let handle = StreamHandle(stream.raw().unwrap().expose_provenance());
        // SAFETY: there is room for as many bytes in ordinary memory, which the driver has written when
        // this returns.
        unsafe {
            let to = numbers.as_mut_ptr().cast();
            device.download(to, address, len, handle).unwrap();
        }
        assert_eq!(numbers, expected);
        assert_eq!(run(method, &[&x]).unwrap(), expected);
    }
}

#[test]
fn a_library_is_a_part_of_a_graph_that_the_caller_captures() {
    on_every_machine(100, is_captured_by_the_caller);
}
