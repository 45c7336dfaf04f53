//! What the layer costs on the host, in nanoseconds; for people to read.

use super::*;
use std::time::Instant;
use thalweg_cuda::{Capture, DeviceBuffer, PinnedBuffer, Pool, Stream};

/// The median of many runs, each of `REPEAT` calls, after each of which the device is waited for.
fn measure(what: &str, stream: &Stream, mut call: impl FnMut()) {
    const REPEAT: u32 = 100;
    let mut times: Vec<u128> = (0..21)
        .map(|_| {
            let start = Instant::now();
            (0..REPEAT).for_each(|_| call());
            let time = start.elapsed().as_nanos() / u128::from(REPEAT);
            stream.synchronize().unwrap();
            time
        })
        .collect();
    times.sort_unstable();
    println!("{what:50} {:6} ns", times[10]);
}

#[test]
#[ignore = "it measures"]
fn costs_on_the_host() {
    if !real() {
        println!("skipped: the stand-in's times mean nothing");
        return;
    }
    let device = open().device(0).unwrap();
    let code = Code::load(&device);
    let stream = Stream::new(&device).unwrap();
    let per_thread = Stream::per_thread(&device);
    let pool = Pool::new(&device);
    let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
    let other = DeviceBuffer::new(&per_thread, 4096).unwrap();
    let pinned = PinnedBuffer::new(&device, 4096).unwrap();
    let _entered = device.enter().unwrap();
    measure("enter", &stream, || drop(device.enter().unwrap()));
    measure("work without anything", &stream, || {
        stream.work().unwrap().finish().unwrap();
    });
    measure("work of one kernel", &stream, || {
        let mut work = stream.work().unwrap();
        code.affine(&mut work, &buffer, &buffer, (1, 1)).unwrap();
        work.finish().unwrap();
    });
    let mut work = stream.work().unwrap();
    measure("a kernel within work", &stream, || {
        code.affine(&mut work, &buffer, &buffer, (1, 1)).unwrap();
    });
    work.finish().unwrap();
    measure("work of one kernel, per-thread stream", &per_thread, || {
        let mut work = per_thread.work().unwrap();
        code.affine(&mut work, &other, &other, (1, 1)).unwrap();
        work.finish().unwrap();
    });
    measure(
        "work of a kernel on each of two streams in turn",
        &stream,
        || {
            for stream in [&stream, &per_thread] {
                let mut work = stream.work().unwrap();
                code.affine(&mut work, &buffer, &buffer, (1, 1)).unwrap();
                work.finish().unwrap();
            }
        },
    );
    measure("work of pinned copy, kernel, pinned copy", &stream, || {
        let mut work = stream.work().unwrap();
        work.copy_to_device(&buffer, &pinned).unwrap();
        code.affine(&mut work, &buffer, &buffer, (1, 1)).unwrap();
        work.copy_to_host(&pinned, &buffer).unwrap();
        work.finish().unwrap();
    });
    let mut work = stream.work().unwrap();
    measure("upload of 4 KiB within work", &stream, || {
        work.upload(&buffer, &[1; 4096]).unwrap();
    });
    measure("pool: allocate and release within work", &stream, || {
        let temporary = work.allocate(&pool, 4096).unwrap();
        work.release(temporary);
    });
    work.finish().unwrap();
    let capture = Capture::begin(&stream).unwrap();
    let mut work = stream.work().unwrap();
    work.copy_to_device(&buffer, &pinned).unwrap();
    code.affine(&mut work, &buffer, &buffer, (1, 1)).unwrap();
    work.copy_to_host(&pinned, &buffer).unwrap();
    work.finish().unwrap();
    let exec = capture.end().unwrap().instantiate().unwrap();
    measure("work of the same as a graph", &stream, || {
        let mut work = stream.work().unwrap();
        exec.launch(&mut work).unwrap();
        work.finish().unwrap();
    });
}
