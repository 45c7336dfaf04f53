//! Random quantized weights, with their values.

use half::{bf16, f16};
use thalweg_aoti::{Harness, HarnessTensor, WeightFormat};
use thalweg_core::DType;

use thalweg_testing::SplitMix;

use super::bytes;

/// Quantized weights on the device.
pub(super) struct Weights {
    pub(super) format: WeightFormat,
    pub(super) group: i64,
    /// The dequantized weights, `[n, k]`.
    pub(super) values: Vec<f64>,
    pub(super) tensors: Vec<HarnessTensor>,
    pub(super) bytes: usize,
}

pub(super) const FORMATS: [WeightFormat; 5] = [
    WeightFormat::Int4Packed,
    WeightFormat::Int4,
    WeightFormat::Int5,
    WeightFormat::Int6,
    WeightFormat::Int8,
];

/// The group sizes of a format, each with an `inner` for the packed one.
pub(super) fn variants(format: WeightFormat) -> &'static [(usize, usize)] {
    match format {
        WeightFormat::Int4Packed => &[(32, 2), (64, 4), (128, 8), (256, 8)],
        WeightFormat::Int4 | WeightFormat::Int5 => &[(32, 0), (64, 0), (128, 0), (512, 0)],
        WeightFormat::Int6 => &[(8, 0), (16, 0), (32, 0), (128, 0)],
        WeightFormat::Int8 => &[(32, 0), (64, 0), (256, 0)],
    }
}

impl Weights {
    /// Random weights.
    pub(super) fn new(
        harness: &Harness,
        format: WeightFormat,
        sizes: [usize; 4],
        random: &mut SplitMix,
    ) -> Self {
        let codes = Codes::random(format, sizes, random);
        let tensors = codes.tensors();
        Self {
            format,
            group: codes.group as i64,
            values: (0..codes.n * codes.k)
                .map(|i| codes.value(i / codes.k, i % codes.k))
                .collect(),
            bytes: tensors.iter().map(|(_, _, bytes)| bytes.len()).sum(),
            tensors: tensors
                .iter()
                .map(|(dtype, sizes, bytes)| harness.contiguous(*dtype, sizes, bytes).unwrap())
                .collect(),
        }
    }

    /// A copy at another address of the device, without the values.
    pub(super) fn copy(&self, harness: &Harness) -> Self {
        let copy = |tensor: &HarnessTensor| {
            let bytes = harness.bytes(tensor).unwrap();
            let copy = harness.contiguous(tensor.dtype(), tensor.sizes(), &bytes);
            copy.unwrap()
        };
        Self {
            values: Vec::new(),
            tensors: self.tensors.iter().map(copy).collect(),
            ..*self
        }
    }

    /// The matmul of activations and these weights.
    pub(super) fn matmul(&self, harness: &Harness, activations: &HarnessTensor) -> HarnessTensor {
        let tensors: Vec<_> = self.tensors.iter().map(Some).collect();
        let product = harness.matmul(self.format, Some(activations), &tensors, self.group);
        product.unwrap_or_else(|error| panic!("{:?}: {error}", self.format))
    }
}

/// Quantized weights, with scales and zero points for all formats.
struct Codes {
    format: WeightFormat,
    n: usize,
    k: usize,
    group: usize,
    /// `inner_k_tiles`, for packed weights.
    inner: usize,
    groups: usize,
    codes: Vec<u32>,
    scale_codes: Vec<u8>,
    zero_codes: Vec<u8>,
    scale_steps: Vec<f16>,
    zero_steps: Vec<f16>,
    /// Scales, and zero points of packed weights, in turn.
    pairs: Vec<bf16>,
}

impl Codes {
    fn random(
        format: WeightFormat,
        [n, k, group, inner]: [usize; 4],
        random: &mut SplitMix,
    ) -> Self {
        let bits = match format {
            WeightFormat::Int4Packed | WeightFormat::Int4 => 4,
            WeightFormat::Int5 => 5,
            WeightFormat::Int6 => 6,
            WeightFormat::Int8 => 8,
        };
        let groups = k / group;
        let codes = (0..n * k).map(|_| random.below(1 << bits) as u32).collect();
        let scale_codes = (0..n * groups).map(|_| random.bits() as u8).collect();
        let zero_codes = (0..n * groups).map(|_| random.below(64) as u8).collect();
        let mut steps = |scale: f64, count: usize| -> Vec<f16> {
            let mut step = || f16::from_f64(scale * (1.5 + random.unit()));
            (0..count).map(|_| step()).collect()
        };
        let scale_steps = steps(0.001, n * k.div_ceil(256));
        let zero_steps = steps(0.2, n * k.div_ceil(256));
        let pairs = (0..n * groups * 2)
            .map(|i| bf16::from_f64(if i % 2 == 0 { 0.05 } else { 0.5 } * (1.2 + random.unit())))
            .collect();
        Self {
            format,
            n,
            k,
            group,
            inner,
            groups,
            codes,
            scale_codes,
            zero_codes,
            scale_steps,
            zero_steps,
            pairs,
        }
    }

