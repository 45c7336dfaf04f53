//! Epilogue fusion: instructions that do the work of those that follow them.

mod fusing;
mod hops;
mod programs;

use hops::Random;
use programs::{runtime, tensor_mut, vector};
use thalweg_format::{Allocation, MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Method, Optimizations, Program, StepExecution};

fn load(method: MethodBuilder, options: &LoadOptions, offers: bool) -> Program {
    let kernels = fusing::kernels(offers);
    let mut program = ProgramBuilder::new();
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let runtime = runtime().kernels(&kernels).build();
    runtime.load_bytes(bytes, options).unwrap()
}

fn hows(program: &Program) -> Vec<StepExecution> {
    let schedule = program.schedule("forward").unwrap();
    schedule.steps.iter().map(|step| step.execution).collect()
}

fn fused(program: &Program) -> usize {
    let hows = hows(program);
    hows.iter()
        .filter(|&&how| how == StepExecution::Fused)
        .count()
}

fn run(method: &mut Method, x: &[f32]) -> Vec<f32> {
    let x = vector(x);
    let outputs = method.run(&[(&x).into()]).unwrap();
    let all = (0..outputs.len()).map(|index| outputs.tensor(index).unwrap());
    let mut answers = Vec::new();
    for output in all {
        answers.extend_from_slice(output.data::<f32>().unwrap());
    }
    answers
}

/// A method with an input.
fn start() -> (MethodBuilder, u32) {
    let mut method = MethodBuilder::new("forward");
    let x = method.tensor(ScalarType::Float, &[2]);
    method.input(x);
    (method, x)
}

fn new_tensor(method: &mut MethodBuilder) -> u32 {
    method.tensor(ScalarType::Float, &[2])
}

/// Another tensor at the place of this one.
fn at_place_of(method: &mut MethodBuilder, tensor: u32) -> u32 {
    let place: Allocation = tensor_mut(method, tensor).allocation.unwrap();
    let other = new_tensor(method);
    tensor_mut(method, other).allocation = Some(place);
    other
}

fn call_times(method: &mut MethodBuilder, from: u32, by: f64, to: u32) {
    let by = method.double(by);
    method.call("t::times.out", &[from, by, to, to]);
}

/// Runs a method with [1, 10], and says how many instructions others do the work of.
fn answers(method: MethodBuilder, expected: &[f32]) -> usize {
    let program = load(method, &LoadOptions::new(), true);
    let mut instance = program.method("forward").unwrap();
    for _ in 0..2 {
        assert_eq!(run(&mut instance, &[1.0, 10.0]), expected);
    }
    fused(&program)
}

#[test]
fn an_instruction_does_the_work_of_those_that_go_on_with_its_result() {
    let program = || {
        let (mut method, x) = start();
        let [a, b, c] = [(); 3].map(|()| new_tensor(&mut method));
        method.call("t::join.out", &[x, x, a, a]);
        call_times(&mut method, a, 2.0, b);
        call_times(&mut method, b, 3.0, c);
        method.output(c);
        method
    };
    assert_eq!(answers(program(), &[66.0, 66.0]), 2);
    let loaded = load(program(), &LoadOptions::new(), true);
    assert_eq!(
        hows(&loaded),
        [
            StepExecution::Host,
            StepExecution::Fused,
            StepExecution::Fused
        ]
    );
    let separate = LoadOptions::new().optimizations(Optimizations::all().fusion(false));
    let loaded = load(program(), &separate, true);
    assert_eq!(fused(&loaded), 0);
    let mut method = loaded.method("forward").unwrap();
    assert_eq!(run(&mut method, &[1.0, 10.0]), [66.0, 66.0]);
}

#[test]
fn a_kernel_that_a_caller_has_put_in_the_place_of_another_runs() {
    let (mut method, x) = start();
    let [a, b] = [(); 2].map(|()| new_tensor(&mut method));
    method.call("t::join.out", &[x, x, a, a]);
    call_times(&mut method, a, 2.0, b);
    method.output(b);
    assert_eq!(fused(&load(method, &LoadOptions::new(), false)), 0);
}

