//! The calls that are allowed during a capture.

use std::ffi::c_void;
use std::ptr;
use std::thread;

use super::driver::*;
use super::{KERNEL, Probe, event, stream};

/// The objects with which all captures are made.
#[derive(Clone, Copy)]
struct Objects {
    context: u64,
    own: u64,
    blocking: u64,
    other: u64,
    done: u64,
    inside: u64,
    never: u64,
    x: u64,
    local: *mut c_void,
}

/// Asks about one action in a capture of its own.
type Ask<'a> = &'a mut dyn FnMut(&str, &mut dyn FnMut() -> Code);

/// Asks everything about captures.
pub(crate) fn ask(probe: &mut Probe, context: u64) {
    let mut host = [0u32; 16];
    let objects = Objects {
        context,
        own: stream(NON_BLOCKING),
        blocking: stream(0),
        other: stream(NON_BLOCKING),
        done: event(2),
        inside: event(2),
        never: event(2),
        x: get(|p| alloc(p, 64)),
        local: host.as_mut_ptr().cast(),
    };
    let Objects { own, done, .. } = objects;
    probe.code("end of no capture", end_capture(own, &mut 0));
    probe.code("capture of legacy", begin_capture(LEGACY, 0));
    probe.code("capture of null", begin_capture(0, 0));
    probe.code("capture with a mode that is none", begin_capture(own, 3));
    assert_eq!(event_record(done, own), OK);
    assert_eq!(stream_synchronize(own), OK);
    for (mode, name) in [(0, "global"), (1, "thread"), (2, "relaxed")] {
        in_mode(probe, objects, mode, name);
    }
    events(probe, objects);
    for event in [done, objects.inside, objects.never] {
        assert_eq!(event_destroy(event), OK);
    }
    for stream in [own, objects.blocking, objects.other] {
        assert_eq!(stream_destroy(stream), OK);
    }
}

/// Begins a capture, does something, and ends it.
fn in_capture(probe: &mut Probe, what: &str, own: u64, mode: u32, act: impl FnOnce() -> Code) {
    assert_eq!(begin_capture(own, mode), OK, "{what}");
    probe.code(what, act());
    let mut state = 9;
    let code = is_capturing(own, &mut state);
    probe.value(&format!("{what}, then"), format_args!("{code}, {state}"));
    let mut graph = 1;
    let end = end_capture(own, &mut graph);
    probe.value(
        &format!("{what}, end"),
        format_args!("{end}, {}", graph != 0),
    );
    if graph > 1 {
        assert_eq!(graph_destroy(graph), OK);
    }
    is_capturing(own, &mut state);
    probe.value(&format!("{what}, after"), state);
}

/// Asks about each action in captures of one mode.
fn in_mode(probe: &mut Probe, objects: Objects, mode: u32, name: &str) {
    let Objects { own, other, x, .. } = objects;
    let spare = get(|p| alloc(p, 8));
    let pinned = get(|p| alloc_host(p, 64, 0));
    let ordered = get(|p| alloc_async(p, 64, other));
    let module = get(|m| module_load(m, KERNEL.as_ptr().cast()));
    let graph = {
        assert_eq!(begin_capture(other, 1), OK);
        assert_eq!(fill32_async(x, 0, 16, other), OK);
        get(|graph| end_capture(other, graph))
    };
    let exec = get(|exec| instantiate(exec, graph, 0));
    let mut ask = |what: &str, act: &mut dyn FnMut() -> Code| {
        assert_eq!(synchronize(), OK, "{what}");
        in_capture(probe, &format!("{name}: {what}"), own, mode, act);
    };
    waits_and_memory(&mut ask, objects, mode, spare);
    work(&mut ask, objects, ordered);
    ends_and_graphs(&mut ask, objects, pinned, module, (graph, exec));
    other_threads(&mut ask, objects);
    other_streams(probe, objects, mode, name);
}

fn waits_and_memory(ask: Ask<'_>, objects: Objects, mode: u32, spare: u64) {
    let Objects {
        own,
        other,
        done,
        x,
        local,
        ..
    } = objects;
    ask("nothing", &mut || OK);
    ask("begin", &mut || begin_capture(own, mode));
    ask("stream synchronize", &mut || stream_synchronize(own));
    ask("stream query", &mut || stream_query(own));
    ask("other stream synchronize", &mut || {
        stream_synchronize(other)
    });
    ask("other stream query", &mut || stream_query(other));
    ask("context synchronize", &mut synchronize);
    ask("alloc", &mut || alloc(&mut 0, 8));
    ask("free", &mut || free(spare));
    ask("host alloc", &mut || alloc_host(&mut 0, 8, 0));
    ask("synchronous copy", &mut || to_host(local, x, 64));
    ask("synchronous fill", &mut || fill32(x, 0, 16));
    ask("event query", &mut || event_query(done));
    ask("event synchronize", &mut || event_synchronize(done));
    ask("event create and destroy", &mut || event_destroy(event(2)));
    ask("stream create and destroy", &mut || {
        stream_destroy(stream(1))
    });
}

fn work(ask: Ask<'_>, objects: Objects, ordered: u64) {
    let Objects {
        own,
        other,
        done,
        inside,
        never,
        x,
        local,
        ..
    } = objects;
    ask("module load", &mut || {
        module_load(&mut 0, KERNEL.as_ptr().cast())
    });
    ask("wait for an event outside", &mut || {
        stream_wait(own, done, 0)
    });
    ask("wait for one never recorded", &mut || {
        stream_wait(own, never, 0)
    });
    ask("copy in another stream", &mut || {
        to_host_async(local, x, 64, other)
    });
    ask("pageable copy to the host", &mut || {
        to_host_async(local, x, 64, own)
    });
    ask("pageable copy to the device", &mut || {
        to_device_async(x, local, 64, own)
    });
    ask("fill in legacy", &mut || fill32_async(x, 0, 16, LEGACY));
    ask("query of legacy", &mut || stream_query(LEGACY));
    ask("async alloc elsewhere", &mut || {
        alloc_async(&mut 0, 64, other)
    });
    ask("async free elsewhere", &mut || free_async(ordered, other));
    ask("event of the capture: query", &mut || {
        event_record(inside, own);
        event_query(inside)
    });
    ask("event of the capture: synchronize", &mut || {
        event_record(inside, own);
        event_synchronize(inside)
    });
}

