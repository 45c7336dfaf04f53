//! The stand-in finds what is not ordered, and nothing else.
#![cfg(target_os = "linux")]

mod driver;

use driver::*;
use thalweg_simgpu::{Config, Report, Sim};

const N: usize = 64;

/// A step of the scenario that orders something and that a run may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    RecordUpload,
    WaitForUpload,
    RecordScratch,
    WaitForScratch,
    RecordBranch,
    WaitForBranch,
    Synchronize,
}

const STEPS: [Step; 7] = [
    Step::RecordUpload,
    Step::WaitForUpload,
    Step::RecordScratch,
    Step::WaitForScratch,
    Step::RecordBranch,
    Step::WaitForBranch,
    Step::Synchronize,
];

/// Two rounds of work in two streams: an upload that both use, a scratch buffer that one hands to
/// the other, and a result that one makes and the other finishes. The result says whether all
/// numbers were right.
fn scenario(sim: &Sim, left_out: Option<Step>) -> bool {
    let done = |step: Step| left_out != Some(step);
    start();
    register_affine(sim);
    let (module, functions) = load(&["affine"]);
    let run = |stream, to, from, a, b| {
        assert_eq!(affine(functions[0], stream, to, from, a, b, N as u32), OK);
    };
    let main: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
    let side: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
    let events: Vec<u64> = (0..3)
        .map(|_| get(|event| event_create(event, 2)))
        .collect();
    let [uploaded, scratch_free, branched] = events[..] else {
        unreachable!()
    };
    let bytes = N * 4;
    let input = Pinned::new(N);
    let output = Pinned::new(N);
    let x: u64 = get(|p| alloc(p, bytes));
    let y: u64 = get(|p| alloc(p, bytes));
    let scratch: u64 = get(|p| alloc(p, bytes));
    let mut right = true;
    for round in 0..2 {
        input.set(sim, |index| (index + round) as f32);
        assert_eq!(to_device_async(x, input.pointer(), bytes, main), OK);
        if done(Step::RecordUpload) {
            assert_eq!(event_record(uploaded, main), OK);
        }
        if done(Step::WaitForUpload) {
            assert_eq!(stream_wait(side, uploaded, 0), OK);
        }
        run(side, scratch, x, 2.0, 0.0);
        run(side, y, scratch, 1.0, 1.0);
        if done(Step::RecordScratch) {
            assert_eq!(event_record(scratch_free, side), OK);
        }
        run(side, y, y, 5.0, 0.0);
        if done(Step::RecordBranch) {
            assert_eq!(event_record(branched, side), OK);
        }
        if done(Step::WaitForScratch) {
            assert_eq!(stream_wait(main, scratch_free, 0), OK);
        }
        run(main, scratch, x, 3.0, 0.0);
        if done(Step::WaitForBranch) {
            assert_eq!(stream_wait(main, branched, 0), OK);
        }
        run(main, y, y, 2.0, 0.0);
        assert_eq!(to_host_async(output.pointer(), y, bytes, main), OK);
        if done(Step::Synchronize) {
            assert_eq!(stream_synchronize(main), OK);
        }
        let values = output.values(sim);
        right &= (0..N).all(|i| values[i] == 10.0 * (2.0 * (i + round) as f32 + 1.0));
    }
    assert_eq!(synchronize(), OK);
    for pointer in [x, y, scratch] {
        assert_eq!(free(pointer), OK);
    }
    input.free();
    output.free();
    for event in events {
        assert_eq!(event_destroy(event), OK);
    }
    assert_eq!(stream_destroy(main), OK);
    assert_eq!(stream_destroy(side), OK);
    assert_eq!(module_unload(module), OK);
    assert_eq!(release(0), OK);
    right
}

fn errors(sim: &Sim) -> Vec<Report> {
    let mut reports = sim.finish();
    reports.retain(|report| !report.kind.is_warning());
    reports
}

#[test]
fn a_correct_program_passes_a_thousand_seeds() {
    let sim = Sim::session(Config::default());
    for seed in 0..1000 {
        sim.reset(Config::seeded(seed));
        assert!(scenario(&sim, None), "seed {seed} gives wrong numbers");
        let errors = errors(&sim);
        assert!(errors.is_empty(), "seed {seed}: {errors:#?}");
    }
}

