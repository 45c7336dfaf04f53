//! The order of the work that libraries enqueue, and host waits.

use thalweg_cuda::{DeviceArray, Stream};
use thalweg_runtime::{GraphUse, RunOptions};
use thalweg_simgpu::{Done, WorkKind};

use super::*;

/// A machine that runs nothing before somebody waits.
fn late(seed: u64) -> Config {
    Config::seeded(seed).with_eagerness(0.0)
}

/// The kernels that ran, with their streams.
fn kernels(sim: &Sim) -> Vec<Done> {
    let log = sim.log().into_iter();
    log.filter(|done| done.kind == WorkKind::Kernel).collect()
}

#[test]
fn everything_that_a_call_does_is_on_its_stream() {
    let sim = Sim::session(Config::seeded(0));
    for case in cases() {
        on_machine(&sim, Config::seeded(1), &case.name, |driver| {
            let program = case.load(driver).unwrap();
            let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
            for name in case.methods() {
                let mut method = program.method(&name).unwrap();
                sim.drain();
                sim.clear_log();
                for inputs in case.runs(&name) {
                    let inputs: Vec<_> = inputs.iter().map(Into::into).collect();
                    // What a graph does has no stream of its own.
                    let options = RunOptions::new().stream(&stream).graph(GraphUse::Off);
                    method.run_with(&inputs, &options).unwrap();
                }
                sim.drain();
                let work = |done: &Done| !matches!(done.kind, WorkKind::Marker | WorkKind::Memory);
                let log = sim.log();
                let first = log.iter().find(|done| work(done)).unwrap();
                for done in log.iter().filter(|done| work(done)) {
                    assert_eq!(
                        done.site.stream, first.site.stream,
                        "{}: {done:?}",
                        case.name
                    );
                }
                assert!(!kernels(&sim).is_empty(), "{}", case.name);
            }
        });
    }
}

#[test]
fn kernels_run_in_the_same_order_each_time() {
    let sim = Sim::session(Config::seeded(0));
    for case in cases() {
        let mut order = None;
        for seed in 0..10 {
            on_machine(&sim, Config::seeded(seed), &case.name, |driver| {
                let program = case.load(driver).unwrap();
                for name in case.methods() {
                    let mut method = program.method(&name).unwrap();
                    for inputs in case.runs(&name) {
                        run(&mut method, &inputs).unwrap();
                    }
                }
                sim.drain();
                let launches: Vec<_> = kernels(&sim)
                    .into_iter()
                    .map(|done| (done.site.name.to_string(), done.grid, done.block))
                    .collect();
                let order = order.get_or_insert_with(|| launches.clone());
                assert_eq!(*order, launches, "{} with seed {seed}", case.name);
            });
        }
    }
}

#[test]
fn kernels_are_the_same_in_a_graph_as_without() {
    let sim = Sim::session(Config::seeded(0));
    for case in cases() {
        let mut all = Vec::new();
        for graph in [GraphUse::Off, GraphUse::On] {
            on_machine(&sim, Config::seeded(1), &case.name, |driver| {
                let program = case.load(driver).unwrap();
                let options = RunOptions::new().graph(graph);
                for name in case.methods() {
                    let mut method = program.method(&name).unwrap();
                    for inputs in case.runs(&name) {
                        let inputs: Vec<_> = inputs.iter().map(Into::into).collect();
                        for _ in 0..8 {
                            method.run_with(&inputs, &options).unwrap();
                        }
                    }
                }
                sim.drain();
                let launches = kernels(&sim).into_iter();
                let launches =
                    launches.map(|done| (done.site.name.to_string(), done.grid, done.block));
                all.push(launches.collect::<Vec<_>>());
                let graphs = sim.calls("cuGraphLaunch");
                assert_eq!(graphs > 0, graph == GraphUse::On, "{}: {graphs}", case.name);
            });
        }
        assert_eq!(all[0], all[1], "{}", case.name);
    }
}

#[test]
fn a_call_whose_outputs_stay_on_the_device_waits_for_nothing_not_even_the_first() {
    let Some(case) = case("et1.5.1-mlp") else {
        return;
    };
    let sim = Sim::session(Config::seeded(0));
    on_machine(&sim, late(2), &case.name, |driver| {
        let program = case.load(driver).unwrap();
        let mut method = program.method("forward").unwrap();
        let inputs = case.runs("forward");
        let input = DeviceArray::new(&driver.device(0).unwrap(), inputs[0][0].view()).unwrap();
        let waits = sim.host_waits();
        for _ in 0..3 {
            let inputs = [input.input().unwrap().into()];
            let options = RunOptions::new().device_outputs(true);
            method.run_with(&inputs, &options).unwrap();
        }
        assert_eq!(sim.host_waits(), waits);
        assert!(kernels(&sim).is_empty());
    });
}

