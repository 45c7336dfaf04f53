//! What a machine offers to programs: operators and backends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use thalweg_core::{Backend, Device, DeviceId, Kernel, KernelCall, KernelRegistry, Result, bail};

/// The operators and backends that programs are run with. Cheap to clone.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    kernels: KernelRegistry,
    backends: BTreeMap<String, Arc<dyn Backend>>,
    devices: Vec<Arc<dyn Device>>,
    source: Option<Box<dyn DeviceSource>>,
    threads: usize,
}

/// A builder of a [`Runtime`].
pub struct RuntimeBuilder {
    kernels: KernelRegistry,
    backends: BTreeMap<String, Arc<dyn Backend>>,
    devices: Vec<Arc<dyn Device>>,
    source: Option<Box<dyn DeviceSource>>,
    threads: Option<usize>,
}

/// Finds devices when a program first needs them, so that one that needs none does not wait for a
/// driver.
pub trait DeviceSource: Send + Sync {
    /// The device of an id. It is asked for each time.
    ///
    /// # Errors
    /// If there is no such device, or no driver for it, with what was looked for.
    fn device(&self, id: DeviceId) -> Result<Arc<dyn Device>>;
}

impl Runtime {
    /// Starts a runtime with no operators and no backends.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder {
            kernels: KernelRegistry::new(),
            backends: BTreeMap::new(),
            devices: Vec::new(),
            source: None,
            threads: None,
        }
    }

    /// The operators.
    pub fn kernels(&self) -> &KernelRegistry {
        &self.0.kernels
    }

    /// The backend of a name.
    pub fn backend(&self, name: &str) -> Option<&Arc<dyn Backend>> {
        self.0.backends.get(name)
    }

    /// The names of the backends, sorted.
    pub fn backends(&self) -> impl Iterator<Item = &str> {
        self.0.backends.keys().map(String::as_str)
    }

    /// The device of an id.
    ///
    /// # Errors
    /// [`MissingDevice`](thalweg_core::ErrorKind::MissingDevice) if there is none, with the reason.
    pub fn device(&self, id: DeviceId) -> Result<Arc<dyn Device>> {
        if let Some(device) = self.0.devices.iter().find(|device| device.id() == id) {
            return Ok(device.clone());
        }
        match &self.0.source {
            Some(source) => source.device(id),
            None => bail!(MissingDevice, "there is no device {id}"),
        }
    }

    /// Whether devices are looked for that were not added.
    pub(crate) fn looks_for_devices(&self) -> bool {
        self.0.source.is_some()
    }

    /// How many threads CPU operators may use.
    pub fn threads(&self) -> usize {
        self.0.threads
    }
}

impl RuntimeBuilder {
    /// Adds operators. Those of the same name replace earlier ones.
    #[must_use]
    pub fn kernels(mut self, kernels: &KernelRegistry) -> Self {
        for kernel in kernels.iter() {
            self.kernels.add(kernel.clone());
        }
        self
    }

    /// Adds one operator, in the notation of [`Signature`](thalweg_core::Signature).
    ///
    /// # Errors
    /// If the text is not a signature.
    pub fn kernel(
        mut self,
        signature: &str,
        run: impl Fn(&KernelCall<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        self.kernels.add(Kernel::new(signature, run)?);
        Ok(self)
    }

    /// Adds a backend under the name that programs call it by.
    #[must_use]
    pub fn backend(mut self, name: impl Into<String>, backend: impl Backend + 'static) -> Self {
        self.backends.insert(name.into(), Arc::new(backend));
        self
    }

    /// Adds a device that programs can have memory on. One of the same id is replaced.
    #[must_use]
    pub fn device(mut self, device: Arc<dyn Device>) -> Self {
        self.devices.retain(|other| other.id() != device.id());
        self.devices.push(device);
        self
    }

    /// Where devices are looked for that were not added.
    #[must_use]
    pub fn device_source(mut self, source: impl DeviceSource + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// How many threads CPU operators may use; by default, as many as the machine runs at once.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// The runtime.
    pub fn build(self) -> Runtime {
        let threads = self.threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        Runtime(Arc::new(Inner {
            kernels: self.kernels,
            backends: self.backends,
            devices: self.devices,
            source: self.source,
            threads,
        }))
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("kernels", &self.0.kernels.len())
            .field("backends", &self.0.backends.keys())
            .field("threads", &self.0.threads)
            .finish()
    }
}
