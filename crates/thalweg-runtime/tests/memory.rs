//! Where values live: planned memory, memory of the caller, state, and what shares what.

mod programs;

use std::borrow::Cow;

use programs::{load, load_methods, tensor_mut, vector};
use thalweg_core::{ErrorKind, Input, Tensor};
use thalweg_format::{
    Allocation, ExtraTensorInfo, MethodBuilder, ProgramBuilder, ScalarType, ShapeDynamism, Value,
};
use thalweg_runtime::{MethodOptions, State};

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// A method that adds its input to a buffer and returns the buffer.
fn accumulate(name: &str, buffer: &str, initial: Option<u32>) -> MethodBuilder {
    let mut method = MethodBuilder::new(name);
    let x = method.tensor(ScalarType::Float, &[2]);
    let total = method.state(ScalarType::Float, &[2], initial.unwrap_or(0));
    if !buffer.is_empty() {
        tensor_mut(&mut method, total).extra = Some(ExtraTensorInfo {
            fully_qualified_name: Some(Cow::Owned(buffer.into())),
            ..ExtraTensorInfo::default()
        });
    }
    let sum = method.tensor(ScalarType::Float, &[2]);
    method.input(x);
    method.call("t::add.out", &[total, x, sum, sum]);
    method.call("t::copy_", &[total, sum, total]);
    method.output(total);
    method
}

fn run(method: &mut thalweg_runtime::Method, x: [f32; 2]) -> Vec<f32> {
    let x = vector(&x);
    let outputs = method.run(&[(&x).into()]).unwrap();
    outputs.tensor(0).unwrap().data::<f32>().unwrap().to_vec()
}

