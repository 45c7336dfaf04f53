//! The backend.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, Once};

use thalweg_core::{Backend, BackendOptions, DelegateSpec, LoadedDelegate, Result, bail, ensure};
use thalweg_cuda::Driver;

use crate::NAME;
use crate::abi::DriverTable;
use crate::cache::WeakCache;
use crate::compiled_library::CompiledLibrary;
use crate::constants::ConstantStorages;
use crate::delegate::LibraryDelegate;
use crate::device::DeviceResources;
use crate::loader::System;
use crate::model::Model;
use crate::payload::Payload;
use crate::sync::lock;

/// The backend for compiled CUDA libraries. Clones share everything.
///
/// # Options
/// Upstream's options are accepted and have no effect: what they request is always so here, or is set
/// elsewhere.
///
/// | key | why it has no effect |
/// |---|---|
/// | `use_shared_cuda_stream` | all delegates of a call share its stream |
/// | `weight_sharing_across_methods` | constants with one storage are shared by all methods |
/// | `skip_copy_output_to_cpu_for_method` | `RunOptions::device_outputs` sets it for each call |
/// | `enable_cuda_graph_for_method` | `RunOptions::graph` sets it for each call |
#[derive(Clone)]
pub struct CudaBackend(Arc<BackendState>);

/// The state that clones of the backend share.
struct BackendState {
    driver: Driver,
    driver_table: Arc<DriverTable>,
    /// By ordinal.
    devices: Mutex<HashMap<i32, Arc<DeviceResources>>>,
    /// By address and length of their bytes, and by ordinal.
    libraries: WeakCache<(usize, usize, i32), CompiledLibrary>,
    storages: ConstantStorages,
    system: System,
    seed: u64,
}

impl CudaBackend {
    /// The backend on the devices of a driver, with a random seed.
    ///
    /// # Errors
    /// If the driver lacks a function that the backend calls.
    pub fn new(driver: &Driver) -> Result<Self> {
        // A source of entropy: the keys that the standard library takes from the system.
        Self::with_seed(driver, RandomState::new().hash_one(()))
    }

    /// The backend with a seed for random numbers: programs get the same numbers if their calls come in the
    /// same order. Each device has numbers of its own.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn with_seed(driver: &Driver, seed: u64) -> Result<Self> {
        Ok(Self(Arc::new(BackendState {
            driver: driver.clone(),
            driver_table: Arc::new(DriverTable::of(driver)?),
            devices: Mutex::default(),
            libraries: WeakCache::default(),
            storages: ConstantStorages::default(),
            system: System::default(),
            seed,
        })))
    }
}

impl Backend for CudaBackend {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        log_options(spec.options());
        let device = self.0.device(spec)?;
        let method = spec.compile_spec("method_name");
        let method = method.and_then(|name| std::str::from_utf8(name).ok());
        let payload = Payload::parse(spec.payload(), method)?;
        let Some(bytes) = spec.named_data(&payload.library) else {
            bail!(
                MissingData,
                "the program has no data `{}`, which would be the delegate's compiled library",
                payload.library
            );
        };
        // The library keeps its bytes, so that no other data has this address.
        let key = (bytes.as_ptr().addr(), bytes.len(), device.device.ordinal());
        let library = self.0.libraries.get(key, || {
            let span = spec.tracer().span("load the library");
            span.note("bytes", bytes.len());
            CompiledLibrary::load(bytes, device.clone(), &self.0.system, &self.0.driver)
        })?;
        let _span = spec.tracer().span("load constants");
        let model = Model::load(library, &payload, spec, &self.0.storages)?;
        Ok(Arc::new(LibraryDelegate::new(model)).into())
    }
}

impl BackendState {
    /// The resources of the device that the exporter chose.
    fn device(&self, spec: &DelegateSpec<'_>) -> Result<Arc<DeviceResources>> {
        let ordinal = match spec.compile_spec("target_device") {
            Some(target) => target_device(target)?,
            None => 0,
        };
        let count = self.driver.device_count()?;
        ensure!(
            ordinal < count,
            MissingDevice,
            "the delegate is for device {ordinal}, and the devices here are 0 to {}",
            count as i64 - 1
        );
        let device = self.driver.device(ordinal)?;
        let mut devices = lock(&self.devices);
        if let Some(resources) = devices.get(&device.ordinal())
            && resources.device.alive().is_ok()
        {
            return Ok(resources.clone());
        }
        let seed = seed_of(self.seed, ordinal);
        let resources = DeviceResources::new(device, self.driver_table.clone(), seed)?;
        let resources = Arc::new(resources);
        devices.insert(resources.device.ordinal(), resources.clone());
        Ok(resources)
    }
}

/// The seed of a device.
fn seed_of(seed: u64, ordinal: usize) -> u64 {
    /// The golden ratio's fraction, as in SplitMix64.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    seed.wrapping_add(STEP.wrapping_mul(ordinal as u64))
}

/// The ordinal of a device that is called `cuda:0`, or `cuda`.
fn target_device(target: &[u8]) -> Result<usize> {
    let text = std::str::from_utf8(target).unwrap_or_default();
    let ordinal = match text.strip_prefix("cuda") {
        Some("") => Some(0),
        Some(rest) => rest
            .strip_prefix(':')
            .and_then(|number| number.parse().ok()),
        None => None,
    };
    match ordinal {
        Some(ordinal) => Ok(ordinal),
        None => bail!(
            InvalidProgram,
            "the delegate's device is called `{}`, where `cuda:0` and its like are expected",
            target.escape_ascii()
        ),
    }
}

/// Logs once for each option of upstream's that it has no effect.
fn log_options(options: &BackendOptions) {
    static LOGGED: [Once; 4] = [const { Once::new() }; 4];
    let reasons = [
        (
            "use_shared_cuda_stream",
            "all delegates of a call share its stream",
        ),
        (
            "weight_sharing_across_methods",
            "constants with one storage are always shared",
        ),
        (
            "skip_copy_output_to_cpu_for_method",
            "`RunOptions::device_outputs` sets it for each call",
        ),
        (
            "enable_cuda_graph_for_method",
            "`RunOptions::graph` sets it for each call",
        ),
    ];
    for ((key, why), logged) in reasons.iter().zip(&LOGGED) {
        if options.get(NAME, key).is_some() {
            logged.call_once(|| {
                tracing::info!("the option `{key}` of {NAME} has no effect: {why}");
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_as_pytorch_names_it() {
        assert_eq!(target_device(b"cuda:0").unwrap(), 0);
        assert_eq!(target_device(b"cuda:12").unwrap(), 12);
        assert_eq!(target_device(b"cuda").unwrap(), 0);
        for other in [&b"cpu"[..], b"cuda:", b"cuda:x", b"cuda1", b"\xff"] {
            let error = target_device(other).unwrap_err().to_string();
            assert!(error.contains("`cuda:0` and its like"), "{error}");
        }
    }
}
