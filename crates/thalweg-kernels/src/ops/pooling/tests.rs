use thalweg_core::{Argument, DType, KernelRegistry, Result, Tensor};

fn run(operator: &str, arguments: Vec<Argument>, threads: usize) -> Result<Vec<Argument>> {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry).unwrap();
    registry
        .get(operator)
        .unwrap()
        .invoke_on_threads(arguments, threads)
}

fn f32s(result: &Argument) -> Vec<f32> {
    result
        .tensor()
        .unwrap()
        .to_row_major()
        .unwrap()
        .data::<f32>()
        .unwrap()
        .to_vec()
}

fn i64s(result: &Argument) -> Vec<i64> {
    result
        .tensor()
        .unwrap()
        .to_row_major()
        .unwrap()
        .data::<i64>()
        .unwrap()
        .to_vec()
}

fn list(values: &[i64]) -> Argument {
    values.into()
}

fn out(dtype: DType, order: &[u8]) -> Argument {
    Tensor::zeros_in_order(dtype, &vec![0; order.len()], order)
        .unwrap()
        .into()
}

/// As many numbers from -2 to 2 as the shape has.
fn numbers(sizes: &[usize]) -> Tensor {
    let data: Vec<f32> = (0..sizes.iter().product())
        .map(|i: usize| (i % 5) as f32 - 2.0)
        .collect();
    Tensor::from_slice(&data, sizes).unwrap()
}

fn max_pool(
    input: &Tensor,
    [kernel, stride, padding, dilation]: [&[i64]; 4],
    ceil: bool,
    order: &[u8],
    threads: usize,
) -> Result<Vec<Argument>> {
    let arguments = vec![
        input.into(),
        list(kernel),
        list(stride),
        list(padding),
        list(dilation),
        ceil.into(),
        out(input.dtype(), order),
        out(DType::I64, order),
    ];
    run("aten::max_pool2d_with_indices.out", arguments, threads)
}

const FIRST: [u8; 4] = [0, 1, 2, 3];
const LAST: [u8; 4] = [0, 2, 3, 1];

#[test]
fn the_largest_is_found_with_its_place_and_what_is_not_a_number_is_largest() {
    let data = [
        1.0,
        3.0,
        2.0,
        f32::NAN,
        0.0,
        5.0,
        4.0,
        4.0,
        -1.0,
        7.0,
        7.0,
        2.0,
    ];
    let input = Tensor::from_slice(&data, &[1, 1, 3, 4]).unwrap();
    let results = max_pool(&input, [&[2, 2], &[1, 2], &[1, 0], &[1]], false, &FIRST, 1).unwrap();
    let values = f32s(&results[6]);
    assert_eq!(results[6].tensor().unwrap().sizes(), [1, 1, 4, 2]);
    assert_eq!(i64s(&results[7]), [1, 3, 5, 3, 9, 10, 9, 10]);
    assert!(values[1].is_nan() && values[3].is_nan());
    assert_eq!([values[0], values[2]], [3.0, 5.0]);
    assert_eq!(values[4..], [7.0; 4]);
}

#[test]
fn channels_last_gives_the_same_on_any_number_of_threads() {
    // Large enough for threads.
    let input = numbers(&[2, 8, 40, 41]);
    let windows: [&[i64]; 4] = [&[3, 2], &[2, 3], &[1, 1], &[2, 1]];
    let expected = max_pool(&input, windows, true, &FIRST, 1).unwrap();
    for order in [FIRST, LAST, [1, 0, 3, 2]] {
        for threads in [1, 3] {
            let found = max_pool(&input, windows, true, &order, threads).unwrap();
            assert_eq!(found[6].tensor().unwrap().dim_order(), order);
            assert_eq!(f32s(&found[6]), f32s(&expected[6]));
            assert_eq!(i64s(&found[7]), i64s(&expected[7]));
        }
    }
}

#[test]
fn a_stride_that_is_not_given_is_the_kernel_size_and_integers_are_pooled_too() {
    let input = Tensor::from_slice(&[1u8, 200, 3, 4, 5, 6], &[1, 2, 3]).unwrap();
    let results = max_pool(&input, [&[1, 2], &[], &[0], &[1]], true, &[0, 1, 2], 1).unwrap();
    let values = results[6].tensor().unwrap();
    assert_eq!(
        (values.sizes(), values.data::<u8>().unwrap()),
        (&[1, 2, 2][..], &[200, 3, 5, 6][..])
    );
    assert_eq!(i64s(&results[7]), [1, 2, 4, 5]);
}

