//! Calls of real models on static shapes allocate nothing, except within the crate `gemm`, which
//! allocates room to pack its operands and does few products any more. This test has a file to itself, since it
//! counts the allocations of the whole process.

mod models;

use thalweg::{LoadOptions, Runtime};
use thalweg_testing::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn calls_of_models_on_static_shapes_allocate_nothing() {
    let runtime = Runtime::builder().threads(1).build();
    let mut allocating = Vec::new();
    let mut tested = 0;
    for (name, mut files) in models::all() {
        // Its sizes depend on data, its weights are in a data file, or its delegate is not here.
        if name.contains("xnnpack") || name.starts_with("external") || name == "train_step" {
            continue;
        }
        let bytes = files.remove("model.pte").unwrap();
        let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
        let methods: Vec<_> = program.method_names().map(String::from).collect();
        for method in methods {
            let mut method = program.method(&method).unwrap();
            let inputs = models::inputs(&method.info()).unwrap();
            let inputs = models::borrowed(&inputs);
            // The first calls grow what grows.
            if method.run(&inputs).is_err() || method.run(&inputs).is_err() {
                continue;
            }
            let before = ALLOCATOR.allocations();
            method.run(&inputs).unwrap();
            let count = ALLOCATOR.allocations() - before;
            tested += 1;
            if count > 0 {
                allocating.push(format!("{name}.{}: {count}", method.name()));
            }
        }
    }
    assert_eq!(allocating, [] as [&str; 0]);
    assert!(tested > 25, "only {tested} methods were run");
}
