use proptest::prelude::*;
use thalweg_core::{Argument, Bool, DType, Element, KernelRegistry, Result, Tensor};

use crate::testing::random_cases;

/// Runs an operator and gives its output, the last argument, which has the element type and, by
/// the shape's rank, the dim order of `out`.
pub(super) fn run(operator: &str, arguments: &[Argument], out: Tensor) -> Result<Tensor> {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry)?;
    let kernel = registry.get(operator).expect(operator);
    let mut arguments = arguments.to_vec();
    arguments.push(out.into());
    let position = arguments.len() - 1;
    let results = kernel.invoke(arguments)?;
    results[position].tensor().cloned()
}

pub(super) fn row<T: Element>(data: &[T]) -> Argument {
    Tensor::from_slice(data, &[data.len()]).unwrap().into()
}

pub(super) fn of<T: Element>(data: &[T], sizes: &[usize]) -> Argument {
    Tensor::from_slice(data, sizes).unwrap().into()
}

pub(super) fn empty(dtype: DType, rank: usize) -> Tensor {
    Tensor::zeros(dtype, &[0; 8][..rank]).unwrap()
}

pub(super) fn none() -> Argument {
    Argument::None
}

/// The elements of the result of an operator on rows.
pub(super) fn on_rows<T: Element>(operator: &str, arguments: &[Argument]) -> Vec<T> {
    let out = run(operator, arguments, empty(T::DTYPE, 1)).unwrap();
    out.data::<T>().unwrap().to_vec()
}

pub(super) fn message(operator: &str, arguments: &[Argument], out: Tensor) -> String {
    run(operator, arguments, out)
        .unwrap_err()
        .message()
        .to_string()
}

pub(super) fn bools(values: &[bool]) -> Vec<Bool> {
    values.iter().map(|&value| value.into()).collect()
}

#[test]
fn shapes_broadcast() {
    let out = run(
        "aten::add.out",
        &[
            of(&[1f32, 2.0], &[2, 1]),
            row(&[10f32, 20.0, 30.0]),
            1.into(),
        ],
        empty(DType::F32, 2),
    )
    .unwrap();
    assert_eq!(out.sizes(), [2, 3]);
    assert_eq!(
        out.data::<f32>().unwrap(),
        [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]
    );
}

#[test]
fn shapes_that_do_not_broadcast_are_named() {
    let arguments = [of(&[0f32; 6], &[2, 3]), row(&[0f32; 4])];
    assert_eq!(
        message("aten::mul.out", &arguments, empty(DType::F32, 2)),
        "shapes [2, 3] and [4] do not broadcast"
    );
}

#[test]
fn operands_and_output_may_each_have_a_dim_order_of_their_own() {
    // [1, 2, 1, 3]: channels last keeps the two channels of each position together.
    let last = Tensor::from_bytes(
        DType::I32,
        &[1, 2, 1, 3],
        &[0, 2, 3, 1],
        bytemuck::cast_slice(&[0i32, 3, 1, 4, 2, 5]),
    )
    .unwrap();
    let first = of(&[0i32, 10, 20, 30, 40, 50], &[1, 2, 1, 3]);
    for order in [[0, 1, 2, 3], [0, 2, 3, 1], [3, 2, 1, 0]] {
        let out = Tensor::zeros_in_order(DType::I32, &[0; 4], &order).unwrap();
        let out = run(
            "aten::add.out",
            &[(&last).into(), first.clone(), 1.into()],
            out,
        )
        .unwrap();
        assert_eq!(out.dim_order(), order);
        assert_eq!(
            out.to_row_major().unwrap().data::<i32>().unwrap(),
            [0, 11, 22, 33, 44, 55]
        );
    }
}

#[test]
fn a_bias_per_channel_is_added_to_channels_last() {
    let x = Tensor::from_bytes(
        DType::F32,
        &[1, 2, 2, 1],
        &[0, 2, 3, 1],
        bytemuck::cast_slice(&[0f32, 1.0, 2.0, 3.0]),
    )
    .unwrap();
    let out = Tensor::zeros_in_order(DType::F32, &[0; 4], &[0, 2, 3, 1]).unwrap();
    let bias = of(&[10f32, 20.0], &[2, 1, 1]);
    let out = run("aten::add.out", &[x.into(), bias, 1.into()], out).unwrap();
    assert_eq!(out.data::<f32>().unwrap(), [10.0, 21.0, 12.0, 23.0]);
}

