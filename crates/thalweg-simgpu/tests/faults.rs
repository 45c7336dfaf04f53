//! Calls that fail on demand.
#![cfg(target_os = "linux")]

mod driver;

use driver::*;
use thalweg_simgpu::{Config, Fault, ReportKind, Sim};

fn call(function: &str, nth: u64, code: Code) -> Fault {
    Fault::Call {
        function: function.into(),
        nth,
        code,
    }
}

#[test]
fn the_nth_call_fails_without_an_effect() {
    let sim = Sim::session(Config::seeded(1));
    start();
    sim.faults(&[call("cuMemAlloc", 2, OUT_OF_MEMORY)]);
    let first = get(|p| alloc(p, 64));
    let mut second = 5;
    assert_eq!(alloc(&mut second, 64), OUT_OF_MEMORY);
    assert_eq!(second, 5);
    assert_eq!(sim.used_memory(0), 512);
    let third = get(|p| alloc(p, 64));
    assert_eq!(sim.calls("cuMemAlloc_v2"), 3);
    assert_eq!((free(first), free(third), release(0)), (OK, OK, OK));
    sim.assert_clean();
}

#[test]
fn what_ends_something_does_so_even_when_it_fails() {
    let sim = Sim::session(Config::seeded(1));
    start();
    let pointer = get(|p| alloc(p, 64));
    let main: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
    assert_eq!(begin_capture(main, 1), OK);
    sim.faults(&[
        call("cuMemFree", 1, UNKNOWN),
        call("cuStreamEndCapture", 1, UNKNOWN),
        call("cuStreamDestroy", 1, UNKNOWN),
        call("cuDevicePrimaryCtxRelease", 1, UNKNOWN),
    ]);
    let mut graph = 5;
    assert_eq!(end_capture(main, &mut graph), UNKNOWN);
    assert_eq!(graph, 0);
    assert_eq!(free(pointer), UNKNOWN);
    // Who tries once more is not blamed.
    assert_eq!(free(pointer), OK);
    assert_eq!(stream_destroy(main), UNKNOWN);
    assert_eq!(release(0), UNKNOWN);
    sim.assert_clean();
}

#[test]
fn memory_runs_out_above_a_limit() {
    let sim = Sim::session(Config::seeded(1).with_memory(1 << 20));
    start();
    let mut pointer = 0;
    assert_eq!(alloc(&mut pointer, (1 << 20) + 1), OUT_OF_MEMORY);
    sim.faults(&[Fault::MemoryLimit { bytes: 4096 }]);
    let first = get(|p| alloc(p, 2048));
    assert_eq!(alloc(&mut pointer, 4096), OUT_OF_MEMORY);
    assert_eq!(alloc_async(&mut pointer, 4096, 0), OUT_OF_MEMORY);
    let second = get(|p| alloc_async(p, 2048, 0));
    assert_eq!((free(first), free_async(second, 0)), (OK, OK));
    // What the pool keeps is given up where it is needed.
    assert_eq!(stream_synchronize(0), OK);
    let third = get(|p| alloc(p, 4096));
    assert_eq!((free(third), release(0)), (OK, OK));
    sim.assert_clean();
}

#[test]
fn an_asynchronous_error_comes_after_a_number_of_kernels_and_stays() {
    let sim = Sim::session(Config::seeded(1).with_eagerness(0.0));
    start();
    register_affine(&sim);
    let (_, functions) = load(&["affine"]);
    let x = get(|p| alloc(p, 64));
    sim.faults(&[Fault::Sticky {
        kernels: 2,
        code: ILLEGAL_ADDRESS,
    }]);
    for _ in 0..3 {
        assert_eq!(affine(functions[0], 0, x, x, 1.0, 0.0, 16), OK);
    }
    assert_eq!(stream_synchronize(0), ILLEGAL_ADDRESS);
    assert_eq!(fill32(x, 0, 16), ILLEGAL_ADDRESS);
    sim.faults(&[]);
    assert_eq!(fill32(x, 0, 16), ILLEGAL_ADDRESS);
    assert_eq!(release(0), OK);
    start();
    let y = get(|p| alloc(p, 64));
    assert_eq!((free(y), release(0)), (OK, OK));
}

