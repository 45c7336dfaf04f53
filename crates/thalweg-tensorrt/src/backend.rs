//! The backend: an open TensorRT library, its runtimes, its engines, and the scratch that they share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use thalweg_core::{Backend, DelegateSpec, LoadedDelegate, Result, bail, ensure};
use thalweg_cuda::{Attempt, Device, Driver, Limit};

use crate::abi::{Library, Runtime};
use crate::cache::EngineCache;
use crate::container::{Container, Metadata};
use crate::contexts::ContextOptions;
use crate::delegate::EngineDelegate;
use crate::find::{self, FoundLibrary};
use crate::loaded::LoadedEngine;
use crate::options::Options;
use crate::scratch::{ScratchStatistics, SharedScratch, sharing};
use crate::version::{Flavor, Version};
use crate::weights::Budget;

/// The name of the backend in programs.
pub const NAME: &str = "TensorRTBackend";

/// TensorRT as a backend. Clones share everything.
///
/// # Options
/// | key | value | meaning |
/// |---|---|---|
/// | `weight_streaming_budget` | number or digits | the bytes of weights that may be on the device, for engines with weight streaming; by default the program's own budget, else the one that TensorRT recommends |
/// | `use_shared_activation_scratch` | boolean | true if engines share the scratch of a device; by default `LoadOptions::shared_scratch` |
/// | `single_context` | boolean | true if an instance has one context, which is switched from profile to profile, instead of one for each profile that it uses |
/// | `shared_scratch_limit` | number or digits, or text such as `3 buffers` | the most bytes, or buffers, of shared scratch; engines share with those that have the same limit |
#[derive(Clone)]
pub struct TensorRt(Arc<Installation>);

/// An open library with its runtimes, engines and shared scratch: the state of all clones of a
/// [`TensorRt`].
struct Installation {
    driver: Driver,
    library: Arc<Library>,
    host_code: bool,
    /// Idle runtimes. TensorRT does not say that several threads may load engines with one runtime at a
    /// time. So there are as many as were ever needed at once, mostly one.
    runtimes: Mutex<Vec<Arc<Runtime>>>,
    engines: EngineCache,
    /// Shared scratch, which lives as long as a delegate uses it.
    pools: Mutex<Vec<Weak<SharedScratch>>>,
}

impl TensorRt {
    /// Finds TensorRT and opens it.
    ///
    /// If the options name a file, else if the environment variable `THALWEG_TENSORRT` does, it is that
    /// file. Otherwise it is the first of: a library that the process has loaded; a library that the
    /// system finds (TensorRT, then the lean and the dispatch runtimes, each 11 before 10, then TensorRT
    /// for RTX); a library in a package of the active Python environment.
    ///
    /// # Errors
    /// [`ErrorKind::Missing`](thalweg_core::ErrorKind::Missing) if there is none, with the locations that
    /// were searched, and how to get TensorRT.
    pub fn find(driver: &Driver, options: &Options) -> Result<Self> {
        Ok(Self(Arc::new(Installation {
            driver: driver.clone(),
            library: find::find(options)?,
            host_code: options.host_code,
            runtimes: Mutex::default(),
            engines: EngineCache::default(),
            pools: Mutex::default(),
        })))
    }

    /// Searches for TensorRT as [`TensorRt::find`] does. Returns what was found in each location, in the
    /// order of the search.
    pub fn search(options: &Options) -> Vec<Attempt<FoundLibrary>> {
        find::search(options).0
    }

    /// The version of the library.
    pub fn version(&self) -> Version {
        self.0.library.version()
    }

    /// The flavor of the library.
    pub fn flavor(&self) -> Flavor {
        self.0.library.flavor()
    }

    /// The file name that the library was opened with.
    pub fn file(&self) -> &std::path::Path {
        self.0.library.file()
    }

    /// Creates TensorRT's runtime object on a device, which shows that TensorRT works there.
    ///
    /// # Errors
    /// If TensorRT refuses, with what it logs.
    pub fn check(&self, device: &Device) -> Result<()> {
        self.with_runtime(device, |_| Ok(()))
    }

    /// Runs a function with a runtime that nobody else uses meanwhile.
    pub(crate) fn with_runtime<T>(
        &self,
        device: &Device,
        load: impl FnOnce(&Arc<Runtime>) -> Result<T>,
    ) -> Result<T> {
        self.0.with_runtime(device, load)
    }

    /// The statistics of the shared scratch on a device that delegates use now.
    pub fn scratch_statistics(&self, device: &Device) -> ScratchStatistics {
        let pools = self.0.living_pools();
        let here = pools
            .iter()
            .filter(|pool| pool.ordinal() == device.ordinal());
        here.map(|pool| pool.statistics()).sum()
    }

    /// Frees the shared scratch that no call has at the moment and no graph uses, in stream order, without
    /// a host wait. Returns the number of bytes. Calls that need it again allocate it again.
    pub fn trim_scratch(&self) -> usize {
        let pools = self.0.living_pools();
        pools.iter().map(|pool| pool.trim()).sum()
    }

    /// Loads the engine of a delegate, or finds it in the cache.
    pub(crate) fn load_shared(&self, spec: &DelegateSpec<'_>) -> Result<Arc<LoadedEngine>> {
        self.0.load(spec)
    }

    /// Loads an engine outside of the cache, to describe it.
    pub(crate) fn load_alone(&self, payload: &[u8], budget: Budget) -> Result<LoadedEngine> {
        let container = Container::parse(payload)?;
        let device = self.0.device(&container.metadata)?;
        self.with_runtime(&device, |runtime| {
            LoadedEngine::new(runtime, &device, &container, budget)
        })
    }
}

impl Backend for TensorRt {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        let (limit, options) = (sharing(spec)?, ContextOptions::of(spec)?);
        let loaded = self.load_shared(spec)?;
        let pool = limit.map(|limit| self.0.pool(loaded.device(), limit));
        Ok(Arc::new(EngineDelegate::new(loaded, pool, options)).into())
    }
}

impl Installation {
    /// The engine of a delegate: the same engine from the cache, else a new one.
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<Arc<LoadedEngine>> {
        let payload = spec.shared_payload();
        let container = Container::parse(&payload)?;
        check_platform(&container.metadata.target_platform)?;
        let device = self.device(&container.metadata)?;
        let budget = Budget::of(spec)?;
        let slot = self.engines.slot(&payload, device.ordinal(), budget);
        // Another thread that loads the same engine waits here, and then finds it.
        let span = spec.tracer().wait("wait for whoever loads the same engine");
        let mut engine = slot.lock().unwrap_or_else(PoisonError::into_inner);
        drop(span);
        if let Some(loaded) = engine.upgrade() {
            spec.tracer().note("was loaded already", true);
            return Ok(loaded);
        }
        let _span = spec.tracer().span("deserialize the engine");
        let mut loaded = self.with_runtime(&device, |runtime| {
            LoadedEngine::new(runtime, &device, &container, budget)
        })?;
        loaded.payload = Some(payload);
        let loaded = Arc::new(loaded);
        *engine = Arc::downgrade(&loaded);
        Ok(loaded)
    }

    /// The shared scratch of a device with a limit.
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

    /// The shared scratch that delegates use now.
    fn living_pools(&self) -> Vec<Arc<SharedScratch>> {
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.iter().filter_map(Weak::upgrade).collect()
    }

    /// Runs a function with a runtime that nobody else uses meanwhile.
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

    /// The device that an engine is built for.
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

/// Refuses an engine that is built for another platform.
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
