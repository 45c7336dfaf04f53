use thalweg_core::{Argument, DType, Element, KernelRegistry, Result, Tensor, bf16, f16};

use crate::testing::random_cases;

fn run(operator: &str, arguments: Vec<Argument>, threads: usize) -> Result<Vec<Argument>> {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry).unwrap();
    registry
        .get(operator)
        .unwrap()
        .invoke_on_threads(arguments, threads)
}

/// Small integers, as many as the shape has.
fn numbers(sizes: &[usize]) -> Tensor {
    let count = sizes.iter().product();
    let data: Vec<f32> = (0..count).map(|i: usize| (i % 5) as f32 - 2.0).collect();
    Tensor::from_slice(&data, sizes).unwrap()
}

/// The same tensor with its elements in another dim order.
fn in_order(tensor: &Tensor, order: &[u8]) -> Tensor {
    let data = tensor.to_row_major().unwrap();
    let (data, sizes) = (data.data::<f32>().unwrap(), tensor.sizes());
    let strides = thalweg_core::strides_of(sizes, order);
    let mut moved = vec![0f32; data.len()];
    for (at, value) in data.iter().enumerate() {
        let (mut rest, mut to) = (at, 0);
        for dim in (0..sizes.len()).rev() {
            to += rest % sizes[dim] * strides[dim];
            rest /= sizes[dim];
        }
        moved[to] = *value;
    }
    Tensor::from_bytes(DType::F32, sizes, order, bytemuck::cast_slice(&moved)).unwrap()
}

fn empty(order: &[u8]) -> Argument {
    Tensor::zeros_in_order(DType::F32, &vec![0; order.len()], order)
        .unwrap()
        .into()
}

fn convert<T: Element>(tensor: &Tensor, from: impl Fn(f32) -> T) -> Tensor {
    let data: Vec<T> = tensor
        .data::<f32>()
        .unwrap()
        .iter()
        .map(|&x| from(x))
        .collect();
    Tensor::from_slice(&data, tensor.sizes()).unwrap()
}

/// Stride, padding, dilation, whether transposed, output padding and groups.
#[derive(Clone, Copy, Debug)]
struct Parameters<'a>(&'a [i64], &'a [i64], &'a [i64], bool, &'a [i64], i64);

impl Parameters<'_> {
    fn arguments(&self) -> Vec<Argument> {
        let Self(stride, padding, dilation, transposed, output_padding, groups) = *self;
        vec![
            stride.into(),
            padding.into(),
            dilation.into(),
            transposed.into(),
            output_padding.into(),
            groups.into(),
        ]
    }
}

fn convolution(
    [input, weight]: [&Tensor; 2],
    bias: Argument,
    parameters: Parameters<'_>,
    out: Argument,
    threads: usize,
) -> Result<Tensor> {
    let mut arguments = vec![input.into(), weight.into(), bias];
    arguments.extend(parameters.arguments());
    arguments.push(out);
    let results = run("aten::convolution.out", arguments, threads)?;
    Ok(results[9].tensor().unwrap().clone())
}

const ORDERS: [[u8; 4]; 3] = [[0, 1, 2, 3], [0, 2, 3, 1], [1, 3, 0, 2]];

const PLAIN: Parameters<'_> = Parameters(&[1, 1], &[1, 0], &[1, 1], false, &[0, 0], 1);
const TRANSPOSED: Parameters<'_> = Parameters(&[2, 2], &[1, 1], &[1, 1], true, &[1, 0], 1);

// What PyTorch gives for `numbers` of [1, 2, 3, 3] and [2, 2, 2, 2], and a bias of 1 and -1.
const PLAIN_RESULT: [f32; 16] = [
    -2.0, 3.0, 16.0, -2.0, -3.0, -1.0, 1.0, -2.0, 12.0, -1.0, -13.0, -7.0, 5.0, -4.0, -3.0, 1.0,
];
const TRANSPOSED_RESULT: [f32; 40] = [
    -3.0, 5.0, 2.0, 3.0, 0.0, -2.0, 1.0, 7.0, 2.0, -1.0, 2.0, -3.0, -2.0, 0.0, -1.0, -1.0, 2.0,
    3.0, 2.0, 1.0, -5.0, -4.0, 3.0, -3.0, -3.0, 3.0, -4.0, -5.0, -1.0, -1.0, -3.0, 5.0, -1.0, -1.0,
    -2.0, 1.0, 3.0, -3.0, 1.0, -2.0,
];

