//! Epilogue fusion, against the fused operators one after another.

use thalweg_core::{DType, KernelRegistry, Tensor};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, Value, WriteOptions};
use thalweg_runtime::{
    LoadOptions, Method, Optimizations, Program, RunOptions, Runtime, StepExecution,
};

/// A convolution in two dimensions.
#[derive(Clone, Copy, Debug)]
struct Case {
    input: [u32; 4],
    /// Channels of the result, and groups.
    channels: [u32; 2],
    kernel: [u32; 2],
    stride: i64,
    padding: i64,
    bias: bool,
    order: [u8; 4],
    /// By name, with the arguments between the input and the output.
    activation: (&'static str, &'static [f64]),
}

const FIRST: [u8; 4] = [0, 1, 2, 3];
const LAST: [u8; 4] = [0, 2, 3, 1];
const RELU6: (&str, &[f64]) = ("aten::hardtanh.out", &[0.0, 6.0]);

impl Case {
    fn output(&self) -> [u32; 4] {
        let side = |dim: usize| {
            let most = self.input[dim] + 2 * self.padding as u32 - self.kernel[dim - 2];
            most / self.stride as u32 + 1
        };
        [self.input[0], self.channels[0], side(2), side(3)]
    }

    /// Convolution, normalization, activation.
    fn program(&self) -> Vec<u8> {
        let [channels, groups] = self.channels;
        let mut program = ProgramBuilder::new();
        let weight_shape = [
            channels,
            self.input[1] / groups,
            self.kernel[0],
            self.kernel[1],
        ];
        let weights: u32 = weight_shape.iter().product();
        let per_channel = [-0.5, 0.25, 0.75, 1.5];
        let mut constants = vec![program.constant(floats(weights, 1))];
        for (seed, shift) in per_channel.into_iter().enumerate() {
            let numbers = numbers(channels, seed as u32 + 2);
            // Variances are not negative.
            let numbers = numbers.map(|x| {
                if shift == 1.5 {
                    x.abs() + 0.5
                } else {
                    x + shift
                }
            });
            constants.push(program.constant(bytes(numbers)));
        }
        let bias = program.constant(floats(channels, 9));
        let mut method = MethodBuilder::new("forward");
        let x = method.tensor(ScalarType::Float, &self.input);
        method.input(x);
        let [convolved, normalized, out] =
            [(); 3].map(|()| method.tensor(ScalarType::Float, &self.output()));
        let saved = [(); 2].map(|()| method.tensor(ScalarType::Float, &[0]));
        for value in [x, convolved, normalized, out] {
            if let Value::Tensor(tensor) = &mut method.edit().values[value as usize] {
                tensor.dim_order = self.order.to_vec();
            }
        }
        let weight = method.constant(ScalarType::Float, &weight_shape, constants[0]);
        let parameters: Vec<u32> = constants[1..]
            .iter()
            .map(|&data| method.constant(ScalarType::Float, &[channels], data))
            .collect();
        let bias = match self.bias {
            true => method.constant(ScalarType::Float, &[channels], bias),
            false => method.none(),
        };
        let [stride, padding, one, zero] =
            [self.stride, self.padding, 1, 0].map(|value| method.int_list(&[value, value]));
        let (transposed, groups) = (method.bool(false), method.int(i64::from(groups)));
        method.call(
            "aten::convolution.out",
            &[
                x, weight, bias, stride, padding, one, transposed, zero, groups, convolved,
                convolved,
            ],
        );
        let (momentum, eps) = (method.double(0.1), method.double(1e-5));
        let results = method.tensor_list(&[normalized, saved[0], saved[1]]);
        let [w, b, mean, variance] = parameters[..] else {
            unreachable!()
        };
        method.call(
            "aten::_native_batch_norm_legit_no_training.out",
            &[
                convolved, w, b, mean, variance, momentum, eps, normalized, saved[0], saved[1],
                results,
            ],
        );
        let (activation, bounds) = self.activation;
        let mut arguments = vec![normalized];
        arguments.extend(bounds.iter().map(|&bound| match bound.is_infinite() {
            true => method.none(),
            false => method.double(bound),
        }));
        arguments.extend([out, out]);
        method.call(activation, &arguments);
        method.output(out);
        program.method(method);
        let program = program.build().unwrap();
        program.to_bytes(&WriteOptions::default()).unwrap()
    }
}

/// Numbers around 0.
fn numbers(count: u32, seed: u32) -> impl Iterator<Item = f32> {
    (0..count).map(move |index| {
        let bits = (index + 1).wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(0x9E37_79B9);
        (bits.wrapping_mul(0x85EB_CA6B) >> 8) as f32 / (1 << 23) as f32 - 1.0
    })
}

fn bytes(numbers: impl Iterator<Item = f32>) -> Vec<u8> {
    numbers.flat_map(f32::to_le_bytes).collect()
}

fn floats(count: u32, seed: u32) -> Vec<u8> {
    bytes(numbers(count, seed))
}

fn load(bytes: Vec<u8>, options: &LoadOptions) -> Program {
    let mut kernels = KernelRegistry::new();
    thalweg_kernels::register(&mut kernels).unwrap();
    let runtime = Runtime::builder().kernels(&kernels).build();
    runtime.load_bytes(bytes, options).unwrap()
}

fn run(method: &mut Method, x: &Tensor, threads: usize) -> Vec<f32> {
    let options = RunOptions::new().threads(threads);
    let outputs = method.run_with(&[x.into()], &options).unwrap();
    outputs.tensor(0).unwrap().data::<f32>().unwrap().to_vec()
}

