//! Missing order is reported, and nothing else is.

use thalweg_simgpu::nvinfer::TensorRt;
use thalweg_simgpu::{Config, Report, ReportKind, Sim};

use crate::driver::*;
use crate::{affine, api, device, download, layouts, setup, upload};

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
    let [double, triple] = engines(runtime, version);
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

/// `2 x + 1`, and `3 x` with two profiles and an auxiliary stream.
fn engines(runtime: api::Object, version: TensorRt) -> [api::Object; 2] {
    let double = affine("double", version, 2.0, 1.0);
    let mut triple = affine("triple", version, 3.0, 0.0);
    triple.profiles.push(triple.profiles[0].clone());
    triple.kernels = 4;
    triple.aux_streams = 1;
    [double, triple].map(|spec| runtime.deserialize(&spec.to_bytes()).unwrap())
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

/// Two runs of an engine that have nothing in common but, if a test wants that, their scratch, and an
/// input that the stream of the other run changes.
/// The result is the numbers of both, and what was reported.
fn apart(sim: &Sim, seed: u64, share: bool, change_input: bool) -> (Vec<f32>, Vec<Report>) {
    let version = TensorRt::default();
    sim.reset(Config::seeded(seed));
    let mut spec = affine("apart", version, 2.0, 0.0);
    spec.kernels = 4;
    let setup = setup(version, &spec);
    let size = setup.engine.profile_memory(0);
    let mut numbers = Vec::new();
    let shared = device(size as usize);
    let mut objects = Vec::new();
    for index in 0..2 {
        let context = setup.engine.context(2).unwrap();
        let scratch = if share || index == 0 {
            shared
        } else {
            device(size as usize)
        };
        let (x, y) = (device(N * 4), device(N * 4));
        upload(x, &[1.0f32; N]);
        assert!(context.set_shape("x", &[ROWS as i64, 4]));
        assert!(context.set_address("x", x) && context.set_address("y", y));
        context.set_memory(scratch, size);
        let stream: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
        objects.push((context, x, y, scratch, stream));
    }
    for (context, .., stream) in &objects {
        assert!(context.enqueue(*stream), "{:?}", setup.logger.errors());
    }
    if change_input {
        let (x, other) = (objects[0].1, objects[1].4);
        assert_eq!(fill32_async(x, 2.0f32.to_bits(), N, other), OK);
    }
    for (context, x, y, scratch, stream) in objects {
        numbers.extend(download::<f32>(y, N));
        context.delete();
        assert_eq!(free(x), OK);
        assert_eq!(free(y), OK);
        if scratch != shared {
            assert_eq!(free(scratch), OK);
        }
        assert_eq!(stream_destroy(stream), OK);
    }
    assert_eq!(free(shared), OK);
    setup.end();
    (numbers, errors(sim))
}

#[test]
fn scratch_that_two_engines_use_at_once_is_a_race_and_poisons_what_they_compute() {
    let sim = Sim::session(Config::default());
    let mut poisoned = 0;
    for seed in 0..50 {
        let (numbers, reports) = apart(&sim, seed, false, false);
        assert!(reports.is_empty(), "{reports:?}");
        assert_eq!(numbers, [2.0; 2 * N]);
        let (numbers, reports) = apart(&sim, seed, true, false);
        assert!(
            reports.iter().any(|report| report.kind == ReportKind::Race),
            "seed {seed}"
        );
        assert!(
            numbers
                .iter()
                .all(|number| *number == 2.0 || number.is_nan())
        );
        poisoned += usize::from(numbers.iter().any(|number| number.is_nan()));
    }
    assert!(poisoned > 5, "only {poisoned} of 50 seeds spoil numbers");
}

#[test]
fn an_input_that_changes_during_an_engine_is_a_race_and_poisons_what_it_computes() {
    let sim = Sim::session(Config::default());
    let mut poisoned = 0;
    for seed in 0..50 {
        let (numbers, reports) = apart(&sim, seed, false, true);
        assert!(
            reports.iter().any(|report| report.kind == ReportKind::Race),
            "seed {seed}"
        );
        poisoned += usize::from(numbers.iter().any(|number| number.is_nan()));
    }
    assert!(poisoned > 2, "only {poisoned} of 50 seeds spoil numbers");
}
