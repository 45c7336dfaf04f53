//! What the functions of the driver do, and what they return.
#![cfg(target_os = "linux")]

mod driver;

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, ThreadId};

use driver::*;
use thalweg_simgpu::{Config, ReportKind, Sim, WorkKind};

/// Nothing runs before somebody waits for it.
fn lazy() -> Config {
    Config::seeded(3).with_eagerness(0.0)
}

fn kinds(sim: &Sim) -> Vec<ReportKind> {
    sim.reports().iter().map(|report| report.kind).collect()
}

fn buffer(bytes: usize) -> u64 {
    get(|pointer| alloc(pointer, bytes))
}

fn stream(flags: u32) -> u64 {
    get(|stream| stream_create(stream, flags))
}

fn event() -> u64 {
    get(|event| event_create(event, 0))
}

#[test]
fn nothing_works_before_the_start_and_without_a_context() {
    let sim = Sim::session(lazy());
    let mut count = 0;
    let mut pointer = 0;
    assert_eq!(device_count(&mut count), NOT_INITIALIZED);
    assert_eq!(init(1), INVALID_VALUE);
    assert_eq!(init(0), OK);
    assert_eq!(device_count(&mut count), OK);
    assert_eq!(count, 1);
    assert_eq!(alloc(&mut pointer, 8), INVALID_CONTEXT);
    let context = get(|context| retain(context, 0));
    assert_eq!(alloc(&mut pointer, 8), INVALID_CONTEXT);
    assert_eq!(set_current(context), OK);
    assert_eq!(alloc(&mut pointer, 8), OK);
    assert_eq!(free(pointer), OK);
    assert_eq!(release(0), OK);
    assert_eq!(
        alloc(&mut pointer, 8),
        CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED as u32
    );
    sim.assert_clean();
}

#[test]
fn each_thread_has_its_own_stack_of_contexts() {
    let sim = Sim::session(lazy().with_devices(2));
    let first = start();
    let second = get(|context| retain(context, 1));
    assert_eq!(push_current(second), OK);
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(get(get_current), 0);
            assert_eq!(set_current(first), OK);
            assert_eq!(get(get_current), first);
        });
    });
    assert_eq!(get(get_current), second);
    assert_eq!(get(pop_current), second);
    assert_eq!(get(get_current), first);
    assert_eq!((release(0), release(1)), (OK, OK));
    sim.assert_clean();
}

#[test]
fn a_destroyed_handle_is_reported_and_comes_back_for_another_object() {
    let sim = Sim::session(lazy());
    start();
    let first = stream(0);
    let id = get(|id| stream_id(first, id));
    assert_eq!(stream_destroy(first), OK);
    assert_eq!(stream_synchronize(first), INVALID_HANDLE);
    assert_eq!(kinds(&sim), [ReportKind::UseAfterDestroy]);
    let second = stream(0);
    assert_eq!(first, second);
    assert_ne!(get(|id| stream_id(second, id)), id);
    assert_eq!(event_query(0x1234), INVALID_HANDLE);
    assert_eq!(kinds(&sim)[1..], [ReportKind::InvalidHandle]);
}

#[test]
fn work_goes_on_after_its_stream_and_its_event_are_destroyed() {
    let sim = Sim::session(lazy());
    start();
    let (x, pinned) = (buffer(64), Pinned::new(16));
    let (first, done) = (stream(NON_BLOCKING), event());
    assert_eq!(fill32_async(x, 1.0f32.to_bits(), 16, first), OK);
    assert_eq!(event_record(done, first), OK);
    assert_eq!(stream_destroy(first), OK);
    // A stream with the same handle waits for the work of the old one only because it is told to.
    let second = stream(NON_BLOCKING);
    assert_eq!(stream_wait(second, done, 0), OK);
    assert_eq!(event_destroy(done), OK);
    assert_eq!(to_host_async(pinned.pointer(), x, 64, second), OK);
    assert_eq!(stream_synchronize(second), OK);
    assert_eq!(pinned.values(&sim), [1.0; 16]);
    assert_eq!(kinds(&sim), []);
    // Now it is not told.
    assert_eq!(fill32_async(x, 0, 16, second), OK);
    assert_eq!(stream_destroy(second), OK);
    let third = stream(NON_BLOCKING);
    assert_eq!(third, second);
    assert_eq!(to_host_async(pinned.pointer(), x, 64, third), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim), [ReportKind::Race]);
}

