use super::*;
use thalweg_core::ErrorKind;
use thalweg_cuda::{DeviceBuffer, PinnedBuffer, Stream};
use thalweg_testing::SplitMix;

/// Random work of all kinds on random streams, beside the same on the host.
fn random_work(driver: &Driver, seed: u64, steps: usize) {
    const N: usize = 256;
    let mut dice = SplitMix::new(seed);
    let device = driver.device(0).unwrap();
    let code = Code::load(&device);
    let streams = [
        Stream::per_thread(&device),
        Stream::new(&device).unwrap(),
        Stream::new(&device).unwrap(),
    ];
    let buffers: Vec<_> = (0..4)
        .map(|_| DeviceBuffer::new(&streams[dice.below(3)], N * 4).unwrap())
        .collect();
    let mut pinned = PinnedBuffer::new(&device, N * 4).unwrap();
    let mut expected = vec![vec![0; N]; 4];
    let mut expected_pinned = vec![0; N];
    let mut work = streams[0].work().unwrap();
    for buffer in &buffers {
        work.fill(buffer, 0).unwrap();
    }
    work.finish().unwrap();
    for step in 0..steps {
        let (to, from) = (dice.below(4), dice.below(4));
        if dice.below(8) == 0 {
            let value = step as u32;
            pinned.write().unwrap().copy_from_slice(&bytes(&[value; N]));
            expected_pinned.fill(value);
        }
        let mut work = streams[dice.below(3)].work().unwrap();
        for _ in 0..=dice.below(2) {
            match dice.below(6) {
                0 => {
                    work.copy_to_device(&buffers[to], &pinned).unwrap();
                    expected[to].clone_from(&expected_pinned);
                }
                1 => {
                    work.copy_to_host(&pinned, &buffers[from]).unwrap();
                    expected_pinned.clone_from(&expected[from]);
                }
                2 if to != from => {
                    work.copy(&buffers[to], &buffers[from]).unwrap();
                    expected[to] = expected[from].clone();
                }
                3 => {
                    work.upload(&buffers[to], &bytes(&[step as u32; N]))
                        .unwrap();
                    expected[to] = vec![step as u32; N];
                }
                _ => {
                    let (a, b) = (dice.below(5) as u32, step as u32);
                    code.affine(&mut work, &buffers[to], &buffers[from], (a, b))
                        .unwrap();
                    let affine = |x: &u32| x.wrapping_mul(a).wrapping_add(b);
                    expected[to] = expected[from].iter().map(affine).collect();
                }
            }
        }
        // Work that is dropped is not lost.
        if dice.below(4) > 0 {
            work.finish().unwrap();
        }
    }
    assert_eq!(from_bytes(&pinned.read().unwrap()), expected_pinned);
    let mut work = streams[1].work().unwrap();
    for (buffer, expected) in buffers.iter().zip(&expected) {
        assert_eq!(&download(&mut work, buffer), expected);
    }
}

#[test]
fn any_work_on_any_streams_is_in_order() {
    let seed = std::cell::Cell::new(0);
    on_every_machine(1000, 1, |driver| {
        seed.set(seed.get() + 1);
        random_work(driver, seed.get(), 12);
    });
}

#[test]
fn any_work_is_in_order_on_a_device_that_does_not_allocate_in_order() {
    let Some(sim) = stand_in("which can be such a device") else {
        return;
    };
    for seed in 0..200 {
        run_seed(&sim, &Config::seeded(seed).without_pools(), |driver| {
            assert!(!driver.device(0).unwrap().has_memory_pools());
            random_work(driver, seed, 8);
        });
        assert_eq!(sim.calls("cuMemAllocAsync"), 0);
        sim.assert_clean();
    }
}

#[test]
fn readers_do_not_wait_for_each_other() {
    let Some(sim) = stand_in("which counts the waits") else {
        return;
    };
    run_seed(&sim, &Config::seeded(0), |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let streams: Vec<_> = (0..3).map(|_| Stream::new(&device).unwrap()).collect();
        let weights = DeviceBuffer::new(&streams[0], 4096).unwrap();
        let results: Vec<_> = streams
            .iter()
            .map(|stream| DeviceBuffer::new(stream, 4096).unwrap())
            .collect();
        let mut work = streams[0].work().unwrap();
        work.fill(&weights, 1).unwrap();
        work.finish().unwrap().synchronize().unwrap();
        let mut pinned = PinnedBuffer::new(&device, 4096).unwrap();
        pinned.write().unwrap().fill(1);
        let waits = || sim.calls("cuStreamWaitEvent");
        let read = || {
            for (stream, result) in streams.iter().zip(&results) {
                let mut work = stream.work().unwrap();
                code.affine(&mut work, result, &weights, (1, 0)).unwrap();
                work.finish().unwrap();
            }
        };
        let before = waits();
        read();
        read();
        // Each of the two other streams waits for the writer each time, and for nothing else.
        assert_eq!(waits() - before, 4);
        drop(pinned);
    });
    sim.assert_clean();
}

