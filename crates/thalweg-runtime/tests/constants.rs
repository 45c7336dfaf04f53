//! What is computed and prepared once, when a method is linked.

mod programs;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use programs::{runtime, tensor_mut, vector};
use thalweg_core::{Kernel, KernelCall, Prepacked, Result};
use thalweg_format::{Allocation, MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Method, Optimizations, Program, StepExecution};

const DOUBLE: &str = "t::double.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)";

fn double(call: &KernelCall<'_>) -> Result<()> {
    let x = call.tensor(0)?;
    let mut out = call.output(1, x.sizes())?;
    for (out, x) in out.data_mut::<f32>()?.iter_mut().zip(x.data::<f32>()?) {
        *out = 2.0 * x;
    }
    Ok(())
}

/// A program whose pure operator `t::double.out` counts how often it runs.
fn load(method: MethodBuilder, options: &LoadOptions) -> (Program, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let kernel = Kernel::new(DOUBLE, move |call| {
        counted.fetch_add(1, Ordering::Relaxed);
        double(call)
    });
    let mut kernels = thalweg_core::KernelRegistry::new();
    kernels.add(kernel.unwrap().pure());
    (load_with(method, kernels, options), runs)
}

fn load_with(
    method: MethodBuilder,
    kernels: thalweg_core::KernelRegistry,
    options: &LoadOptions,
) -> Program {
    let mut program = ProgramBuilder::new();
    program.constant(floats(&[1.0, 2.0]));
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let runtime = runtime().kernels(&kernels).build();
    runtime.load_bytes(bytes, options).unwrap()
}

fn floats(values: &[f32]) -> Vec<u8> {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    bytes.collect()
}