#[test]
fn convolutions_are_pytorchs_in_every_dim_order() {
    let bias = Tensor::from_slice(&[1f32, -1.0], &[2]).unwrap();
    for (parameters, sizes, expected) in [
        (PLAIN, [1, 2, 4, 2], &PLAIN_RESULT[..]),
        (TRANSPOSED, [1, 2, 5, 4], &TRANSPOSED_RESULT[..]),
    ] {
        for case in 0..27 {
            let [a, b, c] = [case % 3, case / 3 % 3, case / 9].map(|i| ORDERS[i]);
            let input = in_order(&numbers(&[1, 2, 3, 3]), &a);
            let weight = in_order(&numbers(&[2, 2, 2, 2]), &b);
            let found =
                convolution([&input, &weight], (&bias).into(), parameters, empty(&c), 1).unwrap();
            assert_eq!((found.sizes(), found.dim_order()), (&sizes[..], &c[..]));
            let found = found.to_row_major().unwrap();
            assert_eq!(
                found.data::<f32>().unwrap(),
                expected,
                "orders {a:?} {b:?} {c:?}"
            );
        }
    }
}

#[test]
fn half_types_and_f64_are_computed_as_f32_is() {
    let (input, weight) = (numbers(&[1, 2, 3, 3]), numbers(&[2, 2, 2, 2]));
    fn check<T: Element>(input: &Tensor, weight: &Tensor, from: impl Fn(f32) -> T) {
        let [input, weight] = [input, weight].map(|tensor| convert(tensor, &from));
        let bias = Tensor::from_slice(&[from(1.0), from(-1.0)], &[2]).unwrap();
        let out = Tensor::zeros(T::DTYPE, &[0; 4]).unwrap();
        let found = convolution([&input, &weight], bias.into(), PLAIN, out.into(), 1).unwrap();
        assert_eq!(found.data::<T>().unwrap(), PLAIN_RESULT.map(from));
    }
    check(&input, &weight, f64::from);
    check(&input, &weight, f16::from_f32);
    check(&input, &weight, bf16::from_f32);
}

/// The definition of a convolution in two dimensions, of row-major tensors.
fn by_definition(input: &Tensor, weight: &Tensor, parameters: Parameters<'_>) -> Vec<f32> {
    let Parameters(stride, padding, dilation, _, _, groups) = parameters;
    let (&[batch, channels, h, w], &[outputs, per_group, kh, kw]) = (input.sizes(), weight.sizes())
    else {
        panic!("not in two dimensions");
    };
    assert_eq!(channels, per_group * groups as usize);
    let (x, k) = (input.data::<f32>().unwrap(), weight.data::<f32>().unwrap());
    let size = |dim: usize, size: usize, kernel: usize| {
        (size as i64 + 2 * padding[dim] - dilation[dim] * (kernel as i64 - 1) - 1) / stride[dim] + 1
    };
    let (oh, ow) = (size(0, h, kh), size(1, w, kw));
    let mut out = Vec::new();
    for image in 0..batch {
        for output in 0..outputs {
            let group = output / (outputs / groups as usize);
            for at in 0..oh * ow {
                let mut sum = 0.0;
                for tap in 0..per_group * kh * kw {
                    let (c, ky, kx) = (tap / (kh * kw), tap / kw % kh, tap % kw);
                    let y = at / ow * stride[0] + ky as i64 * dilation[0] - padding[0];
                    let x_at = at % ow * stride[1] + kx as i64 * dilation[1] - padding[1];
                    if (0..h as i64).contains(&y) && (0..w as i64).contains(&x_at) {
                        let channel = (image * channels + group * per_group + c) * h;
                        let value = x[(channel + y as usize) * w + x_at as usize];
                        sum += value * k[output * per_group * kh * kw + tap];
                    }
                }
                out.push(sum);
            }
        }
    }
    out
}