#[test]
fn of_several_that_follow_as_many_are_fused_as_are_taken() {
    let (mut method, x) = start();
    let [a, b, c] = [(); 3].map(|()| new_tensor(&mut method));
    method.call("t::join.out", &[x, x, a, a]);
    call_times(&mut method, a, 2.0, b);
    call_times(&mut method, b, 7.0, c);
    method.output(c);
    assert_eq!(answers(method, &[154.0, 154.0]), 1);
}

#[test]
fn what_something_else_looks_at_is_computed() {
    // An output.
    let (mut method, x) = start();
    let [a, b] = [(); 2].map(|()| new_tensor(&mut method));
    method.call("t::join.out", &[x, x, a, a]);
    call_times(&mut method, a, 2.0, b);
    method.output(a);
    method.output(b);
    assert_eq!(answers(method, &[11.0, 11.0, 22.0, 22.0]), 0);
    // An argument of another instruction.
    let (mut method, x) = start();
    let [a, b, c] = [(); 3].map(|()| new_tensor(&mut method));
    method.call("t::join.out", &[x, x, a, a]);
    call_times(&mut method, a, 2.0, b);
    method.call("t::add.out", &[a, b, c, c]);
    method.output(c);
    assert_eq!(answers(method, &[33.0, 33.0]), 0);
    // Another tensor at its place, which nothing writes.
    let (mut method, x) = start();
    let [a, b, c] = [(); 3].map(|()| new_tensor(&mut method));
    let view = at_place_of(&mut method, a);
    method.call("t::join.out", &[x, x, a, a]);
    call_times(&mut method, a, 2.0, b);
    method.call("t::add.out", &[view, b, c, c]);
    method.output(c);
    assert_eq!(answers(method, &[33.0, 33.0]), 0);
}

#[test]
fn a_factor_that_changes_is_not_fused() {
    let (mut method, x) = start();
    let [a, b] = [(); 2].map(|()| new_tensor(&mut method));
    let by = method.double(0.0);
    method.input(by);
    method.call("t::join.out", &[x, x, a, a]);
    method.call("t::times.out", &[a, by, b, b]);
    method.output(b);
    assert_eq!(fused(&load(method, &LoadOptions::new(), true)), 0);
}

#[test]
fn a_method_that_jumps_is_left_alone() {
    let (mut method, x) = start();
    let [a, b] = [(); 2].map(|()| new_tensor(&mut method));
    let yes = method.bool(true);
    method.call("t::join.out", &[x, x, a, a]);
    let jump = method.jump_if_false(yes, 0);
    method.land(jump);
    call_times(&mut method, a, 2.0, b);
    method.output(b);
    assert_eq!(answers(method, &[22.0, 22.0]), 0);
}

#[test]
fn a_result_at_the_place_of_an_input_moves_away() {
    let program = || {
        let (mut method, x) = start();
        let [copy, a] = [(); 2].map(|()| new_tensor(&mut method));
        let b = at_place_of(&mut method, copy);
        call_times(&mut method, x, 1.0, copy);
        method.call("t::join.out", &[copy, copy, a, a]);
        call_times(&mut method, a, 2.0, b);
        method.output(b);
        method
    };
    assert_eq!(answers(program(), &[22.0, 22.0]), 1);
    // There is no memory for it: then they stay two.
    let limit = LoadOptions::new().memory_limit(3 * 16);
    assert_eq!(fused(&load(program(), &limit, true)), 0);
}

#[test]
fn a_result_that_is_read_by_another_name_stays_in_its_place() {
    let (mut method, x) = start();
    let [copy, a, c] = [(); 3].map(|()| new_tensor(&mut method));
    let b = at_place_of(&mut method, copy);
    let view = at_place_of(&mut method, copy);
    call_times(&mut method, x, 1.0, copy);
    method.call("t::join.out", &[copy, copy, a, a]);
    call_times(&mut method, a, 2.0, b);
    method.call("t::add.out", &[view, x, c, c]);
    method.output(c);
    assert_eq!(answers(method, &[23.0, 32.0]), 0);
}

/// A value of a random program, in the order of the instructions.
struct Made {
    kind: usize,
    from: [usize; 2],
}