fn ends_and_graphs(
    ask: Ask<'_>,
    objects: Objects,
    pinned: u64,
    module: u64,
    (graph, exec): (u64, u64),
) {
    let Objects {
        other, done, local, ..
    } = objects;
    ask("pool", &mut || {
        let pool = get(|p| default_pool(p, 0));
        pool_trim(pool, 0)
    });
    ask("host free", &mut || free_host(pinned));
    ask("register", &mut || register_host(local, 64, 0));
    ask("unregister", &mut || unregister_host(local));
    ask("module unload", &mut || module_unload(module));
    ask("instantiate", &mut || instantiate(&mut 0, graph, 0));
    ask("launch elsewhere", &mut || graph_launch(exec, other));
    ask("exec destroy", &mut || exec_destroy(exec));
    ask("graph destroy", &mut || graph_destroy(graph));
    ask("event record elsewhere", &mut || event_record(done, other));
    ask("wait elsewhere", &mut || stream_wait(other, done, 0));
    ask("time", &mut || event_elapsed(&mut 0.0, done, done));
    ask("memory info", &mut || memory_info(&mut 0, &mut 0));
}

fn other_threads(ask: Ask<'_>, objects: Objects) {
    let Objects {
        context,
        other,
        done,
        x,
        ..
    } = objects;
    for (act, what) in [
        (0, "alloc"),
        (1, "event query"),
        (2, "stream query"),
        (4, "context synchronize"),
        (5, "stream synchronize"),
        (6, "async alloc"),
        (7, "copy to pageable memory"),
        (3, "launch"),
    ] {
        ask(&format!("{what} of another thread"), &mut || {
            let thread = thread::spawn(move || {
                assert_eq!(set_current(context), OK);
                match act {
                    0 => alloc(&mut 0, 8),
                    1 => event_query(done),
                    2 => stream_query(other),
                    4 => synchronize(),
                    5 => stream_synchronize(other),
                    6 => alloc_async(&mut 0, 64, other),
                    7 => {
                        let mut word = 0u32;
                        to_host_async(ptr::from_mut(&mut word).cast(), x, 4, other)
                    }
                    _ => fill32_async(x, 0, 16, other),
                }
            });
            thread.join().unwrap()
        });
    }
    ask("alloc of another, relaxed thread", &mut || {
        let thread = thread::spawn(move || {
            assert_eq!(set_current(context), OK);
            assert_eq!(exchange_mode(&mut 2), OK);
            alloc(&mut 0, 8)
        });
        thread.join().unwrap()
    });
}

fn other_streams(probe: &mut Probe, objects: Objects, mode: u32, name: &str) {
    let Objects {
        context,
        own,
        blocking,
        x,
        local,
        ..
    } = objects;
    in_capture(
        probe,
        &format!("{name}, blocking: fill in legacy"),
        blocking,
        mode,
        || fill32_async(x, 0, 16, LEGACY),
    );
    in_capture(
        probe,
        &format!("{name}, blocking: status of legacy"),
        blocking,
        mode,
        || is_capturing(LEGACY, &mut 0),
    );
    in_capture(
        probe,
        &format!("{name}, blocking: synchronous copy"),
        blocking,
        mode,
        || to_host(local, x, 64),
    );
    in_capture(
        probe,
        &format!("{name}: work after a broken one"),
        own,
        mode,
        || {
            stream_synchronize(own);
            fill32_async(x, 0, 16, own)
        },
    );
    in_capture(
        probe,
        &format!("{name}: end of another thread"),
        own,
        mode,
        || {
            let thread = thread::spawn(move || {
                assert_eq!(set_current(context), OK);
                end_capture(own, &mut 0)
            });
            thread.join().unwrap()
        },
    );
}

/// Asks about events that were recorded in a capture.
fn events(probe: &mut Probe, objects: Objects) {
    let Objects {
        own,
        other,
        inside,
        x,
        ..
    } = objects;
    in_capture(probe, "unjoined", own, 1, || {
        event_record(inside, own);
        stream_wait(other, inside, 0);
        fill32_async(x, 0, 16, other)
    });
    in_capture(probe, "forked without work", own, 1, || {
        event_record(inside, own);
        stream_wait(other, inside, 0)
    });
    in_capture(probe, "end in the other stream", own, 1, || {
        event_record(inside, own);
        stream_wait(other, inside, 0);
        end_capture(other, &mut 0)
    });
    probe.code("query of the event of a broken one", event_query(inside));
    in_capture(probe, "a good one with an event", own, 1, || {
        event_record(inside, own)
    });
    probe.code("query of the event afterwards", event_query(inside));
    probe.code("wait for it afterwards", stream_wait(own, inside, 0));
    probe.code("record of it afterwards", event_record(inside, own));
    probe.code("wait of the host for it then", event_synchronize(inside));
    assert_eq!(begin_capture(other, 2), OK);
    event_record(inside, other);
    in_capture(probe, "merge", own, 2, || stream_wait(own, inside, 0));
    probe.code("merge, end of the other", end_capture(other, &mut 0));
    probe.code("free", free(x));
}
