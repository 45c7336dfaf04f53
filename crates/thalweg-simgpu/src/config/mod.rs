//! What kind of machine is simulated.

mod tensorrt;

use serde::{Deserialize, Serialize};

pub use tensorrt::{TensorRt, Variant};

/// The machine, and how it surprises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Config {
    /// Where every choice comes from.
    pub seed: u64,
    /// When work runs.
    pub mode: Mode,
    /// How many devices there are.
    pub devices: usize,
    /// The memory of each, in bytes. It takes memory of this machine only where it is used.
    pub memory: u64,
    /// How likely another piece of work runs after each call, from 0 (nothing runs before
    /// somebody waits) to 1; by default the seed chooses that too.
    pub eagerness: Option<f64>,
    /// Whether devices allocate memory in the order of streams.
    pub pools: bool,
    /// The multiprocessors of each device.
    pub multiprocessors: u32,
    /// The compute capability of each device.
    pub capability: (i32, i32),
    /// The version that the driver says it has.
    pub version: i32,
    /// The version of TensorRT that is played.
    pub tensorrt: TensorRt,
}

/// When work runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Only while the host is inside a call of the driver: a few pieces after each call, and what
    /// a wait needs during the wait. All choices follow from the seed, so the same calls of one
    /// thread give the same order. Nothing runs while the host calls nothing.
    #[default]
    Seeded,
    /// As soon as it may, oldest first, while the host goes on. For benchmarks and stress.
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
    /// One device, and a seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// Work runs as soon as it may.
    pub fn free() -> Self {
        Self {
            mode: Mode::Free,
            ..Self::default()
        }
    }

    /// With so many devices.
    #[must_use]
    pub fn with_devices(mut self, devices: usize) -> Self {
        self.devices = devices;
        self
    }

    /// With so much memory on each device, in bytes.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// With devices that do not allocate memory in the order of streams.
    #[must_use]
    pub fn without_pools(mut self) -> Self {
        self.pools = false;
        self
    }

    /// With a chance of so much that another piece of work runs after each call.
    #[must_use]
    pub fn with_eagerness(mut self, eagerness: f64) -> Self {
        self.eagerness = Some(eagerness);
        self
    }

    /// With this version of TensorRT.
    #[must_use]
    pub fn with_tensorrt(mut self, version: TensorRt) -> Self {
        self.tensorrt = version;
        self
    }

    /// What the environment says: `THALWEG_SIMGPU_SEED`, `_DEVICES`, `_MEMORY`, `_MODE`, which is
    /// `free` or `seeded`, and `_TENSORRT`, such as `10.6.0` or `10.6.0-lean`.
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
