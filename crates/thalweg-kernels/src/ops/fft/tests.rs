//! Numbers are results of PyTorch.

use thalweg_core::{Argument, Complex32, DType, Result, Tensor};

use super::register;
use crate::testing::{assert_close, in_order, invoke, list, numbers, out};

const CALL: &str = "the operator runs";

fn r2c(input: &Tensor, dims: &[i64], norm: i64, onesided: bool) -> Result<Vec<Complex32>> {
    let out = out(DType::ComplexF32, input.sizes().len());
    let arguments = vec![input.into(), list(dims), norm.into(), onesided.into(), out];
    complex(&invoke(register, "aten::_fft_r2c.out", arguments)?[4])
}

fn c2c(input: &Tensor, dims: &[i64], norm: i64, forward: bool) -> Result<Vec<Complex32>> {
    let out = out(DType::ComplexF32, input.sizes().len());
    let arguments = vec![input.into(), list(dims), norm.into(), forward.into(), out];
    complex(&invoke(register, "aten::_fft_c2c.out", arguments)?[4])
}

fn c2r(input: &Tensor, dims: &[i64], norm: i64, last: i64) -> Result<Argument> {
    let out = out(DType::F32, input.sizes().len());
    let arguments = vec![input.into(), list(dims), norm.into(), last.into(), out];
    Ok(invoke(register, "aten::_fft_c2r.out", arguments)?[4].clone())
}

fn complex(result: &Argument) -> Result<Vec<Complex32>> {
    Ok(result
        .tensor()?
        .to_row_major()?
        .data::<Complex32>()?
        .to_vec())
}

fn signal() -> Tensor {
    let [re, im] = [
        [-5.0, 2.0, -2.0, 5.0, 1.0, -3.0],
        [-4.0, 3.0, -1.0, 6.0, 2.0, -2.0],
    ];
    let data: Vec<_> = re
        .into_iter()
        .zip(im)
        .map(|(re, im)| Complex32::new(re, im))
        .collect();
    Tensor::from_slice(&data, &[2, 3]).unwrap()
}

#[track_caller]
fn assert_complex(values: &[Complex32], expected: &[(f32, f32)]) {
    assert_eq!(values.len(), expected.len());
    for (a, &(re, im)) in values.iter().zip(expected) {
        assert!((a - Complex32::new(re, im)).norm() < 1e-4, "{values:?}");
    }
}

#[test]
fn half_of_a_real_signals_transform_is_enough() {
    let values = r2c(&numbers(&[2, 5]), &[1], 0, true).expect(CALL);
    let expected = [
        (1.0, 0.0),
        (-6.5, 3.16344),
        (-6.5, -7.245181),
        (0.0, 0.0),
        (2.399187, -3.302197),
        (-9.899186, 3.216441),
    ];
    assert_complex(&values, &expected);
}

#[test]
fn real_signals_of_any_length_are_transformed_as_the_definition_says() {
    for points in [1, 2, 3, 4, 6, 10, 12, 30, 96] {
        let data: Vec<f32> = (0..2 * points)
            .map(|i| ((i * 37) % 11) as f32 - 4.0)
            .collect();
        let input = Tensor::from_slice(&data, &[2, points]).unwrap();
        let found = r2c(&input, &[1], 0, true).expect(CALL);
        let half = points / 2 + 1;
        assert_eq!(found.len(), 2 * half);
        for (at, found) in found.iter().enumerate() {
            let (line, k) = (&data[at / half * points..][..points], at % half);
            let (mut re, mut im) = (0.0, 0.0);
            for (i, &x) in line.iter().enumerate() {
                let angle = -std::f64::consts::TAU * (i * k) as f64 / points as f64;
                re += f64::from(x) * angle.cos();
                im += f64::from(x) * angle.sin();
            }
            let error = (f64::from(found.re) - re).hypot(f64::from(found.im) - im);
            assert!(
                error < 1e-4,
                "{points} points, {k}: {found} is not {re} + {im}i"
            );
        }
    }
}

#[test]
fn half_of_a_transform_over_two_dimensions_is_half_of_the_whole() {
    let input = numbers(&[3, 6]);
    let whole = r2c(&input, &[0, 1], 1, false).expect(CALL);
    let half = r2c(&input, &[0, 1], 1, true).expect(CALL);
    let expected: Vec<_> = whole
        .chunks(6)
        .flat_map(|line| line[..4].iter().map(|x| (x.re, x.im)))
        .collect();
    assert_complex(&half, &expected);
}

#[test]
fn the_whole_transform_over_two_dimensions_can_be_had() {
    let expected = [
        (0.316228, 0.0),
        (-1.296791, -0.043879),
        (-5.185878, -1.273999),
        (-5.185878, 1.273999),
        (-1.296791, 0.043879),
        (0.316228, 0.0),
        (-2.81417, 2.044614),
        (1.074917, -3.308255),
        (1.074917, 3.308255),
        (-2.81417, -2.044614),
    ];
    let input = numbers(&[2, 5]);
    for order in [[0, 1], [1, 0]] {
        let values = r2c(&in_order(&input, &order), &[0, 1], 1, false).expect(CALL);
        assert_complex(&values, &expected);
    }
}

#[test]
fn complex_signals_are_transformed_forwards_and_backwards() {
    let forward = [
        (-2.0, 4.0),
        (7.928204, -5.928204),
        (-5.928204, 7.928204),
        (-8.0, -8.0),
        (-11.0, -11.0),
        (-11.0, -11.0),
    ];
    assert_complex(&c2c(&signal(), &[0, 1], 0, true).expect(CALL), &forward);
    let backward = [
        (0.0, 1.0),
        (1.5, 2.5),
        (-2.5, -1.5),
        (-5.0, -5.0),
        (0.5, 0.5),
        (0.5, 0.5),
    ];
    assert_complex(&c2c(&signal(), &[0], 2, false).expect(CALL), &backward);
}

#[test]
fn without_dimensions_nothing_is_transformed() {
    let values = c2c(&signal(), &[], 2, true).expect(CALL);
    assert_eq!(values, signal().data::<Complex32>().unwrap());
}

#[test]
fn real_signals_of_even_and_odd_length_come_back() {
    let even = [0.125, -0.625, -1.375, 1.875, -0.875, -1.625, -1.375, -1.125];
    assert_close(&c2r(&signal(), &[0, 1], 2, 4).expect(CALL), &even);
    let odd = [
        -5.0, -5.058_633, -14.900_96, -4.043_311, 4.002_905, 1.0, 9.019_052, -4.627_503, 7.683_231,
        11.925_221,
    ];
    assert_close(&c2r(&signal(), &[1], 0, 5).expect(CALL), &odd);
}

#[test]
fn signals_without_lines_are_empty_and_lines_without_points_are_refused() {
    let none = Tensor::zeros(DType::F32, &[0, 4]).unwrap();
    assert_eq!(r2c(&none, &[1], 0, true).expect(CALL), []);
    let error = r2c(&none, &[0], 0, true).unwrap_err();
    assert!(error.to_string().contains("no points"), "{error}");
}

#[test]
fn half_a_transform_that_is_too_short_is_refused() {
    let error = c2r(&signal(), &[1], 0, 6).unwrap_err();
    let expected = "a signal of 6 points has a transform of 4 numbers, not of 3";
    assert!(error.to_string().contains(expected), "{error}");
    assert!(c2r(&signal(), &[1, 1], 0, 4).is_err());
    assert!(r2c(&numbers(&[2, 5]), &[], 0, true).is_err());
}
