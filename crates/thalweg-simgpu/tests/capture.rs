//! Captures and graphs.
#![cfg(target_os = "linux")]

mod driver;

use std::ffi::c_void;
use std::ptr;
use std::thread;

use driver::*;
use thalweg_simgpu::{Config, ReportKind, Sim};

const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;

fn lazy() -> Config {
    Config::seeded(5).with_eagerness(0.0)
}

fn kinds(sim: &Sim) -> Vec<ReportKind> {
    sim.reports().iter().map(|report| report.kind).collect()
}

fn stream(flags: u32) -> u64 {
    get(|stream| stream_create(stream, flags))
}

fn event() -> u64 {
    get(|event| event_create(event, 2))
}

fn buffer(bytes: usize) -> u64 {
    get(|pointer| alloc(pointer, bytes))
}

fn status(stream: u64) -> u32 {
    get(|status| is_capturing(stream, status))
}

/// Ends a capture that must have failed.
fn end_broken(stream: u64) -> Code {
    let mut graph = 1;
    let code = end_capture(stream, &mut graph);
    assert_eq!(graph, 0);
    assert_eq!(status(stream), 0, "it is over all the same");
    code
}

#[test]
fn a_captured_fork_runs_as_often_as_it_is_launched() {
    let sim = Sim::session(lazy());
    for seed in 0..100 {
        sim.reset(Config::seeded(seed));
        start();
        register_affine(&sim);
        let (module, functions) = load(&["affine"]);
        let (main, side) = (stream(NON_BLOCKING), stream(NON_BLOCKING));
        let (fork, join) = (event(), event());
        let (input, output) = (Pinned::new(16), Pinned::new(16));
        let (x, y, z) = (buffer(64), buffer(64), buffer(64));
        assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
        assert_eq!((status(main), status(side)), (1, 0));
        assert_eq!(to_device_async(x, input.pointer(), 64, main), OK);
        assert_eq!(event_record(fork, main), OK);
        assert_eq!(stream_wait(side, fork, 0), OK);
        assert_eq!(status(side), 1);
        assert_eq!(affine(functions[0], side, y, x, 2.0, 0.0, 16), OK);
        assert_eq!(affine(functions[0], main, z, x, 3.0, 0.0, 16), OK);
        assert_eq!(event_record(join, side), OK);
        assert_eq!(stream_wait(main, join, 0), OK);
        assert_eq!(affine(functions[0], main, z, y, 1.0, 1.0, 16), OK);
        assert_eq!(to_host_async(output.pointer(), z, 64, main), OK);
        let graph = get(|graph| end_capture(main, graph));
        assert_eq!((status(main), status(side)), (0, 0));
        sim.drain();
        assert_eq!(sim.launches(), [""; 0], "capturing runs nothing");
        assert_eq!(get(|count| graph_nodes(graph, ptr::null_mut(), count)), 5);
        let exec = get(|exec| instantiate(exec, graph, 0));
        assert_eq!(graph_destroy(graph), OK);
        for round in 0..3 {
            input.set(&sim, |index| (index + round) as f32);
            assert_eq!(graph_launch(exec, main), OK);
            assert_eq!(stream_synchronize(main), OK);
            let values = output.values(&sim);
            assert!((0..16).all(|i| values[i] == 2.0 * (i + round) as f32 + 1.0));
        }
        assert_eq!(exec_destroy(exec), OK);
        for pointer in [x, y, z] {
            assert_eq!(free(pointer), OK);
        }
        input.free();
        output.free();
        assert_eq!((event_destroy(fork), event_destroy(join)), (OK, OK));
        assert_eq!((stream_destroy(main), stream_destroy(side)), (OK, OK));
        assert_eq!(module_unload(module), OK);
        assert_eq!(release(0), OK);
        sim.assert_clean();
    }
}

