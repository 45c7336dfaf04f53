//! The simulated machine.

mod tensorrt;

use serde::{Deserialize, Serialize};

pub use tensorrt::{TensorRt, Variant};

/// The configuration of the simulated machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Config {
    /// The seed of all choices.
    pub seed: u64,
    /// The mode in which work runs.
    pub mode: Mode,
    /// The number of devices.
    pub devices: usize,
    /// The memory of each device, in bytes. It takes memory of this machine only where it is used.
    pub memory: u64,
    /// The probability that another piece of work runs after each call. With 0 nothing runs before
    /// a wait; by default it depends on the seed.
    pub eagerness: Option<f64>,
    /// True if devices have memory pools (`cuMemAllocAsync`).
    pub pools: bool,
    /// The number of multiprocessors of each device.
    pub multiprocessors: u32,
    /// The compute capability of each device.
    pub capability: (i32, i32),
    /// The version of CUDA that the driver reports.
    pub version: i32,
    /// The version of TensorRT that is emulated.
    pub tensorrt: TensorRt,
}

/// The mode in which work runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Work runs only during calls of the driver: some after each call, and during a wait what it
    /// needs. All choices follow from the seed, so the same calls of one thread give the same
    /// order.
    #[default]
    Seeded,
    /// Work runs as soon as it may, the oldest first, while the host goes on. This is for
    /// benchmarks and stress tests.
    Free,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            mode: Mode::Seeded,
            devices: 1,
            memory: 8 << 30,
            eagerness: None,
            pools: true,
            multiprocessors: 132,
            capability: (9, 0),
            version: 13000,
            tensorrt: TensorRt::default(),
        }
    }
}

impl Config {
    /// One device, with a seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// One device, in mode [`Free`](Mode::Free).
    pub fn free() -> Self {
        Self {
            mode: Mode::Free,
            ..Self::default()
        }
    }

    /// With a number of devices.
    #[must_use]
    pub fn with_devices(mut self, devices: usize) -> Self {
        self.devices = devices;
        self
    }

    /// With a size of each device's memory, in bytes.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// With devices that have no memory pools.
    #[must_use]
    pub fn without_pools(mut self) -> Self {
        self.pools = false;
        self
    }

    /// With a probability that another piece of work runs after each call.
    #[must_use]
    pub fn with_eagerness(mut self, eagerness: f64) -> Self {
        self.eagerness = Some(eagerness);
        self
    }

    /// With a version of TensorRT.
    #[must_use]
    pub fn with_tensorrt(mut self, version: TensorRt) -> Self {
        self.tensorrt = version;
        self
    }

    /// The configuration in the environment: `THALWEG_SIMGPU_SEED`, `_DEVICES`, `_MEMORY`, `_MODE`
    /// (`free` or `seeded`), and `_TENSORRT`, such as `10.6.0` or `10.6.0-lean`.
    pub fn from_environment() -> Self {
        fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
            std::env::var(format!("THALWEG_SIMGPU_{name}"))
                .ok()
                .and_then(|value| value.parse().ok())
                .unwrap_or(default)
        }
        let default = Self::default();
        Self {
            seed: number("SEED", default.seed),
            mode: match std::env::var("THALWEG_SIMGPU_MODE").as_deref() {
                Ok("free") => Mode::Free,
                _ => Mode::Seeded,
            },
            devices: number("DEVICES", default.devices),
            memory: number("MEMORY", default.memory),
            tensorrt: std::env::var("THALWEG_SIMGPU_TENSORRT")
                .ok()
                .and_then(|text| TensorRt::from_text(&text))
                .unwrap_or(default.tensorrt),
            ..default
        }
    }
}