#[test]
fn a_mutable_buffer_keeps_its_state_from_call_to_call() {
    for name in ["", "total"] {
        let program = load(ProgramBuilder::new(), accumulate("forward", name, None)).unwrap();
        let mut method = program.method("forward").unwrap();
        assert_eq!(run(&mut method, [1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(run(&mut method, [1.0, 2.0]), [2.0, 4.0]);
        // Another instance has a buffer of its own.
        let mut other = program.method("forward").unwrap();
        assert_eq!(run(&mut other, [5.0, 5.0]), [5.0, 5.0]);
        assert_eq!(run(&mut method, [0.0, 0.0]), [2.0, 4.0]);
    }
}

#[test]
fn a_mutable_buffer_starts_with_the_value_that_the_file_has() {
    for name in ["", "total"] {
        let mut program = ProgramBuilder::new();
        let initial = program.initial_value(floats(&[10.0, 20.0]));
        let program = load(program, accumulate("forward", name, Some(initial))).unwrap();
        let mut method = program.method("forward").unwrap();
        assert_eq!(run(&mut method, [1.0, 2.0]), [11.0, 22.0]);
        let mut other = program.method("forward").unwrap();
        assert_eq!(run(&mut other, [1.0, 2.0]), [11.0, 22.0]);
    }
}

#[test]
fn methods_that_are_made_with_one_state_share_the_buffers_of_the_same_name() {
    let methods = [
        accumulate("prefill", "cache", None),
        accumulate("decode", "cache", None),
        accumulate("other", "another", None),
    ];
    let program = load_methods(ProgramBuilder::new(), methods).unwrap();
    let mut prefill = program.method("prefill").unwrap();
    let options = MethodOptions::new().state(prefill.state());
    let mut decode = program.method_with("decode", &options).unwrap();
    let mut other = program.method_with("other", &options).unwrap();
    assert_eq!(run(&mut prefill, [1.0, 1.0]), [1.0, 1.0]);
    assert_eq!(run(&mut decode, [1.0, 2.0]), [2.0, 3.0]);
    assert_eq!(run(&mut other, [7.0, 7.0]), [7.0, 7.0]);
    assert_eq!(run(&mut prefill, [0.0, 0.0]), [2.0, 3.0]);
    assert_eq!(prefill.state().names(), ["another", "cache"]);
}

#[test]
fn an_output_that_is_shared_state_does_not_change_when_another_method_runs() {
    let methods = [
        accumulate("a", "cache", None),
        accumulate("b", "cache", None),
    ];
    let program = load_methods(ProgramBuilder::new(), methods).unwrap();
    let state = State::new();
    let options = MethodOptions::new().state(&state);
    let mut a = program.method_with("a", &options).unwrap();
    let mut b = program.method_with("b", &options).unwrap();
    let x = vector(&[1.0, 1.0]);
    let outputs = a.run(&[(&x).into()]).unwrap();
    let before = outputs.tensor(0).unwrap();
    assert_eq!(run(&mut b, [5.0, 5.0]), [6.0, 6.0]);
    assert_eq!(before.data::<f32>().unwrap(), [1.0, 1.0]);
}

#[test]
fn state_can_be_read_written_and_reset() {
    let mut program = ProgramBuilder::new();
    let initial = program.initial_value(floats(&[3.0, 4.0]));
    let program = load(program, accumulate("forward", "total", Some(initial))).unwrap();
    let mut method = program.method("forward").unwrap();
    run(&mut method, [1.0, 1.0]);
    let state = method.state().clone();
    assert_eq!(state.read("total").unwrap(), floats(&[4.0, 5.0]));
    state.write("total", &floats(&[0.5, 0.5])).unwrap();
    assert_eq!(run(&mut method, [1.0, 1.0]), [1.5, 1.5]);
    state.reset().unwrap();
    assert_eq!(run(&mut method, [0.0, 0.0]), [3.0, 4.0]);
    assert_eq!(
        state.write("total", &[0; 4]).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        state.read("sum").unwrap_err().kind(),
        ErrorKind::InvalidOption
    );
}

#[test]
fn buffers_of_one_name_and_different_sizes_cannot_be_shared() {
    let mut small = MethodBuilder::new("small");
    let buffer = small.tensor(ScalarType::Float, &[1]);
    tensor_mut(&mut small, buffer).extra = Some(ExtraTensorInfo {
        fully_qualified_name: Some("cache".into()),
        ..ExtraTensorInfo::default()
    });
    small.output(buffer);
    let program = load_methods(
        ProgramBuilder::new(),
        [accumulate("large", "cache", None), small],
    )
    .unwrap();
    let large = program.method("large").unwrap();
    let options = MethodOptions::new().state(large.state());
    let error = program.method_with("small", &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOption);
}

#[test]
fn a_view_of_a_named_buffer_that_the_plan_places_within_it_is_one() {
    let mut method = accumulate("forward", "total", None);
    let Value::Tensor(total) = &method.edit().values[1] else {
        panic!()
    };
    let place = total.allocation.unwrap();
    let second = method.tensor(ScalarType::Float, &[1]);
    tensor_mut(&mut method, second).allocation = Some(Allocation {
        offset: place.offset + 4,
        ..place
    });
    let ten = method.double(10.0);
    method.call("t::scale_", &[second, ten, second]);
    let mut method = load(ProgramBuilder::new(), method)
        .unwrap()
        .method("forward")
        .unwrap();
    assert_eq!(run(&mut method, [1.0, 2.0]), [1.0, 20.0]);
    assert_eq!(run(&mut method, [1.0, 2.0]), [2.0, 220.0]);
}

#[test]
fn a_tensor_that_shares_only_a_part_with_a_named_buffer_is_refused() {
    let mut method = accumulate("forward", "total", None);
    let Value::Tensor(total) = &method.edit().values[1] else {
        panic!()
    };
    let place = total.allocation.unwrap();
    let second = method.tensor(ScalarType::Float, &[2]);
    tensor_mut(&mut method, second).allocation = Some(Allocation {
        offset: place.offset + 4,
        ..place
    });
    let error = load(ProgramBuilder::new(), method).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidProgram, "{error}");
}

#[test]
fn an_operator_that_writes_over_its_own_input_reads_what_was_there_before() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[4]);
    let out = forward.tensor(ScalarType::Float, &[4]);
    let Value::Tensor(tensor) = &forward.edit().values[x as usize] else {
        panic!()
    };
    let place = tensor.allocation.unwrap();
    // Three of four elements are the same memory, so that element i of the result is element
    // i + 1 of the input.
    tensor_mut(&mut forward, out).allocation = Some(Allocation {
        offset: place.offset + 4,
        ..place
    });
    forward.edit().arena_sizes[1] += 4;
    forward.input(x);
    forward.call("t::add.out", &[x, x, out, out]);
    forward.output(out);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    let x = vector(&[1.0, 2.0, 3.0, 4.0]);
    let outputs = method.run(&[(&x).into()]).unwrap();
    assert_eq!(
        outputs.tensor(0).unwrap().data::<f32>().unwrap(),
        [2.0, 4.0, 6.0, 8.0]
    );
}

