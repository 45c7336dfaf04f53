//! Each rule is needed: without it, something goes wrong under some seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg_core::{Device as _, DeviceAddress, DeviceInput};
use thalweg_cuda::{DeviceBuffer, Stream};
use thalweg_runtime::Optimizations;
use thalweg_simgpu::Fault;
use thalweg_simgpu::nvinfer::TensorRt as Played;
use thalweg_tensorrt::{Rule, disable};

use super::*;

/// Runs a scenario with all rules, and with one disabled.
pub(super) fn is_needed(rule: Rule, scenario: impl Fn(&Driver)) {
    is_needed_on(Played::default(), rule, scenario);
}

/// As [`is_needed`], on a particular version of TensorRT.
fn is_needed_on(version: Played, rule: Rule, scenario: impl Fn(&Driver)) {
    is_missed(version, || disable(rule), &format!("{rule:?}"), scenario);
}

/// As [`is_needed`], for a rule of the pool that scratch is from.
pub(super) fn is_needed_of_pool(rule: thalweg_cuda::Rule, scenario: impl Fn(&Driver)) {
    let disable = || thalweg_cuda::disable(rule);
    is_missed(Played::default(), disable, &format!("{rule:?}"), scenario);
}

fn is_missed<M>(
    version: Played,
    disable: impl FnOnce() -> M,
    rule: &str,
    scenario: impl Fn(&Driver),
) {
    let sim = Sim::session(Config::seeded(0));
    let config = |seed| Config::seeded(seed).with_tensorrt(version);
    for seed in 0..30 {
        sim.reset(config(seed));
        scenario(&open());
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
    let mutation = disable();
    let seen = (0..20).any(|seed| {
        sim.reset(config(seed));
        let right = catch_unwind(AssertUnwindSafe(|| scenario(&open()))).is_ok();
        let reports = sim.finish();
        !right || reports.iter().any(|report| !report.kind.is_warning())
    });
    drop(mutation);
    assert!(seen, "nobody misses {rule}");
}

/// Calls with inputs and outputs on the device, for which nothing waits, and then one on the host.
fn calls_without_waiting(model: &Model, rows: &[usize]) -> impl Fn(&Driver) {
    let (model, rows) = (model.clone(), rows.to_vec());
    move |driver| {
        let mut method = model.method(driver).unwrap();
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 64 * 8 * 4).unwrap();
        let mut work = stream.work().unwrap();
        work.fill(&buffer, 0).unwrap();
        work.finish().unwrap().synchronize().unwrap();
        let options = RunOptions::new().device_outputs(true).stream(&stream);
        for &rows in &rows {
            let (id, address) = (device.id(), DeviceAddress(buffer.address()));
            let sizes = [rows, 8];
            // SAFETY: the buffer has room for as many, and lives until the stream is synchronized.
            let x = unsafe { DeviceInput::new(id, address, thalweg_core::DType::F32, &sizes) };
            method.run_with(&[x.unwrap().into()], &options).unwrap();
        }
        let rows = rows.last().copied().unwrap_or(1);
        let x = numbers(1, &[rows, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
        stream.synchronize().unwrap();
    }
}

#[test]
fn a_context_must_not_get_other_shapes_while_it_runs() {
    is_needed(
        Rule::ReshapeAfterUse,
        calls_without_waiting(&dynamic(), &[8, 4, 16]),
    );
}

#[test]
fn scratch_must_not_be_replaced_while_it_is_used() {
    let mut model = dynamic();
    let profile = |least: i64, most: i64| {
        ProfileSpec::new()
            .shape("x", &[least, 8], &[least, 8], &[most, 8])
            .scratch_per_element("x", 64)
    };
    // Two contexts, so that the second does not wait for the first to be reshaped.
    model.engine.profiles = vec![profile(1, 4), profile(5, 64)];
    is_needed(Rule::GrowAfterUse, calls_without_waiting(&model, &[1, 64]));
}

#[test]
fn a_context_must_be_told_where_its_scratch_is() {
    is_needed(Rule::SetScratch, calls_without_waiting(&dynamic(), &[8]));
}

#[test]
fn every_context_must_be_told_when_the_scratch_has_moved() {
    let mut model = dynamic();
    let profile = |least: i64, most: i64| {
        ProfileSpec::new()
            .shape("x", &[least, 8], &[least, 8], &[most, 8])
            .scratch_per_element("x", 64)
    };
    model.engine.profiles = vec![profile(1, 4), profile(5, 64)];
    is_needed(
        Rule::SetScratchAgain,
        calls_without_waiting(&model, &[1, 64, 1, 5]),
    );
}

#[test]
fn scratch_must_be_as_large_as_the_shapes_need() {
    is_needed(
        Rule::ScratchForShapes,
        calls_without_waiting(&dynamic(), &[64]),
    );
}

/// A version of TensorRT that checks aliases.
fn strict() -> Played {
    Played::new(10, 15, 0)
}

/// Adds `x` to a total in place. The program keeps every copy, so that the output has memory of its own.
fn accumulates(driver: &Driver) {
    let mut model = accumulate();
    model.engine = model.engine.version(10, 15, 0);
    let options = LoadOptions::new().optimizations(Optimizations::all().residency(false));
    let program = model.load_with(driver, options).unwrap();
    let mut method = program.method("forward").unwrap();
    let (x, total) = (numbers(0, &[64]), numbers(10, &[64]));
    let expected: Vec<f32> = (0..64).map(|i| (10 + 2 * i) as f32).collect();
    for _ in 0..2 {
        assert_eq!(run(&mut method, &[&x, &total]).unwrap()[0].1, expected);
    }
}

#[test]
fn an_output_that_is_an_inputs_memory_must_be_bound_to_it() {
    is_needed_on(strict(), Rule::BindAlias, accumulates);
}

#[test]
fn an_output_with_a_place_of_its_own_must_start_as_a_copy() {
    is_needed_on(strict(), Rule::CopyAlias, accumulates);
}

fn all_on_the_host(driver: &Driver) {
    let mut model = affine();
    model.ios.iter_mut().for_each(|io| io.on_host = true);
    let mut method = model.method(driver).unwrap();
    for start in 0..3 {
        let x = numbers(start, &[8, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
    }
}

#[test]
fn inputs_on_the_host_must_be_copied_to_the_device() {
    is_needed(Rule::StageInputs, all_on_the_host);
}

#[test]
fn outputs_must_be_copied_to_the_host() {
    is_needed(Rule::StageOutputs, all_on_the_host);
}

#[test]
fn what_nobody_else_knows_of_must_be_over_when_the_call_is() {
    let sim = Sim::session(Config::seeded(0));
    let mut model = affine();
    model.ios.iter_mut().for_each(|io| io.on_host = true);
    // The copy of the result fails, when the engine is already at work.
    let scenario = |seed| {
        sim.reset(Config::seeded(seed));
        let driver = open();
        let mut method = model.method(&driver).unwrap();
        let x = numbers(0, &[8, 8]);
        sim.faults(&[Fault::Call {
            function: "cuMemcpyDtoHAsync".into(),
            nth: 1,
            code: 999,
        }]);
        run(&mut method, &[&x]).unwrap_err();
        sim.faults(&[]);
        drop((method, driver));
        sim.finish()
    };
    for seed in 0..20 {
        let reports = scenario(seed);
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
    let omission = disable(Rule::DrainUnknownWork);
    let seen = (0..20).any(|seed| !scenario(seed).is_empty());
    drop(omission);
    assert!(seen, "nobody misses {:?}", Rule::DrainUnknownWork);
}