    /// The dequantized weight.
    fn value(&self, row: usize, at: usize) -> f64 {
        let code = self.codes[row * self.k + at];
        let of_group = row * self.groups + at / self.group;
        let step = |steps: &[f16]| steps[row * (self.k / 256) + at / 256].to_f64();
        let weight = f64::from(code);
        match self.format {
            WeightFormat::Int4Packed => {
                let pair = (at / self.group * self.n + row) * 2;
                (weight - 8.0) * self.pairs[pair].to_f64() + self.pairs[pair + 1].to_f64()
            }
            WeightFormat::Int4 | WeightFormat::Int5 => {
                let zero = f64::from(self.zero_codes[of_group]) * step(&self.zero_steps);
                let scale = f64::from(self.scale_codes[of_group]);
                (weight - zero) * scale * step(&self.scale_steps)
            }
            WeightFormat::Int6 => {
                let scale = f64::from(self.scale_codes[of_group] as i8);
                (weight - 32.0) * scale * step(&self.scale_steps)
            }
            WeightFormat::Int8 => {
                let weight = f64::from(code as u8 as i8);
                let zero = f64::from(self.zero_codes[of_group] as i8);
                (weight - zero) * self.pairs[of_group].to_f64()
            }
        }
    }

    /// The tensors of the format: element types, sizes and bytes.
    fn tensors(&self) -> Vec<(DType, Vec<i64>, Vec<u8>)> {
        let (rows, columns) = (self.n as i64, self.k as i64);
        let groups = self.groups as i64;
        let in_groups = vec![rows, groups];
        let in_blocks = vec![rows, columns / 256];
        let scale_steps = (DType::F16, in_blocks.clone(), bytes(&self.scale_steps));
        let zeros = (DType::I8, in_groups.clone(), self.zero_codes.clone());
        let (low, high) = self.low_and_high();
        let low = (DType::U8, vec![rows, columns / 2], low);
        let scales = |dtype| (dtype, in_groups.clone(), self.scale_codes.clone());
        match self.format {
            WeightFormat::Int4Packed => {
                let inner = self.inner as i64;
                let sizes = vec![rows / 8, columns / (16 * inner), 32, inner / 2];
                vec![
                    (DType::I32, sizes, bytes(&self.words())),
                    (DType::BF16, vec![groups, rows, 2], bytes(&self.pairs)),
                ]
            }
            WeightFormat::Int4 | WeightFormat::Int5 => {
                let zero_steps = (DType::F16, in_blocks, bytes(&self.zero_steps));
                let mut all = vec![low, scales(DType::U8), scale_steps, zeros, zero_steps];
                if self.format == WeightFormat::Int5 {
                    all.insert(1, (DType::U8, vec![rows, columns / 8], high));
                }
                all
            }
            WeightFormat::Int6 => {
                let high = (DType::U8, vec![rows, columns / 4], high);
                vec![low, high, scales(DType::I8), scale_steps]
            }
            WeightFormat::Int8 => {
                let codes = self.codes.iter().map(|code| *code as u8).collect();
                let scales = bytes(&self.pairs[..self.n * self.groups]);
                vec![
                    (DType::I8, vec![rows, columns], codes),
                    (DType::BF16, in_groups, scales),
                    zeros,
                ]
            }
        }
    }

    /// The words of packed weights.
    fn words(&self) -> Vec<u32> {
        let mut words = vec![0u32; self.n * self.k / 8];
        for (i, &code) in self.codes.iter().enumerate() {
            let (row, at) = (i / self.k, i % self.k);
            let (word, shift) = packed_bit(row, at, self.k / 16, self.inner);
            words[word] |= code << shift;
        }
        words
    }

    /// The lower four bits of weights in a plain format, and the bits above.
    fn low_and_high(&self) -> (Vec<u8>, Vec<u8>) {
        let k = self.k;
        let high_len = match self.format {
            WeightFormat::Int5 => self.n * k / 8,
            WeightFormat::Int6 => self.n * k / 4,
            _ => 0,
        };
        let (mut low, mut high) = (vec![0u8; self.n * k / 2], vec![0u8; high_len]);
        for (i, &code) in self.codes.iter().enumerate() {
            let (row, at) = (i / k, i % k);
            low[i / 2] |= ((code & 15) as u8) << (at % 2 * 4);
            // Of 32 weights, in words of eight.
            let (chunk, word, odd, pair) = (at / 32, at % 32 / 8, at % 2, at % 8 / 2);
            let rest = (code >> 4) as u8;
            match self.format {
                WeightFormat::Int5 => {
                    high[row * k / 8 + chunk * 4 + word] |= (rest & 1) << (pair + odd * 4);
                }
                WeightFormat::Int6 => {
                    high[row * k / 4 + chunk * 8 + odd * 4 + word] |= (rest & 3) << (pair * 2);
                }
                _ => {}
            }
        }
        (low, high)
    }
}

/// The position of a packed weight: its word, and the shift in it. Words of eight weights are in the order of
/// tensor cores; lanes are those of a warp.
fn packed_bit(row: usize, k: usize, tiles: usize, inner: usize) -> (usize, u32) {
    let (row_tile, k_tile) = (row / 8, k / 16);
    let (in_row, in_k) = (row % 8, k % 16);
    let lane = in_row * 4 + in_k % 8 / 2;
    let word = ((row_tile * (tiles / inner) + k_tile / inner) * 32 + lane) * (inner / 2)
        + k_tile % inner / 2;
    let of_eight = k_tile % 2 * 4 + in_k / 8 * 2 + in_k % 2;
    const NIBBLES: [u32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];
    (word, NIBBLES[of_eight] * 4)
}
