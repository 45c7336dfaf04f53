use thalweg_core::{Argument, DType, Element, KernelRegistry, Result, Tensor, f16};

fn run(operator: &str, arguments: Vec<Argument>, threads: usize) -> Result<Vec<Argument>> {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry).unwrap();
    registry
        .get(operator)
        .unwrap()
        .invoke_on_threads(arguments, threads)
}

fn tensor<T: Element>(data: &[T], sizes: &[usize]) -> Argument {
    Tensor::from_slice(data, sizes).unwrap().into()
}

fn out(order: &[u8]) -> Argument {
    Tensor::zeros_in_order(DType::F32, &vec![0; order.len()], order)
        .unwrap()
        .into()
}

#[track_caller]
fn assert_close(found: &Argument, sizes: &[usize], expected: &[f32]) {
    let found = found.tensor().unwrap();
    assert_eq!(found.sizes(), sizes);
    let found = found.to_row_major().unwrap();
    let found = found.data::<f32>().unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() < 2e-6 * expected.abs().max(1.0),
            "{found} is not {expected}"
        );
    }
}

// What follows is PyTorch's.

const ROWS: [f32; 6] = [1.0, 2.0, 4.0, 0.0, 0.0, 3.0];
const IMAGES: [f32; 8] = [1.0, 2.0, 3.0, 5.0, 0.0, 1.0, 2.0, 2.0];

#[test]
fn layers_are_normalized_row_by_row() {
    for order in [[0, 1], [1, 0]] {
        let arguments = vec![
            tensor(&ROWS, &[2, 3]),
            (&[3i64][..]).into(),
            tensor(&[1f32, 2.0, 3.0], &[3]),
            tensor(&[0f32, 0.0, 1.0], &[3]),
            1e-5.into(),
            out(&order),
            out(&order),
            out(&order),
        ];
        let results = run("aten::native_layer_norm.out", arguments, 1).unwrap();
        let expected = [
            -1.069_041_4,
            -0.534_520_57,
            5.008_905_4,
            -0.707_105,
            -2.0 * 0.707_105,
            5.242_63,
        ];
        assert_close(&results[5], &[2, 3], &expected);
        assert_close(&results[6], &[2, 1], &[2.333_333_3, 1.0]);
        assert_close(&results[7], &[2, 1], &[0.801_781_06, 0.707_105]);
    }
}

#[test]
fn long_rows_of_half_types_are_normalized_in_f32_on_any_number_of_threads() {
    let (rows, len) = (40, 1000);
    let data: Vec<f16> = (0..rows * len)
        .map(|i| f16::from_f32(1000.0 + (i % 3) as f32))
        .collect();
    for threads in [1, 3] {
        let half = |sizes: &[usize]| Argument::from(Tensor::zeros(DType::F16, sizes).unwrap());
        let arguments = vec![
            tensor(&data, &[rows, len]),
            (&[len as i64][..]).into(),
            Argument::None,
            Argument::None,
            0.0.into(),
            half(&[0, 0]),
            out(&[0, 1]),
            out(&[0, 1]),
        ];
        let results = run("aten::native_layer_norm.out", arguments, threads).unwrap();
        let found = results[5].tensor().unwrap();
        for (x, y) in data.iter().zip(found.data::<f16>().unwrap()) {
            // The three values are a deviation of the square root of 2/3 apart.
            let expected = (x.to_f32() - 1001.0) * 1.5f32.sqrt();
            assert!((y.to_f32() - expected).abs() < 3e-3);
        }
    }
}

#[test]
fn batch_normalization_applies_running_statistics() {
    for order in [[0, 1, 2], [0, 2, 1], [2, 1, 0]] {
        let arguments = vec![
            tensor(&IMAGES, &[2, 2, 2]),
            tensor(&[1f32, 2.0], &[2]),
            tensor(&[0f32, 1.0], &[2]),
            tensor(&[1f32, 2.0], &[2]),
            tensor(&[4f32, 1.0], &[2]),
            0.1.into(),
            1e-5.into(),
            out(&order),
            out(&[0]),
            out(&[0]),
        ];
        let operator = "aten::_native_batch_norm_legit_no_training.out";
        let results = run(operator, arguments, 1).unwrap();
        let expected = [
            0.0,
            0.499_999_4,
            2.999_99,
            6.999_97,
            -0.499_999_4,
            0.0,
            1.0,
            1.0,
        ];
        assert_close(&results[7], &[2, 2, 2], &expected);
        assert_close(&results[8], &[0], &[]);
        assert_close(&results[9], &[0], &[]);
    }
}

