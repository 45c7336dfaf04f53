//! How much scratch there may be, and that nobody waits for ever.

use super::*;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// As [`on_every_machine`], with two devices.
fn on_two_devices(seeds: u64, test: impl Fn(&Driver)) {
    with_config(seeds, &|config| config.with_devices(2), test);
}

#[test]
fn more_than_the_limit_is_an_error_that_says_both_and_enqueues_nothing() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let machine = Machine::new(&driver);
    let options = limited("4096");
    let mut method = machine.method(&[doubles_by_shape(16)], &options);
    let x = numbers(1, &[64, 8]);
    let error = run(&mut method, &[&x]).unwrap_err();
    assert_eq!(error.kind(), thalweg_core::ErrorKind::OutOfMemory);
    let text = error.to_string();
    assert!(
        text.contains("needs 8192 bytes") && text.contains("is 4096 bytes"),
        "{text}"
    );
    assert_eq!(sim.calls("nvinfer.IExecutionContext.enqueueV3"), 0);
    assert_eq!(machine.statistics(), ScratchStatistics::default());
    check(&mut method, 32, 1);
    assert_eq!(machine.statistics().bytes, 4096);
    run(&mut method, &[&x]).unwrap_err();
    assert_eq!(machine.statistics().bytes, 4096);
    drop((method, machine, driver));
    sim.assert_clean();
}

#[test]
fn engines_with_another_limit_share_with_others() {
    on_every_machine(1, |driver| {
        let machine = Machine::new(driver);
        let links = [doubles(1 << 10)];
        let options = [
            shared(),
            limited("1 buffer"),
            limited("1024"),
            limited("1024"),
        ];
        let mut methods = options.map(|options| machine.method(&links, &options));
        for method in &mut methods {
            check(method, 8, 1);
        }
        assert_eq!(machine.statistics().buffers, 3);
    });
}

#[test]
fn calls_that_take_two_devices_in_opposite_order_do_not_wait_for_each_other() {
    for limit in ["1 buffer", "2 buffers", "4096"] {
        ends(|| {
            on_two_devices(20, |driver| {
                let machine = Machine::new(driver);
                let (here, there) = (doubles(4 << 10), doubles(4 << 10).on(1));
                let one = [here.clone(), there.clone(), here.clone(), there.clone()];
                let other = [there.clone(), here.clone(), there, here];
                let programs = [one, other].map(|links| machine.load(&links, &limited(limit)));
                std::thread::scope(|scope| {
                    for program in programs.iter().chain(&programs) {
                        scope.spawn(|| {
                            let mut method = program.method("forward").unwrap();
                            (0..4).for_each(|_| check(&mut method, 8, 4));
                        });
                    }
                });
                for device in 0..2 {
                    let statistics = machine.statistics_of(device);
                    assert!(statistics.buffers <= 2, "{statistics:?}");
                    assert_eq!(statistics.idle, statistics.bytes);
                }
            });
        });
    }
}

#[test]
fn calls_may_wait_for_each_other_in_operators_of_the_host() {
    for (limit, calls) in [("1 buffer", 2), ("2 buffers", 3), ("1024", 3), ("", 3)] {
        ends(|| {
            on_every_machine(10, |driver| {
                let machine = Machine::new(driver);
                let links = [doubles(1 << 10), Link::Host, doubles(1 << 10)];
                // All of them have enqueued their first engine, and none its second.
                let barrier = Arc::new(Barrier::new(calls));
                let options = match limit {
                    "" => shared(),
                    limit => limited(limit),
                };
                let program = machine.load_with(&links, &options, move || {
                    barrier.wait();
                });
                std::thread::scope(|scope| {
                    for _ in 0..calls {
                        scope.spawn(|| {
                            let mut method = program.method("forward").unwrap();
                            (0..3).for_each(|_| check(&mut method, 8, 2));
                        });
                    }
                });
                let buffers = machine.statistics().buffers;
                match limit {
                    "" => assert_eq!(buffers, calls),
                    "2 buffers" => assert_eq!(buffers, 2),
                    _ => assert_eq!(buffers, 1),
                }
            });
        });
    }
}

#[test]
fn a_call_that_waits_for_another_while_a_third_needs_more_is_no_obstacle() {
    // The first has a piece until it ends, and ends after the second; that needs more than there is.
    ends(|| {
        on_every_machine(10, |driver| {
            let machine = Machine::new(driver);
            let options = limited("2 buffers");
            let (begun, is_begun) = mpsc::channel();
            let (go_on, may_go_on) = mpsc::channel();
            let may_go_on = std::sync::Mutex::new(may_go_on);
            let links = [doubles(1 << 10), Link::Host, doubles(1 << 12)];
            let waits = machine.load_with(&links, &options, move || {
                begun.send(()).unwrap();
                may_go_on.lock().unwrap().recv().unwrap();
            });
            let mut waits = waits.method("forward").unwrap();
            let mut larger = machine.method(&[doubles(1 << 14), doubles(1 << 10)], &options);
            std::thread::scope(|scope| {
                scope.spawn(|| check(&mut waits, 8, 2));
                is_begun.recv().unwrap();
                (0..3).for_each(|_| check(&mut larger, 8, 2));
                go_on.send(()).unwrap();
            });
            assert!(machine.statistics().buffers <= 2);
        });
    });
}

