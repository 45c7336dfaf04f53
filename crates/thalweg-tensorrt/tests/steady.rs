//! A call that is like the one before allocates nothing, whatever the driver and TensorRT do. This
//! test has a file to itself, since it counts the allocations of its thread.

use std::sync::Arc;

use thalweg_core::{DeviceId, DeviceKind, KernelRegistry, LoadOptions, Profile, Runtime, Tensor};
use thalweg_core::{RunOptions, bail};
use thalweg_cuda::{Driver, Stream};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_simgpu::nvinfer::{DType, EngineSpec, ProfileSpec};
use thalweg_simgpu::{Config, Sim};
use thalweg_tensorrt::{
    Binding, Container, Metadata, NAME, Options, SHARED_SCRATCH_LIMIT, TensorRt,
};
use thalweg_testing::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn a_call_that_is_like_the_one_before_allocates_nothing() {
    let sim = Sim::session(Config::seeded(1));
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[8, 8])
        .output_like("y", "x")
        .profile(ProfileSpec::new().scratch(4096))
        .affine("y", &[(3.0, "x")], 1.0)
        .to_bytes();
    let binding = |name: &str, is_input| Binding {
        name: name.into(),
        is_input,
        ..Binding::default()
    };
    let metadata = Metadata {
        io_bindings: vec![binding("x", true), binding("y", false)],
        ..Metadata::default()
    };
    let engine = &engine;
    let payload = Container { metadata, engine }.to_bytes().unwrap();

    let mut program = ProgramBuilder::new();
    let payload = program.payload(payload);
    let mut forward = MethodBuilder::new("forward");
    let cuda = DeviceId {
        kind: DeviceKind::Cuda,
        index: 0,
    };
    let arena = forward.arena(cuda);
    let delegate = forward.delegate(NAME, payload, &[]);
    let x = forward.tensor(ScalarType::Float, &[8, 8]);
    let up = forward.tensor_in(arena, ScalarType::Float, &[8, 8]);
    let y = forward.tensor_in(arena, ScalarType::Float, &[8, 8]);
    let down = forward.tensor(ScalarType::Float, &[8, 8]);
    forward.input(x);
    forward.call("et_copy::_h2d_copy.out", &[x, up, up]);
    forward.call_delegate(delegate, &[up, y]);
    forward.call("et_copy::_d2h_copy.out", &[y, down, down]);
    forward.output(down);
    program.method(forward);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();

    let mut kernels = KernelRegistry::new();
    for copy in ["_h2d_copy", "_d2h_copy"] {
        let signature =
            format!("et_copy::{copy}.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
        let registered = kernels.register(&signature, |_| bail!(Internal, "copies"));
        registered.unwrap();
    }
    let driver = Driver::open(Some(Sim::path())).unwrap();
    let device = driver.device(0).unwrap();
    // Threads' own streams are known from the start.
    drop(Stream::per_thread(&device));
    let tensorrt = TensorRt::find(&driver, &Options::new().library(Sim::path())).unwrap();
    let runtime = Runtime::builder()
        .kernels(&kernels)
        .backend(NAME, tensorrt)
        .device(Arc::new(device))
        .build();
    let x = Tensor::from_slice(&[2f32; 64], &[8, 8]).unwrap();
    let shared = LoadOptions::new().shared_scratch(true);
    let limited = shared
        .clone()
        .backend_option(NAME, SHARED_SCRATCH_LIMIT, "1 buffer");
    for options in [LoadOptions::new(), shared, limited] {
        let program = runtime.load_bytes(bytes.clone(), &options).unwrap();
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
    drop((runtime, driver));
    sim.assert_clean();
}