#[test]
fn every_way_to_compute_a_convolution_gives_its_definition() {
    let cases: [([usize; 4], [usize; 4], Parameters<'_>); 9] = [
        // By windows, in one block and in many.
        (
            [2, 3, 9, 8],
            [4, 3, 3, 2],
            Parameters(&[2, 1], &[1, 1], &[1, 2], false, &[0, 0], 1),
        ),
        (
            [1, 40, 24, 25],
            [3, 40, 3, 3],
            Parameters(&[1, 1], &[1, 1], &[1, 1], false, &[0, 0], 1),
        ),
        // In groups.
        (
            [1, 6, 5, 5],
            [4, 3, 3, 3],
            Parameters(&[1, 1], &[2, 2], &[1, 1], false, &[0, 0], 2),
        ),
        // Of one position.
        (
            [2, 5, 6, 7],
            [8, 5, 1, 1],
            Parameters(&[1, 1], &[0, 0], &[1, 1], false, &[0, 0], 1),
        ),
        (
            [2, 5, 6, 7],
            [8, 5, 1, 1],
            Parameters(&[2, 3], &[1, 0], &[1, 1], false, &[0, 0], 1),
        ),
        (
            [1, 6, 4, 4],
            [4, 3, 1, 1],
            Parameters(&[1, 1], &[0, 0], &[1, 1], false, &[0, 0], 2),
        ),
        // Of one channel at a time.
        (
            [2, 20, 9, 9],
            [20, 1, 3, 3],
            Parameters(&[1, 1], &[1, 1], &[1, 1], false, &[0, 0], 20),
        ),
        (
            [1, 20, 9, 8],
            [20, 1, 3, 3],
            Parameters(&[2, 2], &[1, 1], &[1, 1], false, &[0, 0], 20),
        ),
        (
            [1, 3, 9, 9],
            [6, 1, 3, 3],
            Parameters(&[3, 1], &[0, 2], &[2, 1], false, &[0, 0], 3),
        ),
    ];
    for (input, weight, parameters) in cases {
        let (input, weight) = (numbers(&input), numbers(&weight));
        let expected = by_definition(&input, &weight, parameters);
        for [a, b] in [[0, 0], [1, 1], [0, 1], [1, 0]] {
            let tensors = [in_order(&input, &ORDERS[a]), in_order(&weight, &ORDERS[a])];
            let out = empty(&ORDERS[b]);
            for threads in [1, 3] {
                let tensors = [&tensors[0], &tensors[1]];
                let found =
                    convolution(tensors, Argument::None, parameters, out.clone(), threads).unwrap();
                // All sums are integers that f32 holds exactly.
                let found = found.to_row_major().unwrap();
                assert_eq!(
                    found.data::<f32>().unwrap(),
                    expected,
                    "{input:?} {weight:?} {parameters:?} {a} {b}"
                );
            }
        }
    }
}

#[test]
fn one_and_three_dimensions_are_as_two() {
    let parameters = Parameters(&[2], &[1], &[1], false, &[0], 1);
    let (input, weight) = (numbers(&[1, 2, 7]), numbers(&[3, 2, 3]));
    // A dimension of size 1 may stand anywhere in the order, and a list of one is for all.
    let weight_in_order =
        Tensor::from_bytes(DType::F32, &[3, 2, 3], &[0, 1, 2], weight.view().bytes()).unwrap();
    let found = convolution(
        [&input, &weight_in_order],
        Argument::None,
        parameters,
        empty(&[0, 2, 1]),
        1,
    )
    .unwrap();
    let flat = [numbers(&[1, 2, 1, 7]), numbers(&[3, 2, 1, 3])];
    let two = Parameters(&[1, 2], &[0, 1], &[1, 1], false, &[0, 0], 1);
    let expected = by_definition(&flat[0], &flat[1], two);
    assert_eq!(found.sizes(), [1, 3, 4]);
    assert_eq!(
        found.to_row_major().unwrap().data::<f32>().unwrap(),
        expected
    );

    let (input, weight) = (numbers(&[1, 2, 1, 4, 5]), numbers(&[3, 2, 1, 2, 2]));
    let flat = [numbers(&[1, 2, 4, 5]), numbers(&[3, 2, 2, 2])];
    let expected = by_definition(
        &flat[0],
        &flat[1],
        Parameters(&[1, 1], &[0, 0], &[1, 1], false, &[0, 0], 1),
    );
    let parameters = Parameters(&[1], &[0], &[1], false, &[0], 1);
    let out = empty(&[0, 1, 2, 3, 4]);
    let found = convolution([&input, &weight], Argument::None, parameters, out, 1).unwrap();
    assert_eq!(
        (found.sizes(), found.data::<f32>().unwrap()),
        (&[1, 3, 1, 3, 4][..], &expected[..])
    );
}

#[test]
fn a_weight_whose_order_differs_in_dimensions_of_one_only_is_taken_as_it_is() {
    let input = numbers(&[1, 1, 6]);
    let weight = numbers(&[2, 1, 3]);
    let odd =
        Tensor::from_bytes(DType::F32, &[2, 1, 3], &[0, 2, 1], weight.view().bytes()).unwrap();
    let parameters = Parameters(&[1], &[0], &[1], false, &[0], 1);
    let [a, b] = [&weight, &odd].map(|weight| {
        let out = empty(&[0, 1, 2]);
        convolution([&input, weight], Argument::None, parameters, out, 1).unwrap()
    });
    assert_eq!(a.data::<f32>().unwrap(), b.data::<f32>().unwrap());
}

#[test]
fn gradients_are_pytorchs() {
    let expected: [&[f32]; 3] = [
        &[
            -4.0, -14.0, -6.0, 0.0, 7.0, 6.0, 4.0, 3.0, -7.0, 4.0, 3.0, -7.0, 0.0, -7.0, 7.0, -4.0,
            8.0, -4.0,
        ],
        &[
            -2.0, 8.0, 5.0, -2.0, -2.0, -2.0, -3.0, 5.0, 5.0, -2.0, -8.0, -2.0, -3.0, 5.0, -4.0,
            -8.0,
        ],
        &[-3.0, 1.0],
    ];
    for (order, mask) in [
        (0, [true; 3]),
        (1, [true; 3]),
        (0, [true, false, true]),
        (1, [false, true, false]),
    ] {
        let order = &ORDERS[order];
        let mut arguments: Vec<Argument> = vec![
            in_order(&numbers(&[1, 2, 4, 2]), order).into(),
            in_order(&numbers(&[1, 2, 3, 3]), order).into(),
            numbers(&[2, 2, 2, 2]).into(),
            (&[2i64][..]).into(),
        ];
        arguments.extend(PLAIN.arguments());
        arguments.push(Argument::BoolList(mask.to_vec()));
        for order in [&order[..], &order[..], &[0]] {
            arguments.push(empty(order));
        }
        for (index, wanted) in mask.iter().enumerate() {
            if !wanted {
                arguments[11 + index] = Argument::None;
            }
        }
        let results = run("aten::convolution_backward.out", arguments, 1).unwrap();
        for (index, expected) in expected
            .iter()
            .enumerate()
            .filter(|&(index, _)| mask[index])
        {
            let found = results[11 + index]
                .tensor()
                .unwrap()
                .to_row_major()
                .unwrap();
            assert_eq!(found.data::<f32>().unwrap(), *expected, "output {index}");
        }
    }
}

#[test]
fn nothing_in_gives_nothing_out() {
    let parameters = Parameters(&[1, 1], &[1, 1], &[1, 1], false, &[0, 0], 1);
    let tensors = [&numbers(&[0, 2, 3, 3]), &numbers(&[4, 2, 3, 3])];
    let found = convolution(tensors, Argument::None, parameters, empty(&ORDERS[0]), 1).unwrap();
    assert_eq!(found.sizes(), [0, 4, 3, 3]);
}

#[test]
fn without_channels_in_the_input_every_result_is_the_bias() {
    let bias = Tensor::from_slice(&[1f32, -1.0], &[2]).unwrap();
    // Windows of one position and of more; one row of the product and many.
    for (kernel, sizes) in [([1, 1], [40, 50]), ([2, 2], [40, 50]), ([1, 1], [1, 1])] {
        let input = Tensor::zeros(DType::F32, &[1, 0, sizes[0], sizes[1]]).unwrap();
        let weight = Tensor::zeros(DType::F32, &[2, 0, kernel[0], kernel[1]]).unwrap();
        let back = Tensor::zeros(DType::F32, &[0, 2, kernel[0], kernel[1]]).unwrap();
        let parameters = Parameters(&[1, 1], &[0, 0], &[1, 1], false, &[0, 0], 1);
        let transposed = Parameters(&[1, 1], &[0, 0], &[1, 1], true, &[0, 0], 1);
        for (weight, parameters) in [(&weight, parameters), (&back, transposed)] {
            for order in &ORDERS[..2] {
                for threads in [1, 3] {
                    let tensors = [&in_order(&input, order), weight];
                    let out = empty(order);
                    let found =
                        convolution(tensors, (&bias).into(), parameters, out, threads).unwrap();
                    let found = found.to_row_major().unwrap();
                    let found = found.data::<f32>().unwrap();
                    let (first, second) = found.split_at(found.len() / 2);
                    assert!(!first.is_empty() && first.iter().all(|&x| x == 1.0));
                    assert!(second.iter().all(|&x| x == -1.0));
                    let out = empty(order);
                    let found = convolution(tensors, Argument::None, parameters, out, threads);
                    let found = found.unwrap();
                    assert!(found.data::<f32>().unwrap().iter().all(|&x| x == 0.0));
                }
            }
        }
    }
}

#[test]
fn gradients_without_channels_are_empty_or_zero() {
    let input = Tensor::zeros(DType::F32, &[2, 0, 5, 5]).unwrap();
    let weight = Tensor::zeros(DType::F32, &[3, 0, 2, 2]).unwrap();
    let parameters = Parameters(&[1, 1], &[0, 0], &[1, 1], false, &[0, 0], 1);
    let mut arguments: Vec<Argument> = vec![
        numbers(&[2, 3, 4, 4]).into(),
        (&input).into(),
        (&weight).into(),
        (&[3i64][..]).into(),
    ];
    arguments.extend(parameters.arguments());
    arguments.push(Argument::BoolList(vec![true; 3]));
    arguments.extend([empty(&ORDERS[0]), empty(&ORDERS[0]), empty(&[0])]);
    let results = run("aten::convolution_backward.out", arguments, 1).unwrap();
    let sizes = |index: usize| results[index].tensor().unwrap().sizes().to_vec();
    assert_eq!(sizes(11), [2, 0, 5, 5]);
    assert_eq!(sizes(12), [3, 0, 2, 2]);
    assert_eq!(sizes(13), [3]);
}

#[test]
fn an_empty_kernel_is_refused() {
    let parameters = Parameters(&[1, 1], &[1, 1], &[1, 1], false, &[0, 0], 1);
    for transposed in [false, true] {
        let parameters = Parameters(&[1, 1], &[1, 1], &[1, 1], transposed, &[0, 0], 1);
        let (input, weight) = (numbers(&[1, 2, 3, 3]), numbers(&[2, 2, 0, 2]));
        let tensors = [&input, &weight];
        let found = convolution(tensors, Argument::None, parameters, empty(&ORDERS[0]), 1);
        assert!(
            found
                .unwrap_err()
                .message()
                .contains("does not fit an input")
        );
    }
    let (input, weight) = (numbers(&[1, 2, 0, 3]), numbers(&[2, 2, 3, 3]));
    let found = convolution(
        [&input, &weight],
        Argument::None,
        parameters,
        empty(&ORDERS[0]),
        1,
    );
    assert!(found.is_err());
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let (input, weight) = (numbers(&[1, 2, 3, 3]), numbers(&[2, 2, 2, 2]));
    let message = |input: &Tensor, parameters: Parameters<'_>| {
        let out = empty(&ORDERS[0]);
        let error = convolution([input, &weight], Argument::None, parameters, out, 1).unwrap_err();
        error.message().to_string()
    };
    assert_eq!(
        message(&numbers(&[1, 3, 3, 3]), PLAIN),
        "an input of 3 channels does not fit a weight of shape [2, 2, 2, 2] with 1 groups"
    );
    assert_eq!(
        message(&numbers(&[1, 2, 3, 1]), PLAIN),
        "a kernel of shape [2, 2] does not fit an input of shape [1, 2, 3, 1]"
    );
    assert_eq!(
        message(
            &input,
            Parameters(&[0, 1], &[0, 0], &[1, 1], false, &[0, 0], 1)
        ),
        "argument `stride`: 0 is out of range"
    );
    assert_eq!(
        message(
            &input,
            Parameters(&[1, 1], &[0, -1], &[1, 1], false, &[0, 0], 1)
        ),
        "argument `padding`: -1 is out of range"
    );
    assert_eq!(
        message(
            &input,
            Parameters(&[1, 1, 1], &[0, 0], &[1, 1], false, &[0, 0], 1)
        ),
        "argument `stride`: [1, 1, 1] is not a list of 2 numbers"
    );
    assert_eq!(
        message(
            &input,
            Parameters(&[1, 1], &[0, 0], &[1, 1], false, &[0, 0], 0)
        ),
        "there cannot be 0 groups"
    );
    assert!(message(&numbers(&[2, 2]), PLAIN).contains("one to three dimensions"));
    let bias = numbers(&[3]).into();
    let out = empty(&ORDERS[0]);
    let error = convolution([&input, &weight], bias, PLAIN, out, 1).unwrap_err();
    assert_eq!(
        error.message(),
        "a bias of shape [3] does not fit 2 channels"
    );
    let huge = Parameters(&[1, 1], &[u32::MAX as i64; 2], &[1, 1], false, &[0, 0], 1);
    let out = empty(&ORDERS[0]);
    assert!(convolution([&input, &weight], Argument::None, huge, out, 1).is_err());
}

