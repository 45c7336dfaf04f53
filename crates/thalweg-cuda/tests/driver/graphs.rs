use super::*;
use thalweg_core::ErrorKind;
use thalweg_cuda::{Capture, CaptureStatus, DeviceBuffer, Graph, PinnedBuffer, Pool, Stream};

/// `pinned = pinned * a + b` by way of the buffer.
fn capture(
    stream: &Stream,
    code: &Code,
    buffer: &DeviceBuffer,
    pinned: &PinnedBuffer,
    factors: (u32, u32),
) -> Graph {
    let capture = Capture::begin(stream).unwrap();
    let mut work = stream.work().unwrap();
    assert!(work.is_captured());
    work.copy_to_device(buffer, pinned).unwrap();
    code.affine(&mut work, buffer, buffer, factors).unwrap();
    work.copy_to_host(pinned, buffer).unwrap();
    work.finish().unwrap();
    capture.end().unwrap()
}

#[test]
fn a_graph_runs_as_often_as_it_is_launched() {
    on_every_machine(100, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let (one, two) = (Stream::new(&device).unwrap(), Stream::per_thread(&device));
        let buffer = DeviceBuffer::new(&one, 4096).unwrap();
        let mut pinned = PinnedBuffer::new(&device, 4096).unwrap();
        let graph = capture(&one, &code, &buffer, &pinned, (2, 1));
        assert_eq!(graph.node_count().unwrap(), 3);
        let mut exec = graph.instantiate().unwrap();
        exec.upload(&one).unwrap();
        // Nothing has run so far.
        assert!(pinned.read().unwrap().iter().all(|&byte| byte == 0));
        let mut expected = 0;
        for stream in [&one, &two, &one, &one] {
            let mut work = stream.work().unwrap();
            exec.launch(&mut work).unwrap();
            work.finish().unwrap();
            expected = expected * 2 + 1;
        }
        assert_eq!(from_bytes(&pinned.read().unwrap()), vec![expected; 1024]);
        // Another input, and another graph of the same shape.
        pinned.write().unwrap().copy_from_slice(&bytes(&[5; 1024]));
        let other = capture(&one, &code, &buffer, &pinned, (3, 4));
        assert!(exec.update(&other).unwrap());
        let mut work = two.work().unwrap();
        exec.launch(&mut work).unwrap();
        work.finish().unwrap();
        assert_eq!(from_bytes(&pinned.read().unwrap()), vec![19; 1024]);
        // One of another shape is refused, and changes nothing.
        let begun = Capture::begin(&one).unwrap();
        let mut work = one.work().unwrap();
        work.fill(&buffer, 1).unwrap();
        work.finish().unwrap();
        let fill = begun.end().unwrap();
        assert!(!exec.update(&fill).unwrap());
        let mut work = one.work().unwrap();
        exec.launch(&mut work).unwrap();
        work.finish().unwrap();
        assert_eq!(from_bytes(&pinned.read().unwrap()), vec![61; 1024]);
    });
}

#[test]
fn everything_may_be_dropped_while_a_graph_runs() {
    on_every_machine(100, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let stream = Stream::new(&device).unwrap();
        let exec = {
            let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
            let pinned = PinnedBuffer::new(&device, 4096).unwrap();
            let graph = capture(&stream, &code, &buffer, &pinned, (2, 1));
            graph.instantiate().unwrap()
        };
        drop(code);
        for _ in 0..2 {
            let mut work = stream.work().unwrap();
            exec.launch(&mut work).unwrap();
            work.finish().unwrap();
        }
        drop(exec);
    });
}

#[test]
fn a_capture_that_is_abandoned_leaves_the_stream_as_it_was() {
    on_every_machine(30, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let attempt = || -> thalweg_core::Result<()> {
            let _capture = Capture::begin(&stream)?;
            let mut work = stream.work()?;
            work.fill(&buffer, 9)?;
            // What has bytes of the moment cannot be captured.
            work.upload(&buffer, &[0; 4096])
        };
        assert_eq!(attempt().unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
        let mut work = stream.work().unwrap();
        work.upload(&buffer, &[1; 4096]).unwrap();
        assert_eq!(download(&mut work, &buffer), vec![0x0101_0101; 1024]);
        // What the driver does not allow fails the capture, and only that.
        let begun = Capture::begin(&stream).unwrap();
        assert!(Capture::begin(&stream).is_err());
        assert_eq!(stream.capture_status().unwrap(), CaptureStatus::Active);
        stream.synchronize().unwrap_err();
        assert_eq!(stream.capture_status().unwrap(), CaptureStatus::Invalidated);
        assert!(stream.work().is_err());
        assert!(begun.end().is_err());
        assert_eq!(stream.capture_status().unwrap(), CaptureStatus::None);
        assert_eq!(download(&mut stream.work().unwrap(), &buffer).len(), 1024);
    });
}

