//! Each rule of order, left out by itself, is missed by the stand-in under some seed; with all
//! rules, nothing is.

use super::*;
use std::ffi::c_void;
use thalweg_cuda::{
    Capture, DeviceBuffer, Limit, PinnedBuffer, Pool, Rule, Stream, Tenant, disable,
};

/// Runs a scenario with all rules, and without one.
fn is_needed(rule: Rule, scenario: impl Fn(&Driver)) {
    let Some(sim) = stand_in("which sees what is missing") else {
        return;
    };
    for seed in 0..50 {
        run_seed(&sim, &Config::seeded(seed), &scenario);
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
    let omission = disable(rule);
    let seen = (0..20).any(|seed| {
        run_seed(&sim, &Config::seeded(seed), &scenario);
        sim.finish().iter().any(|report| !report.kind.is_warning())
    });
    drop(omission);
    assert!(seen, "nobody misses {rule:?}");
}

struct Bench {
    code: Code,
    one: Stream,
    two: Stream,
    buffer: DeviceBuffer,
    other: DeviceBuffer,
}

impl Bench {
    /// Two streams, and two buffers with values that everybody sees.
    fn new(driver: &Driver) -> Self {
        let device = driver.device(0).unwrap();
        let (one, two) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let bench = Self {
            code: Code::load(&device),
            buffer: DeviceBuffer::new(&one, 4096).unwrap(),
            other: DeviceBuffer::new(&one, 4096).unwrap(),
            one,
            two,
        };
        bench.fill(&bench.one, &bench.buffer);
        bench.fill(&bench.one, &bench.other);
        bench.one.synchronize().unwrap();
        bench
    }

    fn device(&self) -> &Device {
        self.one.device()
    }

    fn fill(&self, stream: &Stream, buffer: &DeviceBuffer) {
        let mut work = stream.work().unwrap();
        work.fill(buffer, 1).unwrap();
        work.finish().unwrap();
    }

    /// `other = buffer + 1`
    fn read(&self, stream: &Stream) {
        let mut work = stream.work().unwrap();
        self.code
            .affine(&mut work, &self.other, &self.buffer, (1, 1))
            .unwrap();
        work.finish().unwrap();
    }
}

#[test]
fn a_reader_must_wait_for_the_writer() {
    is_needed(Rule::ReadAfterWrite, |driver| {
        let bench = Bench::new(driver);
        bench.fill(&bench.one, &bench.buffer);
        bench.read(&bench.two);
    });
}

#[test]
fn a_writer_must_wait_for_the_readers() {
    is_needed(Rule::WriteAfterRead, |driver| {
        let bench = Bench::new(driver);
        bench.read(&bench.one);
        bench.fill(&bench.two, &bench.buffer);
    });
}

#[test]
fn a_writer_must_wait_for_the_writer() {
    is_needed(Rule::WriteAfterWrite, |driver| {
        let bench = Bench::new(driver);
        bench.fill(&bench.one, &bench.buffer);
        bench.fill(&bench.two, &bench.buffer);
    });
}

#[test]
fn the_end_of_work_must_be_recorded() {
    is_needed(Rule::RecordEnd, |driver| {
        let bench = Bench::new(driver);
        bench.fill(&bench.one, &bench.buffer);
        bench.read(&bench.two);
    });
}

#[test]
fn new_memory_must_be_used_after_its_allocation() {
    is_needed(Rule::UseAfterAllocation, |driver| {
        let bench = Bench::new(driver);
        let new = DeviceBuffer::new(&bench.one, 4096).unwrap();
        bench.fill(&bench.two, &new);
    });
}

#[test]
fn memory_must_be_freed_after_its_last_use() {
    is_needed(Rule::FreeAfterUse, |driver| {
        let bench = Bench::new(driver);
        bench.fill(&bench.one, &bench.buffer);
        drop(bench.buffer);
    });
}

#[test]
fn pinned_memory_must_be_freed_after_its_last_use() {
    is_needed(Rule::FreePinnedAfterUse, |driver| {
        let bench = Bench::new(driver);
        let pinned = PinnedBuffer::new(bench.device(), 4096).unwrap();
        let mut work = bench.one.work().unwrap();
        work.copy_to_host(&pinned, &bench.buffer).unwrap();
        work.finish().unwrap();
        drop(pinned);
    });
}

#[test]
fn the_host_must_read_after_the_device_has_written() {
    is_needed(Rule::HostReadAfterDevice, |driver| {
        let bench = Bench::new(driver);
        let pinned = PinnedBuffer::new(bench.device(), 4096).unwrap();
        let mut work = bench.one.work().unwrap();
        work.copy_to_host(&pinned, &bench.buffer).unwrap();
        work.finish().unwrap();
        assert_eq!(pinned.read().unwrap().len(), 4096);
    });
}

#[test]
fn the_host_must_write_after_the_device_has_read() {
    is_needed(Rule::HostWriteAfterDevice, |driver| {
        let bench = Bench::new(driver);
        let mut pinned = PinnedBuffer::new(bench.device(), 4096).unwrap();
        let mut work = bench.one.work().unwrap();
        work.copy_to_device(&bench.buffer, &pinned).unwrap();
        work.finish().unwrap();
        pinned.write().unwrap().fill(1);
    });
}

#[test]
fn staging_memory_must_be_filled_after_the_copy_out_of_it() {
    is_needed(Rule::HostWriteAfterDevice, |driver| {
        let bench = Bench::new(driver);
        let mut work = bench.one.work().unwrap();
        // More than there are pieces.
        for _ in 0..70 {
            work.upload(&bench.buffer, &[3; 4096]).unwrap();
        }
        work.finish().unwrap();
    });
}

#[test]
fn memory_of_a_pool_must_be_used_again_after_its_last_use() {
    is_needed(Rule::ReuseAfterUse, |driver| {
        let bench = Bench::new(driver);
        let pool = Pool::with_limit(bench.device(), 4096);
        for stream in [&bench.one, &bench.two] {
            let mut work = stream.work().unwrap();
            let temporary = work.allocate(&pool, 4096).unwrap();
            work.fill(&temporary, 1).unwrap();
            work.release(temporary);
            work.finish().unwrap();
        }
    });
}

/// Two streams that have one piece of shared scratch in turn, which they write.
fn scratch_in_turn(driver: &Driver) {
    let bench = Bench::new(driver);
    let pool = Pool::of_scratch(bench.device(), Limit::Blocks(1));
    for (call, stream) in [&bench.one, &bench.two, &bench.one].into_iter().enumerate() {
        let tenant = Tenant::new(call as u64, stream, None).unwrap();
        let lease = pool.lease(stream, 4096, &tenant).unwrap();
        super::leases::scribble(driver, &lease, stream);
        lease.end(stream).unwrap();
    }
    assert_eq!(pool.statistics().blocks, 1);
}

#[test]
fn whoever_takes_a_lease_must_wait_for_its_last_use() {
    is_needed(Rule::LeaseWait, scratch_in_turn);
}

#[test]
fn the_end_of_a_lease_must_be_recorded() {
    is_needed(Rule::LeaseRecord, scratch_in_turn);
}

#[test]
fn the_end_of_a_lease_that_cannot_be_recorded_must_be_waited_for() {
    let Some(sim) = stand_in("which can fail any call") else {
        return;
    };
    let scenario = |driver: &Driver| {
        let bench = Bench::new(driver);
        let pool = Pool::of_scratch(bench.device(), Limit::Blocks(1));
        for (call, stream) in [&bench.one, &bench.two].into_iter().enumerate() {
            let tenant = Tenant::new(call as u64, stream, None).unwrap();
            let lease = pool.lease(stream, 4096, &tenant).unwrap();
            super::leases::scribble(driver, &lease, stream);
            sim.faults(&[thalweg_simgpu::Fault::Call {
                function: "cuEventRecord".into(),
                nth: 1,
                code: 2,
            }]);
            lease.end(stream).unwrap_err();
            sim.faults(&[]);
        }
        assert_eq!(pool.statistics().blocks, 1);
    };
    let is_missed = || {
        (0..20).any(|seed| {
            run_seed(&sim, &Config::seeded(seed).with_eagerness(0.0), scenario);
            sim.finish().iter().any(|report| !report.kind.is_warning())
        })
    };
    assert!(!is_missed());
    let omission = disable(Rule::LeaseDrain);
    let seen = is_missed();
    drop(omission);
    assert!(seen, "nobody misses {:?}", Rule::LeaseDrain);
}

type Look = unsafe extern "C" fn(*const c_void, usize, u32) -> u32;

/// Something that looks at memory when it is dropped, as a context or an engine would.
struct Owner {
    address: u64,
    look: Look,
}

impl Owner {
    fn of(pinned: &PinnedBuffer, driver: &Driver) -> Self {
        let look = driver.symbol("simgpu_host_access").unwrap();
        Self {
            address: pinned.address(),
            // SAFETY: the stand-in's function has this signature.
            look: unsafe { std::mem::transmute::<*mut c_void, Look>(look.as_ptr()) },
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let address = std::ptr::without_provenance(self.address as usize);
        // SAFETY: the function compares the range with what it knows.
        unsafe { (self.look)(address, 4096, 1) };
    }
}

/// Work whose order nobody keeps.
fn copy_unseen(work: &mut Work<'_>, pinned: &PinnedBuffer, buffer: &DeviceBuffer) {
    work.writes(buffer).unwrap();
    // SAFETY: both are alive until the stream is synchronized.
    unsafe { work.copy_raw(buffer.address(), pinned.address(), 4096) }.unwrap();
}

#[test]
fn what_a_token_keeps_must_be_dropped_after_the_work() {
    is_needed(Rule::DropAfterWork, |driver| {
        let bench = Bench::new(driver);
        let pinned = PinnedBuffer::new(bench.device(), 4096).unwrap();
        let mut work = bench.one.work().unwrap();
        copy_unseen(&mut work, &pinned, &bench.buffer);
        let token = work.finish_with(Owner::of(&pinned, driver)).unwrap();
        drop(token);
        bench.one.synchronize().unwrap();
    });
}

#[test]
fn what_a_graph_keeps_must_be_dropped_after_its_last_launch() {
    is_needed(Rule::DropAfterLaunch, |driver| {
        let bench = Bench::new(driver);
        let pinned = PinnedBuffer::new(bench.device(), 4096).unwrap();
        let capture = Capture::begin(&bench.one).unwrap();
        let mut work = bench.one.work().unwrap();
        copy_unseen(&mut work, &pinned, &bench.buffer);
        work.keep(Owner::of(&pinned, driver));
        work.finish().unwrap();
        let graph = capture.end().unwrap().instantiate().unwrap();
        let mut work = bench.one.work().unwrap();
        graph.launch(&mut work).unwrap();
        work.finish().unwrap();
        drop(graph);
        bench.one.synchronize().unwrap();
    });
}

#[test]
fn a_launch_must_take_its_turn_with_the_graphs_buffers() {
    is_needed(Rule::LaunchInTurn, |driver| {
        let bench = Bench::new(driver);
        let capture = Capture::begin(&bench.one).unwrap();
        bench.fill(&bench.one, &bench.buffer);
        let graph = capture.end().unwrap().instantiate().unwrap();
        bench.read(&bench.one);
        let mut work = bench.two.work().unwrap();
        graph.launch(&mut work).unwrap();
        work.finish().unwrap();
        bench.read(&bench.one);
    });
}
