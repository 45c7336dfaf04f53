//! Products of weights of few bits.

use half::{bf16, f16};
use thalweg_aoti::{Packing, Probe, Probed};
use thalweg_core::DType;
use thalweg_testing::SplitMix;

use super::{bytes, numbers, on_every_machine, probe, real};

/// Weights as they are and as they are packed.
pub(super) struct Weights {
    pub(super) packing: Packing,
    pub(super) group: i64,
    /// `[n, k]`
    values: Vec<f64>,
    pub(super) tensors: Vec<Probed>,
    pub(super) bytes: usize,
}

pub(super) const ALL: [Packing; 5] = [
    Packing::Packed4,
    Packing::Plain4,
    Packing::Plain5,
    Packing::Plain6,
    Packing::Plain8,
];

/// Where a bit of a weight lies: in a word of eight weights, for tensor cores. Lanes are those of a warp.
fn packed_place(row: usize, k: usize, tiles: usize, inner: usize) -> (usize, u32) {
    let (row_tile, k_tile) = (row / 8, k / 16);
    let (in_row, in_k) = (row % 8, k % 16);
    let lane = in_row * 4 + in_k % 8 / 2;
    let word = ((row_tile * (tiles / inner) + k_tile / inner) * 32 + lane) * (inner / 2)
        + k_tile % inner / 2;
    let of_eight = k_tile % 2 * 4 + in_k / 8 * 2 + in_k % 2;
    const NIBBLES: [u32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];
    (word, NIBBLES[of_eight] * 4)
}

