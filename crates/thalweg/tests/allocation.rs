//! Calls of real models on static shapes allocate nothing, except within the crate `gemm`, which
//! allocates room to pack its operands and does few products any more. This test has a file to itself, since it
//! counts the allocations of the whole process.

mod models;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use thalweg::{LoadOptions, Runtime};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            method.run(&inputs).unwrap();
            let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
            tested += 1;
            if count > 0 {
                allocating.push(format!("{name}.{}: {count}", method.name()));
            }
        }
    }
    assert_eq!(allocating, [] as [&str; 0]);
    assert!(tested > 25, "only {tested} methods were run");
}
