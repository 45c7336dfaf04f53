use super::*;
use std::ffi::c_void;
use std::sync::mpsc;
use thalweg_core::ErrorKind;
use thalweg_cuda::{DeviceBuffer, Event, Partition, PinnedBuffer, Stream};

/// A stream of somebody else's.
pub(crate) struct ForeignStream<'d> {
    driver: &'d Driver,
    pub(crate) raw: *mut c_void,
}

impl<'d> ForeignStream<'d> {
    pub(crate) fn new(driver: &'d Driver, device: &Device) -> Self {
        let _entered = device.enter().unwrap();
        let create = driver.symbol("cuStreamCreate").unwrap();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the function has this signature, and writes the stream.
        let answer = unsafe {
            let create: unsafe extern "C" fn(*mut *mut c_void, u32) -> u32 =
                std::mem::transmute(create.as_ptr());
            create(&raw mut raw, 1)
        };
        assert_eq!(answer, 0);
        Self { driver, raw }
    }
}

impl Drop for ForeignStream<'_> {
    fn drop(&mut self) {
        let destroy = self.driver.symbol("cuStreamDestroy_v2").unwrap();
        // SAFETY: as above; the stream is ours.
        unsafe {
            let destroy: unsafe extern "C" fn(*mut c_void) -> u32 =
                std::mem::transmute(destroy.as_ptr());
            destroy(self.raw);
        }
    }
}

#[test]
fn a_callers_stream_may_go_right_after_the_call() {
    on_every_machine(100, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        let setup = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&setup, 4096).unwrap();
        let mut work = setup.work().unwrap();
        work.fill(&buffer, 0).unwrap();
        work.finish().unwrap();
        for round in 1..=5 {
            // Its handle may be that of the one before.
            let foreign = ForeignStream::new(driver, &device);
            // SAFETY: it is destroyed after the borrowed one is dropped.
            let stream = unsafe { Stream::borrow(&device, foreign.raw) };
            let mut work = stream.work().unwrap();
            code.affine(&mut work, &buffer, &buffer, (2, round))
                .unwrap();
            work.finish().unwrap();
        }
        let mut work = setup.work().unwrap();
        let expected = (1..=5).fold(0, |x, round| x * 2 + round);
        assert_eq!(download(&mut work, &buffer), vec![expected; 1024]);
    });
}

#[test]
fn the_default_streams_take_their_turns_with_others() {
    alone_on_every_machine(100, 1, |driver| {
        let device = driver.device(0).unwrap();
        let code = Code::load(&device);
        // SAFETY: the null stream is always there.
        let null = unsafe { Stream::borrow(&device, std::ptr::null_mut()) };
        let streams = [
            Stream::per_thread(&device),
            Stream::legacy(&device),
            null,
            Stream::new(&device).unwrap(),
            Stream::with_priority(&device, device.stream_priorities().unwrap().1).unwrap(),
        ];
        let buffer = DeviceBuffer::new(&streams[0], 4096).unwrap();
        let mut expected = 0;
        let mut work = streams[3].work().unwrap();
        work.fill(&buffer, 0).unwrap();
        work.finish().unwrap();
        for (round, stream) in streams.iter().cycle().take(10).enumerate() {
            let mut work = stream.work().unwrap();
            code.affine(&mut work, &buffer, &buffer, (3, round as u32))
                .unwrap();
            work.finish().unwrap();
            expected = expected * 3 + round as u32;
        }
        let mut work = streams[0].work().unwrap();
        assert_eq!(download(&mut work, &buffer), vec![expected; 1024]);
    });
}

#[test]
fn the_default_stream_of_a_thread_is_of_no_use_on_another() {
    on_every_machine(2, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::per_thread(&device);
        stream.synchronize().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let error = stream.work().err().unwrap();
                assert_eq!(error.kind(), ErrorKind::InvalidInput);
                assert!(stream.synchronize().is_err());
                assert!(stream.raw().is_err());
            });
        });
        // One of a thread that is gone leaves nothing behind.
        let buffer = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let stream = Stream::per_thread(&device);
                let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
                let mut work = stream.work().unwrap();
                work.fill(&buffer, 7).unwrap();
                work.finish().unwrap();
                buffer
            });
            thread.join().unwrap()
        });
        let mut work = stream.work().unwrap();
        assert_eq!(download(&mut work, &buffer), vec![0x0707_0707; 1024]);
    });
}

#[test]
fn streams_of_a_part_of_the_device_do_the_same_work() {
    on_every_machine(30, 1, |driver| {
        let device = driver.device(0).unwrap();
        let part = match Partition::new(&device, 8) {
            Ok(part) => part,
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                println!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        assert!((8..=device.multiprocessors() as u32).contains(&part.multiprocessors()));
        let code = Code::load(&device);
        let (stream, whole) = (part.stream().unwrap(), Stream::new(&device).unwrap());
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        for (index, stream) in [&stream, &whole, &stream].into_iter().enumerate() {
            let mut work = stream.work().unwrap();
            if index == 0 {
                work.fill(&buffer, 0).unwrap();
            }
            code.affine(&mut work, &buffer, &buffer, (2, 1)).unwrap();
            work.finish().unwrap();
        }
        let mut work = stream.work().unwrap();
        assert_eq!(download(&mut work, &buffer), vec![7; 1024]);
    });
}

#[test]
fn events_tell_what_is_over_and_how_long_it_took() {
    on_every_machine(10, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let (start, end) = (
            Event::with_timing(&device).unwrap(),
            Event::with_timing(&device).unwrap(),
        );
        let buffer = DeviceBuffer::new(&stream, 1 << 20).unwrap();
        start.record(&stream).unwrap();
        let mut work = stream.work().unwrap();
        work.fill(&buffer, 1).unwrap();
        work.finish().unwrap();
        end.record(&stream).unwrap();
        end.synchronize().unwrap();
        assert!(start.is_done().unwrap() && end.is_done().unwrap() && stream.is_done().unwrap());
        let milliseconds = end.milliseconds_since(&start).unwrap();
        assert!((0.0..10_000.0).contains(&milliseconds), "{milliseconds}");
        let cheap = Event::new(&device).unwrap();
        cheap.record(&stream).unwrap();
        stream.wait(&cheap).unwrap();
        assert!(cheap.milliseconds_since(&start).is_err());
        stream.synchronize().unwrap();
    });
}

#[test]
fn a_function_of_the_host_runs_in_its_turn() {
    on_every_machine(30, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let pinned = PinnedBuffer::new(&device, 4096).unwrap();
        let (sender, receiver) = mpsc::channel();
        let mut work = stream.work().unwrap();
        work.fill(&buffer, 1).unwrap();
        work.call_host(move || sender.send(5).unwrap()).unwrap();
        work.call_host(|| panic!("nobody is hurt")).unwrap();
        work.copy_to_host(&pinned, &buffer).unwrap();
        work.finish().unwrap();
        pinned.read().unwrap();
        assert_eq!(receiver.try_recv(), Ok(5));
    });
}
