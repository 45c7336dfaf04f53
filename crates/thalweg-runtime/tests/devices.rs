//! Programs with memory on a device: copies in the order of one stream, and a host that waits
//! exactly where it has to.

mod late;
mod programs;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use late::{Chosen, Increment, LATE, LateDevice, Shared};
use programs::{runtime, vector};
use thalweg_core::ErrorKind;
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Method, RunOptions};

const UPLOAD: &str = "et_copy::_h2d_copy.out";
const DOWNLOAD: &str = "et_copy::_d2h_copy.out";

/// A method of delegates that each add 1 on the device, with copies around each, and `t::scale_` by
/// 2 on the host after those that `host` says.
fn chain(host: &[bool]) -> (ProgramBuilder, MethodBuilder) {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(vec![0]);
    let mut forward = MethodBuilder::new("forward");
    let arena = forward.arena(LATE);
    let delegate = forward.delegate("Increment", payload, &[]);
    let two = forward.double(2.0);
    let mut x = forward.tensor(ScalarType::Float, &[4]);
    forward.input(x);
    for &scale in host {
        let up = forward.tensor_in(arena, ScalarType::Float, &[4]);
        let out = forward.tensor_in(arena, ScalarType::Float, &[4]);
        let down = forward.tensor(ScalarType::Float, &[4]);
        forward.call(UPLOAD, &[x, up, up]);
        forward.call_delegate(delegate, &[up, out]);
        forward.call(DOWNLOAD, &[out, down, down]);
        if scale {
            forward.call("t::scale_", &[down, two, down]);
        }
        x = down;
    }
    forward.output(x);
    (program, forward)
}

fn method(program: ProgramBuilder, forward: MethodBuilder) -> (Method, Arc<Shared>) {
    let (device, shared) = LateDevice::new();
    let mut program = program;
    program.method(forward);
    let bytes = program
        .build()
        .unwrap()
        .to_bytes(&WriteOptions::default())
        .unwrap();
    let copy = "et_copy::_h2d_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
    let back = "et_copy::_d2h_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
    let never = |_: &thalweg_core::KernelCall<'_>| unreachable!("copies between devices");
    let runtime = runtime()
        .kernel(copy, never)
        .unwrap()
        .kernel(back, never)
        .unwrap()
        .backend("Increment", Increment::new(&shared))
        .device(device)
        .build();
    let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
    (program.method("forward").unwrap(), shared)
}

fn run(method: &mut Method, x: f32, options: &RunOptions<'_>) -> Vec<f32> {
    let x = vector(&[x; 4]);
    let outputs = method.run_with(&[(&x).into()], options).unwrap();
    outputs.tensor(0).unwrap().data::<f32>().unwrap().to_vec()
}

#[test]
fn what_a_device_computes_is_there_when_the_host_reads_it() {
    let (program, forward) = chain(&[true, false, true]);
    let (mut method, _) = method(program, forward);
    for x in [0.0, 1.0, 5.0] {
        let expected = ((x + 1.0) * 2.0 + 1.0 + 1.0) * 2.0;
        assert_eq!(run(&mut method, x, &RunOptions::new()), [expected; 4]);
    }
}

#[test]
fn the_host_waits_once_for_each_crossing_that_is_really_read() {
    for (host, waits) in [
        (&[false, false, false][..], 1),
        (&[true, false, false], 2),
        (&[true, true, true], 3),
    ] {
        let (program, forward) = chain(host);
        let (mut method, shared) = method(program, forward);
        run(&mut method, 0.0, &RunOptions::new());
        shared.waits.store(0, Ordering::Relaxed);
        run(&mut method, 0.0, &RunOptions::new());
        assert_eq!(shared.waits.load(Ordering::Relaxed), waits, "{host:?}");
    }
}

#[test]
fn calls_on_streams_of_the_caller_go_on_after_each_other() {
    let (program, forward) = chain(&[false, true]);
    let (mut method, _) = method(program, forward);
    let streams = [Chosen(7), Chosen(8)];
    for round in 0..6 {
        let options = RunOptions::new().stream(&streams[round % 2]);
        assert_eq!(
            run(&mut method, round as f32, &options),
            [(round as f32 + 2.0) * 2.0; 4]
        );
    }
}

#[test]
fn a_call_on_another_stream_goes_on_with_what_the_call_before_left_on_the_device() {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(vec![0]);
    let mut forward = MethodBuilder::new("forward");
    let arena = forward.arena(LATE);
    let delegate = forward.delegate("Increment", payload, &[]);
    let count = forward.tensor_in(arena, ScalarType::Float, &[4]);
    let read = forward.none();
    let out = forward.tensor(ScalarType::Float, &[4]);
    let number = forward.int(0);
    forward.input(read);
    forward.call_delegate(delegate, &[count, count]);
    let skip = forward.jump_if_false(read, 0);
    forward.call(DOWNLOAD, &[count, out, out]);
    forward.land(skip);
    forward.output(number);
    forward.output(out);
    let (mut method, shared) = method(program, forward);
    let streams = [Chosen(7), Chosen(8), Chosen(9)];
    for (stream, read, expected) in [(0, false, 0.0), (1, false, 0.0), (2, true, 3.0)] {
        let options = RunOptions::new().stream(&streams[stream]);
        let outputs = method.run_with(&[read.into()], &options).unwrap();
        let out = outputs.tensor(1).unwrap();
        assert_eq!(out.data::<f32>().unwrap(), [expected; 4]);
    }
    assert_eq!(
        shared.waits.load(Ordering::Relaxed),
        1,
        "streams wait, not the host"
    );
}