#[test]
fn readers_on_ever_new_streams_leave_nothing_behind() {
    let Some(sim) = stand_in("which counts the waits") else {
        return;
    };
    run_seed(&sim, &Config::seeded(0), |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let (from, to) = (
            DeviceBuffer::new(&stream, 64).unwrap(),
            DeviceBuffer::new(&stream, 64).unwrap(),
        );
        for _ in 0..50 {
            // SAFETY: the stream lives until the end.
            let given = unsafe { Stream::borrow(&device, stream.raw().unwrap()) };
            let mut work = given.work().unwrap();
            work.copy(&to, &from).unwrap();
            work.finish().unwrap().synchronize().unwrap();
        }
        let before = sim.calls("cuStreamWaitEvent");
        let other = Stream::new(&device).unwrap();
        let mut work = other.work().unwrap();
        work.fill(&from, 1).unwrap();
        work.finish().unwrap();
        let waits = sim.calls("cuStreamWaitEvent") - before;
        assert!(waits <= 6, "{waits}");
    });
    sim.assert_clean();
}

#[test]
fn work_on_one_stream_needs_no_waits_and_one_event() {
    let Some(sim) = stand_in("which counts the calls") else {
        return;
    };
    run_seed(&sim, &Config::seeded(0), |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let pinned = PinnedBuffer::new(&device, 4096).unwrap();
        let run = || {
            let mut work = stream.work().unwrap();
            work.copy_to_device(&buffer, &pinned).unwrap();
            code.affine(&mut work, &buffer, &buffer, (1, 1)).unwrap();
            work.copy_to_host(&pinned, &buffer).unwrap();
            work.finish().unwrap();
        };
        for _ in 0..4 {
            run();
        }
        let count = || {
            let counts = sim.call_counts();
            counts
                .into_iter()
                .collect::<std::collections::BTreeMap<_, _>>()
        };
        let before = count();
        run();
        let mut after = count();
        for (name, calls) in &before {
            *after.get_mut(name).unwrap() -= calls;
        }
        after.retain(|name, calls| *calls > 0 && name != "cuCtxGetCurrent");
        let expected = [
            ("cuEventRecord", 1),
            ("cuLaunchKernel", 1),
            ("cuMemcpyDtoHAsync", 1),
            ("cuMemcpyHtoDAsync", 1),
            ("cuStreamIsCapturing", 1),
        ];
        let expected = expected.map(|(name, calls)| (name.to_string(), calls));
        assert_eq!(after.into_iter().collect::<Vec<_>>(), expected);
    });
    sim.assert_clean();
}

#[test]
fn unfinished_work_on_two_streams_may_read_the_same_and_not_write_it() {
    on_every_machine(5, 1, |driver| {
        let device = driver.device(0).unwrap();
        let (one, two) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let buffer = DeviceBuffer::new(&one, 4096).unwrap();
        let mut first = one.work().unwrap();
        let mut second = two.work().unwrap();
        first.reads(&buffer).unwrap();
        second.reads(&buffer).unwrap();
        let error = second.fill(&buffer, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        first.finish().unwrap();
        second.fill(&buffer, 1).unwrap();
        // Work on the same stream is in order by itself.
        let mut third = two.work().unwrap();
        third.fill(&buffer, 2).unwrap();
        second.finish().unwrap();
        third.finish().unwrap();
    });
}

#[test]
fn buffers_may_be_dropped_while_the_device_uses_them() {
    on_every_machine(200, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let (one, two) = (Stream::new(&device).unwrap(), Stream::per_thread(&device));
        for _ in 0..3 {
            let (a, b) = (
                DeviceBuffer::new(&one, 4096).unwrap(),
                DeviceBuffer::new(&two, 4096).unwrap(),
            );
            let pinned = PinnedBuffer::new(&device, 4096).unwrap();
            let mut work = one.work().unwrap();
            work.fill(&a, 1).unwrap();
            work.finish().unwrap();
            let mut work = two.work().unwrap();
            code.affine(&mut work, &b, &a, (1, 1)).unwrap();
            drop(a);
            work.copy_to_host(&pinned, &b).unwrap();
            drop((b, pinned));
            work.finish().unwrap();
        }
        // So may streams, code, and the device itself.
    });
}

#[test]
fn a_pinned_buffer_that_was_forgotten_while_held_stays_away_from_the_device() {
    on_every_machine(1, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 64).unwrap();
        let mut pinned = PinnedBuffer::new(&device, 64).unwrap();
        {
            let held = pinned.write().unwrap();
            drop(held);
        }
        let mut work = stream.work().unwrap();
        work.copy_to_device(&buffer, &pinned).unwrap();
        work.finish().unwrap();
    });
}
