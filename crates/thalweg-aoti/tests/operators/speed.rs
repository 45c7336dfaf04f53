//! Times of some operators, where `THALWEG_TEST_DRIVER` is `real`. They are printed, and nothing is asserted:
//!
//! `operators speed --nocapture --test-threads=1`

use thalweg_aoti::{Harness, WeightFormat};
use thalweg_core::DType;
use thalweg_cuda::{Capture, Driver, Event};
use thalweg_testing::SplitMix;

use super::weights::{FORMATS, Weights};
use super::{bytes, harness, real};

fn on_a_device(test: impl FnOnce(&Harness)) {
    if real() {
        test(&harness(&Driver::open(None).unwrap()));
    } else {
        println!("skipped: it needs THALWEG_TEST_DRIVER=real");
    }
}

/// Microseconds of each call, on the device: many are captured, and the graph is launched many times.
fn time<T>(harness: &Harness, calls: usize, mut call: impl FnMut(usize) -> T) -> f64 {
    const LAUNCHES: usize = 10;
    drop(call(0));
    let capture = Capture::begin(&harness.stream).unwrap();
    let results: Vec<T> = (0..calls).map(&mut call).collect();
    let graph = capture.end().unwrap().instantiate().unwrap();
    let event = || Event::with_timing(&harness.device).unwrap();
    let (start, end) = (event(), event());
    let mut work = harness.stream.work().unwrap();
    graph.launch(&mut work).unwrap();
    start.record(&harness.stream).unwrap();
    for _ in 0..LAUNCHES {
        graph.launch(&mut work).unwrap();
    }
    end.record(&harness.stream).unwrap();
    work.finish().unwrap();
    end.synchronize().unwrap();
    drop(results);
    let milliseconds = f64::from(end.milliseconds_since(&start).unwrap());
    milliseconds * 1e3 / (LAUNCHES * calls) as f64
}

/// More weights than a device's cache has room for, used in turn.
const COPIES: usize = 24;

#[test]
fn speed_of_matmuls() {
    const SIZE: usize = 4096;
    on_a_device(|harness| {
        let mut random = SplitMix::new(1);
        for format in FORMATS {
            let variants: &[(usize, usize)] = match format {
                WeightFormat::Int4Packed => &[(32, 8), (128, 8), (128, 2)],
                WeightFormat::Int6 => &[(16, 0), (8, 0)],
                WeightFormat::Int8 => &[(32, 0), (128, 0)],
                _ => &[(32, 0), (128, 0)],
            };
            for &(group, inner) in variants {
                let sizes = [SIZE, SIZE, group, inner];
                let weights = Weights::new(harness, format, sizes, &mut random);
                let copies: Vec<_> = (0..COPIES).map(|_| weights.copy(harness)).collect();
                for m in [1, 2, 4, 8, 16, 32, 64, 128, 512, 2048] {
                    let numbers: Vec<_> = (0..m * SIZE)
                        .map(|_| half::bf16::from_f64(random.unit()))
                        .collect();
                    let sizes = [m as i64, SIZE as i64];
                    let activations = harness
                        .contiguous(DType::BF16, &sizes, &bytes(&numbers))
                        .unwrap();
                    let calls = if m > 64 { COPIES } else { COPIES * 4 };
                    let each = time(harness, calls, |call| {
                        copies[call % COPIES].matmul(harness, &activations)
                    });
                    let moved = weights.bytes + m * SIZE * 4;
                    println!(
                        "{format:?}, groups of {group}, inner {inner}, {m} x {SIZE} x {SIZE}: \
                         {each:.2} us, {:.0} GB/s, {:.1} TFLOP/s",
                        moved as f64 / each / 1e3,
                        (2 * m * SIZE * SIZE) as f64 / each / 1e6
                    );
                    harness.stream.synchronize().unwrap();
                }
            }
        }
    });
}

#[test]
fn speed_of_sorting() {
    on_a_device(|harness| {
        let mut random = SplitMix::new(2);
        for (sizes, dimension) in [
            (&[1_000_000i64][..], 0),
            (&[1000, 1000], 1),
            (&[1000, 1000], 0),
            (&[8, 128_000], 1),
            (&[2048], 0),
        ] {
            let count: i64 = sizes.iter().product();
            for dtype in [DType::F32, DType::I64, DType::BF16] {
                let numbers: Vec<u8> = match dtype {
                    DType::F32 => {
                        bytes(&(0..count).map(|_| random.unit() as f32).collect::<Vec<_>>())
                    }
                    DType::I64 => bytes(&(0..count).map(|_| random.bits()).collect::<Vec<_>>()),
                    _ => bytes(
                        &(0..count)
                            .map(|_| half::bf16::from_f64(random.unit()))
                            .collect::<Vec<_>>(),
                    ),
                };
                let tensor = harness.contiguous(dtype, sizes, &numbers).unwrap();
                let each = time(harness, 4, |_| {
                    harness.sort(Some(&tensor), dimension, false).unwrap()
                });
                println!(
                    "sort of {sizes:?} along {dimension}, {dtype}: {each:.1} us, {:.2} G elements/s",
                    count as f64 / each / 1e3
                );
                harness.stream.synchronize().unwrap();
            }
        }
    });
}

#[test]
fn speed_of_random_numbers() {
    const COUNT: i64 = 1 << 24;
    on_a_device(|harness| {
        for (code, size) in [(6, 4), (15, 2)] {
            let each = time(harness, 10, |_| harness.rand(&[COUNT], Some(code)).unwrap());
            let rate = (COUNT * size) as f64 / each / 1e3;
            println!("rand of {COUNT}, {size} bytes each: {each:.1} us, {rate:.0} GB/s");
        }
        let each = time(harness, 200, |_| harness.rand(&[16], Some(6)).unwrap());
        println!("rand of 16: {each:.2} us");
    });
}
