//! Every call of the driver fails once: each time there is an error or a right answer, nothing
//! is leaked or out of order, and the next use of the same things is right again.

use super::*;
use thalweg_core::Result;
use thalweg_cuda::{Capture, DeviceBuffer, Event, Partition, PinnedBuffer, Pool, Stream};
use thalweg_simgpu::ReportKind;

/// Runs a scenario with every call failing once. It is given a machine, and the answer that it
/// gives must be `Ok(true)` or an error.
fn whatever_fails(scenario: impl Fn(&Driver) -> Result<()>) {
    let Some(sim) = stand_in("which can fail any call") else {
        return;
    };
    for seed in 0..4 {
        let mut runs = 0;
        sim.for_each_fault(
            &Config::seeded(seed).with_devices(2),
            |_| Driver::open(Some(Sim::path())).and_then(|driver| scenario(&driver)),
            |fault, result, reports| {
                runs += 1;
                if let Err(error) = &result {
                    assert!(fault.is_some(), "without a fault: {error}");
                }
                let found: Vec<_> = reports
                    .iter()
                    .filter(|report| !tolerated(fault.map(|fault| &*fault.function), report.kind))
                    .collect();
                assert!(
                    found.is_empty(),
                    "seed {seed}, {fault:?} failed, {result:?}: {found:#?}"
                );
            },
        );
        assert!(runs > 10);
    }
}

/// Where the driver says that it has not destroyed something, nobody can.
fn tolerated(function: Option<&str>, report: ReportKind) -> bool {
    let _ = (function, report);
    false
}

/// Does something with things that it has made; whether it fails or not, the same must work
/// afterwards.
fn twice(mut attempt: impl FnMut() -> Result<Vec<u32>>, expected: &[u32]) -> Result<()> {
    match attempt() {
        Ok(result) => assert_eq!(result, expected),
        Err(_) => {
            let again = attempt().unwrap_or_else(|error| panic!("not usable again: {error}"));
            assert_eq!(again, expected);
        }
    }
    let again = attempt()?;
    assert_eq!(again, expected);
    Ok(())
}

#[test]
fn copies_and_kernels() {
    whatever_fails(|driver| {
        let device = driver.device(0)?;
        let code = Code::try_load(&device)?;
        let (one, two) = (Stream::new(&device)?, Stream::per_thread(&device));
        let buffer = DeviceBuffer::new(&one, 4096)?;
        let other = DeviceBuffer::new(&two, 4096)?;
        let mut pinned = PinnedBuffer::new(&device, 4096)?;
        let expected: Vec<u32> = numbers(1024)
            .iter()
            .map(|x| x.wrapping_mul(3).wrapping_add(1))
            .collect();
        twice(
            || {
                pinned.write()?.copy_from_slice(&bytes(&numbers(1024)));
                let mut work = one.work()?;
                work.copy_to_device(&buffer, &pinned)?;
                work.finish()?;
                let mut work = two.work()?;
                code.affine(&mut work, &other, &buffer, (3, 1))?;
                work.copy_to_host(&pinned, &other)?;
                work.finish()?;
                let result = from_bytes(&pinned.read()?);
                Ok(result)
            },
            &expected,
        )
    });
}

#[test]
fn pageable_copies() {
    whatever_fails(|driver| {
        let device = driver.device(0)?;
        let stream = Stream::new(&device)?;
        let buffer = DeviceBuffer::new(&stream, 4096)?;
        twice(
            || {
                let mut work = stream.work()?;
                work.fill(&buffer, 0)?;
                work.upload(&buffer, &bytes(&numbers(1024)))?;
                let mut result = vec![0; 4096];
                work.download(&mut result, &buffer)?;
                work.finish()?;
                Ok(from_bytes(&result))
            },
            &numbers(1024),
        )?;
        device.trim()
    });
}