#[test]
fn in_training_the_batch_is_normalized_and_running_statistics_follow() {
    let expected = [
        0.0,
        1.414_199_5,
        1.0,
        4.265_975_5,
        -1.414_199_5,
        0.0,
        -0.632_987_74,
        -0.632_987_74,
    ];
    let affine = || [tensor(&[1f32, 2.0], &[2]), tensor(&[0f32, 1.0], &[2])];
    for order in [[0, 1, 2], [0, 2, 1]] {
        let [weight, bias] = affine();
        let arguments = vec![
            tensor(&IMAGES, &[2, 2, 2]),
            weight,
            bias,
            tensor(&[0f32, 1.0], &[2]),
            tensor(&[1f32, 1.0], &[2]),
            true.into(),
            0.1.into(),
            1e-5.into(),
            out(&order),
            out(&[0]),
            out(&[0]),
        ];
        let results = run("aten::_native_batch_norm_legit.out", arguments, 1).unwrap();
        assert_close(&results[8], &[2, 2, 2], &expected);
        assert_close(&results[9], &[2], &[1.0, 3.0]);
        assert_close(&results[10], &[2], &[1.414_199_5, 0.816_493_87]);
        assert_close(&results[3], &[2], &[0.1, 1.2]);
        assert_close(&results[4], &[2], &[0.966_666_64, 1.1]);
    }
    let [weight, bias] = affine();
    let arguments = |training: bool| {
        vec![
            tensor(&IMAGES, &[2, 2, 2]),
            weight.clone(),
            bias.clone(),
            training.into(),
            0.1.into(),
            1e-5.into(),
            out(&[0, 1, 2]),
            out(&[0]),
            out(&[0]),
        ]
    };
    let operator = "aten::_native_batch_norm_legit.no_stats_out";
    let results = run(operator, arguments(true), 1).unwrap();
    assert_close(&results[6], &[2, 2, 2], &expected);
    assert!(run(operator, arguments(false), 1).is_err());
}

#[test]
fn groups_of_channels_are_normalized_together() {
    for order in [[0, 1, 2], [0, 2, 1]] {
        let arguments = vec![
            tensor(&IMAGES, &[2, 2, 2]),
            tensor(&[1f32, 2.0], &[2]),
            tensor(&[0f32, 1.0], &[2]),
            2.into(),
            2.into(),
            2.into(),
            1.into(),
            1e-5.into(),
            out(&order),
            out(&[0, 1]),
            out(&[0, 1]),
        ];
        let results = run("aten::native_group_norm.out", arguments, 1).unwrap();
        let expected = [
            -1.183_213_2,
            -0.507_091_4,
            1.338_060_9,
            4.042_548,
            -1.507_545_7,
            -0.301_509_14,
            2.809_054_9,
            2.809_054_9,
        ];
        assert_close(&results[8], &[2, 2, 2], &expected);
        assert_close(&results[9], &[2, 1], &[2.75, 1.25]);
        assert_close(&results[10], &[2, 1], &[0.676_121_83, 1.206_036_6]);
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let message = |normalized: &[i64], weight: Argument| {
        let arguments = vec![
            tensor(&ROWS, &[2, 3]),
            normalized.into(),
            weight,
            Argument::None,
            1e-5.into(),
            out(&[0, 1]),
            out(&[0, 1]),
            out(&[0, 1]),
        ];
        let error = run("aten::native_layer_norm.out", arguments, 1).unwrap_err();
        error.message().to_string()
    };
    assert_eq!(
        message(&[2], Argument::None),
        "the last dimensions of shape [2, 3] are not [2], which are to be normalized"
    );
    assert!(message(&[], Argument::None).contains("are to be normalized"));
    assert_eq!(
        message(&[3], tensor(&ROWS, &[6])),
        "argument `weight` has shape [6], but what it applies to has [3]"
    );
}