#[test]
fn branches_of_a_graph_are_not_ordered_and_launches_are() {
    let sim = Sim::session(lazy());
    start();
    let (main, side) = (stream(NON_BLOCKING), stream(NON_BLOCKING));
    let (fork, join) = (event(), event());
    let x = buffer(64);
    let capture = |second: u64| {
        assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
        assert_eq!(event_record(fork, main), OK);
        assert_eq!(stream_wait(side, fork, 0), OK);
        assert_eq!(fill32_async(x, 1, 16, main), OK);
        assert_eq!(fill32_async(second, 2, 16, side), OK);
        assert_eq!(event_record(join, side), OK);
        assert_eq!(stream_wait(main, join, 0), OK);
        let graph = get(|graph| end_capture(main, graph));
        get(|exec| instantiate(exec, graph, 0))
    };
    let racing = capture(x);
    assert_eq!(graph_launch(racing, main), OK);
    assert_eq!(stream_synchronize(main), OK);
    assert_eq!(kinds(&sim), [ReportKind::Race]);
    // Launches of one graph in two streams come one after the other; other work does not.
    let y = buffer(64);
    let fine = capture(y);
    assert_eq!(graph_launch(fine, main), OK);
    assert_eq!(graph_launch(fine, side), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim).len(), 1);
    assert_eq!(graph_launch(fine, main), OK);
    assert_eq!(fill32_async(y, 3, 16, side), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim).len(), 2);
}

#[test]
fn a_capture_must_be_ended_where_and_by_whom_it_was_begun() {
    let _sim = Sim::session(lazy());
    let context = start();
    let (main, side, fork) = (stream(NON_BLOCKING), stream(NON_BLOCKING), event());
    let mut graph = 0;
    assert_eq!(end_capture(main, &mut graph), ILLEGAL_STATE);
    assert_eq!(begin_capture(0, GLOBAL), CAPTURE_UNSUPPORTED);
    assert_eq!(begin_capture(main, 3), INVALID_VALUE);
    assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
    assert_eq!(begin_capture(main, THREAD_LOCAL), ILLEGAL_STATE);
    assert_eq!(event_record(fork, main), OK);
    assert_eq!(stream_wait(side, fork, 0), OK);
    assert_eq!(end_capture(side, &mut graph), CAPTURE_UNMATCHED);
    assert_eq!(end_broken(main), CAPTURE_INVALIDATED);
    assert_eq!(status(side), 0);
    for (mode, code) in [(THREAD_LOCAL, WRONG_THREAD), (RELAXED, OK)] {
        assert_eq!(begin_capture(main, mode), OK);
        thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(set_current(context), OK);
                assert_eq!(end_capture(main, &mut 0), code);
            });
        });
        // It is over all the same.
        assert_eq!(status(main), 0);
    }
}

#[test]
fn branches_must_be_joined_before_the_end() {
    let _sim = Sim::session(lazy());
    start();
    let (main, side, fork) = (stream(NON_BLOCKING), stream(NON_BLOCKING), event());
    let x = buffer(64);
    assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
    assert_eq!(event_record(fork, main), OK);
    assert_eq!(stream_wait(side, fork, 0), OK);
    assert_eq!(fill32_async(x, 1, 16, side), OK);
    assert_eq!(end_broken(main), CAPTURE_UNJOINED);
    assert_eq!(status(side), 0);
    assert_eq!(fill32_async(x, 1, 16, side), OK);
    assert_eq!(synchronize(), OK);
}

#[test]
fn what_a_capture_does_not_allow_breaks_it() {
    let _sim = Sim::session(lazy());
    start();
    let (main, outside) = (stream(0), event());
    let x = buffer(64);
    let mut values = [0u32; 16];
    let to = values.as_mut_ptr().cast::<c_void>();
    assert_eq!(event_record(outside, main), OK);
    let mut pointer = 0;
    let mut attempts: Vec<(Code, Box<dyn FnMut() -> Code>)> = vec![
        (CAPTURE_UNSUPPORTED, Box::new(|| stream_synchronize(main))),
        (CAPTURE_UNSUPPORTED, Box::new(|| stream_query(main))),
        (CAPTURE_UNSUPPORTED, Box::new(synchronize)),
        (CAPTURE_UNSUPPORTED, Box::new(|| alloc(&mut pointer, 8))),
        (CAPTURE_IMPLICIT, Box::new(|| to_host(to, x, 64))),
        (
            CAPTURE_ISOLATION,
            Box::new(|| stream_wait(main, outside, 0)),
        ),
        (
            CAPTURE_IMPLICIT,
            Box::new(|| fill32_async(x, 0, 16, LEGACY)),
        ),
    ];
    for (index, (code, attempt)) in attempts.iter_mut().enumerate() {
        assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
        assert_eq!(attempt(), *code, "attempt {index}");
        assert_eq!(status(main), 2);
        assert_eq!(fill32_async(x, 0, 16, main), CAPTURE_INVALIDATED);
        assert_eq!(end_broken(main), CAPTURE_INVALIDATED);
        assert_eq!(fill32_async(x, 0, 16, main), OK);
        assert_eq!(stream_synchronize(main), OK);
    }
}

