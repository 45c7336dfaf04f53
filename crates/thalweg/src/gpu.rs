//! Drivers and libraries of GPUs, found when they are first needed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use thalweg_core::{Device, DeviceId, DeviceKind, Result, bail};
use thalweg_cuda::{Device as CudaDevice, Driver};
use thalweg_runtime::{DeviceSource, RuntimeBuilder};

/// Adds what this machine has to a runtime.
pub(crate) fn add(builder: RuntimeBuilder) -> RuntimeBuilder {
    let driver = Arc::new(Found::new(|| Driver::open(None)));
    #[cfg(feature = "tensorrt")]
    let builder = builder.backend(
        thalweg_tensorrt::NAME,
        tensorrt::FoundTensorRt::new(driver.clone()),
    );
    #[cfg(feature = "aoti")]
    let builder = builder.backend(thalweg_aoti::NAME, compiled::FoundCuda::new(driver.clone()));
    builder.device_source(CudaDevices {
        driver,
        ready: Mutex::default(),
    })
}

/// Something that is looked for once, when it is first needed.
struct Found<T> {
    find: Box<dyn Fn() -> Result<T> + Send + Sync>,
    found: OnceLock<Result<T>>,
}

impl<T> Found<T> {
    fn new(find: impl Fn() -> Result<T> + Send + Sync + 'static) -> Self {
        Self {
            find: Box::new(find),
            found: OnceLock::new(),
        }
    }

    fn get(&self) -> Result<&T> {
        match self.found.get_or_init(|| (self.find)()) {
            Ok(found) => Ok(found),
            Err(error) => Err(thalweg_core::Error::new(error.kind(), error.message())),
        }
    }
}

/// The devices of the CUDA driver. Those that were asked for stay ready as long as the runtime: the driver
/// takes a tenth of a second to make a device's context, and half of that to give it up.
struct CudaDevices {
    driver: Arc<Found<Driver>>,
    ready: Mutex<BTreeMap<usize, CudaDevice>>,
}

impl DeviceSource for CudaDevices {
    fn device(&self, id: DeviceId) -> Result<Arc<dyn Device>> {
        if id.kind != DeviceKind::Cuda {
            bail!(MissingDevice, "there is no device {id}");
        }
        let driver = self.driver.get()?;
        let count = driver.device_count()?;
        match usize::try_from(id.index) {
            Ok(index) if index < count => Ok(Arc::new(self.ready(driver, index)?)),
            _ => bail!(
                MissingDevice,
                "there is no device {id}: the driver has {count}, from cuda:0 on"
            ),
        }
    }
}

impl CudaDevices {
    fn ready(&self, driver: &Driver, index: usize) -> Result<CudaDevice> {
        let lock = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let known = {
            let mut ready = lock();
            // A context that was lost can be had again only when nobody has it any more.
            ready.retain(|_, device| device.alive().is_ok());
            ready.get(&index).cloned()
        };
        match known {
            Some(device) => Ok(device),
            None => {
                // Not under the lock. Whoever asks at the same time gets the same device.
                let device = driver.device(index)?;
                lock().insert(index, device.clone());
                Ok(device)
            }
        }
    }
}

#[cfg(feature = "tensorrt")]
mod tensorrt {
    use super::{Arc, Driver, Found, Result};
    use thalweg_core::{Backend, DelegateSpec, LoadedDelegate};
    use thalweg_tensorrt::{Options, TensorRt};

    /// TensorRT, if the machine has it.
    pub(super) struct FoundTensorRt(Found<TensorRt>);

    impl FoundTensorRt {
        pub(super) fn new(driver: Arc<Found<Driver>>) -> Self {
            Self(Found::new(move || {
                TensorRt::find(driver.get()?, &Options::new())
            }))
        }
    }

    impl Backend for FoundTensorRt {
        fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
            self.0.get()?.load(spec)
        }

        fn available(&self) -> Result<()> {
            self.0.get().map(drop)
        }
    }
}

#[cfg(feature = "aoti")]
mod compiled {
    use super::{Arc, Driver, Found, Result};
    use thalweg_aoti::CudaBackend;
    use thalweg_core::{Backend, DelegateSpec, LoadedDelegate};

    /// What compiled CUDA libraries run on, if the machine has a driver.
    pub(super) struct FoundCuda(Found<CudaBackend>);

    impl FoundCuda {
        pub(super) fn new(driver: Arc<Found<Driver>>) -> Self {
            Self(Found::new(move || CudaBackend::new(driver.get()?)))
        }
    }

    impl Backend for FoundCuda {
        fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
            self.0.get()?.load(spec)
        }

        fn available(&self) -> Result<()> {
            self.0.get().map(drop)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_simgpu::{Config, Sim};

    #[test]
    fn a_device_that_was_asked_for_stays_ready() {
        let sim = Sim::session(Config::seeded(0));
        let driver = Arc::new(Found::new(|| Driver::open(Some(Sim::path()))));
        let devices = CudaDevices {
            driver,
            ready: Mutex::default(),
        };
        let id = DeviceId {
            kind: DeviceKind::Cuda,
            index: 0,
        };
        for _ in 0..3 {
            drop(devices.device(id).unwrap());
        }
        assert_eq!(sim.calls("cuDevicePrimaryCtxRetain"), 1);
        assert_eq!(sim.calls("cuDevicePrimaryCtxRelease"), 0);
        drop(devices);
        sim.assert_clean();
    }
}
