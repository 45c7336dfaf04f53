//! Pooling of volumes, and adaptive pooling. Numbers are results of PyTorch.

use thalweg_core::{Argument, DType, Result, Tensor};

use super::register;
use crate::testing::{
    assert_close, floats, in_order, integers, invoke, list, numbers, out, out_in_order,
};

const LAST: [u8; 5] = [0, 2, 3, 4, 1];

#[test]
fn volumes_have_largest_elements_with_their_places_in_both_orders() {
    let input = numbers(&[1, 2, 2, 3, 4]);
    let largest = [4.0, 4.0, 3.0, 5.0, 4.0, 4.0, 4.0, 3.0, 5.0, 5.0, 4.0, 3.0];
    let places = [17, 6, 9, 3, 17, 6, 4, 7, 1, 23, 4, 7];
    for order in [[0, 1, 2, 3, 4], LAST] {
        let arguments = vec![
            in_order(&input, &order).into(),
            list(&[2, 2, 2]),
            list(&[1, 1, 2]),
            list(&[0, 1, 0]),
            list(&[1, 2, 1]),
            false.into(),
            out_in_order(DType::F32, &order),
            out_in_order(DType::I64, &order),
        ];
        let operator = "aten::max_pool3d_with_indices.out";
        let results = invoke(register, operator, arguments).unwrap();
        assert_eq!(results[6].tensor().unwrap().sizes(), [1, 2, 1, 3, 2]);
        assert_eq!(floats(&results[6]), largest);
        assert_eq!(integers(&results[7]), places);
    }
}

fn adaptive_max(operator: &str, sizes: &[usize], output: &[i64]) -> Result<Vec<Argument>> {
    let arguments = vec![
        numbers(sizes).into(),
        list(output),
        out(DType::F32, sizes.len()),
        out(DType::I64, sizes.len()),
    ];
    invoke(register, operator, arguments)
}

#[test]
fn adaptive_windows_of_images_have_largest_elements() {
    let results = adaptive_max("aten::adaptive_max_pool2d.out", &[2, 3, 5], &[2, 3]).unwrap();
    assert_eq!(
        floats(&results[2]),
        [4.0, 5.0, 5.0, 4.0, 4.0, 5.0, 3.0, 4.0, 2.0, 5.0, 4.0, 4.0]
    );
    assert_eq!(
        integers(&results[3]),
        [6, 3, 3, 6, 6, 14, 5, 2, 8, 10, 13, 13]
    );
}

#[test]
fn adaptive_windows_of_volumes_have_largest_elements() {
    let operator = "aten::adaptive_max_pool3d.out";
    let results = adaptive_max(operator, &[1, 2, 2, 3, 4], &[1, 2, 3]).unwrap();
    assert_eq!(
        floats(&results[2]),
        [4.0, 5.0, 5.0, 4.0, 4.0, 4.0, 5.0, 5.0, 4.0, 4.0, 3.0, 5.0]
    );
    assert_eq!(
        integers(&results[3]),
        [17, 14, 3, 17, 6, 6, 1, 1, 15, 4, 18, 23]
    );
}

#[test]
fn adaptive_windows_over_nothing_are_refused_and_none_are_empty() {
    let operator = "aten::adaptive_max_pool2d.out";
    let error = adaptive_max(operator, &[2, 0, 5], &[2, 3]).unwrap_err();
    assert!(error.to_string().contains("size [0, 5]"), "{error}");
    let results = adaptive_max(operator, &[2, 3, 5], &[0, 3]).unwrap();
    assert_eq!(results[2].tensor().unwrap().sizes(), [2, 0, 3]);
}

#[test]
fn volumes_have_means_with_and_without_their_padding_in_both_orders() {
    let input = numbers(&[1, 2, 2, 3, 4]);
    let with_padding = [
        -0.375, 0.375, -0.375, -0.25, -0.375, 1.125, 0.0, -1.125, 0.0, 0.75, 0.375, -0.875, 0.375,
        -0.25, -0.25, -0.125, 1.125, -0.125, -1.125, 0.5, 0.75, 0.125, -0.875, 0.625,
    ];
    let without = [
        -1.5, 1.5, -0.75, -0.5, -0.75, 2.25, 0.0, -1.125, 0.0, 3.0, 0.75, -1.75, 1.5, -1.0, -0.5,
        -0.25, 2.25, -0.25, -1.125, 0.5, 3.0, 0.5, -1.75, 1.25,
    ];
    for order in [[0, 1, 2, 3, 4], LAST] {
        for (counts_padding, expected) in [(true, with_padding), (false, without)] {
            let arguments = vec![
                in_order(&input, &order).into(),
                list(&[2, 2, 2]),
                list(&[1, 2, 2]),
                list(&[1, 1, 0]),
                true.into(),
                counts_padding.into(),
                Argument::None,
                out_in_order(DType::F32, &order),
            ];
            let results = invoke(register, "aten::avg_pool3d.out", arguments).unwrap();
            assert_eq!(results[7].tensor().unwrap().sizes(), [1, 2, 3, 2, 2]);
            assert_close(&results[7], &expected);
        }
    }
}

#[test]
fn adaptive_windows_of_volumes_have_means() {
    let arguments = vec![
        numbers(&[1, 2, 2, 3, 4]).into(),
        list(&[1, 2, 3]),
        out(DType::F32, 5),
    ];
    let results = invoke(register, "aten::_adaptive_avg_pool3d.out", arguments).unwrap();
    assert_close(
        &results[2],
        &[
            -0.5, 1.0, 1.125, 0.0, 0.125, -1.125, 1.125, -0.125, 0.0, -1.125, -1.0, 0.5,
        ],
    );
}

#[test]
fn images_are_not_volumes() {
    let operator = "aten::adaptive_max_pool3d.out";
    let error = adaptive_max(operator, &[2, 3, 5], &[1, 2, 3]).unwrap_err();
    assert!(error.to_string().contains("[2, 3, 5]"), "{error}");
}

#[test]
fn means_of_integers_are_rounded_towards_zero() {
    let input = Tensor::from_slice(&[-3i64, -4, 5, 6], &[1, 1, 4]).unwrap();
    let arguments = vec![
        input.into(),
        list(&[1, 2]),
        list(&[1, 1]),
        list(&[0]),
        false.into(),
        true.into(),
        Argument::None,
        out(DType::I64, 3),
    ];
    let results = invoke(register, "aten::avg_pool2d.out", arguments).unwrap();
    assert_eq!(integers(&results[7]), [-3, 0, 5]);
}
