//! Matmuls of quantized weights.

use half::bf16;
use thalweg_aoti::{Harness, HarnessTensor, WeightFormat};
use thalweg_core::DType;

use thalweg_testing::SplitMix;

use super::weights::{FORMATS, Weights, variants};
use super::{bytes, harness, numbers, on_every_machine, real};

/// Compares a matmul of activations with these strides with sums in f64.
fn check(harness: &Harness, weights: &Weights, [m, n, k]: [usize; 3], [row, column]: [usize; 2]) {
    let mut random = SplitMix::new(m as u64);
    let storage: Vec<bf16> = (0..(m.max(1) - 1) * row + (k - 1) * column + 1)
        .map(|_| bf16::from_f64(random.unit() * 3.0))
        .collect();
    let sizes = [m as i64, k as i64];
    let strides = [row as i64, column as i64];
    let activations = harness
        .tensor(DType::BF16, &sizes, &strides, 0, &bytes(&storage))
        .unwrap();
    let product = weights.matmul(harness, &activations);
    assert_eq!(product.sizes(), [m as i64, n as i64]);
    assert_eq!(product.dtype(), DType::BF16);
    let found: Vec<bf16> = numbers(&harness.bytes(&product).unwrap());
    for (token, found) in found.chunks(n).enumerate() {
        let activations: Vec<f64> = (0..k)
            .map(|at| storage[token * row + at * column].to_f64())
            .collect();
        for (at, found) in found.iter().enumerate() {
            let terms = activations.iter().zip(&weights.values[at * k..]);
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), (a, w)| {
                (sum + a * w, size + (a * w).abs())
            });
            // Half of the last digit of bf16, and what sums in float lose.
            let allowed = sum.abs() / 256.0 + size * 2e-5;
            let error = (found.to_f64() - sum).abs();
            assert!(
                error <= allowed,
                "{:?}, {m} x {n} x {k}, groups of {}, token {token}, row {at}: {found} instead of {sum}",
                weights.format,
                weights.group
            );
        }
    }
}

