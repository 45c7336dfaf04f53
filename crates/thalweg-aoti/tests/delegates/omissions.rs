//! Each wait and each setting is needed: without it, something goes wrong under some seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg_aoti::{Rule, omit};

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
    let omission = omit(rule);
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