proptest::proptest! {
    #![proptest_config(random_cases(96))]

    #[test]
    fn convolutions_of_all_shapes_are_those_of_the_definition(
        size in [1usize..40, 1usize..40],
        channels in [1usize..4, 1usize..20],
        kernel in [1usize..4, 1usize..6],
        stride in [1i64..4, 1i64..4],
        padding in [0i64..4, 0i64..4],
        dilation in [1i64..3, 1i64..3],
        depthwise in proptest::bool::ANY,
        threads in 1usize..3,
    ) {
        let window = |dim: usize| dilation[dim] * (kernel[dim] as i64 - 1) + 1;
        let fits = |dim: usize| size[dim] as i64 + 2 * padding[dim] >= window(dim);
        proptest::prop_assume!(fits(0) && fits(1));
        let (input, weight, groups) = match depthwise {
            true => (channels[1], [channels[1] * channels[0], 1], channels[1]),
            false => (channels[0], [channels[1], channels[0]], 1),
        };
        let input = numbers(&[2, input, size[0], size[1]]);
        let weight = numbers(&[weight[0], weight[1], kernel[0], kernel[1]]);
        let groups = groups as i64;
        let parameters = Parameters(&stride, &padding, &dilation, false, &[0, 0], groups);
        let bias = numbers(&[weight.sizes()[0]]);
        let mut expected = by_definition(&input, &weight, parameters);
        let outputs = bias.sizes()[0];
        let positions = expected.len() / (2 * outputs);
        for (index, plane) in expected.chunks_mut(positions).enumerate() {
            let bias = bias.data::<f32>().unwrap()[index % outputs];
            plane.iter_mut().for_each(|sum| *sum += bias);
        }
        let out = empty(&ORDERS[0]);
        let found = convolution([&input, &weight], bias.into(), parameters, out, threads).unwrap();
        proptest::prop_assert_eq!(found.data::<f32>().unwrap(), expected);
    }
}
