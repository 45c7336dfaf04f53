//! Every wait and every record of the core is needed: the stand-in, which the core tells of the
//! host's accesses, misses it if it is left out.

use thalweg_core::{DType, TensorView};
use thalweg_cuda::{Device, Driver, PinnedBuffer, Stream};
use thalweg_format::ScalarType;
use thalweg_runtime::{Method, Rule, RunOptions, disable};
use thalweg_simgpu::{Config, Fault, Report, ReportKind, Sim, Site};

use crate::elementwise::session;
use crate::hopping::{load, run};
use crate::hops::Maker;
use crate::{open, real};

/// Runs a scenario under all rules, where nothing may be reported, and without one, where the
/// stand-in has to see a fault of some kind soon.
fn is_needed(rule: Rule, kind: ReportKind, scenario: impl Fn(&Sim, &Device)) {
    if real() {
        println!("skipped: it needs the stand-in, which sees what is missing");
        return;
    }
    let sim = session();
    let reports = |seed: u64| {
        sim.reset(Config::seeded(seed));
        let driver: Driver = open();
        scenario(&sim, &driver.device(0).unwrap());
        sim.finish()
    };
    for seed in 0..1000 {
        let found = reports(seed);
        assert!(found.is_empty(), "seed {seed}: {found:#?}");
    }
    let omission = disable(rule);
    let found: Vec<Report> = (0..20).flat_map(reports).collect();
    drop(omission);
    let seen = found.iter().find(|report| report.kind == kind);
    let seen = seen.unwrap_or_else(|| panic!("nobody misses {rule:?}: {found:#?}"));
    assert_eq!(seen.sites.len(), 2, "both sides are named: {seen}");
    if kind == ReportKind::HostRace {
        let by_host = |site: &&Site| site.name.ends_with("by the host");
        let copies = |site: &&Site| site.name.starts_with("cuMemcpy");
        assert_eq!(seen.sites.iter().filter(by_host).count(), 1, "{seen}");
        assert_eq!(seen.sites.iter().filter(copies).count(), 1, "{seen}");
    }
}

fn method(device: &Device, m: Maker) -> Method {
    let program = load(std::slice::from_ref(device), &m.build(), false).unwrap();
    program.method("forward").unwrap()
}

/// A sum on the device, of which the host computes a product.
fn computes_on_the_host(_: &Sim, device: &Device) {
    let mut m = Maker::new();
    let x = m.input(2);
    let y = m.hop(x, 2);
    m.double(y);
    m.forward.output(y);
    run(&mut method(device, m), &[1.0; 4], &RunOptions::new()).unwrap();
}

/// A sum on the device.
fn returns_a_result(_: &Sim, device: &Device) {
    run(&mut sum(device), &[1.0; 4], &RunOptions::new()).unwrap();
}

/// Two sums that stay on the device, so that nothing waits.
fn calls_follow_each_other(_: &Sim, device: &Device) {
    let mut method = sum(device);
    let options = RunOptions::new().device_outputs(true);
    for x in [[1f32; 4], [2.0; 4]] {
        let x = thalweg_core::Tensor::from_slice(&x, &[2, 2]).unwrap();
        method.run_with(&[(&x).into()], &options).unwrap();
    }
}

fn sum(device: &Device) -> Method {
    let mut m = Maker::new();
    let x = m.input(2);
    let y = m.hop(x, 2);
    m.forward.output(y);
    method(device, m)
}

/// A caller that writes to an input in its own pinned memory as soon as it may.
fn writes_to_what_it_lent(_: &Sim, device: &Device) {
    let mut m = Maker::new();
    let x = m.forward.unplanned_tensor(ScalarType::Float, &[2, 2]);
    m.forward.input(x);
    let y = m.hop(x, 2);
    m.forward.output(y);
    let mut method = method(device, m);
    let mut pinned = PinnedBuffer::new(device, 16).unwrap();
    {
        let bytes = pinned.read().unwrap();
        let x = TensorView::new(DType::F32, &[2, 2], &bytes).unwrap();
        let options = RunOptions::new().device_outputs(true);
        method.run_with(&[x.into()], &options).unwrap();
    }
    pinned.write().unwrap().fill(0);
}

