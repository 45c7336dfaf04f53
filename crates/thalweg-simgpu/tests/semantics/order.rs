//! Streams, events, host functions: what is ordered with what.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, ThreadId};

use thalweg_simgpu::{Config, ReportKind, Sim};

use super::driver::*;
use super::{buffer, event, kinds, lazy, stream};

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