#[test]
fn modes_say_whom_a_capture_hinders() {
    let _sim = Sim::session(lazy());
    let context = start();
    let main = stream(NON_BLOCKING);
    let elsewhere = |relaxed: bool| {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                assert_eq!(set_current(context), OK);
                if relaxed {
                    let mut mode = RELAXED;
                    assert_eq!(exchange_mode(&mut mode), OK);
                    assert_eq!(mode, GLOBAL);
                }
                let mut pointer = 0;
                alloc(&mut pointer, 8)
            });
            thread.join().unwrap()
        })
    };
    for (mode, relaxed, code) in [
        (GLOBAL, false, CAPTURE_UNSUPPORTED),
        (GLOBAL, true, OK),
        (THREAD_LOCAL, false, OK),
        (RELAXED, false, OK),
    ] {
        assert_eq!(begin_capture(main, mode), OK);
        assert_eq!(elsewhere(relaxed), code, "mode {mode}");
        let ended = if code == OK { OK } else { CAPTURE_INVALIDATED };
        assert_eq!(end_capture(main, &mut 0), ended);
    }
    let mut pointer = 0;
    assert_eq!(begin_capture(main, RELAXED), OK);
    assert_eq!(alloc(&mut pointer, 8), OK);
    assert_eq!(end_capture(main, &mut 0), OK);
}

#[test]
fn events_of_a_capture_are_good_for_nothing_else() {
    let _sim = Sim::session(lazy());
    start();
    let (main, other, inside) = (stream(NON_BLOCKING), stream(NON_BLOCKING), event());
    assert_eq!(begin_capture(main, RELAXED), OK);
    assert_eq!(event_record(inside, main), OK);
    assert_eq!(begin_capture(other, RELAXED), OK);
    assert_eq!(stream_wait(other, inside, 0), CAPTURE_MERGE);
    assert_eq!(end_broken(other), CAPTURE_INVALIDATED);
    assert_eq!(end_broken(main), CAPTURE_INVALIDATED);
    assert_eq!(event_query(inside), INVALID_VALUE);
    assert_eq!(event_synchronize(inside), INVALID_VALUE);
    assert_eq!(stream_wait(other, inside, 0), INVALID_VALUE);
    assert_eq!(begin_capture(main, RELAXED), OK);
    assert_eq!(event_record(inside, main), OK);
    assert_eq!(event_query(inside), CAPTURED_EVENT);
    assert_eq!(end_broken(main), CAPTURE_INVALIDATED);
    assert_eq!(event_record(inside, main), OK);
    assert_eq!(event_synchronize(inside), OK);
}

#[test]
fn a_capture_left_open_is_reported() {
    let sim = Sim::session(lazy());
    start();
    let main = stream(NON_BLOCKING);
    assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
    let reports = sim.finish();
    assert!(
        reports
            .iter()
            .any(|r| r.kind == ReportKind::CaptureLeftOpen)
    );
    assert_eq!(stream_destroy(main), OK);
    assert_eq!(kinds(&sim), [ReportKind::CaptureLeftOpen]);
}

