//! Quantization and dequantization fused, against one after the other.

use thalweg_core::{DType, KernelRegistry, Tensor};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Optimizations, Program, Runtime, StepExecution};

/// Scale, zero point, lowest and highest integer.
type Grid = (f64, i64, [i64; 2]);

const GRIDS: [(Grid, ScalarType, i64); 4] = [
    ((0.05, -3, [-128, 127]), ScalarType::Char, 1),
    ((0.11, 128, [0, 255]), ScalarType::Byte, 0),
    ((0.3, 0, [-5, 6]), ScalarType::Short, 2),
    (
        (1e-9, 0, [i32::MIN as i64, i32::MAX as i64]),
        ScalarType::Int,
        3,
    ),
];

const SIZES: [u32; 4] = [2, 3, 4, 5];

/// Quantizes and dequantizes a value. Gives the tensor of integers and the result.
fn round(method: &mut MethodBuilder, x: u32, sizes: &[u32], grid: usize) -> [u32; 2] {
    round_as(method, x, sizes, grid, GRIDS[grid].2)
}

/// The same, where the second instruction says that integers are of the type with this number.
fn round_as(method: &mut MethodBuilder, x: u32, sizes: &[u32], grid: usize, from: i64) -> [u32; 2] {
    let ((scale, zero_point, limits), integers, code) = GRIDS[grid];
    let rounded = method.tensor(integers, sizes);
    let out = method.tensor(ScalarType::Float, sizes);
    let scale = method.double(scale);
    let [zero_point, low, high, code] =
        [zero_point, limits[0], limits[1], code].map(|value| method.int(value));
    method.call(
        "quantized_decomposed::quantize_per_tensor.out",
        &[x, scale, zero_point, low, high, code, rounded, rounded],
    );
    let (none, from) = (method.none(), method.int(from));
    method.call(
        "quantized_decomposed::dequantize_per_tensor.out",
        &[rounded, scale, zero_point, low, high, from, none, out, out],
    );
    [rounded, out]
}

fn load(program: ProgramBuilder, separate: bool) -> Program {
    let mut kernels = KernelRegistry::new();
    thalweg_kernels::register(&mut kernels).unwrap();
    let runtime = Runtime::builder().kernels(&kernels).build();
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let options = LoadOptions::new().optimizations(Optimizations::all().fusion(!separate));
    runtime.load_bytes(bytes, &options).unwrap()
}

fn fused(program: &Program) -> usize {
    let schedule = program.schedule("forward").unwrap();
    let hows = schedule.steps.iter().map(|step| step.execution);
    hows.filter(|&how| how == StepExecution::Fused).count()
}

/// The bits of the first output.
fn bits(program: &Program) -> Vec<u32> {
    let sizes = SIZES.map(|size| size as usize);
    let mut values: Vec<f32> = (0..120).map(|i| (i as f32 - 60.0) * 0.37).collect();
    let special = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -0.0,
        -1e-30,
        3e38,
    ];
    values[..special.len()].copy_from_slice(&special);
    // Halves of steps of the first grid.
    for (index, value) in values[20..40].iter_mut().enumerate() {
        *value = (index as f32 - 9.5) * 0.05;
    }
    let x = Tensor::from_bytes(
        DType::F32,
        &sizes,
        &[0, 1, 2, 3],
        bytemuck::cast_slice(&values),
    );
    let x = x.unwrap();
    let mut method = program.method("forward").unwrap();
    let outputs = method.run(&[(&x).into()]).unwrap();
    let out = outputs.tensor(0).unwrap();
    let bits = out.data::<f32>().unwrap().iter().map(|x| x.to_bits());
    bits.collect()
}

#[test]
fn numbers_are_rounded_to_the_same_bits_without_their_integers() {
    for grid in 0..GRIDS.len() {
        let program = || {
            let mut method = MethodBuilder::new("forward");
            let x = method.tensor(ScalarType::Float, &SIZES);
            method.input(x);
            let [_, out] = round(&mut method, x, &SIZES, grid);
            method.output(out);
            let mut program = ProgramBuilder::new();
            program.method(method);
            program
        };
        let [separate, joined] = [true, false].map(|separate| load(program(), separate));
        assert_eq!([fused(&separate), fused(&joined)], [0, 1]);
        let found = bits(&joined);
        assert_eq!(found, bits(&separate), "grid {grid}");
        assert!(found.iter().any(|&bits| bits != found[0]));
    }
}

#[test]
fn integers_that_something_else_reads_are_written() {
    let mut method = MethodBuilder::new("forward");
    let x = method.tensor(ScalarType::Float, &SIZES);
    method.input(x);
    let [integers, out] = round(&mut method, x, &SIZES, 0);
    method.output(out);
    method.output(integers);
    let mut program = ProgramBuilder::new();
    program.method(method);
    assert_eq!(fused(&load(program, false)), 0);
}

#[test]
fn integers_of_one_type_are_not_read_as_those_of_another() {
    let mut method = MethodBuilder::new("forward");
    let x = method.tensor(ScalarType::Float, &SIZES);
    method.input(x);
    // The second instruction names another type: an error in each call, as it was.
    let [_, out] = round_as(&mut method, x, &SIZES, 0, 0);
    method.output(out);
    let mut program = ProgramBuilder::new();
    program.method(method);
    let program = load(program, false);
    assert_eq!(fused(&program), 0);
}

#[test]
fn convolutions_round_their_results() {
    for kernel in [1, 3] {
        for relu in [false, true] {
            let program = || {
                let mut program = ProgramBuilder::new();
                let count = 4 * 3 * kernel * kernel;
                let weight: Vec<f32> = (0..count)
                    .map(|i| ((i * 7) % 11) as f32 / 9.0 - 0.5)
                    .collect();
                let weight = program.constant(bytemuck::cast_slice::<_, u8>(&weight));
                let mut method = MethodBuilder::new("forward");
                let x = method.tensor(ScalarType::Float, &SIZES);
                method.input(x);
                let weight = method.constant(ScalarType::Float, &[4, 3, kernel, kernel], weight);
                let sizes = [2, 4, 4, 5];
                let [convolved, limited] =
                    [(); 2].map(|()| method.tensor(ScalarType::Float, &sizes));
                let bias = method.none();
                let [one, zero, padding] =
                    [1, 0, i64::from(kernel / 2)].map(|value| method.int_list(&[value, value]));
                let (transposed, groups) = (method.bool(false), method.int(1));
                method.call(
                    "aten::convolution.out",
                    &[
                        x, weight, bias, one, padding, one, transposed, zero, groups, convolved,
                        convolved,
                    ],
                );
                let before = if relu {
                    method.call("aten::relu.out", &[convolved, limited, limited]);
                    limited
                } else {
                    convolved
                };
                let [_, out] = round(&mut method, before, &sizes, 0);
                method.output(out);
                program.method(method);
                program
            };
            let [separate, joined] = [true, false].map(|separate| load(program(), separate));
            let count = if relu { 3 } else { 2 };
            assert_eq!([fused(&separate), fused(&joined)], [0, count]);
            assert_eq!(bits(&joined), bits(&separate));
        }
    }
}
