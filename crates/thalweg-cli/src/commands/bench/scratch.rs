//! Shared scratch of TensorRT engines, which `thalweg bench call` compares with scratch of their own.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use thalweg::extend::Device;
use thalweg::{LoadOptions, Runtime};

use crate::options::Threads;
use crate::text;

/// The scratch of TensorRT engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SharedScratch {
    /// A scratch for each engine
    Off,
    /// One scratch for all engines of a device
    On,
    /// Both, measured in turn
    Both,
}

impl SharedScratch {
    /// The variants that are measured of each program: `true` for shared scratch.
    pub(super) fn variants(self) -> &'static [bool] {
        match self {
            Self::Off => &[false],
            Self::On => &[true],
            Self::Both => &[false, true],
        }
    }
}

/// Load options with shared scratch, or without.
pub(super) fn load_options(shared: bool) -> LoadOptions {
    LoadOptions::new().shared_scratch(shared)
}

/// The shared scratch of the devices that a method uses.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ScratchUse {
    buffers: usize,
    bytes: usize,
    hits: u64,
    waits: u64,
    growths: u64,
}

impl fmt::Display for ScratchUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in {}; taken {} as it was, {} after a wait on the device; grown {}",
            text::bytes(self.bytes as u64),
            text::count(self.buffers, "buffer"),
            times(self.hits),
            times(self.waits),
            times(self.growths),
        )
    }
}

fn times(count: u64) -> String {
    match count {
        1 => "once".into(),
        count => format!("{count} times"),
    }
}

/// A runtime whose shared scratch can be inspected.
pub(super) struct ScratchRuntime {
    pub(super) runtime: Runtime,
    #[cfg(target_os = "linux")]
    pools: Option<(thalweg::cuda::Driver, thalweg::tensorrt::TensorRt)>,
}

impl ScratchRuntime {
    /// A runtime with everything that this machine offers. A missing TensorRT is an error only for
    /// programs that need it.
    #[cfg(target_os = "linux")]
    pub(super) fn new(threads: Threads, shared: SharedScratch) -> Self {
        use thalweg::cuda::Driver;
        use thalweg::tensorrt::{NAME, Options, TensorRt};

        let found = || {
            let driver = Driver::open(None).ok()?;
            let tensorrt = TensorRt::find(&driver, &Options::new()).ok()?;
            Some((driver, tensorrt))
        };
        let pools = (shared != SharedScratch::Off).then(found).flatten();
        let Some((_, tensorrt)) = &pools else {
            return Self {
                runtime: threads.runtime(),
                pools,
            };
        };
        let tensorrt = tensorrt.clone();
        Self {
            runtime: threads.runtime_with(|builder| builder.backend(NAME, tensorrt)),
            pools,
        }
    }

    /// The shared scratch of some devices, if there is any.
    #[cfg(target_os = "linux")]
    pub(super) fn scratch(&self, devices: &[Arc<dyn Device>]) -> Option<ScratchUse> {
        let (driver, tensorrt) = self.pools.as_ref()?;
        let all = devices.iter().filter_map(|device| {
            let ordinal = usize::try_from(device.id().index).ok()?;
            Some(tensorrt.scratch_statistics(&driver.device(ordinal).ok()?))
        });
        let sum: thalweg::tensorrt::ScratchStatistics = all.sum();
        Some(ScratchUse {
            buffers: sum.buffers,
            bytes: sum.bytes,
            hits: sum.hits,
            waits: sum.waits,
            growths: sum.growths,
        })
    }

    /// Other systems have no TensorRT, and so no shared scratch.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn new(threads: Threads, _: SharedScratch) -> Self {
        Self {
            runtime: threads.runtime(),
        }
    }

    /// Other systems have no TensorRT, and so no shared scratch.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn scratch(&self, _: &[Arc<dyn Device>]) -> Option<ScratchUse> {
        None
    }
}
