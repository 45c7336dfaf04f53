//! What a call costs beyond its operators: `cargo bench -p thalweg-core`.
//!
//! A call of no instruction shows the cost of a call; the difference between a thousand and none,
//! the cost of each. Two kernels: one returns at once, which leaves the dispatch; one takes its
//! arguments, as every real kernel must, and does nothing with them.

use divan::{Bencher, black_box};
use thalweg_core::{Input, KernelCall, Result, Tensor};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Method, Runtime};

fn main() {
    divan::main();
}

#[divan::bench(args = [0, 1, 1000])]
fn dispatch(bencher: Bencher<'_, '_>, instructions: usize) {
    run(bencher, method(instructions, |_| Ok(())));
}

#[divan::bench(args = [1, 1000])]
fn dispatch_and_arguments(bencher: Bencher<'_, '_>, instructions: usize) {
    run(bencher, method(instructions, take_arguments));
}

fn take_arguments(call: &KernelCall<'_>) -> Result<()> {
    let (a, b, alpha) = (call.tensor(0)?, call.tensor(1)?, call.scalar(2)?);
    let mut out = call.output(3, a.sizes())?;
    black_box((a.data::<f32>()?, b.data::<f32>()?));
    black_box((alpha, out.data_mut::<f32>()?));
    Ok(())
}

fn run(bencher: Bencher<'_, '_>, mut method: Method) {
    let x = Tensor::from_slice(&[1f32; 16], &[4, 4]).unwrap();
    let inputs = [Input::from(&x), Input::from(&x)];
    bencher.bench_local(|| {
        let outputs = method.run(black_box(&inputs)).unwrap();
        black_box(outputs.tensor(0).unwrap());
    });
}

/// `x = x + y`, so many times, with a kernel that does not add.
fn method(instructions: usize, kernel: fn(&KernelCall<'_>) -> Result<()>) -> Method {
    let mut program = ProgramBuilder::new();
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[4, 4]);
    let y = forward.tensor(ScalarType::Float, &[4, 4]);
    let alpha = forward.int(1);
    let mut last = x;
    forward.input(x);
    forward.input(y);
    for _ in 0..instructions {
        let out = forward.tensor(ScalarType::Float, &[4, 4]);
        forward.call("t::add.out", &[last, y, alpha, out, out]);
        last = out;
    }
    forward.output(last);
    program.method(forward);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let add =
        "t::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
    let runtime = Runtime::builder().kernel(add, kernel).unwrap().build();
    let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
    program.method("forward").unwrap()
}
