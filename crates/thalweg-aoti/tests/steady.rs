//! Host allocations of a delegate in a graph: none. This test has a file to itself, since it
//! counts the allocations of its thread.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

use thalweg_aoti::{CudaBackend, NAME};
use thalweg_core::{DeviceId, DeviceKind, GraphUse, KernelRegistry, LoadOptions, Method};
use thalweg_core::{RunOptions, Runtime, Tensor};
use thalweg_cuda::Driver;
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_simgpu::{Config, Sim};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
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

/// The library as it is made: `y = x`, by way of a temporary.
fn library() -> Vec<u8> {
    let program = std::env::current_exe().unwrap();
    let places = program.ancestors().skip(1).take(3).flat_map(|place| {
        let name = "libthalweg_aoti_sample.so";
        [place.join("deps").join(name), place.join(name)]
    });
    let path: Option<PathBuf> = { places }.find(|path| path.is_file());
    std::fs::read(path.expect("`cargo build -p thalweg-aoti-sample` makes the library")).unwrap()
}

/// Delegates one after the other.
fn chain(driver: &Driver, len: usize) -> Method {
    let mut program = ProgramBuilder::new();
    program.named("library", library());
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
        let before = ALLOCATIONS.get();
        for _ in 0..10 {
            method.run_with(&inputs, &options).unwrap();
        }
        let allocations = ALLOCATIONS.get() - before;
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
