//! Operators: how kernels are registered, found and called.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::memory::Arguments;
use crate::{Result, Signature};

/// What runs an operator: a function of its call.
pub type KernelFn = dyn Fn(&KernelCall<'_>) -> Result<()> + Send + Sync;

/// An operator that a runtime has.
#[derive(Clone)]
pub struct Kernel {
    signature: Arc<Signature>,
    run: Arc<KernelFn>,
}

impl Kernel {
    /// A kernel for the operator with this signature, in the notation of [`Signature`].
    ///
    /// # Errors
    /// If the text is not a signature.
    pub fn new(
        signature: &str,
        run: impl Fn(&KernelCall<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        Ok(Self {
            signature: Arc::new(Signature::parse(signature)?),
            run: Arc::new(run),
        })
    }

    /// What the operator takes and returns.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    #[inline]
    pub(crate) fn run(&self, call: &KernelCall<'_>) -> Result<()> {
        (self.run)(call)
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({})", self.signature)
    }
}

/// One call of an operator: its [`Arguments`], and how it may run.
pub struct KernelCall<'c> {
    arguments: Arguments<'c>,
    threads: usize,
}

impl<'c> KernelCall<'c> {
    pub(crate) fn new(arguments: Arguments<'c>, threads: usize) -> Self {
        Self { arguments, threads }
    }

    /// How many threads the kernel may use; at least 1.
    #[inline]
    pub fn threads(&self) -> usize {
        self.threads
    }
}

impl<'c> Deref for KernelCall<'c> {
    type Target = Arguments<'c>;

    #[inline]
    fn deref(&self) -> &Arguments<'c> {
        &self.arguments
    }
}

/// The operators that a runtime has, by name.
#[derive(Clone, Debug, Default)]
pub struct KernelRegistry {
    kernels: HashMap<String, Kernel>,
}

impl KernelRegistry {
    /// A registry without operators.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operator. One of the same name is replaced, so that a caller can put their own
    /// kernel in the place of one of Thalweg's.
    pub fn add(&mut self, kernel: Kernel) {
        self.kernels
            .insert(kernel.signature.operator().to_string(), kernel);
    }

    /// Adds an operator by its signature and function.
    ///
    /// # Errors
    /// If the text is not a signature.
    pub fn register(
        &mut self,
        signature: &str,
        run: impl Fn(&KernelCall<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        self.add(Kernel::new(signature, run)?);
        Ok(())
    }

    /// The operator with this name, such as `aten::add.out`.
    pub fn get(&self, operator: &str) -> Option<&Kernel> {
        self.kernels.get(operator)
    }

    /// All operators, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Kernel> {
        let mut kernels: Vec<_> = self.kernels.values().collect();
        kernels.sort_by(|a, b| a.signature.operator().cmp(b.signature.operator()));
        kernels.into_iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }
}
