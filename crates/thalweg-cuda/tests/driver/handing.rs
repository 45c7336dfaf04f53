//! Memory that other code uses by its address, handed on by events.

use super::*;
use thalweg_cuda::{Event, Stream};
use thalweg_simgpu::Fault;

const LEN: usize = 4096;

/// Memory, and the event that stands for its last use.
struct Handed {
    buffer: DeviceBuffer,
    event: Event,
}

impl Handed {
    fn new(stream: &Stream) -> Self {
        let event = Event::new(stream.device()).unwrap();
        let buffer = DeviceBuffer::new(stream, LEN).unwrap();
        event.record(stream).unwrap();
        buffer.used_until(&event);
        Self { buffer, event }
    }

    /// Uses it on a stream by its address, after whoever had it before.
    fn fill(&self, stream: &Stream, byte: u8) {
        stream.wait(&self.event).unwrap();
        let mut work = stream.work().unwrap();
        // SAFETY: it is as long, and whoever comes next waits for the event.
        unsafe { work.fill_raw(self.buffer.address(), byte, LEN) }.unwrap();
        work.finish().unwrap();
        self.event.record(stream).unwrap();
    }
}

fn two_streams(device: &Device) -> [Stream; 2] {
    [Stream::new(device).unwrap(), Stream::new(device).unwrap()]
}

#[test]
fn memory_is_freed_after_the_event_that_it_is_used_until() {
    on_every_machine(100, 1, |driver| {
        let device = driver.device(0).unwrap();
        let streams = two_streams(&device);
        let handed = Handed::new(&streams[0]);
        for turn in 0..4 {
            handed.fill(&streams[turn % 2], turn as u8);
        }
        drop(handed.buffer);
        // Who comes to have it now is in order, too.
        let other = DeviceBuffer::new(&streams[0], LEN).unwrap();
        let mut work = streams[0].work().unwrap();
        work.fill(&other, 9).unwrap();
        assert_eq!(download(&mut work, &other), vec![0x0909_0909; LEN / 4]);
        work.finish().unwrap();
    });
}

#[test]
fn memory_that_is_freed_on_a_stream_is_there_for_what_follows() {
    on_every_machine(100, 1, |driver| {
        let device = driver.device(0).unwrap();
        let streams = two_streams(&device);
        let handed = Handed::new(&streams[0]);
        handed.fill(&streams[0], 1);
        let address = handed.buffer.address();
        handed.buffer.free_on(&streams[1]).unwrap();
        let next = DeviceBuffer::new(&streams[1], LEN).unwrap();
        if !real() {
            assert_eq!(next.address(), address);
        }
        let mut work = streams[1].work().unwrap();
        work.fill(&next, 2).unwrap();
        assert_eq!(download(&mut work, &next), vec![0x0202_0202; LEN / 4]);
        work.finish().unwrap();
    });
}

#[test]
fn what_is_on_the_stream_so_far_may_use_memory_that_is_freed_there() {
    on_every_machine(100, 1, |driver| {
        let device = driver.device(0).unwrap();
        let streams = two_streams(&device);
        let handed = Handed::new(&streams[0]);
        streams[1].wait(&handed.event).unwrap();
        let mut work = streams[1].work().unwrap();
        // SAFETY: it is as long, and is freed after this on the same stream.
        unsafe { work.fill_raw(handed.buffer.address(), 3, LEN) }.unwrap();
        work.finish().unwrap();
        handed.buffer.free_on(&streams[1]).unwrap();
    });
}

#[test]
fn memory_that_a_device_does_not_free_in_order_is_freed_on_a_stream_all_the_same() {
    let Some(sim) = stand_in("whose devices have no memory pools") else {
        return;
    };
    for seed in 0..30 {
        run_seed(&sim, &Config::seeded(seed).without_pools(), |driver| {
            let device = driver.device(0).unwrap();
            let streams = two_streams(&device);
            let handed = Handed::new(&streams[0]);
            handed.fill(&streams[0], 1);
            handed.buffer.free_on(&streams[1]).unwrap();
        });
        sim.assert_clean();
    }
}

#[test]
fn a_wait_that_fails_is_an_error_and_the_memory_is_freed_after_its_uses() {
    let Some(sim) = stand_in("whose calls fail") else {
        return;
    };
    for seed in 0..50 {
        run_seed(&sim, &Config::seeded(seed), |driver| {
            let device = driver.device(0).unwrap();
            let streams = two_streams(&device);
            let handed = Handed::new(&streams[0]);
            handed.fill(&streams[0], 1);
            handed.fill(&streams[1], 2);
            sim.faults(&[Fault::Call {
                function: "cuStreamWaitEvent".into(),
                nth: 1,
                code: 999,
            }]);
            handed.buffer.free_on(&streams[0]).unwrap_err();
            sim.faults(&[]);
        });
        sim.assert_clean();
    }
}

#[test]
fn what_was_let_go_can_be_had_back_when_memory_is_out() {
    let Some(sim) = stand_in("which has as little memory as asked") else {
        return;
    };
    const MIB: usize = 1 << 20;
    for seed in 0..20 {
        run_seed(&sim, &Config::seeded(seed).with_eagerness(0.0), |driver| {
            let device = driver.device(0).unwrap();
            let streams = two_streams(&device);
            sim.faults(&[Fault::MemoryLimit {
                bytes: 4 * MIB as u64,
            }]);
            let buffer = DeviceBuffer::new(&streams[0], 3 * MIB).unwrap();
            let mut work = streams[0].work().unwrap();
            work.fill(&buffer, 1).unwrap();
            drop(work);
            drop(buffer);
            assert!(DeviceBuffer::new(&streams[1], 2 * MIB).is_err());
            device.reclaim().unwrap();
            DeviceBuffer::new(&streams[1], 2 * MIB).unwrap();
        });
        sim.faults(&[]);
        sim.assert_clean();
    }
}
