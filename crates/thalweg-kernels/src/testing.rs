//! What tests of operators have in common: calls with arguments made by hand.

use proptest::test_runner::{Config, RngSeed};
use thalweg_core::{Argument, DType, KernelRegistry, Result, Tensor, identity_order};

use crate::layout::Layout;
use crate::layout::copy::copy;

/// The configuration of a test of `count` random cases, which are the same in every run.
/// `PROPTEST_RNG_SEED` with a number as its value draws other ones.
pub(crate) fn random_cases(count: u32) -> Config {
    let mut config = Config::with_cases(count);
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(0);
    }
    config
}

/// The results of an operator of a family.
pub(crate) fn invoke(
    family: fn(&mut KernelRegistry) -> Result<()>,
    operator: &str,
    arguments: Vec<Argument>,
) -> Result<Vec<Argument>> {
    let mut registry = KernelRegistry::new();
    family(&mut registry)?;
    let kernel = registry.get(operator);
    kernel
        .expect("the family has the operator")
        .invoke(arguments)
}

/// Whole numbers from -5 to 5, as many as the shape has.
pub(crate) fn numbers(sizes: &[usize]) -> Tensor {
    let count = sizes.iter().product();
    let data: Vec<f32> = (0..count)
        .map(|i: usize| (i * 7 % 11) as f32 - 5.0)
        .collect();
    Tensor::from_slice(&data, sizes).unwrap()
}

/// The same elements in memory in another order.
pub(crate) fn in_order(tensor: &Tensor, order: &[u8]) -> Tensor {
    let mut moved = Tensor::zeros_in_order(tensor.dtype(), tensor.sizes(), order).unwrap();
    let (to, from) = (
        Layout::of_output(&moved.view_mut()),
        Layout::of(&tensor.view()),
    );
    copy(&mut moved.view_mut(), &to, &tensor.view(), &from, 1).unwrap();
    moved
}

/// An output of a rank, in logical order.
pub(crate) fn out(dtype: DType, rank: usize) -> Argument {
    out_in_order(dtype, identity_order(rank).unwrap())
}

pub(crate) fn out_in_order(dtype: DType, order: &[u8]) -> Argument {
    let sizes = vec![0; order.len()];
    Tensor::zeros_in_order(dtype, &sizes, order).unwrap().into()
}

/// A list of numbers as an argument.
pub(crate) fn list(values: &[i64]) -> Argument {
    values.into()
}

pub(crate) fn floats(result: &Argument) -> Vec<f32> {
    let tensor = result.tensor().unwrap().to_row_major().unwrap();
    tensor.data::<f32>().unwrap().to_vec()
}

pub(crate) fn integers(result: &Argument) -> Vec<i64> {
    let tensor = result.tensor().unwrap().to_row_major().unwrap();
    tensor.data::<i64>().unwrap().to_vec()
}

pub(crate) fn assert_close(result: &Argument, expected: &[f32]) {
    let values = floats(result);
    let is_close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
    assert!(
        values.len() == expected.len() && values.iter().zip(expected).all(is_close),
        "{values:?} is not close to {expected:?}"
    );
}
