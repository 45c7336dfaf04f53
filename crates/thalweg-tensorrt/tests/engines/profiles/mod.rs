//! Several profiles of one engine.

mod failures;
mod pins;
mod single;
mod threads;

use super::traces::{profiles, traced, warnings};
use super::*;
use thalweg_cuda::{DeviceArray, Stream};
use thalweg_runtime::GraphUse;
use thalweg_simgpu::Fault;
use thalweg_tensorrt::SINGLE_CONTEXT;

/// [`dynamic`], with a profile for each range of rows.
fn with_profiles(ranges: &[(i64, i64)]) -> Model {
    let mut model = dynamic();
    let profile = |&(least, most): &(i64, i64)| {
        ProfileSpec::new()
            .shape("x", &[least, 8], &[least, 8], &[most, 8])
            .scratch(512)
            .scratch_per_element("x", 16)
    };
    model.engine.profiles = ranges.iter().map(profile).collect();
    model
}

fn two_profiles() -> Model {
    with_profiles(&[(1, 4), (4, 64)])
}

/// A call on a number of rows, whose result is right.
fn right(method: &mut Method, rows: usize) {
    right_with(method, rows, &RunOptions::new());
}

fn right_with(method: &mut Method, rows: usize, options: &RunOptions<'_>) {
    let x = numbers(rows as i32, &[rows, 8]);
    let outputs = run_with(method, &[&x], options).unwrap();
    assert_eq!(outputs, [(vec![rows, 8], tripled(&x))]);
}

/// Inputs on the device, so that nothing waits for a call that leaves its output there. They are dropped
/// after all that uses them.
struct There(Vec<DeviceArray>);

impl There {
    fn new(driver: &Driver) -> Result<Self> {
        let device = driver.device(0)?;
        let array = |rows: usize| {
            let x = numbers(rows as i32, &[rows, 8]);
            DeviceArray::new(&device, x.view())
        };
        let arrays = [1, 2, 4, 30, 50, 64].map(array);
        Ok(Self(arrays.into_iter().collect::<Result<_>>()?))
    }

    /// A call on a number of rows, whose output stays on the device.
    fn leave(&self, method: &mut Method, rows: usize, options: RunOptions<'_>) -> Result<()> {
        let x = self
            .0
            .iter()
            .find(|array| array.sizes()[0] == rows)
            .unwrap();
        let options = options.device_outputs(true);
        method.run_with(&[x.input()?.into()], &options).map(drop)
    }
}

/// Calls that change the profile, on different streams. Some wait, and others do not.
fn back_and_forth(driver: &Driver, there: &There, method: &mut Method) {
    let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
    let options = RunOptions::new().stream(&stream);
    for rows in [1, 64, 2, 50, 4] {
        there.leave(method, rows, options.clone()).unwrap();
    }
    right(method, 64);
    for rows in [64, 1, 1, 30] {
        there.leave(method, rows, RunOptions::new()).unwrap();
        right_with(method, 65 - rows, &options);
    }
    // What the last call leaves is under way when the instance goes.
    there.leave(method, 1, options).unwrap();
}

/// The number of contexts that were created, and of switches to another profile.
fn made(sim: &Sim) -> (u64, u64) {
    (
        sim.calls("nvinfer.ICudaEngine.createExecutionContext"),
        sim.calls("nvinfer.IExecutionContext.setOptimizationProfileAsync"),
    )
}

#[test]
fn calls_go_from_profile_to_profile_without_waiting_for_each_other() {
    on_every_machine(200, |driver| {
        let mut method = two_profiles().method(driver).unwrap();
        let options = RunOptions::new().device_outputs(true);
        for rows in [1, 64, 2, 4, 50, 1] {
            let x = numbers(rows, &[rows as usize, 8]);
            method.run_with(&[(&x).into()], &options).unwrap();
        }
        for rows in [1, 64, 4] {
            let x = numbers(rows, &[rows as usize, 8]);
            assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
        }
    });
}

#[test]
fn calls_on_the_device_go_from_profile_to_profile_on_any_stream() {
    let own = LoadOptions::new();
    for options in [
        own.clone(),
        own.clone().prepare_profiles(true),
        own.shared_scratch(true),
    ] {
        on_every_machine(70, |driver| {
            let there = There::new(driver).unwrap();
            let program = two_profiles().load_with(driver, options.clone()).unwrap();
            let mut method = program.method("forward").unwrap();
            back_and_forth(driver, &there, &mut method);
            drop((method, there));
        });
    }
}