/// A method with an input and the constant [1, 2].
fn start() -> (MethodBuilder, [u32; 2]) {
    let mut method = MethodBuilder::new("forward");
    let x = method.tensor(ScalarType::Float, &[2]);
    method.input(x);
    let constant = method.constant(ScalarType::Float, &[2], 1);
    (method, [x, constant])
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

fn run(method: &mut Method, x: [f32; 2]) -> Vec<f32> {
    let x = vector(&x);
    let outputs = method.run(&[(&x).into()]).unwrap();
    outputs.tensor(0).unwrap().data::<f32>().unwrap().to_vec()
}

/// Makes calls of two instances and says how often the operator ran until then.
fn runs(method: MethodBuilder, options: &LoadOptions, expected: [f32; 2]) -> usize {
    let (program, runs) = load(method, options);
    for _ in 0..2 {
        let mut method = program.method("forward").unwrap();
        for _ in 0..2 {
            assert_eq!(run(&mut method, [10.0, 20.0]), expected);
        }
    }
    runs.load(Ordering::Relaxed)
}

#[test]
fn an_operator_of_constants_alone_runs_once_for_all_calls_of_all_instances() {
    let program = || {
        let (mut method, [x, constant]) = start();
        let [a, b, sum] = [(); 3].map(|()| new_tensor(&mut method));
        method.call("t::double.out", &[constant, a, a]);
        // Of what is known, something else is.
        method.call("t::double.out", &[a, b, b]);
        method.call("t::add.out", &[b, x, sum, sum]);
        method.output(sum);
        method
    };
    assert_eq!(runs(program(), &LoadOptions::new(), [14.0, 28.0]), 2);
    let in_calls = LoadOptions::new().optimizations(Optimizations::all().constant_folding(false));
    assert_eq!(runs(program(), &in_calls, [14.0, 28.0]), 8);
    let (loaded, _) = load(program(), &LoadOptions::new());
    let schedule = loaded.schedule("forward").unwrap();
    let how: Vec<StepExecution> = schedule.steps.iter().map(|step| step.execution).collect();
    assert_eq!(
        how,
        [
            StepExecution::Folded,
            StepExecution::Folded,
            StepExecution::Host
        ]
    );
}

#[test]
fn the_same_result_is_computed_once_however_often_it_is_asked_for() {
    let (mut method, [_, constant]) = start();
    let [a, b, sum] = [(); 3].map(|()| new_tensor(&mut method));
    method.call("t::double.out", &[constant, a, a]);
    method.call("t::double.out", &[constant, b, b]);
    method.call("t::add.out", &[a, b, sum, sum]);
    method.output(sum);
    assert_eq!(runs(method, &LoadOptions::new(), [4.0, 8.0]), 1);
}

#[test]
fn what_depends_on_an_input_runs_in_every_call() {
    let (mut method, [x, _]) = start();
    let out = new_tensor(&mut method);
    method.call("t::double.out", &[x, out, out]);
    method.output(out);
    assert_eq!(runs(method, &LoadOptions::new(), [20.0, 40.0]), 4);
}

#[test]
fn what_is_written_twice_or_in_place_is_not_known() {
    let (mut method, [x, constant]) = start();
    let [a, sum] = [(); 2].map(|()| new_tensor(&mut method));
    method.call("t::double.out", &[constant, a, a]);
    let ten = method.double(10.0);
    method.call("t::scale_", &[a, ten, a]);
    method.call("t::add.out", &[a, x, sum, sum]);
    method.output(sum);
    assert_eq!(runs(method, &LoadOptions::new(), [30.0, 60.0]), 4);
}

#[test]
fn a_tensor_that_nothing_writes_is_a_view_of_the_constant_at_its_place() {
    let (mut method, [x, constant]) = start();
    let [a, sum] = [(); 2].map(|()| new_tensor(&mut method));
    let view = at_place_of(&mut method, a);
    method.call("t::double.out", &[constant, a, a]);
    method.call("t::add.out", &[view, x, sum, sum]);
    method.output(sum);
    assert_eq!(runs(method, &LoadOptions::new(), [12.0, 24.0]), 1);
}

#[test]
fn a_view_of_what_is_written_over_a_constant_later_is_not_mistaken_for_one_of_the_constant() {
    let (mut method, [x, constant]) = start();
    let [a, first, last] = [(); 3].map(|()| new_tensor(&mut method));
    let [over, view] = [(); 2].map(|()| at_place_of(&mut method, a));
    method.call("t::double.out", &[constant, a, a]);
    method.call("t::add.out", &[a, x, first, first]);
    method.call("t::add.out", &[first, x, over, over]);
    method.call("t::add.out", &[view, x, last, last]);
    method.output(last);
    assert_eq!(runs(method, &LoadOptions::new(), [32.0, 64.0]), 1);
}

#[test]
fn a_result_is_not_known_if_a_part_of_its_place_is_read_by_another_name() {
    let (mut method, [x, constant]) = start();
    let a = new_tensor(&mut method);
    let part = method.tensor(ScalarType::Float, &[1]);
    let place = tensor_mut(&mut method, a).allocation.unwrap();
    tensor_mut(&mut method, part).allocation = Some(Allocation {
        offset: place.offset + 4,
        ..place
    });
    let sum = new_tensor(&mut method);
    method.call("t::double.out", &[constant, a, a]);
    // The only element of `part` is added to both of `x`.
    method.call("t::add.out", &[x, part, sum, sum]);
    method.output(sum);
    assert_eq!(runs(method, &LoadOptions::new(), [14.0, 24.0]), 4);
}

#[test]
fn an_operator_that_does_not_say_that_it_is_pure_runs_in_every_call() {
    let (mut method, [x, constant]) = start();
    let [a, sum] = [(); 2].map(|()| new_tensor(&mut method));
    method.call("t::double.out", &[constant, a, a]);
    method.call("t::add.out", &[a, x, sum, sum]);
    method.output(sum);
    let mut kernels = thalweg_core::KernelRegistry::new();
    kernels.register(DOUBLE, double).unwrap();
    let program = load_with(method, kernels, &LoadOptions::new());
    let schedule = program.schedule("forward").unwrap();
    assert!(
        schedule
            .steps
            .iter()
            .all(|step| step.execution == StepExecution::Host)
    );
}

#[test]
fn what_fails_with_constants_fails_when_it_is_called() {
    for panics in [false, true] {
        let kernel = Kernel::new(DOUBLE, move |_| {
            assert!(!panics, "it was asked to");
            thalweg_core::bail!(Operator, "it fails, always")
        });
        let mut kernels = thalweg_core::KernelRegistry::new();
        kernels.add(kernel.unwrap().pure());
        let (mut method, [_, constant]) = start();
        let out = new_tensor(&mut method);
        method.call("t::double.out", &[constant, out, out]);
        method.output(out);
        let program = load_with(method, kernels, &LoadOptions::new());
        let mut method = program.method("forward").unwrap();
        if !panics {
            let x = vector(&[0.0, 0.0]);
            let error = method.run(&[(&x).into()]).unwrap_err();
            assert!(error.to_string().contains("it fails, always"), "{error}");
        }
    }
}

#[test]
fn what_a_kernel_prepares_is_made_once_and_all_calls_have_it() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let (mut method, [x, constant]) = start();
    let [a, b] = [(); 2].map(|()| new_tensor(&mut method));
    method.call("t::weigh.out", &[x, constant, a, a]);
    method.call("t::weigh.out", &[a, constant, b, b]);
    method.output(b);
    let mut kernels = thalweg_core::KernelRegistry::new();
    let signature = "t::weigh.out(Tensor x, Tensor weight, *, Tensor(a!) out) -> Tensor(a!)";
    let kernel = Kernel::new(signature, |call| {
        let x = call.tensor(0)?;
        let total = call.prepacked::<f32>().copied();
        let mut out = call.output(2, x.sizes())?;
        for (out, x) in out.data_mut::<f32>()?.iter_mut().zip(x.data::<f32>()?) {
            *out = total.unwrap_or(f32::NAN) * x;
        }
        Ok(())
    });
    let kernel = kernel.unwrap().with_prepack(|call| {
        // The input is not a constant.
        assert!(call.constant(0).is_none());
        let Some(weight) = call.constant(1) else {
            return Ok(None);
        };
        MADE.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Prepacked::new(
            weight.data::<f32>()?.iter().sum::<f32>(),
        )))
    });
    kernels.add(kernel);
    let program = load_with(method, kernels, &LoadOptions::new());
    for _ in 0..2 {
        let mut method = program.method("forward").unwrap();
        assert_eq!(run(&mut method, [10.0, 20.0]), [90.0, 180.0]);
    }
    // Both instructions have the same weight.
    assert_eq!(MADE.load(Ordering::Relaxed), 1);
}
