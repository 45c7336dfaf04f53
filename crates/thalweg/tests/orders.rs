//! Models have the answers that they have with every tensor in its planned order.

mod models;

use thalweg::{DType, LoadOptions, Optimizations, Program, Runtime};

/// Programs in which something gets its channels last.
const REORDERED: [&str; 3] = ["conv", "conv_int8", "mobilenet"];

/// A program whose answers are others in each call.
const RANDOM: &str = "random_numbers";

/// All outputs of f32 of a method's first call, in the logical order. `None` if it cannot run.
fn answers(program: &Program, method: &str) -> Option<Vec<Vec<f32>>> {
    let mut method = program.method(method).ok()?;
    let inputs = models::inputs(&method.info()).unwrap();
    let outputs = method.run(&models::borrowed(&inputs)).ok()?;
    let tensors = (0..outputs.len()).filter_map(|index| outputs.tensor(index).ok());
    let floats = tensors.filter(|tensor| tensor.dtype() == DType::F32);
    let logical = floats.map(|tensor| {
        let (sizes, data) = (tensor.sizes(), tensor.data::<f32>().unwrap());
        let strides = thalweg::extend::strides_of(sizes, tensor.dim_order());
        let place = |mut index: usize| {
            let mut at = 0;
            for dim in (0..sizes.len()).rev() {
                at += index % sizes[dim] * strides[dim];
                index /= sizes[dim];
            }
            at
        };
        (0..data.len()).map(|index| data[place(index)]).collect()
    });
    Some(logical.collect())
}

#[test]
fn models_have_the_answers_that_they_have_with_tensors_in_their_planned_orders() {
    let runtime = Runtime::builder().threads(1).build();
    let (mut compared, mut reordered) = (0, Vec::new());
    for (name, mut files) in models::all() {
        if name == RANDOM {
            continue;
        }
        let bytes = files.remove("model.pte").unwrap();
        let load = |planned: bool| {
            let options =
                LoadOptions::new().optimizations(Optimizations::all().channels_last(!planned));
            runtime.load_bytes(bytes.clone(), &options)
        };
        let (Ok(planned), Ok(chosen)) = (load(true), load(false)) else {
            continue;
        };
        let methods: Vec<_> = planned.method_names().map(String::from).collect();
        for method in methods {
            let Some(expected) = answers(&planned, &method) else {
                continue;
            };
            let found = answers(&chosen, &method).unwrap();
            assert_eq!(planned.schedule(&method).unwrap().channels_last, 0);
            if chosen.schedule(&method).unwrap().channels_last > 0 {
                reordered.push(name.clone());
            }
            // Where sums are rounded to few numbers, they may come to the next one.
            let tolerance = if name.contains("int8") { 0.06 } else { 1e-4 };
            for (expected, found) in expected.iter().zip(&found) {
                assert_eq!(expected.len(), found.len());
                for (expected, found) in expected.iter().zip(found) {
                    let same = expected == found || (expected.is_nan() && found.is_nan());
                    let bound = tolerance * expected.abs().max(1.0);
                    assert!(
                        same || (expected - found).abs() <= bound,
                        "{name}.{method}: {found} instead of {expected}"
                    );
                    compared += 1;
                }
            }
        }
    }
    for name in REORDERED {
        assert!(
            reordered.iter().any(|other| other == name),
            "{name} has not changed: {reordered:?}"
        );
    }
    assert!(compared > 1000, "only {compared} numbers were compared");
}