#[test]
fn comparisons_are_false_for_nan_except_not_equal() {
    let operands = [row(&[f32::NAN, 1.0, 2.0]), row(&[f32::NAN, 1.0, 1.0])];
    for (operator, expected) in [
        ("aten::eq.Tensor_out", [false, true, false]),
        ("aten::ne.Tensor_out", [true, false, true]),
        ("aten::le.Tensor_out", [false, true, false]),
        ("aten::lt.Tensor_out", [false, false, false]),
        ("aten::ge.Tensor_out", [false, true, true]),
        ("aten::gt.Tensor_out", [false, false, true]),
    ] {
        assert_eq!(
            on_rows::<Bool>(operator, &operands),
            bools(&expected),
            "{operator}"
        );
    }
}

#[test]
fn a_boolean_may_be_stored_as_a_number() {
    let operands = [row(&[1f32, 2.0]), row(&[1f32, 1.0])];
    assert_eq!(on_rows::<f32>("aten::eq.Tensor_out", &operands), [1.0, 0.0]);
}

#[test]
fn logic_counts_every_number_but_zero_as_true() {
    let operands = [row(&[0.5f32, 0.0, f32::NAN]), row(&[1i64, 1, 0])];
    let on = |operator| on_rows::<Bool>(operator, &operands);
    assert_eq!(on("aten::logical_and.out"), bools(&[true, false, false]));
    assert_eq!(on("aten::logical_or.out"), bools(&[true, true, true]));
    assert_eq!(on("aten::logical_xor.out"), bools(&[false, true, true]));
    assert_eq!(
        on_rows::<Bool>("aten::logical_not.out", &[row(&[0i32, -3])]),
        bools(&[true, false])
    );
}

#[test]
fn bits_of_integers_and_booleans_are_combined() {
    let operands = [row(&[0b1100u8]), row(&[0b1010u8])];
    assert_eq!(
        on_rows::<u8>("aten::bitwise_and.Tensor_out", &operands),
        [0b1000]
    );
    assert_eq!(
        on_rows::<u8>("aten::bitwise_or.Tensor_out", &operands),
        [0b1110]
    );
    assert_eq!(
        on_rows::<u8>("aten::bitwise_xor.Tensor_out", &operands),
        [0b0110]
    );
    assert_eq!(
        on_rows::<i16>("aten::bitwise_not.out", &[row(&[5i16])]),
        [-6]
    );
    let mask = bools(&[true, false]);
    assert_eq!(
        on_rows::<Bool>("aten::bitwise_not.out", &[row(&mask)]),
        bools(&[false, true])
    );
    let floats = [row(&[1f32]), row(&[1f32])];
    assert_eq!(
        message(
            "aten::bitwise_and.Tensor_out",
            &floats,
            empty(DType::F32, 1)
        ),
        "the operator does not work on elements of type f32"
    );
}

#[test]
fn bits_shifted_by_too_much_are_gone() {
    let operands = [row(&[1i8, -128, 3]), row(&[9i8, 3, -1])];
    assert_eq!(
        on_rows::<i8>("aten::bitwise_left_shift.Tensor_out", &operands),
        [0, 0, 0]
    );
    assert_eq!(
        on_rows::<i8>("aten::bitwise_right_shift.Tensor_out", &operands),
        [0, -16, 0]
    );
}

#[test]
fn a_condition_chooses_and_broadcasts() {
    let condition = bools(&[true, false]);
    let out = run(
        "aten::where.self_out",
        &[of(&condition, &[2, 1]), row(&[1i32, 2]), of(&[0.5f64], &[])],
        empty(DType::F64, 2),
    )
    .unwrap();
    assert_eq!(out.data::<f64>().unwrap(), [1.0, 2.0, 0.5, 0.5]);
    let filled = on_rows::<i64>(
        "aten::masked_fill.Scalar_out",
        &[row(&[1i64, 2]), row(&condition), 7.9.into()],
    );
    assert_eq!(filled, [7, 2]);
    assert!(
        run(
            "aten::where.self_out",
            &[row(&[1i64]), row(&[1i64]), row(&[1i64])],
            empty(DType::I64, 1)
        )
        .is_err()
    );
}

