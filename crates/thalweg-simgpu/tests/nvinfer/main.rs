//! The stand-in for TensorRT, called as the real one is: by slots.
#![cfg(target_os = "linux")]

#[macro_use]
mod api;
#[path = "../driver/mod.rs"]
mod driver;
mod engines;
mod faults;
mod order;
mod refusals;
mod versions;

use api::{Logger, Object};
use driver::{OK, get};
use thalweg_simgpu::nvinfer::DType;
use thalweg_simgpu::nvinfer::{EngineSpec, ProfileSpec, TensorRt};

/// One version for each layout that differs where it matters.
fn layouts() -> [TensorRt; 4] {
    [
        TensorRt::new(10, 0, 1),
        TensorRt::new(10, 6, 0),
        TensorRt::new(10, 16, 0),
        TensorRt::new(11, 1, 0),
    ]
}

/// `y = a * x + b` over rows of four, of which a caller has one to eight, with scratch.
fn affine(name: &str, version: TensorRt, a: f64, b: f64) -> EngineSpec {
    EngineSpec::new()
        .name(name)
        .version(version.major, version.minor, version.patch)
        .input("x", DType::F32, &[-1, 4])
        .output_like("y", "x")
        .affine("y", &[(a, "x")], b)
        .profile(
            ProfileSpec::new()
                .shape("x", &[1, 4], &[2, 4], &[8, 4])
                .scratch(1024)
                .scratch_per_element("x", 16),
        )
}

/// A runtime with an engine, a logger, and the driver started.
struct Setup {
    logger: Box<Logger>,
    runtime: Object,
    engine: Object,
}

fn setup(version: TensorRt, spec: &EngineSpec) -> Setup {
    driver::start();
    let logger = Logger::new(version);
    let runtime = api::runtime(&logger, version).unwrap();
    let engine = runtime.deserialize(&spec.to_bytes());
    let engine = engine.unwrap_or_else(|| panic!("{:?}", logger.errors()));
    Setup {
        logger,
        runtime,
        engine,
    }
}

impl Setup {
    fn end(self) {
        self.engine.delete();
        self.runtime.delete();
        assert_eq!(driver::release(0), OK);
    }
}

fn device(bytes: usize) -> u64 {
    get(|pointer| driver::alloc(pointer, bytes))
}

/// Copies to the device and waits.
fn upload<T: Copy>(address: u64, values: &[T]) {
    let bytes = size_of_val(values);
    assert_eq!(
        driver::to_device(address, values.as_ptr().cast(), bytes),
        OK
    );
    assert_eq!(driver::synchronize(), OK);
}

/// Waits for everything and copies from the device.
fn download<T: Copy + Default>(address: u64, count: usize) -> Vec<T> {
    let mut values = vec![T::default(); count];
    assert_eq!(driver::synchronize(), OK);
    let bytes = size_of_val(&values[..]);
    assert_eq!(
        driver::to_host(values.as_mut_ptr().cast(), address, bytes),
        OK
    );
    values
}