#[test]
fn gradients_go_to_where_the_largest_was() {
    let backward = |indices: &[i64]| {
        let arguments = vec![
            Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 2, 2])
                .unwrap()
                .into(),
            numbers(&[1, 3, 3]).into(),
            list(&[2, 2]),
            list(&[1, 1]),
            list(&[0, 0]),
            list(&[1, 1]),
            false.into(),
            Tensor::from_slice(indices, &[1, 2, 2]).unwrap().into(),
            out(DType::F32, &[0, 1, 2]),
        ];
        run(
            "aten::max_pool2d_with_indices_backward.grad_input",
            arguments,
            1,
        )
    };
    let results = backward(&[4, 4, 3, 8]).unwrap();
    assert_eq!(
        f32s(&results[8]),
        [0.0, 0.0, 0.0, 3.0, 3.0, 0.0, 0.0, 0.0, 4.0]
    );
    let error = backward(&[4, 9, 3, 8]).unwrap_err();
    assert_eq!(
        error.message(),
        "index 9 is not within a plane of 9 elements"
    );
    assert!(backward(&[4, -1, 3, 8]).is_err());
}

#[test]
fn padding_counts_in_a_mean_or_does_not() {
    let mean = |count_padding: bool, divisor: Argument, order: &[u8]| {
        let arguments = vec![
            numbers(&[1, 1, 3, 5]).into(),
            list(&[2, 2]),
            list(&[2, 2]),
            list(&[1, 1]),
            true.into(),
            count_padding.into(),
            divisor,
            out(DType::F32, order),
        ];
        run("aten::avg_pool2d.out", arguments, 1).map(|results| f32s(&results[7]))
    };
    for order in [FIRST, LAST] {
        let without = mean(false, Argument::None, &order).unwrap();
        assert_eq!(without, [-2.0, -0.5, 1.5, -2.0, -0.5, 1.5]);
        let with = mean(true, Argument::None, &order).unwrap();
        assert_eq!(with, [-0.5, -0.25, 0.75, -1.0, -0.5, 1.5]);
        assert_eq!(
            mean(true, 1.into(), &order).unwrap(),
            [-2.0, -1.0, 3.0, -4.0, -2.0, 6.0]
        );
    }
    assert!(mean(true, 0.into(), &FIRST).is_err());
}

#[test]
fn adaptive_windows_cover_the_input() {
    for (order, threads) in [(FIRST, 1), (LAST, 2)] {
        let arguments = vec![
            numbers(&[1, 1, 3, 5]).into(),
            list(&[2, 2]),
            out(DType::F32, &order),
        ];
        let results = run("aten::_adaptive_avg_pool2d.out", arguments, threads).unwrap();
        assert_eq!(f32s(&results[2]), [-1.0, 1.0, -1.0, 1.0]);
    }
}

#[test]
fn windows_that_do_not_fit_are_refused() {
    let input = numbers(&[1, 1, 3, 3]);
    let message = |windows: [&[i64]; 4]| {
        let error = max_pool(&input, windows, false, &FIRST, 1).unwrap_err();
        error.message().to_string()
    };
    assert_eq!(
        message([&[4, 4], &[], &[0, 0], &[1, 1]]),
        "a window of 4 does not fit an input of 3"
    );
    assert_eq!(
        message([&[2, 2], &[], &[2, 2], &[1, 1]]),
        "a padding of 2 is more than half of a window of 2"
    );
    assert_eq!(
        message([&[2, 2, 2], &[], &[0], &[1]]),
        "argument `kernel_size`: [2, 2, 2] is not a list of 2 numbers"
    );
    assert_eq!(
        message([&[2], &[0], &[0], &[1]]),
        "argument `stride`: 0 is out of range"
    );
    let error = max_pool(&numbers(&[3, 3]), [&[2], &[], &[0], &[1]], false, &FIRST, 1);
    assert_eq!(
        error.unwrap_err().message(),
        "shape [3, 3] is not that of images of 2 dimensions"
    );
}

#[test]
fn windows_that_are_all_alike_give_what_others_do() {
    // With channels last there is no way of its own for them.
    let mut data = numbers(&[1, 3, 23, 26]).data::<f32>().unwrap().to_vec();
    data[100] = f32::NAN;
    data[300] = f32::NEG_INFINITY;
    let input = Tensor::from_slice(&data, &[1, 3, 23, 26]).unwrap();
    for stride in 1..5 {
        for kernel in 1..5 {
            let windows: [&[i64]; 4] = [&[kernel; 2], &[stride; 2], &[0, 0], &[1, 1]];
            let found = max_pool(&input, windows, false, &FIRST, 1).unwrap();
            let expected = max_pool(&input, windows, false, &LAST, 1).unwrap();
            let bits = |result: &Argument| f32s(result).into_iter().map(f32::to_bits);
            assert!(bits(&found[6]).eq(bits(&expected[6])), "{windows:?}");
            assert_eq!(i64s(&found[7]), i64s(&expected[7]), "{windows:?}");
        }
    }
}