#[test]
fn limits_keep_nan_and_the_upper_one_wins() {
    let x = row(&[f32::NAN, -3.0, 0.5, 9.0]);
    let clamped = on_rows::<f32>("aten::clamp.out", &[x.clone(), 0.into(), 1.into()]);
    assert!(clamped[0].is_nan());
    assert_eq!(clamped[1..], [0.0, 0.5, 1.0]);
    assert_eq!(
        on_rows::<f32>("aten::clamp.out", &[x.clone(), 3.into(), 2.into()])[1..],
        [2.0; 3]
    );
    assert_eq!(
        on_rows::<f32>("aten::clamp.out", &[x.clone(), none(), 0.into()])[1..],
        [-3.0, 0.0, 0.0]
    );
    assert!(
        run(
            "aten::clamp.out",
            &[x.clone(), none(), none()],
            empty(DType::F32, 1)
        )
        .is_err()
    );
    assert_eq!(
        on_rows::<f32>(
            "aten::hardtanh.out",
            &[x.clone(), (-1.0).into(), 1.0.into()]
        )[1..],
        [-1.0, 0.5, 1.0]
    );
    let relu = on_rows::<f32>("aten::relu.out", &[x]);
    assert!(relu[0].is_nan());
    assert_eq!(relu[1..], [0.0, 0.5, 9.0]);
    let limits = [row(&[1i32, 2]), row(&[1.5f32, 3.0]), none()];
    assert_eq!(
        on_rows::<f32>("aten::clamp.Tensor_out", &limits),
        [1.5, 3.0]
    );
}

#[test]
fn functions_of_integers_are_of_f32() {
    let exp = on_rows::<f32>("aten::exp.out", &[row(&[0i64, 1])]);
    assert_eq!(exp, [1.0, std::f32::consts::E]);
    assert_eq!(on_rows::<f32>("aten::rsqrt.out", &[row(&[4u8])]), [0.5]);
}

/// Values from PyTorch, in f64.
#[test]
fn functions_have_pytorchs_values() {
    for (operator, x, expected) in [
        ("aten::acos.out", 0.3, 1.2661036727794992),
        ("aten::atanh.out", -0.99, -2.6466524123622457),
        ("aten::cos.out", 2.0, -0.4161468365471424),
        ("aten::erf.out", 0.5, 0.5204998778130465),
        ("aten::expm1.out", 1e-5, 1.0000050000166667e-05),
        ("aten::log1p.out", 1e-5, 9.999950000333332e-06),
        ("aten::log2.out", 12.0, 3.584962500721156),
        ("aten::reciprocal.out", 3.0, 1.0 / 3.0),
        ("aten::sigmoid.out", -1.5, 0.18242552380635635),
        ("aten::sin.out", 2.0, 0.9092974268256817),
        ("aten::tanh.out", 0.7, 0.6043677771171636),
    ] {
        let value = on_rows::<f64>(operator, &[row(&[x])])[0];
        assert!(
            (value - expected).abs() <= 4e-16 * expected.abs(),
            "{operator}: {value}"
        );
        let value = on_rows::<f32>(operator, &[row(&[x as f32])])[0];
        assert!(
            (f64::from(value) - expected).abs() <= 1e-6 * expected.abs(),
            "{operator}: {value}"
        );
    }
}

#[test]
fn gelu_has_an_exact_and_an_approximate_form() {
    let x = row(&[-1.3f64, 0.7]);
    let exact = on_rows::<f64>("aten::gelu.out", &[x.clone(), "none".into()]);
    let tanh = on_rows::<f64>("aten::gelu.out", &[x.clone(), "tanh".into()]);
    for (value, expected) in exact.iter().zip([-0.1258406299612934, 0.5306254434438489]) {
        assert!((value - expected).abs() < 1e-12);
    }
    for (value, expected) in tanh.iter().zip([-0.1260709876826906, 0.5305701347051167]) {
        assert!((value - expected).abs() < 1e-12);
    }
    assert_eq!(
        message("aten::gelu.out", &[x, "fast".into()], empty(DType::F64, 1)),
        "there is no approximation `fast`"
    );
}

#[test]
fn rounding_goes_to_the_even_neighbour_and_leaves_integers_alone() {
    let x = row(&[0.5f32, 1.5, 2.5, -0.7]);
    assert_eq!(
        on_rows::<f32>("aten::round.out", std::slice::from_ref(&x)),
        [0.0, 2.0, 2.0, -1.0]
    );
    assert_eq!(
        on_rows::<f32>("aten::trunc.out", std::slice::from_ref(&x)),
        [0.0, 1.0, 2.0, 0.0]
    );
    assert_eq!(
        on_rows::<f32>("aten::floor.out", std::slice::from_ref(&x)),
        [0.0, 1.0, 2.0, -1.0]
    );
    assert_eq!(on_rows::<i32>("aten::ceil.out", &[row(&[3i32])]), [3]);
}

