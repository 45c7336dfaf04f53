//! The backend: TensorRT, found and opened, and the engines that are loaded.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use thalweg_core::{Backend, Delegate, DelegateSpec, Result, bail, ensure};
use thalweg_cuda::{Attempt, Device, Driver, Limit};

use crate::abi::{Library, Runtime};
use crate::container::{Container, Metadata};
use crate::contexts::Making;
use crate::delegate::EngineDelegate;
use crate::find::{self, FoundLibrary};
use crate::loaded::Loaded;
use crate::options::Options;
use crate::scratch::{ScratchStatistics, SharedScratch, sharing};
use crate::version::{Flavor, Version};
use crate::weights::Budget;

/// The name that programs call the backend by.
pub const NAME: &str = "TensorRTBackend";

/// TensorRT, as a backend. Clones are the same.
///
/// # Options
/// | key | value | what |
/// |---|---|---|
/// | `weight_streaming_budget` | number or digits | how many bytes of weights may be on the device, for engines that can keep them on the host; else the program's own option, else as TensorRT thinks best |
/// | `use_shared_activation_scratch` | boolean | whether engines share one scratch per device ([`LoadOptions::shared_scratch`](thalweg_core::LoadOptions::shared_scratch) otherwise) |
/// | `single_context` | boolean | whether an instance has one context, which is switched from profile to profile, rather than one for each profile that it uses |
/// | `shared_scratch_limit` | number or digits, or text such as `3 buffers` | how many bytes, or pieces, of that there may be; engines share with those that have the same limit |
#[derive(Clone)]
pub struct TensorRt(Arc<Inner>);

struct Inner {
    driver: Driver,
    library: Arc<Library>,
    host_code: bool,
    /// Those that nobody loads with. TensorRT does not say that several threads may load with one at
    /// a time, so there are as many as were ever needed at once; mostly that is one.
    runtimes: Mutex<Vec<Arc<Runtime>>>,
    engines: Mutex<Vec<Entry>>,
    /// Shared scratch, which goes with the last delegate that uses it.
    pools: Mutex<Vec<Weak<SharedScratch>>>,
}

/// An engine that is loaded, or is being.
struct Entry {
    /// Where the payload lies. As long as the engine lives, or is being loaded, nothing else does.
    payload: (usize, usize),
    device: i32,
    budget: Budget,
    /// Locked while it is being loaded.
    engine: Arc<Mutex<Weak<Loaded>>>,
}

impl TensorRt {
    /// Finds TensorRT and opens it: the file of the options; else the one that the environment
    /// variable `THALWEG_TENSORRT` names; else what the process already has, what the system finds
    /// (TensorRT 11, then 10; whole, lean, dispatch, for RTX), and the packages of the active Python
    /// environment.
    ///
    /// # Errors
    /// [`ErrorKind::Missing`](thalweg_core::ErrorKind::Missing) if there is none, with where was
    /// looked and how to get one.
    pub fn find(driver: &Driver, options: &Options) -> Result<Self> {
        Ok(Self(Arc::new(Inner {
            driver: driver.clone(),
            library: find::find(options)?,
            host_code: options.host_code,
            runtimes: Mutex::default(),
            engines: Mutex::default(),
            pools: Mutex::default(),
        })))
    }

    /// The attempts of a search for TensorRT, in order, at the locations where [`TensorRt::find`] looks. It
    /// ends with the first library that can be used.
    pub fn search(options: &Options) -> Vec<Attempt<FoundLibrary>> {
        find::search(options).0
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.0.library.version()
    }

    /// What kind of TensorRT it is.
    pub fn flavor(&self) -> Flavor {
        self.0.library.flavor()
    }

    /// The name that its library was opened by.
    pub fn file(&self) -> &std::path::Path {
        self.0.library.file()
    }

    /// Makes TensorRT's runtime object on a device, which shows that it works there.
    ///
    /// # Errors
    /// If it does not, with what TensorRT says.
    pub fn check(&self, device: &Device) -> Result<()> {
        self.with_runtime(device, |_| Ok(()))
    }

    /// Does something with a runtime that nobody else uses meanwhile.
    pub(crate) fn with_runtime<T>(
        &self,
        device: &Device,
        load: impl FnOnce(&Arc<Runtime>) -> Result<T>,
    ) -> Result<T> {
        self.0.with_runtime(device, load)
    }

    /// What scratch is shared on a device, and what it took; of what is in use now.
    pub fn scratch_statistics(&self, device: &Device) -> ScratchStatistics {
        let pools = self.0.living_pools();
        let here = pools
            .iter()
            .filter(|pool| pool.ordinal() == device.ordinal());
        here.map(|pool| pool.statistics()).sum()
    }

    /// Frees the shared scratch that no call has at the moment and no graph uses, in order, without
    /// waiting for the device. Gives the number of bytes. Calls that need it again ask the driver for
    /// it again.
    pub fn trim_scratch(&self) -> usize {
        let pools = self.0.living_pools();
        pools.iter().map(|pool| pool.trim()).sum()
    }

    /// Loads the engine of a delegate, which is shared by all whose payloads are the same.
    pub(crate) fn load_shared(&self, spec: &DelegateSpec<'_>) -> Result<Arc<Loaded>> {
        self.0.load(spec)
    }

    /// Loads an engine that nobody shares, to look at it.
    pub(crate) fn load_alone(&self, payload: &[u8], budget: Budget) -> Result<Loaded> {
        let container = Container::parse(payload)?;
        let device = self.0.device(&container.metadata)?;
        self.with_runtime(&device, |runtime| {
            Loaded::new(runtime, &device, &container, budget)
        })
    }
}

