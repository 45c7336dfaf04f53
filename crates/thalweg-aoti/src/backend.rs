//! The backend: the driver, and what is loaded.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use thalweg_core::{
    Backend, BackendOptions, Delegate, DelegateSpec, Device as _, Result, bail, ensure,
};
use thalweg_cuda::{Device, Driver, Pool, Stream};

use crate::abi::{Operators, Table};
use crate::compiled::Compiled;
use crate::constants::Storages;
use crate::delegate::LibraryDelegate;
use crate::loader::System;
use crate::payload::Payload;
use crate::shared::Shared;
use crate::workspace::Workspaces;

/// The name that programs call the backend by.
pub const NAME: &str = "CudaBackend";

/// Compiled CUDA libraries, as a backend. Clones are the same.
///
/// # Options
/// Upstream's options are accepted, and change nothing: what they ask for is always so here, or is
/// said in another way.
///
/// | key | why it changes nothing |
/// |---|---|
/// | `use_shared_cuda_stream` | all delegates of a call share its stream |
/// | `weight_sharing_across_methods` | constants with one storage are shared by all methods |
/// | `skip_copy_output_to_cpu_for_method` | `RunOptions::device_outputs` says it for each call |
/// | `enable_cuda_graph_for_method` | `RunOptions::graph` says it for each call |
#[derive(Clone)]
pub struct CudaBackend(Arc<Inner>);

struct Inner {
    driver: Driver,
    table: Arc<Table>,
    devices: Mutex<HashMap<i32, Arc<OnDevice>>>,
    libraries: Shared<(usize, usize, i32), Compiled>,
    storages: Arc<Storages>,
    system: System,
    seed: u64,
}

/// What everything on one device shares.
pub(crate) struct OnDevice {
    pub(crate) device: Device,
    pub(crate) table: Arc<Table>,
    /// What the operators have that are not in libraries.
    pub(crate) operators: Operators,
    /// For memory that is not needed for long.
    pub(crate) pool: Pool,
    /// For temporaries, of the same pool.
    pub(crate) workspaces: Workspaces,
    /// Where nothing ever is: to wait for it is to wait for nothing.
    pub(crate) idle: Stream,
}

impl CudaBackend {
    /// The backend, on the devices of a driver. Random numbers are others each time.
    ///
    /// # Errors
    /// If the driver has not all functions that compiled libraries, or what they are given, call.
    pub fn new(driver: &Driver) -> Result<Self> {
        // The standard library takes its keys from the system.
        Self::with_seed(driver, RandomState::new().hash_one(()))
    }

    /// The same, with random numbers that follow from a seed: as long as its calls come in the same
    /// order, programs get the same numbers. Each device has others.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_seed(driver: &Driver, seed: u64) -> Result<Self> {
        Ok(Self(Arc::new(Inner {
            driver: driver.clone(),
            table: Arc::new(Table::of(driver)?),
            devices: Mutex::default(),
            libraries: Shared::default(),
            storages: Arc::default(),
            system: System::default(),
            seed,
        })))
    }
}

impl Backend for CudaBackend {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<Arc<dyn Delegate>> {
        mention_options(spec.options());
        let device = self.0.device(spec)?;
        let method = spec.compile_spec("method_name");
        let method = method.and_then(|name| std::str::from_utf8(name).ok());
        let payload = Payload::parse(spec.payload(), method)?;
        let Some(bytes) = spec.shared_named_data(&payload.library) else {
            bail!(
                MissingData,
                "the program has no data `{}`, which would be the delegate's compiled library",
                payload.library
            );
        };
        // As long as the library lives, or is being loaded, nothing else lies where its bytes do.
        let key = (bytes.as_ptr().addr(), bytes.len(), device.device.ordinal());
        let compiled = self.0.libraries.get(key, || {
            let span = spec.tracer().span("load the library");
            span.note("bytes", bytes.len());
            Compiled::load(bytes, device.clone(), &self.0.system, &self.0.driver)
        })?;
        let _span = spec.tracer().span("load constants");
        let delegate = LibraryDelegate::load(compiled, &payload, spec, &self.0.storages)?;
        Ok(Arc::new(delegate))
    }
}

impl OnDevice {
    /// How much memory there is for temporaries, for traces.
    pub(crate) fn temporaries(&self) -> (String, usize) {
        let name = format!("temporaries of {NAME}, {}", self.device.id());
        (name, self.pool.statistics().held)
    }
}

impl Inner {
    /// The device that the exporter chose.
    fn device(&self, spec: &DelegateSpec<'_>) -> Result<Arc<OnDevice>> {
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
        if let Some(known) = devices.get(&device.ordinal())
            && known.device.alive().is_ok()
        {
            return Ok(known.clone());
        }
        let pool = Pool::new(&device);
        let made = Arc::new(OnDevice {
            table: self.table.clone(),
            workspaces: Workspaces::new(&pool),
            pool,
            operators: Operators::new(seed_of(self.seed, ordinal)),
            idle: Stream::new(&device)?,
            device,
        });
        devices.insert(made.device.ordinal(), made.clone());
        Ok(made)
    }
}

/// A seed for each device.
fn seed_of(seed: u64, ordinal: usize) -> u64 {
    /// An odd number without a pattern: the golden ratio's.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    seed.wrapping_add(STEP.wrapping_mul(ordinal as u64))
}

impl Drop for OnDevice {
    /// Whoever used it has waited for what it did.
    fn drop(&mut self) {
        // What fails once may work the second time.
        match self.device.enter().or_else(|_| self.device.enter()) {
            Ok(_current) => self.operators.unload(&self.table),
            // What was in the context is gone.
            Err(error) => tracing::debug!("kernels are not unloaded: {error}"),
        }
    }
}

/// Reads `cuda:0`, or `cuda`.
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

/// Says once for each option of upstream's that it changes nothing.
fn mention_options(options: &BackendOptions) {
    static SAID: [Once; 4] = [const { Once::new() }; 4];
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
            "`RunOptions::device_outputs` says it for each call",
        ),
        (
            "enable_cuda_graph_for_method",
            "`RunOptions::graph` says it for each call",
        ),
    ];
    for ((key, why), said) in reasons.iter().zip(&SAID) {
        if options.get(NAME, key).is_some() {
            said.call_once(|| {
                tracing::info!("the option `{key}` of {NAME} changes nothing: {why}");
            });
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
