//! Who waits for whom: streams of all kinds, one after the other and at once.

use super::*;
use thalweg_core::{CallerStream, StreamHandle};
use thalweg_cuda::Stream;

/// Calls that leave their results on the device, so that nobody waits for them, on the streams that are
/// asked for, and at last one that is looked at.
fn calls_on(
    driver: &Driver,
    options: &LoadOptions,
    instances: usize,
    mut call: impl FnMut(&mut Method, usize),
) {
    let machine = Machine::new(driver);
    let program = machine.load(&[doubles(4 << 10), doubles(1 << 10)], options);
    let mut methods: Vec<_> = (0..instances)
        .map(|_| program.method("forward").unwrap())
        .collect();
    for number in 0..8 {
        call(&mut methods[number % instances], number);
    }
    for method in &mut methods {
        check(method, 8, 2);
    }
}

fn leave(method: &mut Method, rows: usize, options: RunOptions<'_>) {
    let x = numbers(1, &[rows, 8]);
    let options = options.device_outputs(true);
    method.run_with(&[(&x).into()], &options).unwrap();
}

/// With a pool without a limit, and with one that everybody shares by engine.
fn both(seeds: u64, test: impl Fn(&Driver, &LoadOptions)) {
    on_every_machine(seeds, |driver| test(driver, &shared()));
    on_every_machine(seeds, |driver| test(driver, &limited("1 buffer")));
}

#[test]
fn two_streams_in_turn_are_in_order() {
    both(100, |driver, options| {
        let device = driver.device(0).unwrap();
        let streams = [Stream::new(&device).unwrap(), Stream::new(&device).unwrap()];
        calls_on(driver, options, 3, |method, number| {
            leave(method, 8, RunOptions::new().stream(&streams[number % 2]));
        });
    });
}

#[test]
fn a_stream_may_be_destroyed_right_after_the_call_and_its_handle_come_back() {
    let mut handles = Vec::new();
    let handles = std::sync::Mutex::new(&mut handles);
    both(100, |driver, options| {
        let device = driver.device(0).unwrap();
        calls_on(driver, options, 2, |method, number| {
            let stream = Stream::new(&device).unwrap();
            handles.lock().unwrap().push(stream.handle());
            leave(method, 1 + number * 7, RunOptions::new().stream(&stream));
        });
    });
    // The test is of no use if they never come back.
    let handles = handles.into_inner().unwrap();
    let all = handles.len();
    handles.sort_by_key(|handle| handle.0);
    handles.dedup();
    assert!(handles.len() < all);
}

/// The legacy default stream, by its oldest name.
struct Null(thalweg_core::DeviceId);

impl CallerStream for Null {
    fn device(&self) -> thalweg_core::DeviceId {
        self.0
    }

    fn handle(&self) -> StreamHandle {
        StreamHandle(0)
    }
}

#[test]
fn the_null_stream_is_a_stream_like_others() {
    both(100, |driver, options| {
        let device = driver.device(0).unwrap();
        let null = Null(thalweg_core::Device::id(&device));
        let other = Stream::new(&device).unwrap();
        calls_on(driver, options, 3, |method, number| {
            let options = match number % 3 {
                0 => RunOptions::new().stream(&null),
                1 => RunOptions::new().stream(&other),
                _ => RunOptions::new(),
            };
            leave(method, 8, options);
        });
    });
}

#[test]
fn a_stream_of_a_part_of_the_device_is_a_stream_like_others() {
    both(30, |driver, options| {
        let device = driver.device(0).unwrap();
        let Ok(partition) = thalweg_cuda::Partition::new(&device, 8) else {
            return;
        };
        let streams = [partition.stream().unwrap(), Stream::new(&device).unwrap()];
        calls_on(driver, options, 2, |method, number| {
            leave(method, 8, RunOptions::new().stream(&streams[number % 2]));
        });
    });
}

#[test]
fn calls_whose_work_overlaps_on_the_device_get_a_piece_each() {
    let sim = Sim::session(Config::seeded(0).with_eagerness(0.0));
    let driver = open();
    let device = driver.device(0).unwrap();
    let machine = Machine::new(&driver);
    let program = machine.load(&[doubles(4 << 10)], &shared());
    let streams: Vec<_> = (0..3).map(|_| Stream::new(&device).unwrap()).collect();
    let mut methods: Vec<_> = (0..3).map(|_| program.method("forward").unwrap()).collect();
    for _ in 0..3 {
        for (method, stream) in methods.iter_mut().zip(&streams) {
            leave(method, 8, RunOptions::new().stream(stream));
        }
    }
    let statistics = machine.statistics();
    assert_eq!((statistics.buffers, statistics.allocations), (3, 3));
    assert_eq!((statistics.hits, statistics.waits), (6, 0));
    // All on one stream have what was there last.
    for method in &mut methods {
        check(method, 8, 1);
    }
    assert_eq!(machine.statistics().allocations, 3);
    drop((methods, streams, program, machine, device, driver));
    sim.assert_clean();
}