#[test]
fn the_legacy_stream_is_ordered_with_blocking_streams_only() {
    let sim = Sim::session(lazy());
    start();
    let x = buffer(64);
    for (flags, default, races) in [
        (0, 0, false),
        (0, LEGACY, false),
        (NON_BLOCKING, 0, true),
        // Two blocking streams are not ordered with each other.
        (0, PER_THREAD, true),
    ] {
        let other = stream(flags);
        assert_eq!(fill32_async(x, 1, 16, other), OK);
        assert_eq!(fill32_async(x, 2, 16, default), OK);
        assert_eq!(synchronize(), OK);
        assert_eq!(!sim.reports().is_empty(), races, "{flags} and {default}");
        let before = sim.reports().len();
        assert_eq!(fill32_async(x, 2, 16, default), OK);
        assert_eq!(fill32_async(x, 1, 16, other), OK);
        assert_eq!(synchronize(), OK);
        assert_eq!(sim.reports().len() > before, races, "{default} and {flags}");
        assert_eq!(stream_destroy(other), OK);
    }
}

#[test]
fn null_is_the_legacy_stream_or_that_of_the_thread() {
    let _sim = Sim::session(lazy());
    start();
    let legacy = get(|id| stream_id(0, id));
    assert_eq!(legacy, get(|id| stream_id(LEGACY, id)));
    let own = get(|id| stream_id_ptsz(0, id));
    assert_eq!(own, get(|id| stream_id(PER_THREAD, id)));
    assert_ne!(legacy, own);
    let context = get(get_current);
    let other = thread::scope(|scope| {
        let other = scope.spawn(|| {
            assert_eq!(set_current(context), OK);
            get(|id| stream_id(PER_THREAD, id))
        });
        other.join().unwrap()
    });
    assert_ne!(other, own);
}

#[test]
fn pageable_sources_are_read_before_the_call_returns_and_pinned_ones_are_not() {
    let sim = Sim::session(lazy());
    start();
    let (x, back) = (buffer(64), Pinned::new(16));
    let own = stream(NON_BLOCKING);
    let mut pageable = [1.0f32; 16];
    assert_eq!(to_device_async(x, pageable.as_ptr().cast(), 64, own), OK);
    pageable.fill(2.0);
    assert_eq!(to_host_async(back.pointer(), x, 64, own), OK);
    assert_eq!(stream_synchronize(own), OK);
    assert_eq!(back.values(&sim), [1.0; 16]);
    let pinned = Pinned::new(16);
    pinned.set(&sim, |_| 1.0);
    assert_eq!(to_device_async(x, pinned.pointer(), 64, own), OK);
    pinned.set(&sim, |_| 2.0);
    assert_eq!(to_host_async(back.pointer(), x, 64, own), OK);
    assert_eq!(stream_synchronize(own), OK);
    assert_eq!(back.values(&sim), [2.0; 16]);
    assert_eq!(kinds(&sim), [ReportKind::HostRace]);
}

#[test]
fn a_copy_to_pageable_memory_is_over_when_the_call_returns() {
    let sim = Sim::session(lazy());
    start();
    let x = buffer(64);
    let own = stream(NON_BLOCKING);
    let mut pageable = [0u32; 16];
    assert_eq!(fill32_async(x, 5, 16, own), OK);
    assert_eq!(to_host_async(pageable.as_mut_ptr().cast(), x, 64, own), OK);
    assert_eq!(pageable, [5; 16]);
    assert_eq!(stream_query(own), OK);
    assert_eq!(sim.host_waits(), 1);
}

