//! What a call does: instructions, inputs, outputs, errors.

mod programs;

use programs::{load, runtime, vector};
use thalweg_core::{ErrorKind, Input, Output, Scalar};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, Value, WriteOptions};
use thalweg_runtime::{LoadOptions, RunOptions, ValueInfo};

/// `forward(x) = x + 1`, on three elements.
fn plus_one() -> (ProgramBuilder, MethodBuilder) {
    let mut program = ProgramBuilder::new();
    let one = program.constant(1f32.to_le_bytes());
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[3]);
    let one = forward.constant(ScalarType::Float, &[1], one);
    let out = forward.tensor(ScalarType::Float, &[3]);
    forward.input(x);
    forward.call("t::add.out", &[x, one, out, out]);
    forward.output(out);
    (program, forward)
}

#[test]
fn a_method_computes_its_outputs_from_its_inputs() {
    let (program, forward) = plus_one();
    let mut method = load(program, forward).unwrap().method("forward").unwrap();
    for start in [1.0, 10.0] {
        let x = vector(&[start, start + 1.0, start + 2.0]);
        let outputs = method.run(&[(&x).into()]).unwrap();
        let out = outputs.tensor(0).unwrap();
        assert_eq!(
            out.data::<f32>().unwrap(),
            [start + 1.0, start + 2.0, start + 3.0]
        );
    }
}

#[test]
fn outputs_can_be_kept_beyond_the_next_call() {
    let (program, forward) = plus_one();
    let mut method = load(program, forward).unwrap().method("forward").unwrap();
    let kept = method
        .run(&[(&vector(&[1.0; 3])).into()])
        .unwrap()
        .to_values()
        .unwrap();
    method.run(&[(&vector(&[5.0; 3])).into()]).unwrap();
    assert_eq!(kept[0].tensor().unwrap().data::<f32>().unwrap(), [2.0; 3]);
}

#[test]
fn instances_of_a_method_do_not_share_memory() {
    let (program, forward) = plus_one();
    let program = load(program, forward).unwrap();
    let (mut a, mut b) = (
        program.method("forward").unwrap(),
        program.method("forward").unwrap(),
    );
    let (x, y) = (vector(&[1.0; 3]), vector(&[2.0; 3]));
    let first = a.run(&[(&x).into()]).unwrap();
    let second = b.run(&[(&y).into()]).unwrap();
    assert_eq!(first.tensor(0).unwrap().data::<f32>().unwrap(), [2.0; 3]);
    assert_eq!(second.tensor(0).unwrap().data::<f32>().unwrap(), [3.0; 3]);
}

#[test]
fn an_input_that_does_not_fit_is_named_with_what_was_expected() {
    let (program, forward) = plus_one();
    let mut method = load(program, forward).unwrap().method("forward").unwrap();
    let wrong_shape = vector(&[1.0; 4]);
    let wrong_type = thalweg_core::Tensor::from_slice(&[1i64; 3], &[3]).unwrap();
    for (inputs, message) in [
        (&[][..], "the method takes 1 inputs, and 0 were given"),
        (
            &[Input::from(&wrong_shape)],
            "input 0: the program takes shape [3], and shape [4] was given",
        ),
        (
            &[Input::from(&wrong_type)],
            "input 0: the program takes f32, and i64 was given",
        ),
        (
            &[Input::Int(3)],
            "input 0: the program takes a tensor, and the integer 3 was given",
        ),
    ] {
        let error = method.run(inputs).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(error.message(), message);
        assert_eq!(error.place().method.as_deref(), Some("forward"));
    }
}

