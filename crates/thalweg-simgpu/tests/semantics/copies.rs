//! Copies, and when they are complete.

use std::ptr;

use thalweg_simgpu::{Config, ReportKind, Sim};

use super::driver::*;
use super::{buffer, kinds, lazy, stream};

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
