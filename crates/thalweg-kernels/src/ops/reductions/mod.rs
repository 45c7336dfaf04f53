//! Reductions over dimensions, and running sums along one.
//!
//! A reduction is given by what it does with runs of elements ([`Fold`]); [`reduce`] brings
//! every run into the compute type, in an order that suits the memory.

mod arguments;
mod cumulative;
mod extremes;
mod reduce;
mod sums;
mod variance;

#[cfg(test)]
mod tests;

use thalweg_core::{KernelRegistry, Result};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    arguments::register(registry)?;
    cumulative::register(registry)?;
    extremes::register(registry)?;
    sums::register(registry)?;
    variance::register(registry)
}