#[test]
fn a_call_that_waits_for_its_own_work_ends_when_work_runs_freely() {
    let sim = Sim::session(Config::free());
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        start();
        let x: u64 = get(|p| alloc(p, 64));
        let own: u64 = get(|stream| stream_create(stream, 1));
        for round in 0..100 {
            let mut pageable = [0u32; 16];
            assert_eq!(fill32_async(x, round, 16, own), OK);
            // So that all workers sleep.
            assert_eq!(stream_synchronize(own), OK);
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert_eq!(to_host_async(pageable.as_mut_ptr().cast(), x, 64, own), OK);
            assert_eq!(pageable, [round; 16]);
        }
        assert_eq!((free(x), stream_destroy(own), release(0)), (OK, OK, OK));
        done.send(()).unwrap();
    });
    let patience = std::time::Duration::from_secs(30);
    assert!(ended.recv_timeout(patience).is_ok(), "nobody runs the copy");
    sim.assert_clean();
}

#[test]
fn a_copy_from_pageable_memory_without_a_stream_need_not_be_over() {
    let sim = Sim::session(lazy());
    start();
    let x = buffer(64);
    let own = stream(NON_BLOCKING);
    let pageable = [1u32; 16];
    assert_eq!(to_device(x, pageable.as_ptr().cast(), 64), OK);
    // Only a stream that the legacy stream blocks may use it now.
    assert_eq!(fill32_async(x, 5, 16, own), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim), [ReportKind::Race]);
}

#[test]
fn copies_without_a_stream_wait_where_the_host_takes_part() {
    let sim = Sim::session(lazy());
    start();
    let (x, y) = (buffer(64), buffer(64));
    let own = stream(0);
    assert_eq!(fill32(x, 7, 16), OK);
    assert_eq!(on_device(y, x, 64), OK);
    assert_eq!(stream_query(0), NOT_READY);
    assert_eq!(sim.host_waits(), 0);
    let mut values = [0u32; 16];
    assert_eq!(to_host(values.as_mut_ptr().cast(), y, 64), OK);
    assert_eq!(values, [7; 16]);
    assert_eq!(stream_query(own), OK);
    assert_eq!(kinds(&sim), []);
}

#[test]
fn rows_are_copied_with_their_pitches() {
    use cudarc::driver::sys::{CUDA_MEMCPY2D, CUmemorytype};
    let sim = Sim::session(lazy());
    start();
    let x = buffer(64);
    let from: Vec<u8> = (0..32).collect();
    let rows = CUDA_MEMCPY2D {
        srcXInBytes: 1,
        srcY: 1,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: from.as_ptr().cast(),
        srcDevice: 0,
        srcArray: ptr::null_mut(),
        srcPitch: 8,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: ptr::null_mut(),
        dstDevice: x,
        dstArray: ptr::null_mut(),
        dstPitch: 16,
        WidthInBytes: 3,
        Height: 2,
    };
    assert_eq!(copy_rows(&rows), OK);
    let mut back = [0u8; 20];
    assert_eq!(to_host(back.as_mut_ptr().cast(), x, 20), OK);
    assert_eq!(back[..3], [9, 10, 11]);
    assert_eq!(back[16..19], [17, 18, 19]);
    assert_eq!(kinds(&sim), []);
}

#[test]
fn freeing_waits_and_fresh_memory_is_no_number() {
    let sim = Sim::session(lazy());
    start();
    let x = buffer(64);
    let own = stream(NON_BLOCKING);
    assert_eq!(fill32_async(x, 0, 16, own), OK);
    assert_eq!(free(x), OK);
    assert_eq!(stream_query(own), OK);
    // The same address comes back, with nothing of what was there.
    let y = buffer(64);
    assert_eq!(x, y);
    let mut values = [0.0f32; 16];
    assert_eq!(to_host(values.as_mut_ptr().cast(), y, 64), OK);
    assert!(values.iter().all(|value| value.is_nan()));
    assert_eq!(kinds(&sim), []);
}

