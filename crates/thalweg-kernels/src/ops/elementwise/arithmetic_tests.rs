//! Sums, products, quotients and powers of two operands.

use thalweg_core::{Argument, Bool, Complex32, DType, bf16, f16};

use super::tests::{bools, empty, message, on_rows, row, run};

#[test]
fn operands_of_different_types_are_promoted() {
    let sum = on_rows::<f32>(
        "aten::add.out",
        &[row(&[1i64, -2]), row(&[0.5f32, 0.25]), 1.into()],
    );
    assert_eq!(sum, [1.5, -1.75]);
    let product = on_rows::<i16>("aten::mul.out", &[row(&[200u8, 3]), row(&[-100i8, 5])]);
    assert_eq!(product, [-20000, 15]);
}

#[test]
fn integers_wrap() {
    assert_eq!(
        on_rows::<u8>(
            "aten::add.out",
            &[row(&[250u8, 1]), row(&[10u8, 1]), 1.into()]
        ),
        [4, 2]
    );
    assert_eq!(
        on_rows::<i64>("aten::mul.out", &[row(&[i64::MAX, 3]), row(&[2i64, 4])]),
        [-2, 12]
    );
    assert_eq!(
        on_rows::<i8>("aten::neg.out", &[row(&[-128i8, 5])]),
        [-128, -5]
    );
}

#[test]
fn alpha_scales_the_second_operand() {
    let operands = [row(&[10i32, 20]), row(&[1i32, 2])];
    let with = |alpha: Argument| [operands[0].clone(), operands[1].clone(), alpha];
    assert_eq!(on_rows::<i32>("aten::add.out", &with(3.into())), [13, 26]);
    assert_eq!(on_rows::<i32>("aten::sub.out", &with(3.into())), [7, 14]);
    assert_eq!(
        message("aten::add.out", &with(0.5.into()), empty(DType::I32, 1)),
        "alpha is a double, which a sum of i32 cannot be scaled by"
    );
}

#[test]
fn a_sum_of_booleans_is_whether_either_is_true() {
    let (a, b) = (bools(&[true, true, false]), bools(&[true, false, false]));
    let sum = on_rows::<Bool>("aten::add.out", &[row(&a), row(&b), 1.into()]);
    assert_eq!(sum, bools(&[true, true, false]));
    assert!(
        run(
            "aten::sub.out",
            &[row(&a), row(&b), 1.into()],
            empty(DType::Bool, 1)
        )
        .is_err()
    );
}

#[test]
fn a_number_takes_the_type_of_the_tensor() {
    // 300 is 44 in eight bits, in sums and in comparisons.
    assert_eq!(
        on_rows::<u8>(
            "aten::add.Scalar_out",
            &[row(&[5u8, 200]), 300.into(), 1.into()]
        ),
        [49, 244]
    );
    assert_eq!(
        on_rows::<Bool>("aten::lt.Scalar_out", &[row(&[5u8, 200]), 300.into()]),
        bools(&[true, false])
    );
    assert_eq!(
        on_rows::<f32>("aten::mul.Scalar_out", &[row(&[3i32]), 0.5.into()]),
        [1.5]
    );
}

#[test]
fn halves_are_computed_in_f32_and_rounded_once() {
    let a: Vec<_> = [2049f32, 0.1].map(bf16::from_f32).to_vec();
    let sum = on_rows::<bf16>("aten::add.out", &[row(&a), row(&a), 1.into()]);
    assert_eq!(
        sum,
        [a[0].to_f32() * 2.0, a[1].to_f32() * 2.0].map(bf16::from_f32)
    );
    // A factor keeps its precision, as it does in PyTorch: 0.3 is not rounded to f16 first.
    let x = f16::from_f32(100.0);
    let product = on_rows::<f16>("aten::mul.Scalar_out", &[row(&[x]), 0.1.into()]);
    assert_eq!(product, [f16::from_f32(10.0)]);
    // An i64 next to f16 is rounded to it before it is compared.
    let equal = on_rows::<Bool>(
        "aten::eq.Tensor_out",
        &[row(&[2049i64]), row(&[f16::from_f32(2048.0)])],
    );
    assert_eq!(equal, bools(&[true]));
}