/// The values of a random program, often made of the one before, so that chains come about.
fn random_values(random: &mut Random) -> Vec<Made> {
    let count = 4 + random.below(14);
    let mut made = Vec::new();
    for index in 0..count {
        let mut pick = || match random.below(4) {
            _ if index == 0 => usize::MAX,
            0 => random.below(index),
            1 => usize::MAX,
            _ => index - 1,
        };
        let from = [pick(), pick()];
        let mut kind = random.below(6);
        if from[0] == usize::MAX && kind >= 4 {
            kind = 0;
        }
        made.push(Made { kind, from });
    }
    made
}

/// For each value, the one whose location it has, since views are what they are views of, and the last
/// instruction that reads what is there.
fn owners_and_last_uses(made: &[Made], outputs: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let count = made.len();
    let mut owner: Vec<usize> = (0..count).collect();
    for index in 0..count {
        if made[index].kind >= 4 {
            owner[index] = owner[made[index].from[0]];
        }
    }
    let mut last: Vec<usize> = (0..count).collect();
    for (index, one) in made.iter().enumerate() {
        let reads = if one.kind < 2 { 2 } else { 1 };
        for &from in one.from[..reads].iter().filter(|&&from| from != usize::MAX) {
            last[owner[from]] = last[owner[from]].max(index);
        }
        last[owner[index]] = last[owner[index]].max(index);
    }
    for &output in outputs {
        last[owner[output]] = usize::MAX;
    }
    (owner, last)
}

/// A program whose tensors share few places, as a planner would let them: a place is free once
/// nothing reads what is there, by whatever name.
fn random_program(seed: u64) -> MethodBuilder {
    let mut random = Random::new(seed);
    let (mut method, x) = start();
    let made = random_values(&mut random);
    let count = made.len();
    let outputs: Vec<usize> = (0..2)
        .map(|_| random.below(count))
        .chain([count - 1])
        .collect();
    let (owner, last) = owners_and_last_uses(&made, &outputs);
    // The place of each tensor, as a tensor that has it.
    let mut places: Vec<(u32, usize)> = Vec::new();
    let mut tensors: Vec<u32> = Vec::new();
    let mut place_of = vec![0; count];
    for (index, one) in made.iter().enumerate() {
        let place = if one.kind >= 4 {
            place_of[owner[index]]
        } else {
            match places.iter().position(|&(_, until)| until < index) {
                Some(place) => place,
                None => {
                    places.push((new_tensor(&mut method), 0));
                    places.len() - 1
                }
            }
        };
        place_of[index] = place;
        if one.kind < 4 {
            places[place].1 = last[index];
        }
        let at = places[place].0;
        let tensor = at_place_of(&mut method, at);
        tensors.push(tensor);
        let [a, b] = one.from.map(|from| tensors.get(from).copied().unwrap_or(x));
        match one.kind {
            0 | 1 => method.call("t::join.out", &[a, b, tensor, tensor]),
            2 | 3 => {
                let by = [2.0, 3.0, 7.0, -1.0][random.below(4)];
                call_times(&mut method, a, by, tensor);
            }
            4 => {
                let size = method.int_list(&[2]);
                method.call("executorch_prim::et_view.default", &[a, size, tensor]);
            }
            // A view that there is no instruction for.
            _ => {}
        }
    }
    for &output in &outputs {
        method.output(tensors[output]);
    }
    method
}

#[test]
fn programs_made_at_random_have_the_answers_that_they_have_instruction_by_instruction() {
    let mut total = 0;
    for seed in 0..3000 {
        let separate = LoadOptions::new().optimizations(Optimizations::all().fusion(false));
        let separate = load(random_program(seed), &separate, true);
        let joined = load(random_program(seed), &LoadOptions::new(), true);
        total += fused(&joined);
        let mut methods = [separate, joined].map(|program| program.method("forward").unwrap());
        for call in 0..3 {
            let x = [1.0 + call as f32, 10.0 - call as f32];
            let [expected, found] = methods.each_mut().map(|method| run(method, &x));
            assert_eq!(expected, found, "seed {seed}, call {call}");
        }
    }
    assert!(total > 1000, "only {total} instructions were fused");
}