/// A method that leaves its result on the device's side of things: nothing that it returns has to
/// be waited for.
fn silent() -> (ProgramBuilder, MethodBuilder) {
    let (program, mut forward) = chain(&[false]);
    let number = forward.int(7);
    let edit = forward.edit();
    edit.outputs = vec![number];
    (program, forward)
}

#[test]
fn a_call_that_returns_nothing_from_the_device_does_not_wait() {
    let (program, forward) = silent();
    let (mut method, shared) = method(program, forward);
    let x = vector(&[1.0; 4]);
    method.run(&[(&x).into()]).unwrap();
    assert_eq!(shared.waits.load(Ordering::Relaxed), 0);
    // The next call overwrites the input that the first one's copy has yet to read.
    method.run(&[(&x).into()]).unwrap();
    assert_eq!(shared.waits.load(Ordering::Relaxed), 1);
    drop(method);
    assert_eq!(
        shared.waits.load(Ordering::Relaxed),
        2,
        "memory goes when it is not used"
    );
}

#[test]
fn an_input_is_not_overwritten_while_an_earlier_call_still_reads_it() {
    // The result of the first call is read by a second method that shares nothing but the stream.
    let (program, mut forward) = chain(&[false]);
    let total = forward.state(ScalarType::Float, &[4], 0);
    let sum = forward.tensor(ScalarType::Float, &[4]);
    let down = forward.edit().outputs[0];
    forward.call("t::add.out", &[total, down, sum, sum]);
    forward.call("t::copy_", &[total, sum, total]);
    forward.edit().outputs = vec![total];
    let (mut method, _) = method(program, forward);
    let mut expected = 0.0;
    for x in [1.0, 10.0, 100.0] {
        expected += x + 1.0;
        assert_eq!(run(&mut method, x, &RunOptions::new()), [expected; 4]);
    }
}

#[test]
fn a_mark_that_fails_is_the_calls_error_and_the_next_call_is_right() {
    let (program, forward) = silent();
    let (mut method, shared) = method(program, forward);
    let x = vector(&[1.0; 4]);
    shared.fail_mark.store(1, Ordering::Relaxed);
    let error = method.run(&[(&x).into()]).unwrap_err();
    assert_eq!(error.message(), "the mark fails");
    assert_eq!(shared.waits.load(Ordering::Relaxed), 1, "it waits instead");
    method.run(&[(&x).into()]).unwrap();
}

#[test]
fn a_tensor_on_a_device_is_not_used_by_an_operator_of_the_host() {
    let (program, mut forward) = chain(&[false]);
    let on_device = 3;
    let two = forward.double(2.0);
    forward.call("t::scale_", &[on_device, two, on_device]);
    let (mut method, _) = method(program, forward);
    let error = method.run(&[(&vector(&[1.0; 4])).into()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidProgram);
    assert!(
        error.message().contains("on a device is used on the host"),
        "{error}"
    );
    // What had been asked for before the error is not in the way of anything.
    assert!(method.run(&[(&vector(&[1.0; 4])).into()]).is_err());
}

#[test]
fn a_program_for_a_device_that_is_not_there_names_it() {
    let (mut program, forward) = chain(&[false]);
    program.method(forward);
    let bytes = program
        .build()
        .unwrap()
        .to_bytes(&WriteOptions::default())
        .unwrap();
    let program = runtime()
        .build()
        .load_bytes(bytes, &LoadOptions::new())
        .unwrap();
    assert_eq!(program.missing("forward").unwrap().devices, ["cuda:0"]);
}

#[test]
fn a_panic_leaves_nothing_in_flight_that_the_next_call_does_not_know_of() {
    let (program, mut forward) = chain(&[false]);
    let panic = forward.none();
    forward.input(panic);
    forward.call("t::panic_if", &[panic]);
    let (mut method, _) = method(program, forward);
    let x = vector(&[1.0; 4]);
    let call = std::panic::AssertUnwindSafe(|| {
        let _ = method.run(&[(&x).into(), true.into()]);
    });
    assert!(std::panic::catch_unwind(call).is_err());
    // The copy of the first call's input was never waited for.
    let x = vector(&[10.0; 4]);
    let outputs = method.run(&[(&x).into(), false.into()]).unwrap();
    assert_eq!(outputs.tensor(0).unwrap().data::<f32>().unwrap(), [11.0; 4]);
}