#[test]
fn a_capture_on_one_thread_harms_no_other_and_not_what_this_crate_does_itself() {
    on_every_machine(30, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let begun = Capture::begin(&stream).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let stream = Stream::per_thread(&device);
                    let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
                    let pinned = PinnedBuffer::new(&device, 4096).unwrap();
                    let graph = capture(&stream, &code, &buffer, &pinned, (1, 1));
                    let exec = graph.instantiate().unwrap();
                    let mut work = stream.work().unwrap();
                    exec.launch(&mut work).unwrap();
                    work.finish().unwrap();
                    assert_eq!(from_bytes(&pinned.read().unwrap()), vec![1; 1024]);
                });
            }
        });
        // On this thread: allocations, and looking whether something is over.
        let pinned = PinnedBuffer::new(&device, 4096).unwrap();
        let other = Stream::new(&device).unwrap();
        let new = DeviceBuffer::new(&other, 4096).unwrap();
        let unordered = DeviceBuffer::new(&stream, 4096).unwrap();
        let mut aside = other.work().unwrap();
        aside.fill(&new, 1).unwrap();
        let token = aside.finish().unwrap();
        token.is_done().unwrap();
        drop(new);
        let mut work = stream.work().unwrap();
        work.fill(&buffer, 1).unwrap();
        work.copy(&unordered, &buffer).unwrap();
        work.copy_to_host(&pinned, &unordered).unwrap();
        work.finish().unwrap();
        let graph = begun.end().unwrap();
        assert_eq!(graph.node_count().unwrap(), 3);
        let exec = graph.instantiate().unwrap();
        let mut work = stream.work().unwrap();
        exec.launch(&mut work).unwrap();
        work.finish().unwrap();
        assert_eq!(from_bytes(&pinned.read().unwrap()), vec![0x0101_0101; 1024]);
    });
}

#[test]
fn temporaries_of_a_graph_stay_with_it_and_serve_its_parts_in_turn() {
    on_every_machine(100, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let pool = Pool::new(&device);
        let stream = Stream::new(&device).unwrap();
        let output = DeviceBuffer::new(&stream, 4096).unwrap();
        let begun = Capture::begin(&stream).unwrap();
        for round in 0..4 {
            let mut work = stream.work().unwrap();
            let temporary = work.allocate(&pool, 4096).unwrap();
            work.fill(&temporary, round).unwrap();
            code.affine(&mut work, &output, &temporary, (1, 1)).unwrap();
            work.release(temporary);
            work.finish().unwrap();
        }
        let exec = begun.end().unwrap().instantiate().unwrap();
        let statistics = pool.statistics();
        assert_eq!((statistics.blocks, statistics.idle), (1, 0));
        let mut work = stream.work().unwrap();
        exec.launch(&mut work).unwrap();
        // Not what the graph has.
        let other = work.allocate(&pool, 4096).unwrap();
        work.fill(&other, 7).unwrap();
        work.release(other);
        exec.launch(&mut work).unwrap();
        let expected = 0x0303_0303 + 1;
        assert_eq!(download(&mut work, &output), vec![expected; 1024]);
        work.finish().unwrap();
        assert_eq!(pool.statistics().blocks, 2);
        drop(exec);
        let statistics = pool.statistics();
        assert_eq!(statistics.idle, statistics.held);
    });
}

/// Calls a function of the driver as a caller would who does not use this crate.
macro_rules! raw {
    ($driver:ident.$name:ident($($argument:expr => $type:ty),*)) => {{
        let function = $driver.symbol(stringify!($name)).unwrap();
        // SAFETY: the function has this signature, and the handles are alive.
        let answer = unsafe {
            let function: unsafe extern "C" fn($($type),*) -> u32 =
                std::mem::transmute(function.as_ptr());
            function($($argument),*)
        };
        assert_eq!(answer, 0, stringify!($name));
    }};
}

