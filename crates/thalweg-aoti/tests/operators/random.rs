//! Random numbers.

use std::collections::HashSet;

use half::{bf16, f16};
use thalweg_aoti::Harness;
use thalweg_core::DType;

use super::{bytes, harness, numbers, on_every_machine, real};

/// PyTorch's numbers of types.
const TYPES: [(i32, DType); 4] = [
    (15, DType::BF16),
    (5, DType::F16),
    (6, DType::F32),
    (7, DType::F64),
];

fn count() -> i64 {
    if real() { 1 << 20 } else { 20_001 }
}

fn drawn(harness: &Harness, count: i64, code: i32) -> Vec<f64> {
    let tensor = harness.rand(&[count], Some(code)).unwrap();
    let bytes = harness.bytes(&tensor).unwrap();
    match tensor.dtype() {
        DType::BF16 => numbers::<bf16>(&bytes).iter().map(|x| x.to_f64()).collect(),
        DType::F16 => numbers::<f16>(&bytes).iter().map(|x| x.to_f64()).collect(),
        DType::F32 => numbers::<f32>(&bytes)
            .iter()
            .map(|x| f64::from(*x))
            .collect(),
        _ => numbers::<f64>(&bytes),
    }
}

/// True if counts are those of a uniform distribution, by chi squared: at most six standard deviations from
/// the expected value.
fn even(counts: &[u64]) -> bool {
    let total: u64 = counts.iter().sum();
    let expected = total as f64 / counts.len() as f64;
    let squared: f64 = counts
        .iter()
        .map(|count| (*count as f64 - expected).powi(2) / expected)
        .sum();
    let free = counts.len() as f64 - 1.0;
    (squared - free).abs() < 6.0 * (2.0 * free).sqrt()
}

#[test]
fn numbers_are_even_from_0_on_and_below_1() {
    on_every_machine(2, |driver| {
        let harness = harness(driver);
        for (code, dtype) in TYPES {
            let drawn = drawn(&harness, count(), code);
            assert_eq!(drawn.len() as i64, count());
            let mut counts = [0; 64];
            for number in &drawn {
                assert!((0.0..1.0).contains(number), "{dtype}: {number}");
                counts[(number * 64.0) as usize] += 1;
            }
            assert!(even(&counts), "{dtype}: {counts:?}");
            // Neighbours have nothing to do with each other.
            let mut pairs = [0; 64];
            for pair in drawn.chunks_exact(2) {
                pairs[(pair[0] * 8.0) as usize * 8 + (pair[1] * 8.0) as usize] += 1;
            }
            assert!(even(&pairs), "{dtype}: {pairs:?}");
        }
    });
}

#[test]
fn whole_numbers_are_even_and_in_their_range() {
    on_every_machine(2, |driver| {
        let harness = harness(driver);
        let n = count();
        let draw = |low: i64, high: i64| {
            let out = harness
                .contiguous(DType::I64, &[n], &vec![0xff; n as usize * 8])
                .unwrap();
            harness.randint(Some(&out), low, high, &[n]).unwrap();
            numbers::<i64>(&harness.bytes(&out).unwrap())
        };
        for (low, high) in [(0, 2), (-5, 6), (100, 137), (i64::MAX - 10, i64::MAX)] {
            let mut counts = vec![0; (high - low) as usize];
            for number in draw(low, high) {
                assert!((low..high).contains(&number), "{number} of {low} to {high}");
                counts[(number - low) as usize] += 1;
            }
            assert!(even(&counts), "{low} to {high}: {counts:?}");
        }
        assert!(draw(7, 8).iter().all(|number| *number == 7));
        // All but one that there are.
        let mut counts = [0; 16];
        for number in draw(i64::MIN, i64::MAX) {
            counts[(number as u64 >> 60) as usize] += 1;
        }
        assert!(even(&counts), "{counts:?}");
    });
}

#[test]
fn the_numbers_of_a_seed_are_the_same_and_no_two_calls_have_the_same() {
    on_every_machine(2, |driver| {
        let draw = |seed| {
            let harness = Harness::new(driver, seed).unwrap();
            let out = harness
                .contiguous(DType::I64, &[999], &[0; 999 * 8])
                .unwrap();
            let mut all = Vec::new();
            for _ in 0..20 {
                harness
                    .randint(Some(&out), i64::MIN, i64::MAX, &[999])
                    .unwrap();
                all.extend(numbers::<i64>(&harness.bytes(&out).unwrap()));
                // Calls of both kinds share what they draw from.
                all.extend(
                    drawn(&harness, 3, 7)
                        .iter()
                        .map(|number| number.to_bits() as i64),
                );
            }
            all
        };
        let first = draw(1);
        assert_eq!(first, draw(1));
        let distinct: HashSet<i64> = first.iter().copied().collect();
        assert_eq!(distinct.len(), first.len());
        let other: HashSet<i64> = draw(2).into_iter().collect();
        assert!(distinct.is_disjoint(&other));
    });
}

#[test]
fn sizes_may_be_any() {
    on_every_machine(1, |driver| {
        let harness = harness(driver);
        for sizes in [&[][..], &[0], &[3, 0], &[1], &[7, 11], &[2, 3, 4, 5]] {
            let tensor = harness.rand(sizes, None).unwrap();
            assert_eq!((tensor.sizes(), tensor.dtype()), (sizes, DType::F32));
            assert!(tensor.is_on_device());
            let count = sizes.iter().product::<i64>() as usize;
            assert_eq!(harness.bytes(&tensor).unwrap().len(), count * 4);
            let out = harness
                .contiguous(DType::I64, sizes, &bytes(&vec![-1i64; count]))
                .unwrap();
            harness.randint(Some(&out), 0, 10, sizes).unwrap();
            let drawn: Vec<i64> = numbers(&harness.bytes(&out).unwrap());
            assert!(drawn.iter().all(|number| (0..10).contains(number)));
        }
    });
}

#[test]
fn what_cannot_be_drawn_is_refused_with_the_values() {
    on_every_machine(1, |driver| {
        let harness = harness(driver);
        let has = |result: Result<(), thalweg_core::Error>, part: &str| {
            let text = result.unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        };
        let rand = |sizes: &[i64], code| harness.rand(sizes, Some(code)).map(drop);
        has(rand(&[4], 3), "random numbers of i32");
        has(rand(&[4], 77), "the element type 77");
        has(rand(&[4, -1], 6), "sizes [4, -1]");
        let out = harness.contiguous(DType::I64, &[2, 3], &[0; 48]).unwrap();
        let randint = |low, high, sizes: &[i64]| harness.randint(Some(&out), low, high, sizes);
        has(randint(5, 5, &[2, 3]), "from 5 on and below 5");
        has(randint(5, 4, &[2, 3]), "from 5 on and below 4");
        has(randint(0, 4, &[3, 2]), "`out` has sizes [2, 3]");
        has(harness.randint(None, 0, 4, &[2]), "there is no tensor");
        let float = harness.contiguous(DType::F32, &[2], &[0; 8]).unwrap();
        has(
            harness.randint(Some(&float), 0, 4, &[2]),
            "`out` has elements of f32",
        );
        let host = harness.on_host(DType::I64, &[2]).unwrap();
        has(harness.randint(Some(&host), 0, 4, &[2]), "`out` is on Host");
        harness.stream.synchronize().unwrap();
    });
}
