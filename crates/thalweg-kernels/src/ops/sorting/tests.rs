use thalweg_core::{Argument, Tensor};

use super::*;

fn run(operator: &str, arguments: Vec<Argument>) -> Result<(Vec<f32>, Vec<i64>)> {
    let mut registry = KernelRegistry::new();
    register(&mut registry).unwrap();
    let kernel = registry.get(operator).unwrap();
    let last = kernel.signature().parameters().len();
    let results = kernel.invoke(arguments)?;
    let values = results[last - 2].tensor()?.to_row_major()?;
    let indices = results[last - 1].tensor()?.to_row_major()?;
    Ok((values.data()?.to_vec(), indices.data()?.to_vec()))
}

fn outputs(rank: usize) -> [Argument; 2] {
    let sizes = vec![0; rank];
    [DType::F32, DType::I64].map(|dtype| Tensor::zeros(dtype, &sizes).unwrap().into())
}

fn sorted(x: &Tensor, dim: i64, descending: bool) -> (Vec<f32>, Vec<i64>) {
    let [values, indices] = outputs(x.sizes().len());
    let arguments = vec![x.into(), dim.into(), descending.into(), values, indices];
    run("aten::sort.values", arguments).unwrap()
}

#[test]
fn equal_elements_keep_their_order() {
    let x = Tensor::from_slice(&[2f32, 1.0, 2.0, 1.0], &[4]).unwrap();
    assert_eq!(
        sorted(&x, 0, false),
        (vec![1.0, 1.0, 2.0, 2.0], vec![1, 3, 0, 2])
    );
    assert_eq!(
        sorted(&x, -1, true),
        (vec![2.0, 2.0, 1.0, 1.0], vec![0, 2, 1, 3])
    );
}

#[test]
fn nan_is_the_largest() {
    let x = Tensor::from_slice(&[f32::NAN, f32::INFINITY, -1.0], &[3]).unwrap();
    assert_eq!(sorted(&x, 0, false).1, [2, 1, 0]);
    assert_eq!(sorted(&x, 0, true).1, [0, 1, 2]);
}

#[test]
fn columns_are_sorted_along_the_first_dimension() {
    let x = Tensor::from_slice(&[3f32, 1.0, 2.0, 2.0, 1.0, 3.0], &[3, 2]).unwrap();
    let expected = (vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0], vec![2, 0, 1, 1, 0, 2]);
    assert_eq!(sorted(&x, 0, false), expected);
}

#[test]
fn the_largest_and_the_smallest_come_sorted() {
    let x = Tensor::from_slice(&[3f32, 9.0, -1.0, 4.0, 1.0, 7.0, 8.0, 0.0], &[2, 4]).unwrap();
    let top = |k: i64, largest: bool| {
        let [values, indices] = outputs(2);
        let flags = [largest.into(), true.into()];
        let [largest, sorted] = flags;
        let x = (&x).into();
        run(
            "aten::topk.values",
            vec![x, k.into(), (-1).into(), largest, sorted, values, indices],
        )
    };
    assert_eq!(
        top(2, true).unwrap(),
        (vec![9.0, 4.0, 8.0, 7.0], vec![1, 3, 2, 1])
    );
    assert_eq!(top(1, false).unwrap(), (vec![-1.0, 0.0], vec![2, 3]));
    assert_eq!(top(0, true).unwrap(), (vec![], vec![]));
    let message = top(5, true).unwrap_err().to_string();
    assert!(message.contains("a dimension of size 4"), "{message}");
}

#[test]
fn a_tensor_without_dimensions_is_its_own_order() {
    let x = Tensor::from_slice(&[5f32], &[]).unwrap();
    assert_eq!(sorted(&x, 0, false), (vec![5.0], vec![0]));
}

/// Numbers are results of PyTorch.
fn medians(operator: &str, x: &Tensor, dim: i64, keep: bool) -> (Vec<f32>, Vec<i64>) {
    let [values, indices] = outputs(x.sizes().len() - usize::from(!keep));
    let arguments = vec![x.into(), dim.into(), keep.into(), values, indices];
    run(operator, arguments).unwrap()
}

#[test]
fn the_median_is_the_lower_of_two_and_not_a_number_if_an_element_is_not() {
    let nan = f32::NAN;
    let x = Tensor::from_slice(&[3.0, 1.0, 2.0, 2.0, nan, 0.0, 1.0, 5.0], &[2, 4]).unwrap();
    let (values, indices) = medians("aten::median.dim_values", &x, 0, false);
    assert!(values[0].is_nan());
    assert_eq!(
        (&values[1..], &*indices),
        (&[0.0, 1.0, 2.0][..], &[1, 1, 1, 0][..])
    );
    let (values, indices) = medians("aten::median.dim_values", &x, 1, true);
    assert!(values[1].is_nan());
    assert_eq!((values[0], &*indices), (2.0, &[2, 0][..]));
    let without = medians("aten::nanmedian.dim_values", &x, 1, false);
    assert_eq!(without, (vec![2.0, 1.0], vec![2, 2]));
}

#[test]
fn a_whole_tensor_has_a_median_even_without_elements() {
    let of = |operator: &str, data: &[f32]| {
        let x = Tensor::from_slice(data, &[data.len()]).unwrap();
        let out = Tensor::zeros(DType::F32, &[]).unwrap();
        let results = crate::testing::invoke(register, operator, vec![x.into(), out.into()]);
        crate::testing::floats(&results.unwrap()[1])[0]
    };
    assert_eq!(of("aten::median.out", &[3.0, 1.0, 2.0, 2.5]), 2.0);
    assert!(of("aten::median.out", &[3.0, f32::NAN]).is_nan());
    assert_eq!(of("aten::nanmedian.out", &[3.0, f32::NAN]), 3.0);
    assert!(of("aten::median.out", &[]).is_nan());
}

#[test]
fn a_few_of_a_long_line_come_sorted_and_equals_in_their_order() {
    let nan = f32::NAN;
    let mut line = vec![5.0, 1.0, nan, 5.0, 2.0, 9.0, 9.0, 0.0, 3.0, nan, -1.0, 9.0];
    line.resize(24, 4.0);
    let x = Tensor::from_slice(&line, &[24]).unwrap();
    let top = |largest: bool| {
        let [values, indices] = outputs(1);
        let (x, flags) = ((&x).into(), [largest.into(), true.into()]);
        let [largest, sorted] = flags;
        let arguments = vec![x, 5.into(), 0.into(), largest, sorted, values, indices];
        run("aten::topk.values", arguments).unwrap()
    };
    let (values, indices) = top(true);
    assert!(values[..2].iter().all(|value| value.is_nan()));
    assert_eq!(
        (&values[2..], &indices[..]),
        (&[9.0; 3][..], &[2, 9, 5, 6, 11][..])
    );
    let expected = (vec![-1.0, 0.0, 1.0, 2.0, 3.0], vec![10, 7, 1, 4, 8]);
    assert_eq!(top(false), expected);
}
