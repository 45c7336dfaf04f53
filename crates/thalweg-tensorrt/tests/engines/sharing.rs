//! Engines that instances, methods and threads share.

use super::*;
use std::sync::Barrier;

const DESERIALIZE: &str = "nvinfer.IRuntime.deserializeCudaEngine";

#[test]
fn methods_and_instances_share_an_engine() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let mut model = affine();
    model.methods = vec!["prefill", "decode"];
    let program = model.load(&driver).unwrap();
    let methods: Vec<_> = ["prefill", "decode", "prefill"]
        .iter()
        .map(|name| program.method(name).unwrap())
        .collect();
    assert_eq!(sim.calls(DESERIALIZE), 1);
    assert_eq!(sim.calls("nvinfer.createInferRuntime_INTERNAL"), 1);
    drop((methods, program, driver));
    sim.assert_clean();
}

#[test]
fn the_same_engine_in_two_programs_is_loaded_once_and_another_is_not_taken_for_it() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let tensorrt = tensorrt(&driver).unwrap();
    let options = LoadOptions::new();
    let first = load(&tensorrt, &driver, affine().bytes(), &options).unwrap();
    let one = first.method("forward").unwrap();
    let second = load(&tensorrt, &driver, affine().bytes(), &options).unwrap();
    let mut two = second.method("forward").unwrap();
    assert_eq!(sim.calls(DESERIALIZE), 1);
    let mut other = affine();
    other.engine.compute.clear();
    other.engine = other.engine.affine("y", &[(2.0, "x")], 5.0);
    let third = load(&tensorrt, &driver, other.bytes(), &options).unwrap();
    let mut three = third.method("forward").unwrap();
    assert_eq!(sim.calls(DESERIALIZE), 2);
    // The first program may go.
    drop((one, first));
    let x = numbers(1, &[8, 8]);
    assert_eq!(run(&mut two, &[&x]).unwrap()[0].1, tripled(&x));
    assert_eq!(run(&mut three, &[&x]).unwrap()[0].1[0], 7.0);
    drop((two, three, second, third, tensorrt, driver));
    sim.assert_clean();
}

#[test]
fn an_engine_goes_with_its_last_user_and_comes_back() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let tensorrt = tensorrt(&driver).unwrap();
    for loads in 1..=3 {
        let program = load(&tensorrt, &driver, affine().bytes(), &LoadOptions::new()).unwrap();
        drop(program.method("forward").unwrap());
        assert_eq!(sim.calls(DESERIALIZE), loads);
    }
    drop((tensorrt, driver));
    sim.assert_clean();
}

#[test]
fn eight_threads_with_an_instance_each_do_not_disturb_each_other() {
    on_every_machine(30, |driver| {
        let program = dynamic().load(driver).unwrap();
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (program, barrier) = (&program, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let mut method = program.method("forward").unwrap();
                    for call in 0..6 {
                        let rows = (thread * 7 + call * 13) % 64 + 1;
                        let x = numbers(thread, &[rows as usize, 8]);
                        let outputs = run(&mut method, &[&x]).unwrap();
                        assert_eq!(outputs, [(vec![rows as usize, 8], tripled(&x))]);
                    }
                });
            }
        });
    });
}

#[test]
fn errors_of_one_thread_are_not_those_of_another() {
    on_every_machine(10, |driver| {
        let mut bad = affine();
        bad.engine.fails_to_enqueue = Some("only the bad one".into());
        let (good, bad) = (affine().load(driver).unwrap(), bad.load(driver).unwrap());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut method = bad.method("forward").unwrap();
                    for _ in 0..5 {
                        let error = run(&mut method, &[&numbers(0, &[8, 8])]).unwrap_err();
                        assert_eq!(error.to_string().matches("only the bad one").count(), 1);
                    }
                });
                scope.spawn(|| {
                    let mut method = good.method("forward").unwrap();
                    for _ in 0..5 {
                        run(&mut method, &[&numbers(0, &[8, 8])]).unwrap();
                    }
                });
            }
        });
    });
}

#[test]
fn threads_that_load_at_once_do_so_with_runtimes_of_their_own() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let tensorrt = tensorrt(&driver).unwrap();
    let load_one = |index: i64| {
        let mut model = affine();
        // Another engine each time.
        model.engine.name = format!("engine {index}");
        let program = load(&tensorrt, &driver, model.bytes(), &LoadOptions::new()).unwrap();
        drop(program.method("forward").unwrap());
    };
    (0..5).for_each(load_one);
    let runtimes = || sim.calls("nvinfer.createInferRuntime_INTERNAL");
    assert_eq!(runtimes(), 1);
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let (barrier, load_one) = (&barrier, &load_one);
            scope.spawn(move || {
                barrier.wait();
                (0..5).for_each(|index| load_one(thread * 10 + index));
            });
        }
    });
    assert!(runtimes() <= 4, "{} runtimes", runtimes());
    drop((tensorrt, driver));
    sim.assert_clean();
}