impl Weights {
    /// Random weights. `inner` is for packed ones.
    pub(super) fn new(
        probe: &Probe,
        packing: Packing,
        [n, k, group, inner]: [usize; 4],
        random: &mut SplitMix,
    ) -> Self {
        let bits = match packing {
            Packing::Packed4 | Packing::Plain4 => 4,
            Packing::Plain5 => 5,
            Packing::Plain6 => 6,
            Packing::Plain8 => 8,
        };
        let groups = k / group;
        let codes: Vec<u32> = (0..n * k).map(|_| random.below(1 << bits) as u32).collect();
        let scale_codes: Vec<u8> = (0..n * groups).map(|_| random.bits() as u8).collect();
        let zero_codes: Vec<u8> = (0..n * groups).map(|_| random.below(64) as u8).collect();
        let mut steps = |scale: f64, count: usize| -> Vec<f16> {
            let mut step = || f16::from_f64(scale * (1.5 + random.unit()));
            (0..count).map(|_| step()).collect()
        };
        let scale_steps = steps(0.001, n * k.div_ceil(256));
        let zero_steps = steps(0.2, n * k.div_ceil(256));
        let pairs: Vec<bf16> = (0..n * groups * 2)
            .map(|i| bf16::from_f64(if i % 2 == 0 { 0.05 } else { 0.5 } * (1.2 + random.unit())))
            .collect();
        let scale = |row: usize, k: usize| f64::from(scale_codes[row * groups + k / group]);
        let signed = |row: usize, k: usize| f64::from(scale_codes[row * groups + k / group] as i8);
        let zero = |row: usize, k: usize| f64::from(zero_codes[row * groups + k / group]);
        let step =
            |steps: &[f16], row: usize, at: usize| steps[row * (k / 256) + at / 256].to_f64();
        let value = |row: usize, at: usize| {
            let code = f64::from(codes[row * k + at]);
            match packing {
                Packing::Packed4 => {
                    let pair = (at / group * n + row) * 2;
                    (code - 8.0) * pairs[pair].to_f64() + pairs[pair + 1].to_f64()
                }
                Packing::Plain4 | Packing::Plain5 => {
                    (code - zero(row, at) * step(&zero_steps, row, at))
                        * scale(row, at)
                        * step(&scale_steps, row, at)
                }
                Packing::Plain6 => (code - 32.0) * signed(row, at) * step(&scale_steps, row, at),
                Packing::Plain8 => {
                    let weight = f64::from(codes[row * k + at] as u8 as i8);
                    let pair = pairs[row * groups + at / group].to_f64();
                    (weight - f64::from(zero_codes[row * groups + at / group] as i8)) * pair
                }
            }
        };
        let values = (0..n * k).map(|i| value(i / k, i % k)).collect();
        let (mut low, mut high) = (vec![0u8; n * k / 2], vec![0u8; n * k / 4]);
        let mut words = vec![0u32; n * k / 8];
        for (i, &code) in codes.iter().enumerate() {
            let (row, at) = (i / k, i % k);
            if packing == Packing::Packed4 {
                let (word, shift) = packed_place(row, at, k / 16, inner);
                words[word] |= code << shift;
                continue;
            }
            low[i / 2] |= ((code & 15) as u8) << (at % 2 * 4);
            // Of 32 weights, in words of eight.
            let (chunk, word, odd, pair) = (at / 32, at % 32 / 8, at % 2, at % 8 / 2);
            let rest = (code >> 4) as u8;
            match packing {
                Packing::Plain5 => {
                    high[row * k / 8 + chunk * 4 + word] |= (rest & 1) << (pair + odd * 4);
                }
                Packing::Plain6 => {
                    high[row * k / 4 + chunk * 8 + odd * 4 + word] |= (rest & 3) << (pair * 2);
                }
                _ => {}
            }
        }
        let (rows, columns) = (n as i64, k as i64);
        let in_groups = [rows, groups as i64];
        let in_blocks = [rows, columns / 256];
        let codes: Vec<u8> = codes.iter().map(|code| *code as u8).collect();
        let half = [rows, columns / 2];
        let all: Vec<(DType, Vec<i64>, Vec<u8>)> = match packing {
            Packing::Packed4 => vec![
                (
                    DType::I32,
                    vec![
                        rows / 8,
                        columns / (16 * inner as i64),
                        32,
                        inner as i64 / 2,
                    ],
                    bytes(&words),
                ),
                (DType::BF16, vec![groups as i64, rows, 2], bytes(&pairs)),
            ],
            Packing::Plain4 | Packing::Plain5 => {
                let mut all = vec![
                    (DType::U8, half.to_vec(), low),
                    (DType::U8, in_groups.to_vec(), scale_codes),
                    (DType::F16, in_blocks.to_vec(), bytes(&scale_steps)),
                    (DType::I8, in_groups.to_vec(), zero_codes),
                    (DType::F16, in_blocks.to_vec(), bytes(&zero_steps)),
                ];
                if packing == Packing::Plain5 {
                    high.truncate(n * k / 8);
                    all.insert(1, (DType::U8, vec![rows, columns / 8], high));
                }
                all
            }
            Packing::Plain6 => vec![
                (DType::U8, half.to_vec(), low),
                (DType::U8, vec![rows, columns / 4], high),
                (DType::I8, in_groups.to_vec(), scale_codes),
                (DType::F16, in_blocks.to_vec(), bytes(&scale_steps)),
            ],
            Packing::Plain8 => vec![
                (DType::I8, vec![rows, columns], codes),
                (DType::BF16, in_groups.to_vec(), bytes(&pairs[..n * groups])),
                (DType::I8, in_groups.to_vec(), zero_codes),
            ],
        };
        Self {
            packing,
            group: group as i64,
            values,
            bytes: all.iter().map(|(_, _, bytes)| bytes.len()).sum(),
            tensors: all
                .iter()
                .map(|(dtype, sizes, bytes)| probe.dense(*dtype, sizes, bytes).unwrap())
                .collect(),
        }
    }

    /// The same elsewhere on the device.
    pub(super) fn copy(&self, probe: &Probe) -> Self {
        let copy = |tensor: &Probed| {
            let bytes = probe.bytes(tensor).unwrap();
            probe.dense(tensor.dtype(), tensor.sizes(), &bytes).unwrap()
        };
        Self {
            values: Vec::new(),
            tensors: self.tensors.iter().map(copy).collect(),
            ..*self
        }
    }