#[test]
fn a_graph_takes_other_work_of_the_same_shape() {
    let sim = Sim::session(lazy());
    start();
    register_affine(&sim);
    let (_, functions) = load(&["affine"]);
    let main = stream(NON_BLOCKING);
    let x = buffer(64);
    let capture = |times: usize, value: f32| {
        assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
        assert_eq!(fill32_async(x, value.to_bits(), 16, main), OK);
        for _ in 0..times {
            assert_eq!(affine(functions[0], main, x, x, 2.0, 0.0, 16), OK);
        }
        get(|graph| end_capture(main, graph))
    };
    let (one, two, other) = (capture(1, 1.0), capture(2, 1.0), capture(1, 5.0));
    let exec = get(|exec| instantiate(exec, one, 0));
    let mut info = [0; 3];
    assert_eq!(graph_update(exec, two, &mut info), UPDATE_FAILURE);
    assert_eq!(info[0] as u32, 2);
    assert_eq!(graph_update(exec, other, &mut info), OK);
    assert_eq!(graph_launch(exec, main), OK);
    let mut values = [0.0f32; 16];
    assert_eq!(stream_synchronize(main), OK);
    assert_eq!(to_host(values.as_mut_ptr().cast(), x, 64), OK);
    assert_eq!(values, [10.0; 16]);
    let mut nodes = [0; 2];
    let mut count = 2;
    assert_eq!(graph_nodes(one, nodes.as_mut_ptr(), &mut count), OK);
    let types = nodes.map(|node| get(|kind| node_type(node, kind)));
    assert_eq!(types, [2, 0]);
    assert_eq!(kinds(&sim), []);
}

#[test]
fn memory_that_a_graph_uses_must_stay() {
    let sim = Sim::session(lazy());
    start();
    let main = stream(NON_BLOCKING);
    let x = buffer(64);
    assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
    assert_eq!(fill32_async(x, 1, 16, main), OK);
    let graph = get(|graph| end_capture(main, graph));
    let exec = get(|exec| instantiate(exec, graph, 0));
    assert_eq!(graph_launch(exec, main), OK);
    assert_eq!(free(x), OK);
    assert_eq!(kinds(&sim), []);
    assert_eq!(graph_launch(exec, main), OK);
    assert_eq!(stream_synchronize(main), OK);
    assert_eq!(kinds(&sim), [ReportKind::UseAfterFree]);
}

#[test]
fn a_graph_launched_in_a_capture_becomes_a_part_of_it() {
    let sim = Sim::session(lazy());
    start();
    let main = stream(NON_BLOCKING);
    let x = buffer(64);
    assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
    assert_eq!(fill32_async(x, 1, 16, main), OK);
    let inner = get(|graph| end_capture(main, graph));
    let inner = get(|exec| instantiate(exec, inner, 0));
    assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
    assert_eq!(graph_launch(inner, main), OK);
    assert_eq!(fill32_async(x, 2, 16, main), OK);
    let (mut state, mut id, mut into) = (0, 0, 0);
    let (mut nodes, mut count) = (ptr::null(), 0);
    assert_eq!(
        capture_info(main, &mut state, &mut id, &mut into, &mut nodes, &mut count),
        OK
    );
    assert_eq!((state, count), (1, 1));
    let outer = get(|graph| end_capture(main, graph));
    assert_eq!(outer, into);
    let outer = get(|exec| instantiate(exec, outer, 0));
    assert_eq!(graph_launch(outer, main), OK);
    let mut values = [0u32; 16];
    assert_eq!(to_host_async(values.as_mut_ptr().cast(), x, 64, main), OK);
    assert_eq!(values, [2; 16]);
    assert_eq!(kinds(&sim), []);
}

#[test]
fn an_event_recorded_by_a_graph_orders_what_waits_for_it() {
    let sim = Sim::session(lazy());
    start();
    let (main, side, done) = (stream(NON_BLOCKING), stream(NON_BLOCKING), event());
    let x = buffer(64);
    assert_eq!(begin_capture(main, THREAD_LOCAL), OK);
    assert_eq!(fill32_async(x, 1, 16, main), OK);
    assert_eq!(event_record_external(done, main, 1), OK);
    let graph = get(|graph| end_capture(main, graph));
    let exec = get(|exec| instantiate(exec, graph, 0));
    assert_eq!(graph_launch(exec, main), OK);
    assert_eq!(stream_wait(side, done, 0), OK);
    assert_eq!(fill32_async(x, 2, 16, side), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim), []);
}
