use proptest::prelude::*;
use thalweg_core::{Argument, Bool, DType, Element, KernelRegistry, Result, Tensor, bf16, f16};

use crate::testing::random_cases;

/// Runs an operator; its outputs, of these element types and rank, are its last arguments.
fn run(operator: &str, arguments: &[Argument], outs: &[DType], rank: usize) -> Result<Vec<Tensor>> {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry)?;
    let kernel = registry.get(operator).expect(operator);
    let mut arguments = arguments.to_vec();
    let first = arguments.len();
    for &dtype in outs {
        arguments.push(Tensor::zeros(dtype, &[0; 8][..rank])?.into());
    }
    let results = kernel.invoke(arguments)?;
    results[first..first + outs.len()]
        .iter()
        .map(|result| result.tensor().cloned())
        .collect()
}

fn of<T: Element>(data: &[T], sizes: &[usize]) -> Argument {
    Tensor::from_slice(data, sizes).unwrap().into()
}

fn dims(dims: &[i64]) -> Argument {
    dims.into()
}

fn sum<T: Element>(input: Argument, over: Argument, keepdim: bool, rank: usize) -> Result<Tensor> {
    let arguments = [input, over, keepdim.into(), Argument::None];
    Ok(run("aten::sum.IntList_out", &arguments, &[T::DTYPE], rank)?.remove(0))
}

fn message<T>(result: Result<T>) -> String {
    result.err().unwrap().message().to_string()
}

fn counting(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32).collect()
}

#[test]
fn a_sum_is_over_the_dimensions_of_a_list() {
    let x = of(&counting(24), &[2, 3, 4]);
    let over_inner = sum::<f32>(x.clone(), dims(&[2]), false, 2).unwrap();
    assert_eq!(over_inner.sizes(), [2, 3]);
    assert_eq!(
        over_inner.data::<f32>().unwrap(),
        [6.0, 22.0, 38.0, 54.0, 70.0, 86.0]
    );
    let over_middle = sum::<f32>(x.clone(), dims(&[1]), false, 2).unwrap();
    assert_eq!(
        over_middle.data::<f32>().unwrap(),
        [12.0, 15.0, 18.0, 21.0, 48.0, 51.0, 54.0, 57.0]
    );
    let over_two = sum::<f32>(x, dims(&[0, 2]), false, 1).unwrap();
    assert_eq!(over_two.data::<f32>().unwrap(), [60.0, 92.0, 124.0]);
}

#[test]
fn no_list_and_an_empty_one_mean_all_dimensions() {
    for over in [Argument::None, dims(&[])] {
        let total = sum::<f32>(of(&counting(6), &[2, 3]), over, false, 0).unwrap();
        assert_eq!(total.sizes(), [] as [usize; 0]);
        assert_eq!(total.data::<f32>().unwrap(), [15.0]);
    }
}

#[test]
fn a_negative_dimension_counts_from_the_end() {
    let out = sum::<f32>(of(&counting(6), &[2, 3]), dims(&[-2]), false, 1).unwrap();
    assert_eq!(out.data::<f32>().unwrap(), [3.0, 5.0, 7.0]);
}

#[test]
fn a_reduced_dimension_can_be_kept_with_size_one() {
    let out = sum::<f32>(of(&counting(6), &[2, 3]), dims(&[1]), true, 2).unwrap();
    assert_eq!(out.sizes(), [2, 1]);
    assert_eq!(out.data::<f32>().unwrap(), [3.0, 12.0]);
}

#[test]
fn dimensions_that_do_not_exist_or_come_twice_are_errors() {
    let x = || of(&counting(6), &[2, 3]);
    assert_eq!(
        message(sum::<f32>(x(), dims(&[2]), false, 1)),
        "dimension 2 is out of range for a tensor of 2 dimensions"
    );
    assert_eq!(
        message(sum::<f32>(x(), dims(&[i64::MIN]), false, 1)),
        "dimension -9223372036854775808 is out of range for a tensor of 2 dimensions"
    );
    assert_eq!(
        message(sum::<f32>(x(), dims(&[0, -2]), false, 1)),
        "dimension -2 appears twice in [0, -2]"
    );
}

#[test]
fn a_tensor_without_dimensions_is_reduced_along_dimension_zero() {
    let out = sum::<f32>(of(&[3f32], &[]), dims(&[0]), false, 0).unwrap();
    assert_eq!(out.data::<f32>().unwrap(), [3.0]);
    let arguments = [of(&[3f32], &[]), (-1).into(), false.into()];
    let out = run("aten::argmax.out", &arguments, &[DType::I64], 0).unwrap();
    assert_eq!(out[0].data::<i64>().unwrap(), [0]);
}

