use super::*;
use thalweg_core::ErrorKind;
use thalweg_cuda::{Pool, Stream};
use thalweg_simgpu::Fault;

#[test]
fn a_steady_state_asks_the_driver_for_nothing() {
    let Some(sim) = stand_in("which counts the calls") else {
        return;
    };
    for seed in 0..50 {
        run_seed(&sim, &Config::seeded(seed), |driver| {
            let device = driver.device(0).unwrap();
            let code = Code::load(&device);
            let stream = Stream::per_thread(&device);
            let pool = Pool::new(&device);
            let run = || {
                let mut work = stream.work().unwrap();
                let mut last = work.allocate(&pool, 4000).unwrap();
                work.fill(&last, 1).unwrap();
                for size in [4000, 70_000, 4000, 9000] {
                    let next = work.allocate(&pool, size).unwrap();
                    work.fill(&next, 0).unwrap();
                    if next.len() <= last.len() {
                        code.affine(&mut work, &next, &last, (1, 1)).unwrap();
                    }
                    work.release(std::mem::replace(&mut last, next));
                }
                work.release(last);
                work.finish().unwrap();
            };
            run();
            run();
            let memory = |sim: &Sim| {
                let counts = sim.call_counts().into_iter();
                let is_memory = |name: &str| name.contains("Alloc") || name.contains("Free");
                let created = |name: &str| name.contains("Create");
                counts
                    .filter(|(name, _)| is_memory(name) || created(name))
                    .map(|(_, calls)| calls)
                    .sum::<u64>()
            };
            let before = memory(&sim);
            for _ in 0..10 {
                run();
            }
            assert_eq!(memory(&sim), before);
            let statistics = pool.statistics();
            assert_eq!(statistics.idle, statistics.held);
            assert_eq!(statistics.waits, 0);
            assert_eq!(statistics.allocations, statistics.blocks as u64);
            assert!(statistics.blocks <= 4, "{statistics:?}");
        });
        sim.assert_clean();
    }
}

#[test]
fn a_callers_streams_share_memory_from_call_to_call() {
    on_every_machine(30, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let pool = Pool::new(&device);
        for _ in 0..20 {
            // SAFETY: the stream lives until the end.
            let given = unsafe { Stream::borrow(&device, stream.raw().unwrap()) };
            let mut work = given.work().unwrap();
            let temporary = work.allocate(&pool, 4096).unwrap();
            work.fill(&temporary, 1).unwrap();
            drop(temporary);
            work.finish().unwrap();
        }
        assert_eq!(pool.statistics().blocks, 1);
    });
}

#[test]
fn streams_wait_for_each_other_rather_than_exceed_the_limit() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let streams: Vec<_> = (0..3).map(|_| Stream::new(&device).unwrap()).collect();
        let pool = Pool::with_limit(&device, 8192);
        for stream in streams.iter().cycle().take(12) {
            let mut work = stream.work().unwrap();
            let one = work.allocate(&pool, 4096).unwrap();
            let two = work.allocate(&pool, 4096).unwrap();
            work.fill(&one, 1).unwrap();
            work.copy(&two, &one).unwrap();
            assert_eq!(download(&mut work, &two), vec![0x0101_0101; 1024]);
            work.release(one);
            work.finish().unwrap();
        }
        assert_eq!(pool.statistics().held, 8192);
        pool.trim();
        let statistics = pool.statistics();
        assert_eq!(
            (statistics.held, statistics.idle, statistics.blocks),
            (0, 0, 0)
        );
    });
}

#[test]
fn a_pool_gives_back_what_it_keeps_before_memory_is_out() {
    let Some(sim) = stand_in("which has as little memory as asked") else {
        return;
    };
    const MIB: usize = 1 << 20;
    for seed in 0..20 {
        run_seed(&sim, &Config::seeded(seed), |driver| {
            let device = driver.device(0).unwrap();
            let stream = Stream::new(&device).unwrap();
            let pool = Pool::new(&device);
            sim.faults(&[Fault::MemoryLimit {
                bytes: 8 * MIB as u64,
            }]);
            let mut work = stream.work().unwrap();
            let first = work.allocate(&pool, 3 * MIB).unwrap();
            let second = work.allocate(&pool, 2 * MIB).unwrap();
            work.fill(&first, 1).unwrap();
            work.fill(&second, 1).unwrap();
            drop((first, second));
            work.finish().unwrap();
            // It only fits without those.
            let mut work = stream.work().unwrap();
            let third = work.allocate(&pool, 6 * MIB).unwrap();
            work.fill(&third, 1).unwrap();
            let error = work.allocate(&pool, 5 * MIB).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
            let text = error.to_string();
            assert!(text.contains("the pool holds 6291456 bytes"), "{text}");
            let statistics = pool.statistics();
            assert_eq!((statistics.blocks, statistics.trims), (1, 1));
            // The next is as if nothing had happened.
            let fourth = work.allocate(&pool, MIB).unwrap();
            work.fill(&fourth, 1).unwrap();
            work.finish().unwrap();
        });
        sim.faults(&[]);
        sim.assert_clean();
    }
}

#[test]
fn a_pool_may_go_before_its_buffers_do() {
    on_every_machine(30, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let pool = Pool::new(&device);
        let mut work = stream.work().unwrap();
        let buffer = work.allocate(&pool, 4096).unwrap();
        let released = work.allocate(&pool, 4096).unwrap();
        work.fill(&buffer, 1).unwrap();
        work.fill(&released, 1).unwrap();
        work.finish().unwrap();
        drop(released);
        drop(pool);
        drop((stream, device));
        drop(buffer);
    });
}