#[test]
fn a_tensor_in_another_dim_order_is_refused() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[1, 2, 2, 2]);
    programs::tensor_mut(&mut forward, x).dim_order = vec![0, 2, 3, 1];
    forward.input(x);
    forward.output(x);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    let data = [0f32; 8];
    let sizes = [1, 2, 2, 2];
    let row_major = thalweg_core::TensorView::from_slice(&data, &sizes).unwrap();
    let error = method.run(&[row_major.into()]).unwrap_err();
    assert_eq!(
        error.message(),
        "input 0: the program takes its dimensions in order [0, 2, 3, 1], and [0, 1, 2, 3] was given"
    );
    let bytes = bytemuck::cast_slice(&data);
    let channels_last = thalweg_core::TensorView::with_dim_order(
        thalweg_core::DType::F32,
        &sizes,
        &[0, 2, 3, 1],
        bytes,
    );
    method.run(&[channels_last.unwrap().into()]).unwrap();
}

#[test]
fn numbers_that_the_program_was_exported_for_are_the_only_ones_it_takes() {
    let mut forward = MethodBuilder::new("forward");
    let (int, double, flag, none) = (
        forward.int(3),
        forward.double(0.5),
        forward.bool(true),
        forward.none(),
    );
    for value in [int, double, flag, none] {
        forward.input(value);
        forward.output(value);
    }
    let program = load(ProgramBuilder::new(), forward).unwrap();
    assert_eq!(
        program.method_info("forward").unwrap().inputs[..2],
        [
            ValueInfo::Scalar(Scalar::Int(3)),
            ValueInfo::Scalar(Scalar::Double(0.5))
        ]
    );
    let mut method = program.method("forward").unwrap();
    let right = [
        Input::Int(3),
        Input::Double(0.5),
        Input::Bool(true),
        Input::None,
    ];
    method.run(&right).unwrap();
    let wrong = [
        Input::Int(4),
        Input::Double(0.5),
        Input::Bool(true),
        Input::None,
    ];
    assert_eq!(
        method.run(&wrong).unwrap_err().message(),
        "input 0: the program was exported for an integer 3, and the integer 4 was given"
    );
}

#[test]
fn an_input_that_the_program_holds_as_none_takes_any_number_or_string() {
    let mut forward = MethodBuilder::new("forward");
    let (number, text, next) = (forward.none(), forward.none(), forward.int(0));
    forward.input(number);
    forward.input(text);
    forward.call("t::next", &[number, next]);
    forward.output(next);
    forward.output(text);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    for (given, text) in [(4, "four"), (7, "seven")] {
        let outputs = method
            .run(&[Input::Int(given), Input::String(text)])
            .unwrap();
        assert!(matches!(outputs.get(0).unwrap(), Output::Int(next) if next == given + 1));
        assert!(matches!(outputs.get(1).unwrap(), Output::String(out) if out == text));
    }
}

#[test]
fn a_list_with_a_number_given_at_run_time_has_that_number() {
    let mut forward = MethodBuilder::new("forward");
    let size = forward.none();
    let two = forward.int(2);
    let sizes = forward.value(Value::IntList(vec![two, size]));
    let value = forward.double(7.0);
    let out = forward.dynamic_tensor(ScalarType::Float, &[2, 8]);
    forward.input(size);
    forward.call("t::fill.out", &[sizes, value, out, out]);
    forward.output(out);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    for size in [3, 8, 0, 5] {
        let outputs = method.run(&[Input::Int(size)]).unwrap();
        assert_eq!(outputs.tensor(0).unwrap().sizes(), [2, size as usize]);
    }
    let error = method.run(&[Input::Int(9)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfBounds);
    assert_eq!(
        error.message(),
        "argument `out`: the result has shape [2, 9] of f32, but the program planned for at most \
         64 bytes"
    );
}

/// `forward(x, n)`: doubles `x` `n` times, with a counter that the program resets at its end.
fn doubled() -> (ProgramBuilder, MethodBuilder) {
    let mut program = ProgramBuilder::new();
    let zero = program.constant(0f32.to_le_bytes());
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[2]);
    let times = forward.none();
    let (counter, zero_int) = (forward.int(0), forward.int(0));
    let more = forward.bool(false);
    let two = forward.double(2.0);
    let zero = forward.constant(ScalarType::Float, &[1], zero);
    let out = forward.tensor(ScalarType::Float, &[2]);
    forward.input(x);
    forward.input(times);
    forward.call("t::add.out", &[x, zero, out, out]);
    let start = forward.next_instruction();
    forward.call("t::less", &[counter, times, more]);
    let exit = forward.jump_if_false(more, 0);
    forward.call("t::scale_", &[out, two, out]);
    forward.call("t::next", &[counter, counter]);
    let never = forward.bool(false);
    forward.jump_if_false(never, start);
    forward.land(exit);
    forward.move_value(zero_int, counter);
    forward.output(out);
    (program, forward)
}

