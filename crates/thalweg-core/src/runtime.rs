//! What a machine offers to programs: operators and backends.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::Result;
use crate::{Backend, Device, DeviceId, Kernel, KernelCall, KernelRegistry, LoadOptions, Program};

/// The operators and backends that programs are run with. Cheap to clone.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    kernels: KernelRegistry,
    backends: BTreeMap<String, Arc<dyn Backend>>,
    devices: Vec<Arc<dyn Device>>,
    threads: usize,
}

/// Puts a [`Runtime`] together.
pub struct RuntimeBuilder {
    kernels: KernelRegistry,
    backends: BTreeMap<String, Arc<dyn Backend>>,
    devices: Vec<Arc<dyn Device>>,
    threads: Option<usize>,
}

impl Runtime {
    /// Starts a runtime with no operators and no backends.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder {
            kernels: KernelRegistry::new(),
            backends: BTreeMap::new(),
            devices: Vec::new(),
            threads: None,
        }
    }

    /// Loads a program from a file. The file is mapped, so it must not change while the program
    /// is in use; replacing it by renaming another over it is fine.
    ///
    /// # Errors
    /// If the file cannot be read, or is no sound program.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Program> {
        self.load_with(path, &LoadOptions::new())
    }

    /// Loads a program from a file, with choices.
    ///
    /// # Errors
    /// As for [`Runtime::load`].
    pub fn load_with(&self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<Program> {
        Program::load(self.clone(), path.as_ref(), options)
    }

    /// Loads a program from memory. Data files come from [`LoadOptions::data`].
    ///
    /// # Errors
    /// As for [`Runtime::load`].
    pub fn load_bytes(&self, bytes: Vec<u8>, options: &LoadOptions) -> Result<Program> {
        Program::from_bytes(self.clone(), bytes, options)
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
    pub fn device(&self, id: DeviceId) -> Option<&Arc<dyn Device>> {
        self.0.devices.iter().find(|device| device.id() == id)
    }

    /// The devices.
    pub fn devices(&self) -> &[Arc<dyn Device>] {
        &self.0.devices
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

    /// Adds one operator, in the notation of [`Signature`](crate::Signature).
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
