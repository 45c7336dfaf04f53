//! What is not ordered is found, and nothing else is.

use thalweg_simgpu::nvinfer::TensorRt;
use thalweg_simgpu::{Config, Report, Sim};

use crate::driver::*;
use crate::{affine, api, device, layouts};

const ROWS: usize = 3;
const N: usize = ROWS * 4;

/// A step of the scenario that orders something and that a run may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    RecordScratch,
    WaitForScratch,
    WaitForProfile,
    SynchronizeBeforeReading,
    SynchronizeBeforeShape,
    SynchronizeBeforeDestroying,
}

const STEPS: [Step; 6] = [
    Step::RecordScratch,
    Step::WaitForScratch,
    Step::WaitForProfile,
    Step::SynchronizeBeforeReading,
    Step::SynchronizeBeforeShape,
    Step::SynchronizeBeforeDestroying,
];

/// Two engines in two streams, which share their scratch: the second waits for the first, and takes
/// its result. The result says whether all numbers were right.
fn scenario(sim: &Sim, version: TensorRt, left_out: Option<Step>) -> bool {
    let done = |step: Step| left_out != Some(step);
    start();
    let logger = api::Logger::new(version);
    let runtime = api::runtime(&logger, version).unwrap();
    let double = affine("double", version, 2.0, 1.0);
    let double = runtime.deserialize(&double.to_bytes()).unwrap();
    let mut triple = affine("triple", version, 3.0, 0.0);
    triple.profiles.push(triple.profiles[0].clone());
    triple.kernels = 4;
    triple.aux_streams = 1;
    let triple = runtime.deserialize(&triple.to_bytes()).unwrap();
    let main: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
    let side: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
    let third: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
    let [event, profiled] = [0; 2].map(|_: u8| get(|event| event_create(event, 2)));
    let size = double.profile_memory(0).max(triple.profile_memory(1));
    let scratch = device(size as usize);
    let [x, y, z] = [0; 3].map(|_: u8| device(N * 4));
    let [input, output] = [0; 2].map(|_: u8| Pinned::new(N));
    let [first, second] = [double, triple].map(|engine| engine.context(2).unwrap());

    assert!(second.set_profile(1, third));
    assert_eq!(event_record(profiled, third), OK);
    if done(Step::WaitForProfile) {
        assert_eq!(stream_wait(side, profiled, 0), OK);
    }
    let shape = [ROWS as i64, 4];
    for (context, from, to) in [(first, x, y), (second, y, z)] {
        assert!(context.set_shape("x", &shape));
        assert!(context.set_address("x", from) && context.set_address("y", to));
        assert!(context.update_memory() as i64 <= size);
        context.set_memory(scratch, size);
    }
    let mut right = true;
    for round in 0..2 {
        input.set(sim, |index| (index + round) as f32);
        assert_eq!(to_device_async(x, input.pointer(), N * 4, main), OK);
        assert!(first.enqueue(main), "{:?}", logger.errors());
        if done(Step::RecordScratch) {
            assert_eq!(event_record(event, main), OK);
        }
        if done(Step::WaitForScratch) {
            assert_eq!(stream_wait(side, event, 0), OK);
        }
        assert!(second.enqueue(side), "{:?}", logger.errors());
        assert_eq!(to_host_async(output.pointer(), z, N * 4, side), OK);
        if done(Step::SynchronizeBeforeReading) {
            assert_eq!(stream_synchronize(side), OK);
        }
        let values = output.values(sim);
        right &= (0..N).all(|i| values[i] == 3.0 * (2.0 * (i + round) as f32 + 1.0));
        assert_eq!(stream_synchronize(side), OK);
    }
    // A smaller shape.
    assert!(first.enqueue(main));
    if done(Step::SynchronizeBeforeShape) {
        assert_eq!(stream_synchronize(main), OK);
    }
    assert!(first.set_shape("x", &[1, 4]));
    assert!(first.update_memory() > 0);
    assert!(first.enqueue(main), "{:?}", logger.errors());
    if done(Step::SynchronizeBeforeDestroying) {
        assert_eq!(stream_synchronize(main), OK);
    }
    first.delete();
    second.delete();
    assert_eq!(synchronize(), OK);
    double.delete();
    triple.delete();
    runtime.delete();
    for pointer in [x, y, z, scratch] {
        assert_eq!(free(pointer), OK);
    }
    input.free();
    output.free();
    assert_eq!(event_destroy(event), OK);
    assert_eq!(event_destroy(profiled), OK);
    for stream in [main, side, third] {
        assert_eq!(stream_destroy(stream), OK);
    }
    assert_eq!(release(0), OK);
    right
}

fn errors(sim: &Sim) -> Vec<Report> {
    let mut reports = sim.finish();
    reports.retain(|report| !report.kind.is_warning());
    reports
}

#[test]
fn a_correct_program_passes_two_hundred_seeds_in_every_layout() {
    let sim = Sim::session(Config::default());
    for version in layouts() {
        for seed in 0..200 {
            sim.reset(Config::seeded(seed).with_tensorrt(version));
            let right = scenario(&sim, version, None);
            let errors = errors(&sim);
            assert!(errors.is_empty(), "{version}, seed {seed}: {errors:?}");
            assert!(right, "{version}, seed {seed} gives wrong numbers");
        }
    }
}

#[test]
fn each_step_that_is_left_out_is_found_within_twenty_seeds() {
    let sim = Sim::session(Config::default());
    let version = TensorRt::default();
    for step in STEPS {
        let found = (0..20).find(|seed| {
            sim.reset(Config::seeded(*seed).with_tensorrt(version));
            scenario(&sim, version, Some(step));
            !errors(&sim).is_empty()
        });
        assert!(found.is_some(), "{step:?} is not missed");
    }
}

#[test]
fn scratch_that_two_engines_use_at_once_spoils_the_numbers_of_some_seed() {
    let sim = Sim::session(Config::default());
    let version = TensorRt::default();
    let wrong = (0..200).any(|seed| {
        sim.reset(Config::seeded(seed));
        !scenario(&sim, version, Some(Step::WaitForScratch))
    });
    assert!(wrong);
}