/// Captures some work as a caller would, in the strictest mode, and launches it twice.
fn in_a_callers_capture(driver: &Driver, stream: &Stream, work: impl FnOnce()) {
    type Handle = *mut std::ffi::c_void;
    let raw = stream.raw().unwrap();
    let (mut graph, mut exec): (Handle, Handle) = (std::ptr::null_mut(), std::ptr::null_mut());
    raw!(driver.cuStreamBeginCapture_v2(raw => Handle, 0 => u32));
    work();
    raw!(driver.cuStreamEndCapture(raw => Handle, &raw mut graph => *mut Handle));
    raw!(driver.cuGraphInstantiateWithFlags(
        &raw mut exec => *mut Handle, graph => Handle, 0 => u64
    ));
    raw!(driver.cuGraphDestroy(graph => Handle));
    for _ in 0..2 {
        raw!(driver.cuGraphLaunch(exec => Handle, raw => Handle));
    }
    raw!(driver.cuGraphExecDestroy(exec => Handle));
}

#[test]
fn work_within_a_callers_capture_belongs_to_the_callers_graph() {
    alone_on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let mut work = stream.work().unwrap();
        work.fill(&buffer, 1).unwrap();
        work.finish().unwrap();
        device.enter().unwrap();
        in_a_callers_capture(driver, &stream, || {
            let pool = Pool::new(&device);
            let mut work = stream.work().unwrap();
            assert!(work.is_captured());
            let temporary = work.allocate(&pool, 4096).unwrap();
            let pinned = PinnedBuffer::new(&device, 4096).unwrap();
            work.copy(&temporary, &buffer).unwrap();
            code.affine(&mut work, &buffer, &temporary, (2, 1)).unwrap();
            work.copy_to_host(&pinned, &buffer).unwrap();
            drop(temporary);
            work.finish().unwrap();
        });
        // The caller's part is that its launches are in order, as they are on one stream.
        let mut work = stream.work().unwrap();
        let twice = |x: u32| x.wrapping_mul(2).wrapping_add(1);
        let expected = twice(twice(0x0101_0101));
        assert_eq!(download(&mut work, &buffer), vec![expected; 1024]);
        // What the graph had goes at the next opportunity.
        stream.work().unwrap();
    });
}

#[test]
fn a_callers_capture_of_another_thread_in_the_strictest_mode_is_not_harmed() {
    alone_on_every_machine(20, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        device.enter().unwrap();
        in_a_callers_capture(driver, &stream, || {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let own = Stream::new(&device).unwrap();
                    let pinned = PinnedBuffer::new(&device, 4096).unwrap();
                    let new = DeviceBuffer::new(&own, 4096).unwrap();
                    let mut work = own.work().unwrap();
                    work.fill(&new, 3).unwrap();
                    work.copy_to_host(&pinned, &new).unwrap();
                    let token = work.finish().unwrap();
                    token.is_done().unwrap();
                    assert_eq!(pinned.read().unwrap()[..], [3; 4096]);
                    // Everything that makes, asks or waits.
                    let code = Code::load(&device);
                    let graph = capture(&own, &code, &new, &pinned, (1, 1));
                    let mut exec = graph.instantiate().unwrap();
                    exec.upload(&own).unwrap();
                    let mut work = own.work().unwrap();
                    exec.launch(&mut work).unwrap();
                    work.finish().unwrap();
                    assert!(exec.update(&graph).unwrap());
                    own.synchronize().unwrap();
                    own.is_done().unwrap();
                    device.memory().unwrap();
                    device.memory_kind(new.address()).unwrap();
                    device.trim().unwrap();
                    let event = thalweg_cuda::Event::with_timing(&device).unwrap();
                    event.record(&own).unwrap();
                    event.synchronize().unwrap();
                });
            });
            let mut work = stream.work().unwrap();
            work.fill(&buffer, 2).unwrap();
            work.finish().unwrap();
        });
        let mut work = stream.work().unwrap();
        assert_eq!(download(&mut work, &buffer), vec![0x0202_0202; 1024]);
    });
}
