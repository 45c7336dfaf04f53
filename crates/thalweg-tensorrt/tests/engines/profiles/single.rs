//! A single context for all profiles: by option, or because no more can be created.

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_tensorrt::{Rule, disable};

const CREATE: &str = "nvinfer.ICudaEngine.createExecutionContext";
/// The function of the driver that TensorRT copies with, twice for each switch.
const COPY: &str = "cuMemcpyHtoDAsync";
const SWITCH: &str = "nvinfer.IExecutionContext.setOptimizationProfileAsync";

fn single(driver: &Driver, model: &Model) -> Method {
    let options = LoadOptions::new().backend_option(NAME, SINGLE_CONTEXT, true);
    let program = model.load_with(driver, options).unwrap();
    program.method("forward").unwrap()
}

fn every(function: &str) -> Fault {
    Fault::Every {
        function: function.into(),
        n: 1,
        code: 2,
    }
}

fn nth(function: &str, nth: u64) -> Fault {
    Fault::Call {
        function: function.into(),
        nth,
        code: 2,
    }
}

#[test]
fn one_context_is_switched_in_order() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..200 {
        sim.reset(Config::seeded(seed));
        let driver = open();
        let there = There::new(&driver).unwrap();
        let mut method = single(&driver, &two_profiles());
        back_and_forth(&driver, &there, &mut method);
        let (contexts, switches) = made(&sim);
        assert_eq!(contexts, 1);
        assert_eq!(switches, 8);
        drop((method, there, driver));
        sim.assert_clean();
    }
}

#[test]
fn where_there_can_be_no_second_context_the_first_is_switched() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..100 {
        sim.reset(Config::seeded(seed));
        let driver = open();
        let there = There::new(&driver).unwrap();
        let mut method = two_profiles().method(&driver).unwrap();
        right(&mut method, 1);
        sim.faults(&[every(CREATE)]);
        let ((), lines) = traced(|| back_and_forth(&driver, &there, &mut method));
        let warnings = warnings(&lines);
        assert_eq!(warnings.len(), 1, "it is said once: {lines:?}");
        assert!(
            warnings[0].contains("no context for each profile"),
            "{warnings:?}"
        );
        assert_eq!(sim.calls(CREATE), 2, "and tried once");
        sim.faults(&[]);
        drop((method, there, driver));
        sim.assert_clean();
    }
}

#[test]
fn a_profile_that_cannot_be_set_on_a_new_context_is_set_on_the_one_that_is_there() {
    // The second copy of a switch fails, and the first is under way.
    for (function, fails) in [(SWITCH, 1), (COPY, 1), (COPY, 2)] {
        let sim = Sim::session(Config::seeded(0));
        for seed in 0..50 {
            sim.reset(Config::seeded(seed));
            let driver = open();
            let there = There::new(&driver).unwrap();
            let mut method = two_profiles().method(&driver).unwrap();
            there.leave(&mut method, 1, RunOptions::new()).unwrap();
            sim.faults(&[nth(function, fails)]);
            there.leave(&mut method, 64, RunOptions::new()).unwrap();
            sim.faults(&[]);
            right(&mut method, 64);
            right(&mut method, 1);
            drop((method, there, driver));
            sim.assert_clean();
        }
    }
}

#[test]
fn where_memory_is_out_profiles_are_switched_on_the_contexts_that_are_there() {
    on_sim(|sim| {
        let driver = open();
        let there = There::new(&driver).unwrap();
        let mut model = with_profiles(&[(1, 4), (5, 64), (65, 100)]);
        (model.ios[0].sizes, model.ios[1].sizes) = (vec![100, 8], vec![100, 8]);
        for profile in &mut model.engine.profiles {
            profile.scratch_per_element.clear();
        }
        let mut method = model.method(&driver).unwrap();
        right(&mut method, 1);
        right(&mut method, 64);
        sim.faults(&[Fault::MemoryLimit {
            bytes: sim.used_memory(0),
        }]);
        let before = made(sim);
        for rows in [1, 100, 64, 1] {
            right(&mut method, rows);
        }
        // The context that was not used for longest is switched: that of profile 1 to profile 2, that
        // of profile 0 to profile 1, and that of profile 2 to profile 0.
        let (contexts, switches) = made(sim);
        assert_eq!(contexts - before.0, 1, "the attempt");
        assert_eq!(switches - before.1, 3);
        let before = made(sim);
        for rows in [64, 1, 64, 1] {
            right(&mut method, rows);
        }
        assert_eq!(
            made(sim),
            before,
            "two contexts are enough for two profiles"
        );
        sim.faults(&[]);
        drop((method, there, driver));
    });
}