/// A count that goes on on another stream.
fn counts_on_two_streams(_: &Sim, device: &Device) {
    let mut m = Maker::new();
    let count = m.device(2);
    m.increment_in_place(count);
    let mut method = method(device, m);
    let streams = [(); 2].map(|()| Stream::new(device).unwrap());
    for stream in &streams {
        method
            .run_with(&[], &RunOptions::new().stream(stream))
            .unwrap();
    }
}

/// An instance that goes while its last call is in flight.
fn goes_in_flight(sim: &Sim, device: &Device) {
    let mut method = only_sends(device);
    let x = thalweg_core::Tensor::from_slice(&[1f32; 4], &[2, 2]).unwrap();
    method.run(&[(&x).into()]).unwrap();
    drop(method);
    let _ = sim;
}

/// An instance that goes after a call that could not record what it left in flight.
fn goes_without_a_record(sim: &Sim, device: &Device) {
    let mut method = only_sends(device);
    sim.faults(&[Fault::Call {
        function: "cuEventRecord".into(),
        nth: 1,
        code: 999,
    }]);
    let x = thalweg_core::Tensor::from_slice(&[1f32; 4], &[2, 2]).unwrap();
    method.run(&[(&x).into()]).unwrap_err();
    sim.faults(&[]);
}

/// A method that copies its input to the device, and no more.
fn only_sends(device: &Device) -> Method {
    let mut m = Maker::new();
    let x = m.input(2);
    m.upload(x, 2);
    method(device, m)
}

#[test]
fn an_operator_of_the_host_waits_for_the_copies_of_its_arguments() {
    is_needed(
        Rule::HostAfterCopies,
        ReportKind::HostRace,
        computes_on_the_host,
    );
}

#[test]
fn a_copy_to_the_host_is_known_to_be_under_way() {
    is_needed(
        Rule::DownloadsWrite,
        ReportKind::HostRace,
        computes_on_the_host,
    );
}

#[test]
fn an_output_is_lent_after_the_copy_that_writes_it() {
    is_needed(
        Rule::OutputsAfterCopies,
        ReportKind::HostRace,
        returns_a_result,
    );
}

#[test]
fn an_input_is_written_after_the_copy_that_reads_the_one_before() {
    is_needed(
        Rule::InputsAfterCopies,
        ReportKind::HostRace,
        calls_follow_each_other,
    );
}

#[test]
fn a_copy_to_the_device_is_known_to_be_under_way() {
    is_needed(
        Rule::UploadsRead,
        ReportKind::HostRace,
        calls_follow_each_other,
    );
}

#[test]
fn a_call_goes_on_after_the_call_before_on_whatever_stream() {
    is_needed(Rule::CallAfterCall, ReportKind::Race, counts_on_two_streams);
}

#[test]
fn what_a_call_leaves_in_flight_is_recorded() {
    is_needed(Rule::RecordEnd, ReportKind::FreeWhileInUse, goes_in_flight);
}

#[test]
fn an_instance_goes_when_nothing_uses_its_memory_any_more() {
    is_needed(
        Rule::DropAfterUse,
        ReportKind::FreeWhileInUse,
        goes_in_flight,
    );
}

#[test]
fn a_call_that_cannot_record_what_it_leaves_waits_for_it() {
    is_needed(
        Rule::DrainWithoutRecord,
        ReportKind::FreeWhileInUse,
        goes_without_a_record,
    );
}

#[test]
fn a_call_is_over_after_the_copies_of_what_the_caller_has_pinned() {
    is_needed(
        Rule::BorrowedUntilCopied,
        ReportKind::HostRace,
        writes_to_what_it_lent,
    );
}