#[test]
fn integers_are_divided_as_floats() {
    let quotient = on_rows::<f32>("aten::div.out", &[row(&[7i32, -7, 1]), row(&[2i32, 2, 0])]);
    assert_eq!(quotient, [3.5, -3.5, f32::INFINITY]);
    let arguments = [row(&[7i32]), row(&[2i32])];
    assert_eq!(
        message("aten::div.out", &arguments, empty(DType::I32, 1)),
        "a result of type f32 cannot be stored in an output of type i32"
    );
}

#[test]
fn a_rounded_quotient_is_rounded_down_or_towards_zero() {
    let operands = [row(&[7i32, -7, -8]), row(&[2i32, 2, -3])];
    let with = |mode: &str| [operands[0].clone(), operands[1].clone(), mode.into()];
    assert_eq!(
        on_rows::<i32>("aten::div.out_mode", &with("floor")),
        [3, -4, 2]
    );
    assert_eq!(
        on_rows::<i32>("aten::div.out_mode", &with("trunc")),
        [3, -3, 2]
    );
    assert_eq!(
        message("aten::div.out_mode", &with("up"), empty(DType::I32, 1)),
        "there is no rounding mode `up`"
    );
}

#[test]
fn an_integer_divided_by_zero_is_an_error_and_a_float_is_not() {
    for operator in [
        "aten::fmod.Tensor_out",
        "aten::remainder.Tensor_out",
        "aten::floor_divide.out",
    ] {
        assert_eq!(
            message(
                operator,
                &[row(&[1i64]), row(&[0i64])],
                empty(DType::I64, 1)
            ),
            "division of an integer by zero"
        );
    }
    assert!(on_rows::<f32>("aten::fmod.Scalar_out", &[row(&[5f32]), 0.0.into()])[0].is_nan());
    assert_eq!(
        on_rows::<f32>(
            "aten::floor_divide.out",
            &[row(&[5f32, -5.0]), row(&[0f32, 0.0])]
        ),
        [f32::INFINITY, f32::NEG_INFINITY]
    );
    // The one quotient that does not fit.
    assert_eq!(
        on_rows::<i64>("aten::floor_divide.out", &[row(&[i64::MIN]), row(&[-1i64])]),
        [i64::MIN]
    );
}

#[test]
fn a_remainder_has_the_sign_of_the_divisor_and_fmod_that_of_the_dividend() {
    let operands = [row(&[7f32, -7.0, 7.0, -7.0]), row(&[3f32, 3.0, -3.0, -3.0])];
    assert_eq!(
        on_rows::<f32>("aten::remainder.Tensor_out", &operands),
        [1.0, 2.0, -2.0, -1.0]
    );
    assert_eq!(
        on_rows::<f32>("aten::fmod.Tensor_out", &operands),
        [1.0, -1.0, 1.0, -1.0]
    );
}

#[test]
fn maximum_and_minimum_are_nan_if_an_operand_is() {
    let operands = [row(&[f32::NAN, 1.0, 2.0]), row(&[1.0, f32::NAN, 3.0])];
    for (operator, expected) in [("aten::maximum.out", 3.0), ("aten::minimum.out", 2.0)] {
        let values = on_rows::<f32>(operator, &operands);
        assert!(values[0].is_nan() && values[1].is_nan());
        assert_eq!(values[2], expected);
    }
}