#[test]
fn who_is_told_that_a_device_has_failed_knows_that_nothing_on_it_runs_any_more() {
    let sim = Sim::session(Config::seeded(1).with_eagerness(0.0));
    start();
    register_affine(&sim);
    let (_, functions) = load(&["affine"]);
    let x = get(|p| alloc(p, 64));
    let pinned = get(|p| alloc_host(p, 64, 0));
    sim.faults(&[Fault::Sticky {
        kernels: 1,
        code: ILLEGAL_ADDRESS,
    }]);
    let (main, other): (u64, u64) = (
        get(|stream| stream_create(stream, NON_BLOCKING)),
        get(|stream| stream_create(stream, NON_BLOCKING)),
    );
    assert_eq!(to_host_async(pinned as *mut _, x, 64, main), OK);
    assert_eq!(affine(functions[0], main, x, x, 1.0, 0.0, 16), OK);
    sim.drain();
    assert!(
        !sim.host_access(pinned, 64, false),
        "nobody has said so yet"
    );
    assert_eq!(stream_synchronize(other), ILLEGAL_ADDRESS);
    assert!(sim.host_access(pinned, 64, false));
    let reports = sim.finish().into_iter();
    let races = reports.filter(|report| report.kind == ReportKind::HostRace);
    assert_eq!(races.count(), 1);
}

/// A program that gives everything back on every path.
fn careful(sim: &Sim) -> Result<Vec<f32>, Code> {
    fn check(code: Code) -> Result<(), Code> {
        if code == OK { Ok(()) } else { Err(code) }
    }
    fn make(call: impl FnOnce(&mut u64) -> Code) -> Result<u64, Code> {
        let mut value = 0;
        check(call(&mut value))?;
        Ok(value)
    }
    check(init(0))?;
    let context = make(|c| retain(c, 0))?;
    let inner = || {
        check(set_current(context))?;
        let main = make(|s| stream_create(s, NON_BLOCKING))?;
        let with_stream = || {
            let pinned = make(|p| alloc_host(p, 64, 0))?;
            let with_pinned = || {
                let x = make(|p| alloc_async(p, 64, main))?;
                let with_memory = || {
                    check(fill32_async(x, 2.0f32.to_bits(), 16, main))?;
                    check(to_host_async(pinned as *mut _, x, 64, main))
                };
                let done = with_memory();
                let freed = check(free_async(x, main));
                // Whatever was enqueued must be over before the host memory goes.
                let mut waited = check(stream_synchronize(main));
                if waited.is_err() {
                    waited = check(stream_synchronize(main)).and(waited);
                }
                done.and(freed).and(waited)?;
                sim.host_access(pinned, 64, false);
                // SAFETY: the memory is this large, and of this program.
                Ok(unsafe { std::slice::from_raw_parts(pinned as *const f32, 16) }.to_vec())
            };
            let values = with_pinned();
            check(free_host(pinned)).and(values)
        };
        let values = with_stream();
        check(stream_destroy(main)).and(values)
    };
    let values = inner();
    check(release(0)).and(values)
}

#[test]
fn each_call_of_a_program_fails_once() {
    let sim = Sim::session(Config::default());
    let mut functions = Vec::new();
    let scenario = |sim: &Sim| careful(sim);
    sim.for_each_fault(&Config::seeded(2), scenario, |fault, result, reports| {
        let errors: Vec<_> = reports
            .into_iter()
            .filter(|report| !report.kind.is_warning())
            .collect();
        assert!(errors.is_empty(), "{fault:?}: {errors:#?}");
        match fault {
            None => assert_eq!(result, Ok(vec![2.0; 16])),
            Some(fault) => {
                assert_eq!(result, Err(fault.code), "{fault:?}");
                functions.push(fault.function.clone());
            }
        }
    });
    functions.dedup();
    assert_eq!(functions.len(), 13, "{functions:?}");
}

#[test]
fn a_careless_program_is_found_out() {
    let sim = Sim::session(Config::default());
    let mut leaks = 0;
    let scenario = |_: &Sim| {
        if init(0) != OK || retain(&mut 0, 0) != OK {
            return;
        }
        // On failure nobody releases the context.
        let mut context = 0;
        get_current(&mut context);
        if set_current(context) == OK {
            release(0);
        }
    };
    sim.for_each_fault(&Config::seeded(2), scenario, |fault, (), reports| {
        let leaked = reports.iter().any(|report| report.kind == ReportKind::Leak);
        if fault.is_some_and(|fault| fault.function == "cuCtxSetCurrent") {
            assert!(leaked);
            leaks += 1;
        } else {
            assert!(!leaked, "{fault:?}");
        }
    });
    assert_eq!(leaks, 1);
}