#[test]
fn channels_last_is_reduced_by_its_logical_dimensions() {
    // [1, 2, 1, 3] whose channels are 0 1 2 and 10 11 12.
    let x = Tensor::from_bytes(
        DType::F32,
        &[1, 2, 1, 3],
        &[0, 2, 3, 1],
        bytemuck::cast_slice(&[0f32, 10.0, 1.0, 11.0, 2.0, 12.0]),
    )
    .unwrap();
    let per_channel = sum::<f32>((&x).into(), dims(&[2, 3]), false, 2).unwrap();
    assert_eq!(per_channel.data::<f32>().unwrap(), [3.0, 33.0]);
    let per_pixel = sum::<f32>((&x).into(), dims(&[1]), false, 3).unwrap();
    assert_eq!(per_pixel.data::<f32>().unwrap(), [10.0, 12.0, 14.0]);
    // The position of 12 among all elements is its logical one.
    let arguments = [x.into(), Argument::None, false.into()];
    let out = run("aten::argmax.out", &arguments, &[DType::I64], 0).unwrap();
    assert_eq!(out[0].data::<i64>().unwrap(), [5]);
}

#[test]
fn sums_of_many_floats_lose_nothing() {
    // In f32, one by one, the sum would stop growing at 2^24.
    let x = vec![1f32; 20_000_000];
    let total = sum::<f32>(of(&x, &[x.len()]), Argument::None, false, 0).unwrap();
    assert_eq!(total.data::<f32>().unwrap(), [2e7]);
    let tenth = vec![0.1f32; 1 << 20];
    let mean = |sizes: &[usize], over: &[i64]| {
        let arguments = [of(&tenth, sizes), dims(over), false.into(), Argument::None];
        run("aten::mean.out", &arguments, &[DType::F32], 1)
            .unwrap()
            .remove(0)
    };
    for (sizes, over) in [([4, 1 << 18], [1]), ([1 << 18, 4], [0])] {
        assert_eq!(mean(&sizes, &over).data::<f32>().unwrap(), [0.1; 4]);
    }
}

#[test]
fn halves_are_summed_in_more_precision() {
    let x = vec![bf16::ONE; 1000];
    let total = sum::<bf16>(of(&x, &[1000]), Argument::None, false, 0).unwrap();
    assert_eq!(total.data::<bf16>().unwrap(), [bf16::from_f32(1000.0)]);
    let x = vec![f16::from_f32(100.0); 1000];
    let arguments = [of(&x, &[1000]), dims(&[0]), false.into(), Argument::None];
    let mean = run("aten::mean.out", &arguments, &[DType::F16], 0).unwrap();
    assert_eq!(mean[0].data::<f16>().unwrap(), [f16::from_f32(100.0)]);
}

#[test]
fn integers_and_booleans_are_summed_as_i64() {
    let x = [200u8; 3];
    let total = sum::<i64>(of(&x, &[3]), Argument::None, false, 0).unwrap();
    assert_eq!(total.data::<i64>().unwrap(), [600]);
    let x = [true, false, true].map(Bool::from);
    let total = sum::<i64>(of(&x, &[3]), Argument::None, false, 0).unwrap();
    assert_eq!(total.data::<i64>().unwrap(), [2]);
}

#[test]
fn elements_take_the_type_asked_for_before_they_are_summed() {
    // 4 is i64: fractions go first.
    let arguments = [of(&[1.6f32, 2.7], &[2]), dims(&[0]), false.into(), 4.into()];
    let out = run("aten::sum.IntList_out", &arguments, &[DType::I64], 0).unwrap();
    assert_eq!(out[0].data::<i64>().unwrap(), [3]);
}

#[test]
fn of_nothing_the_sum_is_zero_and_the_mean_is_not_a_number() {
    let x = || of::<f32>(&[], &[0, 2]);
    let total = sum::<f32>(x(), dims(&[0]), false, 1).unwrap();
    assert_eq!(total.data::<f32>().unwrap(), [0.0, 0.0]);
    let arguments = [x(), dims(&[0]), false.into(), Argument::None];
    let mean = run("aten::mean.out", &arguments, &[DType::F32], 1).unwrap();
    assert!(mean[0].data::<f32>().unwrap().iter().all(|x| x.is_nan()));
    let arguments = [x(), dims(&[0]), false.into()];
    assert_eq!(
        message(run("aten::amax.out", &arguments, &[DType::F32], 1)),
        "a tensor of shape [0, 2] has no elements to choose from"
    );
    let arguments = [x(), 1.into(), false.into()];
    let positions = run("aten::argmax.out", &arguments, &[DType::I64], 1).unwrap();
    assert_eq!(positions[0].sizes(), [0]);
}