#[test]
fn quotients_and_powers_that_have_no_short_way_are_right_among_those_that_do() {
    // Long enough for several chunks, in some of which everything is simple.
    let ones = |len: usize| (0..len).map(|i| 1.5 + (i % 7) as f32);
    let special = [
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        -3.0,
        1e30,
        1e-42,
    ];
    let a: Vec<f32> = ones(700).chain(special).chain(ones(600)).collect();
    let b: Vec<f32> = a.iter().rev().copied().collect();
    let rest = |a: f32, b: f32| {
        let rest = a % b;
        if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
            rest + b
        } else {
            rest
        }
    };
    let check = |operator: &str, expected: &dyn Fn(f32, f32) -> f32, tolerance: f32| {
        let found: Vec<f32> = on_rows(operator, &[row(&a), row(&b)]);
        for ((&a, &b), &found) in a.iter().zip(&b).zip(&found) {
            let expected = expected(a, b);
            let is_same = found == expected || (found.is_nan() && expected.is_nan());
            let is_near = (found - expected).abs() <= tolerance * expected.abs();
            assert!(
                is_same || is_near,
                "{operator}: {a:e}, {b:e}: {found:e}, not {expected:e}"
            );
        }
    };
    check("aten::fmod.Tensor_out", &|a, b| a % b, 0.0);
    check("aten::remainder.Tensor_out", &rest, 0.0);
    check("aten::pow.Tensor_Tensor_out", &f32::powf, 2e-7);
    // As PyTorch has it: from what is left, and infinite or none where the divisor is zero.
    let floor = |a: f32, b: f32| {
        let left = a % b;
        let whole = (f64::from(a) - f64::from(left)) / f64::from(b);
        let is_below = left != 0.0 && (left < 0.0) != (b < 0.0);
        match b {
            0.0 => a / b,
            _ if is_below => (whole.round() - 1.0) as f32,
            _ => whole.round() as f32,
        }
    };
    check("aten::floor_divide.out", &floor, 1e-6);
}

#[test]
fn powers_of_integers_are_integers() {
    assert_eq!(
        on_rows::<i64>("aten::pow.Tensor_Scalar_out", &[row(&[3i64, -2]), 3.into()]),
        [27, -8]
    );
    let operands = [row(&[2i32, 1, -1, -1]), row(&[-1i32, -5, -3, -2])];
    assert_eq!(
        on_rows::<i32>("aten::pow.Tensor_Tensor_out", &operands),
        [0, 1, -1, 1]
    );
    assert_eq!(
        message(
            "aten::pow.Tensor_Scalar_out",
            &[row(&[2i64]), (-1).into()],
            empty(DType::I64, 1)
        ),
        "an integer cannot be raised to the power of -1"
    );
    assert_eq!(
        on_rows::<f32>("aten::pow.Tensor_Scalar_out", &[row(&[4i64]), 0.5.into()]),
        [2.0]
    );
    assert_eq!(
        on_rows::<f32>("aten::pow.Scalar_out", &[2.0.into(), row(&[3i32, -1])]),
        [8.0, 0.5]
    );
}

#[test]
fn common_exponents_give_what_the_power_gives() {
    for exponent in [0.0, 1.0, 2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 2.5] {
        let power = on_rows::<f64>(
            "aten::pow.Tensor_Scalar_out",
            &[row(&[1.7f64]), exponent.into()],
        );
        assert!((power[0] - 1.7f64.powf(exponent)).abs() < 1e-15 * 10.0);
    }
}

#[test]
fn complex_numbers_add_multiply_and_divide() {
    let (a, b) = (
        row(&[Complex32::new(1.0, 2.0)]),
        row(&[Complex32::new(0.0, 1.0)]),
    );
    let product = on_rows::<Complex32>("aten::mul.out", &[a.clone(), b.clone()]);
    assert_eq!(product, [Complex32::new(-2.0, 1.0)]);
    let quotient = on_rows::<Complex32>("aten::div.out", &[a, b]);
    assert_eq!(quotient, [Complex32::new(2.0, -1.0)]);
    assert_eq!(
        on_rows::<f32>("aten::abs.out", &[row(&[Complex32::new(3.0, 4.0)])]),
        [5.0]
    );
}