impl Backend for TensorRt {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<Arc<dyn Delegate>> {
        let (limit, making) = (sharing(spec)?, Making::of(spec)?);
        let loaded = self.load_shared(spec)?;
        let pool = limit.map(|limit| self.0.pool(loaded.device(), limit));
        Ok(Arc::new(EngineDelegate::new(loaded, pool, making)))
    }
}

impl Inner {
    /// The engine of a delegate: one that is loaded already, if it is the same.
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<Arc<Loaded>> {
        let payload = spec.shared_payload();
        let container = Container::parse(&payload)?;
        check_platform(&container.metadata.target_platform)?;
        let device = self.device(&container.metadata)?;
        let budget = Budget::of(spec)?;
        let place = self.entry(&payload, device.ordinal(), budget);
        // Whoever else loads the same waits here, and then finds it.
        let span = spec.tracer().wait("wait for whoever loads the same engine");
        let mut engine = place.lock().unwrap_or_else(PoisonError::into_inner);
        drop(span);
        if let Some(loaded) = engine.upgrade() {
            spec.tracer().note("was loaded already", true);
            return Ok(loaded);
        }
        let _span = spec.tracer().span("deserialize the engine");
        let mut loaded = self.with_runtime(&device, |runtime| {
            Loaded::new(runtime, &device, &container, budget)
        })?;
        loaded.payload = Some(payload);
        let loaded = Arc::new(loaded);
        *engine = Arc::downgrade(&loaded);
        Ok(loaded)
    }

    /// Where the engine of a payload is, or will be.
    fn entry(&self, payload: &[u8], device: i32, budget: Budget) -> Arc<Mutex<Weak<Loaded>>> {
        let place = (payload.as_ptr().addr(), payload.len());
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody who loads holds the lock, and a clone.
        engines.retain(|entry| Arc::strong_count(&entry.engine) > 1 || entry.lives());
        let same = |entry: &&Entry| {
            entry.device == device
                && entry.budget == budget
                && (entry.payload == place || entry.has_bytes(payload))
        };
        if let Some(entry) = engines.iter().find(same) {
            return entry.engine.clone();
        }
        let engine = Arc::default();
        engines.push(Entry {
            payload: place,
            device,
            budget,
            engine: Arc::clone(&engine),
        });
        engine
    }

    /// The shared scratch of a device, with a limit.
    fn pool(&self, device: &Device, limit: Limit) -> Arc<SharedScratch> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|pool| pool.strong_count() > 0);
        let mut living = pools.iter().filter_map(Weak::upgrade);
        if let Some(pool) = living.find(|pool| pool.is_of(device.ordinal(), limit)) {
            return pool;
        }
        let pool = Arc::new(SharedScratch::new(device, limit));
        pools.push(Arc::downgrade(&pool));
        pool
    }

    fn living_pools(&self) -> Vec<Arc<SharedScratch>> {
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.iter().filter_map(Weak::upgrade).collect()
    }

    /// Does something with a runtime that nobody else uses meanwhile.
    fn with_runtime<T>(
        &self,
        device: &Device,
        load: impl FnOnce(&Arc<Runtime>) -> Result<T>,
    ) -> Result<T> {
        let runtimes = || self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = runtimes().pop();
        let runtime = match idle {
            Some(runtime) => runtime,
            None => Arc::new(Runtime::new(&self.library, device, self.host_code)?),
        };
        let loaded = load(&runtime);
        runtimes().push(runtime);
        loaded
    }

    /// The device that an engine was built for.
    fn device(&self, metadata: &Metadata) -> Result<Device> {
        let count = self.driver.device_count()?;
        match usize::try_from(metadata.device_id) {
            Ok(ordinal) if ordinal < count => self.driver.device(ordinal),
            _ => bail!(
                MissingDevice,
                "the engine was built for device {}, and the devices here are 0 to {}",
                metadata.device_id,
                count as i64 - 1
            ),
        }
    }
}

impl Entry {
    /// Whether the engine lives. Not while it is being loaded.
    fn lives(&self) -> bool {
        self.engine
            .try_lock()
            .is_ok_and(|engine| engine.strong_count() > 0)
    }

    /// Whether the engine was made of the same bytes, from wherever.
    fn has_bytes(&self, payload: &[u8]) -> bool {
        let loaded = match self.engine.try_lock() {
            Ok(engine) if self.payload.1 == payload.len() => engine.upgrade(),
            _ => None,
        };
        loaded.is_some_and(|loaded| loaded.payload.as_deref() == Some(payload))
    }
}

/// Refuses an engine that is known to be for another system.
fn check_platform(platform: &str) -> Result<()> {
    const KNOWN: [(&str, &str, &str); 4] = [
        ("linux_x86_64", "linux", "x86_64"),
        ("linux_aarch64", "linux", "aarch64"),
        ("windows_x86_64", "windows", "x86_64"),
        ("win_x86_64", "windows", "x86_64"),
    ];
    let Some((_, os, arch)) = KNOWN.iter().find(|(name, ..)| *name == platform) else {
        return Ok(());
    };
    ensure!(
        *os == std::env::consts::OS && *arch == std::env::consts::ARCH,
        Unsupported,
        "the engine was built for {platform}, and this is {}_{}",
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_for_another_system_is_refused() {
        let other = if cfg!(target_arch = "x86_64") {
            "linux_aarch64"
        } else {
            "linux_x86_64"
        };
        let error = check_platform(other).unwrap_err();
        assert!(error.to_string().contains(other), "{error}");
        check_platform("").unwrap();
        check_platform("unknown").unwrap();
        if cfg!(target_os = "linux") {
            check_platform(&format!("linux_{}", std::env::consts::ARCH)).unwrap();
        }
    }
}
