//! Operators in graphs.

use std::collections::HashSet;

use thalweg_core::DType;
use thalweg_cuda::Capture;
use thalweg_testing::SplitMix;

use super::products::{ALL, Weights};
use super::{bytes, numbers, on_every_machine, probe};

/// All that a call needs was loaded by one before.
#[test]
fn operators_can_be_captured_and_the_graph_does_what_they_do() {
    on_every_machine(3, |driver| {
        let probe = probe(driver);
        let mut random = SplitMix::new(3);
        let values: Vec<f32> = (0..3000).map(|_| random.unit() as f32).collect();
        let tensor = probe.dense(DType::F32, &[3000], &bytes(&values)).unwrap();
        let weights: Vec<_> = ALL
            .iter()
            .map(|packing| Weights::new(&probe, *packing, [16, 256, 32, 2], &mut random))
            .collect();
        let ones = vec![half::bf16::ONE; 256];
        let activations = probe.dense(DType::BF16, &[1, 256], &bytes(&ones)).unwrap();
        let drawn = probe.dense(DType::I64, &[100], &[0; 800]).unwrap();
        let all = || {
            let sorted = probe.sort(Some(&tensor), 0, true).unwrap();
            probe
                .randint(Some(&drawn), i64::MIN, i64::MAX, &[100])
                .unwrap();
            let products: Vec<_> = weights
                .iter()
                .map(|weights| weights.product(&probe, &activations))
                .collect();
            (sorted, products)
        };
        let (expected, expected_products) = all();
        let expected: Vec<_> = [&expected.0, &expected.1]
            .into_iter()
            .chain(&expected_products)
            .map(|tensor| probe.bytes(tensor).unwrap())
            .collect();
        let mut seen: HashSet<i64> = numbers(&probe.bytes(&drawn).unwrap()).into_iter().collect();
        let capture = Capture::begin(&probe.stream).unwrap();
        let (sorted, products) = all();
        let graph = capture.end().unwrap().instantiate().unwrap();
        for launch in 2..5 {
            let mut work = probe.stream.work().unwrap();
            graph.launch(&mut work).unwrap();
            work.finish().unwrap();
            let found = [&sorted.0, &sorted.1].into_iter().chain(&products);
            for (found, expected) in found.zip(&expected) {
                assert_eq!(&probe.bytes(found).unwrap(), expected);
            }
            // Each launch draws others.
            seen.extend(numbers::<i64>(&probe.bytes(&drawn).unwrap()));
            assert_eq!(seen.len(), launch * 100);
        }
        drop((sorted, products));
        probe.stream.synchronize().unwrap();
    });
}