#[test]
fn wrong_uses_of_memory_are_reported() {
    let sim = Sim::session(lazy());
    start();
    register_affine(&sim);
    let (_, functions) = load(&["affine"]);
    let (x, y) = (buffer(64), buffer(64));
    assert_eq!(free(x), OK);
    assert_eq!(free(x), INVALID_VALUE);
    assert_eq!(kinds(&sim), [ReportKind::DoubleFree]);
    assert_eq!(free(y + 4), INVALID_VALUE);
    assert_eq!(kinds(&sim)[1..], [ReportKind::InvalidFree]);
    let mut values = [0u32; 32];
    assert_eq!(to_host(values.as_mut_ptr().cast(), x, 64), INVALID_VALUE);
    assert_eq!(kinds(&sim)[2..], [ReportKind::UseAfterFree]);
    assert_eq!(to_host(values.as_mut_ptr().cast(), y, 65), INVALID_VALUE);
    // Kernels are found out when they run.
    assert_eq!(affine(functions[0], 0, y, x, 1.0, 0.0, 16), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim)[3..], [ReportKind::UseAfterFree]);
    assert_eq!(affine(functions[0], 0, y, y, 1.0, 0.0, 17), OK);
    assert_eq!(synchronize(), LAUNCH_FAILED);
    assert_eq!(
        kinds(&sim)[4..],
        [ReportKind::OutOfBounds, ReportKind::KernelFailed]
    );
}

#[test]
fn a_failed_device_stays_failed_until_its_context_is_gone() {
    let sim = Sim::session(lazy());
    start();
    let x = buffer(64);
    let done = event();
    let nowhere = 0x10u64;
    register_affine(&sim);
    let (_, functions) = load(&["affine"]);
    assert_eq!(affine(functions[0], 0, x, nowhere, 1.0, 0.0, 4), OK);
    assert_eq!(event_record(done, 0), OK);
    assert_eq!(event_synchronize(done), LAUNCH_FAILED);
    let mut pointer = 0;
    assert_eq!(alloc(&mut pointer, 8), LAUNCH_FAILED);
    assert_eq!(stream_query(0), LAUNCH_FAILED);
    // Ending things works all the same.
    assert_eq!(free(x), LAUNCH_FAILED);
    assert_eq!(reset_device(0), OK);
    let mut active = 1;
    assert_eq!(primary_state(0, &mut 0, &mut active), OK);
    assert_eq!(active, 0);
    let context = get(|context| retain(context, 0));
    assert_eq!(set_current(context), OK);
    assert_eq!(alloc(&mut pointer, 8), OK);
}

#[test]
fn events_say_when_work_is_done_and_how_long_it_took() {
    let sim = Sim::session(lazy());
    start();
    let (x, own) = (buffer(1 << 20), stream(NON_BLOCKING));
    let (before, after) = (event(), event());
    assert_eq!(event_query(before), OK);
    assert_eq!(kinds(&sim), [ReportKind::EventNeverRecorded]);
    assert_eq!(event_record(before, own), OK);
    assert_eq!(fill32_async(x, 0, 1 << 18, own), OK);
    assert_eq!(event_record(after, own), OK);
    assert_eq!(event_query(after), NOT_READY);
    let mut time = 0.0;
    assert_eq!(event_elapsed(&mut time, before, after), NOT_READY);
    assert_eq!(event_synchronize(after), OK);
    assert_eq!(event_query(after), OK);
    assert_eq!(event_elapsed(&mut time, before, after), OK);
    assert!(time > 0.0);
    let silent = get(|event| event_create(event, 2));
    assert_eq!(event_record(silent, own), OK);
    assert_eq!(stream_synchronize(own), OK);
    assert_eq!(event_elapsed(&mut time, before, silent), INVALID_HANDLE);
}

