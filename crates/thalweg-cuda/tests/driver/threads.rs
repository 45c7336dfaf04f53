use super::*;
use thalweg_cuda::{Capture, DeviceBuffer, PinnedBuffer, Pool, Stream};

/// What one of many threads does: its own stream, buffers of its own, weights that all read, a
/// pool that all use.
fn busy(device: &Device, code: &Code, pool: &Pool, weights: &DeviceBuffer, thread: u32) {
    let own = Stream::new(device).unwrap();
    let stream = if thread.is_multiple_of(2) {
        Stream::per_thread(device)
    } else {
        own
    };
    let output = DeviceBuffer::new(&stream, 4096).unwrap();
    let mut pinned = PinnedBuffer::new(device, 4096).unwrap();
    for round in 0..5 {
        pinned
            .write()
            .unwrap()
            .copy_from_slice(&bytes(&[thread + round; 1024]));
        let mut work = stream.work().unwrap();
        let temporary = work.allocate(pool, 4096).unwrap();
        code.affine(&mut work, &temporary, weights, (1, thread))
            .unwrap();
        work.copy_to_device(&output, &pinned).unwrap();
        code.affine(&mut work, &output, &temporary, (2, round))
            .unwrap();
        if round % 2 == 0 {
            work.release(temporary);
        } else {
            drop(temporary);
        }
        work.copy_to_host(&pinned, &output).unwrap();
        work.finish().unwrap();
        let expected = (0x0101_0101 + thread) * 2 + round;
        assert_eq!(from_bytes(&pinned.read().unwrap()), vec![expected; 1024]);
    }
    // A graph, while others allocate and capture.
    let capture = Capture::begin(&stream).unwrap();
    let mut work = stream.work().unwrap();
    let temporary = work.allocate(pool, 8192).unwrap();
    work.copy(temporary.slice(..4096).unwrap(), weights)
        .unwrap();
    work.copy(&output, temporary.slice(..4096).unwrap())
        .unwrap();
    code.affine(&mut work, &output, &output, (1, thread))
        .unwrap();
    work.release(temporary);
    work.copy_to_host(&pinned, &output).unwrap();
    work.finish().unwrap();
    let exec = capture.end().unwrap().instantiate().unwrap();
    for _ in 0..2 {
        let mut work = stream.work().unwrap();
        exec.launch(&mut work).unwrap();
        work.finish().unwrap();
    }
    assert_eq!(
        from_bytes(&pinned.read().unwrap()),
        vec![0x0101_0101 + thread; 1024]
    );
}

#[test]
fn eight_threads_share_a_device() {
    on_every_machine(40, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let pool = Pool::new(&device);
        let stream = Stream::new(&device).unwrap();
        let weights = DeviceBuffer::new(&stream, 4096).unwrap();
        let mut work = stream.work().unwrap();
        work.fill(&weights, 1).unwrap();
        work.finish().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (device, code, pool, weights) = (&device, &code, &pool, &weights);
                scope.spawn(move || busy(device, code, pool, weights, thread));
            }
        });
        let statistics = pool.statistics();
        assert_eq!(statistics.idle, statistics.held, "{statistics:?}");
    });
}

#[test]
fn one_buffer_goes_from_thread_to_thread() {
    on_every_machine(30, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = &Code::load(&device);
        let stream = Stream::new(&device).unwrap();
        let mut buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let mut work = stream.work().unwrap();
        work.fill(&buffer, 0).unwrap();
        work.finish().unwrap();
        for thread in 1..=8 {
            let device = &device;
            buffer = std::thread::scope(|scope| {
                let next = scope.spawn(move || {
                    let stream = Stream::per_thread(device);
                    let mut work = stream.work().unwrap();
                    code.affine(&mut work, &buffer, &buffer, (2, thread))
                        .unwrap();
                    // Finished by being dropped.
                    drop(work);
                    buffer
                });
                next.join().unwrap()
            });
        }
        let expected = (1..=8).fold(0, |x, thread| x * 2 + thread);
        let mut work = stream.work().unwrap();
        assert_eq!(download(&mut work, &buffer), vec![expected; 1024]);
    });
}
