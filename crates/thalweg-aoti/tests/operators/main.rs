//! Tests of operators with kernels of this crate, called as libraries call them.
//!
//! On the stand-in driver, [`standin`] computes what the kernels compute, from nothing but the arguments of
//! their launches. With `THALWEG_TEST_DRIVER=real` the kernels themselves run, on more shapes, and [`speed`]
//! measures some.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod captures;
mod faults;
mod matmul;
mod properties;
mod random;
mod sort;
mod sources;
mod speed;
mod standin;
mod weights;

use thalweg_aoti::Harness;
use thalweg_cuda::Driver;
use thalweg_simgpu::{Config, Sim};

fn real() -> bool {
    std::env::var("THALWEG_TEST_DRIVER").is_ok_and(|driver| driver == "real")
}

/// Runs a test: on the stand-in once for each seed, each time on a new machine, which must report nothing
/// afterwards; on a real driver once.
fn on_every_machine(seeds: u64, test: impl Fn(&Driver)) {
    if real() {
        return test(&Driver::open(None).unwrap_or_else(|error| panic!("{error}")));
    }
    let sim = Sim::session(Config::seeded(0));
    standin::register(&sim);
    for seed in 0..seeds {
        sim.reset(Config::seeded(seed));
        test(&Driver::open(Some(Sim::path())).unwrap());
        sim.assert_clean();
    }
}

fn harness(driver: &Driver) -> Harness {
    Harness::new(driver, 42).unwrap()
}

/// The bytes of numbers.
fn bytes<T: bytemuck::NoUninit>(numbers: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(numbers).to_vec()
}

/// The numbers of bytes.
fn numbers<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    let each = bytes.chunks_exact(size_of::<T>());
    each.map(bytemuck::pod_read_unaligned).collect()
}
