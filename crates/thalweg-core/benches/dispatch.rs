//! What a call costs beyond its operators: `cargo bench -p thalweg-core`.
//!
//! The operators here do nothing but take their arguments, as every kernel must. A call of one
//! instruction shows the cost of a call; the difference between many and one, the cost of each.

use divan::{Bencher, black_box};
use thalweg_core::{Input, LoadOptions, Method, Runtime, Tensor};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};

fn main() {
    divan::main();
}

/// `x = x + y`, so many times, without the sum.
fn method(instructions: usize) -> Method {
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
    let bytes = program
        .build()
        .unwrap()
        .to_bytes(&WriteOptions::default())
        .unwrap();
    let signature =
        "t::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
    let runtime = Runtime::builder().kernel(signature, |call| {
        let (a, b, alpha) = (call.tensor(0)?, call.tensor(1)?, call.scalar(2)?);
        let mut out = call.output(3, a.sizes())?;
        black_box((
            a.data::<f32>()?,
            b.data::<f32>()?,
            alpha,
            out.data_mut::<f32>()?,
        ));
        Ok(())
    });
    let program = runtime
        .unwrap()
        .build()
        .load_bytes(bytes, &LoadOptions::new())
        .unwrap();
    program.method("forward").unwrap()
}

#[divan::bench(args = [0, 1, 101, 1001])]
fn call(bencher: Bencher<'_, '_>, instructions: usize) {
    let mut method = method(instructions);
    let x = Tensor::from_slice(&[1f32; 16], &[4, 4]).unwrap();
    let inputs = [Input::from(&x), Input::from(&x)];
    bencher.bench_local(|| {
        let outputs = method.run(black_box(&inputs)).unwrap();
        black_box(outputs.tensor(0).unwrap());
    });
}
