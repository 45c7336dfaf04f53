//! Host allocations of a delegate in a graph: none. This test has a file to itself, since it
//! counts the allocations of its thread.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::sync::Arc;

use thalweg_aoti::{CudaBackend, NAME};
use thalweg_core::Tensor;
use thalweg_core::{DeviceId, DeviceKind, KernelRegistry};
use thalweg_cuda::Driver;
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{GraphUse, LoadOptions, Method};
use thalweg_runtime::{RunOptions, Runtime};
use thalweg_simgpu::{Config, Sim};
use thalweg_testing::{CountingAllocator, sample};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Delegates one after the other.
fn chain(driver: &Driver, len: usize) -> Method {
    let mut program = ProgramBuilder::new();
    program.named("library", sample::as_built().to_vec());
    let payload = program.payload(b"library\n".to_vec());
    let mut forward = MethodBuilder::new("forward");
    let cuda = DeviceId {
        kind: DeviceKind::Cuda,
        index: 0,
    };
    let arena = forward.arena(cuda);
    let x = forward.tensor(ScalarType::Float, &[8, 4]);
    let y = forward.tensor(ScalarType::Float, &[8, 4]);
    let on_device =
        |forward: &mut MethodBuilder| forward.tensor_in(arena, ScalarType::Float, &[8, 4]);
    let mut last = on_device(&mut forward);
    forward.input(x);
    forward.call("et_copy::_h2d_copy.out", &[x, last, last]);
    for _ in 0..len {
        let delegate = forward.delegate(NAME, payload, &[]);
        let next = on_device(&mut forward);
        forward.call_delegate(delegate, &[last, next]);
        last = next;
    }
    forward.call("et_copy::_d2h_copy.out", &[last, y, y]);
    forward.output(y);
    program.method(forward);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let mut kernels = KernelRegistry::new();
    thalweg_kernels::register(&mut kernels).unwrap();
    let runtime = Runtime::builder()
        .kernels(&kernels)
        .backend(NAME, CudaBackend::new(driver).unwrap())
        .device(Arc::new(driver.device(0).unwrap()))
        .build();
    let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
    program.method("forward").unwrap()
}

#[test]
fn a_delegate_in_a_graph_allocates_nothing_on_the_host() {
    let sim = Sim::session(Config::seeded(1));
    let x = Tensor::from_slice(&[2f32; 32], &[8, 4]).unwrap();
    let allocations = [1, 9].map(|len| {
        let driver = Driver::open(Some(Sim::path())).unwrap();
        let mut method = chain(&driver, len);
        let inputs = [(&x).into()];
        let options = RunOptions::new().graph(GraphUse::On);
        for _ in 0..6 {
            method.run_with(&inputs, &options).unwrap();
        }
        let launches = sim.calls("cuGraphLaunch");
        let before = ALLOCATOR.thread_allocations();
        for _ in 0..10 {
            method.run_with(&inputs, &options).unwrap();
        }
        let allocations = ALLOCATOR.thread_allocations() - before;
        assert_eq!(sim.calls("cuGraphLaunch") - launches, 10);
        drop((method, driver));
        sim.assert_clean();
        sim.reset(Config::seeded(1));
        allocations
    });
    // What there is is for the call's workspace.
    assert_eq!(allocations[0], allocations[1]);
    assert!(allocations[0] <= 10 * 6, "{allocations:?}");
}