fn fused(program: &Program) -> usize {
    let schedule = program.schedule("forward").unwrap();
    let hows = schedule.steps.iter().map(|step| step.execution);
    hows.filter(|&how| how == StepExecution::Fused).count()
}

/// Every way through a convolution, with each order, stride and bias.
fn cases() -> Vec<Case> {
    let plain = Case {
        input: [2, 6, 9, 11],
        channels: [10, 1],
        kernel: [3, 3],
        stride: 1,
        padding: 1,
        bias: true,
        order: FIRST,
        activation: RELU6,
    };
    let depthwise = Case {
        channels: [6, 6],
        ..plain
    };
    let pointwise = Case {
        kernel: [1, 1],
        padding: 0,
        ..plain
    };
    let mut cases = Vec::new();
    for case in [plain, depthwise, pointwise] {
        for order in [FIRST, LAST] {
            for bias in [true, false] {
                for stride in [1, 2] {
                    cases.push(Case {
                        order,
                        bias,
                        stride,
                        ..case
                    });
                }
            }
        }
    }
    cases.extend([
        // Groups of several channels, and several results from each channel.
        Case {
            channels: [9, 3],
            ..plain
        },
        Case {
            channels: [12, 6],
            ..plain
        },
        // Windows of more than one block of depth.
        Case {
            input: [1, 70, 5, 5],
            ..plain
        },
        Case {
            activation: ("aten::relu.out", &[]),
            ..plain
        },
        Case {
            activation: ("aten::clamp.out", &[-0.25, f64::INFINITY]),
            ..plain
        },
        Case {
            activation: ("aten::clamp.out", &[f64::INFINITY, 0.75]),
            ..depthwise
        },
    ]);
    cases
}

#[test]
fn convolutions_that_normalize_and_clamp_have_the_answers_of_three_instructions() {
    for case in cases() {
        let separate = LoadOptions::new().optimizations(Optimizations::all().fusion(false));
        let separate = load(case.program(), &separate);
        let joined = load(case.program(), &LoadOptions::new());
        assert_eq!([fused(&separate), fused(&joined)], [0, 2], "{case:?}");
        let mut separate = separate.method("forward").unwrap();
        let mut joined = joined.method("forward").unwrap();
        let sizes = case.input.map(|size| size as usize);
        let mut values: Vec<f32> = numbers(sizes.iter().product::<usize>() as u32, 20)
            .map(|x| 3.0 * x)
            .collect();
        // Where windows of every shape and stride begin.
        values[0] = f32::NAN;
        values[40] = f32::INFINITY;
        let data = bytemuck::cast_slice(&values);
        let x = Tensor::from_bytes(DType::F32, &sizes, &case.order, data).unwrap();
        for threads in [1, 2] {
            let expected = run(&mut separate, &x, threads);
            let found = run(&mut joined, &x, threads);
            let mut within = 0;
            for (expected, found) in expected.iter().zip(&found) {
                let same = expected == found || (expected.is_nan() && found.is_nan());
                assert!(
                    same || (expected - found).abs() <= 1e-4,
                    "{case:?}: {found} instead of {expected}"
                );
                within += usize::from(*expected > 0.0 && *expected < 6.0);
            }
            assert!(within > 0, "{case:?}");
            assert!(expected.iter().any(|x| x.is_nan()), "{case:?}");
        }
    }
}

#[test]
fn a_largest_element_is_the_same_whether_or_not_it_is_asked_where_it_is() {
    for order in [FIRST, LAST] {
        for [kernel, stride] in [[2, 2], [3, 1], [3, 2], [2, 3]] {
            let program = |asked: bool| {
                let mut method = MethodBuilder::new("forward");
                let sizes = [2, 3, 9, 10];
                let size = |dim: usize| (sizes[dim] - kernel as u32) / stride as u32 + 1;
                let x = method.tensor(ScalarType::Float, &sizes);
                let shape = [2, 3, size(2), size(3)];
                let out = method.tensor(ScalarType::Float, &shape);
                let indices = method.tensor(ScalarType::Long, &shape);
                for value in [x, out, indices] {
                    if let Value::Tensor(tensor) = &mut method.edit().values[value as usize] {
                        tensor.dim_order = order.to_vec();
                    }
                }
                method.input(x);
                let [kernel, stride, zero, one] =
                    [kernel, stride, 0, 1].map(|value| method.int_list(&[value, value]));
                let ceil = method.bool(false);
                let both = method.tensor_list(&[out, indices]);
                method.call(
                    "aten::max_pool2d_with_indices.out",
                    &[x, kernel, stride, zero, one, ceil, out, indices, both],
                );
                method.output(out);
                if asked {
                    method.output(indices);
                }
                let mut program = ProgramBuilder::new();
                program.method(method);
                let program = program.build().unwrap();
                let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
                load(bytes, &LoadOptions::new()).method("forward").unwrap()
            };
            let values: Vec<f32> = numbers(2 * 3 * 9 * 10, 3).collect();
            let data = bytemuck::cast_slice(&values);
            let x = Tensor::from_bytes(DType::F32, &[2, 3, 9, 10], &order, data).unwrap();
            let [mut asked, mut not_asked] = [true, false].map(program);
            for threads in [1, 2] {
                let expected = run(&mut asked, &x, threads);
                assert_eq!(run(&mut not_asked, &x, threads), expected);
                assert!(expected.iter().any(|&x| x != 0.0));
            }
        }
    }
}
