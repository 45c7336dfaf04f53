//! Allocating, freeing, pools.

use std::ffi::c_void;

use thalweg_simgpu::{ReportKind, Sim};

use super::driver::*;
use super::{buffer, event, kinds, lazy, stream};

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
