//! The conformance of the stand-in with a real driver: its answers are compared with recorded ones
//! of an H200. `THALWEG_TEST_DRIVER=real` asks the driver of the machine.
#![cfg(target_os = "linux")]

mod captures;
#[path = "../driver/mod.rs"]
mod driver;

use std::ffi::c_void;
use std::fmt::Write;
use std::ptr;

use driver::*;
use thalweg_simgpu::{Config, Sim};

const KERNEL: &std::ffi::CStr = c".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry nothing()\n{\n    ret;\n}\n";

/// Asks everything, and gives the answers, one a line.
struct Probe {
    answers: String,
}

impl Probe {
    fn code(&mut self, what: &str, code: Code) {
        writeln!(self.answers, "{what}: {code}").unwrap();
    }

    fn value(&mut self, what: &str, value: impl std::fmt::Display) {
        writeln!(self.answers, "{what}: {value}").unwrap();
    }
}

fn stream(flags: u32) -> u64 {
    get(|stream| stream_create(stream, flags))
}

fn event(flags: u32) -> u64 {
    get(|event| event_create(event, flags))
}

fn ask() -> String {
    let mut probe = Probe {
        answers: String::new(),
    };
    let mut word = 0;
    probe.code("count before init", device_count(&mut 0));
    probe.code("init with flags", init(1));
    assert_eq!(init(0), OK);
    probe.code("alloc without context", alloc(&mut word, 8));
    probe.code("stream query without context", stream_query(0));
    let context = get(|context| retain(context, 0));
    assert_eq!(set_current(context), OK);
    memory(&mut probe);
    streams_and_events(&mut probe);
    kernels(&mut probe);
    captures::ask(&mut probe, context);
    graphs(&mut probe);
    green(&mut probe);
    probe.code("release", release(0));
    let mut active = 7;
    primary_state(0, &mut 0, &mut active);
    probe.value("active after release", active);
    probe.code("alloc after release", alloc(&mut word, 8));
    probe.code("release again", release(0));
    probe.answers
}

fn memory(probe: &mut Probe) {
    let mut word = 0;
    probe.code("alloc of nothing", alloc(&mut word, 0));
    probe.code("alloc of too much", alloc(&mut word, 1 << 45));
    word = 7;
    probe.code("async alloc of nothing", alloc_async(&mut word, 0, 0));
    probe.value("it is null", word == 0);
    word = 7;
    probe.code(
        "async alloc of too much",
        alloc_async(&mut word, 1 << 45, 0),
    );
    word = 7;
    probe.code("host alloc of nothing", alloc_host(&mut word, 0, 0));
    probe.value("it is null", word == 0);
    probe.code("free of null", free(0));
    probe.code("free of nowhere", free(0x10));
    probe.code("async free of null", free_async(0, 0));
    probe.code("async free of nowhere", free_async(0x10, 0));
    probe.code("host free of null", free_host(0));
    probe.code("host free of nowhere", free_host(0x10));
    let x = get(|p| alloc(p, 1024));
    probe.code("free of the inside", free(x + 8));
    let mut bytes = 0;
    probe.code("range", address_range(&mut word, &mut bytes, x + 8));
    probe.value("range starts right", word == x);
    probe.value("range size", bytes);
    probe.code(
        "range of nowhere",
        address_range(&mut word, &mut bytes, 0x10),
    );
    let mut host = [0u32; 256];
    let local: *mut c_void = host.as_mut_ptr().cast();
    probe.code("copy of nothing", to_host(local, x, 0));
    probe.code("copy of nothing from nowhere", to_host(local, 0x10, 0));
    probe.code("copy from nowhere", to_host(local, 0x10, 8));
    probe.code("copy to nowhere", to_device(0x10, local, 8));
    probe.code("fill of nowhere", fill32(0x10, 0, 2));
    probe.code("fill of nothing", fill32(x, 0, 0));
    let mut kind = 0u32;
    let out: *mut c_void = ptr::from_mut(&mut kind).cast();
    probe.code("pointer type", pointer_attribute(out, 2, x));
    probe.value("device memory is", kind);
    probe.code("pointer type of nowhere", pointer_attribute(out, 2, 0x10));
    let pinned = get(|p| alloc_host(p, 64, 0));
    probe.code("pinned pointer type", pointer_attribute(out, 2, pinned));
    probe.value("pinned memory is", kind);
    probe.code(
        "device pointer of pinned",
        host_pointer(&mut word, pinned, 0),
    );
    probe.value("it is the same", word == pinned);
    let pageable = host_pointer(&mut word, local as u64, 0);
    probe.code("device pointer of pageable", pageable);
    probe.code("free of pinned", free(pinned));
    probe.code("host free of device memory", free_host(x));
    probe.code("async free of pinned", free_async(pinned, 0));
    probe.code(
        "copy into pinned as device memory",
        to_device(pinned, local, 64),
    );
    probe.code("host free", free_host(pinned));
    probe.code("register", register_host(local, 1024, 0));
    probe.code("register again", register_host(local, 64, 0));
    probe.code("unregister", unregister_host(local));
    probe.code("unregister again", unregister_host(local));
    let y = get(|p| alloc_async(p, 1024, PER_THREAD));
    probe.code("async pointer type", pointer_attribute(out, 2, y));
    probe.code("async free", free_async(y, PER_THREAD));
    probe.code("free in another way", free_async(x, PER_THREAD));
    let y = get(|p| alloc_async(p, 1024, PER_THREAD));
    probe.code("synchronous free of it", free(y));
    pools(probe);
}