#[test]
fn devices_peers_parts_and_events() {
    whatever_fails(|driver| {
        let (one, two) = (driver.device(0)?, driver.device(1)?);
        one.enable_peer_access(&two)?;
        let (first, second) = (Stream::new(&one)?, Partition::new(&two, 8)?.stream()?);
        let from = DeviceBuffer::new(&first, 4096)?;
        let to = DeviceBuffer::new(&second, 4096)?;
        twice(
            || {
                let mut work = first.work()?;
                work.upload(&from, &bytes(&numbers(1024)))?;
                let token = work.finish_with(vec![1])?;
                token.wait_on(&second)?;
                let mut work = second.work()?;
                work.copy(&to, &from)?;
                work.call_host(|| ())?;
                let event = Event::with_timing(&two)?;
                event.record(&second)?;
                let mut result = vec![0; 4096];
                work.download(&mut result, &to)?;
                work.finish()?;
                event.synchronize()?;
                Ok(from_bytes(&result))
            },
            &numbers(1024),
        )
    });
}

#[test]
fn pools() {
    whatever_fails(|driver| {
        let device = driver.device(0)?;
        let (one, two) = (Stream::new(&device)?, Stream::new(&device)?);
        let pool = Pool::with_limit(&device, 8192);
        twice(
            || {
                let mut last = Vec::new();
                for stream in [&one, &two] {
                    let mut work = stream.work()?;
                    let a = work.allocate(&pool, 4096)?;
                    let b = work.allocate(&pool, 4096)?;
                    work.upload(&a, &bytes(&numbers(1024)))?;
                    work.copy(&b, &a)?;
                    work.release(a);
                    let mut result = vec![0; 4096];
                    work.download(&mut result, &b)?;
                    work.finish()?;
                    last = from_bytes(&result);
                }
                Ok(last)
            },
            &numbers(1024),
        )?;
        pool.trim();
        Ok(())
    });
}

#[test]
fn graphs() {
    whatever_fails(|driver| {
        let device = driver.device(0)?;
        let code = Code::try_load(&device)?;
        let stream = Stream::new(&device)?;
        let pool = Pool::new(&device);
        let buffer = DeviceBuffer::new(&stream, 4096)?;
        let pinned = PinnedBuffer::new(&device, 4096)?;
        twice(
            || {
                let capture = Capture::begin(&stream)?;
                let mut work = stream.work()?;
                let temporary = work.allocate(&pool, 4096)?;
                work.fill(&temporary, 1)?;
                code.affine(&mut work, &buffer, &temporary, (1, 1))?;
                work.release(temporary);
                work.copy_to_host(&pinned, &buffer)?;
                work.finish()?;
                let graph = capture.end()?;
                let mut exec = graph.instantiate()?;
                exec.upload(&stream)?;
                let mut work = stream.work()?;
                exec.launch(&mut work)?;
                work.finish()?;
                assert!(exec.update(&graph)?);
                let mut work = stream.work()?;
                exec.launch(&mut work)?;
                work.finish()?;
                let result = from_bytes(&pinned.read()?);
                Ok(result)
            },
            &[0x0101_0102; 1024],
        )
    });
}

#[test]
fn a_callers_capture() {
    whatever_fails(|driver| {
        let device = driver.device(0)?;
        let stream = Stream::new(&device)?;
        let buffer = DeviceBuffer::new(&stream, 4096)?;
        // SAFETY: the stream lives until the end.
        let given = unsafe { Stream::borrow(&device, stream.raw()?) };
        twice(
            || {
                let capture = Capture::begin(&stream)?;
                let mut work = given.work()?;
                work.fill(&buffer, 1)?;
                work.finish()?;
                let exec = capture.end()?.instantiate()?;
                let mut work = stream.work()?;
                exec.launch(&mut work)?;
                work.finish()?;
                let mut work = stream.work()?;
                let mut result = vec![0; 4096];
                work.download(&mut result, &buffer)?;
                drop(work);
                drop(exec);
                stream.synchronize()?;
                Ok(from_bytes(&result))
            },
            &[0x0101_0101; 1024],
        )
    });
}