#[test]
fn sizes_whose_product_overflows_are_no_elements_if_one_is_zero() {
    let x = of::<f32>(&[], &[1 << 40, 1 << 40, 0]);
    let total = sum::<f32>(x.clone(), Argument::None, false, 0).unwrap();
    assert_eq!(total.data::<f32>().unwrap(), [0.0]);
    let positions = run(
        "aten::argmax.out",
        &[x, Argument::None, false.into()],
        &[DType::I64],
        0,
    );
    assert!(positions.is_err());
}

#[test]
fn the_mean_of_integers_needs_a_type() {
    let arguments = [
        of(&[1i64, 2], &[2]),
        dims(&[0]),
        false.into(),
        Argument::None,
    ];
    assert!(run("aten::mean.out", &arguments, &[DType::I64], 0).is_err());
    let arguments = [of(&[1i64, 2], &[2]), dims(&[0]), false.into(), 6.into()];
    let mean = run("aten::mean.out", &arguments, &[DType::F32], 0).unwrap();
    assert_eq!(mean[0].data::<f32>().unwrap(), [1.5]);
}

#[test]
fn any_and_all_count_every_number_but_zero_as_true() {
    let x = of(&[0f32, 0.0, f32::NAN, 1.0], &[2, 2]);
    let truth = |operator, arguments: &[Argument], rank| {
        let out = run(operator, arguments, &[DType::Bool], rank)
            .unwrap()
            .remove(0);
        let out = out.data::<Bool>().unwrap().iter().map(|x| x.get());
        out.collect::<Vec<_>>()
    };
    let by_row = [x.clone(), 1.into(), false.into()];
    assert_eq!(truth("aten::any.out", &by_row, 1), [false, true]);
    assert_eq!(truth("aten::all.out", &by_row, 1), [false, true]);
    assert_eq!(
        truth("aten::any.all_out", std::slice::from_ref(&x), 0),
        [true]
    );
    assert_eq!(
        truth("aten::all.all_out", std::slice::from_ref(&x), 0),
        [false]
    );
    let of_nothing = of::<f32>(&[], &[0]);
    assert_eq!(
        truth("aten::any.all_out", std::slice::from_ref(&of_nothing), 0),
        [false]
    );
    // Unlike in a sum, an empty list is no dimension.
    let over_none = [x, dims(&[]), false.into()];
    assert_eq!(
        truth("aten::any.dims_out", &over_none, 2),
        [false, false, true, true]
    );
}

#[test]
fn the_first_of_equals_is_found_and_nan_is_the_best() {
    let position = |operator, values: &[f32]| {
        let arguments = [of(values, &[values.len()]), Argument::None, false.into()];
        let out = run(operator, &arguments, &[DType::I64], 0).unwrap();
        out[0].data::<i64>().unwrap()[0]
    };
    assert_eq!(position("aten::argmax.out", &[1.0, 3.0, 3.0]), 1);
    assert_eq!(position("aten::argmin.out", &[2.0, 1.0, 1.0]), 1);
    assert_eq!(
        position(
            "aten::argmax.out",
            &[1.0, f32::NAN, f32::NAN, f32::INFINITY]
        ),
        1
    );
    assert_eq!(
        position("aten::argmin.out", &[1.0, f32::NAN, f32::NEG_INFINITY]),
        1
    );
    assert_eq!(position("aten::argmax.out", &[f32::NEG_INFINITY; 2]), 0);
}

#[test]
fn extremes_come_with_their_positions() {
    let x = of(&[1f32, 5.0, 4.0, 9.0, f32::NAN, 2.0], &[2, 3]);
    let arguments = [x.clone(), 1.into(), false.into()];
    let out = run(
        "aten::max.dim_max",
        &arguments,
        &[DType::F32, DType::I64],
        1,
    )
    .unwrap();
    let values = out[0].data::<f32>().unwrap();
    assert!(values[0] == 5.0 && values[1].is_nan());
    assert_eq!(out[1].data::<i64>().unwrap(), [1, 1]);
    let arguments = [x, dims(&[0]), false.into()];
    let out = run("aten::amin.out", &arguments, &[DType::F32], 1).unwrap();
    let values = out[0].data::<f32>().unwrap();
    assert!(values[0] == 1.0 && values[1].is_nan() && values[2] == 2.0);
}

