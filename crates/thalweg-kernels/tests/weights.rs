//! Products with constant weights, which are packed when a method is linked.

use thalweg_core::{KernelRegistry, Tensor};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Optimizations, Runtime};

/// Runs a method of one operator whose tensors have these shapes. The second is a constant without
/// elements; `addend`, if there is one, comes before the first for sums and after it for layers.
fn run(operator: &str, input: &[u32], weight: &[u32], output: &[u32], addend: &[f32]) -> Vec<f32> {
    let mut program = ProgramBuilder::new();
    let none = program.constant(Vec::<u8>::new());
    let addend_bytes = program.constant(bytemuck::cast_slice::<_, u8>(addend));
    let mut method = MethodBuilder::new("forward");
    let x = method.tensor(ScalarType::Float, input);
    method.input(x);
    let weight = method.constant(ScalarType::Float, weight, none);
    let added = method.constant(ScalarType::Float, &[addend.len() as u32], addend_bytes);
    let out = method.tensor(ScalarType::Float, output);
    let one = method.int(1);
    let arguments = match operator {
        "aten::linear.out" => vec![x, weight, added, out, out],
        "aten::addmm.out" | "aten::baddbmm.out" => vec![added, x, weight, one, one, out, out],
        _ => vec![x, weight, out, out],
    };
    method.call(operator, &arguments);
    method.output(out);
    program.method(method);
    let bytes = program.build().unwrap().to_bytes(&WriteOptions::default());
    let mut kernels = KernelRegistry::new();
    thalweg_kernels::register(&mut kernels).unwrap();
    let runtime = Runtime::builder().kernels(&kernels).build();
    // In calls: else all of it would be computed when the method is linked.
    let options = LoadOptions::new().optimizations(Optimizations::all().constant_folding(false));
    let program = runtime.load_bytes(bytes.unwrap(), &options).unwrap();
    let mut method = program.method("forward").unwrap();
    let sizes: Vec<usize> = input.iter().map(|&size| size as usize).collect();
    let x = Tensor::from_slice::<f32>(&[], &sizes).unwrap();
    let outputs = method.run(&[(&x).into()]).unwrap();
    outputs.tensor(0).unwrap().data::<f32>().unwrap().to_vec()
}

#[test]
fn products_with_weights_without_inner_elements_are_what_is_added() {
    for [m, n] in [[1, 1], [1, 1029], [3, 40], [17, 1029], [1029, 1]] {
        let addend: Vec<f32> = (0..n).map(|j| (j % 7) as f32).collect();
        let sums: Vec<f32> = (0..m * n).map(|at| (at % n % 7) as f32).collect();
        let zeros = vec![0.0; sums.len()];
        let found = run("aten::linear.out", &[m, 0], &[n, 0], &[m, n], &addend);
        assert_eq!(found, sums);
        let found = run("aten::addmm.out", &[m, 0], &[0, n], &[m, n], &addend);
        assert_eq!(found, sums);
        let [a, b, out] = [[1, m, 0], [1, 0, n], [1, m, n]];
        let found = run("aten::baddbmm.out", &a, &b, &out, &addend);
        assert_eq!(found, sums);
        let found = run("aten::mm.out", &[m, 0], &[0, n], &[m, n], &addend);
        assert_eq!(found, zeros);
        let found = run("aten::bmm.out", &a, &b, &out, &addend);
        assert_eq!(found, zeros);
    }
}