#[test]
fn the_limit_holds_whatever_calls_there_are() {
    for limit in ["1 buffer", "3 buffers", "20480"] {
        ends(|| {
            on_every_machine(10, |driver| {
                let machine = Machine::new(driver);
                let sizes = [1 << 10, 5 << 10, 16 << 10, 20 << 10];
                let programs = sizes.map(|bytes| {
                    machine.load(&[doubles(bytes), doubles(1 << 10)], &limited(limit))
                });
                let running = AtomicUsize::new(8);
                let over = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    for thread in 0..8 {
                        let (programs, running) = (&programs, &running);
                        scope.spawn(move || {
                            let mut method = programs[thread % 4].method("forward").unwrap();
                            (0..4).for_each(|_| check(&mut method, 8, 2));
                            running.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                    while running.load(Ordering::SeqCst) > 0 {
                        let statistics = machine.statistics();
                        let fine = match limit {
                            "1 buffer" => statistics.buffers <= 1,
                            "3 buffers" => statistics.buffers <= 3,
                            _ => statistics.bytes <= 20 << 10,
                        };
                        over.fetch_or(!fine, Ordering::SeqCst);
                        std::thread::yield_now();
                    }
                });
                assert!(!over.load(Ordering::SeqCst), "{limit}");
                let statistics = machine.statistics();
                assert_eq!(statistics.idle, statistics.bytes);
            });
        });
    }
}

#[test]
fn a_call_that_waits_for_memory_keeps_nobody_else_from_theirs() {
    let sim = Sim::session(Config::free());
    let (release, released) = mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    sim.register_kernel("block", &[], move |_| {
        let _ = released
            .lock()
            .unwrap()
            .recv_timeout(Duration::from_secs(30));
        Ok(())
    });
    let driver = open();
    let device = driver.device(0).unwrap();
    let machine = Machine::new(&driver);
    let (begun, is_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = std::sync::Mutex::new(may_go_on);
    let links = [doubles(1 << 10), Link::Host, doubles(1 << 10)];
    let program = machine.load_with(&links, &shared(), move || {
        begun.send(()).unwrap();
        may_go_on.lock().unwrap().recv().unwrap();
    });
    let mut small = program.method("forward").unwrap();
    let mut large = machine.method(&[doubles(1 << 20)], &shared());
    // SAFETY: the image is text, with a zero at its end.
    let module = unsafe { thalweg_cuda::Module::load(&device, b"simgpu\nblock\0") }.unwrap();
    let kernel = module.kernel("block").unwrap();
    let stream = thalweg_cuda::Stream::new(&device).unwrap();
    let leave = |method: &mut Method, options: RunOptions<'_>| {
        let x = numbers(1, &[8, 8]);
        method
            .run_with(&[(&x).into()], &options.device_outputs(true))
            .map(drop)
    };
    std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel();
        scope.spawn(move || done.send(leave(&mut small, RunOptions::new()).is_ok()));
        is_begun.recv().unwrap();
        // What comes on this stream has to wait.
        let mut work = stream.work().unwrap();
        // SAFETY: it has no arguments.
        unsafe { work.launch(&kernel, &thalweg_cuda::Launch::for_elements(1), &[]) }.unwrap();
        work.finish().unwrap();
        let limit = sim.used_memory(0) + 4096;
        sim.faults(&[thalweg_simgpu::Fault::MemoryLimit { bytes: limit }]);
        let waits = sim.calls("cuStreamSynchronize");
        let on_stream = RunOptions::new().stream(&stream);
        let starved = scope.spawn(|| leave(&mut large, on_stream));
        while sim.calls("cuStreamSynchronize") == waits {
            std::thread::yield_now();
        }
        go_on.send(()).unwrap();
        // Its second engine looks for the call's piece, and its end gives that back.
        let ended = is_done.recv_timeout(Duration::from_secs(20));
        assert!(!starved.is_finished());
        release.send(()).unwrap();
        assert_eq!(ended, Ok(true));
        let error = starved.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), thalweg_core::ErrorKind::OutOfMemory);
    });
    sim.faults(&[]);
    drop((
        large, program, kernel, module, stream, machine, device, driver,
    ));
    sim.assert_clean();
}
