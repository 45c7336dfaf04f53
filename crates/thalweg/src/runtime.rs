//! The runtime of this machine.

use std::path::Path;
use std::sync::Arc;

use thalweg_core::{Backend, Device, DeviceId, Kernel, KernelCall, KernelRegistry, Result};
use thalweg_runtime::{DeviceSource, LoadOptions, Program};

/// The operators, backends and devices that programs run with. Cheap to clone.
///
/// ```no_run
/// use thalweg::Runtime;
///
/// let runtime = Runtime::detect();
/// let program = runtime.load("model.pte")?;
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Runtime(thalweg_runtime::Runtime);

/// A builder of a [`Runtime`], which starts with everything that [`Runtime::detect`] has.
///
/// ```
/// use thalweg::Runtime;
///
/// let runtime = Runtime::builder().threads(2).build();
/// # assert_eq!(runtime.threads(), 2);
/// ```
#[must_use]
pub struct RuntimeBuilder(thalweg_runtime::RuntimeBuilder);

impl Runtime {
    /// All CPU operators, the devices of this machine, and every backend that it can run.
    ///
    /// Drivers and libraries are looked for when a program first needs them: one that runs on the
    /// CPU alone does not wait for them, and an error of theirs goes to those who need them.
    /// A device that was needed once stays ready, with the memory that its driver takes, until the last
    /// clone of the runtime and all that was loaded with it are gone.
    pub fn detect() -> Self {
        Self::builder().build()
    }

    /// A builder with the same, to which operators, backends and devices can be added.
    pub fn builder() -> RuntimeBuilder {
        let builder = thalweg_runtime::Runtime::builder().kernels(&kernels());
        #[cfg(all(feature = "cuda", target_os = "linux"))]
        let builder = crate::gpu::add(builder);
        RuntimeBuilder(builder)
    }

    /// Loads a program from a file. The file is mapped, so it must not change while the program
    /// is in use; replacing it by renaming another over it is fine.
    ///
    /// # Errors
    /// If the file cannot be read, or is no sound program.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Program> {
        self.0.load(path)
    }

    /// Loads a program from a file, with options.
    ///
    /// # Errors
    /// As for [`Runtime::load`].
    pub fn load_with(&self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<Program> {
        self.0.load_with(path, options)
    }

    /// Loads a program from memory. Data files come from [`LoadOptions::data`].
    ///
    /// # Errors
    /// As for [`Runtime::load`].
    pub fn load_bytes(&self, bytes: Vec<u8>, options: &LoadOptions) -> Result<Program> {
        self.0.load_bytes(bytes, options)
    }

    /// The operators.
    pub fn kernels(&self) -> &KernelRegistry {
        self.0.kernels()
    }

    /// The backend of a name.
    pub fn backend(&self, name: &str) -> Option<&Arc<dyn Backend>> {
        self.0.backend(name)
    }

    /// The names of the backends, sorted.
    pub fn backends(&self) -> impl Iterator<Item = &str> {
        self.0.backends()
    }

    /// The device of an id.
    ///
    /// # Errors
    /// [`MissingDevice`](crate::ErrorKind::MissingDevice) if there is none, with the reason.
    pub fn device(&self, id: DeviceId) -> Result<Arc<dyn Device>> {
        self.0.device(id)
    }

    /// The number of threads that CPU operators may use.
    pub fn threads(&self) -> usize {
        self.0.threads()
    }
}

impl RuntimeBuilder {
    /// Adds operators. Those of the same name replace earlier ones.
    pub fn kernels(self, kernels: &KernelRegistry) -> Self {
        Self(self.0.kernels(kernels))
    }

    /// Adds one operator, in the notation of [`Signature`](crate::extend::Signature).
    ///
    /// # Errors
    /// If the text is not a signature.
    pub fn kernel(
        self,
        signature: &str,
        run: impl Fn(&KernelCall<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        let mut kernels = KernelRegistry::new();
        kernels.add(Kernel::new(signature, run)?);
        Ok(self.kernels(&kernels))
    }

    /// Adds a backend under the name that programs call it by.
    pub fn backend(self, name: impl Into<String>, backend: impl Backend + 'static) -> Self {
        Self(self.0.backend(name, backend))
    }

    /// Adds a device that programs can have memory on. One of the same id is replaced.
    pub fn device(self, device: Arc<dyn Device>) -> Self {
        Self(self.0.device(device))
    }

    /// Replaces the source of devices that were not added.
    pub fn device_source(self, source: impl DeviceSource + 'static) -> Self {
        Self(self.0.device_source(source))
    }

    /// Sets the number of threads that CPU operators may use; by default, as many as the machine runs
    /// at once.
    pub fn threads(self, threads: usize) -> Self {
        Self(self.0.threads(threads))
    }

    /// The runtime.
    pub fn build(self) -> Runtime {
        Runtime(self.0.build())
    }
}

impl From<thalweg_runtime::Runtime> for Runtime {
    fn from(runtime: thalweg_runtime::Runtime) -> Self {
        Self(runtime)
    }
}

/// All CPU operators.
fn kernels() -> KernelRegistry {
    let mut registry = KernelRegistry::new();
    if let Err(error) = thalweg_kernels::register(&mut registry) {
        // Signatures are fixed text that a test reads; there is no way to get here.
        unreachable!("{error}");
    }
    registry
}
