//! Memory of a pool that code has for a while which enqueues by itself.

use std::ffi::{c_int, c_void};

use super::*;
use thalweg_cuda::{Lease, Pool, Stream, Tenant};

/// Writes over a lease's memory, as code does that knows nothing of this crate.
pub(super) fn scribble(driver: &Driver, lease: &Lease, stream: &Stream) {
    type Fill = unsafe extern "C" fn(u64, u8, usize, *mut c_void) -> c_int;
    let fill = driver.symbol("cuMemsetD8Async").unwrap();
    // SAFETY: the driver's function of this name has this type.
    let fill: Fill = unsafe { std::mem::transmute(fill) };
    let _current = stream.device().enter().unwrap();
    // SAFETY: the lease has so many bytes, and the stream is there.
    let code = unsafe { fill(lease.address(), 7, lease.len(), stream.raw().unwrap()) };
    assert_eq!(code, 0);
}

/// Memory for a call of some instance, whose last call and address are remembered.
fn lease(pool: &Pool, stream: &Stream, call: u64, last: &mut Option<(u64, u64)>) -> Lease {
    let tenant = Tenant::new(call, stream, *last).unwrap();
    let lease = pool.lease(stream, 4000, &tenant).unwrap();
    *last = Some((call, lease.address()));
    lease
}

#[test]
fn calls_of_one_instance_have_the_same_memory_without_waiting_or_asking_for_more() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let pool = Pool::new(&device);
        let own = Stream::new(&device).unwrap();
        let (mut first, mut last) = (None, None);
        for call in 0..10 {
            // Each call is lent the stream anew.
            // SAFETY: the stream lives until the end.
            let stream = unsafe { Stream::borrow(&device, own.raw().unwrap()) };
            let lease = lease(&pool, &stream, call, &mut last);
            scribble(driver, &lease, &stream);
            assert_eq!(*first.get_or_insert(lease.address()), lease.address());
            lease.end(&stream).unwrap();
        }
        assert_eq!(pool.statistics().blocks, 1);
    });
}

#[test]
fn whoever_has_memory_next_comes_after_whoever_had_it() {
    on_every_machine(200, 1, |driver| {
        let device = driver.device(0).unwrap();
        // Rather waits than has two.
        let pool = Pool::with_limit(&device, 4096);
        let streams = [0; 3].map(|_| Stream::new(&device).unwrap());
        let mut last = [None; 3];
        for call in 0..12 {
            let which = call % 3;
            let lease = lease(&pool, &streams[which], call as u64, &mut last[which]);
            scribble(driver, &lease, &streams[which]);
            lease.end(&streams[which]).unwrap();
        }
        assert_eq!(pool.statistics().blocks, 1);
        // As others who have memory of the pool.
        let mut work = streams[0].work().unwrap();
        let buffer = work.allocate(&pool, 4000).unwrap();
        work.fill(&buffer, 1).unwrap();
        work.finish().unwrap();
    });
}

#[test]
fn calls_at_the_same_time_do_not_wait_for_each_other_and_keep_to_their_memory() {
    let Some(sim) = stand_in("where nothing runs before somebody waits") else {
        return;
    };
    run_seed(&sim, &Config::seeded(1).with_eagerness(0.0), |driver| {
        let device = driver.device(0).unwrap();
        let pool = Pool::new(&device);
        let streams = [0; 2].map(|_| Stream::new(&device).unwrap());
        let (mut last, mut places) = ([None; 2], [None; 2]);
        for call in 0..10 {
            let which = call % 2;
            // SAFETY: the stream lives until the end.
            let stream = unsafe { Stream::borrow(&device, streams[which].raw().unwrap()) };
            let lease = lease(&pool, &stream, call as u64, &mut last[which]);
            scribble(driver, &lease, &stream);
            let place = *places[which].get_or_insert(lease.address());
            assert_eq!(place, lease.address());
            lease.end(&stream).unwrap();
        }
        assert_ne!(places[0], places[1]);
        assert_eq!(sim.host_waits(), 0);
    });
    sim.assert_clean();
}