fn pools(probe: &mut Probe) {
    let pool = get(|p| default_pool(p, 0));
    probe.code("destroy of the default pool", pool_destroy(pool));
    let mut value = 7;
    probe.code("pool threshold", pool_get(pool, 4, &mut value));
    probe.value("pool threshold is", value);
    probe.code(
        "pool attribute that is none",
        pool_get(pool, 99, &mut value),
    );
    probe.code("pool reserved set", pool_set(pool, 5, &1));
}

fn streams_and_events(probe: &mut Probe) {
    let mut word = 0;
    probe.code("stream with flags", stream_create(&mut word, 2));
    probe.code("destroy of null", stream_destroy(0));
    probe.code("destroy of legacy", stream_destroy(LEGACY));
    probe.code("destroy of the thread's", stream_destroy(PER_THREAD));
    let own = stream(NON_BLOCKING);
    probe.value("flags", get(|flags| stream_flags(own, flags)));
    probe.value("flags of legacy", get(|flags| stream_flags(LEGACY, flags)));
    let (mut least, mut greatest) = (9, 9);
    probe.code("priorities", priority_range(&mut least, &mut greatest));
    probe.value("priorities from", least);
    probe.value("priorities to", greatest);
    probe.code("event with flags", event_create(&mut word, 16));
    probe.code("event for processes with time", event_create(&mut word, 4));
    let (never, timed, silent) = (event(0), event(0), event(2));
    probe.code("query of never recorded", event_query(never));
    probe.code("wait of host for never recorded", event_synchronize(never));
    probe.code("wait for never recorded", stream_wait(own, never, 0));
    probe.code("wait with flags", stream_wait(own, never, 4));
    assert_eq!(
        (event_record(timed, own), event_record(silent, own)),
        (OK, OK)
    );
    assert_eq!(stream_synchronize(own), OK);
    let mut time = 0.0;
    probe.code(
        "time of never recorded",
        event_elapsed(&mut time, never, timed),
    );
    probe.code("time of silent", event_elapsed(&mut time, timed, silent));
    probe.code("time", event_elapsed(&mut time, timed, timed));
    probe.code("host function of null", {
        type Function = unsafe extern "C" fn(u64, usize, usize) -> Code;
        // SAFETY: that is the function's type, with null for a pointer.
        let call: Function = unsafe { std::mem::transmute(symbol("cuLaunchHostFunc")) };
        // SAFETY: the driver checks for null.
        unsafe { call(own, 0, 0) }
    });
    for event in [never, timed, silent] {
        assert_eq!(event_destroy(event), OK);
    }
    assert_eq!(stream_destroy(own), OK);
}

fn kernels(probe: &mut Probe) {
    let mut word = 0;
    probe.code("image of null", module_load(&mut word, ptr::null()));
    let module = get(|m| module_load(m, KERNEL.as_ptr().cast()));
    let missing = c"something".as_ptr();
    probe.code(
        "kernel that is not there",
        module_function(&mut word, module, missing),
    );
    let variable = module_global(&mut word, &mut 0, module, missing);
    probe.code("variable that is not there", variable);
    let f = get(|f| module_function(f, module, c"nothing".as_ptr()));
    probe.code("launch", launch_shaped(f, 1, 32, 0, 0));
    probe.code("launch without blocks", launch_shaped(f, 0, 32, 0, 0));
    probe.code("launch without threads", launch_shaped(f, 1, 0, 0, 0));
    probe.code("launch with many threads", launch_shaped(f, 1, 1025, 0, 0));
    probe.code(
        "launch with much shared",
        launch_shaped(f, 1, 32, 64 << 10, 0),
    );
    probe.code("shared opt-in", function_set(f, 8, 100 << 10));
    probe.code("launch with it", launch_shaped(f, 1, 32, 64 << 10, 0));
    probe.code("shared opt-in of too much", function_set(f, 8, 1 << 20));
    probe.code("attribute that is read only", function_set(f, 0, 1));
    probe.code("synchronize", synchronize());
    probe.code("unload", module_unload(module));
    let mut function = ptr::null_mut();
    let mut status = 9;
    let name = c"cuNothing".as_ptr();
    let found = proc_address(name, &mut function, 12000, 0, &mut status);
    probe.code("function that is not there", found);
    probe.value("its status", status);
}

