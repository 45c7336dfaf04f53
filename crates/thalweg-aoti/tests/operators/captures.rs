//! Operators in graphs.

use std::collections::HashSet;

use thalweg_core::DType;
use thalweg_cuda::Capture;
use thalweg_testing::SplitMix;

use super::weights::{FORMATS, Weights};
use super::{bytes, harness, numbers, on_every_machine};

#[test]
fn operators_can_be_captured_and_the_graph_does_what_they_do() {
    on_every_machine(3, |driver| {
        let harness = harness(driver);
        let mut random = SplitMix::new(3);
        let values: Vec<f32> = (0..3000).map(|_| random.unit() as f32).collect();
        let tensor = harness
            .contiguous(DType::F32, &[3000], &bytes(&values))
            .unwrap();
        let weights: Vec<_> = FORMATS
            .iter()
            .map(|format| Weights::new(&harness, *format, [16, 256, 32, 2], &mut random))
            .collect();
        let ones = vec![half::bf16::ONE; 256];
        let activations = harness
            .contiguous(DType::BF16, &[1, 256], &bytes(&ones))
            .unwrap();
        let drawn = harness.contiguous(DType::I64, &[100], &[0; 800]).unwrap();
        let all = || {
            let sorted = harness.sort(Some(&tensor), 0, true).unwrap();
            harness
                .randint(Some(&drawn), i64::MIN, i64::MAX, &[100])
                .unwrap();
            let products: Vec<_> = weights
                .iter()
                .map(|weights| weights.matmul(&harness, &activations))
                .collect();
            (sorted, products)
        };
        let (expected, expected_products) = all();
        let expected: Vec<_> = [&expected.0, &expected.1]
            .into_iter()
            .chain(&expected_products)
            .map(|tensor| harness.bytes(tensor).unwrap())
            .collect();
        let mut seen: HashSet<i64> = numbers(&harness.bytes(&drawn).unwrap())
            .into_iter()
            .collect();
        let capture = Capture::begin(&harness.stream).unwrap();
        let (sorted, products) = all();
        let graph = capture.end().unwrap().instantiate().unwrap();
        for launch in 2..5 {
            let mut work = harness.stream.work().unwrap();
            graph.launch(&mut work).unwrap();
            work.finish().unwrap();
            let found = [&sorted.0, &sorted.1].into_iter().chain(&products);
            for (found, expected) in found.zip(&expected) {
                assert_eq!(&harness.bytes(found).unwrap(), expected);
            }
            // Each launch draws others.
            seen.extend(numbers::<i64>(&harness.bytes(&drawn).unwrap()));
            assert_eq!(seen.len(), launch * 100);
        }
        drop((sorted, products));
        harness.stream.synchronize().unwrap();
    });
}