#[test]
fn memory_whose_use_is_over_is_waited_for_by_nobody() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let pool = Pool::new(&device);
        let streams = [0; 2].map(|_| Stream::new(&device).unwrap());
        for call in 0..6 {
            let stream = &streams[call % 2];
            let lease = lease(&pool, stream, call as u64, &mut None);
            scribble(driver, &lease, stream);
            stream.synchronize().unwrap();
            lease.end_over();
        }
        let statistics = pool.statistics();
        assert_eq!((statistics.blocks, statistics.waits), (1, 0));
    });
}

#[test]
fn a_lease_that_has_no_end_is_never_handed_on() {
    let Some(sim) = stand_in("which sees what is never freed") else {
        return;
    };
    run_seed(&sim, &Config::seeded(1), |driver| {
        let device = driver.device(0).unwrap();
        let pool = Pool::new(&device);
        let stream = Stream::new(&device).unwrap();
        let lost = lease(&pool, &stream, 1, &mut None);
        let address = lost.address();
        drop(lost);
        let next = lease(&pool, &stream, 2, &mut Some((1, address)));
        assert_ne!(next.address(), address);
        next.end(&stream).unwrap();
    });
    let reports = sim.finish();
    assert!(
        reports
            .iter()
            .any(|report| report.to_string().contains("were not freed")),
        "{reports:#?}"
    );
}

#[test]
fn an_end_that_cannot_be_recorded_is_waited_for() {
    let Some(sim) = stand_in("which can fail any call") else {
        return;
    };
    run_seed(&sim, &Config::seeded(1).with_eagerness(0.0), |driver| {
        let device = driver.device(0).unwrap();
        let pool = Pool::new(&device);
        let streams = [0; 2].map(|_| Stream::new(&device).unwrap());
        let first = lease(&pool, &streams[0], 1, &mut None);
        scribble(driver, &first, &streams[0]);
        sim.faults(&[thalweg_simgpu::Fault::Call {
            function: "cuEventRecord".into(),
            nth: 1,
            code: 2,
        }]);
        first.end(&streams[0]).unwrap_err();
        sim.faults(&[]);
        let second = lease(&pool, &streams[1], 2, &mut None);
        scribble(driver, &second, &streams[1]);
        second.end(&streams[1]).unwrap();
        assert_eq!(pool.statistics().blocks, 1);
    });
    sim.assert_clean();
}

#[test]
fn what_is_captured_has_its_memory_as_long_as_the_graph() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let pool = Pool::new(&device);
        let streams = [0; 2].map(|_| Stream::new(&device).unwrap());
        // Somebody has used it, who may not be done.
        let before = lease(&pool, &streams[1], 1, &mut None);
        scribble(driver, &before, &streams[1]);
        let address = before.address();
        let mut last = Some((1, address));
        before.end(&streams[1]).unwrap();
        let raw = streams[0].raw().unwrap();
        let capture = thalweg_cuda::Capture::begin(&streams[0]).unwrap();
        // SAFETY: the stream lives until the end.
        let lent = unsafe { Stream::borrow(&device, raw) };
        for over in [false, true] {
            let lease = lease(&pool, &lent, 2, &mut last);
            scribble(driver, &lease, &lent);
            match over {
                false => lease.end(&lent).unwrap(),
                true => lease.end_over(),
            }
        }
        let graph = capture.end().unwrap().instantiate().unwrap();
        for call in 3..6 {
            let mut work = streams[0].work().unwrap();
            graph.launch(&mut work).unwrap();
            work.finish().unwrap();
            let other = lease(&pool, &streams[1], call, &mut Some((1, address)));
            scribble(driver, &other, &streams[1]);
            other.end(&streams[1]).unwrap();
        }
        for stream in &streams {
            stream.synchronize().unwrap();
        }
    });
}