#[test]
fn a_variance_is_corrected_and_does_not_cancel() {
    // Far from zero, where squares of elements say nothing.
    let x = [1e6f32 + 1.0, 1e6 + 2.0, 1e6 + 3.0, 1e6 + 4.0];
    for (correction, expected) in [(0, 1.25f32), (1, 5.0 / 3.0), (2, 2.5)] {
        for (sizes, over) in [([1, 4], 1), ([4, 1], 0)] {
            let arguments = [
                of(&x, &sizes),
                dims(&[over]),
                correction.into(),
                false.into(),
            ];
            let out = run("aten::var.correction_out", &arguments, &[DType::F32], 1).unwrap();
            assert_eq!(out[0].data::<f32>().unwrap(), [expected]);
        }
    }
    let arguments = [of(&x, &[4]), Argument::None, Argument::None, false.into()];
    let out = run(
        "aten::var_mean.correction_out",
        &arguments,
        &[DType::F32; 2],
        0,
    )
    .unwrap();
    assert_eq!(out[0].data::<f32>().unwrap(), [5.0 / 3.0]);
    assert_eq!(out[1].data::<f32>().unwrap(), [1e6 + 2.5]);
}

#[test]
fn sums_run_along_a_dimension() {
    let along = |dim: i64| {
        let arguments = [
            of(&[1i32, 2, 3, 4, 5, 6], &[2, 3]),
            dim.into(),
            Argument::None,
        ];
        let out = run("aten::cumsum.out", &arguments, &[DType::I64], 2).unwrap();
        out[0].data::<i64>().unwrap().to_vec()
    };
    assert_eq!(along(-1), [1, 3, 6, 4, 9, 15]);
    assert_eq!(along(0), [1, 2, 3, 5, 7, 9]);
}

#[test]
fn products_wrap_and_start_at_one() {
    let arguments = [of(&[1i64 << 62, 2, 3], &[3]), Argument::None];
    let out = run("aten::prod.out", &arguments, &[DType::I64], 0).unwrap();
    assert_eq!(out[0].data::<i64>().unwrap(), [i64::MIN]);
    let arguments = [of::<f32>(&[], &[0]), Argument::None];
    let out = run("aten::prod.out", &arguments, &[DType::F32], 0).unwrap();
    assert_eq!(out[0].data::<f32>().unwrap(), [1.0]);
}

proptest! {
    #![proptest_config(random_cases(256))]

    /// All ways through the memory give the same sums.
    #[test]
    fn sums_agree_with_indexing(
        a in 1usize..20, b in 1usize..30, c in 1usize..40,
        mask in 1u8..8, order in Just([0u8, 1, 2]).prop_shuffle(),
    ) {
        let sizes = [a, b, c];
        let data: Vec<i64> = (0..(a * b * c) as i64).map(|i| i * i % 1009).collect();
        let x = Tensor::from_bytes(DType::I64, &sizes, &order, bytemuck::cast_slice(&data)).unwrap();
        let logical = x.to_row_major().unwrap();
        let over: Vec<i64> = (0..3).filter(|d| mask >> d & 1 == 1).collect();
        let out = sum::<i64>(x.into(), dims(&over), true, 3).unwrap();
        let mut expected = vec![0i64; out.sizes().iter().product()];
        for (i, value) in logical.data::<i64>().unwrap().iter().enumerate() {
            let index = [i / (b * c), i / c % b, i % c];
            let at = (0..3).fold(0, |at, d| {
                at * out.sizes()[d] + if mask >> d & 1 == 1 { 0 } else { index[d] }
            });
            expected[at] += value;
        }
        prop_assert_eq!(out.data::<i64>().unwrap(), expected);
    }
}

#[test]
fn the_best_of_a_long_line_is_the_first_of_its_equals() {
    let mut line = vec![0f32; 1500];
    for at in [700, 701, 1400] {
        line[at] = 3.0;
    }
    for at in [600, 1200] {
        line[at] = -3.0;
    }
    let place = |operator, line: &[f32]| {
        let arguments = [of(line, &[1500]), 0.into(), false.into()];
        run(operator, &arguments, &[DType::I64], 0).unwrap()[0]
            .data::<i64>()
            .unwrap()[0]
    };
    assert_eq!(place("aten::argmax.out", &line), 700);
    assert_eq!(place("aten::argmin.out", &line), 600);
    (line[1300], line[1450]) = (f32::NAN, f32::NAN);
    assert_eq!(place("aten::argmax.out", &line), 1300);
    assert_eq!(place("aten::argmin.out", &line), 1300);
}
