//! The operators of a runtime, by name.

use std::collections::HashMap;

use super::{Kernel, KernelCall};
use crate::{Result, bail};

/// The operators of a runtime, by name.
#[derive(Clone, Debug, Default)]
pub struct KernelRegistry {
    kernels: HashMap<String, Kernel>,
}

impl KernelRegistry {
    /// A registry without operators.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operator. It replaces one of the same name, so that a caller can put their own
    /// kernel in the place of one of Thalweg's.
    pub fn add(&mut self, kernel: Kernel) {
        let name = kernel.signature().operator().to_string();
        self.kernels.insert(name, kernel);
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

    /// Replaces an operator by what `change` makes of it.
    ///
    /// # Errors
    /// If there is no operator of that name.
    pub fn modify(&mut self, operator: &str, change: impl FnOnce(Kernel) -> Kernel) -> Result<()> {
        let Some(kernel) = self.kernels.remove(operator) else {
            bail!(InvalidOption, "there is no operator `{operator}`");
        };
        self.add(change(kernel));
        Ok(())
    }

    /// Replaces each operator by what `change` makes of it.
    pub fn modify_all(&mut self, change: impl Fn(Kernel) -> Kernel) {
        let kernels = std::mem::take(&mut self.kernels);
        kernels
            .into_values()
            .for_each(|kernel| self.add(change(kernel)));
    }

    /// Adds all operators of another registry, which replace those of the same names.
    pub fn extend(&mut self, other: Self) {
        self.kernels.extend(other.kernels);
    }

    /// The operator with this name, such as `aten::add.out`.
    pub fn get(&self, operator: &str) -> Option<&Kernel> {
        self.kernels.get(operator)
    }

    /// All operators, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Kernel> {
        let mut kernels: Vec<_> = self.kernels.values().collect();
        kernels.sort_by(|a, b| a.signature().operator().cmp(b.signature().operator()));
        kernels.into_iter()
    }

    /// The number of operators.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }
}