#[test]
fn jumps_make_loops() {
    let (program, forward) = doubled();
    let mut method = load(program, forward).unwrap().method("forward").unwrap();
    let x = vector(&[1.0, 3.0]);
    for (times, expected) in [(0, [1.0, 3.0]), (1, [2.0, 6.0]), (10, [1024.0, 3072.0])] {
        let outputs = method.run(&[(&x).into(), Input::Int(times)]).unwrap();
        assert_eq!(outputs.tensor(0).unwrap().data::<f32>().unwrap(), expected);
    }
}

#[test]
fn a_call_that_loops_for_too_long_ends_and_the_next_one_is_right() {
    let (program, forward) = doubled();
    let mut method = load(program, forward).unwrap().method("forward").unwrap();
    let x = vector(&[1.0, 3.0]);
    let inputs = [Input::from(&x), Input::Int(1 << 40)];
    let options = RunOptions::new().instruction_limit(1000);
    let error = method.run_with(&inputs, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    // The counter of the loop is where the program expects it again.
    let outputs = method.run(&[(&x).into(), Input::Int(2)]).unwrap();
    assert_eq!(
        outputs.tensor(0).unwrap().data::<f32>().unwrap(),
        [4.0, 12.0]
    );
}

#[test]
fn a_value_can_be_moved_and_is_then_the_other_one() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[2]);
    let which = forward.none();
    let by = forward.double(10.0);
    let (a, out) = (
        forward.tensor(ScalarType::Float, &[2]),
        forward.tensor(ScalarType::Float, &[2]),
    );
    forward.input(x);
    forward.input(which);
    forward.output(out);
    forward.call("t::copy_", &[a, x, a]);
    let skip = forward.jump_if_false(which, 0);
    forward.call("t::scale_", &[a, by, a]);
    forward.land(skip);
    forward.move_value(a, out);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    let x = vector(&[1.0, 2.0]);
    for (which, expected) in [(true, [10.0, 20.0]), (false, [1.0, 2.0])] {
        let outputs = method.run(&[(&x).into(), Input::Bool(which)]).unwrap();
        assert_eq!(outputs.tensor(0).unwrap().data::<f32>().unwrap(), expected);
    }
}

#[test]
fn an_error_says_which_instruction_of_which_method_failed() {
    let (program, mut forward) = plus_one();
    forward.call("t::fail", &[2, 2]);
    let mut method = load(program, forward).unwrap().method("forward").unwrap();
    let error = method.run(&[(&vector(&[1.0; 3])).into()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "method `forward`, instruction 1, t::fail: it fails, always"
    );
}

#[test]
fn everything_that_is_missing_is_reported_at_once() {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(b"?".to_vec());
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[3]);
    let cuda = forward.arena(thalweg_format::Device {
        kind: thalweg_format::DeviceKind::Cuda,
        index: 1,
    });
    let y = forward.tensor_in(cuda, ScalarType::Float, &[3]);
    forward.input(x);
    forward.call("aten::sort.values", &[x]);
    forward.call("t::scale_", &[x, x, x]);
    forward.call("aten::fft.out", &[x]);
    let delegate = forward.delegate("XnnpackBackend", payload, &[]);
    forward.call_delegate(delegate, &[x, y]);
    forward.output(x);
    let program = load(program, forward).unwrap();
    let missing = program.missing("forward").unwrap();
    assert_eq!(missing.operators, ["aten::fft.out", "aten::sort.values"]);
    assert_eq!(missing.backends, ["XnnpackBackend"]);
    assert_eq!(missing.devices, ["cuda:1"]);
    let error = program.method("forward").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing);
    assert_eq!(
        error.message(),
        "it needs what this runtime does not have: the operators aten::fft.out, \
         aten::sort.values; the backend XnnpackBackend; the device cuda:1"
    );
}