    pub(super) fn product(&self, probe: &Probe, activations: &Probed) -> Probed {
        let tensors: Vec<_> = self.tensors.iter().map(Some).collect();
        let product = probe.product(self.packing, Some(activations), &tensors, self.group);
        product.unwrap_or_else(|error| panic!("{:?}: {error}", self.packing))
    }
}

/// Compares with sums in f64, of activations with such strides.
fn check(probe: &Probe, weights: &Weights, [m, n, k]: [usize; 3], [row, column]: [usize; 2]) {
    let mut random = SplitMix::new(m as u64);
    let storage: Vec<bf16> = (0..(m.max(1) - 1) * row + (k - 1) * column + 1)
        .map(|_| bf16::from_f64(random.unit() * 3.0))
        .collect();
    let sizes = [m as i64, k as i64];
    let strides = [row as i64, column as i64];
    let activations = probe
        .tensor(DType::BF16, &sizes, &strides, 0, &bytes(&storage))
        .unwrap();
    let product = weights.product(probe, &activations);
    assert_eq!(product.sizes(), [m as i64, n as i64]);
    assert_eq!(product.dtype(), DType::BF16);
    let found: Vec<bf16> = numbers(&probe.bytes(&product).unwrap());
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
                weights.packing,
                weights.group
            );
        }
    }
}

/// Groups that a packing can have, and an `inner`.
fn variants(packing: Packing) -> &'static [(usize, usize)] {
    match packing {
        Packing::Packed4 => &[(32, 2), (64, 4), (128, 8), (256, 8)],
        Packing::Plain4 | Packing::Plain5 => &[(32, 0), (64, 0), (128, 0), (512, 0)],
        Packing::Plain6 => &[(8, 0), (16, 0), (32, 0), (128, 0)],
        Packing::Plain8 => &[(32, 0), (64, 0), (256, 0)],
    }
}

