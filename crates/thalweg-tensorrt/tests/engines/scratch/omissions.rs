//! Each wait and each setting is needed where scratch is shared, too.

use super::super::omissions::{is_needed, is_needed_of_pool};
use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_cuda::Rule as PoolRule;
use thalweg_cuda::Stream;
use thalweg_tensorrt::Rule;

/// Instances with engines of different sizes in turn on two streams, with one piece for all.
fn in_turn(options: LoadOptions, links: Vec<Vec<Link>>) -> impl Fn(&Driver) {
    move |driver| {
        let machine = Machine::new(driver);
        let device = driver.device(0).unwrap();
        let streams = [Stream::new(&device).unwrap(), Stream::new(&device).unwrap()];
        let mut methods: Vec<_> = links
            .iter()
            .map(|links| (machine.method(links, &options), links.len()))
            .collect();
        for round in 0..3 {
            for (index, (method, _)) in methods.iter_mut().enumerate() {
                let x = numbers(1, &[8 + 8 * round, 8]);
                let options = RunOptions::new()
                    .device_outputs(true)
                    .stream(&streams[index % 2]);
                method.run_with(&[(&x).into()], &options).unwrap();
            }
        }
        for (method, times) in &mut methods {
            check(method, 8, *times);
        }
    }
}

fn two_methods() -> Vec<Vec<Link>> {
    vec![
        vec![doubles(4 << 10), doubles(1 << 10)],
        vec![doubles(2 << 10)],
    ]
}

#[test]
fn who_takes_scratch_must_wait_for_who_had_it() {
    is_needed_of_pool(
        PoolRule::LeaseWait,
        in_turn(limited("1 buffer"), two_methods()),
    );
    is_needed_of_pool(PoolRule::LeaseWait, in_turn(limited("4096"), two_methods()));
}

#[test]
fn who_had_scratch_must_record_its_end() {
    is_needed_of_pool(
        PoolRule::LeaseRecord,
        in_turn(limited("1 buffer"), two_methods()),
    );
    // Nobody but the event says that a piece is still in use.
    is_needed_of_pool(PoolRule::LeaseRecord, in_turn(shared(), two_methods()));
}

#[test]
fn scratch_must_be_as_large_as_the_shapes_need_where_it_is_shared() {
    let links = vec![vec![doubles_by_shape(64)]];
    is_needed(Rule::ScratchForShapes, in_turn(shared(), links));
}

#[test]
fn a_context_must_be_told_where_its_shared_scratch_is() {
    is_needed(Rule::SetScratch, in_turn(shared(), two_methods()));
}

#[test]
fn a_context_must_be_told_when_it_gets_another_piece() {
    let scenario = |driver: &Driver| {
        let machine = Machine::new(driver);
        let mut method = machine.method(&[doubles(1 << 10), doubles(1 << 12)], &shared());
        // In its second call the first engine has the second one's piece.
        (0..3).for_each(|_| check(&mut method, 8, 2));
    };
    is_needed(Rule::SetScratchAgain, scenario);
}

#[test]
fn who_needs_no_scratch_must_not_claim_any() {
    let scenario = |driver: &Driver| {
        let machine = Machine::new(driver);
        let mut method = machine.method(&[doubles(0), doubles(1 << 10)], &shared());
        (0..2).for_each(|_| check(&mut method, 8, 2));
        assert_eq!(machine.statistics().allocations, 1);
    };
    is_needed(Rule::NothingForNothing, scenario);
}

#[test]
fn an_end_that_cannot_be_recorded_must_be_waited_for() {
    let sim = Sim::session(Config::seeded(0));
    let omission = thalweg_cuda::disable(PoolRule::LeaseDrain);
    let seen = (0..50).any(|seed| {
        sim.reset(Config::seeded(seed).with_eagerness(0.0));
        let scenario = || super::failures::unrecorded(&sim, "1 buffer");
        let right = catch_unwind(AssertUnwindSafe(scenario)).is_ok();
        let reports = sim.finish();
        !right || reports.iter().any(|report| !report.kind.is_warning())
    });
    drop(omission);
    assert!(seen, "nobody misses {:?}", PoolRule::LeaseDrain);
}