#[test]
fn an_operator_can_have_the_same_tensor_as_input_and_output() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[2]);
    forward.input(x);
    forward.call("t::add.out", &[x, x, x, x]);
    let list = forward.tensor_list(&[x, x, x]);
    forward.call("t::sum.out", &[list, x, x]);
    forward.output(x);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    assert_eq!(run(&mut method, [1.0, 2.0]), [6.0, 12.0]);
    assert_eq!(run(&mut method, [1.0, 2.0]), [6.0, 12.0]);
}

#[test]
fn two_outputs_of_one_instruction_never_share_memory() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[2]);
    let (a, b) = (
        forward.tensor(ScalarType::Float, &[1]),
        forward.tensor(ScalarType::Float, &[1]),
    );
    let Value::Tensor(first) = &forward.edit().values[a as usize] else {
        panic!()
    };
    let place = first.allocation;
    tensor_mut(&mut forward, b).allocation = place;
    let list = forward.tensor_list(&[a, b]);
    forward.input(x);
    forward.call("t::split", &[x, list]);
    forward.output(a);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    let error = method.run(&[(&vector(&[1.0, 2.0])).into()]).unwrap_err();
    assert_eq!(
        error.message(),
        "argument `out`: two outputs of one instruction share memory"
    );
}

#[test]
fn memory_that_is_read_before_it_is_written_is_zero() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[2]);
    let never = forward.tensor(ScalarType::Float, &[2]);
    let out = forward.tensor(ScalarType::Float, &[2]);
    forward.input(x);
    forward.call("t::add.out", &[x, never, out, out]);
    forward.output(out);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    assert_eq!(run(&mut method, [1.0, 2.0]), [1.0, 2.0]);
}

#[test]
fn an_input_without_planned_memory_is_used_where_the_caller_has_it() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.unplanned_tensor(ScalarType::Float, &[2]);
    let out = forward.unplanned_tensor(ScalarType::Float, &[2]);
    forward.input(x);
    forward.call("t::add.out", &[x, x, out, out]);
    forward.output(x);
    forward.output(out);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    let x = vector(&[1.0, 2.0]);
    let outputs = method.run(&[(&x).into()]).unwrap();
    let passed_through = outputs.tensor(0).unwrap().bytes();
    assert_eq!(passed_through.as_ptr(), x.view().bytes().as_ptr());
    assert_eq!(
        outputs.tensor(1).unwrap().data::<f32>().unwrap(),
        [2.0, 4.0]
    );
}

#[test]
fn an_input_that_the_program_writes_to_is_copied_first() {
    let build = |through_view: bool| {
        let mut forward = MethodBuilder::new("forward");
        let x = forward.unplanned_tensor(ScalarType::Float, &[2, 1]);
        let ten = forward.double(10.0);
        let mut target = x;
        forward.input(x);
        if through_view {
            let size = forward.int_list(&[2]);
            target = forward.unplanned_tensor(ScalarType::Float, &[2]);
            forward.call("executorch_prim::et_view.default", &[x, size, target]);
        }
        forward.call("t::scale_", &[target, ten, target]);
        forward.output(x);
        load(ProgramBuilder::new(), forward)
            .unwrap()
            .method("forward")
            .unwrap()
    };
    for through_view in [false, true] {
        let mut method = build(through_view);
        let x = Tensor::from_slice(&[1f32, 2.0], &[2, 1]).unwrap();
        let outputs = method.run(&[(&x).into()]).unwrap();
        assert_eq!(
            outputs.tensor(0).unwrap().data::<f32>().unwrap(),
            [10.0, 20.0]
        );
        assert_eq!(x.data::<f32>().unwrap(), [1.0, 2.0]);
    }
}