#[test]
fn products_are_those_of_the_weights_that_are_packed() {
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
        let probe = probe(driver);
        for packing in ALL {
            for &(group, inner) in variants(packing) {
                for &[n, k] in shapes {
                    let mut random = SplitMix::new(7);
                    let sizes = [n, k, group, inner];
                    let weights = Weights::new(&probe, packing, sizes, &mut random);
                    for &m in tokens {
                        // References of large ones take long.
                        if m * n * k <= 40_000_000 {
                            check(&probe, &weights, [m, n, k], [k, 1]);
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
        let probe = probe(driver);
        for packing in ALL {
            let (group, inner) = variants(packing)[0];
            let (n, k) = (24, 512);
            let mut random = SplitMix::new(8);
            let weights = Weights::new(&probe, packing, [n, k, group, inner], &mut random);
            for m in [1, 5, 12] {
                // With gaps, transposed, one row many times.
                for strides in [[k + 3, 1], [k + 8, 1], [1, m], [0, 1], [2 * k, 2]] {
                    check(&probe, &weights, [m, n, k], strides);
                }
            }
        }
    });
}

#[test]
fn weights_of_eight_bits_may_be_few() {
    on_every_machine(2, |driver| {
        let probe = probe(driver);
        for k in [32, 96, 160, 288] {
            let mut random = SplitMix::new(k as u64);
            let weights = Weights::new(&probe, Packing::Plain8, [40, k, 32, 0], &mut random);
            for m in [1, 9, 65] {
                check(&probe, &weights, [m, 40, k], [k, 1]);
            }
        }
    });
}

#[test]
fn no_tokens_have_no_products() {
    on_every_machine(1, |driver| {
        let probe = probe(driver);
        for packing in ALL {
            let (group, inner) = variants(packing)[0];
            let mut random = SplitMix::new(9);
            let weights = Weights::new(&probe, packing, [16, 256, group, inner], &mut random);
            let none = probe.dense(DType::BF16, &[0, 256], &[]).unwrap();
            assert_eq!(weights.product(&probe, &none).sizes(), [0, 16]);
        }
    });
}

#[test]
fn what_does_not_fit_is_refused_with_the_values() {
    on_every_machine(1, |driver| {
        let probe = probe(driver);
        let zeros = |dtype: DType, sizes: &[i64]| {
            let len = sizes.iter().product::<i64>() as usize * dtype.size();
            probe.dense(dtype, sizes, &vec![0; len]).unwrap()
        };
        let (k, n) = (512, 16);
        let activations = zeros(DType::BF16, &[2, k]);
        for packing in ALL {
            let (group, inner) = variants(packing)[0];
            let sizes = [n as usize, k as usize, group, inner];
            let weights = Weights::new(&probe, packing, sizes, &mut SplitMix::new(1));
            let group = group as i64;
            let refused =
                |activations: Option<&Probed>, at: usize, other: Option<&Probed>, group| {
                    let mut tensors: Vec<_> = weights.tensors.iter().map(Some).collect();
                    if at < tensors.len() {
                        tensors[at] = other;
                    }
                    let product = probe.product(packing, activations, &tensors, group);
                    product.unwrap_err().to_string()
                };
            let none = usize::MAX;
            let has =
                |text: String, part: &str| assert!(text.contains(part), "{packing:?}: {text}");
            has(refused(None, none, None, group), "there is no tensor");
            for at in 0..weights.tensors.len() {
                has(
                    refused(Some(&activations), at, None, group),
                    "there is no tensor",
                );
                let right = &weights.tensors[at];
                let typed = zeros(DType::F64, right.sizes());
                let text = refused(Some(&activations), at, Some(&typed), group);
                has(text, "has elements of f64");
                let mut sizes = right.sizes().to_vec();
                sizes[1] += 1;
                let larger = zeros(right.dtype(), &sizes);
                let text = refused(Some(&activations), at, Some(&larger), group);
                has(text, &format!("has sizes {sizes:?}"));
                let host = probe.on_host(right.dtype(), right.sizes()).unwrap();
                has(
                    refused(Some(&activations), at, Some(&host), group),
                    "is on Host, and the call on Device(0)",
                );
                // Every second element of twice as many.
                let mut strides: Vec<i64> = vec![2];
                for size in right.sizes().iter().skip(1).rev() {
                    strides.insert(0, strides[0] * size);
                }
                let count = right.sizes().iter().product::<i64>() as usize;
                let gaps = vec![0; count * 2 * right.dtype().size()];
                let spread = probe
                    .tensor(right.dtype(), right.sizes(), &strides, 0, &gaps)
                    .unwrap();
                let text = refused(Some(&activations), at, Some(&spread), group);
                has(text, "which are not one after another");
            }
            let float = zeros(DType::F32, &[2, k]);
            has(
                refused(Some(&float), none, None, group),
                "`self` has elements of f32",
            );
            let flat = zeros(DType::BF16, &[k]);
            has(
                refused(Some(&flat), none, None, group),
                "`self` has sizes [512], where two",
            );
            let short = zeros(DType::BF16, &[2, 256]);
            let text = refused(Some(&short), none, None, group);
            assert!(text.contains("has sizes"), "{text}");
            for wrong in [0, -32, 48, 4, 1 << 20] {
                let text = refused(Some(&activations), none, None, wrong);
                assert!(text.contains(&wrong.to_string()), "{wrong}: {text}");
            }
            // Where pieces of 16 bytes are read, they must begin at 16.
            let first = &weights.tensors[0];
            let count = first.sizes().iter().product::<i64>() as usize + 1;
            let mut strides: Vec<i64> = vec![1];
            for size in first.sizes().iter().skip(1).rev() {
                strides.insert(0, strides[0] * size);
            }
            let shifted = probe
                .tensor(
                    first.dtype(),
                    first.sizes(),
                    &strides,
                    1,
                    &vec![0; count * first.dtype().size()],
                )
                .unwrap();
            has(
                refused(Some(&activations), 0, Some(&shifted), group),
                "no multiple of 16 bytes",
            );
        }
        probe.stream.synchronize().unwrap();
    });
}