#[test]
fn a_call_in_the_steady_state_allocates_nothing_and_its_library_copies_nothing() {
    let sim = Sim::session(Config::seeded(0));
    for case in cases() {
        on_machine(&sim, Config::seeded(3), &case.name, |driver| {
            let program = case.load(driver).unwrap();
            for name in case.methods() {
                let mut method = program.method(&name).unwrap();
                let inputs = &case.runs(&name)[0];
                for _ in 0..3 {
                    run(&mut method, inputs).unwrap();
                }
                let allocations = || {
                    let counts = sim.call_counts().into_iter();
                    let counts = counts.filter(|(name, _)| {
                        name.starts_with("cuMemAlloc") || name.starts_with("cuMemHostAlloc")
                    });
                    counts.map(|(_, count)| count).sum::<u64>()
                };
                sim.drain();
                let before = allocations();
                sim.clear_log();
                for _ in 0..3 {
                    run(&mut method, inputs).unwrap();
                }
                sim.drain();
                assert_eq!(allocations(), before, "{}", case.name);
                assert_eq!(sim.copies(WorkKind::DeviceToDevice), 0, "{}", case.name);
            }
        });
    }
}

#[test]
fn whatever_call_of_the_driver_fails_nothing_is_left_behind() {
    for name in ["et1.5.1-kv_decode", "et1.4.1-mlp"] {
        let Some(case) = case(name) else {
            return;
        };
        let sim = Sim::session(Config::seeded(0));
        let inputs = case.runs("forward");
        let scenario = |_: &Sim| -> Result<()> {
            let driver = Driver::open(Some(Sim::path()))?;
            let program = case.load(&driver)?;
            let mut method = program.method("forward")?;
            let first = run(&mut method, &inputs[0]);
            // One call fails, at most, so that one of the two does not.
            let second = run(&mut method, &inputs[1]);
            assert!(
                first.is_ok() || second.is_ok(),
                "{first:?}, and then {second:?}"
            );
            first.and(second).map(drop)
        };
        sim.for_each_fault(&Config::seeded(4), scenario, |fault, result, reports| {
            assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
            assert!(fault.is_some() || result.is_ok(), "{result:?}");
        });
    }
}

#[test]
fn whatever_call_of_the_driver_fails_while_graphs_are_used_the_next_is_right() {
    let Some(case) = case("et1.5.1-kv_decode") else {
        return;
    };
    let sim = Sim::session(Config::seeded(0));
    let inputs = &case.runs("forward")[0];
    let scenario = |_: &Sim| -> Result<()> {
        let driver = Driver::open(Some(Sim::path()))?;
        let program = case.load(&driver)?;
        let mut method = program.method("forward")?;
        let inputs: Vec<_> = inputs.iter().map(Into::into).collect();
        let options = RunOptions::new().graph(GraphUse::On);
        let mut failed = None;
        for _ in 0..8 {
            if let Err(error) = method.run_with(&inputs, &options) {
                let before = failed.replace(error);
                assert!(before.is_none(), "{before:?}, and then {failed:?}");
            }
        }
        failed.map_or(Ok(()), Err)
    };
    sim.for_each_fault(&Config::seeded(4), scenario, |fault, result, reports| {
        assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
        assert!(fault.is_some() || result.is_ok(), "{result:?}");
    });
}

#[test]
fn an_error_says_which_function_failed() {
    let Some(case) = case("et1.5.1-mlp") else {
        return;
    };
    let sim = Sim::session(Config::seeded(0));
    on_machine(&sim, Config::seeded(5), &case.name, |driver| {
        let program = case.load(driver).unwrap();
        let mut method = program.method("forward").unwrap();
        let inputs = &case.runs("forward")[0];
        sim.faults(&[thalweg_simgpu::Fault::Call {
            function: "cuLaunchKernel".into(),
            nth: 1,
            code: 701,
        }]);
        let error = run(&mut method, inputs).unwrap_err().to_string();
        sim.faults(&[]);
        assert!(
            error.contains(
                "failed to run: `cuLaunchKernel` failed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
            ),
            "{error}"
        );
        run(&mut method, inputs).unwrap();
    });
}