#[test]
fn an_instruction_with_the_wrong_arguments_is_refused_when_the_method_is_made() {
    for arguments in [&[0u32, 0][..], &[0, 1, 0, 0]] {
        let mut forward = MethodBuilder::new("forward");
        let x = forward.tensor(ScalarType::Float, &[3]);
        forward.int(3);
        forward.input(x);
        forward.call("t::add.out", arguments);
        forward.output(x);
        let program = load(ProgramBuilder::new(), forward).unwrap();
        let error = program.method("forward").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidProgram, "{error}");
        assert_eq!(error.place().operator.as_deref(), Some("t::add.out"));
    }
}

#[test]
fn a_method_without_tensors_returns_its_constants() {
    let mut version = MethodBuilder::new("version");
    let (number, text) = (version.int(7), version.string("seven"));
    version.output(number);
    version.output(text);
    version.edit().chains.clear();
    let mut method = load(ProgramBuilder::new(), version)
        .unwrap()
        .method("version")
        .unwrap();
    let outputs = method.run(&[]).unwrap();
    assert!(matches!(outputs.get(0).unwrap(), Output::Int(7)));
    assert!(matches!(outputs.get(1).unwrap(), Output::String("seven")));
    assert_eq!(outputs.get(2).unwrap_err().kind(), ErrorKind::InvalidOption);
}

#[test]
fn a_method_that_is_not_there_is_an_error_that_names_those_that_are() {
    let (program, forward) = plus_one();
    let error = load(program, forward)
        .unwrap()
        .method("backward")
        .unwrap_err();
    assert_eq!(
        error.message(),
        "there is no method `backward`; the program has `forward`"
    );
}

#[test]
fn a_kernel_of_the_caller_takes_the_place_of_another() {
    let (mut program, forward) = plus_one();
    program.method(forward);
    let bytes = program
        .build()
        .unwrap()
        .to_bytes(&WriteOptions::default())
        .unwrap();
    let runtime = runtime()
        .kernel(
            "t::add.out(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)",
            |call| {
                let a = call.tensor(0)?;
                call.output(2, a.sizes())?.data_mut::<f32>()?.fill(42.0);
                Ok(())
            },
        )
        .unwrap()
        .build();
    let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
    let mut method = program.method("forward").unwrap();
    let x = vector(&[1.0; 3]);
    let outputs = method.run(&[(&x).into()]).unwrap();
    assert_eq!(outputs.tensor(0).unwrap().data::<f32>().unwrap(), [42.0; 3]);
}

#[test]
fn programs_are_shared_between_threads_and_methods_are_sent_to_them() {
    let (program, forward) = plus_one();
    let program = load(program, forward).unwrap();
    std::thread::scope(|scope| {
        for start in [1.0, 2.0, 3.0, 4.0] {
            let mut method = program.method("forward").unwrap();
            scope.spawn(move || {
                let x = vector(&[start; 3]);
                for _ in 0..100 {
                    let outputs = method.run(&[(&x).into()]).unwrap();
                    let out = outputs.tensor(0).unwrap();
                    assert_eq!(out.data::<f32>().unwrap(), [start + 1.0; 3]);
                }
            });
        }
        scope.spawn(|| program.method("forward").unwrap());
    });
}
