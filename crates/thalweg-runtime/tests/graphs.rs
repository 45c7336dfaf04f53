//! What calls ask a device for is put off, and launched as graphs where it is the same as before.

mod hops;
mod late;
mod programs;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hops::{DOWNLOAD, Maker, UPLOAD, moving};
use late::{Chosen, Increment, LateDevice, Shared};
use programs::runtime;
use thalweg_core::{Bool, ErrorKind, KernelRegistry, Result, Tensor, bail};
use thalweg_format::{ScalarType, WriteOptions};
use thalweg_runtime::{GraphUse, LoadOptions, Method, Optimizations, RunOptions};

fn load(m: Maker) -> (Method, Arc<Shared>) {
    load_with(m, &LoadOptions::new())
}

fn load_with(m: Maker, options: &LoadOptions) -> (Method, Arc<Shared>) {
    let bytes = m.build().to_bytes(&WriteOptions::default()).unwrap();
    let (device, shared) = LateDevice::new();
    let mut failing = KernelRegistry::new();
    failing
        .register("t::fail_(Tensor(a!) self) -> Tensor(a!)", |_| {
            bail!(Internal, "as it was asked to")
        })
        .unwrap();
    let runtime = runtime()
        .kernels(&moving().unwrap())
        .kernels(&failing)
        .backend("Increment", Increment::new(&shared))
        .backend("Update", Increment::in_place(&shared))
        .device(device)
        .build();
    let program = runtime.load_bytes(bytes, options).unwrap();
    (program.method("forward").unwrap(), shared)
}

fn run(method: &mut Method, x: f32, options: &RunOptions<'_>) -> Result<Vec<f32>> {
    let x = Tensor::from_slice(&[x; 4], &[2, 2])?;
    let outputs = method.run_with(&[(&x).into()], options)?;
    Ok(outputs.tensor(0)?.data::<f32>()?.to_vec())
}

fn launches(shared: &Shared) -> usize {
    shared.launches.load(Ordering::Relaxed)
}

/// `x + 1`, on the device.
fn hop() -> Maker {
    let mut m = Maker::new();
    let x = m.input(2);
    let y = m.hop(x, 2);
    m.forward.output(y);
    m
}

#[test]
fn calls_that_are_alike_are_one_graph_from_the_third_on() {
    let (mut method, shared) = load(hop());
    for call in 0..6 {
        let answer = run(&mut method, call as f32, &RunOptions::new()).unwrap();
        assert_eq!(answer, [call as f32 + 1.0; 4]);
        assert_eq!(launches(&shared), (call + 1usize).saturating_sub(2));
    }
    // On another stream it is the same graph.
    let stream = Chosen(7);
    let options = RunOptions::new().stream(&stream);
    assert_eq!(run(&mut method, 10.0, &options).unwrap(), [11.0; 4]);
    assert_eq!(launches(&shared), 5);
    let options = RunOptions::new().graph(GraphUse::Off);
    assert_eq!(run(&mut method, 11.0, &options).unwrap(), [12.0; 4]);
    assert_eq!(launches(&shared), 5);
}

#[test]
fn what_the_host_looks_at_ends_a_graph() {
    let mut m = Maker::new();
    let x = m.input(2);
    let y = m.hop(x, 2);
    m.double(y);
    let z = m.hop(y, 2);
    m.forward.output(z);
    let (mut method, shared) = load(m);
    for call in 0..4 {
        let answer = run(&mut method, call as f32, &RunOptions::new()).unwrap();
        assert_eq!(answer, [(call as f32 + 1.0) * 2.0 + 1.0; 4]);
    }
    // Two in each of the last two calls.
    assert_eq!(launches(&shared), 4);
}

