//! `thalweg bench --shared-scratch`: methods whose engines share one scratch, beside the same that do
//! not.

use std::sync::Arc;

use serde::Serialize;
use thalweg::{Device, LoadOptions, Runtime};

use crate::text;

/// Whether engines share their scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SharedScratch {
    /// They have some each
    Off,
    /// They share one for each device
    On,
    /// Measures both in turn
    Both,
}

impl SharedScratch {
    /// What is measured of each program.
    pub(super) fn variants(self) -> &'static [bool] {
        match self {
            Self::Off => &[false],
            Self::On => &[true],
            Self::Both => &[false, true],
        }
    }
}

/// With shared scratch, or without.
pub(super) fn options(shared: bool) -> LoadOptions {
    LoadOptions::new().shared_scratch(shared)
}

/// What shared scratch there is on the devices of a program.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Held {
    buffers: usize,
    bytes: usize,
    hits: u64,
    waits: u64,
    growths: u64,
}

impl Held {
    pub(super) fn in_words(&self) -> String {
        format!(
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

/// A runtime, and its shared scratch to look at.
pub(super) struct Looked {
    pub(super) runtime: Runtime,
    #[cfg(target_os = "linux")]
    pools: Option<(thalweg::cuda::Driver, thalweg::tensorrt::TensorRt)>,
}

impl Looked {
    /// Everything that this machine offers. Where TensorRT is missing, a program that needs it says so.
    #[cfg(target_os = "linux")]
    pub(super) fn new(threads: Option<usize>, shared: SharedScratch) -> Self {
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
                runtime: crate::commands::runtime(threads),
                pools,
            };
        };
        let builder = Runtime::builder().backend(NAME, tensorrt.clone());
        let runtime = match threads {
            Some(threads) => builder.threads(threads).build(),
            None => builder.build(),
        };
        Self {
            runtime: runtime.into(),
            pools,
        }
    }

    /// The shared scratch of some devices, if there is any.
    #[cfg(target_os = "linux")]
    pub(super) fn held(&self, devices: &[Arc<dyn Device>]) -> Option<Held> {
        let (driver, tensorrt) = self.pools.as_ref()?;
        let all = devices.iter().filter_map(|device| {
            let ordinal = usize::try_from(device.id().index).ok()?;
            Some(tensorrt.scratch_statistics(&driver.device(ordinal).ok()?))
        });
        let sum: thalweg::tensorrt::ScratchStatistics = all.sum();
        Some(Held {
            buffers: sum.buffers,
            bytes: sum.bytes,
            hits: sum.hits,
            waits: sum.waits,
            growths: sum.growths,
        })
    }

    /// Elsewhere nothing shares.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn new(threads: Option<usize>, _: SharedScratch) -> Self {
        Self {
            runtime: crate::commands::runtime(threads),
        }
    }

    /// Elsewhere nothing shares.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn held(&self, _: &[Arc<dyn Device>]) -> Option<Held> {
        None
    }
}
