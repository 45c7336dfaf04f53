//! Tensors of random numbers that depend on a seed only.

use thalweg::{DType, Result, Tensor, TensorViewMut, bf16, f16};

/// The ranges of the random numbers, in words.
pub(crate) const RANGES: &str = "floats from -1 to 1, integers 0 or 1";

/// A tensor of random numbers: the same for the same seed, on every machine and in every version.
///
/// # Errors
/// If memory is out.
pub(crate) fn random(dtype: DType, sizes: &[usize], dim_order: &[u8], seed: u64) -> Result<Tensor> {
    let mut tensor = Tensor::zeros_in_order(dtype, sizes, dim_order)?;
    let mut source = SplitMix(seed);
    fill(&mut tensor.view_mut(), |bytes| {
        source.write(dtype, bytes);
    });
    Ok(tensor)
}

/// A tensor of ones.
///
/// # Errors
/// If memory is out.
pub(crate) fn ones(dtype: DType, sizes: &[usize], dim_order: &[u8]) -> Result<Tensor> {
    let mut tensor = Tensor::zeros_in_order(dtype, sizes, dim_order)?;
    fill(&mut tensor.view_mut(), |bytes| {
        write_float(dtype, 1.0, bytes);
    });
    Ok(tensor)
}

fn fill(view: &mut TensorViewMut<'_>, mut write: impl FnMut(&mut [u8])) {
    let size = view.dtype().size();
    for bytes in view.bytes_mut().chunks_exact_mut(size) {
        write(bytes);
    }
}

/// The generator SplitMix64.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from -1 to 1, 1 excluded.
    fn float(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn write(&mut self, dtype: DType, bytes: &mut [u8]) {
        match dtype {
            // Integers are often indices, of which 0 and 1 are the most likely to exist.
            _ if dtype == DType::Bool || dtype.is_integer() => {
                write_float(dtype, f64::from((self.next() >> 63) as u32), bytes);
            }
            DType::ComplexF16 | DType::ComplexF32 | DType::ComplexF64 => {
                let half = bytes.len() / 2;
                let (real, imaginary) = bytes.split_at_mut(half);
                let part = part(dtype);
                write_float(part, self.float(), real);
                write_float(part, self.float(), imaginary);
            }
            _ => write_float(dtype, self.float(), bytes),
        }
    }
}

/// The type of a complex number's parts.
fn part(dtype: DType) -> DType {
    match dtype {
        DType::ComplexF16 => DType::F16,
        DType::ComplexF32 => DType::F32,
        DType::ComplexF64 => DType::F64,
        other => other,
    }
}

/// Writes a number of magnitude at most 1 as an element. Integers are truncated.
fn write_float(dtype: DType, value: f64, bytes: &mut [u8]) {
    match dtype {
        DType::F16 => bytes.copy_from_slice(&f16::from_f64(value).to_ne_bytes()),
        DType::BF16 => bytes.copy_from_slice(&bf16::from_f64(value).to_ne_bytes()),
        DType::F32 => bytes.copy_from_slice(&(value as f32).to_ne_bytes()),
        DType::F64 => bytes.copy_from_slice(&value.to_ne_bytes()),
        DType::ComplexF16 | DType::ComplexF32 | DType::ComplexF64 => {
            let half = bytes.len() / 2;
            write_float(part(dtype), value, &mut bytes[..half]);
        }
        // Those with sign, exponent and 2 or 3 bits of mantissa, cut off: near enough for numbers
        // that are random.
        DType::F8E5M2 => bytes.fill(float8(value, 2, 15)),
        DType::F8E4M3Fn => bytes.fill(float8(value, 3, 7)),
        DType::F8E5M2Fnuz => bytes.fill(float8(value, 2, 16)),
        DType::F8E4M3Fnuz => bytes.fill(float8(value, 3, 8)),
        _ => {
            let whole = value as i64;
            for (to, from) in bytes.iter_mut().zip(whole.to_le_bytes()) {
                *to = from;
            }
            if cfg!(target_endian = "big") {
                bytes.reverse();
            }
        }
    }
}

fn float8(value: f64, mantissa_bits: i32, bias: i32) -> u8 {
    let magnitude = value.abs();
    let exponent = (magnitude.log2().floor() as i32).max(-bias);
    if magnitude == 0.0 || exponent + bias <= 0 {
        return 0;
    }
    let fraction = magnitude / 2f64.powi(exponent) - 1.0;
    let mantissa = (fraction * 2f64.powi(mantissa_bits)) as i32;
    let sign = if value < 0.0 { 0x80 } else { 0 };
    sign | (((exponent + bias) << mantissa_bits) | mantissa) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::{Number, numbers};

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        let tensor = random(DType::F64, &[2], &[0], 0).unwrap();
        // From the reference implementation: 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4.
        let expected = [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4]
            .map(|n| (n >> 11) as f64 / 2f64.powi(52) - 1.0);
        assert_eq!(tensor.data::<f64>().unwrap(), expected);
    }

    #[test]
    fn numbers_of_every_type_are_small_and_not_all_the_same() {
        for dtype in DType::ALL {
            let tensor = random(dtype, &[64], &[0], 1).unwrap();
            let all: Vec<Number> = numbers(tensor.view()).collect();
            assert!(all.iter().any(|number| *number != all[0]), "{dtype}");
            for number in all {
                assert!(number.to_f64().abs() <= 1.0, "{dtype} {number:?}");
            }
        }
    }

    #[test]
    fn ones_are_ones_in_every_type() {
        for dtype in DType::ALL {
            let tensor = ones(dtype, &[2], &[0]).unwrap();
            for number in numbers(tensor.view()) {
                let one = match number {
                    Number::Complex(real, imaginary) => real == 1.0 && imaginary == 0.0,
                    other => other.to_f64() == 1.0,
                };
                assert!(one, "{dtype} {number:?}");
            }
        }
    }
}
