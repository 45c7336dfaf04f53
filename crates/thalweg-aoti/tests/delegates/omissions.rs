//! Ordering rules: without any one of them, something goes wrong under some seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg_aoti::{Rule, disable};
use thalweg_cuda::{DeviceArray, Stream};
use thalweg_runtime::GraphUse;

use super::*;

/// Runs a scenario with all rules, and without one.
fn is_needed(rule: Rule, scenario: impl Fn(&Driver)) {
    let sim = session();
    for seed in 0..30 {
        sim.reset(Config::seeded(seed));
        scenario(&open());
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
    let omission = disable(rule);
    let seen = (0..30).any(|seed| {
        sim.reset(Config::seeded(seed));
        let right = catch_unwind(AssertUnwindSafe(|| scenario(&open()))).is_ok();
        let reports = sim.finish();
        !right || reports.iter().any(|report| !report.kind.is_warning())
    });
    drop(omission);
    assert!(seen, "nobody misses {rule:?}");
}

/// Runs a model some times.
fn runs(model: &Model) -> impl Fn(&Driver) {
    move |driver| {
        let mut method = model.method(driver).unwrap();
        for count in 1..4 {
            let x = numbers(1, &[8, 4]);
            assert_eq!(
                run(&mut method, &[&x]).unwrap(),
                model.expected(&[&x], count)
            );
        }
    }
}

#[test]
fn all_delegates_of_a_call_must_be_on_its_stream() {
    is_needed(Rule::OneStream, runs(&Model::mixed(Form::Named)));
}

#[test]
fn constants_must_be_there_before_they_are_used() {
    let recipe = Recipe {
        parts: COUNT,
        ..affine(1.0, 0.0)
    };
    let model = Model::new(recipe, Form::Named);
    is_needed(Rule::UseAfterUpload, |driver| {
        let program = model.load(driver).unwrap();
        let method = || program.method("forward").unwrap();
        // Another thread has another stream by default.
        let mut method = std::thread::scope(|scope| scope.spawn(method).join().unwrap());
        let x = numbers(1, &[8, 4]);
        assert_eq!(run(&mut method, &[&x]).unwrap(), model.expected(&[&x], 1));
    });
}

#[test]
fn what_nobody_else_knows_of_must_be_waited_for() {
    let recipe = Recipe {
        parts: WEIGHT | NO_KERNEL,
        weight_len: 4,
        ..affine(1.0, 0.0)
    };
    let mut model = Model::new(recipe, Form::Named);
    model.on_host = true;
    is_needed(Rule::DrainUnknownWork, |driver| {
        let mut method = model.method(driver).unwrap();
        // It fails when the weight is in use.
        run(&mut method, &[&numbers(0, &[8, 4])]).unwrap_err();
    });
}

#[test]
fn buffers_must_be_each_instances_own() {
    let recipe = Recipe {
        parts: COUNT,
        ..affine(1.0, 0.0)
    };
    let model = Model::new(recipe, Form::Named);
    is_needed(Rule::OwnBuffers, |driver| {
        let program = model.load(driver).unwrap();
        let x = numbers(1, &[8, 4]);
        for mut method in [0; 2].map(|_| program.method("forward").unwrap()) {
            assert_eq!(run(&mut method, &[&x]).unwrap(), model.expected(&[&x], 1));
        }
    });
}

#[test]
fn outputs_must_be_copied_until_it_is_known_where_they_come_from() {
    is_needed(
        Rule::GiveOutputs,
        runs(&Model::new(affine(2.0, 1.0), Form::Named)),
    );
}

/// Calls of two instances, each on a stream of its own, without host waits.
fn beside_each_other(driver: &Driver) {
    let model = Model::new(affine(2.0, 1.0), Form::Named);
    let device = driver.device(0).unwrap();
    let program = model.load(driver).unwrap();
    let x = numbers(1, &[8, 4]);
    let input = DeviceArray::new(&device, x.view()).unwrap();
    let mut methods: Vec<_> = (0..2)
        .map(|_| {
            let method = program.method("forward").unwrap();
            (method, Stream::new(&device).unwrap())
        })
        .collect();
    for _ in 0..8 {
        for (method, stream) in &mut methods {
            let options = RunOptions::new().graph(GraphUse::On);
            let options = options.stream(stream).device_outputs(true);
            let inputs = [input.input().unwrap().into()];
            method.run_with(&inputs, &options).unwrap();
        }
    }
    for (method, _) in &mut methods {
        assert_eq!(run(method, &[&x]).unwrap(), model.expected(&[&x], 0));
    }
}

#[test]
fn a_call_must_have_its_workspace_until_it_ends() {
    is_needed(Rule::KeepWorkspace, beside_each_other);
}

#[test]
fn who_has_a_workspace_next_must_wait_for_who_had_it() {
    is_needed(Rule::HandOnWorkspace, beside_each_other);
}

#[test]
fn a_run_that_differs_must_have_no_more_of_the_workspace() {
    let recipe = Recipe {
        parts: VARIES,
        ..affine(3.0, 1.0)
    };
    let model = Model::new(recipe, Form::Named);
    is_needed(Rule::HoldAgainstPlan, |driver| {
        let mut method = model.method(driver).unwrap();
        for _ in 0..8 {
            let x = numbers(1, &[8, 4]);
            let options = RunOptions::new().graph(GraphUse::Off);
            let output = run_with(&mut method, &[&x], &options).unwrap();
            assert_eq!(output, model.expected(&[&x], 0));
        }
    });
}

#[test]
fn a_graph_must_not_be_launched_for_memory_that_is_elsewhere() {
    let model = Model::new(affine(2.0, 1.0), Form::Named);
    is_needed(Rule::StampAddresses, |driver| {
        let device = driver.device(0).unwrap();
        let mut method = model.method(driver).unwrap();
        let (x, y) = (numbers(1, &[8, 4]), numbers(2, &[8, 4]));
        let arrays = [&x, &y].map(|x| DeviceArray::new(&device, x.view()).unwrap());
        for call in 0..20 {
            let (x, array) = [(&x, &arrays[0]), (&y, &arrays[1])][call / 8 % 2];
            let options = RunOptions::new().graph(GraphUse::On);
            let outputs = method
                .run_with(&[array.input().unwrap().into()], &options)
                .unwrap();
            let output = outputs.tensor(0).unwrap();
            assert_eq!(output.data::<f32>().unwrap(), model.expected(&[x], 0));
        }
    });
}

#[test]
fn a_graph_must_not_be_launched_for_a_workspace_that_is_elsewhere() {
    let model = Model::new(affine(2.0, 1.0), Form::Named);
    is_needed(Rule::StampWorkspace, |driver| {
        let device = driver.device(0).unwrap();
        let program = model.load(driver).unwrap();
        let x = numbers(1, &[8, 4]);
        let input = DeviceArray::new(&device, x.view()).unwrap();
        let mut methods = [0; 3].map(|_| program.method("forward").unwrap());
        let streams = [0; 3].map(|_| Stream::new(&device).unwrap());
        let mut call = |which: usize| {
            let options = RunOptions::new().graph(GraphUse::On);
            let options = options.stream(&streams[which]).device_outputs(true);
            let inputs = [input.input().unwrap().into()];
            methods[which].run_with(&inputs, &options).unwrap();
        };
        // As long as the host waits, some have the same workspace.
        for _ in 0..7 {
            for (which, stream) in streams.iter().enumerate() {
                call(which);
                stream.synchronize().unwrap();
            }
        }
        for _ in 0..3 {
            (0..3).for_each(&mut call);
        }
        for method in &mut methods {
            assert_eq!(run(method, &[&x]).unwrap(), model.expected(&[&x], 0));
        }
    });
}

#[test]
fn a_run_that_no_graph_can_hold_must_not_be_deferred() {
    let recipe = Recipe {
        parts: WAITS,
        ..affine(2.0, 1.0)
    };
    let model = Model::new(recipe, Form::Named);
    is_needed(Rule::OnlyWhatGraphsHold, |driver| {
        let mut method = model.method(driver).unwrap();
        for _ in 0..8 {
            let x = numbers(1, &[8, 4]);
            let options = RunOptions::new().graph(GraphUse::On);
            run_with(&mut method, &[&x], &options).unwrap();
        }
    });
}
