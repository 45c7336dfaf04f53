//! Many threads at once.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_core::ErrorKind;
use thalweg_cuda::Stream;
use thalweg_simgpu::Fault;

/// How many calls each thread makes for each seed: in all some ten thousand, or as many as
/// `THALWEG_TEST_CALLS` says for each.
fn calls() -> usize {
    let asked = std::env::var("THALWEG_TEST_CALLS");
    asked
        .ok()
        .and_then(|calls| calls.parse().ok())
        .unwrap_or(25)
}

/// Sixteen threads on two devices, with engines of different sizes, on streams of all kinds. Gives how
/// many calls found memory to be out, which is all that may go wrong.
fn sixteen(driver: &Driver, options: &LoadOptions, seed: usize) -> usize {
    let mut out_of_memory = 0;
    ends(|| out_of_memory = sixteen_threads(driver, options, seed, calls()));
    out_of_memory
}

fn sixteen_threads(driver: &Driver, options: &LoadOptions, seed: usize, calls: usize) -> usize {
    let machine = Machine::new(driver);
    let chains = [
        vec![doubles(1 << 10)],
        vec![doubles(3 << 10), doubles(9 << 10).on(1)],
        vec![doubles(2 << 10).on(1), doubles_by_shape(16), doubles(512)],
        vec![doubles_by_shape(8).on(1), Link::Host, doubles(700).on(1)],
    ];
    let engines = |links: &[Link]| links.iter().filter(|it| !matches!(it, Link::Host)).count();
    let programs: Vec<_> = chains
        .iter()
        .map(|links| (machine.load(links, options), engines(links)))
        .collect();
    let out_of_memory = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (programs, out_of_memory) = (&programs, &out_of_memory);
            scope.spawn(move || {
                let (program, times) = &programs[thread % programs.len()];
                let fails = |error: thalweg_core::Error| {
                    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
                    out_of_memory.fetch_add(1, Ordering::Relaxed);
                };
                let mut method = loop {
                    match program.method("forward") {
                        Ok(method) => break method,
                        Err(error) => fails(error),
                    }
                };
                let device = driver.device(thread % 2).unwrap();
                let own = Stream::new(&device).unwrap();
                for call in 0..calls {
                    let rows = (seed + thread * 7 + call * 13) % 64 + 1;
                    let x = numbers(thread as i32, &[rows, 8]);
                    let passing = Stream::new(&device).unwrap();
                    let options = match (call + thread) % 3 {
                        0 => RunOptions::new(),
                        1 => RunOptions::new().stream(&own),
                        _ => RunOptions::new().stream(&passing),
                    };
                    if call % 4 == 3 {
                        let options = options.device_outputs(true);
                        if let Err(error) = method.run_with(&[(&x).into()], &options) {
                            fails(error);
                        }
                        continue;
                    }
                    match run_with(&mut method, &[&x], &options) {
                        Ok(outputs) => {
                            assert_eq!(outputs, [(vec![rows, 8], doubled(&x, *times))]);
                        }
                        Err(error) => fails(error),
                    }
                }
            });
        }
    });
    for device in 0..2 {
        let statistics = machine.statistics_of(device);
        assert_eq!(statistics.idle, statistics.bytes, "{statistics:?}");
        assert!(statistics.buffers <= 16, "{statistics:?}");
    }
    out_of_memory.into_inner()
}

#[test]
fn sixteen_threads_on_two_devices_are_right_whatever_the_limit() {
    for limit in ["", "1 buffer", "3 buffers", "12288"] {
        let seed = AtomicUsize::new(0);
        with_config(8, &|config| config.with_devices(2), |driver| {
            let options = match limit {
                "" => shared(),
                limit => limited(limit),
            };
            let seed = seed.fetch_add(1, Ordering::Relaxed);
            assert_eq!(sixteen(driver, &options, seed), 0);
        });
    }
}

#[test]
fn sixteen_threads_are_right_while_allocations_fail() {
    let sim = Sim::session(Config::seeded(0));
    let mut out_of_memory = 0;
    for limit in ["", "2 buffers", "12288"] {
        let options = match limit {
            "" => shared(),
            limit => limited(limit),
        };
        for seed in 0..8 {
            sim.reset(Config::seeded(seed).with_devices(2));
            // Some fail once, which is made good, and some twice, which is an error.
            let every = |n: u64| Fault::Every {
                function: "cuMemAllocAsync".into(),
                n,
                code: 2,
            };
            sim.faults(&[every(3 + seed % 2), every(7), every(11)]);
            out_of_memory += sixteen(&open(), &options, seed as usize);
            sim.assert_clean();
        }
    }
    assert!(out_of_memory > 0, "nothing has failed");
}

#[test]
fn sixteen_threads_make_a_thousand_calls_each_while_allocations_fail() {
    let sim = Sim::session(Config::seeded(40).with_devices(2));
    sim.faults(&[Fault::Every {
        function: "cuMemAllocAsync".into(),
        n: 3,
        code: 2,
    }]);
    ends(|| {
        sixteen_threads(&open(), &shared(), 40, 1000);
    });
    sim.assert_clean();
}

#[test]
fn sixteen_threads_are_right_while_work_runs_as_it_comes() {
    let sim = Sim::session(Config::free().with_devices(2));
    for options in [shared(), limited("2 buffers")] {
        sim.reset(Config::free().with_devices(2));
        assert_eq!(sixteen(&open(), &options, 0), 0);
        sim.assert_clean();
    }
}
