//! Broken files give errors: no panic, and no memory out of proportion.
//!
//! The files are small programs with random damage, the same in every run. The allocator counts,
//! so that the bound on memory is measured and not only believed.

mod repository;

use thalweg_format::*;
use thalweg_testing::{CountingAllocator, SplitMix};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// How many damaged files are made of each good one.
const ROUNDS: u64 = 10_000;

#[test]
fn damaged_programs_give_errors_within_bounds() {
    let mut accepted = 0;
    for name in repository::PROGRAMS {
        let good = repository::program(name);
        let donor = repository::program("lists");
        for round in 0..ROUNDS {
            let bad = damaged(&good, &donor, round);
            within_bounds(&bad, |bytes| {
                let _ = Layout::parse(bytes);
            });
            within_bounds(&bad, |bytes| {
                if let Ok(program) = Program::parse(bytes) {
                    accepted += 1;
                    use_all(&program);
                }
            });
            if let Ok(program) = Program::parse(&bad) {
                survives(&program, name, round);
            }
        }
    }
    // Else the damage would be so great that nothing behind the first checks is ever reached.
    assert!(accepted > 100, "only {accepted} damaged files were read");
}

#[test]
fn damaged_data_files_give_errors_within_bounds() {
    let good = repository::file("external_some", "second.ptd");
    let donor = repository::program("lists");
    let mut accepted = 0;
    for round in 0..2 * ROUNDS {
        let bad = damaged(&good, &donor, round);
        within_bounds(&bad, |bytes| {
            if let Ok(data) = DataFile::parse(bytes) {
                accepted += 1;
                for entry in &data.entries {
                    assert!(data.data(entry).is_some());
                    assert_eq!(data.entry(&entry.key), Some(entry));
                }
            }
        });
    }
    assert!(accepted > 100, "only {accepted} damaged files were read");
}

/// Asks for all that a program refers to: a parsed program has it.
fn use_all(program: &Program<'_>) {
    for method in &program.methods {
        for delegate in &method.delegates {
            program.delegate_payload(delegate).unwrap();
        }
        for value in &method.values {
            if let Value::Tensor(tensor) = value
                && tensor.data_source() == DataSource::Program
                && let Some(bytes) = tensor.nbytes()
                && tensor.dynamism == ShapeDynamism::Static
            {
                let bytes = bytes.try_into().unwrap();
                if tensor.is_constant() {
                    program.constant_data(tensor, bytes).unwrap();
                } else {
                    program.initial_data(tensor, bytes).unwrap();
                }
            }
        }
    }
    for entry in &program.named_data {
        program.named(&entry.key).unwrap();
    }
}

/// What could be read can be written, and is then the same.
fn survives(program: &Program<'_>, name: &str, round: u64) {
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let again = Program::parse(&bytes).unwrap();
    // A damaged number may be a NaN, which is not equal to itself.
    if &again != program {
        assert_eq!(
            format!("{again:?}"),
            format!("{program:?}"),
            "{name} {round}"
        );
    }
}

/// Runs something on a file and measures the most memory that it holds at any time.
fn within_bounds(file: &[u8], run: impl FnOnce(&[u8])) {
    let most = ALLOCATOR.thread_peak(|| run(file));
    let limit = 24 * file.len() as isize + 32 * 1024;
    assert!(most <= limit, "{most} bytes for a file of {}", file.len());
}

/// A copy of a file with some bytes flipped, numbers replaced, a part cut off, doubled, or taken
/// from another file.
fn damaged(good: &[u8], donor: &[u8], seed: u64) -> Vec<u8> {
    const NUMBERS: [u32; 12] = [
        0,
        1,
        2,
        4,
        0x7f,
        0xff,
        0x7fff,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_fffc,
        0xffff_ffff,
    ];
    let mut random = SplitMix::new(seed ^ (good.len() as u64) << 32);
    let mut bytes = good.to_vec();
    for _ in 0..=random.below(3) {
        // Most of what can break is in the flatbuffer at the front.
        let reach = if random.below(4) == 0 {
            bytes.len()
        } else {
            bytes.len().min(1024)
        };
        if reach < 8 {
            break;
        }
        let at = random.below(reach - 4);
        match random.below(8) {
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = random.bits() as u8,
            3 | 4 => {
                let number = NUMBERS[random.below(NUMBERS.len())];
                bytes[at & !3..][..4].copy_from_slice(&number.to_le_bytes());
            }
            5 => {
                let near = i64::from(bytes[at]) + random.below(9) as i64 - 4;
                bytes[at] = near as u8;
            }
            6 => {
                let len = 1 + random.below(64).min(bytes.len() - at - 1);
                let from = random.below(donor.len() - 64);
                let len = len.min(64);
                bytes[at..at + len].copy_from_slice(&donor[from..from + len]);
            }
            _ if random.below(4) == 0 => bytes.truncate(at),
            _ => {
                let part = bytes[at..(at + 16).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}