#[test]
fn a_program_that_writes_to_a_constant_is_stopped() {
    let mut program = ProgramBuilder::new();
    let data = program.constant(floats(&[1.0, 2.0]));
    let mut forward = MethodBuilder::new("forward");
    let constant = forward.constant(ScalarType::Float, &[2], data);
    let ten = forward.double(10.0);
    forward.call("t::scale_", &[constant, ten, constant]);
    forward.output(constant);
    let mut method = load(program, forward).unwrap().method("forward").unwrap();
    let error = method.run(&[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidProgram);
    assert!(error.message().contains("writes to a constant"), "{error}");
}

#[test]
fn a_tensor_without_bounds_grows_as_needed() {
    let mut forward = MethodBuilder::new("forward");
    let size = forward.none();
    let sizes = forward.value(Value::IntList(vec![size]));
    let value = forward.double(1.5);
    let out = forward.unplanned_tensor(ScalarType::Float, &[0]);
    tensor_mut(&mut forward, out).dynamism = ShapeDynamism::DynamicUnbound;
    let twice = forward.unplanned_tensor(ScalarType::Float, &[0]);
    tensor_mut(&mut forward, twice).dynamism = ShapeDynamism::DynamicUnbound;
    forward.input(size);
    forward.call("t::fill.out", &[sizes, value, out, out]);
    forward.call("t::add.out", &[out, out, twice, twice]);
    forward.output(twice);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    for size in [3usize, 100_000, 0, 7] {
        let outputs = method.run(&[Input::Int(size as i64)]).unwrap();
        assert_eq!(
            outputs.tensor(0).unwrap().data::<f32>().unwrap(),
            vec![3.0; size]
        );
    }
}

#[test]
fn a_view_of_a_tensor_that_grows_is_never_left_behind() {
    // The view is read before it is made anew: in the second call it still is what the first call
    // made of it, while the tensor behind it has moved.
    let mut forward = MethodBuilder::new("forward");
    let size = forward.none();
    let sizes = forward.value(Value::IntList(vec![size]));
    let value = forward.double(1.5);
    let out = forward.unplanned_tensor(ScalarType::Float, &[0]);
    let view = forward.unplanned_tensor(ScalarType::Float, &[0]);
    let copy = forward.unplanned_tensor(ScalarType::Float, &[0]);
    for tensor in [out, view, copy] {
        tensor_mut(&mut forward, tensor).dynamism = ShapeDynamism::DynamicUnbound;
    }
    forward.input(size);
    forward.call("t::fill.out", &[sizes, value, out, out]);
    forward.call("t::add.out", &[view, view, copy, copy]);
    forward.call("executorch_prim::et_view.default", &[out, sizes, view]);
    forward.output(copy);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    for size in [2, 100_000, 2] {
        method.run(&[Input::Int(size)]).unwrap();
    }
}

#[test]
fn bounded_inputs_may_be_smaller_and_never_larger() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.dynamic_tensor(ScalarType::Float, &[4, 2]);
    let out = forward.dynamic_tensor(ScalarType::Float, &[4, 2]);
    forward.input(x);
    forward.call("t::add.out", &[x, x, out, out]);
    forward.output(out);
    let mut method = load(ProgramBuilder::new(), forward)
        .unwrap()
        .method("forward")
        .unwrap();
    for rows in [4, 1, 0, 3] {
        let x = Tensor::from_slice(&vec![1f32; rows * 2], &[rows, 2]).unwrap();
        let outputs = method.run(&[(&x).into()]).unwrap();
        assert_eq!(outputs.tensor(0).unwrap().sizes(), [rows, 2]);
    }
    for sizes in [[5, 1], [2, 4]] {
        let x = Tensor::zeros(thalweg_core::DType::F32, &sizes).unwrap();
        let error = method.run(&[(&x).into()]).unwrap_err();
        assert!(error.message().contains("shapes up to [4, 2]"), "{error}");
    }
}

#[test]
fn a_plan_that_asks_for_more_than_the_limit_is_refused() {
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[1 << 20, 1 << 10]);
    forward.output(x);
    let mut program = ProgramBuilder::new();
    program.method(forward);
    let bytes = program
        .build()
        .unwrap()
        .to_bytes(&thalweg_format::WriteOptions::default())
        .unwrap();
    let options = thalweg_runtime::LoadOptions::new().memory_limit(1 << 20);
    let program = programs::runtime()
        .build()
        .load_bytes(bytes, &options)
        .unwrap();
    let error = program.method("forward").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
}