#[test]
fn contexts_that_cannot_be_made_beforehand_are_done_without() {
    on_sim(|sim| {
        let driver = open();
        let there = There::new(&driver).unwrap();
        let options = LoadOptions::new().prepare_profiles(true);
        let program = two_profiles().load_with(&driver, options).unwrap();
        sim.faults(&[nth(CREATE, 2)]);
        let (mut method, lines) = traced(|| program.method("forward").unwrap());
        assert_eq!(warnings(&lines).len(), 1, "{lines:?}");
        sim.faults(&[]);
        back_and_forth(&driver, &there, &mut method);
        sim.faults(&[nth(CREATE, 1)]);
        program.method("forward").unwrap_err();
        sim.faults(&[]);
        drop((method, program, there, driver));
    });
}

#[test]
fn a_switch_that_fails_leaves_the_profile_and_the_next_call_is_right() {
    for (function, fails) in [(SWITCH, 1), (COPY, 1), (COPY, 2)] {
        for then in [1, 4, 64] {
            for drops in [false, true] {
                let sim = Sim::session(Config::seeded(0));
                for seed in 0..20 {
                    sim.reset(Config::seeded(seed));
                    let driver = open();
                    let there = There::new(&driver).unwrap();
                    let mut method = single(&driver, &two_profiles());
                    there.leave(&mut method, 1, RunOptions::new()).unwrap();
                    sim.faults(&[nth(function, fails)]);
                    there.leave(&mut method, 64, RunOptions::new()).unwrap_err();
                    sim.faults(&[]);
                    if !drops {
                        let ((), lines) = traced(|| right(&mut method, then));
                        // With 4 rows both would do, and profile 0 is still the last.
                        let expected: &[usize] = if then == 64 { &[1] } else { &[] };
                        assert_eq!(profiles(&lines), expected);
                        right(&mut method, 65 - then);
                    }
                    drop((method, there, driver));
                    sim.assert_clean();
                }
            }
        }
    }
}

#[test]
fn a_context_must_not_be_switched_while_it_runs() {
    is_missed(Rule::SwitchAfterUse, |driver, _| {
        let there = There::new(driver).unwrap();
        let mut method = single(driver, &two_profiles());
        for rows in [1, 64, 2] {
            there.leave(&mut method, rows, RunOptions::new()).unwrap();
        }
    });
}

#[test]
fn a_context_must_not_go_while_a_switch_may_be_under_way() {
    is_missed(Rule::DropAfterSwitch, |driver, sim| {
        let there = There::new(driver).unwrap();
        let mut method = two_profiles().method(driver).unwrap();
        there.leave(&mut method, 1, RunOptions::new()).unwrap();
        sim.faults(&[nth(COPY, 2)]);
        there.leave(&mut method, 64, RunOptions::new()).unwrap();
        sim.faults(&[]);
    });
}

/// Runs a scenario with a rule, after which the stand-in reports nothing, and without it, after which it
/// reports something.
fn is_missed(rule: Rule, scenario: impl Fn(&Driver, &Sim)) {
    let sim = Sim::session(Config::seeded(0));
    let reports = |seed| {
        sim.reset(Config::seeded(seed));
        let _ = catch_unwind(AssertUnwindSafe(|| scenario(&open(), &sim)));
        sim.finish()
    };
    for seed in 0..20 {
        assert_eq!(reports(seed).len(), 0);
    }
    let omission = disable(rule);
    let missed = (0..20).any(|seed| !reports(seed).is_empty());
    drop(omission);
    assert!(missed, "nobody misses {rule:?}");
}

fn on_sim(test: impl Fn(&Sim)) {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..10 {
        sim.reset(Config::seeded(seed));
        test(&sim);
        sim.assert_clean();
    }
}