#[test]
fn a_context_is_made_for_a_profile_when_it_is_first_used() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let mut method = two_profiles().method(&driver).unwrap();
    let made = || sim.calls("nvinfer.ICudaEngine.createExecutionContext");
    assert_eq!(made(), 0);
    for (rows, contexts) in [(1, 1), (2, 1), (4, 1), (5, 2), (4, 2), (1, 2)] {
        let x = numbers(rows, &[rows as usize, 8]);
        run(&mut method, &[&x]).unwrap();
        assert_eq!(made(), contexts, "{rows} rows");
    }
    drop((method, driver));
    sim.assert_clean();
}

#[test]
fn a_shape_that_no_profile_takes_is_refused_before_tensorrt_sees_it() {
    on_every_machine(1, |driver| {
        let mut model = two_profiles();
        model.ios[0].sizes = vec![100, 8];
        model.ios[1].sizes = vec![100, 8];
        let mut method = model.method(driver).unwrap();
        let x = numbers(1, &[65, 8]);
        let error = run(&mut method, &[&x]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("given `x` [65, 8]"), "{text}");
        assert!(text.contains("profile 0 takes `x` [1 to 4, 8]"), "{text}");
        assert!(text.contains("profile 1 takes `x` [4 to 64, 8]"), "{text}");
        let x = numbers(1, &[64, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
    });
}

#[test]
fn the_profile_of_the_last_call_is_kept_and_else_the_lowest_that_fits_is_taken() {
    on_every_machine(1, |driver| {
        let model = with_profiles(&[(1, 8), (2, 16), (10, 64)]);
        let mut method = model.method(driver).unwrap();
        let ((), lines) = traced(|| {
            for rows in [1, 9, 2, 1, 12, 12, 40, 10, 2, 1] {
                right(&mut method, rows);
            }
        });
        // Of 12 rows, profiles 1 and 2 are both possible, and so are 0 and 1 of 2 rows.
        assert_eq!(profiles(&lines), [0, 1, 0, 1, 2, 0]);
        assert!(lines[0].starts_with("DEBUG"), "{lines:?}");
    });
}

#[test]
fn all_inputs_have_to_fit() {
    let profile = |rows: i64, columns: i64| {
        ProfileSpec::new()
            .shape("x", &[1, 8], &[1, 8], &[rows, 8])
            .shape("y", &[1, 8], &[1, 8], &[columns, 8])
    };
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[-1, 8])
        .input("y", DType::F32, &[-1, 8])
        .output_like("z", "x")
        .output_like("w", "y")
        .profile(profile(4, 4))
        .profile(profile(4, 64))
        .affine("z", &[(2.0, "x")], 0.0)
        .affine("w", &[(2.0, "y")], 0.0);
    let ios = [
        input("x", &[64, 8]).dynamic(),
        input("y", &[64, 8]).dynamic(),
        output("z", &[64, 8]).dynamic(),
        output("w", &[64, 8]).dynamic(),
    ];
    let model = Model::new(engine, &ios);
    on_every_machine(1, |driver| {
        let mut method = model.method(driver).unwrap();
        let mut call = |rows: usize, columns: usize| {
            run(
                &mut method,
                &[&numbers(0, &[rows, 8]), &numbers(0, &[columns, 8])],
            )
        };
        let (_, lines) = traced(|| call(4, 5).unwrap());
        assert_eq!(profiles(&lines), [1], "profile 0 takes x, but not y");
        let text = call(5, 5).unwrap_err().to_string();
        assert!(text.contains("given `x` [5, 8], `y` [5, 8]"), "{text}");
        assert_eq!(text.matches("has size 5 in dimension 0").count(), 2);
    });
}

#[test]
fn a_call_with_another_profile_asks_for_nothing_that_a_call_with_the_same_does_not() {
    let sim = Sim::session(Config::seeded(0).with_eagerness(0.0));
    let driver = open();
    let mut model = two_profiles();
    // So that its address is the same for both, once it is large enough.
    model.engine.resize_by_shape = false;
    let mut method = model.method(&driver).unwrap();
    let there = There::new(&driver).unwrap();
    let mut calls = |which: &[usize]| {
        let before: std::collections::BTreeMap<_, _> = sim.call_counts().into_iter().collect();
        for &which in which {
            let options = RunOptions::new().graph(GraphUse::Off);
            there.leave(&mut method, [2, 64][which], options).unwrap();
        }
        let counts = sim.call_counts().into_iter();
        let new = |(name, count): (String, u64)| {
            let count = count - before.get(&name).copied().unwrap_or(0);
            (count > 0).then_some((name, count))
        };
        counts.filter_map(new).collect::<Vec<_>>()
    };
    calls(&[0, 1, 0, 1, 0, 1]);
    let (mut staying, more) = (calls(&[0; 8]), calls(&[1; 8]));
    for ((name, count), (other, more)) in staying.iter_mut().zip(more) {
        assert_eq!(*name, other);
        *count += more;
    }
    // Each block begins with a change to its profile.
    let waits = sim.host_waits();
    let alternating = calls(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(sim.host_waits(), waits, "nothing waits");
    assert_eq!(staying, alternating);
    drop((method, there, driver));
    sim.assert_clean();
}

#[test]
fn scratch_is_that_of_the_largest_profile_that_was_used() {
    const SMALL: u64 = 8 << 10;
    const LARGE: u64 = 281 << 20;
    let mut model = two_profiles();
    model.engine.profiles[0].scratch = SMALL;
    model.engine.profiles[1].scratch = LARGE;
    for profile in &mut model.engine.profiles {
        profile.scratch_per_element.clear();
    }
    // What contexts have, and rounding.
    const REST: u64 = 16 << 10;
    let own = LoadOptions::new();
    for options in [
        own.clone(),
        own.clone().prepare_profiles(true),
        own.shared_scratch(true),
    ] {
        let sim = Sim::session(Config::seeded(0));
        let driver = open();
        let mut method = model
            .load_with(&driver, options)
            .unwrap()
            .method("forward")
            .unwrap();
        // Whatever scratch is, it is not there yet.
        let start = sim.used_memory(0);
        let used = || sim.used_memory(0) - start;
        for _ in 0..3 {
            right(&mut method, 1);
            assert!((SMALL..SMALL + REST).contains(&used()), "{}", used());
        }
        for rows in [64, 1, 64, 2] {
            right(&mut method, rows);
            assert!(
                (LARGE..LARGE + SMALL + REST).contains(&used()),
                "{}",
                used()
            );
        }
        drop((method, driver));
        sim.assert_clean();
    }
}

#[test]
fn contexts_can_be_made_before_the_first_call() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..50 {
        sim.reset(Config::seeded(seed));
        let driver = open();
        let options = LoadOptions::new().prepare_profiles(true);
        let program = two_profiles().load_with(&driver, options).unwrap();
        let mut method = program.method("forward").unwrap();
        assert_eq!(made(&sim), (2, 1));
        let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
        let there = There::new(&driver).unwrap();
        // On another stream than they were made on.
        let options = RunOptions::new().stream(&stream);
        there.leave(&mut method, 64, options.clone()).unwrap();
        right_with(&mut method, 1, &options);
        right(&mut method, 64);
        assert_eq!(made(&sim), (2, 1));
        // One that is never called.
        drop(program.method("forward").unwrap());
        drop((method, program, stream, there, driver));
        sim.assert_clean();
    }
}

#[test]
fn an_engine_with_one_profile_has_its_context_from_the_start_however_it_is_asked() {
    let sim = Sim::session(Config::seeded(0));
    for (at_once, single) in [(false, false), (true, false), (false, true), (true, true)] {
        sim.reset(Config::seeded(0));
        let driver = open();
        let options = LoadOptions::new().prepare_profiles(at_once).backend_option(
            NAME,
            SINGLE_CONTEXT,
            single,
        );
        let program = dynamic().load_with(&driver, options).unwrap();
        let mut method = program.method("forward").unwrap();
        assert_eq!(made(&sim), (1, 0));
        for rows in [1, 64, 1] {
            right(&mut method, rows);
        }
        assert_eq!(made(&sim), (1, 0));
        drop((method, program, driver));
        sim.assert_clean();
    }
}

#[test]
fn a_call_whose_end_cannot_be_recorded_fails_and_one_that_waits_records_none() {
    let sim = Sim::session(Config::seeded(0).with_eagerness(0.0));
    let driver = open();
    let mut method = two_profiles().method(&driver).unwrap();
    for rows in [1, 64, 1, 64] {
        right(&mut method, rows);
    }
    let there = There::new(&driver).unwrap();
    let before = sim.calls("cuEventRecord");
    for rows in [1, 64, 1, 64] {
        right(&mut method, rows);
    }
    assert_eq!(sim.calls("cuEventRecord"), before, "these have waited");
    for rows in [1, 64] {
        sim.faults(&[Fault::Call {
            function: "cuEventRecord".into(),
            nth: 1,
            code: 999,
        }]);
        there
            .leave(&mut method, rows, RunOptions::new())
            .unwrap_err();
        sim.faults(&[]);
        right(&mut method, rows);
        there.leave(&mut method, rows, RunOptions::new()).unwrap();
    }
    drop((method, there, driver));
    sim.assert_clean();
}