#[test]
fn an_instance_that_goes_from_stream_to_stream_keeps_its_piece() {
    let sim = Sim::session(Config::seeded(0).with_eagerness(0.0));
    let driver = open();
    let device = driver.device(0).unwrap();
    let machine = Machine::new(&driver);
    let streams = [Stream::new(&device).unwrap(), Stream::new(&device).unwrap()];
    let mut method = machine.method(&[doubles(4 << 10), doubles(2 << 10)], &shared());
    for number in 0..6 {
        leave(
            &mut method,
            8,
            RunOptions::new().stream(&streams[number % 2]),
        );
    }
    // Its calls come one after the other in any case.
    let statistics = machine.statistics();
    assert_eq!((statistics.buffers, statistics.waits), (1, 0));
    check(&mut method, 8, 2);
    drop((method, streams, machine, device, driver));
    sim.assert_clean();
}

#[test]
fn at_the_limit_streams_wait_on_the_device_and_the_host_does_not() {
    let sim = Sim::session(Config::seeded(0).with_eagerness(0.0));
    let driver = open();
    let device = driver.device(0).unwrap();
    let machine = Machine::new(&driver);
    let program = machine.load(&[doubles(4 << 10)], &limited("1 buffer"));
    let streams: Vec<_> = (0..3).map(|_| Stream::new(&device).unwrap()).collect();
    let mut methods: Vec<_> = (0..3).map(|_| program.method("forward").unwrap()).collect();
    let mut round = || {
        for (method, stream) in methods.iter_mut().zip(&streams) {
            let x = numbers(1, &[8, 8]);
            let options = RunOptions::new().device_outputs(true).stream(stream);
            method.run_with(&[(&x).into()], &options).unwrap();
        }
    };
    // Of each call after the first, the host waits for the input's place alone.
    round();
    let before = sim.host_waits();
    round();
    assert!(sim.host_waits() - before <= 3);
    let statistics = machine.statistics();
    assert_eq!((statistics.buffers, statistics.allocations), (1, 1));
    assert_eq!((statistics.hits, statistics.turns), (5, 0));
    assert_eq!(statistics.waits, 5);
    drop((methods, streams, program, machine, device, driver));
    sim.assert_clean();
}

#[test]
fn growing_waits_for_nobody_on_the_host() {
    let sim = Sim::session(Config::seeded(0).with_devices(2).with_eagerness(0.0));
    let driver = open();
    let machine = Machine::new(&driver);
    let mut small = machine.method(&[doubles(1 << 10)], &shared());
    let mut large = machine.method(&[doubles(1 << 12), doubles(1 << 14)], &shared());
    let mut elsewhere = machine.method(&[doubles(1 << 10).on(1)], &shared());
    leave(&mut elsewhere, 8, RunOptions::new());
    leave(&mut small, 8, RunOptions::new());
    let before = sim.host_waits();
    leave(&mut large, 8, RunOptions::new());
    assert_eq!(sim.host_waits(), before);
    assert_eq!(sim.calls("cuCtxSynchronize"), 0);
    let statistics = machine.statistics();
    assert_eq!((statistics.buffers, statistics.bytes), (1, 1 << 14));
    assert_eq!(machine.statistics_of(1).growths, 0);
    assert_eq!(machine.statistics_of(1).bytes, 1 << 10);
    for (method, times) in [(&mut elsewhere, 1), (&mut small, 1), (&mut large, 2)] {
        check(method, 8, times);
    }
    drop((elsewhere, small, large, machine, driver));
    sim.assert_clean();
}

#[test]
fn engines_of_two_devices_in_one_call_have_a_piece_on_each() {
    with_config(50, &|config| config.with_devices(2), |driver| {
        let machine = Machine::new(driver);
        let links = [
            doubles(1 << 10),
            doubles(2 << 10).on(1),
            doubles(3 << 10),
            doubles(4 << 10).on(1),
        ];
        for options in [shared(), limited("1 buffer"), limited("4096")] {
            let mut method = machine.method(&links, &options);
            (0..3).for_each(|_| check(&mut method, 8, 4));
            let on = |device| machine.statistics_of(device);
            assert_eq!((on(0).buffers, on(0).bytes), (1, 3 << 10));
            assert_eq!((on(1).buffers, on(1).bytes), (1, 4 << 10));
        }
    });
}

#[test]
fn methods_without_memory_on_the_device_take_turns_by_engine() {
    let mut model = affine();
    model.ios.iter_mut().for_each(|io| io.on_host = true);
    on_every_machine(50, |driver| {
        let tensorrt = tensorrt(driver).unwrap();
        let program = load(&tensorrt, driver, model.bytes(), &shared()).unwrap();
        let mut methods: Vec<_> = (0..2).map(|_| program.method("forward").unwrap()).collect();
        for start in 0..3 {
            for method in &mut methods {
                let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
                let x = numbers(start, &[8, 8]);
                let options = RunOptions::new().stream(&stream);
                let outputs = run_with(method, &[&x], &options).unwrap();
                assert_eq!(outputs[0].1, tripled(&x));
            }
        }
        let device = driver.device(0).unwrap();
        let statistics = tensorrt.scratch_statistics(&device);
        assert_eq!((statistics.buffers, statistics.allocations), (1, 1));
        assert_eq!(statistics.idle, statistics.bytes);
    });
}