fn graphs(probe: &mut Probe) {
    let own = stream(NON_BLOCKING);
    let x = get(|p| alloc(p, 64));
    let capture = |fills: usize| {
        assert_eq!(begin_capture(own, 1), OK);
        for _ in 0..fills {
            assert_eq!(fill32_async(x, fills as u32, 16, own), OK);
        }
        get(|graph| end_capture(own, graph))
    };
    let (empty, one, two) = (capture(0), capture(1), capture(2));
    let run = |graph| {
        let exec = get(|exec| instantiate(exec, graph, 0));
        assert_eq!(graph_launch(exec, own), OK);
        assert_eq!(stream_synchronize(own), OK);
        exec
    };
    let nothing = run(empty);
    let exec = run(one);
    let mut info = [0; 3];
    probe.code("update with the same", graph_update(exec, one, &mut info));
    probe.value("its result", info[0] as u32);
    probe.code("update with another", graph_update(exec, two, &mut info));
    probe.value("its result", info[0] as u32);
    probe.code("launch afterwards", graph_launch(exec, own));
    let mut nodes = [7; 4];
    let mut count = 4;
    probe.code("nodes", graph_nodes(two, nodes.as_mut_ptr(), &mut count));
    probe.value("how many", count);
    probe.value("the rest", nodes[3]);
    probe.value("kind", get(|kind| node_type(nodes[0], kind)));
    probe.code("legacy launch", graph_launch(exec, LEGACY));
    probe.code("synchronize", synchronize());
    for exec in [exec, nothing] {
        assert_eq!(exec_destroy(exec), OK);
    }
    for graph in [empty, one, two] {
        assert_eq!(graph_destroy(graph), OK);
    }
    assert_eq!(free(x), OK);
    assert_eq!(stream_destroy(own), OK);
}

fn green(probe: &mut Probe) {
    let mut all = [0u8; 144];
    let mut groups = [[0u8; 144]; 2];
    let (to, from) = (groups.as_mut_ptr().cast(), all.as_mut_ptr().cast());
    probe.code("resource that is none", device_resource(0, from, 0));
    probe.code("resource", device_resource(0, from, 1));
    let mut count = 2;
    let split = split_resource(to, &mut count, from, ptr::null_mut(), 0, 20);
    probe.code("split", split);
    probe.value("groups", count);
    probe.value(
        "size",
        u32::from_le_bytes([groups[0][96], groups[0][97], 0, 0]),
    );
    let description = get(|d| describe_resource(d, to, 1));
    let mut word = 0;
    probe.code(
        "green without its flag",
        green_create(&mut word, description, 0, 0),
    );
    let green = get(|g| green_create(g, description, 0, 1));
    probe.code(
        "blocking green stream",
        green_stream(&mut word, green, 0, 0),
    );
    let own = get(|s| green_stream(s, green, NON_BLOCKING, 0));
    let x = get(|p| alloc(p, 64));
    probe.code("fill", fill32_async(x, 1, 16, own));
    let done = event(2);
    probe.code("record", event_record(done, own));
    let module = get(|m| module_load(m, KERNEL.as_ptr().cast()));
    let f = get(|f| module_function(f, module, c"nothing".as_ptr()));
    probe.code(
        "launch of the primary's kernel",
        launch_shaped(f, 1, 32, 0, own),
    );
    probe.code("capture", begin_capture(own, 1));
    probe.code("its end", end_capture(own, &mut word));
    probe.code("graph", graph_destroy(word));
    probe.code("synchronize", synchronize());
    probe.code("query", stream_query(own));
    assert_eq!(module_unload(module), OK);
    assert_eq!((event_destroy(done), free(x)), (OK, OK));
    probe.code("stream", stream_destroy(own));
    probe.code("green", green_destroy(green));
}

#[test]
fn the_answers_are_those_of_an_h200() {
    let _sim = (!is_real()).then(|| Sim::session(Config::seeded(1)));
    let answers = ask();
    if let Ok(path) = std::env::var("THALWEG_RECORD") {
        std::fs::write(path, answers).unwrap();
        return;
    }
    let recorded = include_str!("answers.txt");
    let differing: Vec<_> = answers
        .lines()
        .zip(recorded.lines())
        .filter(|(ours, theirs)| ours != theirs)
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
    assert_eq!(answers.lines().count(), recorded.lines().count());
}