#[test]
fn where_nothing_can_be_recorded_calls_are_as_without_or_say_so() {
    let (mut method, shared) = load(hop());
    shared.fail_record.store(true, Ordering::Relaxed);
    for call in 0..5 {
        let answer = run(&mut method, call as f32, &RunOptions::new()).unwrap();
        assert_eq!(answer, [call as f32 + 1.0; 4]);
    }
    assert_eq!(launches(&shared), 0);

    let (mut method, shared) = load(hop());
    shared.fail_record.store(true, Ordering::Relaxed);
    let options = RunOptions::new().graph(GraphUse::On);
    for _ in 0..2 {
        assert_eq!(run(&mut method, 1.0, &options).unwrap(), [2.0; 4]);
    }
    let error = run(&mut method, 1.0, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    let text = error.to_string();
    assert!(
        text.contains("no graph of the call's work: there can be no graph"),
        "{text}"
    );
    shared.fail_record.store(false, Ordering::Relaxed);
    assert_eq!(run(&mut method, 2.0, &options).unwrap(), [3.0; 4]);
    assert_eq!(launches(&shared), 1);
}

#[test]
fn what_came_before_an_error_is_done_although_it_was_put_off() {
    for graph in [GraphUse::Auto, GraphUse::Off] {
        let mut m = Maker::new();
        let x = m.input(2);
        let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
        m.name(total, "total");
        let sum = m.update(total, 2);
        m.copy_to(total, sum);
        m.forward.call("t::fail_", &[x, x]);
        m.forward.output(x);
        let (mut method, _) = load(m);
        let options = RunOptions::new().graph(graph);
        for call in 1..5 {
            let error = run(&mut method, 0.0, &options).unwrap_err();
            assert!(error.to_string().contains("as it was asked to"), "{error}");
            let state = method.state().read("total").unwrap();
            assert_eq!(state[..4], (call as f32).to_ne_bytes(), "{graph:?}");
        }
    }
}

#[test]
fn a_cache_on_the_device_goes_on_from_graph_to_graph() {
    let mut m = Maker::new();
    let x = m.input(2);
    let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
    m.name(total, "total");
    let sum = m.update(total, 2);
    m.copy_to(total, sum);
    let y = m.hop(x, 2);
    m.forward.output(y);
    let (mut method, shared) = load(m);
    for call in 1..8 {
        let answer = run(&mut method, call as f32, &RunOptions::new()).unwrap();
        assert_eq!(answer, [call as f32 + 1.0; 4]);
        // When the host has looked, it has the value, too, and the device goes on.
        if call % 3 == 0 {
            let state = method.state().read("total").unwrap();
            assert_eq!(state[..4], (call as f32).to_ne_bytes());
        }
    }
    assert!(launches(&shared) > 2);
}

#[test]
fn an_input_that_goes_to_the_device_twice_is_written_after_it_was_read_there() {
    let mut m = Maker::new();
    let x = m.input(2);
    let (first, second) = (m.update(x, 2), m.hop(x, 2));
    let third = m.update(x, 2);
    for y in [first, second, third] {
        m.forward.output(y);
    }
    let (mut method, _) = load(m);
    for call in 0..5 {
        let x = Tensor::from_slice(&[call as f32; 4], &[2, 2]).unwrap();
        let outputs = method.run(&[(&x).into()]).unwrap();
        for index in 0..3 {
            let y = outputs.tensor(index).unwrap();
            assert_eq!(y.data::<f32>().unwrap(), [call as f32 + 1.0; 4]);
        }
    }
}

#[test]
fn a_jump_waits_for_its_condition() {
    let mut m = Maker::new();
    let x = m.input(2);
    let holds = m.forward.tensor(ScalarType::Bool, &[1]);
    m.forward.input(holds);
    let arena = m.forward.arena(hops::cuda(0));
    let there = m.forward.tensor_in(arena, ScalarType::Bool, &[1]);
    m.forward.call(UPLOAD, &[holds, there, there]);
    let back = m.forward.tensor(ScalarType::Bool, &[1]);
    m.forward.call(DOWNLOAD, &[there, back, back]);
    let y = m.hop(x, 2);
    let skip = m.forward.jump_if_false(back, 0);
    m.double(y);
    m.forward.land(skip);
    m.forward.output(y);
    let (mut method, _) = load_with(
        m,
        &LoadOptions::new().optimizations(Optimizations::all().residency(false)),
    );
    for call in 0..6 {
        let holds = call % 2 == 0;
        let x = Tensor::from_slice(&[call as f32; 4], &[2, 2]).unwrap();
        let condition = Tensor::from_slice(&[Bool::from(holds)], &[1]).unwrap();
        let outputs = method.run(&[(&x).into(), (&condition).into()]).unwrap();
        let expected = (call as f32 + 1.0) * if holds { 2.0 } else { 1.0 };
        assert_eq!(
            outputs.tensor(0).unwrap().data::<f32>().unwrap(),
            [expected; 4]
        );
    }
}