#[test]
fn each_step_that_is_left_out_is_found_within_twenty_seeds() {
    let sim = Sim::session(Config::default());
    for step in STEPS {
        let mut reported = 0;
        let mut wrong = 0;
        for seed in 0..20 {
            sim.reset(Config::seeded(seed));
            wrong += usize::from(!scenario(&sim, Some(step)));
            reported += usize::from(!errors(&sim).is_empty());
        }
        assert!(reported > 0, "{step:?} is not missed");
        // The order is not only checked, it is also bad: programs see wrong numbers.
        assert!(wrong > 0, "without {step:?} all numbers are right");
        println!("{step:?}: reported by {reported}, wrong with {wrong} of 20 seeds");
    }
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let sim = Sim::session(Config::default());
    let mut orders = Vec::new();
    for seed in 0..20 {
        let mut runs = (0..2).map(|_| {
            sim.reset(Config::seeded(seed));
            scenario(&sim, None);
            sim.log()
        });
        let (first, second) = (runs.next().unwrap(), runs.next().unwrap());
        assert_eq!(first, second, "seed {seed}");
        orders.push(
            first
                .into_iter()
                .map(|done| done.site.to_string())
                .collect::<Vec<_>>(),
        );
    }
    orders.sort();
    orders.dedup();
    assert!(orders.len() > 5, "only {} orders", orders.len());
}

#[test]
fn a_correct_program_passes_when_work_runs_freely() {
    let sim = Sim::session(Config::default());
    for _ in 0..50 {
        sim.reset(Config::free());
        assert!(scenario(&sim, None));
        let errors = errors(&sim);
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

/// Threads with a stream each, which hand one buffer from one to the next: with an event, or with
/// only a lock of the host's.
fn hand_over(sim: &Sim, with_event: bool) {
    use std::sync::Mutex;

    let context = start();
    register_affine(sim);
    let (module, functions) = load(&["affine"]);
    let shared: u64 = get(|p| alloc(p, N * 4));
    let done: u64 = get(|event| event_create(event, 2));
    assert_eq!(fill32(shared, 0, N), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(event_record(done, LEGACY), OK);
    let turn = Mutex::new(());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                assert_eq!(set_current(context), OK);
                let own: u64 = get(|p| alloc_async(p, N * 4, PER_THREAD));
                let output = Pinned::new(N);
                for round in 0..10 {
                    let values = [round as f32; N];
                    let from = values.as_ptr().cast();
                    assert_eq!(to_device_async(own, from, N * 4, PER_THREAD), OK);
                    {
                        let _turn = turn.lock().unwrap();
                        if with_event {
                            assert_eq!(stream_wait(PER_THREAD, done, 0), OK);
                        }
                        let n = N as u32;
                        let kernel = functions[0];
                        assert_eq!(affine(kernel, PER_THREAD, shared, own, 2.0, 1.0, n), OK);
                        assert_eq!(affine(kernel, PER_THREAD, own, shared, 1.0, 0.0, n), OK);
                        if with_event {
                            assert_eq!(event_record(done, PER_THREAD), OK);
                        }
                    }
                    let to = output.pointer();
                    assert_eq!(to_host_async(to, own, N * 4, PER_THREAD), OK);
                    assert_eq!(stream_synchronize(PER_THREAD), OK);
                    if with_event {
                        assert_eq!(output.values(sim), [2.0 * round as f32 + 1.0; N]);
                    }
                }
                assert_eq!(free_async(own, PER_THREAD), OK);
                assert_eq!(stream_synchronize(PER_THREAD), OK);
                output.free();
            });
        }
    });
    assert_eq!((free(shared), event_destroy(done)), (OK, OK));
    assert_eq!((module_unload(module), release(0)), (OK, OK));
}

#[test]
fn threads_that_hand_over_memory_need_an_event() {
    let sim = Sim::session(Config::default());
    for seed in 0..20 {
        for config in [Config::seeded(seed), Config::free()] {
            sim.reset(config);
            hand_over(&sim, true);
            sim.assert_clean();
        }
    }
    let mut found = 0;
    for seed in 0..20 {
        sim.reset(Config::seeded(seed));
        hand_over(&sim, false);
        found += usize::from(!errors(&sim).is_empty());
    }
    assert!(found > 0);
}