#[test]
fn copies_convert_types_and_dim_orders() {
    let x = of(&[0.5f32, 1.0, 2.0, 3.0, 4.0, 5.0], &[1, 3, 2, 1]);
    for dtype in [DType::F32, DType::BF16, DType::I64, DType::U8] {
        let out = Tensor::zeros_in_order(dtype, &[0; 4], &[0, 2, 3, 1]).unwrap();
        let out = run(
            "dim_order_ops::_to_dim_order_copy.out",
            &[x.clone(), false.into(), (&[0i64, 2, 3, 1][..]).into()],
            out,
        )
        .unwrap();
        // Back again, to compare.
        let back = run(
            "dim_order_ops::_to_dim_order_copy.out",
            &[out.into(), false.into(), none()],
            empty(DType::F32, 4),
        )
        .unwrap();
        let first = if dtype.is_float() { 0.5 } else { 0.0 };
        assert_eq!(
            back.data::<f32>().unwrap(),
            [first, 1.0, 2.0, 3.0, 4.0, 5.0]
        );
    }
}

#[test]
fn elements_of_any_size_are_moved_as_they_are() {
    for dtype in DType::ALL {
        let bytes: Vec<u8> = (0..6 * dtype.size()).map(|i| i as u8).collect();
        let x = Tensor::from_bytes(dtype, &[2, 3], &[1, 0], &bytes).unwrap();
        let arguments = [(&x).into(), false.into(), none()];
        let out = run(
            "dim_order_ops::_clone_dim_order.out",
            &arguments,
            empty(dtype, 2),
        )
        .unwrap();
        let expected = x.to_row_major().unwrap();
        if dtype != DType::Bool {
            assert_eq!(out.view().bytes(), expected.view().bytes(), "{dtype}");
        }
    }
}

#[test]
fn a_copy_in_place_broadcasts_and_converts() {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry).unwrap();
    let kernel = registry.get("aten::copy_").unwrap();
    let copy = |into: Argument, from: Argument| kernel.invoke(vec![into, from, false.into()]);
    let results = copy(of(&[0f32; 4], &[2, 2]), row(&[1i64, 2])).unwrap();
    let values = results[0].tensor().unwrap().data::<f32>().unwrap().to_vec();
    assert_eq!(values, [1.0, 2.0, 1.0, 2.0]);
    let error = copy(row(&[0f32; 2]), of(&[0f32; 4], &[2, 2])).unwrap_err();
    assert_eq!(error.message(), "shape [2, 2] does not broadcast to [2]");
}

#[test]
fn tensors_without_elements_or_dimensions_are_operands() {
    let out = run(
        "aten::add.out",
        &[of(&[0f32; 0], &[0, 3]), row(&[1f32, 2.0, 3.0]), 1.into()],
        empty(DType::F32, 2),
    );
    assert_eq!(out.unwrap().sizes(), [0, 3]);
    let out = run(
        "aten::mul.out",
        &[of(&[3f32], &[]), of(&[4f32], &[])],
        empty(DType::F32, 0),
    )
    .unwrap();
    assert_eq!(out.data::<f32>().unwrap(), [12.0]);
}

proptest! {
    #![proptest_config(random_cases(256))]

    /// Sizes around those of a chunk, where runs, chunks and buffers meet.
    #[test]
    fn broadcasting_over_many_chunks_agrees_with_indexing(
        rows in 1usize..40, columns in 1usize..700, order in prop::bool::ANY, by_row in prop::bool::ANY,
    ) {
        let x: Vec<i32> = (0..(rows * columns) as i32).collect();
        let (len, sizes) = if by_row { (rows, [rows, 1]) } else { (columns, [1, columns]) };
        let y: Vec<i64> = (0..len as i64).map(|i| i * 1000).collect();
        let order: &[u8] = if order { &[1, 0] } else { &[0, 1] };
        let out = Tensor::zeros_in_order(DType::I64, &[0, 0], order).unwrap();
        let arguments = [of(&x, &[rows, columns]), of(&y, &sizes), 1.into()];
        let out = run("aten::add.out", &arguments, out).unwrap().to_row_major().unwrap();
        for (i, &value) in out.data::<i64>().unwrap().iter().enumerate() {
            let at = if by_row { i / columns } else { i % columns };
            prop_assert_eq!(value, i as i64 + at as i64 * 1000);
        }
    }
}
