//! The kernels of random numbers.

use half::{bf16, f16};
use thalweg_simgpu::Launch;

use super::Done;

/// Philox 4 x 32 with 10 rounds.
fn philox(seed: u64, counter: u64) -> [u32; 4] {
    let mut words = [counter as u32, (counter >> 32) as u32, 0, 0];
    let mut keys = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let first = u64::from(words[0]) * 0xd251_1f53;
        let second = u64::from(words[2]) * 0xcd9e_8d57;
        words = [
            (second >> 32) as u32 ^ words[1] ^ keys[0],
            second as u32,
            (first >> 32) as u32 ^ words[3] ^ keys[1],
            first as u32,
        ];
        keys[0] = keys[0].wrapping_add(0x9e37_79b9);
        keys[1] = keys[1].wrapping_add(0xbb67_ae85);
    }
    words
}

/// Known answers of the algorithm's authors (Random123, `kat_vectors`).
#[test]
fn philox_is_that_of_its_authors() {
    assert_eq!(
        philox(0, 0),
        [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
    );
}

pub(super) fn random_uniform(launch: &Launch<'_>) -> Done {
    let len = launch.argument::<u64>(2)? as usize;
    let seed = launch.argument::<u64>(3)?;
    let out = launch.argument::<u64>(0)?;
    let first = launch.read::<u64>(launch.argument(4)?, 1)?[0];
    let word = |at: usize| philox(seed, first + at as u64 / 4)[at % 4];
    match launch.argument::<u32>(1)? {
        kind @ (0 | 1) => {
            for (at, out) in launch.write::<u16>(out, len)?.iter_mut().enumerate() {
                *out = match kind {
                    0 => bf16::from_f64(f64::from(word(at) >> 24) / 256.0).to_bits(),
                    _ => f16::from_f64(f64::from(word(at) >> 21) / 2048.0).to_bits(),
                };
            }
        }
        2 => {
            for (at, out) in launch.write::<f32>(out, len)?.iter_mut().enumerate() {
                *out = (word(at) >> 8) as f32 / (1u32 << 24) as f32;
            }
        }
        _ => {
            for (at, out) in launch.write::<f64>(out, len)?.iter_mut().enumerate() {
                *out = (long(seed, first, at) >> 11) as f64 / (1u64 << 53) as f64;
            }
        }
    }
    Ok(())
}

/// A 64-bit number of two of a counter's four words.
fn long(seed: u64, first: u64, at: usize) -> u64 {
    let words = philox(seed, first + at as u64 / 2);
    u64::from(words[at % 2 * 2]) << 32 | u64::from(words[at % 2 * 2 + 1])
}

pub(super) fn random_between(launch: &Launch<'_>) -> Done {
    let len = launch.argument::<u64>(1)? as usize;
    let low = launch.argument::<i64>(2)?;
    let range = launch.argument::<u64>(3)?;
    let seed = launch.argument::<u64>(4)?;
    let first = launch.read::<u64>(launch.argument(5)?, 1)?[0];
    let out = launch.write::<i64>(launch.argument(0)?, len)?;
    for (at, out) in out.iter_mut().enumerate() {
        let part = (u128::from(long(seed, first, at)) * u128::from(range)) >> 64;
        *out = low.wrapping_add(part as i64);
    }
    Ok(())
}
