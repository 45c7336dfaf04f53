//! A call that is like the one before allocates nothing, whatever the driver and TensorRT do. This
//! test has a file to itself, since it counts the allocations of its thread.

#[path = "engines/models.rs"]
#[allow(dead_code, reason = "the tests of engines use the rest")]
mod models;

use thalweg_core::Tensor;
use thalweg_cuda::Stream;
use thalweg_runtime::{LoadOptions, Profile, RunOptions};
use thalweg_simgpu::{Config, Sim};
use thalweg_tensorrt::{NAME, SHARED_SCRATCH_LIMIT};
use thalweg_testing::CountingAllocator;

use models::{affine, load, open, tensorrt};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn a_call_that_is_like_the_one_before_allocates_nothing() {
    let sim = Sim::session(Config::seeded(1));
    let bytes = affine().bytes();
    let driver = open();
    // Threads' own streams are known from the start.
    drop(Stream::per_thread(&driver.device(0).unwrap()));
    let tensorrt = tensorrt(&driver).unwrap();
    let x = Tensor::from_slice(&[2f32; 64], &[8, 8]).unwrap();
    let shared = LoadOptions::new().shared_scratch(true);
    let limited = shared
        .clone()
        .backend_option(NAME, SHARED_SCRATCH_LIMIT, "1 buffer");
    for options in [LoadOptions::new(), shared, limited] {
        let program = load(&tensorrt, &driver, bytes.clone(), &options).unwrap();
        let mut method = program.method("forward").unwrap();
        let inputs = [(&x).into()];
        for _ in 0..3 {
            method.run(&inputs).unwrap();
        }
        let before = ALLOCATOR.thread_allocations();
        for _ in 0..10 {
            method.run(&inputs).unwrap();
        }
        assert_eq!(ALLOCATOR.thread_allocations() - before, 0, "{options:?}");
        // Pins that are made beforehand are no different, and neither is the word that there are none.
        let exact = Profile::index(0).for_delegate(("forward", 0), 0);
        let before = ALLOCATOR.thread_allocations();
        for profile in [&Profile::Automatic, &exact, &Profile::Automatic, &exact] {
            let options = RunOptions::new().profile(profile);
            method.run_with(&inputs, &options).unwrap();
        }
        assert_eq!(ALLOCATOR.thread_allocations() - before, 0, "{options:?}");
        let outputs = method.run(&inputs).unwrap();
        assert_eq!(
            outputs.tensor(0).unwrap().data::<f32>().unwrap(),
            [7f32; 64]
        );
    }
    drop((tensorrt, driver));
    sim.assert_clean();
}