#[test]
fn matmuls_are_those_of_the_dequantized_weights() {
    let (shapes, tokens): (&[[usize; 2]], &[usize]) = match real() {
        false => (&[[24, 512]], &[1, 3, 10, 70]),
        true => (
            &[
                [16, 512],
                [24, 1024],
                [136, 512],
                [1000, 2560],
                [4096, 4096],
            ],
            &[1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 33, 64, 65, 128, 200],
        ),
    };
    on_every_machine(2, |driver| {
        let harness = harness(driver);
        for format in FORMATS {
            for &(group, inner) in variants(format) {
                for &[n, k] in shapes {
                    let mut random = SplitMix::new(7);
                    let sizes = [n, k, group, inner];
                    let weights = Weights::new(&harness, format, sizes, &mut random);
                    for &m in tokens {
                        // References of large ones take long.
                        if m * n * k <= 40_000_000 {
                            check(&harness, &weights, [m, n, k], [k, 1]);
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn activations_may_have_any_strides() {
    on_every_machine(2, |driver| {
        let harness = harness(driver);
        for format in FORMATS {
            let (group, inner) = variants(format)[0];
            let (n, k) = (24, 512);
            let mut random = SplitMix::new(8);
            let weights = Weights::new(&harness, format, [n, k, group, inner], &mut random);
            for m in [1, 5, 12] {
                // With gaps, transposed, one row many times.
                for strides in [[k + 3, 1], [k + 8, 1], [1, m], [0, 1], [2 * k, 2]] {
                    check(&harness, &weights, [m, n, k], strides);
                }
            }
        }
    });
}

#[test]
fn weights_of_eight_bits_may_be_few() {
    on_every_machine(2, |driver| {
        let harness = harness(driver);
        for k in [32, 96, 160, 288] {
            let mut random = SplitMix::new(k as u64);
            let weights = Weights::new(&harness, WeightFormat::Int8, [40, k, 32, 0], &mut random);
            for m in [1, 9, 65] {
                check(&harness, &weights, [m, 40, k], [k, 1]);
            }
        }
    });
}

#[test]
fn no_tokens_have_an_empty_result() {
    on_every_machine(1, |driver| {
        let harness = harness(driver);
        for format in FORMATS {
            let (group, inner) = variants(format)[0];
            let mut random = SplitMix::new(9);
            let weights = Weights::new(&harness, format, [16, 256, group, inner], &mut random);
            let none = harness.contiguous(DType::BF16, &[0, 256], &[]).unwrap();
            assert_eq!(weights.matmul(&harness, &none).sizes(), [0, 16]);
        }
    });
}

/// A tensor of zeros on the device.
fn zeros(harness: &Harness, dtype: DType, sizes: &[i64]) -> HarnessTensor {
    let len = sizes.iter().product::<i64>() as usize * dtype.size();
    harness.contiguous(dtype, sizes, &vec![0; len]).unwrap()
}

/// The strides of a tensor whose innermost stride is `inner`, without other gaps.
fn strides(sizes: &[i64], inner: i64) -> Vec<i64> {
    let mut strides = vec![inner];
    for size in sizes.iter().skip(1).rev() {
        strides.insert(0, strides[0] * size);
    }
    strides
}

/// The error of a matmul, with the tensor at an index replaced.
fn refused(
    harness: &Harness,
    weights: &Weights,
    activations: Option<&HarnessTensor>,
    replaced: Option<(usize, Option<&HarnessTensor>)>,
    group: i64,
) -> String {
    let mut tensors: Vec<_> = weights.tensors.iter().map(Some).collect();
    if let Some((index, tensor)) = replaced {
        tensors[index] = tensor;
    }
    let product = harness.matmul(weights.format, activations, &tensors, group);
    product.unwrap_err().to_string()
}

/// Runs a test with weights of each format, `[16, 512]`.
fn for_each_format(test: impl Fn(&Harness, &Weights)) {
    on_every_machine(1, |driver| {
        let harness = harness(driver);
        for format in FORMATS {
            let (group, inner) = variants(format)[0];
            let weights = Weights::new(
                &harness,
                format,
                [16, 512, group, inner],
                &mut SplitMix::new(1),
            );
            test(&harness, &weights);
        }
        harness.stream.synchronize().unwrap();
    });
}

#[test]
fn weights_that_do_not_fit_are_refused_with_the_values() {
    for_each_format(|harness, weights| {
        let activations = zeros(harness, DType::BF16, &[2, 512]);
        for (at, right) in weights.tensors.iter().enumerate() {
            let has = |other: Option<&HarnessTensor>, part: &str| {
                let replaced = Some((at, other));
                let text = refused(
                    harness,
                    weights,
                    Some(&activations),
                    replaced,
                    weights.group,
                );
                assert!(text.contains(part), "{:?}: {text}", weights.format);
            };
            has(None, "there is no tensor");
            let typed = zeros(harness, DType::F64, right.sizes());
            has(Some(&typed), "has elements of f64");
            let mut sizes = right.sizes().to_vec();
            sizes[1] += 1;
            let larger = zeros(harness, right.dtype(), &sizes);
            has(Some(&larger), &format!("has sizes {sizes:?}"));
            let host = harness.on_host(right.dtype(), right.sizes()).unwrap();
            has(Some(&host), "is on Host, and the call on Device(0)");
            // Every second element of twice as many.
            let count = right.sizes().iter().product::<i64>() as usize;
            let gaps = vec![0; count * 2 * right.dtype().size()];
            let strides = strides(right.sizes(), 2);
            let spread = harness.tensor(right.dtype(), right.sizes(), &strides, 0, &gaps);
            has(Some(&spread.unwrap()), "which are not one after another");
        }
        // Where pieces of 16 bytes are read, they must begin at 16.
        let first = &weights.tensors[0];
        let count = first.sizes().iter().product::<i64>() as usize + 1;
        let bytes = vec![0; count * first.dtype().size()];
        let strides = strides(first.sizes(), 1);
        let shifted = harness.tensor(first.dtype(), first.sizes(), &strides, 1, &bytes);
        let replaced = Some((0, Some(shifted.as_ref().unwrap())));
        let text = refused(
            harness,
            weights,
            Some(&activations),
            replaced,
            weights.group,
        );
        assert!(text.contains("no multiple of 16 bytes"), "{text}");
    });
}

#[test]
fn activations_and_groups_that_do_not_fit_are_refused_with_the_values() {
    for_each_format(|harness, weights| {
        let has = |activations: Option<&HarnessTensor>, part: &str| {
            let text = refused(harness, weights, activations, None, weights.group);
            assert!(text.contains(part), "{:?}: {text}", weights.format);
        };
        has(None, "there is no tensor");
        let float = zeros(harness, DType::F32, &[2, 512]);
        has(Some(&float), "`self` has elements of f32");
        let flat = zeros(harness, DType::BF16, &[512]);
        has(Some(&flat), "`self` has sizes [512], where two");
        let short = zeros(harness, DType::BF16, &[2, 256]);
        has(Some(&short), "has sizes");
        let activations = zeros(harness, DType::BF16, &[2, 512]);
        for wrong in [0, -32, 48, 4, 1 << 20] {
            let text = refused(harness, weights, Some(&activations), None, wrong);
            assert!(text.contains(&wrong.to_string()), "{wrong}: {text}");
        }
    });
}