#[test]
fn a_wait_is_for_the_record_before_it_and_not_for_a_later_one() {
    let sim = Sim::session(lazy());
    start();
    let (x, y) = (buffer(64), buffer(64));
    let (first, second, done) = (stream(NON_BLOCKING), stream(NON_BLOCKING), event());
    assert_eq!(fill32_async(x, 1, 16, first), OK);
    assert_eq!(event_record(done, first), OK);
    assert_eq!(stream_wait(second, done, 0), OK);
    assert_eq!(fill32_async(y, 1, 16, first), OK);
    assert_eq!(event_record(done, first), OK);
    assert_eq!(fill32_async(x, 2, 16, second), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim), []);
    assert_eq!(fill32_async(y, 1, 16, first), OK);
    assert_eq!(event_record(done, first), OK);
    assert_eq!(fill32_async(y, 1, 16, first), OK);
    assert_eq!(stream_wait(second, done, 0), OK);
    assert_eq!(fill32_async(y, 2, 16, second), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim), [ReportKind::Race]);
}

#[test]
fn host_functions_run_on_another_thread_and_must_not_call_the_driver() {
    struct Seen(std::sync::Mutex<Option<(ThreadId, Code)>>);
    unsafe extern "C" fn look(data: *mut c_void) {
        // SAFETY: it is the test's `Seen`.
        let seen = unsafe { &*data.cast::<Seen>() };
        let code = synchronize();
        *seen.0.lock().unwrap() = Some((thread::current().id(), code));
    }
    let sim = Sim::session(lazy());
    start();
    let seen = Seen(std::sync::Mutex::new(None));
    let data = ptr::from_ref(&seen).cast_mut().cast();
    assert_eq!(host_function(0, look, data), OK);
    assert!(seen.0.lock().unwrap().is_none());
    assert_eq!(synchronize(), OK);
    let (thread, code) = seen.0.lock().unwrap().unwrap();
    assert_ne!(thread, thread::current().id());
    assert_eq!(code, CUresult::CUDA_ERROR_NOT_PERMITTED as u32);
    assert_eq!(kinds(&sim), [ReportKind::CallInCallback]);
}

#[test]
fn a_host_function_may_wait_for_the_thread_that_enqueued_it() {
    static GATE: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn wait(_data: *mut c_void) {
        while GATE.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
    }
    let _sim = Sim::session(Config::seeded(1).with_eagerness(1.0));
    start();
    assert_eq!(host_function(PER_THREAD, wait, ptr::null_mut()), OK);
    assert_eq!(stream_query(PER_THREAD), NOT_READY);
    GATE.store(1, Ordering::Release);
    assert_eq!(synchronize(), OK);
}

#[test]
fn freed_memory_of_a_pool_is_reused_in_the_order_of_streams() {
    let sim = Sim::session(lazy());
    start();
    let (first, second, freed) = (stream(NON_BLOCKING), stream(NON_BLOCKING), event());
    let x = get(|p| alloc_async(p, 1000, first));
    assert_eq!(fill32_async(x, 1, 250, first), OK);
    assert_eq!(free_async(x, first), OK);
    // At once in the same stream, in which nothing has run yet.
    let y = get(|p| alloc_async(p, 900, first));
    assert_eq!(x, y);
    assert_eq!(fill32_async(y, 2, 225, first), OK);
    assert_eq!(free_async(y, first), OK);
    assert_eq!(event_record(freed, first), OK);
    // In another stream not before it is ordered.
    let z = get(|p| alloc_async(p, 1000, second));
    assert_ne!(z, x);
    assert_eq!(free_async(z, second), OK);
    assert_eq!(stream_wait(second, freed, 0), OK);
    let one = get(|p| alloc_async(p, 1000, second));
    let other = get(|p| alloc_async(p, 1000, second));
    assert!(one != other && [one, other].iter().all(|p| [x, z].contains(p)));
    assert_eq!(fill32_async(one, 1, 250, second), OK);
    assert_eq!(fill32_async(other, 1, 250, second), OK);
    assert_eq!(
        (free_async(one, second), free_async(other, second)),
        (OK, OK)
    );
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim), []);
    // Whatever is above the threshold went back to the device.
    assert_eq!(sim.used_memory(0), 0);
}

#[test]
fn memory_must_not_be_used_outside_of_its_order() {
    let sim = Sim::session(lazy());
    start();
    let (first, second) = (stream(NON_BLOCKING), stream(NON_BLOCKING));
    let x = get(|p| alloc_async(p, 64, first));
    assert_eq!(fill32_async(x, 1, 16, second), OK);
    assert_eq!(stream_synchronize(first), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim), [ReportKind::Race]);
    assert_eq!(fill32_async(x, 1, 16, second), OK);
    sim.drain();
    assert_eq!(free_async(x, first), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(kinds(&sim)[1..], [ReportKind::FreeWhileInUse]);
    assert_eq!(free_async(x, first), INVALID_VALUE);
    assert_eq!(kinds(&sim)[2..], [ReportKind::DoubleFree]);
}

#[test]
fn pools_keep_what_their_threshold_says() {
    let sim = Sim::session(lazy());
    start();
    let pool = get(|pool| default_pool(pool, 0));
    assert_eq!(pool_set(pool, 4, &u64::MAX), OK);
    let x = get(|p| alloc_from_pool(p, 4096, pool, 0));
    assert_eq!(get(|value| pool_get(pool, 7, value)), 4096);
    assert_eq!(free_async(x, 0), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(sim.used_memory(0), 4096);
    assert_eq!(get(|value| pool_get(pool, 5, value)), 4096);
    assert_eq!(pool_trim(pool, 0), OK);
    assert_eq!(sim.used_memory(0), 0);
    assert_eq!(pool_destroy(pool), INVALID_VALUE);
}

#[test]
fn pinned_memory_must_not_go_while_it_is_used() {
    let sim = Sim::session(lazy());
    start();
    let (x, own) = (buffer(64), stream(NON_BLOCKING));
    let pinned = Pinned::new(16);
    assert_eq!(to_host_async(pinned.pointer(), x, 64, own), OK);
    pinned.free();
    assert_eq!(kinds(&sim), [ReportKind::FreeWhileInUse]);
    assert_eq!(stream_synchronize(own), OK);
    assert_eq!(kinds(&sim)[1..], [ReportKind::UseAfterFree]);
    let mut own_memory = vec![0u32; 16];
    let address = own_memory.as_mut_ptr().cast::<c_void>();
    assert_eq!(register_host(address, 64, 0), OK);
    assert_eq!(
        register_host(address, 8, 0),
        CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED as u32
    );
    assert_eq!(to_host_async(address, x, 64, own), OK);
    assert!(sim.host_waits() == 1, "registered memory is pinned");
    assert_eq!(stream_synchronize(own), OK);
    assert_eq!(unregister_host(address), OK);
}

#[test]
fn what_is_not_ended_is_a_leak() {
    let sim = Sim::session(lazy());
    start();
    buffer(8);
    Pinned::new(4);
    stream(0);
    event();
    load(&["a"]);
    let leaks = sim.finish();
    assert!(leaks.iter().all(|report| report.kind == ReportKind::Leak));
    // Memory, pinned memory, stream, event, module, context.
    assert_eq!(leaks.len(), 6, "{leaks:#?}");
}

#[test]
fn devices_reach_each_other_only_as_peers() {
    let sim = Sim::session(lazy().with_devices(2));
    start();
    let other = get(|context| retain(context, 1));
    register_affine(&sim);
    let (_, functions) = load(&["affine"]);
    let x = buffer(64);
    assert_eq!(push_current(other), OK);
    let y = buffer(64);
    assert_eq!(pop_current(&mut 0), OK);
    assert_eq!(fill32_async(x, 3.0f32.to_bits(), 16, 0), OK);
    assert_eq!(to_peer_async(y, 0, x, 0, 64, 0), OK);
    assert_eq!(enable_peer(other, 0), OK);
    assert_eq!(affine(functions[0], 0, x, y, 2.0, 0.0, 16), OK);
    let mut values = [0.0f32; 16];
    assert_eq!(to_host(values.as_mut_ptr().cast(), x, 64), OK);
    assert_eq!(values, [6.0; 16]);
    assert_eq!(kinds(&sim), []);
    let ordinal = get(|ordinal: &mut i32| pointer_attribute(ptr::from_mut(ordinal).cast(), 9, y));
    assert_eq!(ordinal, 1);
    sim.reset(lazy().with_devices(2));
    start();
    let other = get(|context| retain(context, 1));
    let (_, functions) = load(&["affine"]);
    let x = buffer(64);
    assert_eq!(push_current(other), OK);
    let y = buffer(64);
    assert_eq!(pop_current(&mut 0), OK);
    assert_eq!(affine(functions[0], 0, x, y, 2.0, 0.0, 16), OK);
    assert_eq!(synchronize(), LAUNCH_FAILED);
    assert_eq!(kinds(&sim)[0], ReportKind::InvalidAddress);
}

#[test]
fn kernels_that_nobody_registered_are_recorded() {
    let sim = Sim::session(lazy());
    start();
    let image = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0";
    let module = get(|module| module_load(module, image.as_ptr().cast()));
    let function = get(|f| module_function(f, module, c"triton_fused_0".as_ptr()));
    assert_eq!(launch(function, 0, &mut []), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(sim.launches(), ["triton_fused_0"]);
    assert_eq!(sim.copies(WorkKind::HostToDevice), 0);
    assert_eq!(function_set(function, 8, 100 << 10), OK);
    assert_eq!(function_set(function, 8, 1 << 20), INVALID_VALUE);
    let (module, _) = load(&["known"]);
    let mut function = 0;
    let name = c"unknown".as_ptr();
    assert_eq!(module_function(&mut function, module, name), NOT_FOUND);
}

#[test]
fn variables_of_modules_are_device_memory() {
    let sim = Sim::session(lazy());
    start();
    let image = c"simgpu\ntable: 16";
    let module = get(|module| module_load(module, image.as_ptr().cast()));
    let mut bytes = 0;
    let table = get(|p| module_global(p, &mut bytes, module, c"table".as_ptr()));
    assert_eq!(bytes, 16);
    assert_eq!(fill32(table, 1, 4), OK);
    assert_eq!(module_unload(module), OK);
    assert_eq!(release(0), OK);
    sim.assert_clean();
}

#[test]
fn functions_are_found_by_name_and_version() {
    let sim = Sim::session(lazy());
    let find = |name: &CStr, version, flags| {
        let (mut function, mut status) = (ptr::null_mut(), 7);
        let code = proc_address(name.as_ptr(), &mut function, version, flags, &mut status);
        (code, function, status)
    };
    let found = |symbol_name: &str| (OK, symbol(symbol_name), 0);
    assert_eq!(find(c"cuMemAlloc", 12000, 0), found("cuMemAlloc_v2"));
    assert_eq!(find(c"cuStreamQuery", 12000, 0), found("cuStreamQuery"));
    assert_eq!(
        find(c"cuStreamQuery", 12000, 2),
        found("cuStreamQuery_ptsz")
    );
    assert_eq!(
        find(c"cuMemcpyDtoH", 12000, 2),
        found("cuMemcpyDtoH_v2_ptds")
    );
    assert_eq!(
        find(c"cuStreamGetCaptureInfo", 12000, 0),
        found("cuStreamGetCaptureInfo_v2")
    );
    assert_eq!(
        find(c"cuStreamGetCaptureInfo", 12030, 2),
        found("cuStreamGetCaptureInfo_v3_ptsz")
    );
    assert_eq!(find(c"cuNothing", 12000, 0), (OK, ptr::null_mut(), 1));
    let mut text = ptr::null();
    assert_eq!(error_name(2, &mut text), OK);
    // SAFETY: the driver gave a terminated string.
    let text = unsafe { CStr::from_ptr(text) };
    assert_eq!(text, c"CUDA_ERROR_OUT_OF_MEMORY");
    // What is not there says its name.
    let missing = symbol("cuArrayDestroy");
    // SAFETY: it takes nothing that it looks at.
    let missing: extern "C" fn() -> Code = unsafe { std::mem::transmute(missing) };
    assert_eq!(missing(), NOT_SUPPORTED);
    let reports = sim.reports();
    assert_eq!(reports[0].kind, ReportKind::Unsupported);
    assert!(reports[0].message.contains("cuArrayDestroy"));
}

#[test]
fn a_stream_of_a_green_context_works_like_any_other() {
    let sim = Sim::session(lazy());
    start();
    let mut all = [0u8; 144];
    let mut groups = [[0u8; 144]; 2];
    assert_eq!(device_resource(0, all.as_mut_ptr().cast(), 1), OK);
    let mut count = 2;
    let (to, from) = (groups.as_mut_ptr().cast(), all.as_ptr().cast());
    assert_eq!(
        split_resource(to, &mut count, from, ptr::null_mut(), 0, 20),
        OK
    );
    assert_eq!(count, 2);
    let description = get(|d| describe_resource(d, groups.as_mut_ptr().cast(), 1));
    let green = get(|g| green_create(g, description, 0, 1));
    let own = get(|s| green_stream(s, green, NON_BLOCKING, 0));
    let x = get(|p| alloc_async(p, 64, own));
    assert_eq!(fill32_async(x, 1, 16, own), OK);
    // The primary context waits for its green ones.
    assert_eq!(synchronize(), OK);
    assert_eq!(stream_query(own), OK);
    assert_eq!(stream_destroy(own), OK);
    // Memory is of the device, and outlives a green context.
    assert_eq!(green_destroy(green), OK);
    assert_eq!(fill32(x, 2, 16), OK);
    assert_eq!(free(x), OK);
    assert_eq!(release(0), OK);
    sim.assert_clean();
}

#[test]
fn other_stand_ins_ask_what_the_host_has_waited_for_and_take_part_in_faults() {
    use thalweg_simgpu::abi::{CountCall, ReportMisuse};
    let sim = Sim::session(Config::seeded(1).with_eagerness(1.0));
    start();
    let (x, own) = (buffer(64), stream(NON_BLOCKING));
    assert_eq!(mark(own), 0, "there is nothing yet");
    assert_eq!(fill32_async(x, 1, 16, own), OK);
    let end = mark(own);
    sim.drain();
    assert!(!is_known(end), "it is done, but nobody waited");
    assert_eq!(stream_query(own), OK);
    assert!(is_known(end));
    sim.faults(&[thalweg_simgpu::Fault::Call {
        function: "enqueueV3".into(),
        nth: 2,
        code: 1,
    }]);
    let count = symbol("simgpu_count_call");
    // SAFETY: that is the function's type.
    let count = unsafe { std::mem::transmute::<*mut c_void, CountCall>(count) };
    let name = "enqueueV3";
    // SAFETY: the name is readable.
    let codes = [(); 3].map(|()| unsafe { count(name.as_ptr(), name.len()) });
    assert_eq!(codes, [0, 1, 0]);
    assert_eq!(sim.calls(name), 3);
    let report = symbol("simgpu_report");
    // SAFETY: that is the function's type.
    let report = unsafe { std::mem::transmute::<*mut c_void, ReportMisuse>(report) };
    // SAFETY: the message is readable.
    unsafe { report(name.as_ptr(), name.len()) };
    assert_eq!(kinds(&sim), [ReportKind::Misuse]);
}

#[test]
fn the_legacy_stream_waits_for_what_destroyed_streams_left() {
    let sim = Sim::session(lazy());
    start();
    let (x, own) = (buffer(64), stream(0));
    assert_eq!(fill32_async(x, 1, 16, own), OK);
    assert_eq!(stream_destroy(own), OK);
    assert_eq!(fill32_async(x, 2, 16, 0), OK);
    assert_eq!(stream_synchronize(0), OK);
    assert_eq!(kinds(&sim), []);
}
